"""A table on disk: a folder of `.npy` columns, opened without reading them, and a `meta.json` that describes them.

Columns of a table of R rows, sorted by hash, with budgets E and K repeats:

    hash                       (R, 16) uint8, ascending
    cell                       (R,) uint64, see `cell_encoding`
    trainable_parameters       (R,) integers
    member_<space>             (M,) ascending rows, one such column per space
    validation_accuracy, test_accuracy, train_accuracy, training_time     (R, e, K), fractions and seconds
    measured_<one of those>    (R, e, 1): the raw single repeat where the column itself is an estimate, else NaN
    halfway_<one of those>     (R, e, K), where half-way values are known

`e` counts the budgets that the column has; `meta.json` names them. A column that nothing is known of is left out.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import DamagedFileError, InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.files import check_writable, locked, read_json, replacing, replacing_folder, sha256, write_json
from nasbench1shot1.table_description import MEMBER, fault

FORMAT = 1
META = "meta.json"
CHECKED_AT_LOAD = 32_000_000
"""Bytes up to which every column's SHA-256 is checked when a table is opened."""

METRICS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
MEASURED, HALFWAY = "measured_", "halfway_"

Columns = dict[str, NDArray[Any]]
Meta = dict[str, Any]
Rows = NDArray[np.int64]
Run = Literal["mean", "random", "all"] | int
Repeat = Run | Rows


@dataclass(frozen=True)
class TableFolder:
    """An opened folder: where it is, what `meta.json` says, and the memory-mapped columns."""

    path: Path
    meta: Meta
    columns: Columns

    def epochs_of(self, name: str) -> list[int]:
        """The budgets that a column has; none where there is no such column."""
        return list(self.meta["columns"].get(name, {}).get("epochs", []))

    def values(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> NDArray[np.float64]:
        """A column at some rows and a budget as float64, NaN where the column does not have the budget.

        Counts of images were divided and rounded to float32; they are restored and averaged as integers.

        Args:
            name: of a column with budgets and repeats.
            rows: any shape.
            epochs: budget.
            repeat: "mean", "all" (adds a last axis), a number, or a number for each row.
        """
        known = self.epochs_of(name)
        if epochs not in known:
            shape = (*rows.shape, self.meta["repeats"]) if _is(repeat, "all") else rows.shape
            return np.full(shape, np.nan)
        stored = np.asarray(self.columns[name][rows, known.index(epochs)], np.float64)
        images = self.meta["columns"][name].get("images")
        return _pick(np.rint(stored * images), repeat) / images if images else _pick(stored, repeat)

    def measurement(self, name: str, rows: Rows, epochs: int, repeat: Repeat) -> NDArray[np.float64]:
        """What was measured of a column: its own values, or the raw single repeat beside an estimate; else NaN."""
        if self.meta["columns"].get(name, {}).get("fidelity") == "measured":
            return self.values(name, rows, epochs, repeat)
        return self.values(MEASURED + name, rows, epochs, "all" if _is(repeat, "all") else 0)


def choose_repeat(
    table: str, repeats: int, run: Run, shape: tuple[int, ...], rng: np.random.Generator | None
) -> Repeat:
    """Check `run` of `Table.query`; "random" becomes one repeat drawn for each item."""
    if isinstance(run, str):
        if run not in ("mean", "random", "all"):
            raise unknown_name("run", run, ("mean", "random", "all"))
        return _drawn(repeats, shape, rng) if run == "random" else run
    number = whole_number("run", run, "'mean', 'random', 'all' or the number of a repeat")
    if not 0 <= number < repeats:
        raise OutOfDomainError(f"the table {table} has no repeat {number}: it has {repeats}, numbered from 0")
    return number


def whole_number(name: str, value: Any, wanted: str) -> int:
    """`value` as an int; raises InvalidInputError where it is none, be it Python's or numpy's."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidInputError(f"{name} cannot be {value!r}: give {wanted}")
    return int(value)


def _drawn(repeats: int, shape: tuple[int, ...], rng: np.random.Generator | None) -> Rows:
    if not isinstance(rng, np.random.Generator):
        raise InvalidInputError("run='random' draws a repeat: give rng, a numpy Generator")
    return np.asarray(rng.integers(repeats, size=shape), np.int64)


def _is(repeat: Repeat, name: str) -> bool:
    return isinstance(repeat, str) and repeat == name


def _pick(values: NDArray[np.float64], repeat: Repeat) -> NDArray[np.float64]:
    """Reduce the last axis, the repeats."""
    if isinstance(repeat, np.ndarray):
        return np.take_along_axis(values, repeat[..., None], axis=-1)[..., 0]
    if isinstance(repeat, str):
        return np.asarray(values.mean(axis=-1)) if repeat == "mean" else values
    return np.asarray(values[..., repeat])


def open_folder(path: Path) -> TableFolder:
    """Open a table's folder; columns of small tables are checked against their SHA-256.

    Raises:
        InvalidInputError: there is no table, or one of another format.
        DamagedFileError: a column is missing, truncated or changed, or `meta.json` is no such description.
    """
    meta = _read_meta(path)
    files = {name: path / f"{name}.npy" for name in meta["columns"]}
    for name, file in files.items():
        if not file.is_file():
            raise DamagedFileError(f"column {name} of the table in {path} is missing: {_remedy()}")
    if sum(file.stat().st_size for file in files.values()) <= CHECKED_AT_LOAD:
        check_sums(path, meta)
    columns = {name: _open_column(file) for name, file in files.items()}
    _check_shapes(path, meta, columns)
    return TableFolder(path, meta, columns)


def check_sums(path: Path, meta: Meta) -> None:
    """Compare every column's SHA-256 with `meta.json`; raises DamagedFileError for the first that differs."""
    for name, about in meta["columns"].items():
        if sha256(path / f"{name}.npy") != about["sha256"]:
            raise DamagedFileError(
                f"column {name} of the table in {path} is damaged (its SHA-256 is another): {_remedy()}"
            )


def table_id(meta: Meta) -> str:
    """Name, version and the first 7 digits of a SHA-256 over the columns' names and SHA-256s."""
    listed = "\n".join(f"{name} {about['sha256']}" for name, about in sorted(meta["columns"].items()))
    return f"{meta['name']}-v{meta['version']}-{hashlib.sha256(listed.encode()).hexdigest()[:7]}"


def check_target(folder: Path) -> None:
    """Raise what `write_table` would raise for its folder, but before the work that fills it."""
    check_writable(folder)
    if not folder.resolve().parent.is_dir():
        return
    with locked(folder.resolve().parent):  # another process may be in the middle of replacing it
        holds_no_table = folder.exists() and not (folder / META).is_file()
        is_foreign = holds_no_table and (not folder.is_dir() or any(folder.iterdir()))
    if is_foreign:
        raise InvalidInputError(f"{folder} holds something else than a table: give another folder or an empty one")


def write_table(folder: Path, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Meta:
    """Write a table, whole or not at all; one that was in `folder` is replaced only when the new one is whole.

    Args:
        folder: where the table shall be; its parent is made if need be.
        columns: the arrays, by the names above.
        meta: name, version, epochs, repeats, spaces and, in `columns`, for each column what is known about it
            (`epochs`, `fidelity`, `sources`, `method`, `images`); anything else is kept as it is.

    Returns:
        `meta` with format, rows and each column's SHA-256 filled in, as written.

    Raises:
        InvalidInputError: `folder` holds something that is no table.
        UserError: no space left, or the folder cannot be written.
    """
    check_target(folder)
    about = meta["columns"]
    full = {**meta, "format": FORMAT, "rows": len(columns["hash"]), "columns": {}}
    with replacing_folder(folder) as beside:
        for name, values in columns.items():
            with replacing(beside / f"{name}.npy") as file:
                np.save(file, np.ascontiguousarray(values), allow_pickle=False)
            full["columns"][name] = {**about.get(name, {}), "sha256": sha256(beside / f"{name}.npy")}
        write_json(beside / META, full)
        open_folder(beside)
    return full


def _read_meta(path: Path) -> Meta:
    if not (path / META).is_file():
        raise InvalidInputError(
            f"there is no table in {path} (no {META}): give the folder of a table, or unset NB1SHOT1_TABLE "
            "to use the embedded one"
        )
    meta = read_json(path / META)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else None
        raise InvalidInputError(
            f"the table in {path} has format {found}, this version reads format {FORMAT}: build or import it anew"
        )
    if (wrong := fault(meta)) is not None:
        raise DamagedFileError(f"{path / META} {wrong}: {_remedy()}")
    return meta


def _open_column(file: Path) -> NDArray[Any]:
    try:
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DamagedFileError(f"{file} is no whole column ({error}): {_remedy()}") from error
    return np.asarray(mapped)  # still mapped, but without what numpy's memmap class costs at every access


def _check_shapes(path: Path, meta: Meta, columns: Columns) -> None:
    for name, column in columns.items():
        shape: tuple[int, ...] = (meta["rows"],)
        if name.startswith(MEMBER):
            shape = (column.size,)
        elif name.endswith(METRICS):
            repeats = 1 if name.startswith(MEASURED) else meta["repeats"]
            shape = (meta["rows"], len(meta["columns"][name].get("epochs", ())), repeats)
        elif name == "hash":
            shape = (meta["rows"], 16)
        if column.shape != shape:
            raise DamagedFileError(
                f"column {name} of the table in {path} has shape {column.shape}, not {shape}: {_remedy()}"
            )


def _remedy() -> str:
    return "build or import the table anew, or reinstall the package if it is the embedded one"
