"""The plan of Hyperband: the number of configurations and epochs of each stage of each bracket.

The numbers follow hpbandster (`optimizers/bohb.py` and `optimizers/randomsearch.py`), in integer arithmetic.
hpbandster's floating-point logarithm can lose a budget, and its budgets are not whole epochs.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.runs.options import check_range


class Plan(Protocol):
    """A sequence of brackets."""

    @property
    def iterations(self) -> float:
        """The number of brackets, which can be infinite."""

    @property
    def planned(self) -> float:
        """The number of trials in all brackets."""

    def plan(self, iteration: int) -> tuple[tuple[int, int], ...]:
        """Return the stages of a bracket: pairs of epochs and number of configurations, in order."""


@dataclass(frozen=True)
class Brackets:
    """The brackets of a study.

    Attributes:
        min_budget: lower limit of the number of epochs. The smallest budget in use can be larger, because budgets are
            `max_budget` divided by powers of eta.
        max_budget: largest number of epochs.
        eta: reduction factor: one in eta configurations of a stage is promoted to the next stage.
        iterations: number of brackets.
        only_maximum: whether every configuration is evaluated at `max_budget`, as hpbandster's random search does.

    Raises:
        InvalidInputError: a number is out of range.
    """

    min_budget: int
    max_budget: int
    eta: int = 2
    iterations: int = 64
    only_maximum: bool = False

    def __post_init__(self) -> None:
        check_range("min_budget", self.min_budget, 1)
        check_range("eta", self.eta, 2)
        check_range("iterations", self.iterations, 1)
        if self.max_budget < self.min_budget:
            raise InvalidInputError(
                f"{option('max_budget', self.max_budget)} is less than {option('min_budget', self.min_budget)}: "
                f"increase {option('max_budget')}"
            )

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """All budgets in use, in whole epochs, ascending; they are distinct, because eta is at least 2."""
        if self.only_maximum:
            return (self.max_budget,)
        powers = range(self._stages - 1, -1, -1)
        return tuple(round(self.max_budget / self.eta**power) for power in powers)

    @cached_property
    def _stages(self) -> int:
        stages = 1
        while self.min_budget * self.eta**stages <= self.max_budget:
            stages += 1
        return stages

    def plan(self, iteration: int) -> tuple[tuple[int, int], ...]:
        """Return the stages of a bracket: pairs of epochs and number of configurations, in order.

        Source: hpbandster's `BOHB.get_next_iteration` and `RandomSearch.get_next_iteration`.
        """
        if self.only_maximum:
            return ((self.max_budget, self._stages),)
        return stages_of(self.budgets, self.eta, iteration)

    @cached_property
    def searches(self) -> Counter[int]:
        """The number of trials of the study by their epochs, in the order of the plan."""
        found = Counter[int]()
        for iteration in range(self.iterations):
            found.update(dict(self.plan(iteration)))
        return found

    @property
    def planned(self) -> int:
        """The number of trials of the study."""
        return self.searches.total()


@dataclass(frozen=True)
class EndlessBrackets:
    """An infinite sequence of brackets over given budgets.

    Attributes:
        budgets: numbers of epochs, ascending, with any ratios.
        eta: reduction factor: one in eta configurations of a stage is promoted to the next stage.
    """

    budgets: tuple[int, ...]
    eta: int = 3

    iterations = planned = math.inf

    def plan(self, iteration: int) -> tuple[tuple[int, int], ...]:
        """Return the stages of a bracket: pairs of epochs and number of configurations, in order."""
        return stages_of(self.budgets, self.eta, iteration)


def stages_of(budgets: tuple[int, ...], eta: int, iteration: int) -> tuple[tuple[int, int], ...]:
    """Return the stages of a bracket: pairs of epochs and number of configurations, in order.

    The first bracket starts at the smallest budget, the next one at the second smallest, and so on, cyclically.
    """
    last = len(budgets) - 1 - iteration % len(budgets)
    first = len(budgets) // (last + 1) * eta**last
    counts = [max(first // eta**stage, 1) for stage in range(last + 1)]
    return tuple(zip(budgets[-last - 1 :], counts, strict=True))


@dataclass(frozen=True)
class BracketState:
    """A bracket that has begun.

    Attributes:
        number: 0, 1, ….
        stages: for each stage, its epochs, the number of planned trials, and the number of finished trials.
    """

    number: int
    stages: tuple[tuple[int, int, int], ...]
