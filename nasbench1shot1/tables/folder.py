"""A table on disk: a folder of `.npy` columns, opened without reading them, and a `meta.json` that describes them.

Columns of a table of R rows, sorted by hash, with budgets E and K repeats:

    hash                       (R, 16) uint8, ascending           } of tables with the cells of NAS-Bench-101
    cell                       (R,) uint64, see `nasbench101.encoding` }
    index                      (R,) integers, ascending: the official indices, of tables of NAS-Bench-201
    trainable_parameters       (R,) integers
    flops                      (R,) of one image, where known
    member_<space>             (M,) ascending rows, one such column per space
    validation_accuracy, test_accuracy, train_accuracy, training_time     (R, e, K), fractions and seconds
    measured_<one of those>    (R, e, 1): the raw single repeat where the column itself is an estimate, else NaN
    halfway_<one of those>     (R, e, K), where half-way values are known
    encoding, encoding_row     (K,) uint64, ascending, and (K,) integers: every numbering of every cell, and its row
    order                      (R,) the rows in the order in which the source names them, where that is not ascending

If a table has several data sets, the names of metrics, parameters and FLOPs start with the data set and a dot:
`cifar10.test_accuracy`, `measured_cifar10.test_accuracy`.

`e` counts the budgets that the column has; `meta.json` names them. A column that nothing is known of is left out.
Accuracies of unsigned integers count images; `metric_column` says what they stand for.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import check_writable, read_json, replacing, replacing_folder, sha256, write_json
from nasbench1shot1.ground.folder_swap import read_steadily
from nasbench1shot1.nasbench101.numbering import numberings
from nasbench1shot1.tables.checks import (
    REMEDY,
    check_columns,
    check_sums,
    check_values,
    open_column,
    size_of,
    unset_hint,
)
from nasbench1shot1.tables.description import (
    ALL_METRICS,
    CHECKSUM,
    INDEX,
    KEYS,
    MEASURED,
    content_sha256,
    fault,
    is_as_written,
    is_measured,
    keyed_by,
    stored_name,
)
from nasbench1shot1.tables.description import HALFWAY as HALFWAY
from nasbench1shot1.tables.description import METRICS as METRICS
from nasbench1shot1.tables.metric_column import Floats, MetricColumn, Repeat, Rows, is_run

FORMAT = 1
META = "meta.json"
CHECKED_AT_LOAD = 32_000_000
"""Bytes up to which every column's SHA-256 is checked when a table is opened."""

Columns = dict[str, NDArray[Any]]
Meta = dict[str, Any]


@dataclass(frozen=True)
class TableFolder:
    """An opened folder: where it is, what `meta.json` says, and the memory-mapped columns.

    A table that was never written has no path, and its columns lie in memory.
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
            name: MetricColumn.described(stored, about.get(name, {}), name)
            for name, stored in self.columns.items()
            if name.endswith(ALL_METRICS)
        }

    @cached_property
    def index(self) -> tuple[NDArray[np.uint64], NDArray[np.integer]]:
        """Every encoding of every cell, ascending, and the row of each; made anew where a table does not bring it."""
        if INDEX[0] in self.columns:
            return self.columns[INDEX[0]], self.columns[INDEX[1]]
        return numberings(np.asarray(self.checked("cell"), np.uint64))

    def checked(self, name: str) -> NDArray[Any]:
        """A column whose values can be used; raises DamagedFileError where they cannot be (`check_values`)."""
        if name not in self._checked:
            check_values(self.path, self.meta, name, self.columns[name])
            self._checked.add(name)
        return self.columns[name]

    def epochs_of(self, name: str) -> tuple[int, ...]:
        """The budgets that a column has; none where there is no such column."""
        return self.metrics[name].epochs if name in self.metrics else ()

    def values(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """`MetricColumn.values`; NaN everywhere where there is no such column."""
        if name in self.metrics:
            return self.metrics[name].values(rows, epochs, repeat)
        return np.full((*rows.shape, self.meta["repeats"]) if is_run(repeat, "all") else rows.shape, np.nan)

    def trained(self, dataset: str, rows: Rows, epochs: int) -> NDArray[np.bool_]:
        """Return which repeats of some rows have a training: those with an accuracy, (*rows.shape, K)."""
        accuracies = [stored_name(self.meta, dataset, name) for name in METRICS if name.endswith("accuracy")]
        known = [~np.isnan(self.values(name, rows, epochs, "all")) for name in accuracies]
        return np.asarray(np.any(known, axis=0))

    def measurement(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """What was measured of a column: its own values, or the raw single repeat beside an estimate; else NaN."""
        if is_measured(self.meta["columns"].get(name, {})):
            return self.values(name, rows, epochs, repeat)
        return self.values(MEASURED + name, rows, epochs, "all" if is_run(repeat, "all") else 0)


def open_folder(path: Path) -> TableFolder:
    """Open a table's folder; columns of small tables are checked against their SHA-256.

    A table that another process replaces meanwhile is opened as it was before or as it is after.

    Raises:
        InvalidInputError: there is no table, or one of another format.
        DamagedFileError: a column is missing, truncated or changed, or `meta.json` is not such a description.
    """
    return read_steadily(path, _opened)


def _opened(path: Path) -> TableFolder:
    meta = _read_meta(path)
    if sum(size_of(path, name) for name in meta["columns"]) <= CHECKED_AT_LOAD:
        check_sums(path, meta)
    columns = {name: open_column(path, name) for name in meta["columns"]}
    check_columns(path, meta, columns)
    return TableFolder(path, meta, columns)


def verify_folder(path: Path) -> Meta:
    """Check description and columns of a table's folder, whatever its size, against their SHA-256.

    Returns:
        The description. One that an older version wrote has no SHA-256 of its own (`description.CHECKSUM`).

    Raises as `open_folder` does.
    """
    return read_steadily(path, _verified)


def _verified(path: Path) -> Meta:
    meta = _read_meta(path)
    check_sums(path, meta)
    check_columns(path, meta, {name: open_column(path, name) for name in meta["columns"]})
    return meta


def table_id(meta: Meta) -> str:
    """Name, version and the first 7 digits of a SHA-256 over the columns' names and SHA-256s.

    The index follows from the cells and does not count.
    """
    content = sorted((name, about) for name, about in meta["columns"].items() if name not in INDEX)
    listed = "\n".join(f"{name} {about['sha256']}" for name, about in content)
    return f"{meta['name']}-v{meta['version']}-{hashlib.sha256(listed.encode()).hexdigest()[:7]}"


def check_target(folder: Path) -> None:
    """Raise what `write_table` would raise for its folder, but before the work that fills it."""
    check_writable(folder)
    if not folder.resolve().parent.is_dir():
        return
    if read_steadily(folder, _is_foreign):
        raise InvalidInputError(f"{folder} does not hold a table: choose another folder or an empty one")


def _is_foreign(folder: Path) -> bool:
    holds_no_table = folder.exists() and not (folder / META).is_file()
    return holds_no_table and (not folder.is_dir() or any(folder.iterdir()))


def write_table(folder: Path, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Meta:
    """Write a table, whole or not at all; one that was in `folder` is replaced only when the new one is whole.

    Args:
        folder: folder of the new table; its parent is created if missing.
        columns: the arrays, by the names above; the index is made here.
        meta: name, version, epochs, repeats, spaces and, in `columns`, for each column what is known about it
            (`epochs`, `fidelity`, `sources`, `method`, `images`); anything else is kept as it is.

    Returns:
        `meta` with format, rows and each column's SHA-256 filled in, as written.

    Raises:
        InvalidInputError: `folder` holds something that is not a table.
        UserError: no space left, or the folder cannot be written.
    """
    check_target(folder)
    columns, full = _completed(columns, meta)
    with replacing_folder(folder) as beside:
        for name, values in columns.items():
            with replacing(beside / f"{name}.npy") as file:
                np.save(file, values, allow_pickle=False)
            full["columns"][name]["sha256"] = sha256(beside / f"{name}.npy")
        full[CHECKSUM] = content_sha256(full)
        write_json(beside / META, full)
        open_folder(beside)
    return full


def table_in_memory(columns: Mapping[str, NDArray[Any]], meta: Meta) -> TableFolder:
    """A table that was never written, of what `write_table` takes; it has the id that it would have in a folder.

    Raises DamagedFileError where columns and description do not fit.
    """
    columns, full = _completed(columns, meta)
    for name, values in columns.items():
        file = io.BytesIO()
        np.save(file, values, allow_pickle=False)
        full["columns"][name]["sha256"] = hashlib.sha256(file.getbuffer()).hexdigest()
        values.flags.writeable = False
    if (wrong := fault(full)) is not None:
        raise DamagedFileError(f"the description of a table in memory {wrong}: fix the code that made it")
    check_columns(None, full, columns)
    return TableFolder(None, full, columns)


def _completed(columns: Mapping[str, NDArray[Any]], meta: Meta) -> tuple[Columns, Meta]:
    """All columns, index included, and a description that has an entry for each."""
    index = _encodings(columns["cell"]) if keyed_by(meta) == "nasbench101" else {}
    about = {**dict.fromkeys(INDEX, _INDEX_DESCRIPTION), **meta["columns"]}
    whole = {name: np.ascontiguousarray(values).view() for name, values in {**columns, **index}.items()}
    described = {name: dict(about.get(name, {})) for name in whole}
    kept = {key: said for key, said in meta.items() if key != CHECKSUM}
    rows = len(columns[KEYS[keyed_by(meta)][0]])
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
            f"the table in {path} has format {found}, this version reads format {FORMAT}: build or import it anew"
        )
    if (wrong := fault(meta)) is not None:
        raise DamagedFileError(f"{path / META} {wrong}: {REMEDY}")
    if not is_as_written(meta):
        raise DamagedFileError(f"{path / META} was changed (its SHA-256 differs): {REMEDY}")
    return meta
