"""Simulated trainings: a table answers with the validation error of a random repeat and its cost in seconds."""

import numpy as np

from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.simulation import FAILED, TrainingResult
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.table import Table


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
