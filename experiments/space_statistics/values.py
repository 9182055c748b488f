"""What a table knows of a metric at one budget, row by row, and the words about it that every figure carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.nasbench101.encoding import MAX_VERTICES, VERTEX_BIT
from nasbench1shot1.tables.table import Table

Floats = NDArray[np.float64]
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Values:
    """A metric of all R rows of a table at one budget.

    Attributes:
        table_id, what: which table, and the metric and budget in words.
        repeats: (R, K), NaN where there is no value.
        predicted: whether these are estimates; measurements otherwise.
        n_measured: how many rows have a measurement.
    """

    table_id: str
    what: str
    repeats: Floats
    predicted: bool
    n_measured: int

    @cached_property
    def mean(self) -> Floats:
        """(R,) mean over the repeats, NaN where one is lacking."""
        mean: Floats = self.repeats.mean(axis=1)
        return mean

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have a value, ascending."""
        return np.flatnonzero(~np.isnan(self.mean))

    def attributes(self, **more: Any) -> dict[Any, Any]:
        """What a frame keeps in `attrs`: table, quantity, rows that stand behind it, rows dropped, predicted or not."""
        return {
            "table": self.table_id,
            "quantity": self.what,
            "predicted": self.predicted,
            "rows": len(self.rows),
            "measured_rows": self.n_measured,
            "dropped": len(self.mean) - len(self.rows),
            **more,
        }


def caption(attributes: Mapping[Any, Any]) -> str:
    """The line under a figure: how many rows stand behind it, whether they are measured, and the table's id."""
    rows, total = attributes["rows"], attributes["rows"] + attributes["dropped"]
    kind = "PREDICTED, not measured:" if attributes["predicted"] else "measured:"
    unit = attributes.get("unit", "rows")
    said = f"{attributes['quantity']}, {kind} {rows:,} of {total:,} {unit} of table {attributes['table']}"
    if attributes["predicted"]:
        said += f"; {attributes['measured_rows']:,} of them with a measurement drawn in"
    return "\n".join([said, *attributes.get("notes", ())])


def known_values(table: Table, metric: str, epochs: int | None = None, predicted: bool = False) -> Values:
    """A metric of a whole table: measurements, or with `predicted` the table's own values, estimates among them.

    Args:
        table: any.
        metric: "validation_accuracy", "test_accuracy", "train_accuracy" or "training_time".
        epochs: budget. Default: the table's full budget.
        predicted: take estimates where the table's column is not measured.

    Raises:
        OutOfDomainError: the table has no such budget, or no row has a value; the sentence says what would help.
        InvalidInputError: unknown metric.
    """
    epochs = table.full_budget if epochs is None else epochs
    found = values_or_nan(table, metric, epochs, predicted)
    if len(found.rows) == 0:
        raise OutOfDomainError(_refusal(table, metric, epochs, predicted))
    return found


def values_or_nan(table: Table, metric: str, epochs: int | None = None, predicted: bool = False) -> Values:
    """`known_values` of a metric that an analysis can do without: NaN where the table knows nothing."""
    epochs = table.full_budget if epochs is None else epochs
    is_estimate = predicted and not table.is_measured(metric)
    measured = table.measured(metric, epochs)
    n_measured = int((~np.isnan(measured).any(axis=1)).sum())
    repeats = table.values(metric, epochs) if is_estimate else measured
    return Values(table.id, f"{metric.replace('_', ' ')} at {epochs} epochs", repeats, is_estimate, n_measured)


def accuracy(split: str) -> str:
    """The metric of a split; raises InvalidInputError for an unknown one."""
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    return f"{split}_accuracy"


def cells_of(table: Table) -> NDArray[np.uint64]:
    """(R,) the encodings of all cells as the table numbers them."""
    return np.asarray(table.column("cell"))


def vertices_of(table: Table, wanted: int | None = None) -> int:
    """Return the number of vertices of an encoding: as many as the table's largest cells have, or as many as wanted.

    Raises InvalidInputError where cells of the table do not fit, or there are more than seven.
    """
    largest = max(int(cells_of(table).max() >> np.uint64(VERTEX_BIT)), 3)  # two vertices leave nothing to choose
    if wanted is not None and (wanted not in range(largest, MAX_VERTICES + 1)):
        raise InvalidInputError(
            f"vertices cannot be {wanted!r}: give {largest}, which the table needs, to {MAX_VERTICES}"
        )
    return largest if wanted is None else wanted


def check_enough(found: int, needed: int, what: str, table: Table) -> None:
    """Raise OutOfDomainError where an analysis has too little to go by."""
    if found < needed:
        raise OutOfDomainError(f"the table {table.id} has {found} {what}, and {needed} are needed: open a larger table")


def check_counts(**counts: int) -> None:
    """Raise InvalidInputError for a number of steps, samples or cells that is none."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidInputError(f"{name} cannot be {value!r}: give a whole number of at least 1")


def _refusal(table: Table, metric: str, epochs: int, predicted: bool) -> str:
    """Nothing is there: say so, and what would be."""
    helps = ["open a table that has it (the official data of NAS-Bench-101 do)"]
    if metric == "test_accuracy" and len(values_or_nan(table, "validation_accuracy", epochs, predicted).rows):
        helps.insert(0, "give --split validation")
    if not predicted and len(values_or_nan(table, metric, epochs, True).rows):
        helps.append("add --predicted to see its estimates, which are not measurements")
    kind = "" if predicted else "measured "
    return f"the table {table.id} has no {kind}{metric.replace('_', ' ')} at {epochs} epochs: " + ", or ".join(helps)
