"""The simulated clock: a table answers immediately, and the clock advances by the recorded training time.

The protocol follows NAS-Bench-101 (Ying et al. 2019, section 5): a query costs its training time, and the incumbent
is the architecture with the lowest validation error so far, at any budget. Wall-clock time does not count.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.ground.errors import InvalidInputError

FREE_IN_A_ROW = 10_000
"""Consecutive trainings without cost after which a search ends, because it only repeats paid queries."""


class TrainingResult(NamedTuple):
    """The result of a training.

    Attributes:
        validation_error: the validation error as a fraction.
        seconds: the cost in simulated seconds.
    """

    validation_error: float
    seconds: float


FAILED = TrainingResult(1.0, 0.0)
"""The result for an architecture that a partial table lacks; it never becomes the incumbent.

HPOBench's `nas_cifar10` answers the same for an invalid architecture: an error of 1, at no cost.
"""


class Incumbent(NamedTuple):
    """An architecture that became the best one so far.

    Attributes:
        seconds: simulated time at which it became the incumbent.
        evaluations: number of trainings that had ended by this time.
        architecture: the architecture.
        validation_error: the validation error that made it the incumbent, as a fraction.
    """

    seconds: float
    evaluations: int
    architecture: Architecture
    validation_error: float


@dataclass(frozen=True)
class Limits:
    """The limits of a search, and the cost model of its trainings.

    Attributes:
        seconds: time limit in simulated seconds.
        evaluations: maximum number of trainings.
        workers: number of trainings that run in parallel on the simulated clock.
        decision_seconds: cost of each decision in simulated seconds.
    """

    seconds: float = math.inf
    evaluations: float = math.inf
    workers: int = 1
    decision_seconds: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """The result of one search.

    Attributes:
        incumbents: all incumbents in order of time; empty if no training ended in time.
        evaluations: number of trainings that ended in time.
        seconds: simulated time at which the last of these trainings ended.
        started: number of trainings that began, whether or not they ended in time.
    """

    incumbents: tuple[Incumbent, ...]
    evaluations: int
    seconds: float
    started: int


def simulate(
    method: BlackBoxOptimizer, train: Callable[[Query, float], TrainingResult], limits: Limits
) -> SearchResult:
    """Search until a limit is reached or the method does not request another training.

    Trainings that end at the same time are reported in the order in which they began.

    Raises:
        InvalidInputError: the method returned an invalid query.
    """
    running: list[tuple[float, int, Query, TrainingResult]] = []  # a heap, ordered by end
    incumbents: list[Incumbent] = []
    now, started, ended, free = 0.0, 0, 0, 0
    lowest, workers, decision = math.inf, limits.workers, limits.decision_seconds
    while free < FREE_IN_A_ROW:
        while len(running) < workers and started < limits.evaluations and (query := method.ask()) is not None:
            trained = train(_checked_query(query, method), now)
            heappush(running, (now + decision + trained.seconds, started, query, trained))
            started += 1
        if not running or running[0][0] > limits.seconds:
            break
        end, _, query, trained = heappop(running)
        free = 0 if trained.seconds or decision else free + 1
        now, ended = end, ended + 1
        if trained is not FAILED and trained.validation_error < lowest:
            lowest = trained.validation_error
            incumbents.append(Incumbent(now, ended, query.architecture, lowest))
        method.tell(query, *trained)
    return SearchResult(tuple(incumbents), ended, now, started)


def _checked_query(query: Query, method: BlackBoxOptimizer) -> Query:
    """Return the query. Raises InvalidInputError if it is not a query or its budget is unknown."""
    if isinstance(query, Query) and isinstance(query.architecture, Architecture) and query.epochs in method.budgets:
        return query
    name, budgets = type(method).__name__, ", ".join(map(str, method.budgets))
    if isinstance(query, Query) and not isinstance(query.architecture, Architecture):
        raise InvalidInputError(f"{name} asked to train {query.architecture!r}: query an nb.Architecture instead")
    if isinstance(query, Query):
        raise InvalidInputError(f"{name} asked for {query.epochs} epochs: query one of {budgets}")
    raise InvalidInputError(f"{name}.ask() returned {query!r}: return a Query or None")
