"""Official data sets: the names, order and formats of their files, read from an archive or from the unpacked folder.

CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html) have a Python version, which consists of pickles,
and a binary version. ImageNet16-120 is the part of ImageNet16 (Chrabaszcz et al. 2017, arXiv:1707.08819) that
NAS-Bench-201 uses: the images with labels 1 to 120, which become 0 to 119, in the order of the files. ImageNet16 only
has pickles (image2numpy_imagenet_train.py in github.com/PatrykChrabaszcz/Imagenet32_Scripts). Pickles are read without
running code that they contain.

Archives are read as a stream: nothing is unpacked to the disk, so paths in the archive cannot do harm. They are read to
their end, where gzip, bzip2 and xz have their checksums, but never beyond the size of the largest data set. A plain
.tar and a folder have no checksum.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TypeVar, cast

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError, UserError, alternatives
from nasbench1shot1.ground.files import blocked_error, open_regular, read_bytes
from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, DATA_SETS, IMAGENET16_120, DataSet

BINARY = ".bin"
_LARGEST = 192 * 2**20  # bytes; CIFAR-100's training images have 155 MB, and a header may claim anything
_LARGEST_DESCRIPTION = 2**20  # bytes of a long name or a PAX header, which tarfile reads into memory
_LARGEST_ARCHIVE = 1280 * 2**20  # bytes when unpacked; ImageNet16 has 1,030 MB, CIFAR-10 186 MB
_MOST_MEMBERS = 1_000  # ImageNet16 has eleven
_CHUNK = 2**20
_MOST_OPCODES = 300_000  # a batch of CIFAR-100 has some 200,000; 64 MB of opcodes would take 5 GB of memory
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)
_ADVICE = "give the archive or the folder of a data set, or an .npz file"
_T = TypeVar("_T")

Batch = tuple[np.ndarray, np.ndarray]
"""Images uint8 (N, side, side, 3), RGB, and labels int64 (N,)."""


class BatchFormat(NamedTuple):
    """The format of a pickled batch: a dictionary with the array "data" and a list of labels.

    Attributes:
        title: name of a batch, for messages.
        labels: key of the list of labels.
        pixels: number of bytes of an image.
        lowest: the smallest possible label.
        highest: the largest possible label.
    """

    title: str
    labels: bytes
    pixels: int
    lowest: int
    highest: int


CIFAR10_BATCH = BatchFormat("a CIFAR-10 batch", b"labels", 3 * 32 * 32, 0, 255)


class OfficialFormat(NamedTuple):
    """The official files of one data set.

    Attributes:
        name: name of the data set.
        training: names of the files of training images in canonical order.
        test: name of the file of test images.
        folder: pattern of the folders that the published archives unpack to.
        batch: format of a pickled file.
        md5: published MD5 of each file; empty if the archive has a published SHA-256 instead.
        label_bytes: number of bytes before the pixels of an image in the binary version; the last one is the label. 0
            if there is no binary version.
        takes_some: whether the data set only uses the images of the first classes.
    """

    name: str
    training: tuple[str, ...]
    test: str
    folder: str
    batch: BatchFormat
    md5: Mapping[str, str]
    label_bytes: int = 0
    takes_some: bool = False

    @property
    def data_set(self) -> DataSet:
        """The data set."""
        return DATA_SETS[self.name]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files, the test images last."""
        return (*self.training, self.test)

    def has(self, file: str) -> bool:
        """Return whether a file with this name belongs to the data set."""
        return file in self.files or (self.label_bytes > 0 and file.removesuffix(BINARY) in self.files)

    def read(self, file: str, content: bytes, where: str) -> Batch:
        """Return the images and labels of a file; `where` names it in errors.

        Raises DamagedFileError if the file is truncated or has other content.
        """
        if file.endswith(BINARY):
            pixels, labels = read_binary_batch(content, where, self.batch.pixels, self.label_bytes)
        else:
            pixels, labels = read_python_batch(content, where, self.batch)
        labels = labels - self.batch.lowest
        if self.takes_some:
            taken = labels < self.data_set.classes
            pixels, labels = pixels[taken], labels[taken]
        else:
            self._check(file.removesuffix(BINARY), labels, where)
        side = self.data_set.side
        return np.ascontiguousarray(pixels.reshape(len(labels), 3, side, side).transpose(0, 2, 3, 1)), labels

    def _check(self, stem: str, labels: np.ndarray, where: str) -> None:
        known, is_test = self.data_set, stem == self.test
        rows = known.test_images if is_test else known.training_images // len(self.training)
        if len(labels) != rows:
            raise DamagedFileError(f"{where} has {len(labels):,} images, not {rows:,}: download it again")
        if labels.max() >= known.classes:
            are = f"{known.title}'s labels are 0 to {known.classes - 1}"
            raise DamagedFileError(f"{where} has a label {labels.max()}, but {are}: download it again")


FORMATS = (
    OfficialFormat(
        name=CIFAR10.name,
        training=tuple(f"data_batch_{i}" for i in range(1, 6)),
        test="test_batch",
        folder="cifar-10-batches-*",
        batch=CIFAR10_BATCH,
        md5={},
        label_bytes=1,
    ),
    OfficialFormat(
        name=CIFAR100.name,
        training=("train",),
        test="test",
        folder="cifar-100-*",
        batch=BatchFormat("a CIFAR-100 batch", b"fine_labels", 3 * 32 * 32, 0, 255),
        md5={},
        label_bytes=2,  # the superclass, then the class
    ),
    OfficialFormat(
        name=IMAGENET16_120.name,
        training=tuple(f"train_data_batch_{i}" for i in range(1, 11)),
        test="val_data",
        folder="ImageNet16*",
        batch=BatchFormat("an ImageNet16 batch", b"labels", 3 * 16 * 16, 1, 1_000),
        takes_some=True,
        md5={  # as in xautodl/datasets/DownsampledImageNet.py of github.com/D-X-Y/AutoDL-Projects
            "train_data_batch_1": "27846dcaa50de8e21a7d1a35f30f0e91",
            "train_data_batch_2": "c7254a054e0e795c69120a5727050e3f",
            "train_data_batch_3": "4333d3df2e5ffb114b05d2ffc19b1e87",
            "train_data_batch_4": "1620cdf193304f4a92677b695d70d10f",
            "train_data_batch_5": "348b3c2fdbb3940c4e9e834affd3b18d",
            "train_data_batch_6": "6e765307c242a1b3d7d5ef9139b48945",
            "train_data_batch_7": "564926d8cbf8fc4818ba23d2faac7564",
            "train_data_batch_8": "f4755871f718ccb653440b9dd0ebac66",
            "train_data_batch_9": "bb6dd660c38c58552125b1a92f86b5d4",
            "train_data_batch_10": "8f03f34ac4b42271a294f91bf480f29b",
            "val_data": "3410e3017fdaefba8d5073aaa65e4bd6",
        },
    ),
)


def read_binary_batch(content: bytes, where: str, pixels: int, label_bytes: int) -> Batch:
    """Return the planar pixels uint8 (N, pixels) and labels int64 (N,) of a binary batch: rows of labels and pixels.

    Raises DamagedFileError if the batch is truncated.
    """
    if not content or len(content) % (label_bytes + pixels):
        raise DamagedFileError(f"{where} is truncated ({len(content):,} bytes): download or copy it again")
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, label_bytes + pixels)
    return rows[:, label_bytes:], rows[:, label_bytes - 1].astype(np.int64)


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
                yield form, file.name, _read_guarded(path, partial(read_bytes, file))
            return


def _archive(path: Path, forms: Sequence[OfficialFormat]) -> Iterator[tuple[OfficialFormat, str, bytes]]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is not a file or a folder: {_ADVICE}")
    with _read_guarded(path, partial(_Unpacked, path)) as unpacked:
        stream = cast(IO[bytes], unpacked)
        tar = _read_guarded(path, partial(tarfile.open, fileobj=stream, mode="r|", bufsize=_CHUNK, tarinfo=_Member))
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


class _LimitError(Exception):
    """An archive exceeds the size of every data set, although it may be intact."""


class _Unpacked:
    """The decompressed bytes of a .tar, .tar.gz, .tar.bz2 or .tar.xz, up to the size limit of a data set."""

    def __init__(self, path: Path) -> None:
        self._file, self._left = _open_decompressed(path), _LARGEST_ARCHIVE

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most one chunk; raises _LimitError beyond the size of the largest archive."""
        content = self._file.read(min(size, _CHUNK))
        self._left -= len(content)
        if self._left < 0:
            raise _LimitError(f"more than {_LARGEST_ARCHIVE // 2**20:,} MiB when unpacked")
        return content

    def read_to_end(self) -> None:
        """Read everything after the last member; raises the decompressor's error if a checksum is wrong."""
        while self.read(_CHUNK):
            pass


def _open_decompressed(path: Path) -> IO[bytes]:
    import bz2
    import gzip
    import lzma

    with open_regular(path) as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path))
    if start.startswith(b"BZh"):
        return bz2.open(path)
    return lzma.open(path) if start == b"\xfd7zXZ\x00" else open_regular(path)


class _Member(tarfile.TarInfo):
    """A member whose header does not claim more bytes than the largest file of a data set."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        """Parse a header; raises _LimitError if its size is impossible for a file of a data set."""
        member = super().frombuf(buf, encoding, errors)
        if not 0 <= member.size <= (_LARGEST if member.type in _PLAIN else _LARGEST_DESCRIPTION):
            what = "file" if member.type in _PLAIN else "description"
            raise _LimitError(f"a {what} of {member.size:,} bytes")
        return member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    return file.read()


def _too_large(path: Path, what: str) -> DamagedFileError:
    most = f"{_LARGEST // 2**20:,} MiB for a file, {_LARGEST_ARCHIVE // 2**20:,} MiB for all, {_MOST_MEMBERS:,} files"
    return DamagedFileError(
        f"{path} ({what}) is too large for a data set (at most {most}): give an official archive, or images as .npz"
    )


def _read_guarded(path: Path, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except UserError:
        raise
    except _LimitError as error:
        raise _too_large(path, str(error)) from error
    except Exception as error:  # on damaged headers tarfile raises ValueError, IndexError, RecursionError and others
        why = getattr(error, "strerror", None) or "it is not a .tar.gz, or is truncated or damaged"
        what = f"{_ADVICE}, or download it again"
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read as an archive ({why}): {what}"
        ) from error


def read_python_batch(content: bytes, where: str, form: BatchFormat = CIFAR10_BATCH) -> tuple[np.ndarray, np.ndarray]:
    """Return the planar pixels uint8 (N, pixels) and labels int64 (N,) of a pickled batch, without executing any code.

    `where` names the file in errors; `form` is the data set's format. Raises DamagedFileError if the stream is
    truncated or has other content, and InvalidInputError if it asks for something other than plain data.
    """
    batch = load_plain_pickle(io.BytesIO(content), where, encoding="bytes", most_opcodes=_MOST_OPCODES)
    labels, pixels = (_entry(batch, key) for key in (form.labels, b"data"))
    is_list = isinstance(labels, list) and all(
        type(label) is int and form.lowest <= label <= form.highest for label in labels
    )
    is_array = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8
    if not (is_list and is_array and labels and pixels.shape == (len(labels), form.pixels)):
        wanted = f"it lacks '{form.labels.decode()}' with an equal number of images"
        raise DamagedFileError(f"{where} is not {form.title} ({wanted}): check the file")
    return np.asarray(pixels), np.array(labels, dtype=np.int64)


def _entry(batch: Any, key: bytes) -> Any:
    """Return the value of a key, which Python 2 and some writers store as bytes; None if it is missing."""
    return batch.get(key, batch.get(key.decode())) if isinstance(batch, dict) else None
