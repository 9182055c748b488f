"""Getting images in: the official CIFAR-10 from a file, a folder or the net, and anybody's .npz of 32 × 32 images."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.downloads import fetch
from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import read_npz, sha256
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.images.archives import CLASSES, read_official
from nasbench1shot1.images.store import TRAINING_IMAGES, Columns, write_columns
from nasbench1shot1.wording import to_stderr

HOME = "https://www.cs.toronto.edu/~kriz"
# As published on HOME/cifar.html there stand MD5s; these SHA-256 of the same files are also Keras's and others'.
CHECKSUMS = {
    "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
}
SAMPLE_NAME, OFFICIAL_NAME = "cifar10-sample", "cifar10"


def import_images(path: str | Path, name: str | None = None, *, report: Callable[[str], None] = to_stderr) -> Path:
    """Import an image set once, so that `load_images(name)` finds it; returns the folder that now holds it.

    `path`: the official CIFAR-10 (python or binary version; .tar.gz or folder), or an .npz as `read_images` takes it.
    `name`: "cifar10" for the official set if not given, else the .npz's stem.
    `report`: receives one line if `path` is meant to be the official CIFAR-10 but does not have the SHA-256 of one of
    the two published archives; standard error if not given. meta.json records it as `official` and `file_sha256`.
    Raises InvalidInputError for a bad path or name, DamagedFileError for a file that is not what it should be, and
    UserError where it cannot be written; in each case nothing has changed.
    """
    path = as_path(path, "path")
    if not path.exists():
        raise InvalidInputError(f"there is no file or folder '{path}': give the path of CIFAR-10 or of an .npz")
    is_npz = path.suffix == ".npz"
    name = _checked_name(name or (path.stem if is_npz else OFFICIAL_NAME))
    columns = read_images(path) if is_npz else _official_columns(path)
    if name == OFFICIAL_NAME and not columns.is_whole:
        raise InvalidInputError(
            f"{path} is not the whole of CIFAR-10, for which the name 'cifar10' is kept: use --name"
        )
    digest = sha256(path) if path.is_file() else None
    official = digest in CHECKSUMS.values()
    folder = write_columns(name, columns, path.name, official, digest)
    if not (official or is_npz):
        report(_unverified(path, digest))
    return folder


def _unverified(path: Path, digest: str | None) -> str:
    """The line for images that are meant to be the official ones and may be others."""
    why = f"its SHA-256 is {digest}" if digest else "a folder has no SHA-256 to compare"
    return (
        f"warning: '{path}' is not one of the two official archives of CIFAR-10 ({why}): its images were imported "
        "unverified; `nb1shot1 data download` imports verified ones"
    )


def download_images(mirror: str | None = None, progress: Any = False) -> Path:
    """Download the official CIFAR-10 (170 MB), check its SHA-256, and import it as "cifar10"; returns its folder.

    `mirror`: another address, of the folder that holds cifar-10-python.tar.gz or of one of the two archives itself.
    `progress`: as `downloads.fetch` takes it.
    Raises UserError where the file cannot be had, is another one, or cannot be written.
    """
    url = (mirror or HOME).rstrip("/")
    url = url if url.endswith(".tar.gz") else f"{url}/cifar-10-python.tar.gz"
    archive_name = "cifar-10-binary.tar.gz" if "binary" in url.rsplit("/", 1)[-1] else "cifar-10-python.tar.gz"
    archive = fetch(
        url,
        archive_name,
        CHECKSUMS[archive_name],
        progress,
        "the official CIFAR-10",
        "download it by hand and run `nb1shot1 data import FILE`, or name a --mirror",
    )
    folder = import_images(archive)
    archive.unlink()
    return folder


def read_images(path: Path) -> Columns:
    """The image set in an .npz.

    Arrays: `images` uint8 (N, 32, 32, 3) RGB and `labels` integers 0 to 9 (N,); optional `is_test` bool (N,) and
    `train_index` integers (N,), the canonical training index (−1 where unknown). Training images are put in
    canonical order where it is known. Raises DamagedFileError for anything else.
    """
    arrays = read_npz(path, "write it again")
    if problem := _problem(arrays):
        raise DamagedFileError(f"{path} holds no images that can be used: {problem}")
    rows = len(arrays["images"])
    is_test = arrays.get("is_test", np.zeros(rows, dtype=bool))
    labels = arrays["labels"].astype(np.int64)
    index = arrays.get("train_index", np.full(rows, -1)).astype(np.int64)
    train = np.flatnonzero(~is_test)
    train = train[np.argsort(index[train], kind="stable")]
    return Columns(arrays["images"][train], labels[train], index[train], arrays["images"][is_test], labels[is_test])


def _problem(arrays: dict[str, np.ndarray]) -> str | None:
    """What is wrong with an .npz's arrays, if anything, and what it should be."""
    images, labels = arrays.get("images"), arrays.get("labels")
    if images is None or labels is None:
        return "it needs the arrays 'images' and 'labels'"
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (32, 32, 3):
        return f"'images' must be uint8 (N, 32, 32, 3), not {images.dtype} {images.shape}"
    rows = (len(images),)
    if labels.dtype.kind not in "iu" or labels.shape != rows:
        return f"'labels' must be {rows[0]} integers, not {labels.dtype} {labels.shape}"
    if len(labels) and not (labels.min() >= 0 and labels.max() < CLASSES):
        return f"'labels' must be 0 to {CLASSES - 1}, not {labels.min()} to {labels.max()}"
    is_test = arrays.get("is_test", np.zeros(rows, dtype=bool))
    if is_test.dtype != np.bool_ or is_test.shape != rows:
        return f"'is_test' must be {rows[0]} booleans, not {is_test.dtype} {is_test.shape}"
    if is_test.all():
        return "it has no training image"
    return _index_problem(arrays.get("train_index"), is_test)


def _index_problem(index: np.ndarray | None, is_test: np.ndarray) -> str | None:
    if index is None:
        return None
    if index.dtype.kind not in "iu" or index.shape != is_test.shape:
        return f"'train_index' must be {len(is_test)} integers, not {index.dtype} {index.shape}"
    known = index[~is_test]
    if known.min() < -1 or known.max() >= TRAINING_IMAGES:
        return f"'train_index' must be −1 or 0 to {TRAINING_IMAGES - 1:,}, not {known.min()} to {known.max()}"
    known = known[known >= 0]
    return "'train_index' names a training image twice" if len(np.unique(known)) != len(known) else None


def _official_columns(path: Path) -> Columns:
    *train, test = read_official(path)
    images = np.concatenate([batch[0] for batch in train])
    labels = np.concatenate([batch[1] for batch in train])
    return Columns(images, labels, np.arange(len(images)), *test)


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InvalidInputError(f"'{name}' cannot name an image set: use letters, digits, '.', '_' and '-'")
    if name == SAMPLE_NAME:
        raise InvalidInputError(f"'{name}' is the sample that the package carries: choose another name with --name")
    return name
