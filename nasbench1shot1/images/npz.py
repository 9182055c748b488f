"""Users' own image sets in .npz files: parts of a known data set, or square images with any number of classes."""

from pathlib import Path

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError, alternatives
from nasbench1shot1.ground.files import read_npy_header, read_npz
from nasbench1shot1.images.data_sets import (
    CIFAR10,
    DATA_SETS,
    OTHER,
    SMALLEST_SIDE,
    DataSet,
    moments,
    other_data_set,
)
from nasbench1shot1.images.store import Columns

_MOST_CLASSES = 100_000  # limit for an unknown data set, because every class has weights


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


def read_side(path: Path) -> int:
    """Return the side of the images in an .npz, from the array's header; a damaged file can raise any error."""
    import zipfile

    with zipfile.ZipFile(path) as archive, archive.open("images.npy") as member:
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
