"""The metrics of one or several architectures in a table."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.columns import Repeat, Rows
from nasbench1shot1.tables.description import ALL_METRICS, HALFWAY, METRICS, PARAMETERS, column_name, fidelity
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.keys import RowKeys

Values = Any  # a float for one architecture; an array for several architectures or for all repeats


@dataclass(frozen=True, eq=False, repr=False)
class Metrics:
    """The result of `Table.query`: Python numbers for one architecture, arrays for a sequence of N.

    Each value is read from the table on first access; arrays are read-only. With run="all", accuracies, losses, times
    and `is_measured` have a last axis of repeats. Pickling reads all values.

    Attributes:
        epochs: the budget of the query.
        dataset: the training of the query, by its data set, such as "cifar10-valid".
        table_id: id of the table.
    """

    epochs: int
    dataset: str
    table_id: str
    _folder: TableFolder
    _keys: RowKeys
    _rows: int | Rows
    _repeat: Repeat
    _prefix: str = ""

    @cached_property
    def validation_accuracy(self) -> Values:
        """Accuracy on the validation images, a fraction; NaN if unknown."""
        return self._value("validation_accuracy")

    @cached_property
    def test_accuracy(self) -> Values:
        """Accuracy on the test images, a fraction; NaN if unknown."""
        return self._value("test_accuracy")

    @cached_property
    def train_accuracy(self) -> Values:
        """Accuracy on the training images, a fraction; NaN if unknown."""
        return self._value("train_accuracy")

    @cached_property
    def training_time(self) -> Values:
        """Training time in seconds; NaN if unknown."""
        return self._value("training_time")

    @cached_property
    def validation_loss(self) -> Values:
        """Mean cross-entropy on the validation images in nats; NaN if unknown, as in NAS-Bench-101 tables."""
        return self._value("validation_loss")

    @cached_property
    def test_loss(self) -> Values:
        """Mean cross-entropy on the test images in nats; NaN if unknown."""
        return self._value("test_loss")

    @cached_property
    def train_loss(self) -> Values:
        """Mean cross-entropy on the training images in nats; NaN if unknown."""
        return self._value("train_loss")

    @cached_property
    def evaluation_time(self) -> Values:
        """Total time of the evaluations on validation images during training, in seconds; NaN if unknown."""
        return self._value("evaluation_time")

    @cached_property
    def trainable_parameters(self) -> Values:
        """Exact number of trainable parameters, an integer or (N,)."""
        return _freeze(np.asarray(self._folder.columns[self._stored(PARAMETERS)][self._rows], np.int64))

    @cached_property
    def flops(self) -> Values:
        """FLOPs of a forward pass on one image, as the benchmark counts them; NaN if unknown."""
        known = self._folder.columns.get(self._stored("flops"))
        return _freeze(np.full(np.shape(self._rows), np.nan) if known is None else np.asarray(known[self._rows]))

    @cached_property
    def measured_validation_accuracy(self) -> Values:
        """The measured validation accuracy; for an estimate, of the single measured repeat. NaN if there is none.

        In an official table, this equals `validation_accuracy`.
        """
        return _freeze(self._measurement("validation_accuracy"))

    @cached_property
    def hash(self) -> Any:
        """The identifier of the row, a string or a tuple of N: NAS-Bench-101's MD5, or NAS-Bench-201's string."""
        names = self._keys.names([self._rows] if isinstance(self._rows, int) else self._rows)
        return names[0] if isinstance(self._rows, int) else tuple(names)

    @cached_property
    def fidelity(self) -> str:
        """Which accuracies at this budget are predicted, and how accurately; empty if both are measured."""
        return fidelity(self._folder.meta, self.dataset, self.epochs)

    def is_measured(self, column: str) -> Any:
        """Return whether a value of a column is based on a measurement: a bool, or an array for a sequence.

        Raises InvalidInputError for a name that is not a column.
        """
        if not isinstance(column, str) or column not in _MEASURABLE:
            raise unknown_name("column", str(column), _MEASURABLE)
        if "_measured" in self.__dict__:  # a result that was pickled
            return self._measured[column]
        if column == PARAMETERS:
            return _freeze(np.ones(np.shape(self._rows), bool))
        return _freeze(~np.isnan(self._measurement(column)))

    @cached_property
    def _measured(self) -> dict[str, Any]:
        """`is_measured` of every column."""
        return {name: self.is_measured(name) for name in _MEASURABLE}

    def _stored(self, name: str) -> str:
        return column_name(self._folder.meta, self.dataset, name)

    def _value(self, name: str) -> Values:
        stored = self._prefix + self._stored(name)
        one = isinstance(self._rows, int) and stored in self._folder.metrics
        if one and (self._repeat == "mean" or isinstance(self._repeat, int)):
            return self._folder.metrics[stored].value(self._rows, self.epochs, self._repeat)  # type: ignore[arg-type]
        return _freeze(self._folder.values(stored, np.asarray(self._rows), self.epochs, self._repeat))

    def _measurement(self, name: str) -> NDArray[np.float64]:
        stored = self._prefix + self._stored(name)
        return self._folder.measurement(stored, np.asarray(self._rows), self.epochs, self._repeat)

    def __getstate__(self) -> dict[str, Any]:
        for name in (*_MEASURABLE, "flops", "measured_validation_accuracy", "hash", "fidelity", "_measured"):
            getattr(self, name)
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        subject = repr(self.hash) if isinstance(self.hash, str) else counted(len(self.hash), "network")
        values = ", ".join(filter(None, map(self._format_value, (*METRICS, PARAMETERS))))
        return f"Metrics({subject}, {counted(self.epochs, 'epoch')} on {self.dataset}: {values}; {self.table_id})"

    def _format_value(self, name: str) -> str:
        """Return a value, or the range of several, and whether it is measured; nothing if it is unknown."""
        values = np.asarray(getattr(self, name), np.float64).ravel()
        known = values[~np.isnan(values)]
        if not len(known):
            return ""
        ends = [f"{end:.4f}" if name.endswith("accuracy") else f"{end:,.0f}" for end in (known.min(), known.max())]
        measured = np.ravel(self.is_measured(name))[~np.isnan(values)]
        source = "measured" if measured.all() else f"{measured.sum()} measured" if measured.any() else "predicted"
        unit = {PARAMETERS: "", "training_time": f" s ({source})"}.get(name, f" ({source})")
        return f"{name} {' to '.join(dict.fromkeys(ends))}{unit}"


_MEASURABLE = (*ALL_METRICS, PARAMETERS)
_NOT_PICKLED = ("_folder", "_keys", "_rows", "_repeat")


def make_metrics(
    table_id: str,
    folder: TableFolder,
    keys: RowKeys,
    rows: int | Rows,
    training: tuple[str, int],
    repeat: Repeat,
    halfway: bool,
) -> Metrics:
    """Return the metrics of a training (data set, epochs), without a frozen dataclass's overhead for every field."""
    dataset, epochs = training
    metrics = object.__new__(Metrics)
    metrics.__dict__.update(
        epochs=epochs,
        dataset=dataset,
        table_id=table_id,
        _folder=folder,
        _keys=keys,
        _rows=rows,
        _repeat=repeat,
        _prefix=HALFWAY if halfway else "",
    )
    return metrics


def _freeze(values: NDArray[Any]) -> Values:
    """Return a Python number for an array without axes, else the array, made read-only."""
    if np.ndim(values):
        values.flags.writeable = False
    return to_python(values)


def to_python(values: NDArray[Any]) -> Any:
    """Return a Python number for an array without axes, else the array."""
    return values.item() if np.ndim(values) == 0 else values
