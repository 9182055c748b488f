"""What a table says about one architecture or several."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import unknown_name
from nasbench1shot1.tables.description import fidelity
from nasbench1shot1.tables.folder import HALFWAY, METRICS, TableFolder
from nasbench1shot1.tables.metric_column import Repeat, Rows

Values = Any  # a float for one architecture; an array for several, or where every repeat was asked for


@dataclass(frozen=True, eq=False, repr=False)
class Metrics:
    """The answer to `Table.query`: Python numbers for one architecture, arrays for a sequence of N.

    Each value is read from the table when it is first asked for, and no array can be written to. With run="all"
    accuracies, times and `is_measured` have a last axis of repeats. Pickling reads all values.

    Attributes:
        epochs: the budget that was asked for.
        table_id: the table that answered.
    """

    epochs: int
    table_id: str
    _folder: TableFolder
    _rows: int | Rows
    _repeat: Repeat
    _prefix: str = ""

    @cached_property
    def validation_accuracy(self) -> Values:
        """Fraction of the 9,984 validation images."""
        return self._value("validation_accuracy")

    @cached_property
    def test_accuracy(self) -> Values:
        """Fraction of the test images; NaN where no source speaks."""
        return self._value("test_accuracy")

    @cached_property
    def train_accuracy(self) -> Values:
        """Fraction of the training images; NaN where no source speaks."""
        return self._value("train_accuracy")

    @cached_property
    def training_time(self) -> Values:
        """Seconds."""
        return self._value("training_time")

    @cached_property
    def trainable_parameters(self) -> Values:
        """Exact, an integer or (N,)."""
        return _finished(np.asarray(self._folder.columns["trainable_parameters"][self._rows], np.int64))

    @cached_property
    def measured_validation_accuracy(self) -> Values:
        """The raw measurement of a single repeat that stands behind `validation_accuracy`, NaN where none does.

        An official table's single runs are their own measurement.
        """
        return _finished(self._measurement("validation_accuracy"))

    @cached_property
    def hash(self) -> Any:
        """NAS-Bench-101's MD5, a string or N of them."""
        digits = np.ascontiguousarray(self._folder.columns["hash"][self._rows]).tobytes().hex()
        if isinstance(self._rows, int):
            return digits
        return tuple([digits[i : i + 32] for i in range(0, len(digits), 32)])

    @cached_property
    def fidelity(self) -> str:
        """Which accuracies at this budget are predicted and how good predictions are; empty where both are measured."""
        return fidelity(self._folder.meta, self.epochs)

    def is_measured(self, column: str) -> Any:
        """Does a real measurement of this column stand behind this answer? A bool, or an array for a sequence.

        Raises InvalidInputError for a name that is not a column.
        """
        if not isinstance(column, str) or column not in _COLUMNS:
            raise unknown_name("column", str(column), _COLUMNS)
        return self._measured[column]

    @cached_property
    def _measured(self) -> dict[str, Any]:
        """`is_measured` of every column."""
        found = {name: _finished(~np.isnan(self._measurement(name))) for name in METRICS}
        return found | {"trainable_parameters": _finished(np.ones(np.shape(self._rows), bool))}

    def _value(self, name: str) -> Values:
        stored = self._prefix + name
        one = isinstance(self._rows, int) and stored in self._folder.metrics
        if one and (self._repeat == "mean" or isinstance(self._repeat, int)):
            return self._folder.metrics[stored].value(self._rows, self.epochs, self._repeat)  # type: ignore[arg-type]
        return _finished(self._folder.values(stored, np.asarray(self._rows), self.epochs, self._repeat))

    def _measurement(self, name: str) -> NDArray[np.float64]:
        return self._folder.measurement(self._prefix + name, np.asarray(self._rows), self.epochs, self._repeat)

    def __getstate__(self) -> dict[str, Any]:
        for name in (*_COLUMNS, "measured_validation_accuracy", "hash", "fidelity", "_measured"):
            getattr(self, name)
        return {name: value for name, value in self.__dict__.items() if name not in ("_folder", "_rows", "_repeat")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in (*_COLUMNS, "hash"))
        return f"Metrics({values}, epochs={self.epochs}, table_id={self.table_id!r})"


_COLUMNS = (*METRICS, "trainable_parameters")


def answer(table_id: str, folder: TableFolder, rows: int | Rows, epochs: int, repeat: Repeat, halfway: bool) -> Metrics:
    """An answer, built without what a frozen dataclass costs at every field: a table gives many."""
    metrics = object.__new__(Metrics)
    metrics.__dict__.update(
        epochs=epochs,
        table_id=table_id,
        _folder=folder,
        _rows=rows,
        _repeat=repeat,
        _prefix=HALFWAY if halfway else "",
    )
    return metrics


def _finished(values: NDArray[Any]) -> Values:
    """A Python number for an array without axes, else the array, read-only."""
    if np.ndim(values):
        values.flags.writeable = False
    return plain(values)


def plain(values: NDArray[Any]) -> Any:
    """A Python number for an array without axes, else the array."""
    return values.item() if np.ndim(values) == 0 else values
