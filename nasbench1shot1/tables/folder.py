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
name of a column is the name of its metric, with two optional prefixes: the data set and a dot, if the table has several
data sets, and before it "halfway_", "measured_" or "curve200_", as in `measured_cifar10.test_accuracy`. Columns without
any known value are omitted. Accuracies stored as unsigned integers are image counts, which `columns.MetricColumn`
converts.

Checksums detect every change, but take a second for all of NAS-Bench-101. A large table is therefore opened without
verifying them. Damage that would crash or hang the program is detected where a column is used: headers and shapes when
the table is opened, impossible cells and rows when they are first used. Damage raises DamagedFileError.
"""

import copy
import hashlib
import io
import math
import os
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, alternatives
from nasbench1shot1.ground.files import (
    atomic_folder,
    atomic_write,
    blocked_error,
    check_writable,
    open_regular,
    read_json,
    read_npy_header,
    reason,
    sha256,
    write_json,
)
from nasbench1shot1.ground.folder_swap import read_consistently
from nasbench1shot1.tables.columns import (
    STANDARD,
    Column,
    CurveColumn,
    EvenColumn,
    Floats,
    MetricColumn,
    Moment,
    PlainColumn,
    Repeat,
    Rows,
    StoredColumn,
    is_run,
    stored_column,
)
from nasbench1shot1.tables.description import (
    CHECKSUM,
    MEMBER,
    Meta,
    MetricNames,
    benchmark_of,
    content_sha256,
    exact_entry,
    find_problem,
    matches_checksum,
)
from nasbench1shot1.tables.growing_column import release
from nasbench1shot1.tables.keys import KeyColumn, RowKeys

FORMAT = 1
META = "meta.json"
CHECKED_AT_LOAD = 32_000_000
"""Largest table, in bytes, whose columns' SHA-256 are checked when it is opened."""
REMEDY = "build or import the table again, or reinstall the package if it is the embedded table"

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

        If the table has no accuracies, any other metric with repeats counts. Means over repeats do not count.
        """
        abouts = {key: self.about(*key) for key in self.metrics if key[1:] == (dataset, "end")}
        repeated = {key: about for key, about in abouts.items() if about.epochs and not about.is_same_for_repeats}
        accuracies = {key: about for key, about in repeated.items() if about.quantity == "accuracy"}
        trained = np.zeros((*rows.shape, self.repeats), bool)
        for key, about in (accuracies or repeated).items():
            if epochs in about.means:
                continue
            known = ~np.isnan(self.values(key, rows, epochs, "all"))
            trained[..., : known.shape[-1]] |= known
        return trained


def keys_of(meta: Meta) -> type[RowKeys]:
    """Return the class that identifies the rows of a table."""
    keys: type[RowKeys] = benchmark_of(meta).load("keys")
    return keys


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
    if (wrong := find_problem(meta)) is not None:
        raise DamagedFileError(f"{path / META} {wrong}: {REMEDY}")
    if not matches_checksum(meta):
        raise DamagedFileError(f"{path / META} was changed (its SHA-256 differs): {REMEDY}")
    return meta


def table_id(meta: Meta) -> str:
    """Return a table's id: name, version and the first 7 digits of a SHA-256 over the columns' names and SHA-256s.

    Columns that follow from others are not included.
    """
    derived = keys_of(meta).DERIVED
    content = sorted((name, about) for name, about in meta["columns"].items() if name not in derived)
    listed = "\n".join(f"{name} {about['sha256']}" for name, about in content)
    return f"{meta['name']}-v{meta['version']}-{hashlib.sha256(listed.encode()).hexdigest()[:7]}"


# Writing --------------------------------------------------------------------------------------------------------------


def check_target(folder: Path) -> None:
    """Raise the errors that `write_table` would raise for a folder, before the table is computed."""
    check_writable(folder)
    if not folder.resolve().parent.is_dir():
        return
    if read_consistently(folder, _is_foreign):
        raise InvalidInputError(f"{folder} contains files other than a table: choose another or an empty folder")


def _is_foreign(folder: Path) -> bool:
    holds_no_table = folder.exists() and not (folder / META).is_file()
    return holds_no_table and (not folder.is_dir() or any(folder.iterdir()))


def write_table(folder: Path, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Meta:
    """Write a table completely or not at all; a table in `folder` is replaced only when the new one is complete.

    Args:
        folder: folder of the new table; its parent is created if it is missing.
        columns: the arrays by name, as listed above, without columns that follow from others, which are added.
        meta: name, version, keyed_by (name of the benchmark), datasets, epochs, repeats, spaces, and in `columns` the
            entry of each column: for metrics, `columns.Column.entry`; other fields are kept unchanged. A column that
            has the name of a standard metric only needs the attributes that differ from `columns.STANDARD`.

    Returns:
        The written description: `meta` with the format, the number of rows and each column's SHA-256.

    Raises:
        InvalidInputError: `folder` contains files other than a table.
        UserError: the disk is full, or the folder cannot be written.
    """
    check_target(folder)
    columns, full = _complete(columns, meta)
    with atomic_folder(folder) as beside:
        for name, values in columns.items():
            with atomic_write(beside / f"{name}.npy") as file:
                np.save(file, values, allow_pickle=False)
            release(values)
            full["columns"][name]["sha256"] = sha256(beside / f"{name}.npy")
        full[CHECKSUM] = content_sha256(full)
        write_json(beside / META, full)
        open_folder(beside)
    return full


def with_columns(folder: TableFolder, columns: Columns, entries: Mapping[str, Any], about: Meta) -> TableFolder:
    """Return a table in memory that shares another one's columns and has more.

    Args:
        folder: the other table.
        columns: the further columns by name.
        entries: their entries in the description.
        about: further fields of the description; None removes a field.

    Raises DamagedFileError if columns and description do not match.
    """
    fields = {field: said for field, said in {**folder.meta, **about}.items() if said is not None}
    described = {name: {**entries[name], "sha256": _sha256_in_memory(values)} for name, values in columns.items()}
    meta = {**_without_derived_fields(fields), "columns": {**folder.meta["columns"], **described}}
    return _checked_folder({**folder.columns, **columns}, meta)


def make_in_memory_folder(columns: Mapping[str, NDArray[Any]], meta: Meta) -> TableFolder:
    """Return a table in memory from the arguments of `write_table`; it has the same id as the written table.

    Raises DamagedFileError if columns and description do not match.
    """
    columns, full = _complete(columns, meta)
    for name, values in columns.items():
        full["columns"][name]["sha256"] = _sha256_in_memory(values)
    return _checked_folder(columns, full)


def _sha256_in_memory(values: NDArray[Any]) -> str:
    """Return the SHA-256 that a column would have on disk, and make the column read-only."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    values.flags.writeable = False
    return hashlib.sha256(file.getbuffer()).hexdigest()


def _checked_folder(columns: Columns, meta: Meta) -> TableFolder:
    if (wrong := find_problem(meta)) is not None:
        raise DamagedFileError(f"the description of a table in memory {wrong}: fix the code that created it")
    check_columns(None, meta, columns)
    return TableFolder(None, meta, columns)


def _complete(columns: Mapping[str, NDArray[Any]], meta: Meta) -> tuple[Columns, Meta]:
    """Return all columns, including columns that follow from others, and a description with an entry for each."""
    if lacking := [name for name in ("keyed_by", "datasets", "columns") if name not in meta]:
        raise InvalidInputError(f"the description of the table lacks {lacking[0]}: add it")
    if isinstance(meta.get("spaces"), Mapping):
        raise InvalidInputError(
            f"the description of the table has a mapping as spaces: give their names, {list(meta['spaces'])}"
        )
    keys = keys_of(meta)
    if lacking := [name for name in keys.COLUMNS if name not in columns]:
        raise InvalidInputError(f"the table lacks the column {lacking[0]}, which identifies its rows: add it")
    derived = keys.derive(columns)
    methods = {name: exact_entry(keys.DERIVED[name].method) for name in derived}
    entries = {**methods, **meta["columns"]}
    whole = {name: np.ascontiguousarray(values).view() for name, values in {**columns, **derived}.items()}
    if lacking := [name for name in whole if name not in entries and not _needs_no_entry(name, keys)]:
        raise InvalidInputError(
            f"the column {lacking[0]} has no description: add meta['columns']['{lacking[0]}'] = "
            "nasbench1shot1.tables.columns.Column(…).entry()"
        )
    described = {name: _complete_entry(name, entries.get(name, {}), meta) for name in whole}
    rows = len(columns[next(iter(keys.COLUMNS))])
    return whole, {**_without_derived_fields(meta), "format": FORMAT, "rows": rows, "columns": described}


def without_checksums(meta: Meta, derived: Container[str]) -> Meta:
    """Return a copy of a description without checksums, number of rows, and the columns that follow from others."""
    fields: Meta = copy.deepcopy(
        {field: said for field, said in meta.items() if field not in (CHECKSUM, "rows", "format")}
    )
    entries = {name: about for name, about in fields["columns"].items() if name not in derived}
    for about in entries.values():
        about.pop("sha256", None)
    return {**fields, "columns": entries}


def _without_derived_fields(meta: Meta) -> Meta:
    """Return a description without its checksum and what `Table.info` adds to it."""
    return {field: said for field, said in meta.items() if field not in (CHECKSUM, "id", "folder", "bytes")}


def _needs_no_entry(name: str, keys: type[RowKeys]) -> bool:
    return name in keys.COLUMNS or name.startswith(MEMBER) or name == ORDER or name in STANDARD


def _complete_entry(name: str, entry: Mapping[str, Any], meta: Meta) -> dict[str, Any]:
    """Return an entry; if the column has the name of a standard metric, with the metric's description."""
    if "metric" in entry or name not in STANDARD:
        return dict(entry)
    return {**STANDARD[name].entry(), "dataset": meta["datasets"][0], **entry}


# Checks ---------------------------------------------------------------------------------------------------------------


def unset_hint() -> str:
    """Return the advice to unset NB1SHOT1_TABLE, for the end of a message; empty if the variable is not set."""
    return ", or unset NB1SHOT1_TABLE to use the embedded table" if os.environ.get("NB1SHOT1_TABLE") else ""


def damaged_column_error(path: Path | None, column: str, what: str, remedy: str = REMEDY) -> DamagedFileError:
    """Return the error for a damaged column of a table in a folder, or in memory."""
    return DamagedFileError(f"column {column} of the table in {path or 'memory'} {what}: {remedy}")


def verify_checksums(path: Path, meta: Mapping[str, Any]) -> None:
    """Compare every column's SHA-256 with `meta.json`; raises DamagedFileError for the first difference."""
    for name, about in meta["columns"].items():
        try:
            found = sha256(path / f"{name}.npy")
        except OSError as error:
            raise blocked_error(path / f"{name}.npy", error) or damaged_column_error(
                path, name, f"cannot be read ({reason(error)})"
            ) from error
        if found != about["sha256"]:
            raise damaged_column_error(path, name, "is damaged (its SHA-256 differs)")


def size_of(path: Path, column: str) -> int:
    """Return the size of a column's file in bytes; raises DamagedFileError if the file is missing."""
    try:
        return (path / f"{column}.npy").stat().st_size
    except OSError as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({reason(error)})"
        raise blocked_error(path / f"{column}.npy", error) or damaged_column_error(path, column, what) from error


def open_column(path: Path, name: str) -> NDArray[Any]:
    """Return a memory-mapped column after reading only its header; raises DamagedFileError if the file is damaged."""
    try:
        with open_regular(path / f"{name}.npy") as file:
            shape, is_fortran, dtype = read_npy_header(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
            if is_fortran or start + math.prod(shape) * dtype.itemsize != size:
                raise ValueError(f"its header claims shape {shape} of {dtype}, but it has {size - start} bytes")
            mapped = np.memmap(file, dtype, "r", start, shape)
    except Exception as error:  # numpy's header parser raises many kinds of errors for damaged bytes
        raise blocked_error(path / f"{name}.npy", error) or damaged_column_error(
            path, name, f"is damaged ({reason(error)})"
        ) from error
    return np.asarray(mapped)  # still mapped, but without the overhead of numpy's memmap class at every access


def check_columns(path: Path | None, meta: Meta, columns: Mapping[str, NDArray[Any]]) -> None:
    """Compare shapes and dtypes with the description; raises DamagedFileError for the first mismatch."""
    keys, names = keys_of(meta), MetricNames(meta["columns"])
    remedy = REMEDY if path else "change the array or its description"
    for name, column in columns.items():
        shape, form = _form(name, meta, column, keys, names)
        if column.shape != shape:
            wrong = f"has shape {column.shape}, not {_expected(name, shape, names)}"
            raise damaged_column_error(path, name, wrong, remedy)
        if column.dtype.kind not in form.kinds or form.itemsize not in (None, column.dtype.itemsize):
            raise damaged_column_error(path, name, f"has values of the wrong type {column.dtype}", remedy)
    derived = list(keys.DERIVED)
    if len({len(columns[name]) for name in derived}) > 1:
        raise damaged_column_error(path, derived[0], f"does not match the column {derived[1]}")


def _form(
    name: str, meta: Meta, column: NDArray[Any], keys: type[RowKeys], names: MetricNames
) -> tuple[tuple[int, ...], KeyColumn]:
    """Return the shape that a column must have, and the allowed kinds of numbers."""
    if name in keys.COLUMNS:
        return (meta["rows"], *keys.COLUMNS[name].entry), keys.COLUMNS[name]
    if name in keys.DERIVED or name.startswith(MEMBER):
        form = keys.DERIVED.get(name, KeyColumn())
        return (column.size // math.prod(form.entry), *form.entry), form
    about = names.about.get(name)
    if about is None:
        return (meta["rows"],), KeyColumn(kinds="iu" if name == ORDER else "fiu")
    if not about.epochs:
        return (meta["rows"],), KeyColumn(kinds="fiu")
    if isinstance(about.moment, int):
        return (meta["rows"], about.moment, len(meta["columns"][name]["repeats"])), KeyColumn(kinds="fu")
    is_single = about.is_same_for_repeats or names.is_companion(name)
    has_own_repeats = column.ndim == 3 and column.shape[2] > 0 and not is_single
    repeats = column.shape[2] if has_own_repeats else 1
    return (meta["rows"], len(about.epochs), repeats), KeyColumn(kinds="fu")


def _expected(name: str, shape: tuple[int, ...], names: MetricNames) -> str:
    """Return the shape that a column must have, and why."""
    about = names.about.get(name)
    if about is None:
        return str(shape)
    if not about.epochs:
        return f"{shape}: one value for each row, because its description has no epochs"
    budgets = f"its budgets of {alternatives(about.epochs)} epochs"
    if about.is_same_for_repeats:
        return f"{shape}: one value for each row and each of {budgets}, because it is the same for all repeats"
    if names.is_companion(name):
        return f"{shape}: one measurement for each row and each of {budgets}, beside estimates of {about.words}"
    return f"({shape[0]}, {shape[1]}, repeats): values for each row, each of {budgets}, and any number of repeats"


ORDER = "order"


def check_values(path: Path | None, meta: Meta, name: str, values: NDArray[Any]) -> None:
    """Raise DamagedFileError for values that would cause errors later: impossible cells, rows or image counts.

    Reads the whole column.
    """
    if not values.size:
        return
    if fault := keys_of(meta).fault(name, values, meta["rows"]):
        raise damaged_column_error(path, name, fault)
    if name == ORDER or name.startswith(MEMBER):
        if values.min() < 0 or values.max() >= meta["rows"]:
            raise damaged_column_error(path, name, f"refers to a row outside the table's {meta['rows']:,} rows")
        if name.startswith(MEMBER) and (values[1:] <= values[:-1]).any():
            raise damaged_column_error(path, name, "does not contain rows in ascending order")
    entry = meta["columns"].get(name, {})
    images, counts = entry.get("images"), values
    if isinstance(entry.get("moment"), int) and values.dtype.kind == "u":
        counts = values[values != np.iinfo(values.dtype).max]  # the mark of a missing value in learning curves
    if images and counts.dtype.kind == "u" and counts.max(initial=0) > images:
        raise damaged_column_error(path, name, f"counts more than {images:,} images")
