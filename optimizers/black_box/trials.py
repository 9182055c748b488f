"""The base class of methods whose library proposes configurations and is told their errors."""

from abc import abstractmethod
from typing import Any

from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.errors import InvalidInputError

ATTEMPTS = 100_000
"""Invalid configurations in a row, after which a search is given up."""
WORST_ERROR = 1.0
"""What a method learns of an invalid configuration, as in the published scripts of NAS-Bench-101."""


class TrialOptimizer(BlackBoxOptimizer):
    """Asks a library for trials, and tells it their errors.

    A trial whose configuration is not in the space gets the error 1 at no cost, and the next one is asked for. Of equal
    queries that are being trained, the earliest is told first.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._running: list[tuple[Query, Any]] = []

    @abstractmethod
    def next_trial(self) -> Any:
        """Return the library's next trial; None if it has none before another result, or at all."""

    @abstractmethod
    def training(self, trial: Any) -> Query:
        """Return the training of a trial; raises InvalidInputError if its configuration is not in the space."""

    @abstractmethod
    def observe(self, trial: Any, validation_error: float) -> None:
        """Tell the library the error of a trial."""

    def ask(self) -> Query | None:
        """Return the training of the library's next trial."""
        for _ in range(ATTEMPTS):
            if (trial := self.next_trial()) is None:
                return None
            try:
                query = self.training(trial)
            except InvalidInputError:
                self.observe(trial, WORST_ERROR)
                continue
            self._running.append((query, trial))
            return query
        raise InvalidInputError(f"{ATTEMPTS:,} configurations in a row are not in {self.space.name}: use another space")

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Tell the library a validation error."""
        place = next(place for place, (running, _) in enumerate(self._running) if running == query)
        self.observe(self._running.pop(place)[1], validation_error)
