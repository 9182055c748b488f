"""A search on the simulated clock: a table answers immediately, and the clock advances by the recorded training time.

The protocol follows NAS-Bench-101 (Ying et al. 2019, section 5): a query costs its training time, and the incumbent
is the architecture with the lowest validation error so far, at any budget. Wall-clock time does not count.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.table import Table

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


class TableTrainings:
    """Answers queries from a table.

    The cost is the training time of the drawn repeat. If the table has evaluation times, the cost also includes one
    evaluation on the validation images, as in NAS-Bench-201's searches. If the table covers the space only in part
    (`Table.covering`), the result of other architectures is `simulation.FAILED`.

    Args:
        space: the search space; architectures outside it are refused.
        table: the table with errors and times.
        dataset: data set of the table's objective; None for the first objective.
        rng: random generator that draws the repeats.
        deduplicate: whether to train a row only once per budget. A repeated query is free; with several simulated
            workers, it costs the time until the first training ends.
    """

    def __init__(
        self,
        space: SearchSpace,
        table: Table,
        dataset: str | None,
        rng: np.random.Generator,
        deduplicate: bool = False,
    ) -> None:
        self._space, self._table, self._rng = space, table, rng
        training = table.objective(dataset).validation
        self._may_fail = table.is_partial
        self._repeats = list(range(table.repeats))
        self._accuracy = table.reader("validation_accuracy", training)
        self._seconds = table.reader("training_time", training)
        self._evaluation = table.reader("evaluation_time", training)
        self._paid: dict[tuple[int, int], tuple[TrainingResult, float]] | None = {} if deduplicate else None

    def __call__(self, query: Query, now: float = 0.0) -> TrainingResult:
        """Return the result of a training.

        Args:
            query: the training.
            now: start of the training in simulated seconds.

        Raises:
            OutOfDomainError: the table lacks the architecture, or its validation error or time at this budget.
            InvalidInputError: the architecture is not in the space.
        """
        if query.architecture.space != self._space.name:
            self._space.index(query.architecture)  # raises
        if self._may_fail and query.architecture not in self._table:
            return FAILED
        row = self._table.row_of(query.architecture)
        if self._paid is None:
            return self._look_up(row, query)
        if (row, query.epochs) not in self._paid:
            trained = self._look_up(row, query)
            self._paid[row, query.epochs] = trained, now + trained.seconds
            return trained
        known, end = self._paid[row, query.epochs]
        return TrainingResult(known.validation_error, max(end - now, 0.0))

    def _look_up(self, row: int, query: Query) -> TrainingResult:
        epochs, repeats = query.epochs, self._repeats
        while repeats:
            repeat = repeats[int(self._rng.random() * len(repeats))] if len(repeats) > 1 else repeats[0]
            accuracy, seconds = self._accuracy(row, epochs, repeat), self._seconds(row, epochs, repeat)
            if accuracy == accuracy and seconds == seconds:  # neither is NaN
                evaluations = self._evaluation(row, epochs, repeat)
                return TrainingResult(
                    1 - accuracy, seconds + (evaluations / epochs if evaluations == evaluations else 0.0)
                )
            repeats = [other for other in repeats if other != repeat]
        raise OutOfDomainError(
            f"the table {self._table.id} lacks a validation accuracy with a training time for '{query.architecture}' "
            f"at {epochs} epochs: choose another budget or table"
        )
