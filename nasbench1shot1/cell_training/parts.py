"""The images on which a network is trained, validated and tested."""

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.images.data_sets import OTHER, data_set
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import is_whole

TRAIN_EVALUATION_IMAGES = 10_000
"""Number of training images that measure the training accuracy: the first ones, as in the first published file."""
HELD_OUT = 7
"""In an image set without an official division, 1/7 of the images of every class are for validation."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an image set: its rows, int64 (N,), on the CPU."""

    images: ImageSet
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> "Part":
        """Return the first `count` images."""
        return Part(self.images, self.rows[:count])


@dataclass(frozen=True, eq=False)
class Parts:
    """The division of an image set into parts.

    Attributes:
        train: the images that train the weights.
        train_evaluation: the training images that measure the training accuracy; None if it is measured on the
            augmented batches of the last epoch.
        validation: the images that measure the validation accuracy; None if there are none.
        test: the images that measure the test accuracy.
        is_official: whether the benchmark used the same parts.
        description: a description for screens and records.
    """

    train: Part
    train_evaluation: Part | None
    validation: Part | None
    test: Part
    is_official: bool
    description: str

    def evaluated(self) -> dict[str, Part]:
        """Return the evaluated parts by the name of the accuracy."""
        parts = {
            "train_accuracy": self.train_evaluation,
            "validation_accuracy": self.validation,
            "test_accuracy": self.test,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def check_batch(self, size: int) -> None:
        """Raise InvalidInputError if a part is smaller than a batch."""
        smallest = min(len(part) for part in (self.train, *self.evaluated().values()))
        if size > smallest:
            raise InvalidInputError(
                f"{option('batch_size', size)} is more than the {smallest:,} images of the smallest part: lower it, "
                "or use more images"
            )


def official_tests(images: ImageSet, names: Container[str]) -> Part | None:
    """Return the test images if the image set is the complete data set with one of these names, else None."""
    tests = _tests(images)
    if tests is None or images.dataset not in names or len(tests) != data_set(images.dataset).test_images:
        return None
    return tests if is_whole(images) else None


def canonical_order(images: ImageSet) -> np.ndarray:
    """Return the rows of an image set in the order of the published data set."""
    return np.argsort(images.index.numpy(), kind="stable")


def parts_of(
    images: ImageSet, train: Tensor, validation: Tensor | None, tests: Part, words: str, is_official: bool = False
) -> Parts:
    """Return the division of an image set into rows for training and validation, and test images.

    `words` describes the division. The first training images measure the training accuracy.
    """
    validating = 0 if validation is None else len(validation)
    counts = f"{len(train):,} train, {validating:,} validate, {len(tests):,} test"
    return Parts(
        train=Part(images, train),
        train_evaluation=Part(images, train[:TRAIN_EVALUATION_IMAGES]),
        validation=None if validation is None else Part(images, validation),
        test=tests,
        is_official=is_official,
        description=f"{images.name}: {counts} ({words})",
    )


def held_out(images: ImageSet) -> Parts:
    """Divide an image set without an official division.

    The last seventh of every class is for validation. If the set has no test images, the seventh before it is for
    testing.

    Raises InvalidInputError if a class has too few images.
    """
    order, tests = canonical_order(images), _tests(images)
    if tests is None:
        train, test, validation = _cut(images, order, 2)
        of = "" if images.dataset == OTHER else f" of {data_set(images.dataset).title}"
        words = f"the last two sevenths of every class test and validate: no test images{of}"
        return parts_of(images, train, validation, Part(images, test), words)
    train, validation = _cut(images, order, 1)
    return parts_of(images, train, validation, tests, "the last seventh of every class validates")


def _tests(images: ImageSet) -> Part | None:
    """Return the image set's test images as a part; None if it has none."""
    if images.test_images is None or images.test_labels is None:
        return None
    rows = torch.arange(len(images.test_labels))
    own = replace(
        images, images=images.test_images, labels=images.test_labels, index=-torch.ones_like(rows), test_images=None
    )
    return Part(own, rows)


def _cut(images: ImageSet, order: np.ndarray, sevenths: int) -> list[Tensor]:
    """Take sevenths of every class from its end; return the remaining rows, then each seventh, in the given order."""
    labels = images.labels.cpu().numpy()[order]
    by_class = [order[labels == c] for c in range(images.classes)]
    rarest = min(range(images.classes), key=lambda c: len(by_class[c]))
    if len(by_class[rarest]) < HELD_OUT:
        raise InvalidInputError(
            f"class {rarest} of {images.name} has only {len(by_class[rarest])} images, but at least {HELD_OUT} are "
            "needed to hold one out: import more"
        )
    ends = [[len(rows) - k * (len(rows) // HELD_OUT) for k in range(sevenths, 0, -1)] for rows in by_class]
    pieces = [np.split(rows, at) for rows, at in zip(by_class, ends, strict=True)]
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    joined = [np.concatenate(piece) for piece in zip(*pieces, strict=True)]
    return [torch.from_numpy(rows[np.argsort(position[rows])]) for rows in joined]
