"""The simulated clock: trainings that a table answers at once take the time that they would have taken.

The protocol follows NAS-Bench-101 (Ying et al. 2019, section 5): a query costs its training time, and the incumbent
is the architecture with the lowest validation error so far, whatever its budget. No real time enters.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.errors import InvalidInputError

FREE_IN_A_ROW = 10_000
"""Evaluations without cost, one after another, after which a search ends: it only asks for what it has paid already."""


class Trained(NamedTuple):
    """The result of a training.

    Attributes:
        validation_error: a fraction.
        seconds: the cost.
    """

    validation_error: float
    seconds: float


FAILED = Trained(1.0, 0.0)
"""The result for an architecture that a partial table lacks; it never becomes the incumbent.

HPOBench's `nas_cifar10` answers the same for an invalid architecture: an error of 1, at no cost.
"""


class Incumbent(NamedTuple):
    """The best architecture from a moment on.

    Attributes:
        seconds: the moment on the simulated clock.
        evaluations: number of trainings that had ended by then.
        architecture: the architecture.
        validation_error: the error that made it the incumbent, a fraction.
    """

    seconds: float
    evaluations: int
    architecture: Architecture
    validation_error: float


@dataclass(frozen=True)
class Limits:
    """When a search ends, and how its trainings run.

    Attributes:
        seconds: end of the simulated clock.
        evaluations: number of trainings.
        workers: trainings that run at the same time.
        decision_seconds: simulated time of each decision.
    """

    seconds: float = math.inf
    evaluations: float = math.inf
    workers: int = 1
    decision_seconds: float = 0.0


@dataclass(frozen=True)
class Searched:
    """One search.

    Attributes:
        incumbents: in order of time; empty if no training ended in time.
        evaluations: number of trainings that ended in time.
        seconds: end of the last of them on the simulated clock.
        begun: number of trainings that began, in time or not.
    """

    incumbents: tuple[Incumbent, ...]
    evaluations: int
    seconds: float
    begun: int


def simulate(method: BlackBoxOptimizer, train: Callable[[Query], Trained], limits: Limits) -> Searched:
    """Search until a limit is reached, or until the method has nothing to ask for.

    Trainings that end at the same moment are told in the order in which they began.

    Raises:
        InvalidInputError: the method asked for something that cannot be trained.
    """
    running: list[tuple[float, int, Query, Trained]] = []  # a heap by end
    incumbents: list[Incumbent] = []
    now, begun, ended, free = 0.0, 0, 0, 0
    lowest = math.inf
    while free < FREE_IN_A_ROW:
        while len(running) < limits.workers and begun < limits.evaluations and (query := method.ask()) is not None:
            trained = train(_checked(query, method))
            heapq.heappush(running, (now + limits.decision_seconds + trained.seconds, begun, query, trained))
            begun += 1
        if not running or running[0][0] > limits.seconds:
            break
        end, _, query, trained = heapq.heappop(running)
        free = 0 if trained.seconds or limits.decision_seconds else free + 1
        now, ended = end, ended + 1
        if trained is not FAILED and trained.validation_error < lowest:
            lowest = trained.validation_error
            incumbents.append(Incumbent(now, ended, query.architecture, lowest))
        method.tell(query, *trained)
    return Searched(tuple(incumbents), ended, now, begun)


def _checked(query: Query, method: BlackBoxOptimizer) -> Query:
    """Return the query; raises InvalidInputError for anything else, or for a budget that there is not."""
    if isinstance(query, Query) and query.epochs in method.budgets:
        return query
    name, budgets = type(method).__name__, ", ".join(map(str, method.budgets))
    if isinstance(query, Query):
        raise InvalidInputError(f"{name} asked for {query.epochs} epochs: let it ask for one of {budgets}")
    raise InvalidInputError(f"{name}.ask() returned {query!r}: let it return a Query or None")
