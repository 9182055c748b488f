"""The base class of black-box optimizers, which propose architectures and observe only their validation errors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
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
        Hyperparameters: the dataclass of the optimizer's own options.
        family_defaults: for each benchmark (by `Benchmark.name`), the own options with different defaults.
        space_defaults: for each space name, the own options with different defaults.
    """

    Hyperparameters: ClassVar[type[Hyperparameters]] = Hyperparameters
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    space_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(
        self, space: SearchSpace, hyperparameters: Any, epochs: int, budgets: Sequence[int], rng: np.random.Generator
    ) -> None:
        check_rng(rng)
        self.space, self.hyperparameters, self.rng = space, hyperparameters, rng
        self.epochs, self.budgets = epochs, tuple(budgets)

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """The budgets at which this optimizer trains, in epochs, ascending, for screens. Default: only `epochs`."""
        return (self.epochs,)

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
