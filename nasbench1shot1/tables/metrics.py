"""The metrics of one or several architectures in a table."""

from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import OutOfDomainError, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.ground.values import are_equal
from nasbench1shot1.tables.columns import STANDARD, Column, Moment
from nasbench1shot1.tables.description import fidelity
from nasbench1shot1.tables.folder import Metric, TableFolder
from nasbench1shot1.tables.keys import RowKeys
from nasbench1shot1.tables.stored_columns import PlainColumn, Repeat, Rows, is_run

Values = Any  # a float for one architecture; an array for several architectures or for all repeats


class Metrics:
    """The result of `Table.query`: Python numbers for one architecture, arrays for a sequence of N.

    Each value is read from the table on first access; arrays are read-only. With run="all", metrics with repeats have a
    last axis of repeats, in `is_measured`, too. Pickling reads all values. Results are equal if they answer the same
    query about the same networks of the same table, also if repeats were drawn at random.

    Any metric of the table is an attribute and an item: `metrics.latency_edgegpu` or `metrics["latency_edgegpu"]`.
    Standard metrics that the table lacks are NaN.

    Attributes:
        epochs: the budget of the query; or an earlier epoch, if the query gave a budget, too.
        budget: the number of epochs of the whole training.
        dataset: the training of the query, by its data set, such as "cifar10-valid".
        table_id: id of the table.
        names: the names of the table's metrics on this data set.
        hash: the identifier of the row, a string or a tuple of N: NAS-Bench-101's MD5, or NAS-Bench-201's string.
        fidelity: which accuracies at this budget are predicted, and how accurately; empty if both are measured.
        missing: a sentence on standard values that the table lacks although its benchmark has them; usually empty.
        validation_accuracy: accuracy on the validation images, a fraction; NaN if unknown.
        test_accuracy: accuracy on the test images, a fraction; NaN if unknown.
        train_accuracy: accuracy on the training images, a fraction; NaN if unknown.
        measured_validation_accuracy: the measured validation accuracy; for an estimate, of the single measured repeat.
            NaN if there is none. In an official table, this equals `validation_accuracy`.
        training_time: training time in seconds; NaN if unknown.
        validation_loss: mean cross-entropy on the validation images in nats; NaN if unknown, as in NAS-Bench-101.
        test_loss: mean cross-entropy on the test images in nats; NaN if unknown.
        train_loss: mean cross-entropy on the training images in nats; NaN if unknown.
        evaluation_time: total time of the evaluations on validation images during training, in seconds; NaN if unknown.
        trainable_parameters: exact number of trainable parameters, an integer or (N,); NaN if unknown.
        flops: FLOPs of a forward pass on one image, as the benchmark counts them; NaN if unknown.
    """

    if TYPE_CHECKING:
        epochs: int
        budget: int
        dataset: str
        table_id: str
        names: tuple[str, ...]
        hash: Any
        fidelity: str
        missing: str
        validation_accuracy: Values
        test_accuracy: Values
        train_accuracy: Values
        measured_validation_accuracy: Values
        training_time: Values
        validation_loss: Values
        test_loss: Values
        train_loss: Values
        evaluation_time: Values
        trainable_parameters: Values
        flops: Values
        _folder: TableFolder
        _keys: RowKeys
        _rows: int | Rows
        _repeat: Repeat
        _is_drawn: bool
        _moment: Moment
        _measured: dict[str, Any]

    def __init__(
        self,
        table_id: str,
        folder: TableFolder,
        keys: RowKeys,
        rows: int | Rows,
        training: tuple[str, int],
        repeat: Repeat,
        moment: Moment = "end",
        is_drawn: bool = False,
    ) -> None:
        self.__dict__.update(
            dataset=training[0],
            epochs=training[1],
            budget=moment if isinstance(moment, int) else training[1],
            table_id=table_id,
            _folder=folder,
            _keys=keys,
            _rows=rows,
            _repeat=repeat,
            _is_drawn=is_drawn,
            _moment=moment,
        )

    def __getattr__(self, name: str) -> Any:
        """Read a value on first access; later accesses find it in `__dict__`."""
        own = self.__dict__
        if name[0] == "_" or "_folder" not in own:  # the latter: a result that was pickled
            missing = f"'Metrics' object has no attribute '{name}'"
            raise AttributeError(own.get("_elsewhere", {}).get(name, missing))
        column = own["_folder"].metrics.get((name, own["dataset"], own["_moment"]))
        if column is not None:
            rows, repeat = own["_rows"], self._repeat_of(name) if own["_is_drawn"] else own["_repeat"]
            if type(rows) is int and (repeat == "mean" or type(repeat) is int):
                value: Any = column.value(rows, own["epochs"], repeat)
            else:
                value = _freeze(column.values(np.asarray(rows), self.epochs, self._repeat_of(name)))
        elif name in STANDARD:
            repeat = self._repeat_of(name)
            value = _freeze(self._folder.values(self._key(name), np.asarray(self._rows), self.epochs, repeat))
        elif name in _OTHERS:
            value = _OTHERS[name](self)
        else:
            raise AttributeError(self._lacking(name))
        own[name] = value
        return value

    def __getitem__(self, metric: str) -> Values:
        """Return the values of a metric.

        Raises:
            InvalidInputError: the metric is neither in the table nor a standard one.
            OutOfDomainError: the table has it only on other data sets.
        """
        self._check(metric, "metric")
        return getattr(self, metric)

    def is_measured(self, metric: str) -> Any:
        """Return whether the value of a metric is based on a measurement: a bool, or an array for a sequence.

        Raises the errors of `__getitem__`.
        """
        self._check(metric, "column")
        if "_measured" in self.__dict__:  # a result that was pickled
            return self._measured[metric]
        measured = ~np.isnan(self._measurement(metric))
        if is_run(self._repeat, "all") and measured.shape != (shape := np.shape(self[metric])):
            measured = np.broadcast_to(measured.any(axis=-1, keepdims=True), shape)  # of estimates with several repeats
        return _freeze(measured)

    def is_measurement(self, metric: str) -> Any:
        """Return whether the value of a metric is a measurement or exact: a bool, or an array for a sequence.

        An estimate is not one, even if it is shrunk toward a measurement of its network (`is_measured`). Raises the
        errors of `__getitem__`.
        """
        found = self.is_measured(metric)
        return found if self._about(metric).keeps_measurements else _freeze(np.zeros_like(found))

    def source(self, metric: str) -> str:
        """Return in words where one architecture's value comes from, or why there is none.

        Raises the errors of `__getitem__`.
        """
        if not np.isnan(self[metric]):
            return self._about(metric).source(self.is_measured(metric))
        if metric not in self.names:
            return "not in this table" if self.epochs == self.budget else "not within trainings"
        about = self._about(metric)
        if self.epochs in about.means:
            return "only known as a mean over repeats"
        if about.epochs and self.epochs not in about.epochs:
            return f"not at {counted(self.epochs, 'epoch')}"
        return "unknown for this network" if self._repeat == "mean" else "unknown for this repeat"

    def _check(self, metric: str, kind: str) -> None:
        known = self._known()
        if isinstance(metric, str) and metric in known:
            return
        if isinstance(metric, str) and metric in self._elsewhere:
            raise OutOfDomainError(self._elsewhere[metric])
        raise unknown_name(kind, str(metric), known)

    def _lacking(self, name: str) -> str:
        """Return the message for a metric that the table does not have, or not on this data set."""
        if name in self._folder.names.metrics:
            when = {"halfway": " half-way", "end": ""}.get(
                str(self._moment), f" after {self.epochs} of {self.budget} epochs"
            )
            return (
                f"there is no {name} on {self.dataset}{when}: the table {self.table_id} has {self._folder.where(name)}"
            )
        return f"'Metrics' object has no attribute '{name}', and the table has no metric of this name"

    def _known(self) -> tuple[str, ...]:
        """Return the standard metrics, and the others of the table."""
        return tuple(dict.fromkeys((*STANDARD, *self.names)))

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self._folder.names.metrics if self._key(name) in self._folder.metrics)

    @cached_property
    def _elsewhere(self) -> dict[str, str]:
        """The messages for the metrics that the table has only elsewhere, such as on other data sets."""
        known = self._known()
        return {name: self._lacking(name) for name in self._folder.names.metrics if name not in known}

    @cached_property
    def _abouts(self) -> dict[str, Column]:
        """The descriptions of the standard metrics, and of the others of the table."""
        return {name: self._about(name) for name in self._known()}

    def _key(self, name: str) -> Metric:
        return name, self.dataset, self._moment

    def _about(self, name: str) -> Column:
        return self._folder.about(*self._key(name)) if "_folder" in self.__dict__ else self._abouts[name]

    def _repeat_of(self, name: str) -> Repeat:
        """Return the repeat to be read, "mean" for a column without single repeats.

        Columns without budgets, present or not, have no axis of repeats. If a random repeat was drawn, a metric of
        which only the mean over repeats is known has this mean.
        """
        column = self._folder.metrics.get(self._key(name))
        if column is None:
            return "mean" if name in _WITHOUT_BUDGETS else self._repeat
        plain = isinstance(column, PlainColumn) or (self._is_drawn and self.epochs in column.means)
        return "mean" if plain else self._repeat

    def _measurement(self, name: str) -> NDArray[np.float64]:
        return self._folder.measurement(self._key(name), np.asarray(self._rows), self.epochs, self._repeat_of(name))

    def _measured_validation_accuracy(self) -> Values:
        return _freeze(self._measurement("validation_accuracy"))

    def _hash(self) -> str | tuple[str, ...]:
        names = self._keys.names([self._rows] if isinstance(self._rows, int) else self._rows)
        return names[0] if isinstance(self._rows, int) else tuple(names)

    def _fidelity(self) -> str:
        return fidelity(self._folder.meta, self._folder.names, self.dataset, self.epochs)

    def _missing(self) -> str:
        return self._folder.missing

    # A frozen object -------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field '{name}'")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field '{name}'")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metrics):
            return NotImplemented
        queries = ((getattr(self, name), getattr(other, name)) for name in ("hash", *_QUERY))
        return self is other or all(are_equal(own, others) for own, others in queries)

    def __hash__(self) -> int:
        return hash((self.table_id, self.dataset, self.epochs, self.budget, self.hash))

    def __getstate__(self) -> dict[str, Any]:
        known = self._known()
        read = {name: getattr(self, name) for name in (*_QUERY, *_OTHERS, *known, "_abouts", "_elsewhere")}
        return {**read, "_measured": {name: self.is_measured(name) for name in known}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for values in (*state.values(), *state["_measured"].values()):
            if isinstance(values, np.ndarray):
                values.flags.writeable = False  # copies of read-only arrays are writable
        self.__dict__.update(state)

    def __repr__(self) -> str:
        subject = repr(self.hash) if isinstance(self.hash, str) else counted(len(self.hash), "network")
        others = [name for name in self._known() if name not in STANDARD]
        shown = [name for name in self._known() if name in STANDARD or name in others[:_MOST_OTHERS]]
        more = [f"{len(others) - _MOST_OTHERS} more metrics"] if len(others) > _MOST_OTHERS else []
        values = ", ".join([*filter(None, map(self._format, shown)), *more])
        note = f"; {self.missing}" if self.missing else ""
        epochs = (
            counted(self.epochs, "epoch") if self.epochs == self.budget else f"{self.epochs} of {self.budget} epochs"
        )
        return f"Metrics({subject}, {epochs} on {self.dataset}: {values}; {self.table_id}{note})"

    def _format(self, name: str) -> str:
        """Return a value, or the range of several, and whether it is measured; nothing if it is unknown."""
        values = np.asarray(getattr(self, name), np.float64).ravel()
        known = values[~np.isnan(values)]
        if not len(known):
            return ""
        about = self._about(name)
        low, high = about.text(known.min()), about.text(known.max())
        text = low if low == high else f"{low.removesuffix(f' {about.unit}')} to {high}"
        measured = np.ravel(self.is_measurement(name))[~np.isnan(values)]
        source = about.source(False)
        source = "measured" if measured.all() else f"{measured.sum()} measured" if measured.any() else source
        source = "" if about.fidelity == "exact" else f" ({source})"
        return f"{name} {text}{source}"


_MOST_OTHERS = 5
"""Number of metrics besides the standard ones in a `repr`."""
_QUERY = ("epochs", "budget", "dataset", "table_id", "_repeat", "_is_drawn", "_moment")
"""What a pickled result keeps of its query; results of equal queries are equal."""
_WITHOUT_BUDGETS = ("trainable_parameters", "flops")
"""Standard metrics that have a single value, whatever the budget and the repeat."""

_OTHERS: dict[str, Any] = {
    "names": Metrics._names,
    "hash": Metrics._hash,
    "fidelity": Metrics._fidelity,
    "missing": Metrics._missing,
    "measured_validation_accuracy": Metrics._measured_validation_accuracy,
}
"""How attributes that are not metrics are read on first access."""


def _freeze(values: NDArray[Any]) -> Values:
    """Return a Python number for an array without axes, else the array, made read-only."""
    if np.ndim(values):
        values.flags.writeable = False
    return to_python(values)


def to_python(values: NDArray[Any]) -> Any:
    """Return a Python number for an array without axes, else the array."""
    return values.item() if np.ndim(values) == 0 else values
