"""The official CIFAR-10, python or binary version, as a .tar(.gz) or as the folder that it unpacks to.

Archives are read as a stream: nothing is unpacked to the disk, so no path in them matters. They are read to their end,
where gzip, bzip2 and xz have their checksums, but never further than CIFAR-10 is long. A plain .tar and a folder have
no checksum of their own.
Format: https://www.cs.toronto.edu/~kriz/cifar.html. Canonical order: data_batch_1 to data_batch_5, then test_batch.
"""

import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar, cast

import numpy as np

from nasbench1shot1.errors import DamagedFileError, UserError
from nasbench1shot1.images.pickles import PIXELS, read_python_batch

BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
ROWS_PER_BATCH = 10_000
CLASSES = 10
_LARGEST = 64 * 2**20  # bytes; a batch has 31 MB, and a header may claim anything
_LARGEST_DESCRIPTION = 2**20  # bytes of a long name or a PAX header, which tarfile reads into memory
_LARGEST_ARCHIVE = 256 * 2**20  # bytes when unpacked; CIFAR-10 has 186 MB
_MOST_MEMBERS = 1_000  # CIFAR-10 has nine
_CHUNK = 2**20
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)

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
            if file.stat().st_size > _LARGEST:
                raise _too_large(path, file.name)
            yield file.name, _guarded(path, file.read_bytes)


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is not a file or a folder: give CIFAR-10's .tar.gz, its folder or an .npz")
    with _guarded(path, partial(_Unpacked, path)) as unpacked:
        tar = _guarded(path, partial(_opened, unpacked))
        for _ in range(_MOST_MEMBERS):
            if (member := _guarded(path, tar.next)) is None:
                break
            name = PurePosixPath(member.name).name
            if not 0 <= member.size <= _LARGEST:  # a PAX header may have changed it, and to skip so much takes for ever
                raise _too_large(path, name)
            if _wanted(name) and member.isfile():
                yield name, _guarded(path, partial(_content, tar, member))
        else:
            raise _too_large(path, f"more than {_MOST_MEMBERS:,} files")
        _guarded(path, unpacked.read_to_end)


class _Unpacked:
    """The bytes of a .tar, .tar.gz, .tar.bz2 or .tar.xz without its compression, as far as CIFAR-10 may reach."""

    def __init__(self, path: Path) -> None:
        self._file, self._left = _decompressed(path), _LARGEST_ARCHIVE

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most a chunk of them; raises tarfile.ReadError after the largest archive."""
        content = self._file.read(min(size, _CHUNK))
        self._left -= len(content)
        if self._left < 0:
            raise tarfile.ReadError(f"it has more than {_LARGEST_ARCHIVE // 2**20} MiB")
        return content

    def read_to_end(self) -> None:
        """Read what follows the last member; raises whatever the decompressor raises where a checksum is wrong."""
        while self.read(_CHUNK):
            pass


def _decompressed(path: Path) -> IO[bytes]:
    import bz2
    import gzip
    import lzma

    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path))
    if start.startswith(b"BZh"):
        return bz2.open(path)
    return lzma.open(path) if start == b"\xfd7zXZ\x00" else path.open("rb")


class _Member(tarfile.TarInfo):
    """A member whose header claims at most as many bytes as the largest file of CIFAR-10 has."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        """Parse a header; raises tarfile.ReadError if its size is impossible for a file of CIFAR-10."""
        member = super().frombuf(buf, encoding, errors)
        if not 0 <= member.size <= (_LARGEST if member.type in _PLAIN else _LARGEST_DESCRIPTION):
            raise tarfile.ReadError(f"a member of {member.size} bytes")
        return member


def _opened(unpacked: _Unpacked) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(IO[bytes], unpacked), mode="r|", bufsize=_CHUNK, tarinfo=_Member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    return file.read()


def _too_large(path: Path, what: str) -> DamagedFileError:
    return DamagedFileError(f"{path} ({what}) is too large for CIFAR-10: download it again")


def _guarded(path: Path, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except UserError:
        raise
    except Exception as error:  # on damaged headers tarfile raises ValueError, IndexError, RecursionError and others
        why = getattr(error, "strerror", None) or "it is not a .tar.gz, or is cut short or damaged"
        what = "give CIFAR-10's .tar.gz, its folder or an .npz, or download it again"
        raise DamagedFileError(f"{path} cannot be read as a whole archive ({why}): {what}") from error
