"""Import of images: official data sets from a file, a folder or the internet, and users' own .npz files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench1shot1.ground.downloads import fetch
from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import as_path, sha256
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, DATA_SETS, DataSet, data_set
from nasbench1shot1.images.npz import read_images
from nasbench1shot1.images.official_files import read_data_set
from nasbench1shot1.images.store import Columns, has_other_content, write_columns

HOME = "https://www.cs.toronto.edu/~kriz"
# HOME/cifar.html publishes MD5s. Keras (python) and MLDatasets.jl (binary) pin the same SHA-256 as here.
CHECKSUMS = {
    "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    "cifar-100-python.tar.gz": "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    "cifar-100-binary.tar.gz": "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
}
SAMPLE_NAME, OFFICIAL_NAME = "cifar10-sample", CIFAR10.name


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
    `overwrite`: replace another image set with this name. An official data set always replaces one with its name.
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
    name = _checked_name(name or path.stem) if is_npz else name and _checked_name(name)
    columns, of, is_verified = (*read_images(path), False) if is_npz else _read_official(path, name)
    name = name or of.name
    if name in DATA_SETS and not (of.name == name and columns.is_whole(of)):
        title = DATA_SETS[name].title
        raise InvalidInputError(f"{path} is not the complete {title}, but '{name}' is reserved for it: use --name")
    if not overwrite and name not in DATA_SETS and has_other_content(name, columns):
        raise InvalidInputError(
            f"there is already an image set '{name}' with other images: choose another --name, or replace it with "
            "--overwrite"
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
        return "run `nb1shot1 data download`, or use the bundled 'cifar10-sample' (in a search, --scale quick)"
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
    archive = fetch(
        url,
        archive_name,
        CHECKSUMS[archive_name],
        progress,
        f"the official {DATA_SETS[name].title}",
        "download it by hand and run `nb1shot1 data import FILE`, or give a --mirror",
    )
    folder = import_images(archive)
    archive.unlink()
    return folder


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InvalidInputError(f"'{name}' is not a valid name: use letters, digits, '.', '_' and '-'")
    if name == SAMPLE_NAME:
        raise InvalidInputError(f"'{name}' is the bundled sample: choose another name with --name")
    return name
