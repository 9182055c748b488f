"""The official CIFAR-10, python or binary version, as a .tar(.gz) or as the folder that it unpacks to.

Archives are read as a stream: nothing is unpacked to the disk, so no path in them matters.
Format: https://www.cs.toronto.edu/~kriz/cifar.html. Canonical order: data_batch_1 to data_batch_5, then test_batch.
"""

import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np

from nasbench1shot1.errors import DamagedFileError
from nasbench1shot1.images.pickles import PIXELS, read_python_batch

BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
ROWS_PER_BATCH = 10_000
CLASSES = 10
_LARGEST = 64 * 2**20  # bytes; a batch has 31 MB, and a header may claim anything

Batch = tuple[np.ndarray, np.ndarray]
_T = TypeVar("_T")


def read_official(path: Path) -> list[Batch]:
    """The six batches of the official CIFAR-10 in canonical order, the test batch last.

    Each is images uint8 (10000, 32, 32, 3), RGB, and labels int64 (10000,). `path` is an archive or a folder
    (cifar-10-batches-py or cifar-10-batches-bin, or the folder around it).
    Raises DamagedFileError where a batch is missing, cut short or not what it should be.
    """
    found: dict[str, Batch] = {}
    for name, content in _folder(path) if path.is_dir() else _archive(path):
        stem = name.removesuffix(".bin")
        read = read_binary_batch if name.endswith(".bin") else read_python_batch
        found.setdefault(stem, _checked(*read(content, f"{path} ({name})"), f"{path} ({name})"))
    if missing := [name for name in BATCHES if name not in found]:
        raise DamagedFileError(f"{path} is not the whole of CIFAR-10 ({missing[0]} is missing): download it again")
    return [found[name] for name in BATCHES]


def read_binary_batch(content: bytes, where: str) -> Batch:
    """The planar pixels uint8 (N, 3072) and labels int64 (N,) of one binary batch: rows of a label and its pixels."""
    if not content or len(content) % (PIXELS + 1):
        raise DamagedFileError(f"{where} is cut short ({len(content):,} bytes): download or copy it again")
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, PIXELS + 1)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _checked(pixels: np.ndarray, labels: np.ndarray, where: str) -> Batch:
    if len(labels) != ROWS_PER_BATCH:
        raise DamagedFileError(f"{where} has {len(labels):,} images, not {ROWS_PER_BATCH:,}: download it again")
    if labels.max() >= CLASSES:
        raise DamagedFileError(f"{where} has a label {labels.max()}, but CIFAR-10's are 0 to 9: download it again")
    return np.ascontiguousarray(pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), labels


def _wanted(name: str) -> bool:
    return name.removesuffix(".bin") in BATCHES


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted([*path.glob("*_batch*"), *path.glob("cifar-10-batches-*/*_batch*")]):
        if _wanted(file.name) and file.is_file():
            yield file.name, _guarded(path, file.read_bytes)


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    with _guarded(path, lambda: tarfile.open(path, "r:*")) as tar:
        while (member := _guarded(path, tar.next)) is not None:
            name = PurePosixPath(member.name).name
            if not (_wanted(name) and member.isfile()):
                continue
            if member.size > _LARGEST:
                raise DamagedFileError(f"{path} ({name}) is too large for CIFAR-10: download it again")
            file = tar.extractfile(member)
            assert file is not None  # it is a regular file
            yield name, _guarded(path, file.read)


def _guarded(path: Path, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        why = getattr(error, "strerror", None) or "it is no .tar.gz, or cut short"  # tarfile's own text has many lines
        what = "give CIFAR-10's .tar.gz, its folder or an .npz, or download it again"
        raise DamagedFileError(f"{path} cannot be read as a whole archive ({why}): {what}") from error
