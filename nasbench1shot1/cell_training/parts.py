"""Which images a cell is trained, validated and tested on."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.images.data_sets import CIFAR10, OTHER, data_set
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import VALIDATION_START, is_whole

TRAIN_EVALUATION_IMAGES = 10_000
"""The first so many training images measure the training accuracy (the first of the published training files)."""
HELD_OUT = 7
"""Of an image set that is not CIFAR-10 whole, every class gives one part in so many for validation."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some images: rows int64 (N,), on the CPU, of an image set."""

    images: ImageSet
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> "Part":
        """The first so many of them."""
        return Part(self.images, self.rows[:count])


@dataclass(frozen=True, eq=False)
class Parts:
    """What one image set gives.

    Attributes:
        train: what moves the weights.
        train_evaluation: of these, what measures the training accuracy.
        validation: measures the validation accuracy.
        test: measures the test accuracy.
        is_official: whether these are the images that NAS-Bench-101 took for each.
        description: all that in words.
    """

    train: Part
    train_evaluation: Part
    validation: Part
    test: Part
    is_official: bool
    description: str

    def evaluated(self) -> dict[str, Part]:
        """What is measured, by the name of the accuracy."""
        parts = {"train_accuracy": self.train_evaluation, "validation_accuracy": self.validation}
        return {**parts, "test_accuracy": self.test}

    def check_batch(self, size: int) -> None:
        """Raise InvalidInputError where one of them does not fill a batch."""
        smallest = min(len(part) for part in (self.train, *self.evaluated().values()))
        if size > smallest:
            raise InvalidInputError(
                f"--batch-size {size} is more than the {smallest:,} images of a part: lower it, or use more images"
            )


def parts_of(images: ImageSet) -> Parts:
    """Divide an image set; nothing is random.

    CIFAR-10 whole is divided as NAS-Bench-101 did: canonical training images 0–39,999 train, 40,000–49,999 validate,
    the 10,000 test images test. Of any other set the last seventh of every class validates; if the set has no test
    images, the seventh before it tests.

    Raises:
        InvalidInputError: some class has too few images.
    """
    order = np.argsort(images.index.numpy(), kind="stable")
    tests = _tests(images)
    if tests is None:
        train, test, validation = _cut(images, order, 2)
        of = "" if images.dataset == OTHER else f" of {data_set(images.dataset).title}"
        words = f"the last two sevenths of every class test and validate: no test images{of}"
        return _parts(images, train, validation, Part(images, test), words)
    if images.dataset == CIFAR10.name and len(tests) == CIFAR10.test_images and is_whole(images):
        train, validation = torch.from_numpy(order).split([VALIDATION_START, len(order) - VALIDATION_START])
        return _parts(images, train, validation, tests, "the images that NAS-Bench-101 took", is_official=True)
    train, validation = _cut(images, order, 1)
    return _parts(images, train, validation, tests, "the last seventh of every class validates")


def _parts(
    images: ImageSet, train: Tensor, validation: Tensor, tests: Part, words: str, is_official: bool = False
) -> Parts:
    counts = f"{len(train):,} train, {len(validation):,} validate, {len(tests):,} test"
    return Parts(
        train=Part(images, train),
        train_evaluation=Part(images, train[:TRAIN_EVALUATION_IMAGES]),
        validation=Part(images, validation),
        test=tests,
        is_official=is_official,
        description=f"{images.name}: {counts} ({words})",
    )


def _tests(images: ImageSet) -> Part | None:
    """The set's own test images, as an image set."""
    if images.test_images is None or images.test_labels is None:
        return None
    rows = torch.arange(len(images.test_labels))
    own = replace(
        images, images=images.test_images, labels=images.test_labels, index=-torch.ones_like(rows), test_images=None
    )
    return Part(own, rows)


def _cut(images: ImageSet, order: np.ndarray, sevenths: int) -> list[Tensor]:
    """The rows in that order, so many sevenths of every class taken from its end: what is left, then each of them."""
    labels = images.labels.cpu().numpy()[order]
    by_class = [order[labels == c] for c in range(images.classes)]
    rarest = min(range(images.classes), key=lambda c: len(by_class[c]))
    if len(by_class[rarest]) < HELD_OUT:
        raise InvalidInputError(
            f"class {rarest} of {images.name} has only {len(by_class[rarest])} images, and {HELD_OUT} are needed to "
            "hold one out: import more"
        )
    ends = [[len(rows) - k * (len(rows) // HELD_OUT) for k in range(sevenths, 0, -1)] for rows in by_class]
    pieces = [np.split(rows, at) for rows, at in zip(by_class, ends, strict=True)]
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    joined = [np.concatenate(piece) for piece in zip(*pieces, strict=True)]
    return [torch.from_numpy(rows[np.argsort(position[rows])]) for rows in joined]
