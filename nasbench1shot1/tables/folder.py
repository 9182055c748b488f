"""A table on disk: a folder of memory-mapped `.npy` columns, and `meta.json`, which describes them.

Columns of a table of R rows:

    columns of the row keys    integers that identify rows, see the benchmark's keys, such as `nasbench101.keys`
    member_<space>             (M,) ascending rows of a space, one column per space
    order                      (R,) the rows in the order of the source, if it is not ascending
    any other                  a metric that `meta.json` describes (`columns.Column`):
                               (R, e, K) numbers, one for each of its e budgets and K repeats (K may differ between
                               columns); or (R,) numbers that apply to all budgets; or learning curves (R, N, K), one
                               number for each epoch of the trainings of N epochs and each of the entry's K `repeats`

A metric may have estimates in one column and single measurements in another one, which is (R, e, 1). By convention, the
name of a column is the name of its metric, with optional prefixes: the data set and a dot, if the table has several
data sets; before it "halfway_" or "curve200_"; and in front of these "measured_" for measurements beside estimates, as
in `measured_cifar10.test_accuracy`. Columns without any known value are omitted. Accuracies stored as unsigned integers
are image counts, which `stored_columns.MetricColumn` converts.

Checksums detect every change, but take a second for all of NAS-Bench-101. A large table is therefore opened without
verifying them. Damage that would crash or hang the program is detected where a column is used: headers and shapes when
the table is opened, impossible cells and rows when they are first used. Damage raises DamagedFileError.
"""

import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, alternatives, option
from nasbench1shot1.ground.files import read_json
from nasbench1shot1.ground.folder_swap import read_consistently
from nasbench1shot1.tables.checks import (
    REMEDY,
    check_columns,
    check_values,
    keys_of,
    open_column,
    size_of,
    verify_checksums,
)
from nasbench1shot1.tables.columns import STANDARD, Column, Floats, Moment
from nasbench1shot1.tables.description import (
    UNNAMED_DATASET,
    Meta,
    MetricNames,
    find_problem,
    matches_checksum,
    module_to_import,
    objectives,
)
from nasbench1shot1.tables.stored_columns import (
    CurveColumn,
    EvenColumn,
    MetricColumn,
    PlainColumn,
    Repeat,
    Rows,
    StoredColumn,
    is_run,
    stored_column,
)

FORMAT = 1
META = "meta.json"
CHECKED_AT_LOAD = 32_000_000
"""Largest table, in bytes, whose columns' SHA-256 are checked when it is opened."""

Columns = dict[str, NDArray[Any]]
Metric = tuple[str, str, Moment]
"""A metric, a data set and a moment."""


@dataclass(frozen=True)
class TableFolder:
    """An opened folder: its path, the content of `meta.json`, and the memory-mapped columns.

    A table that was never written has no path, and its columns are in memory.
    """

    path: Path | None
    meta: Meta
    columns: Columns
    _checked: set[str] = field(default_factory=set, repr=False, compare=False)
    _equal: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def names(self) -> MetricNames:
        """The names and descriptions of the columns of metrics."""
        return MetricNames(self.meta["columns"])

    @cached_property
    def metrics(self) -> dict[Metric, StoredColumn]:
        """The columns that have the values of each metric."""
        return {key: self._stored(name, key[2]) for key, name in self.names.values.items()}

    @cached_property
    def _measurements(self) -> dict[Metric, StoredColumn]:
        """The columns of single measurements, of metrics whose values are estimates."""
        named, values = self.names.measurements, self.names.values
        return {key: self._stored(name) for key, name in named.items() if name != values[key]}

    @cached_property
    def repeats(self) -> int:
        """The largest number of repeats of a column."""
        ends = (name for name, about in self.names.about.items() if about.epochs and isinstance(about.moment, str))
        own = [self.columns[name].shape[2] for name in ends]
        return int(max((self.meta["repeats"], *own)))

    @property
    def missing(self) -> str:
        """The sentence of the description on standard values that the table lacks; empty if there is none."""
        return str(self.meta.get("missing", ""))

    def _stored(self, name: str, moment: Moment = "end") -> StoredColumn:
        column = stored_column(self.columns[name], self.meta["columns"][name], name)
        if isinstance(moment, int) and isinstance(column, MetricColumn) and not isinstance(column, CurveColumn):
            return EvenColumn(column, moment)
        return column

    def about(self, metric: str, dataset: str, moment: Moment = "end") -> Column:
        """Return the description of a metric's values; of a standard metric if the table has none.

        Raises OutOfDomainError if the table has another metric only elsewhere.
        """
        name = self.names.values.get((metric, dataset, moment))
        if name is None and metric not in STANDARD:
            raise OutOfDomainError(f"the table {table_id(self.meta)} has {self.where(metric)}: ask for it there")
        if name is None:
            return STANDARD[metric]
        about = self.names.about[name]
        return about if about.dataset == dataset else replace(about, dataset=dataset, also_of=())

    def where(self, metric: str) -> str:
        """Return a metric and where the table has it, such as "latency_edgegpu only on cifar10"."""
        found = [key[1:] for key in self.names.values if key[0] == metric]
        moments = {moment for _, moment in found}
        when: dict[Moment, str] = {"end": " at the end of trainings", "halfway": " half-way through trainings"}
        return (
            f"{metric} only on {alternatives(dict.fromkeys(dataset for dataset, _ in found))}"
            f"{when.get(moments.pop(), ' within trainings') if len(moments) == 1 else ''}"
        )

    def datasets_of(self, metric: str | None = None) -> list[str]:
        """Return the data sets that have a metric, in the order of the table. Default: those with values of trainings.

        Data sets that have the metric only within trainings are left out if others have it at the end. For a metric on
        validation or test images, the result consists of the data sets whose values guide or judge searches
        (`description.Objective`), if they have the metric.
        """
        described = [(key, self.names.about[name]) for key, name in self.names.values.items()]
        named = [(key, about) for key, about in described if (key[0] == metric if metric else about.epochs)]
        found = [(key, about) for key, about in named if key[2] == "end"] or named
        having = [name for name in self.meta["datasets"] if name in {key[1] for key, _ in found}]
        if metric is None:
            return having or list(self.meta["datasets"])
        split = next((about.split for _, about in found), None)
        searched = {getattr(one, split) for one in objectives(self.meta)} if split in ("validation", "test") else set()
        return [name for name in having if name in searched] or having

    def is_equal_on_all_data_sets(self, metric: str) -> bool:
        """Return whether all data sets have the same values of a metric, which does not depend on budgets."""
        if metric not in self._equal:
            first, *others = self.meta["datasets"]
            self._equal[metric] = all(self._are_equal(metric, first, other) for other in others)
        return self._equal[metric]

    def _are_equal(self, metric: str, dataset: str, other: str) -> bool:
        keys: tuple[Metric, Metric] = (metric, dataset, "end"), (metric, other, "end")
        if not all(isinstance(self.metrics.get(key), PlainColumn) for key in keys):
            return False
        one, two = (self.names.about[self.names.values[key]] for key in keys)
        first, second = (self.columns[self.names.values[key]] for key in keys)
        return one == replace(two, dataset=dataset) and np.array_equal(first, second, equal_nan=True)

    def checked_column(self, name: str) -> NDArray[Any]:
        """Return a column after checking its values once; raises the errors of `check_values`."""
        if name not in self._checked:
            check_values(self.path, self.meta, name, self.columns[name])
            self._checked.add(name)
        return self.columns[name]

    def values(self, key: Metric, rows: Rows, epochs: int, repeat: Repeat) -> NDArray[Any]:
        """Return `MetricColumn.values` of a metric; all values are NaN if the table lacks it."""
        return self._values(self.metrics.get(key), rows, epochs, repeat)

    def measurement(self, key: Metric, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return a metric's measurements: its own values, or the single measured repeat of an estimate; else NaN."""
        if key in self.names.measurements and key not in self._measurements:
            return self.values(key, rows, epochs, repeat)
        return self._values(self._measurements.get(key), rows, epochs, "all" if is_run(repeat, "all") else 0)

    def _values(self, column: StoredColumn | None, rows: Rows, epochs: int, repeat: Repeat) -> NDArray[Any]:
        if column is not None:
            return column.values(rows, epochs, repeat)
        return np.full((*rows.shape, self.meta["repeats"]) if is_run(repeat, "all") else rows.shape, np.nan)

    def trained_repeats(self, dataset: str, rows: Rows, epochs: int) -> NDArray[np.bool_]:
        """Return which repeats of rows were trained, that is, have an accuracy: (*rows.shape, `repeats`).

        Only standard accuracies count, so that an additional accuracy with other repeats, such as under several attacks
        on each network, does not change the draws of all metrics. If the table has no standard accuracy, any accuracy
        counts, or else any metric with repeats. Means over repeats do not count.
        """
        abouts = {key: self.about(*key) for key in self.metrics if key[1:] == (dataset, "end")}
        repeated = {key: about for key, about in abouts.items() if about.epochs and not about.is_same_for_repeats}
        accuracies = {key: about for key, about in repeated.items() if about.quantity == "accuracy"}
        usual = {key: about for key, about in accuracies.items() if about.metric in STANDARD}
        trained = np.zeros((*rows.shape, self.repeats), bool)
        for key, about in (usual or accuracies or repeated).items():
            if epochs in about.means:
                continue
            known = ~np.isnan(self.values(key, rows, epochs, "all"))
            trained[..., : known.shape[-1]] |= known
        return trained


# Reading --------------------------------------------------------------------------------------------------------------


def open_folder(path: Path) -> TableFolder:
    """Open a table's folder; the columns of small tables are checked against their SHA-256.

    If another process replaces the table at the same time, either the old or the new table is opened.

    Raises:
        InvalidInputError: there is no table, or it has another format.
        DamagedFileError: a column is missing, truncated or changed, or `meta.json` is not valid.
    """
    return read_consistently(path, _open)


def _open(path: Path) -> TableFolder:
    meta = _read_meta(path)
    if sum(size_of(path, name) for name in meta["columns"]) <= CHECKED_AT_LOAD:
        verify_checksums(path, meta)
    columns = {name: open_column(path, name) for name in meta["columns"]}
    check_columns(path, meta, columns)
    return TableFolder(path, meta, columns)


def verify_folder(path: Path) -> Meta:
    """Check a table's description and columns against their SHA-256, for tables of any size.

    Returns:
        The description.

    Raises the errors of `open_folder`.
    """
    return read_consistently(path, _verify)


def _verify(path: Path) -> Meta:
    meta = _read_meta(path)
    verify_checksums(path, meta)
    check_columns(path, meta, {name: open_column(path, name) for name in meta["columns"]})
    return meta


def _read_meta(path: Path) -> Meta:
    if not (path / META).is_file():
        raise InvalidInputError(
            f"there is no table in {path} ({META} is missing): give the folder of a table{unset_hint()}"
        )
    meta = read_json(path / META)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else None
        raise InvalidInputError(
            f"the table in {path} has format {found}, but this version reads format {FORMAT}: build or import it again"
        )
    if module := module_to_import(meta):
        raise InvalidInputError(
            f"the table in {path} belongs to the benchmark '{meta['keyed_by']}', whose module is not imported "
            f"automatically, because this runs its code: if you trust it, add {option('allow_module', module)}, or "
            "import the module in Python first"
        )
    if (wrong := find_problem(meta)) is not None:
        raise DamagedFileError(f"{path / META} {wrong}: {REMEDY}")
    if not matches_checksum(meta):
        raise DamagedFileError(f"{path / META} was changed (its SHA-256 differs): {REMEDY}")
    return meta


def table_id(meta: Meta) -> str:
    """Return a table's id: name, version and the first 7 digits of a SHA-256 over the columns' names and SHA-256s.

    Columns that follow from others are not included. Names of data sets are included, in the names of columns if the
    table has several.
    """
    derived = keys_of(meta).DERIVED
    content = sorted((name, about) for name, about in meta["columns"].items() if name not in derived)
    listed = "\n".join([*(f"{name} {about['sha256']}" for name, about in content), *_unnamed_datasets(meta)])
    return f"{meta['name']}-v{meta['version']}-{hashlib.sha256(listed.encode()).hexdigest()[:7]}"


def _unnamed_datasets(meta: Meta) -> list[str]:
    """Return the data sets that columns describe and no column has in its name.

    "cifar10" and "default" are left out: runs recorded the ids of tables of these data sets before ids depended on the
    names of data sets.
    """
    described = {of for about in meta["columns"].values() for of in (about.get("dataset"), *about.get("also_of", ()))}
    named = {name.rpartition(".")[0].rpartition("_")[2] for name in meta["columns"]}
    return sorted(described - named - {None, "cifar10", UNNAMED_DATASET})


def unset_hint() -> str:
    """Return the advice to unset NB1SHOT1_TABLE, for the end of a message; empty if the variable is not set."""
    return ", or unset NB1SHOT1_TABLE to use the embedded table" if os.environ.get("NB1SHOT1_TABLE") else ""
