"""Checks that a table's files match its description; damage raises DamagedFileError.

Checksums detect every change, but take a second for all of NAS-Bench-101. A large table is therefore opened
without verifying them. Damage that would crash or hang the program is detected where a column is used: headers and
shapes when the table is opened, impossible cells and rows when they are first used.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import read_npy_header, reason, sha256
from nasbench1shot1.nasbench101.encoding import are_possible
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES
from nasbench1shot1.tables.description import ALL_METRICS, INDEX, KEYS, MEASURED, MEMBER, PARAMETERS

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
