"""Checks of a table's columns: files, checksums, shapes, types and values."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, alternatives
from nasbench1shot1.ground.files import blocked_error, open_regular, read_npy_header, reason, sha256
from nasbench1shot1.tables.description import MEMBER, Meta, MetricNames, benchmark_of
from nasbench1shot1.tables.keys import KeyColumn, RowKeys

REMEDY = "build or import the table again, or reinstall the package if it is the embedded table"
ORDER = "order"
"""The column with the rows in the order of the source."""


def keys_of(meta: Meta) -> type[RowKeys]:
    """Return the class that identifies the rows of a table."""
    keys: type[RowKeys] = benchmark_of(meta).load("keys")
    return keys


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


def check_identity(columns: Mapping[str, NDArray[Any]], keys: type[RowKeys]) -> None:
    """Raise DamagedFileError if the columns that identify rows do not have the form that their table needs."""
    first, remedy = next(iter(keys.COLUMNS)), "change the array"
    if not len(columns[first]):
        raise damaged_column_error(None, first, "is empty", "give at least one row")
    for name, form in keys.COLUMNS.items():
        column, shape = columns[name], (len(columns[first]), *form.entry)
        if column.shape != shape:
            raise damaged_column_error(None, name, f"has shape {column.shape}, not {shape}", remedy)
        if column.dtype.kind not in form.kinds or form.itemsize not in (None, column.dtype.itemsize):
            raise damaged_column_error(None, name, f"has values of the wrong type {column.dtype}", remedy)


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


def check_values(path: Path | None, meta: Meta, name: str, values: NDArray[Any]) -> None:
    """Raise DamagedFileError for impossible values: cells, rows, image counts, fractions or infinite metrics.

    Reads the whole column.
    """
    if values.size and (fault := _fault(meta, name, values)):
        raise damaged_column_error(path, name, fault, REMEDY if path else "change the array")


def _fault(meta: Meta, name: str, values: NDArray[Any]) -> str | None:
    """Return what is impossible in at least one value of a column, phrased to follow its name; None if nothing is."""
    if fault := keys_of(meta).fault(name, values, meta["rows"]):
        return fault
    if name == ORDER or name.startswith(MEMBER):
        if values.min() < 0 or values.max() >= meta["rows"]:
            return f"refers to a row outside the table's {meta['rows']:,} rows"
        if name.startswith(MEMBER) and (values[1:] <= values[:-1]).any():
            return "does not contain rows in ascending order"
    entry = meta["columns"].get(name, {})
    images, counts = entry.get("images"), values
    if isinstance(entry.get("moment"), int) and values.dtype.kind == "u":
        counts = values[values != np.iinfo(values.dtype).max]  # the mark of a missing value in learning curves
    if images and counts.dtype.kind == "u":
        return f"counts more than {images:,} images" if counts.max(initial=0) > images else None
    return _fault_of_metric(entry, counts) if "metric" in entry else None


def _fault_of_metric(entry: Mapping[str, Any], values: NDArray[Any]) -> str | None:
    """Return what is impossible in at least one value of a metric, as in `_fault`; NaN is a missing value."""
    if values.dtype.kind == "f" and np.isinf(values).any():
        return "has an infinite value"
    if entry.get("unit") == "fraction" and (wrong := (values < 0) | (values > 1)).any():
        return f"has the value {values[wrong][0]:g}, which is not a fraction from 0 to 1"
    return None
