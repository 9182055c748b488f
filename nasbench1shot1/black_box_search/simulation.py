"""A search on the simulated clock: a table answers immediately, and the clock advances by the recorded training time.

The protocol follows NAS-Bench-101 (Ying et al. 2019, section 5): a query costs its training time, and the incumbent
is the architecture with the lowest validation error so far, at any budget. Wall-clock time does not count. If a metric
other than accuracy guides the search, its cost (`Column.cost`) takes the place of the validation error.

If a table has no training times, the clock counts trainings: every training takes one unit of time.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1 import constraint
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.table import Table

FREE_IN_A_ROW = 10_000
"""Consecutive trainings without cost after which a search ends, because it only repeats paid queries."""


_Repeat = Literal["mean"] | int


class TrainingResult(NamedTuple):
    """The result of a training.

    Attributes:
        validation_error: the validation error as a fraction, or the cost of another metric.
        seconds: the cost in simulated seconds; 1 if the table has no training times.
    """

    validation_error: float
    seconds: float


class Drawn(NamedTuple):
    """A training as drawn from a table.

    Attributes:
        result: the result of the training.
        row: the row of the network; None for a `FailedTraining`.
        repeat: the repeat that was drawn, or "mean" if only the mean over repeats is known.
    """

    result: TrainingResult
    row: int | None
    repeat: Literal["mean"] | int


class FailedTraining(TrainingResult):
    """The result for an architecture that a partial table lacks; it never becomes the incumbent.

    Its validation error is 1 at no cost, as HPOBench's `nas_cifar10` answers for an invalid architecture; for another
    metric, it is the highest cost in the table.
    """

    __slots__ = ()


class Incumbent(NamedTuple):
    """An architecture that became the best one so far.

    Attributes:
        seconds: simulated time at which it became the incumbent.
        evaluations: number of trainings that had ended by this time.
        architecture: the architecture.
        validation_error: the validation error, or cost, that made it the incumbent.
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


class SearchClock:
    """The simulated clock of one search: its limits, the trainings so far, and the incumbents.

    Attributes:
        limits: the limits of the search.
        now: simulated seconds at which the last training ended.
        started: number of trainings that began.
        ended: number of trainings that ended in time.
        incumbents: all incumbents in order of time.
        is_over: whether the search has finished all its trainings, or only repeats free ones (`FREE_IN_A_ROW`).
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.now, self.started, self.ended = 0.0, 0, 0
        self.incumbents: list[Incumbent] = []
        self.is_over = False
        self._lowest, self._free, self._decision = math.inf, 0, limits.decision_seconds

    def start(self, trained: TrainingResult) -> float:
        """Begin a training now, and return the time at which it ends."""
        self.started += 1
        return self.now + self._decision + trained.seconds

    def finish(self, end: float, architecture: Architecture, trained: TrainingResult) -> None:
        """Advance to the end of a training, which becomes the incumbent if its validation error is the lowest."""
        self._free = 0 if trained.seconds or self._decision else self._free + 1
        self.now, self.ended = end, self.ended + 1
        self.is_over = self.ended >= self.limits.evaluations or self._free >= FREE_IN_A_ROW
        if trained.validation_error < self._lowest and not isinstance(trained, FailedTraining):
            self._lowest = trained.validation_error
            self.incumbents.append(Incumbent(end, self.ended, architecture, self._lowest))

    def result(self) -> SearchResult:
        """Return the result of the search so far."""
        return SearchResult(tuple(self.incumbents), self.ended, self.now, self.started)


def simulate(
    method: BlackBoxOptimizer, train: Callable[[Query, float], TrainingResult], limits: Limits
) -> SearchResult:
    """Search until a limit is reached or the method does not request another training.

    Trainings that end at the same time are reported in the order in which they began.

    Raises:
        InvalidInputError: the method returned an invalid query, or too many consecutive queries outside the bounds.
    """
    clock = SearchClock(limits)
    running: list[tuple[float, int, Query, TrainingResult]] = []  # a heap, ordered by end
    while not clock.is_over:
        while (
            len(running) < limits.workers
            and clock.started < limits.evaluations
            and (query := _next_query(method)) is not None
        ):
            trained = train(query, clock.now)
            heappush(running, (clock.start(trained), clock.started, query, trained))
        if not running or running[0][0] > limits.seconds:
            break
        end, _, query, trained = heappop(running)
        clock.finish(end, query.architecture, trained)
        method.tell(query, *trained)
    return clock.result()


def _next_query(method: BlackBoxOptimizer) -> Query | None:
    """Return the next query of a method; it is asked again if the architecture is outside the bounds of the search."""
    for _ in range(constraint.REJECTIONS):
        if (query := method.ask()) is None or method.allows(_checked_query(query, method).architecture):
            return query
        method.reject(query)
    assert method.constraint is not None
    raise method.constraint.rejections_error()


def _checked_query(query: Query, method: BlackBoxOptimizer) -> Query:
    """Return the query. Raises InvalidInputError if it is not a query, or its budget is not one of `used_budgets`."""
    name = type(method).__name__
    if not isinstance(query, Query):
        raise InvalidInputError(f"{name}.ask() returned {query!r}: return a Query or None")
    if not isinstance(query.architecture, Architecture):
        raise InvalidInputError(f"{name} asked to train {query.architecture!r}: query an nb.Architecture instead")
    if query.epochs not in method.budgets:
        known = ", ".join(map(str, method.budgets))
        raise InvalidInputError(f"{name} asked for {query.epochs} epochs: query one of {known}")
    if query.epochs not in method.used_budgets:
        raise InvalidInputError(
            f"{name} asked for a training of {counted(query.epochs, 'epoch')}, which is not "
            f"{alternatives(method.used_budgets)}: list all its budgets in the property `used_budgets`"
        )
    return query


class TableTrainings:
    """Answers queries from a table.

    A query draws one of the architecture's repeats. If only their mean is known, the result is the mean.
    The cost is the training time of the drawn repeat, or 1 if the table has no training times (`has_times`). If the
    table has evaluation times, the cost also includes one evaluation on the validation images, as in NAS-Bench-201's
    searches. If the table covers the space only in part (`Table.covering`), the result of other architectures is a
    `FailedTraining`.

    Args:
        space: the search space; architectures outside it are refused.
        table: the table with metrics and times.
        dataset: data set of the table's objective; None for the first objective.
        rng: random generator that draws the repeats.
        deduplicate: whether to train a row only once per budget. A repeated query is free; with several simulated
            workers, it costs the time until the first training ends.
        metric: the metric that guides the search, as in `Table.objective`. Default: validation accuracy.
        continuation: whether a training continues the longest shorter training of its row that has ended. It then
            uses the same repeat and costs only the difference. A mean over repeats counts as a training of any repeat.
        suits: returns whether a drawn training has every required value at a number of epochs. If not, another repeat
            is drawn. If no repeat qualifies, the first one drawn is returned. Default: every training qualifies.
    """

    def __init__(
        self,
        space: SearchSpace,
        table: Table,
        dataset: str | None,
        rng: np.random.Generator,
        deduplicate: bool = False,
        metric: str | None = None,
        continuation: bool = False,
        suits: Callable[[Drawn, int], bool] = lambda drawn, epochs: True,
    ) -> None:
        self._space, self._table, self._rng, self._suits = space, table, rng, suits
        objective = table.objective(dataset, metric)
        guide, training = objective.validation_metric, objective.validation
        about = table.about(guide, training)
        self._words, self._zero, self._sign = about.words, about.cost(0.0), about.cost(1.0) - about.cost(0.0)
        self._failed = None
        if table.is_partial:
            self._failed = Drawn(FailedTraining(worst_cost(table, objective), 0.0), None, "mean")
        self._repeats: list[_Repeat] = list(range(table.repeats))
        self._means = about.means
        self._value = table.reader(guide, training)
        self._seconds = table.reader("training_time", training) if has_times(table, objective) else _one_unit
        self._evaluation = table.reader("evaluation_time", training)
        self._paid: dict[tuple[int, int, int | None], tuple[Drawn, float]] | None = {} if deduplicate else None
        self._begun: dict[int, list[_Begun]] | None = {} if continuation else None

    def __call__(self, query: Query, now: float = 0.0) -> TrainingResult:
        """Return the result of a training; arguments and errors are as in `draw`."""
        return self.draw(query, now).result

    def draw(self, query: Query, now: float = 0.0, repeat: int | None = None) -> Drawn:
        """Return the result of a training with the repeat that was drawn.

        Args:
            query: the training.
            now: start of the training in simulated seconds.
            repeat: a repeat of the table, instead of a random one. It has no effect where only one value is known.

        Raises:
            OutOfDomainError: the table lacks the architecture, or its metric or time at this budget.
            InvalidInputError: the architecture is not in the space.
        """
        if query.architecture.space != self._space.name:
            self._space.index(query.architecture)  # raises
        if self._failed is not None and query.architecture not in self._table:
            return self._failed
        row = self._table.row_of(query.architecture)
        if self._paid is None:
            return self._look_up(row, query, repeat) if self._begun is None else self._train(row, query, now, repeat)
        if (asked := (row, query.epochs, repeat)) not in self._paid:
            drawn = self._train(row, query, now, repeat)
            self._paid[asked] = drawn, now + drawn.result.seconds
            return drawn
        known, end = self._paid[asked]
        return known._replace(result=TrainingResult(known.result.validation_error, max(end - now, 0.0)))

    def forget(self, query: Query, repeat: int | None = None) -> None:
        """Remove the last draw from the history, as its training is not used; arguments as in `draw`."""
        if query.architecture in self._table:
            row = self._table.row_of(query.architecture)
            if self._begun is not None:
                self._begun[row].pop()
            if self._paid is not None:
                del self._paid[row, query.epochs, repeat]

    def _train(self, row: int, query: Query, now: float, repeat: int | None) -> Drawn:
        """Return the result of a training, which may continue a shorter one."""
        if self._begun is None:
            return self._look_up(row, query, repeat)
        before = self._begun.setdefault(row, [])
        ended = [
            of
            for of in before
            if of.epochs < query.epochs and of.end <= now and (repeat is None or of.repeat in (repeat, "mean"))
        ]
        longest = max(reversed(ended), key=lambda of: of.epochs, default=None)  # of equal budgets, the latest
        drawn = self._continued(row, query, repeat, longest)
        cost = drawn.result.seconds
        if longest is not None and (drawn.repeat == longest.repeat or "mean" in (drawn.repeat, longest.repeat)):
            cost = max(cost - longest.seconds, 0.0)
        before.append(_Begun(query.epochs, drawn.repeat, drawn.result.seconds, now + cost))
        return drawn._replace(result=drawn.result._replace(seconds=cost))

    def _continued(self, row: int, query: Query, repeat: int | None, before: "_Begun | None") -> Drawn:
        """Return a training of the repeat of a shorter one, or of a drawn one if the table lacks it."""
        if before is not None and isinstance(before.repeat, int):
            with suppress(OutOfDomainError):
                drawn = self._look_up(row, query, before.repeat)
                if self._suits(drawn, query.epochs):
                    return drawn
        return self._look_up(row, query, repeat)

    def _look_up(self, row: int, query: Query, repeat: int | None) -> Drawn:
        epochs, known = query.epochs, self._repeats
        if epochs in self._means:
            known = ["mean"]
        elif repeat is not None and len(known) > 1:
            known = [repeat]
        unsuitable = None
        while known:
            one = known[int(self._rng.random() * len(known))] if len(known) > 1 else known[0]
            value, seconds = self._value(row, epochs, one), self._seconds(row, epochs, one)
            if value == value and seconds == seconds:  # neither is NaN
                evaluations = self._evaluation(row, epochs, one)
                result = TrainingResult(
                    self._zero + self._sign * value,  # the metric's cost, which is linear
                    seconds + (evaluations / epochs if evaluations == evaluations else 0.0),
                )
                drawn = Drawn(result, row, one)
                if self._suits(drawn, epochs):
                    return drawn
                unsuitable = unsuitable or drawn
            known = [other for other in known if other != one]
        if unsuitable is not None:
            return unsuitable
        of_repeat = "" if repeat is None else f" in repeat {repeat}"
        raise OutOfDomainError(
            f"the table {self._table.id} lacks a {self._words} with a training time for '{query.architecture}' "
            f"at {epochs} epochs{of_repeat}: choose another budget or table"
        )


class _Begun(NamedTuple):
    """A training that later ones of its row may continue: its budget, repeat, full cost, and the time of its end."""

    epochs: int
    repeat: Literal["mean"] | int
    seconds: float
    end: float


def has_times(table: Table, objective: Objective) -> bool:
    """Return whether a table has training times of the trainings that guide a search."""
    return table.stored("training_time", objective.validation) is not None


def can_continue(table: Table, objective: Objective, rows: NDArray[np.int64], budgets: Sequence[int]) -> bool:
    """Return whether any row has a repeat at two of the budgets, so that a training can continue a shorter one.

    A mean over repeats counts as a training of any repeat, as in `TableTrainings`.
    """
    guide, training = objective.validation_metric, objective.validation
    means = table.about(guide, training).means
    columns = [column for metric in (guide, "training_time") if (column := table.stored(metric, training)) is not None]
    known = [
        [
            [np.isfinite(column.values(rows, epochs, "mean" if epochs in means else repeat)) for column in columns]
            for repeat in range(table.repeats)
        ]
        for epochs in budgets
    ]
    return bool((np.array(known).all(axis=2).sum(axis=0) > 1).any())


def _one_unit(row: int, epochs: int, repeat: object) -> float:
    """Return the cost of a training without a known training time."""
    return 1.0


def worst_cost(table: Table, objective: Objective) -> float:
    """Return an error of 1 for a metric that is a fraction, else the highest cost of the metric in the table."""
    guide, training = objective.validation_metric, objective.validation
    about = table.about(guide, training)
    if about.unit == "fraction":
        return 1.0
    budgets = about.epochs or (table.full_budget,)
    return float(np.nanmax([about.cost(table.values(guide, epochs, training)) for epochs in budgets]))
