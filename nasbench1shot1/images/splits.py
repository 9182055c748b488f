"""Which images train the weights, which the architecture.

Of CIFAR-10's 50,000 training images in canonical order, NAS-Bench-101 validated on the last 10,000
(generate_cifar10_tfrecords.py takes data_batch_5). A search that trains on them has seen what its result is scored
on: the scheme "20k/20k" never does as far as indices are known, "25k/25k" does, as the published search did.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nasbench1shot1.errors import InvalidInputError, unknown_name
from nasbench1shot1.images.store import TRAINING_IMAGES

if TYPE_CHECKING:
    from nasbench1shot1.images.image_set import ImageSet

VALIDATION_START = 40_000


class _Canon(NamedTuple):
    """The canonical order of a data set's training images: where validation begins, and what each scheme takes."""

    training_images: int
    validation_start: int
    ranges: dict[str, tuple[int, int]]
    """By scheme: weights from 0 to the first, architecture from there to the second."""


_CANONS = {  # by ImageSet.dataset
    "cifar10": _Canon(
        TRAINING_IMAGES,
        VALIDATION_START,
        {"20k/20k": (20_000, VALIDATION_START), "25k/25k": (25_000, TRAINING_IMAGES)},
    ),
}


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of an image set for each half, int64, disjoint, in ascending order."""

    weights: np.ndarray
    architecture: np.ndarray
    validation_images: int
    """How many of NAS-Bench-101's validation images are known to be among them: 0 under "20k/20k"."""
    unknown_images: int
    """How many have an unknown canonical index (−1); any of these may be a validation image, under "20k/20k" too."""


def split(image_set: "ImageSet", scheme: str, rng: np.random.Generator, images_per_half: int | None = None) -> Split:
    """Split an image set's training images into two halves.

    All of CIFAR-10, "20k/20k": canonical 0–19,999 for the weights, 20,000–39,999 for the architecture;
    "25k/25k": 0–24,999 and 25,000–49,999. With `images_per_half`, that many of each range, class-balanced (counts
    differ by one at most; `rng` decides). A part of CIFAR-10: class-balanced halves, which `rng` draws, as large as
    the rarest class allows unless `images_per_half` says less; under "20k/20k" without canonical 40,000–49,999.
    Rows whose canonical index is unknown (−1) are taken as they are, and counted in `unknown_images`.

    Raises InvalidInputError for a scheme or data set that is unknown, or where some class has too few images.
    """
    if image_set.dataset not in _CANONS:
        raise unknown_name("data set", image_set.dataset, _CANONS)
    canon = _CANONS[image_set.dataset]
    if scheme not in canon.ranges:
        raise unknown_name("split", scheme, canon.ranges)
    if images_per_half is not None and images_per_half < 1:
        raise InvalidInputError(f"each half needs at least one image, not {images_per_half}")
    labels, index = image_set.labels.cpu().numpy(), image_set.index.numpy()
    middle, end = canon.ranges[scheme]
    if np.array_equal(np.sort(index), np.arange(canon.training_images)):
        order = np.argsort(index)
        halves = [order[:middle], order[middle:end]]
        if images_per_half is not None:
            halves = [_draw(half, labels, image_set.classes, images_per_half, 1, rng)[0] for half in halves]
    else:
        halves = _draw(np.flatnonzero(index < end), labels, image_set.classes, images_per_half, 2, rng)
    weights, architecture = (np.sort(half).astype(np.int64) for half in halves)
    chosen = index[np.concatenate([weights, architecture])]
    touched, unknown = int((chosen >= canon.validation_start).sum()), int((chosen < 0).sum())
    return Split(weights, architecture, touched, unknown)


def _draw(
    rows: np.ndarray, labels: np.ndarray, classes: int, size: int | None, halves: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw disjoint, class-balanced halves of `size` rows (as many as there can be where None)."""
    by_class = [rng.permutation(rows[labels[rows] == c]) for c in range(classes)]
    rarest = min(range(classes), key=lambda c: len(by_class[c]))
    available = len(by_class[rarest]) // halves * classes
    if available == 0 or (size or 1) > available:
        raise InvalidInputError(
            f"the images give class-balanced halves of at most {available:,}, not {size or classes:,} "
            f"(class {rarest} has only {len(by_class[rarest]):,}): ask for fewer or import more"
        )
    wanted = _per_class(available if size is None else size, classes, rng)
    parts = range(halves)
    return [np.concatenate([r[h * n : (h + 1) * n] for r, n in zip(by_class, wanted, strict=True)]) for h in parts]


def _per_class(size: int, classes: int, rng: np.random.Generator) -> list[int]:
    """How many of each class make `size`, as evenly as it goes; `rng` says which classes get one more."""
    counts = np.full(classes, size // classes)
    counts[rng.permutation(classes)[: size % classes]] += 1
    return [int(n) for n in counts]
