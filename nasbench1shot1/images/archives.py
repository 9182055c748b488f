"""Reading of official data sets from archives, or from the unpacked folder; `formats` lists their files.

Archives are read as a stream: nothing is unpacked to the disk, so paths in the archive cannot do harm. They are read to
their end, where gzip, bzip2 and xz have their checksums, but never beyond the size of the largest data set. A plain
.tar and a folder have no checksum.
"""

import hashlib
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, TypeVar, cast

from nasbench1shot1.ground.errors import DamagedFileError, UserError, alternatives
from nasbench1shot1.images.data_sets import DataSet
from nasbench1shot1.images.formats import BINARY, FORMATS, Batch, OfficialFormat

_LARGEST = 192 * 2**20  # bytes; CIFAR-100's training images have 155 MB, and a header may claim anything
_LARGEST_DESCRIPTION = 2**20  # bytes of a long name or a PAX header, which tarfile reads into memory
_LARGEST_ARCHIVE = 1280 * 2**20  # bytes when unpacked; ImageNet16 has 1,030 MB, CIFAR-10 186 MB
_MOST_MEMBERS = 1_000  # ImageNet16 has eleven
_CHUNK = 2**20
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)

_ADVICE = "give the archive of a data set, its folder or an .npz"
_T = TypeVar("_T")


class OfficialContent(NamedTuple):
    """The content of an official archive or folder.

    Attributes:
        data_set: the data set.
        batches: images uint8 (N, side, side, 3), RGB, and labels int64 (N,) of each file in canonical order; the last
            file has the test images.
        is_verified: whether every file has its published MD5; False for a data set whose files have no published MD5s.
    """

    data_set: DataSet
    batches: list[Batch]
    is_verified: bool


def read_official(path: Path) -> list[Batch]:
    """Return the `batches` of `read_data_set`; raises the errors of `read_data_set`."""
    return read_data_set(path).batches


def read_data_set(path: Path, name: str | None = None) -> OfficialContent:
    """Read an official data set from an archive, from its unpacked folder, or from that folder's parent.

    `name` is the data set to look for. Default: the first known data set that has a file in the archive or folder.
    Raises DamagedFileError if a file is missing, truncated or invalid.
    """
    forms = tuple(form for form in FORMATS if name in (None, form.name))
    found: dict[str, Batch] = {}
    sums: dict[str, str] = {}
    form = None
    for form, file, content in (_folder if path.is_dir() else _archive)(path, forms):
        stem = file.removesuffix(BINARY)
        found.setdefault(stem, form.read(file, content, f"{path} ({file})"))
        if form.md5:
            sums.setdefault(stem, hashlib.md5(content, usedforsecurity=False).hexdigest())
    if form is None:
        raise _nothing_found(path, forms)
    batches = _complete(path, form, found)
    return OfficialContent(form.data_set, batches, bool(form.md5) and sums == form.md5)


def _complete(path: Path, form: OfficialFormat, found: Mapping[str, Batch]) -> list[Batch]:
    """Return the batches in canonical order; raises DamagedFileError if the data set is incomplete."""
    title = form.data_set.title
    if missing := [name for name in form.files if name not in found]:
        raise DamagedFileError(f"{path} is not the complete {title} ({missing[0]} is missing): download it again")
    batches = [found[name] for name in form.files]
    counts = [len(labels) for _, labels in batches]
    expected = (form.data_set.training_images, form.data_set.test_images)
    if (sum(counts[:-1]), counts[-1]) != expected:
        has = f"{sum(counts[:-1]):,} training and {counts[-1]:,} test images, not {expected[0]:,} and {expected[1]:,}"
        raise DamagedFileError(f"{path} is not the complete {title} (it has {has}): download it again")
    return batches


def _nothing_found(path: Path, forms: Sequence[OfficialFormat]) -> DamagedFileError:
    listed = alternatives(f"{form.data_set.title} ({form.files[0]} is missing)" for form in forms)
    return DamagedFileError(f"{path} does not contain {listed}: give another path, or download it again")


def _folder(path: Path, forms: Sequence[OfficialFormat]) -> Iterator[tuple[OfficialFormat, str, bytes]]:
    for form in forms:
        candidates = sorted([*path.glob("*"), *path.glob(f"{form.folder}/*")])
        if files := [file for file in candidates if form.has(file.name) and file.is_file()]:
            for file in files:
                if file.stat().st_size > _LARGEST:
                    raise _too_large(path, file.name)
                yield form, file.name, _read_guarded(path, file.read_bytes)
            return


def _archive(path: Path, forms: Sequence[OfficialFormat]) -> Iterator[tuple[OfficialFormat, str, bytes]]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is not a file or a folder: {_ADVICE}")
    with _read_guarded(path, partial(_Unpacked, path)) as unpacked:
        tar = _read_guarded(path, partial(_open_tar, unpacked))
        for _ in range(_MOST_MEMBERS):
            if (member := _read_guarded(path, tar.next)) is None:
                break
            name = PurePosixPath(member.name).name
            if not 0 <= member.size <= _LARGEST:  # a PAX header may have changed it; skipping so much takes too long
                raise _too_large(path, name)
            if (form := next((form for form in forms if form.has(name)), None)) and member.isfile():
                forms = (form,)  # the first file determines the data set
                yield form, name, _read_guarded(path, partial(_content, tar, member))
        else:
            raise _too_large(path, f"more than {_MOST_MEMBERS:,} files")
        _read_guarded(path, unpacked.read_to_end)


class _Unpacked:
    """The decompressed bytes of a .tar, .tar.gz, .tar.bz2 or .tar.xz, up to the size limit of a data set."""

    def __init__(self, path: Path) -> None:
        self._file, self._left = _open_decompressed(path), _LARGEST_ARCHIVE

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most one chunk; raises tarfile.ReadError beyond the size of the largest archive."""
        content = self._file.read(min(size, _CHUNK))
        self._left -= len(content)
        if self._left < 0:
            raise tarfile.ReadError(f"it has more than {_LARGEST_ARCHIVE // 2**20} MiB")
        return content

    def read_to_end(self) -> None:
        """Read everything after the last member; raises the decompressor's error if a checksum is wrong."""
        while self.read(_CHUNK):
            pass


def _open_decompressed(path: Path) -> IO[bytes]:
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
    """A member whose header does not claim more bytes than the largest file of a data set."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        """Parse a header; raises tarfile.ReadError if its size is impossible for a file of a data set."""
        member = super().frombuf(buf, encoding, errors)
        if not 0 <= member.size <= (_LARGEST if member.type in _PLAIN else _LARGEST_DESCRIPTION):
            raise tarfile.ReadError(f"a member of {member.size} bytes")
        return member


def _open_tar(unpacked: _Unpacked) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(IO[bytes], unpacked), mode="r|", bufsize=_CHUNK, tarinfo=_Member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    return file.read()


def _too_large(path: Path, what: str) -> DamagedFileError:
    return DamagedFileError(f"{path} ({what}) is too large for a data set: download it again")


def _read_guarded(path: Path, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except UserError:
        raise
    except Exception as error:  # on damaged headers tarfile raises ValueError, IndexError, RecursionError and others
        why = getattr(error, "strerror", None) or "it is not a .tar.gz, or is truncated or damaged"
        what = f"{_ADVICE}, or download it again"
        raise DamagedFileError(f"{path} cannot be read as an archive ({why}): {what}") from error
