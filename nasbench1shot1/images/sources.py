"""Where images come from: the bundled sample, users' .npz files, and official data sets from a file or the internet.

The bundled sample of CIFAR-10 has 350 training images of each class, compressed losslessly, in an .npz file of plain
arrays. `webp`, uint8, contains lossless WebP strips. Strip k is `webp[strip_offset[k]:strip_offset[k + 1]]`, an image
32 pixels wide that consists of 32 × 32 images on top of each other. `labels` (uint8) and `train_index` (int32,
canonical training index) have one entry per image. A .json file next to it has the checksums and the source.
"""

import io
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.ground.downloads import fetch, lock_of_download
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, alternatives, option, switch
from nasbench1shot1.ground.files import (
    PACKAGE_DATA,
    as_path,
    atomic_write,
    open_regular,
    read_json,
    read_npy_header,
    read_npz,
    sha256,
    write_json,
)
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.images.data_sets import (
    CIFAR10,
    CIFAR100,
    DATA_SETS,
    OTHER,
    SMALLEST_SIDE,
    DataSet,
    data_set,
    moments,
    other_data_set,
)
from nasbench1shot1.images.official_files import read_data_set
from nasbench1shot1.images.store import (
    Columns,
    content_sha256,
    has_other_content,
    images_folder,
    imported_at,
    write_columns,
)

HOME = "https://www.cs.toronto.edu/~kriz"
# HOME/cifar.html publishes MD5s. Keras (python) and MLDatasets.jl (binary) pin the same SHA-256 as here.
CHECKSUMS = {
    "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    "cifar-100-python.tar.gz": "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    "cifar-100-binary.tar.gz": "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
}
SAMPLE_NAME, OFFICIAL_NAME = "cifar10-sample", CIFAR10.name
SAMPLE = PACKAGE_DATA / "cifar10_sample.npz"
SOURCE = (
    "CIFAR-10 by Alex Krizhevsky, Vinod Nair and Geoffrey Hinton (https://www.cs.toronto.edu/~kriz/cifar.html): the "
    "first 350 training images of each class in canonical order, re-encoded as lossless WebP with identical pixels. "
    "Pixels taken from the PNG files of github.com/cyizhuo/CIFAR-10-dataset. No licence is stated by either; "
    "the authors ask that their technical report be cited (Learning Multiple Layers of Features from Tiny Images, "
    "2009)."
)
_ROWS_PER_STRIP = 500  # WebP's limit of 16,383 pixels allows 511 images
_MOST_CLASSES = 100_000  # limit for an unknown data set, because every class has weights


class PublishedArchives(NamedTuple):
    """The published archives of a data set: the start of their names, and the size of the Python version in MB."""

    stem: str
    megabytes: int


PUBLISHED = {CIFAR10.name: PublishedArchives("cifar-10", 170), CIFAR100.name: PublishedArchives("cifar-100", 169)}
"""The archives that can be downloaded, by data set."""
_IMAGENET16_ADVICE = (
    "download ImageNet16 (train and val) from https://image-net.org/download-images.php after signing in, unpack it "
    "into one folder, and run `nb1shot1 data import FOLDER`"
)


def import_images(
    path: str | Path,
    name: str | None = None,
    *,
    overwrite: bool = False,
    report: Callable[[str], None] = print_to_stderr,
) -> Path:
    """Import an image set, so that `load_images(name)` finds it; return its folder.

    `path`: an official data set as .tar, .tar.gz or folder (CIFAR-10 or CIFAR-100 in the Python or binary version;
    ImageNet16, from which ImageNet16-120 is extracted), or an .npz file as described in `read_images`.
    `name`: name of the image set. Default: the official data set's name, or the stem of the .npz file.
    `overwrite`: replace another image set with this name. Not needed to import an official archive or folder under the
    data set's own name.
    `report`: receives one line if `path` is an official data set that has neither the SHA-256 of a published archive
    nor the published MD5s of all files. Default: print to standard error. meta.json records the check as `official`
    and `file_sha256`.
    Raises InvalidInputError for an invalid path or a name in use, DamagedFileError for an invalid file, and UserError
    if the image set cannot be written. After an error, nothing has changed.
    """
    path = as_path(path, "path")
    if not path.exists():
        raise InvalidInputError(f"there is no file or folder '{path}': give the path of a data set or an .npz file")
    is_npz = path.suffix == ".npz"
    name = None if name is None or name == "" else _checked_name(name)
    name = _checked_name(path.stem) if is_npz and name is None else name
    columns, of, is_verified = (*read_images(path), False) if is_npz else _read_official(path, name)
    name = name or of.name
    if name in DATA_SETS and not (of.name == name and columns.is_whole(of)):
        title = DATA_SETS[name].title
        raise InvalidInputError(
            f"{path} is not the complete {title}, but '{name}' is reserved for it: choose another name with "
            f"{option('name')}"
        )
    if not overwrite and (is_npz or name not in DATA_SETS) and has_other_content(name, columns):
        raise InvalidInputError(
            f"there is already an image set '{name}' with other images: choose another {option('name')}, or replace "
            f"it with {switch('overwrite')}"
        )
    digest = sha256(path) if path.is_file() else None
    official = is_verified or digest in CHECKSUMS.values()
    folder = write_columns(name, columns, of, path.name, official, digest)
    if not (official or is_npz):
        report(_unverified(path, of.name, digest))
    return folder


def _read_official(path: Path, name: str | None) -> tuple[Columns, DataSet, bool]:
    """Return the official data set with a name (any set for other names), and whether its files have published MD5s."""
    found = read_data_set(path, name if name in DATA_SETS else None)
    *train, test = found.batches
    images = np.concatenate([batch[0] for batch in train])
    labels = np.concatenate([batch[1] for batch in train])
    return Columns(images, labels, np.arange(len(images)), *test), found.data_set, found.is_verified


def _unverified(path: Path, name: str, digest: str | None) -> str:
    """Return the warning for images that may differ from the official ones."""
    imported = "its images were imported unverified"
    if name not in PUBLISHED:
        return f"warning: the files in '{path}' do not have the published MD5s of ImageNet16; {imported}"
    why = f"its SHA-256 is {digest}" if digest else "a folder has no SHA-256 to compare"
    command = "nb1shot1 data download" + ("" if name == OFFICIAL_NAME else f" {name}")
    return (
        f"warning: '{path}' is not one of the two official archives of {DATA_SETS[name].title} ({why}); {imported}; "
        f"`{command}` imports verified images"
    )


def how_to_install(name: str) -> str:
    """Return advice on how to install an official data set, phrased as the second half of a sentence."""
    if name == OFFICIAL_NAME:
        sample = f"use the bundled 'cifar10-sample' (with {option('scale', 'quick')})"
        return f"run `nb1shot1 data download`, or {sample}"
    return f"run `nb1shot1 data download {name}`" if name in PUBLISHED else _IMAGENET16_ADVICE


def published_archives(name: str) -> PublishedArchives:
    """Return the published archives of a data set.

    Raises InvalidInputError for an unknown name, and UserError for a data set that cannot be downloaded.
    """
    title = data_set(name).title
    if name not in PUBLISHED:
        raise UserError(f"{title} cannot be downloaded without an account: {_IMAGENET16_ADVICE}")
    return PUBLISHED[name]


def download_images(mirror: str | None = None, progress: Any = False, name: str = OFFICIAL_NAME) -> Path:
    """Download an official data set, check its SHA-256, and import it with its name; return its folder.

    `mirror`: another address of one of the two archives, or of the folder that contains the Python version.
    `progress`: as in `ground.downloads.fetch`.
    `name`: "cifar10" or "cifar100".
    Raises the errors of `published_archives`, and UserError if the file cannot be downloaded, has another SHA-256, or
    cannot be written.
    """
    url, stem = (mirror or HOME).rstrip("/"), published_archives(name).stem
    url = url if url.endswith(".tar.gz") else f"{url}/{stem}-python.tar.gz"
    archive_name = f"{stem}-{'binary' if 'binary' in url.rsplit('/', 1)[-1] else 'python'}.tar.gz"
    before = imported_at(name)
    with lock_of_download(archive_name):
        if imported_at(name) not in (None, before):
            return images_folder() / name  # another process has imported it meanwhile
        archive = fetch(
            url,
            archive_name,
            CHECKSUMS[archive_name],
            progress,
            f"the official {DATA_SETS[name].title}",
            f"download it by hand and run `nb1shot1 data import FILE`, or give a {option('mirror')}",
        )
        folder = import_images(archive)
        archive.unlink(missing_ok=True)
    return folder


def _checked_name(name: str) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InvalidInputError(f"'{name}' is not a valid name: use letters, digits, '.', '_' and '-'")
    if name == SAMPLE_NAME:
        raise InvalidInputError(f"'{name}' is the bundled sample: choose another name with {option('name')}")
    if name.endswith(".npz"):
        raise InvalidInputError(f"'{name}' would name a file: choose a name without .npz with {option('name')}")
    return name


def read_images(path: Path) -> tuple[Columns, DataSet]:
    """Return the image set in an .npz file, and its data set.

    Arrays: `images` uint8 (N, side, side, 3) RGB and `labels` integers (N,) from 0; optional `is_test` bool (N,),
        `train_index` integers (N,), the canonical training index (−1 if unknown), and `dataset`, a name: "cifar10",
        "cifar100", "ImageNet16-120" or "other". Images of a named data set must have its size and classes. Without
        `dataset`, images belong to CIFAR-10 if they have its size and labels, or a `train_index`. Any other images form
        a separate data set: its classes are 0 to the largest label, and its mean and standard deviation are computed
        from the training images. Training images are sorted in canonical order if it is known.
    Raises DamagedFileError for any other content.
    """
    arrays = read_npz(path, "write it again")
    if problem := _problem(arrays):
        raise DamagedFileError(f"{path} does not contain usable images: {problem}")
    rows = len(arrays["images"])
    is_test = arrays.get("is_test", np.zeros(rows, dtype=bool))
    labels = arrays["labels"].astype(np.int64)
    index = arrays.get("train_index", np.full(rows, -1)).astype(np.int64)
    train = np.flatnonzero(~is_test)
    train = train[np.argsort(index[train], kind="stable")]
    tests = arrays["images"][is_test], labels[is_test]
    columns = Columns(arrays["images"][train], labels[train], index[train], *tests)
    return columns, _known_data_set(arrays) or _own_data_set(columns)


def read_npz_side(path: Path) -> int:
    """Return the side of the images in an .npz, from the array's header; a damaged file can raise any error."""
    import zipfile

    with open_regular(path) as file, zipfile.ZipFile(file) as archive, archive.open("images.npy") as member:
        shape, _, _ = read_npy_header(member)
    return shape[1]


def _known_data_set(arrays: dict[str, np.ndarray]) -> DataSet | None:
    """Return the known data set of an .npz file's arrays, by its name or their content; None for another data set."""
    if "dataset" in arrays:
        return DATA_SETS.get(str(arrays["dataset"]))
    images, labels = arrays["images"], arrays["labels"]
    fits = images.shape[1] == CIFAR10.side and (labels < CIFAR10.classes).all()
    return CIFAR10 if fits or "train_index" in arrays else None


def _own_data_set(columns: Columns) -> DataSet:
    classes = 1 + int(np.concatenate([columns.labels, columns.test_labels]).max())
    return other_data_set(classes, columns.images.shape[1], *moments(columns.images))


def _problem(arrays: dict[str, np.ndarray]) -> str | None:
    """Return what is wrong with an .npz file's arrays and what is expected; None if nothing is wrong."""
    images, labels = arrays.get("images"), arrays.get("labels")
    if images is None or labels is None:
        return "it must have the arrays 'images' and 'labels'"
    if images.ndim != 4:
        return f"'images' must be uint8 (N, side, side, 3), not {images.dtype} {images.shape}"
    rows = (len(images),)
    if labels.dtype.kind not in "iu" or labels.shape != rows:
        return f"'labels' must be {rows[0]} integers, not {labels.dtype} {labels.shape}"
    if "dataset" in arrays and str(arrays["dataset"]) not in (*DATA_SETS, OTHER):
        return f"'dataset' must be {alternatives([*DATA_SETS, OTHER])}, not {arrays['dataset']}"
    known = _known_data_set(arrays)
    if problem := _content_problem(images, labels, known):
        return problem
    is_test = arrays.get("is_test", np.zeros(rows, dtype=bool))
    if is_test.dtype != np.bool_ or is_test.shape != rows:
        return f"'is_test' must be {rows[0]} booleans, not {is_test.dtype} {is_test.shape}"
    if is_test.all():
        return "it has no training images"
    return _index_problem(arrays.get("train_index"), is_test, known)


def _content_problem(images: np.ndarray, labels: np.ndarray, known: DataSet | None) -> str | None:
    side = known.side if known else images.shape[1]
    if images.dtype != np.uint8 or images.shape[1:] != (side, side, 3):
        wanted = f"(N, {side}, {side}, 3)" if known else "(N, side, side, 3), square and with the colours last"
        return f"'images' must be uint8 {wanted}, not {images.dtype} {images.shape}"
    if side < SMALLEST_SIDE:
        return f"'images' must have at least {SMALLEST_SIDE} × {SMALLEST_SIDE} pixels, not {side} × {side}"
    largest = (known.classes if known else _MOST_CLASSES) - 1
    if len(labels) and (labels.min() < 0 or labels.max() > largest):
        return f"'labels' must be 0 to {largest}, not {labels.min()} to {labels.max()}"
    return None


def _index_problem(index: np.ndarray | None, is_test: np.ndarray, known: DataSet | None) -> str | None:
    if index is None:
        return None
    if known is None:
        return f"'train_index' needs a 'dataset' whose order is known: {', '.join(DATA_SETS)}"
    if index.dtype.kind not in "iu" or index.shape != is_test.shape:
        return f"'train_index' must be {len(is_test)} integers, not {index.dtype} {index.shape}"
    numbers = index[~is_test]
    if numbers.min() < -1 or numbers.max() >= known.training_images:
        return f"'train_index' must be −1 or 0 to {known.training_images - 1:,}, not {numbers.min()} to {numbers.max()}"
    numbers = numbers[numbers >= 0]
    return "'train_index' contains a training image twice" if len(np.unique(numbers)) != len(numbers) else None


def write_sample(images: np.ndarray, labels: np.ndarray, train_index: np.ndarray, path: Path) -> None:
    """Write images uint8 (N, 32, 32, 3), labels (N,) and canonical indices (N,) as a sample with its .json file.

    The bundled sample is the 3,500 rows `~is_test & (class_rank < 350)` of data/README.md's cifar10_subset, in
    ascending canonical order. Output is bit-identical for the same input and encoder; 3,500 images take a minute.
    """
    images = np.ascontiguousarray(images)
    strips = [_encode(images[i : i + _ROWS_PER_STRIP]) for i in range(0, len(images), _ROWS_PER_STRIP)]
    offset = np.cumsum([0, *map(len, strips)], dtype=np.int64)
    stream = np.frombuffer(b"".join(strips), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(
            file,
            webp=stream,
            strip_offset=offset,
            labels=labels.astype(np.uint8),
            train_index=train_index.astype(np.int32),
        )
    columns = _sample_columns(images, labels, train_index)
    sums = {"file_sha256": sha256(path), "sha256": content_sha256(columns)}
    write_json(path.with_suffix(".json"), {"training_images": len(images), **sums, "source": SOURCE})


def read_sample(path: Path = SAMPLE) -> tuple[Columns, str]:
    """Return the sample's columns and the SHA-256 of its content, after verifying the file's checksum.

    Raises DamagedFileError if the file or its .json file is missing or damaged.
    """
    known = read_json(path.with_suffix(".json"))
    if not isinstance(known, dict) or not path.is_file() or sha256(path) != known.get("file_sha256"):
        raise DamagedFileError(f"{path} is damaged (its SHA-256 differs): install the package again")
    arrays = read_npz(path, "install the package again")
    stream, offset = arrays["webp"].tobytes(), arrays["strip_offset"].tolist()
    images = np.concatenate([_decode(stream[start:stop]) for start, stop in pairwise(offset)])
    return _sample_columns(images, arrays["labels"], arrays["train_index"]), str(known["sha256"])


def _sample_columns(images: np.ndarray, labels: np.ndarray, index: np.ndarray) -> Columns:
    no_images, no_labels = np.empty((0, 32, 32, 3), np.uint8), np.empty(0, np.int64)
    return Columns(images, labels.astype(np.int64), index.astype(np.int64), no_images, no_labels)


def _encode(images: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    strip = Image.fromarray(images.reshape(-1, 32, 3))
    strip.save(file, "WEBP", lossless=True, quality=100, method=6, exact=True)  # the slowest setting, smallest file
    return file.getvalue()


def _decode(strip: bytes) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(strip), formats=["WEBP"]).convert("RGB")).reshape(-1, 32, 32, 3)
