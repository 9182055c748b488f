"""A table as a data frame: a row for each training, and a column for each metric.

The frame has these columns, which `from_frame` reads again:

    architecture        the text of an architecture with the network of the row
    dataset             the data set of the training
    epochs              its budget, or the epoch of a value of a learning curve
    repeat or seed      the number or the seed of the repeat; "mean" for means over repeats. Repeats have numbers if a
                        metric has more repeats than the table has seeds
    METRIC              the values of a metric at the end of trainings
    measured_METRIC     its measurements, if METRIC has estimates
    halfway_METRIC      its values half-way through trainings
    curve200_METRIC     its values after each epoch of the trainings of 200 epochs

The prefix measured_ can be combined with the other ones, as in measured_curve200_METRIC.

A value that belongs to the network, not to a training, is in all rows of the network. A network or a data set without
any value has one row, which has no values.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.tables.columns import Column, Floats, Moment
from nasbench1shot1.tables.description import MEASURED, Meta, MetricNames, without_content
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.keys import RowKeys
from nasbench1shot1.tables.stored_columns import MetricColumn, stored_column

if TYPE_CHECKING:
    import pandas


ARCHITECTURE, DATASET, EPOCHS, REPEAT, SEED = "architecture", "dataset", "epochs", "repeat", "seed"
MEAN = "mean"
"""The repeat of a row of means over repeats."""
ATTRIBUTE = "nasbench1shot1_table"
"""The attribute (`DataFrame.attrs`) with the description of the table, without which a frame is read as well."""
_ROW, _REPEAT = "_row", "_repeat"
"""Temporary columns of a frame; no metric has such a name."""
_NAME = re.compile(rf"({MEASURED})?(?:(halfway)_|curve([1-9][0-9]{{0,6}})_)?(.+)", re.DOTALL)


class FrameName(NamedTuple):
    """The parts of the name of a metric's column in frames.

    Attributes:
        metric: the name of the metric.
        moment: when its values were measured.
        is_measured: whether the column has measurements beside estimates.
    """

    metric: str
    moment: Moment
    is_measured: bool


def frame_name(names: MetricNames, stored: str) -> str:
    """Return the name of a stored column in frames."""
    about = names.about[stored]
    return f"{MEASURED if names.is_companion(stored) else ''}{about.prefix}{about.metric}"


def parse_frame_name(name: str) -> FrameName:
    """Return the parts of the name of a column; all of a name without prefixes is the metric."""
    measured, halfway, budget, metric = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]  # every text matches
    within: Moment = "halfway" if halfway else "end"
    return FrameName(metric, int(budget) if budget else within, measured is not None)


def table_frame(folder: TableFolder, keys: RowKeys) -> "pandas.DataFrame":
    """Return all values of a table, given its opened folder and its row keys; see `Table.to_frame`."""
    import pandas

    meta, names = folder.meta, folder.names
    blocks = [_Block(folder, dataset).frame() for dataset in meta["datasets"]]
    known = np.concatenate([block[_ROW].to_numpy() for block in blocks])
    if len(lonely := np.setdiff1d(np.arange(meta["rows"]), known)):  # networks without any value
        blank = {_ROW: lonely, DATASET: meta["datasets"][0], EPOCHS: meta["epochs"][-1], _REPEAT: 0}
        blocks.append(pandas.DataFrame(blank))
    frame = pandas.concat(blocks, ignore_index=True)
    frame = frame.sort_values(_ROW, kind="stable", ignore_index=True)
    texts = np.array([str(keys.architecture(row)) for row in range(meta["rows"])], object)
    frame.insert(0, ARCHITECTURE, texts[frame[_ROW].to_numpy()])
    repeats, seeds = frame[_REPEAT].to_numpy(), meta.get("seeds")
    if seeds is not None and repeats.max() >= len(seeds):  # a metric has more repeats
        seeds = None
    repeat = REPEAT if seeds is None else SEED
    frame[repeat] = _named_repeats(repeats, seeds)
    metrics = dict.fromkeys(frame_name(names, stored) for stored in names.about)
    frame = frame[[ARCHITECTURE, DATASET, EPOCHS, repeat, *(name for name in metrics if name in frame)]]
    frame.attrs[ATTRIBUTE] = _description(folder)
    return frame


def _named_repeats(repeats: NDArray[np.int64], seeds: Sequence[int] | None) -> NDArray[Any]:
    """Return the numbers of repeats, or their seeds, and "mean" for means."""
    numbers = repeats if seeds is None else np.array(seeds)[repeats]
    is_mean = repeats < 0
    return np.where(is_mean, MEAN, numbers.astype(object)) if is_mean.any() else numbers


def _description(folder: TableFolder) -> Meta:
    """Return what `from_frame` needs to create the table again: its description, and how its columns are stored."""
    columns = {}
    for stored in folder.names.about:
        array, entry = folder.columns[stored], folder.meta["columns"][stored]
        columns[stored] = {
            "name": frame_name(folder.names, stored),
            "dtype": array.dtype.name,
            "repeats": array.shape[2] if array.ndim == 3 else None,
            "empty": _empty_epochs(folder, stored),
            "entry": {field: said for field, said in entry.items() if field != "sha256"},
        }
    return copy.deepcopy({**without_content(folder.meta), "columns": columns})


def _empty_epochs(folder: TableFolder, name: str) -> list[int]:
    """Return the budgets of a column, or the epochs of learning curves, at which no row has a value."""
    column = stored_column(folder.columns[name], folder.meta["columns"][name], name)
    known = column.known_epochs if isinstance(column, MetricColumn) else ()
    return [epochs for epochs in folder.names.about[name].epochs if epochs not in known]


class _Block:
    """The part of a frame with the trainings on one data set."""

    def __init__(self, folder: TableFolder, dataset: str) -> None:
        self._dataset, self._rows, self._full = dataset, int(folder.meta["rows"]), folder.meta["epochs"][-1]
        names, entries = folder.names, folder.meta["columns"]
        here = {name: of for name, of in names.about.items() if dataset in (of.dataset, *of.also_of)}
        self._plain = {frame_name(names, n): folder.columns[n] for n, of in here.items() if not of.epochs}
        self._values: dict[str, tuple[Column, dict[int, Floats]]] = {}
        for name, about in here.items():
            if about.epochs:
                values = _values_of(folder.columns[name], entries[name], name, about)
                self._values[frame_name(names, name)] = about, values
        self._epochs = sorted({epochs for _, values in self._values.values() for epochs in values})
        self._repeats = max([values[e].shape[1] for _, values in self._values.values() for e in values], default=1)

    def frame(self) -> "pandas.DataFrame":
        """Return the rows with at least one value; the column `_ROW` has the table's rows, `_REPEAT` -1 for means.

        Without any value, one row keeps the name of the data set.
        """
        import pandas

        parts = [self._at(epochs) for epochs in self._epochs]
        frame = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame({_ROW: np.empty(0, np.int64)})
        if len(rest := self._rows_of_plain_values(frame[_ROW].to_numpy())):
            alone = pandas.DataFrame({_ROW: rest, EPOCHS: self._full, _REPEAT: 0})
            frame = pandas.concat([frame, alone], ignore_index=True) if len(frame) else alone
        if frame.empty:
            frame = pandas.DataFrame({_ROW: [0], EPOCHS: self._full, _REPEAT: 0})
        rows = frame[_ROW].to_numpy()
        for name, stored in self._plain.items():
            frame[name] = np.asarray(stored[rows], np.int64 if stored.dtype.kind in "iu" else np.float64)
        frame.insert(1, DATASET, self._dataset)
        return frame

    def _at(self, epochs: int) -> "pandas.DataFrame":
        """Return the rows of a budget or epoch."""
        import pandas

        here = {name: (of, values[epochs]) for name, (of, values) in self._values.items() if epochs in values}
        is_there = np.zeros((self._rows, self._repeats + 1), bool)  # the last place is for means
        spread = dict(self._spread(epochs, here, is_there))
        rows, repeats = np.nonzero(is_there)
        columns = {name: values[rows, repeats] for name, values in spread.items()}
        repeats = np.where(repeats == self._repeats, -1, repeats)
        return pandas.DataFrame({_ROW: rows, EPOCHS: epochs, _REPEAT: repeats, **columns})

    def _spread(
        self, epochs: int, here: Mapping[str, tuple[Column, Floats]], is_there: NDArray[np.bool_]
    ) -> Iterator[tuple[str, Floats]]:
        """Yield values (R, repeats + 1) with the means in the last place, and mark in `is_there` what is known."""
        shared = {}
        for name, (about, values) in here.items():
            if about.is_same_for_repeats:
                shared[name] = values
                continue
            place = slice(self._repeats, None) if epochs in about.means else slice(0, values.shape[1])
            whole = np.full(is_there.shape, np.nan)
            whole[:, place] = values[:, :1] if epochs in about.means else values
            is_there |= ~np.isnan(whole)
            yield name, whole
        for values in shared.values():  # of rows without a value of a repeat or a mean
            is_there[:, 0] |= ~is_there.any(axis=1) & ~np.isnan(values[:, 0])
        has_repeats = is_there[:, : self._repeats].any(axis=1)
        for name, values in shared.items():
            whole = np.where(is_there, values[:, :1], np.nan)
            whole[has_repeats, self._repeats] = np.nan
            yield name, whole

    def _rows_of_plain_values(self, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that have values of their network, but of no training."""
        has_value = np.zeros(self._rows, bool)
        for stored in self._plain.values():
            has_value |= ~np.isnan(stored) if stored.dtype.kind == "f" else True
        has_value[known] = False
        return np.flatnonzero(has_value)


def _values_of(stored: NDArray[Any], entry: Meta, name: str, about: Column) -> dict[int, Floats]:
    """Return the values (R, K) of a column at each of its epochs, means included."""
    column, rows = stored_column(stored, {**entry, "means": ()}, name), np.arange(len(stored))
    return {epochs: column.values(rows, epochs, "all") for epochs in about.epochs}
