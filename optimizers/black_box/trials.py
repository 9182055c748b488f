"""The base class of methods in which a library proposes configurations."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.constraint import REJECTIONS
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.runs.options import IF_GIVEN, Form


@dataclass(frozen=True, kw_only=True)
class EncodedHyperparameters(Hyperparameters):
    """The option of methods that search in the configurations of a space."""

    encoding: Annotated[str | None, Form("NAME"), IF_GIVEN] = None
    """Encoding of the architectures. On nb101, nb101-mini and nb101-5v: matrix (default), edge-index or continuous,
    the three encodings of NAS-Bench-101. All other spaces have only one encoding."""


class TrialOptimizer(BlackBoxOptimizer):
    """Asks a library for trials and reports their errors to it.

    A trial with a configuration outside the space gets `worst_error` at no cost, and the library is asked for the next
    trial. For accuracies, this is the error 1, as in the published scripts of NAS-Bench-101. If equal queries are
    running, a result is reported for the earliest one.

    A trial outside the bounds of a search gets `worst_error` at no cost, so that a model learns to avoid such
    configurations.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._running: list[tuple[Query, Any]] = []

    @abstractmethod
    def next_trial(self) -> Any:
        """Return the library's next trial, or None if it has no trial left or must wait for a result."""

    @abstractmethod
    def training(self, trial: Any) -> Query:
        """Return the training of a trial. Raises InvalidInputError if its configuration is not in the space."""

    @abstractmethod
    def observe(self, trial: Any, validation_error: float) -> None:
        """Report the error of a trial to the library."""

    def ask(self) -> Query | None:
        """Return the training of the library's next trial."""
        for _ in range(REJECTIONS):
            if (trial := self.next_trial()) is None:
                return None
            try:
                query = self.training(trial)
            except InvalidInputError:
                self.observe(trial, self.worst_error)
                continue
            if not self.allows(query.architecture):
                self.observe(trial, self.worst_error)
                continue
            self._running.append((query, trial))
            return query
        if self.constraint is not None:
            raise self.constraint.rejections_error()
        raise InvalidInputError(
            f"{REJECTIONS:,} consecutive configurations were not in {self.space.name}: use another space"
        )

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Report a validation error to the library."""
        place = next(place for place, (running, _) in enumerate(self._running) if running == query)
        self.finish(self._running.pop(place)[1], validation_error, seconds)

    def finish(self, trial: Any, validation_error: float, seconds: float) -> None:
        """Report the result of a trial that was trained for some simulated seconds, which most libraries ignore."""
        self.observe(trial, validation_error)
