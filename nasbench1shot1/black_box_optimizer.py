"""The base class of black-box optimizers, which propose architectures and observe only their validation errors."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.constraint import Constraint
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.space import SearchSpace


class Query(NamedTuple):
    """A request to train an architecture.

    Attributes:
        architecture: the architecture to train.
        epochs: number of training epochs; one of the optimizer's `budgets`.
    """

    architecture: Architecture
    epochs: int


class BlackBoxOptimizer(ABC):
    """Base class of black-box optimizers, with an ask-and-tell interface.

    `ask` returns the next training. `tell` reports its validation error when the training ends on the simulated clock.
    With a single simulated worker, the calls alternate. With several, `ask` is called whenever a worker is free, even
    while earlier queries are running. `tell` is called in the order in which trainings end.

    An optimizer never sees the table; it only observes validation errors and training times. It must draw all random
    numbers from `rng`, so that equal seeds give equal searches.

    Attributes:
        space: the search space.
        hyperparameters: the optimizer's options, an instance of the class attribute `Hyperparameters`.
        epochs: training epochs of methods that use a single budget.
        budgets: all budgets that can be queried, in epochs, ascending.
        rng: the source of all random numbers.
        constraint: the bounds of the search; None without any (`constrain`).
        worst_error: the worst result that `tell` can report. A model may observe it for a proposal outside the space
            or the bounds.
        Hyperparameters: the dataclass of the optimizer's own options.
        family_defaults: for each benchmark (by `Benchmark.name`), the own options with different defaults.
        space_defaults: for each space name, the own options with different defaults.
    """

    Hyperparameters: ClassVar[type[Hyperparameters]] = Hyperparameters
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    space_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    constraint: Constraint | None = None
    worst_error: float = 1.0

    def __init__(
        self, space: SearchSpace, hyperparameters: Any, epochs: int, budgets: Sequence[int], rng: np.random.Generator
    ) -> None:
        check_rng(rng)
        self.space, self.hyperparameters, self.rng = space, hyperparameters, rng
        self.epochs, self.budgets = epochs, tuple(budgets)

    @classmethod
    def unused_options(cls, hyperparameters: Any) -> Mapping[str, str]:
        """Return the options, common or own, that have no effect on the method, each with a reason.

        Giving such an option raises an error, which says "because" and the reason. A method that never trains at
        `epochs` returns this option.
        """
        return {}

    def constrain(self, constraint: Constraint, worst_error: float) -> None:
        """Take the bounds of the search, before the first `ask`; not called without bounds.

        By default, they are stored. A method that proposes an architecture outside the bounds is asked again
        (`reject`), at no cost.

        Args:
            constraint: the bounds.
            worst_error: a result that is not better than any other, as `tell` reports it.
        """
        self.constraint, self.worst_error = constraint, worst_error

    def first_allowed(self, propose: Callable[[], Architecture]) -> Architecture:
        """Return the first proposal within the bounds; without bounds, the first one.

        Raises InvalidInputError after `constraint.REJECTIONS` consecutive proposals outside the bounds.
        """
        return propose() if self.constraint is None else self.constraint.draw(propose)

    def allows(self, arch: Architecture) -> bool:
        """Return whether an architecture is within the bounds; true without bounds."""
        return self.constraint is None or self.constraint.allows(arch)

    def reject(self, query: Query) -> None:  # noqa: B027  an intended default
        """Withdraw a query of `ask` whose architecture is outside the bounds: it is not trained or passed to `tell`."""

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """All budgets at which this optimizer trains, in epochs, ascending. Default: only `epochs`.

        A query of another budget is an error.
        """
        return (self.epochs,)

    @property
    def first_trainings(self) -> int:
        """The number of initial trainings whose architectures are random. Default: 0 (unknown).

        A search with at most this many trainings is random search; screens and records state this.
        """
        return 0

    @abstractmethod
    def ask(self) -> Query | None:
        """Return the next training, or None if the search has ended or must wait for a running training."""

    @abstractmethod
    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Observe the result of a training.

        Args:
            query: a query that `ask` returned.
            validation_error: validation error of one repeat, as a fraction. If a study has another objective, the cost
                of its metric (`Column.cost`): lower is better, in the unit of the metric.
            seconds: cost of the training in simulated seconds.
        """

    def query(self, arch: Architecture) -> Query:
        """Return the query that trains an architecture for `epochs` epochs."""
        return Query(arch, self.epochs)
