"""Splits of image sets into a half that trains the weights and a half that trains the architecture.

Of CIFAR-10's 50,000 training images in canonical order, NAS-Bench-101 validated on the last 10,000
(generate_cifar10_tfrecords.py uses data_batch_5). A search that trains on these images has seen the images that score
its result. The scheme "20k/20k" never uses them, as far as indices are known; "25k/25k" does, as in the published
search. Other schemes are the official splits of benchmarks (`Benchmark.halves`), such as "nasbench201".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.benchmark import Benchmark, benchmarks
from nasbench1shot1.ground.arguments import check_rng, whole_number
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.images.data_sets import CIFAR10, DATA_SETS, OTHER, check_image_set, data_set

if TYPE_CHECKING:
    from nasbench1shot1.images.image_set import ImageSet

VALIDATION_START = 40_000
_RANGES = {"20k/20k": (20_000, VALIDATION_START), "25k/25k": (25_000, CIFAR10.training_images)}
"""Ends of the weight half, which starts at 0, and of the architecture half, in canonical order, by scheme."""


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of an image set in each half, int64, disjoint, in ascending order.

    Rows from the number of training images on are test images, as in `ImageSet.batch`.
    """

    weights: np.ndarray
    architecture: np.ndarray
    nasbench101_validation_images: int
    """Number of images in the halves that are known to be validation images of NAS-Bench-101; 0 with "20k/20k"."""
    unknown_images: int
    """Number of CIFAR-10 images with unknown canonical index (−1); any of these may be a validation image of
    NAS-Bench-101, also with "20k/20k"."""


def split_images(
    image_set: "ImageSet", scheme: str, rng: np.random.Generator, images_per_half: int | None = None
) -> Split:
    """Split an image set into two halves.

    The complete CIFAR-10: with "20k/20k", the canonical images 0–19,999 are for the weights and 20,000–39,999 for the
    architecture; with "25k/25k", 0–24,999 and 25,000–49,999; with "nasbench201", the official halves of 25,000.
    `images_per_half` selects that many of each, class-balanced (counts differ by at most one; `rng` decides).
    A part of CIFAR-10: `rng` draws class-balanced halves, as large as the rarest class allows unless `images_per_half`
    is smaller. "20k/20k" excludes the canonical images 40,000–49,999. With "nasbench201", images with known index stay
    in their official half, and images with unknown index balance the halves. Images with unknown canonical index (−1)
    are used and counted in `unknown_images`.

    CIFAR-100 and ImageNet16-120 with "nasbench201": all training images are for the weights, and the official half of
    the test images is for the architecture. `images_per_half` selects that many of each, class-balanced. If the set has
    only a part of the test images, `rng` draws a class-balanced half of them.

    A user's own data set ("other"): `rng` draws class-balanced halves of the training images.

    Raises InvalidInputError if an argument has the wrong type, the scheme or data set is unknown, the data set does not
    have the scheme, a class has too few images, or test images are missing.
    """
    check_rng(rng)
    check_image_set(image_set)
    _check(image_set, scheme, images_per_half)
    labels, index = image_set.labels.cpu().numpy(), image_set.index.numpy()
    official = _official_split(image_set.dataset, scheme)
    if image_set.dataset == OTHER:
        halves = _draw(np.arange(len(labels)), labels, image_set.classes, images_per_half, 2, rng)
    elif official and official.are_tests:
        halves = _split_with_tests(image_set, official, labels, images_per_half, rng)
    elif is_whole(image_set):
        halves = _split_whole(np.argsort(index), official, scheme)
        if images_per_half is not None:
            halves = [_draw(half, labels, image_set.classes, images_per_half, 1, rng)[0] for half in halves]
    elif official:
        halves = _split_part(official, index, labels, image_set.classes, images_per_half, rng)
    else:
        halves = _draw(np.flatnonzero(index < _RANGES[scheme][1]), labels, image_set.classes, images_per_half, 2, rng)
    weights, architecture = (np.sort(half).astype(np.int64) for half in halves)
    if image_set.dataset != CIFAR10.name:
        return Split(weights, architecture, 0, 0)
    chosen = index[np.concatenate([weights, architecture])]
    return Split(weights, architecture, int((chosen >= VALIDATION_START).sum()), int((chosen < 0).sum()))


def _official_split(dataset: str, scheme: str) -> "OfficialSplit | None":
    """Return a benchmark's division of a data set; None if no benchmark has the scheme, or for the data set `OTHER`."""
    of = _official_schemes().get(scheme)
    if of is None or dataset == OTHER:
        return None
    split: OfficialSplit = of.load("halves")(dataset)
    return split


def scheme_for(image_set: "ImageSet", preferred: str) -> str:
    """Return the preferred scheme if the data set of an image set has it, or else the data set's first scheme.

    A preset selects a scheme for CIFAR-10; CIFAR-100 and ImageNet16-120 only have official schemes. Raises
    InvalidInputError for an unknown scheme.
    """
    if preferred not in (every := (*_RANGES, *_official_schemes())):
        raise unknown_name("split", preferred, every)
    known = _schemes(image_set.dataset)
    return preferred if preferred in known or not known else known[0]


def is_whole(image_set: "ImageSet") -> bool:
    """Return whether an image set has all training images of its data set, in any order."""
    if image_set.dataset == OTHER:
        return False
    return np.array_equal(np.sort(image_set.index.numpy()), np.arange(data_set(image_set.dataset).training_images))


class OfficialSplit(NamedTuple):
    """The images that the official split of a data set divides.

    Attributes:
        benchmark: name of the benchmark with this split, for messages.
        is_architecture: bool (N,), whether an image in canonical order is in the architecture half.
        are_tests: whether the images are the test images. The weight half is then all training images, and
            the benchmark tests on the other half of the test images.
    """

    benchmark: str
    is_architecture: NDArray[np.bool_]
    are_tests: bool


def _official_schemes() -> dict[str, Benchmark]:
    """Return the benchmarks that divide the images of their data sets, by the name of the scheme."""
    return {of.split: of for of in benchmarks() if of.split is not None and of.halves is not None}


def _schemes(dataset: str) -> tuple[str, ...]:
    """Return the schemes of a data set, the preferred one first; an empty tuple for an unknown data set."""
    official = tuple(_official_schemes())
    if dataset in (CIFAR10.name, OTHER):
        return (*_RANGES, *official)
    return official if dataset in DATA_SETS else ()


def _check(image_set: "ImageSet", scheme: str, images_per_half: int | None) -> None:
    known = _schemes(image_set.dataset)
    if not known:
        raise unknown_name("data set", image_set.dataset, (*DATA_SETS, OTHER))
    if scheme in _RANGES and scheme not in known:
        title = data_set(image_set.dataset).title
        raise InvalidInputError(f"the split '{scheme}' applies to CIFAR-10, not to {title}: use '{known[0]}'")
    if scheme not in known:
        raise unknown_name("split", scheme, known)
    if images_per_half is not None and whole_number("images_per_half", images_per_half, "a whole number") < 1:
        raise InvalidInputError(f"each half needs at least one image, not {images_per_half}")


def _split_whole(order: np.ndarray, official: OfficialSplit | None, scheme: str) -> list[np.ndarray]:
    """Return the rows of each half of the complete CIFAR-10; `order` (50,000,) are its rows in canonical order."""
    if official:
        return [order[~official.is_architecture], order[official.is_architecture]]
    middle, end = _RANGES[scheme]
    return [order[:middle], order[middle:end]]


def _split_part(
    of: OfficialSplit,
    index: np.ndarray,
    labels: np.ndarray,
    classes: int,
    size: int | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return class-balanced halves of a part of CIFAR-10; only rows with unknown index can be in either half."""
    pools: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for c in range(classes):
        rows = rng.permutation(np.flatnonzero(labels == c))
        unknown, known = rows[index[rows] < 0], rows[index[rows] >= 0]
        official = [known[of.is_architecture[index[known]] == half] for half in (False, True)]
        lacking = (len(unknown) + len(official[1]) - len(official[0])) // 2  # unknown rows that balance the halves
        to_weights = min(max(lacking, 0), len(unknown))
        for pool, rows, more in zip(pools, official, (unknown[:to_weights], unknown[to_weights:]), strict=True):
            pool.append(np.concatenate([rows, more]))
    wanted = _per_class([min(len(a), len(b)) for a, b in zip(*pools, strict=True)], size, 1, rng)
    return [np.concatenate([rng.permutation(r)[:n] for r, n in zip(pool, wanted, strict=True)]) for pool in pools]


def _split_with_tests(
    image_set: "ImageSet", of: OfficialSplit, labels: np.ndarray, size: int | None, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the halves of a data set whose architecture half is in the test images."""
    title = data_set(image_set.dataset).title
    if image_set.test_labels is None:
        raise InvalidInputError(
            f"{of.benchmark} takes {title}'s architecture half from the test images, and '{image_set.name}' has none: "
            f"import the complete {title}"
        )
    tests, official = image_set.test_labels.cpu().numpy(), of.is_architecture
    weights = np.arange(len(labels))
    if size is not None:
        weights = _draw(weights, labels, image_set.classes, size, 1, rng)[0]
    if len(tests) != len(official):
        architecture = _draw(np.arange(len(tests)), tests, image_set.classes, size, 2, rng)[0]
    elif size is None:
        architecture = np.flatnonzero(official)
    else:
        architecture = _draw(np.flatnonzero(official), tests, image_set.classes, size, 1, rng)[0]
    return [weights, len(labels) + architecture]


def _draw(
    rows: np.ndarray, labels: np.ndarray, classes: int, size: int | None, halves: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw disjoint, class-balanced halves of `size` rows; None means as many as possible."""
    by_class = [rng.permutation(rows[labels[rows] == c]) for c in range(classes)]
    wanted = _per_class([len(r) for r in by_class], size, halves, rng)
    parts = range(halves)
    return [np.concatenate([r[h * n : (h + 1) * n] for r, n in zip(by_class, wanted, strict=True)]) for h in parts]


def _per_class(available: Sequence[int], size: int | None, halves: int, rng: np.random.Generator) -> list[int]:
    """Return the number of rows of each class in a half of `size` rows, or in the largest half, as even as possible.

    `available` are the numbers of rows of each class that the halves share; `rng` draws the classes that get one more.
    Raises InvalidInputError if a class has too few rows.
    """
    classes, fewest = len(available), min(available)
    most = fewest // halves * classes
    if fewest == 0:
        raise InvalidInputError(
            f"no image to choose from has the label {available.index(0)}: import images of every class, with labels "
            "from 0 to the number of classes − 1"
        )
    if most == 0 or (size or 1) > most:
        raise InvalidInputError(
            f"the images allow class-balanced halves of at most {most:,}, not {size or classes:,} "
            f"(class {available.index(fewest)} has only {fewest:,}): use fewer or import more"
        )
    size = most if size is None else size
    counts = np.full(classes, size // classes)
    counts[rng.permutation(classes)[: size % classes]] += 1
    return [int(n) for n in counts]
