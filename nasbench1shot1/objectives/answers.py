"""What an objective answers: the costs of a training, further metrics of it, and the trainings worth recording."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.simulation import Drawn, SearchClock, worst_cost
from nasbench1shot1.evaluator import recorded_seconds
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError, option
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.description import Objective as TableObjective
from nasbench1shot1.tables.table import Table


class BudgetSpent(UserError):
    """Raised when a search has reached its limit: a training would end after it, or all trainings are done.

    The call that raises this error is not charged. `Objective.reset` begins the next search.
    """


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answer of an objective. Its `repr` rounds numbers to ten significant digits.

    Attributes:
        architecture: the architecture; None if each choice is valid, but their combination is not in the space.
        epochs: training epochs, a budget of the table.
        costs: cost of each objective, lower is better: 1 - accuracy, or as `Column.cost` defines it.
        seconds: cost of the training in simulated seconds; 1 if the table has no training times.
        finished: the clock after the training, in simulated seconds.
        repeat: number of the repeat of the table, which is its position in `table.seeds` if the table has seeds; "mean"
            if only the mean over repeats is known, None if nothing was trained.
        is_trained: False for a proposal outside the space or the bounds, which takes no simulated time and does not
            count. Its `costs` are the worst possible ones.
        violations: for each bound, the cost minus the limit, which is positive if the bound is violated; empty without
            bounds.
    """

    architecture: Architecture | None
    epochs: int
    costs: tuple[float, ...]
    seconds: float
    finished: float
    repeat: str | int | None = None
    is_trained: bool = True
    violations: tuple[float, ...] = ()

    @property
    def cost(self) -> float:
        """The cost of the first objective: the validation error, by default."""
        return self.costs[0]

    def __float__(self) -> float:
        return self.cost

    def __repr__(self) -> str:
        """Return the fields; costs such as 1 - 0.7673, which is 0.23270000000000002, are rounded."""
        shown = (f"{field.name}={_rounded(getattr(self, field.name))!r}" for field in fields(self))
        return f"Evaluation({', '.join(shown)})"


def _rounded(value: Any) -> Any:
    """Return a number, or the numbers of a tuple, with ten significant digits; other values are returned unchanged."""
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return float(f"{value:.10g}") if isinstance(value, float) else value


class OtherMetric:
    """A further metric of an answer, read from the repeat that the first one has drawn."""

    def __init__(self, table: Table, metric: str, objective: TableObjective) -> None:
        self._table, training = table, objective.validation
        about = table.about(metric, training)
        about.check_direction()
        if about.uses_test_images:
            raise InvalidInputError(f"{metric} is measured on test images, which a search must not observe: remove it")
        if table.stored(metric, training) is None:
            raise OutOfDomainError(f"the table {table.id} has no {about.words}: choose another {option('objective')}")
        self._about, self._read = about, table.reader(metric, training)
        self.worst = worst_cost(table, objective._replace(validation_metric=metric))

    def cost(self, drawn: Drawn, arch: Architecture, epochs: int) -> float:
        """Return the cost of a training; raises OutOfDomainError if the table lacks the value."""
        if drawn.row is None:
            return self.worst
        value = self._value(drawn.row, drawn.repeat, epochs)
        if value != value:  # NaN
            raise OutOfDomainError(
                f"the table {self._table.id} lacks the {self._about.words} of '{arch}' at {counted(epochs, 'epoch')}: "
                f"choose another budget or {option('objective')}"
            )
        return float(self._about.cost(value))

    def is_known(self, drawn: Drawn, epochs: int) -> bool:
        """Return whether the cost of a training is known."""
        if drawn.row is None:
            return True
        value = self._value(drawn.row, drawn.repeat, epochs)
        return value == value  # it is not NaN

    def _value(self, row: int, repeat: Literal["mean"] | int, epochs: int) -> float:
        return float(self._read(row, epochs, "mean" if epochs in self._about.means else repeat))


class Front:
    """The trainings of a search that no earlier one dominated, as a study records them."""

    def __init__(self, is_timed: bool) -> None:
        self.entries: list[list[Any]] = []
        self._is_timed = is_timed
        self._best: list[tuple[float, ...]] = []

    def add(self, clock: SearchClock, arch: Architecture, costs: tuple[float, ...]) -> None:
        """Add the training that has just ended, unless another one is at least as good in all costs."""
        if any(all(a <= b for a, b in zip(known, costs, strict=True)) for known in self._best):
            return
        self._best = [known for known in self._best if not all(b <= a for a, b in zip(known, costs, strict=True))] + [
            costs
        ]
        seconds = recorded_seconds(clock.now) if self._is_timed else None
        self.entries.append([seconds, clock.ended, str(arch), list(costs)])
