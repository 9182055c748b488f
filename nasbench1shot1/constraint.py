"""Bounds on costs as optimizers see them: functions of an architecture, without the table from which the costs come."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError

REJECTIONS = 100_000
"""Number of consecutive proposals outside the bounds or the space after which a search ends with an error."""


@dataclass(frozen=True, eq=False)
class Cost:
    """A bounded cost of architectures.

    Attributes:
        metric: name of the cost, such as "flops".
        limit: the largest allowed value.
        of: returns the cost of an architecture of the space; NaN if it is unknown.
        compute_all: returns the costs of all architectures of the space, (len(space),), by number; NaN if unknown.
    """

    metric: str
    limit: float
    of: Callable[[Architecture], float]
    compute_all: Callable[[], NDArray[np.float64]]

    @cached_property
    def by_number(self) -> NDArray[np.float64]:
        """The costs of all architectures of the space, (len(space),), in the order of their numbers; read-only.

        They are computed at the first access, which takes seconds for spaces with 100,000 architectures.
        """
        costs = self.compute_all().view()
        costs.flags.writeable = False
        return costs


@dataclass(frozen=True, eq=False)
class Constraint:
    """The bounds of a search. An architecture is within them if each of its costs is known and at most its limit.

    Attributes:
        costs: the bounded costs, at least one.
        words: the bounds for messages, such as "flops ≤ 50,000,000".
    """

    costs: Sequence[Cost]
    words: str

    def allows(self, arch: Architecture) -> bool:
        """Return whether an architecture of the space is within the bounds."""
        return all(cost.of(arch) <= cost.limit for cost in self.costs)  # false for NaN

    def first(self, candidates: Iterable[Architecture]) -> Architecture:
        """Return the first candidate within the bounds; raises InvalidInputError if there is none."""
        for arch in candidates:
            if self.allows(arch):
                return arch
        raise InvalidInputError(f"no candidate is within the bounds {self.words}: raise them")

    def draw(self, propose: Callable[[], Architecture]) -> Architecture:
        """Return the first proposal within the bounds: rejection sampling.

        Raises InvalidInputError after `REJECTIONS` consecutive proposals outside the bounds.
        """
        for _ in range(REJECTIONS):
            if self.allows(arch := propose()):
                return arch
        raise self.rejections_error()

    def rejections_error(self) -> InvalidInputError:
        """Return the error for too many consecutive proposals outside the bounds."""
        return InvalidInputError(
            f"{REJECTIONS:,} consecutive proposals are outside the bounds {self.words}: raise them, or choose another "
            "optimizer"
        )
