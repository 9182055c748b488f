"""Image sets as columns: plain arrays, which every source provides, and their folders on disk.

A folder NB1SHOT1_DATA/images/NAME contains one .npy file per column and meta.json. It is written completely or not at
all.
"""

import hashlib
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import (
    atomic_folder,
    atomic_write,
    blocked_error,
    data_folder,
    open_regular,
    read_json,
    read_npy_header,
    write_json,
)
from nasbench1shot1.ground.folder_swap import read_consistently
from nasbench1shot1.images.data_sets import OTHER, DataSet, data_set, other_data_set

META = "meta.json"
_OWN_FIELDS = ("classes", "side", "mean", "std")
"""Fields of meta.json for a data set that is not in `DATA_SETS`, besides the name "other"."""


class Columns(NamedTuple):
    """An image set as arrays; images are RGB, uint8 (N, side, side, 3)."""

    images: np.ndarray
    labels: np.ndarray
    """Labels int64 (N,), from 0 to the data set's number of classes − 1."""
    train_index: np.ndarray
    """Positions int64 (N,) among the data set's training images in canonical order, −1 if unknown."""
    test_images: np.ndarray
    """Test images uint8 (M, side, side, 3); M = 0 if the source has none."""
    test_labels: np.ndarray
    """Labels of the test images, int64 (M,), in the same range as `labels`."""

    def is_whole(self, of: DataSet) -> bool:
        """Return whether the image set has all training images of a data set, in canonical order."""
        return np.array_equal(self.train_index, np.arange(of.training_images))


def content_sha256(columns: Columns) -> str:
    """Return the SHA-256 of an image set's content, which does not depend on the imported file's format."""
    digest = hashlib.sha256()
    for name, column in columns._asdict().items():
        digest.update(f"{name} {column.dtype.str} {column.shape};".encode())
        digest.update(np.ascontiguousarray(column).data if column.size else b"")
    return digest.hexdigest()


def images_folder() -> Path:
    """Return the folder of all imported image sets."""
    return data_folder() / "images"


def is_imported(name: str) -> bool:
    """Return whether an image set with this name was imported."""
    if Path(name).name != name or name.startswith("."):
        return False
    with suppress(OSError, ValueError):  # no folder can have such a name
        return read_consistently(images_folder() / name, lambda folder: (folder / META).is_file())
    return False


def imported_at(name: str) -> int | None:
    """Return the time at which an image set was imported, in nanoseconds; None if there is none with this name."""
    with suppress(OSError):
        return (images_folder() / name / META).stat().st_mtime_ns
    return None


def imported_names() -> list[str]:
    """Return the names of the imported image sets, sorted."""
    return sorted(meta.parent.name for meta in images_folder().glob(f"[!.]*/{META}"))


def has_other_content(name: str, columns: Columns) -> bool:
    """Return whether an undamaged image set with this name has other content than `columns`."""
    if not is_imported(name):
        return False
    with suppress(DamagedFileError):
        return bool(read_columns(images_folder() / name)[2].get("sha256") != content_sha256(columns))
    return False


def write_columns(
    name: str, columns: Columns, of: DataSet, source: str, official: bool, file_sha256: str | None = None
) -> Path:
    """Store an image set under a name, replacing any set with this name; return its folder.

    meta.json records `source`, `official` (whether the checksum is a known archive's) and `file_sha256` (of the
    imported file; None for a folder).
    Raises UserError if the set cannot be written; nothing has changed then.
    """
    folder = images_folder() / name
    with atomic_folder(folder) as beside:
        for column_name, column in columns._asdict().items():
            _write_array(beside / f"{column_name}.npy", column)
        meta = {"name": name, "source": source, "official": official, "file_sha256": file_sha256}
        counts = {"training_images": len(columns.images), "test_images": len(columns.test_images)}
        content = {**counts, "whole": columns.is_whole(of), "sha256": content_sha256(columns)}
        write_json(beside / META, {"format": 1, **meta, **_describe(of), **content})
    return folder


def read_columns(folder: Path) -> tuple[Columns, DataSet, dict[str, Any]]:
    """Return an image set's columns, memory-mapped (copy on write), its data set, and its meta.json.

    If another process replaces the set at the same time, either the old or the new set is read.
    Raises DamagedFileError if a column is missing, truncated or does not have the shape in meta.json, or if a label is
    out of range. Pixels are not checked; `verify_columns` checks them.
    """
    return read_consistently(folder, _read)


def read_side(folder: Path) -> int:
    """Return the side of a stored set's images, from its meta.json; a damaged file can raise any error."""
    return _data_set_of(read_json(folder / META)).side


def _read(folder: Path) -> tuple[Columns, DataSet, dict[str, Any]]:
    meta = read_json(folder / META)
    try:
        of = _data_set_of(meta)
        expected = _layout(meta["training_images"], meta["test_images"], of.side)
        found = [_layout_of(folder / f"{name}.npy") for name in Columns._fields]
        meta["sha256"].encode()
        if found != expected:
            raise ValueError("the layout differs from meta.json")
        columns = Columns(*(np.load(folder / f"{name}.npy", mmap_mode="c") for name in Columns._fields))
    except Exception as error:  # on damaged headers numpy raises SyntaxError, TokenError, MemoryError and others
        raise blocked_error(folder, error) or damaged_images_error(folder) from error
    labels = np.concatenate([columns.labels, columns.test_labels])
    if ((labels < 0) | (labels >= of.classes)).any():
        raise damaged_images_error(folder)
    return columns, of, meta


def verify_columns(folder: Path, columns: Columns, meta: dict[str, Any]) -> None:
    """Raise DamagedFileError if the SHA-256 of the content differs from meta.json; reads all images."""
    if content_sha256(columns) != meta["sha256"]:
        raise damaged_images_error(folder)


def damaged_images_error(folder: Path) -> DamagedFileError:
    """Return the error for a damaged image set."""
    return DamagedFileError(f"the images in {folder} are damaged: run `nb1shot1 data download` or `data import` again")


def _describe(of: DataSet) -> dict[str, Any]:
    """Return the fields of meta.json for a data set."""
    own = {name: getattr(of, name) for name in _OWN_FIELDS} if of.name == OTHER else {}
    return {"dataset": of.name, **own}


def _data_set_of(meta: dict[str, Any]) -> DataSet:
    """Return the data set that meta.json describes; raises an error of any type if the description is damaged."""
    if (name := meta["dataset"]) != OTHER:
        return data_set(name)
    return other_data_set(*(meta[field] for field in _OWN_FIELDS))


def _layout(train: int, test: int, side: int) -> list[tuple[int, tuple[int, ...], str]]:
    pixels = (side, side, 3)
    return [(train, pixels, "|u1"), (train, (), "<i8"), (train, (), "<i8"), (test, pixels, "|u1"), (test, (), "<i8")]


def _layout_of(path: Path) -> tuple[int, tuple[int, ...], str]:
    """Return rows, row shape and dtype from an .npy file's header; raises ValueError if the file's size differs."""
    with open_regular(path) as file:
        (rows, *row), is_fortran, dtype = read_npy_header(file)
        if is_fortran or path.stat().st_size - file.tell() != rows * math.prod(row) * dtype.itemsize:
            raise ValueError(f"the size of {path} differs from its header")
    return rows, tuple(row), dtype.str


def _write_array(path: Path, array: np.ndarray) -> None:
    array = np.ascontiguousarray(array)
    with atomic_write(path) as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data if array.size else b"")  # np.save hides the cause if the disk is full
