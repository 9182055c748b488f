"""A metric of all rows of a table at one budget, and the caption of figures about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, option, switch, unknown_name
from nasbench1shot1.nasbench101.encoding import MAX_VERTICES, VERTEX_BIT
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.stored_columns import mean_of_known
from nasbench1shot1.tables.table import Table

Floats = NDArray[np.float64]
SPLITS = ("train", "validation", "test")
NORMAL = 1.96
"""Half the width of the 95 % interval of a normal distribution, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a metric for all R rows of a table at one budget.

    Attributes:
        table_id, what: id of the table, and a description of the metric and budget.
        repeats: (R, K) values, NaN if unknown.
        measured: (R,) bool: whether a row has a measurement.
        about: the description of the values if they are estimates; None if they are measurements.
    """

    table_id: str
    what: str
    repeats: Floats
    measured: NDArray[np.bool_]
    about: Column | None

    @property
    def predicted(self) -> bool:
        """Whether the values are estimates instead of measurements."""
        return self.about is not None

    def source_of(self, row: int) -> str:
        """Return whether the value of a row is measured, in words."""
        return "measured" if self.about is None else self.about.source(bool(self.measured[row]))

    @cached_property
    def mean(self) -> Floats:
        """The means over the known repeats, (R,), NaN without any."""
        return mean_of_known(self.repeats)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The rows with a value, ascending."""
        return np.flatnonzero(~np.isnan(self.mean))

    def attributes(self, used: NDArray[np.int64] | None = None, **more: Any) -> dict[Any, Any]:
        """Return a frame's `attrs`: table, quantity, numbers of used and dropped rows, and whether it is predicted.

        Args:
            used: the rows that the frame is about. Default: all rows with a value.
            more: further attributes, or other values of these.
        """
        used = self.rows if used is None else used
        return {
            "table": self.table_id,
            "quantity": self.what,
            "predicted": self.predicted,
            "rows": len(used),
            "measured_rows": int(self.measured[used].sum()),
            "dropped": len(self.mean) - len(used),
            **more,
        }


def caption(attributes: Mapping[Any, Any]) -> str:
    """Return a figure's caption: the number of rows, whether they are measured, and the table's id."""
    rows, total = attributes["rows"], attributes["rows"] + attributes["dropped"]
    kind = "PREDICTED, not measured:" if attributes["predicted"] else "measured:"
    unit = attributes.get("unit", "rows")
    said = f"{attributes['quantity']}, {kind} {rows:,} of {total:,} {unit} of table {attributes['table']}"
    if attributes["predicted"]:
        said += f"; {attributes['measured_rows']:,} of them based on a measurement"
    return "\n".join([said, *attributes.get("notes", ())])


def known_values(table: Table, metric: str, epochs: int | None = None, predicted: bool = False) -> Values:
    """Return a metric of all rows: measurements, or with `predicted` the table's values, which may be estimates.

    Args:
        table: a table of NAS-Bench-101.
        metric: "validation_accuracy", "test_accuracy", "train_accuracy", "training_time" or "trainable_parameters".
        epochs: budget. Default: the table's full budget.
        predicted: use estimates if the table's column is not measured.

    Raises:
        OutOfDomainError: the table lacks the budget, or no row has a value; the message states what would help.
        InvalidInputError: the metric is unknown.
    """
    epochs = table.full_budget if epochs is None else epochs
    found = values_or_nan(table, metric, epochs, predicted)
    if len(found.rows) == 0:
        raise no_values_error(table, metric, epochs, predicted)
    return found


def values_or_nan(table: Table, metric: str, epochs: int | None = None, predicted: bool = False) -> Values:
    """Return `known_values` of an optional metric: only NaN if the table has no values."""
    epochs = table.full_budget if epochs is None else epochs
    is_estimate = predicted and not table.is_measured(metric)
    measured = table.measured(metric, epochs)
    repeats = table.values(metric, epochs) if is_estimate else measured
    about, known = table.about(metric) if is_estimate else None, np.asarray(~np.isnan(measured).all(axis=1))
    return Values(table.id, f"{metric.replace('_', ' ')} at {epochs} epochs", repeats, known, about)


def has_values(table: Table, metric: str, epochs: int | None = None, predicted: bool = False) -> bool:
    """Return whether a table of any benchmark has measurements of a metric, or with `predicted` any values."""
    read = table.values if predicted else table.measured
    return any(bool(np.isfinite(read(metric, epochs, dataset)).any()) for dataset in table.datasets)


def no_values_error(
    table: Table, metric: str, epochs: int, predicted: bool, instead: str = f"give {option('split', 'validation')}"
) -> OutOfDomainError:
    """Return the error for a metric without values in a table of any benchmark, with advice.

    `instead` is the advice if the metric is the test accuracy and the table has validation accuracy.
    """
    helps = [f"open a table that has it (such as the official data of {table.benchmark.title})"]
    if metric == "test_accuracy" and has_values(table, "validation_accuracy", epochs, predicted):
        helps.insert(0, instead)
    if not predicted and has_values(table, metric, epochs, predicted=True):
        helps.append(f"add {switch('predicted')} to see its estimates, which are not measurements")
    words = f"{'' if predicted else 'measured '}{metric.replace('_', ' ')} at {epochs} epochs"
    return OutOfDomainError(f"the table {table.id} has no {words}: " + ", or ".join(helps))


def accuracy(split: str) -> str:
    """Return the name of a split's accuracy; raises InvalidInputError for an unknown split."""
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    return f"{split}_accuracy"


def cells_of(table: Table) -> NDArray[np.uint64]:
    """Return the encodings of all cells with the table's numbering, (R,)."""
    return np.asarray(table.column("cell"))


def vertices_of(table: Table, wanted: int | None = None) -> int:
    """Return the number of vertices of an encoding: `wanted`, or by default the number in the table's largest cells.

    Raises InvalidInputError if cells of the table have more vertices than `wanted`, or it is more than seven.
    """
    largest = max(int(cells_of(table).max() >> np.uint64(VERTEX_BIT)), 3)  # two vertices leave nothing to choose
    if wanted is not None and (wanted not in range(largest, MAX_VERTICES + 1)):
        raise InvalidInputError(
            f"vertices cannot be {wanted!r}: give {largest}, which the table needs, to {MAX_VERTICES}"
        )
    return largest if wanted is None else wanted


def check_enough(found: int, needed: int, what: str, table: Table) -> None:
    """Raise OutOfDomainError if an analysis has too little data; `what` is a plural noun, perhaps with a qualifier."""
    if found < needed:
        raise OutOfDomainError(
            f"the table {table.id} has too few {what} ({found}, but at least {needed} are needed): "
            "open a table with more"
        )


def check_counts(**counts: int) -> None:
    """Raise InvalidInputError for an invalid number of steps, samples or cells."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidInputError(f"{name} cannot be {value!r}: give a whole number of at least 1")
