"""The base class of black-box optimizers, which propose architectures and learn only their validation errors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.space import SearchSpace


class Query(NamedTuple):
    """One training that an optimizer asks for.

    Attributes:
        architecture: what to train.
        epochs: for how many epochs, one of the optimizer's `budgets`.
    """

    architecture: Architecture
    epochs: int


class BlackBoxOptimizer(ABC):
    """Base class of methods that search by asking for trainings; an ask-and-tell interface.

    `ask` returns the next training, and `tell` reports its validation error once it has ended on the simulated clock.
    With a single simulated worker, the calls alternate. With several, `ask` is called whenever a worker is free, also
    before earlier queries have been told; `tell` follows the order in which trainings end.

    An optimizer never sees the table: it learns validation errors and training times only. All its random numbers must
    come from `rng`, so that equal seeds give equal searches.

    Attributes:
        space: the search space.
        hyperparameters: an instance of `Hyperparameters` of the class.
        epochs: the budget of methods that use a single one.
        budgets: all budgets that can be asked for, ascending.
        rng: the source of all random numbers.
        Hyperparameters: the dataclass of the method's own options.
        family_defaults: defaults of own options that differ on the spaces of a family (`SearchSpace.family`).
        space_defaults: defaults of own options that differ on a single space, by its name.
    """

    Hyperparameters: ClassVar[type[Hyperparameters]] = Hyperparameters
    family_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    space_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(
        self, space: SearchSpace, hyperparameters: Any, epochs: int, budgets: Sequence[int], rng: np.random.Generator
    ) -> None:
        self.space, self.hyperparameters, self.rng = space, hyperparameters, rng
        self.epochs, self.budgets = epochs, tuple(budgets)

    @abstractmethod
    def ask(self) -> Query | None:
        """Return the next training; None if there is nothing to train before another result, or at all."""

    @abstractmethod
    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Learn the result of a training.

        Args:
            query: what `ask` returned.
            validation_error: of one repeat, a fraction.
            seconds: what the training cost on the simulated clock.
        """

    def query(self, arch: Architecture) -> Query:
        """Return the query for an architecture at the single budget `epochs`."""
        return Query(arch, self.epochs)
