"""Checks that a table's files match its description; damage raises DamagedFileError.

Checksums detect every change, but take a second for all of NAS-Bench-101. A large table is therefore opened
without verifying them. Damage that would crash or hang the program is detected where a column is used: headers and
shapes when the table is opened, impossible cells and rows when they are first used.
"""

import hashlib
import io
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import (
    atomic_folder,
    atomic_write,
    check_writable,
    read_json,
    read_npy_header,
    reason,
    sha256,
    write_json,
)
from nasbench1shot1.ground.folder_swap import read_consistently
from nasbench1shot1.nasbench101.encoding import are_possible
from nasbench1shot1.nasbench101.numbering import numberings
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES
from nasbench1shot1.tables.columns import Floats, MetricColumn, Repeat, Rows, is_run
from nasbench1shot1.tables.description import (
    ALL_METRICS,
    CHECKSUM,
    INDEX,
    KEYS,
    MEASURED,
    MEMBER,
    PARAMETERS,
    column_name,
    content_sha256,
    find_problem,
    is_measured,
    key_kind,
    matches_checksum,
)
from nasbench1shot1.tables.description import HALFWAY as HALFWAY
from nasbench1shot1.tables.description import METRICS as METRICS

REMEDY = "build or import the table again, or reinstall the package if it is the embedded table"
_ROWS, _INTEGERS, _NUMBERS = (MEMBER, INDEX[1], "order"), "iu", "fu"
_WHOLE = {"order", *(column for columns in KEYS.values() for column in columns)}
"""Columns that only contain integers."""


def unset_hint() -> str:
    """Return the advice to unset NB1SHOT1_TABLE, for the end of a message; empty if the variable is not set."""
    return ", or unset NB1SHOT1_TABLE to use the embedded table" if os.environ.get("NB1SHOT1_TABLE") else ""


def damaged_column_error(path: Path | None, column: str, what: str) -> DamagedFileError:
    """Return the error for a damaged column of a table in a folder, or in memory."""
    return DamagedFileError(f"column {column} of the table in {path or 'memory'} {what}: {REMEDY}")


def verify_checksums(path: Path, meta: Mapping[str, Any]) -> None:
    """Compare every column's SHA-256 with `meta.json`; raises DamagedFileError for the first difference."""
    for name, about in meta["columns"].items():
        try:
            found = sha256(path / f"{name}.npy")
        except OSError as error:
            raise damaged_column_error(path, name, f"cannot be read ({reason(error)})") from error
        if found != about["sha256"]:
            raise damaged_column_error(path, name, "is damaged (its SHA-256 differs)")


def size_of(path: Path, column: str) -> int:
    """Return the size of a column's file in bytes; raises DamagedFileError if the file is missing."""
    try:
        return (path / f"{column}.npy").stat().st_size
    except OSError as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({reason(error)})"
        raise damaged_column_error(path, column, what) from error


def open_column(path: Path, name: str) -> NDArray[Any]:
    """Return a memory-mapped column after reading only its header; raises DamagedFileError if the file is damaged."""
    try:
        with (path / f"{name}.npy").open("rb") as file:
            shape, is_fortran, dtype = read_npy_header(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
            if is_fortran or start + math.prod(shape) * dtype.itemsize != size:
                raise ValueError(f"its header claims shape {shape} of {dtype}, but it has {size - start} bytes")
            mapped = np.memmap(file, dtype, "r", start, shape)
    except Exception as error:  # numpy's header parser raises many kinds of errors for damaged bytes
        raise damaged_column_error(path, name, f"is damaged ({reason(error)})") from error
    return np.asarray(mapped)  # still mapped, but without the overhead of numpy's memmap class at every access


def check_columns(path: Path | None, meta: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> None:
    """Compare shapes and dtypes with the description; raises DamagedFileError for the first mismatch."""
    for name, column in columns.items():
        shape, kinds = _form(name, meta, column.size)
        if column.shape != shape:
            raise damaged_column_error(path, name, f"has shape {column.shape}, not {shape}")
        if column.dtype.kind not in kinds or (name == "hash" and column.dtype != np.uint8):
            raise damaged_column_error(path, name, f"has values of the wrong type {column.dtype}")
    lengths = {len(columns[name]) for name in INDEX if name in columns}
    if len(lengths) > 1 or (lengths and not all(name in columns for name in INDEX)):
        raise damaged_column_error(path, INDEX[0], f"does not match the column {INDEX[1]}")


def _form(name: str, meta: Mapping[str, Any], size: int) -> tuple[tuple[int, ...], str]:
    """Return the shape that a column must have, and the allowed kinds of numbers."""
    rows = meta["rows"]
    if name.startswith(MEMBER) or name in INDEX:
        return (size,), "u" if name == INDEX[0] else _INTEGERS
    if name.endswith(ALL_METRICS):
        repeats = 1 if name.startswith(MEASURED) else meta["repeats"]
        return (rows, len(meta["columns"][name].get("epochs", ())), repeats), _NUMBERS
    if name == "hash":
        return (rows, 16), "u"
    is_whole = name in _WHOLE or name.endswith(PARAMETERS)
    return (rows,), _INTEGERS if is_whole else _INTEGERS + _NUMBERS


def check_values(path: Path | None, meta: Mapping[str, Any], name: str, values: NDArray[Any]) -> None:
    """Raise DamagedFileError for values that would cause errors later: impossible cells, rows or image counts.

    Reads the whole column.
    """
    if not values.size:
        return
    if name == "cell" and not are_possible(values).all():
        raise damaged_column_error(path, name, "contains an impossible cell")
    if name == "index" and (values.min() < 0 or values.max() >= N_ARCHITECTURES or (values[1:] <= values[:-1]).any()):
        raise damaged_column_error(path, name, "does not contain official indices of NAS-Bench-201 in ascending order")
    if name.startswith(_ROWS):
        if values.min() < 0 or values.max() >= meta["rows"]:
            raise damaged_column_error(path, name, f"refers to a row outside the table's {meta['rows']:,} rows")
        if name.startswith(MEMBER) and (values[1:] <= values[:-1]).any():
            raise damaged_column_error(path, name, "does not contain rows in ascending order")
    images = meta["columns"].get(name, {}).get("images")
    if images and values.dtype.kind == "u" and values.max() > images:
        raise damaged_column_error(path, name, f"counts more than {images:,} images")


# A table on disk: a folder of memory-mapped `.npy` columns, and `meta.json`, which describes them ---------------------
#
# Columns of a table of R rows, sorted by hash, with budgets E and K repeats:
#
#     hash                       (R, 16) uint8, ascending           } in NAS-Bench-101 tables
#     cell                       (R,) uint64, see `nasbench101.encoding` }
#     index                      (R,) integers, ascending: the official indices, in NAS-Bench-201 tables
#     trainable_parameters       (R,) integers
#     flops                      (R,) FLOPs for one image, if known
#     member_<space>             (M,) ascending rows of a space, one column per space
#     validation_accuracy, test_accuracy, train_accuracy, training_time     (R, e, K), fractions and seconds
#     measured_<metric>          (R, e, 1): the single measured repeat if the column <metric> is an estimate, else NaN
#     halfway_<metric>           (R, e, K): half-way values, if known
#     encoding, encoding_row     (L,) uint64, ascending, and (L,) integers: every numbering of every cell, and its row
#     order                      (R,) the rows in the order of the source, if it is not ascending
#
# If a table has several data sets, the names of metrics, parameters and FLOPs start with the data set and a dot:
# `cifar10.test_accuracy`, `measured_cifar10.test_accuracy`.
#
# `e` is the number of the column's budgets, which `meta.json` lists. Columns without any known value are omitted.
# Accuracies stored as unsigned integers are image counts; `metric_column` converts them.


FORMAT = 1
META = "meta.json"
CHECKED_AT_LOAD = 32_000_000
"""Largest table, in bytes, whose columns' SHA-256 are checked when it is opened."""

Columns = dict[str, NDArray[Any]]
Meta = dict[str, Any]


@dataclass(frozen=True)
class TableFolder:
    """An opened folder: its path, the content of `meta.json`, and the memory-mapped columns.

    A table that was never written has no path, and its columns are in memory.
    """

    path: Path | None
    meta: Meta
    columns: Columns
    _checked: set[str] = field(default_factory=set, repr=False, compare=False)

    @cached_property
    def metrics(self) -> dict[str, MetricColumn]:
        """The columns of accuracies and times, by name."""
        about = self.meta["columns"]
        return {
            name: MetricColumn.from_description(stored, about.get(name, {}), name)
            for name, stored in self.columns.items()
            if name.endswith(ALL_METRICS)
        }

    @cached_property
    def index(self) -> tuple[NDArray[np.uint64], NDArray[np.integer]]:
        """All encodings of all cells, ascending, and the row of each; computed if the table does not contain them."""
        if INDEX[0] in self.columns:
            return self.columns[INDEX[0]], self.columns[INDEX[1]]
        return numberings(np.asarray(self.checked_column("cell"), np.uint64))

    def checked_column(self, name: str) -> NDArray[Any]:
        """Return a column after checking its values once; raises the errors of `check_values`."""
        if name not in self._checked:
            check_values(self.path, self.meta, name, self.columns[name])
            self._checked.add(name)
        return self.columns[name]

    def epochs_of(self, name: str) -> tuple[int, ...]:
        """Return the budgets of a column; empty if the column does not exist."""
        return self.metrics[name].epochs if name in self.metrics else ()

    def values(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return `MetricColumn.values` of a column; only NaN if the column does not exist."""
        if name in self.metrics:
            return self.metrics[name].values(rows, epochs, repeat)
        return np.full((*rows.shape, self.meta["repeats"]) if is_run(repeat, "all") else rows.shape, np.nan)

    def trained_repeats(self, dataset: str, rows: Rows, epochs: int) -> NDArray[np.bool_]:
        """Return which repeats of rows were trained, that is, have an accuracy: (*rows.shape, K)."""
        accuracies = [column_name(self.meta, dataset, name) for name in METRICS if name.endswith("accuracy")]
        known = [~np.isnan(self.values(name, rows, epochs, "all")) for name in accuracies]
        return np.asarray(np.any(known, axis=0))

    def measurement(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return a column's measurements: its own values, or the single measured repeat of an estimate; else NaN."""
        if is_measured(self.meta["columns"].get(name, {})):
            return self.values(name, rows, epochs, repeat)
        return self.values(MEASURED + name, rows, epochs, "all" if is_run(repeat, "all") else 0)


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
        The description. If an older version wrote it, its own SHA-256 is missing (`description.CHECKSUM`).

    Raises the errors of `open_folder`.
    """
    return read_consistently(path, _verify)


def _verify(path: Path) -> Meta:
    meta = _read_meta(path)
    verify_checksums(path, meta)
    check_columns(path, meta, {name: open_column(path, name) for name in meta["columns"]})
    return meta


def table_id(meta: Meta) -> str:
    """Return a table's id: name, version and the first 7 digits of a SHA-256 over the columns' names and SHA-256s.

    The index is not included, because it follows from the cells.
    """
    content = sorted((name, about) for name, about in meta["columns"].items() if name not in INDEX)
    listed = "\n".join(f"{name} {about['sha256']}" for name, about in content)
    return f"{meta['name']}-v{meta['version']}-{hashlib.sha256(listed.encode()).hexdigest()[:7]}"


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
        columns: the arrays by name, as listed above, without the index, which is added.
        meta: name, version, epochs, repeats, spaces, and in `columns` the description of each column (`epochs`,
            `fidelity`, `sources`, `method`, `images`); other fields are kept unchanged.

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
            full["columns"][name]["sha256"] = sha256(beside / f"{name}.npy")
        full[CHECKSUM] = content_sha256(full)
        write_json(beside / META, full)
        open_folder(beside)
    return full


def make_in_memory_folder(columns: Mapping[str, NDArray[Any]], meta: Meta) -> TableFolder:
    """Return a table in memory from the arguments of `write_table`; it has the same id as the written table.

    Raises DamagedFileError if columns and description do not match.
    """
    columns, full = _complete(columns, meta)
    for name, values in columns.items():
        file = io.BytesIO()
        np.save(file, values, allow_pickle=False)
        full["columns"][name]["sha256"] = hashlib.sha256(file.getbuffer()).hexdigest()
        values.flags.writeable = False
    if (wrong := find_problem(full)) is not None:
        raise DamagedFileError(f"the description of a table in memory {wrong}: fix the code that created it")
    check_columns(None, full, columns)
    return TableFolder(None, full, columns)


def _complete(columns: Mapping[str, NDArray[Any]], meta: Meta) -> tuple[Columns, Meta]:
    """Return all columns, including the index, and a description with an entry for each."""
    index = _encodings(columns["cell"]) if key_kind(meta) == "nasbench101" else {}
    about = {**dict.fromkeys(INDEX, _INDEX_DESCRIPTION), **meta["columns"]}
    whole = {name: np.ascontiguousarray(values).view() for name, values in {**columns, **index}.items()}
    described = {name: dict(about.get(name, {})) for name in whole}
    kept = {key: said for key, said in meta.items() if key != CHECKSUM}
    rows = len(columns[KEYS[key_kind(meta)][0]])
    return whole, {**kept, "format": FORMAT, "rows": rows, "columns": described}


def _encodings(cells: NDArray[Any]) -> Columns:
    """Return the index of tables with cells: every numbering of every cell, and its row."""
    check_values(None, {"columns": {}}, "cell", np.asarray(cells))
    encodings, rows = numberings(np.asarray(cells, np.uint64))
    return dict(zip(INDEX, (encodings, rows.astype(np.int32)), strict=True))


_INDEX_DESCRIPTION = {"fidelity": "exact", "sources": [], "method": "every numbering of the cells, and their rows"}


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
