"""Which images a network is trained, validated and tested on."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, IMAGENET16_120, OTHER, data_set
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.images.splits import VALIDATION_START, is_whole, split_images

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
        train_evaluation: the training images that measure the training accuracy; None: the augmented batches of the
            last epoch.
        validation: measures the validation accuracy; None if no images validate.
        test: measures the test accuracy.
        is_official: whether these are the images that the benchmark took for each.
        description: all that in words.
    """

    train: Part
    train_evaluation: Part | None
    validation: Part | None
    test: Part
    is_official: bool
    description: str

    def evaluated(self) -> dict[str, Part]:
        """What is measured, by the name of the accuracy."""
        parts = {
            "train_accuracy": self.train_evaluation,
            "validation_accuracy": self.validation,
            "test_accuracy": self.test,
        }
        return {name: part for name, part in parts.items() if part is not None}

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
    if (tests := _official_tests(images)) is None:
        return _held_out(images)
    order = _canonical_order(images)
    train, validation = torch.from_numpy(order).split([VALIDATION_START, len(order) - VALIDATION_START])
    return _parts(images, train, validation, tests, "the images that NAS-Bench-101 took", is_official=True)


def edge_parts(images: ImageSet, dataset: str) -> Parts:
    """Divide an image set for a training of NAS-Bench-201; nothing is random.

    A whole data set is divided as published. For "cifar10-valid", the official halves of the training images train and
    validate; for "cifar10", all training images train, and none validate. The test images test. For "cifar100" and
    "ImageNet16-120", all training images train, and the official halves of the test images validate and test. Any other
    set is divided as by `parts_of`. The training accuracy is measured on the augmented batches, as published.

    Raises:
        InvalidInputError: the images are of another data set than the training, or some class has too few images.
    """
    _check_dataset(images, dataset)
    if (tests := _official_tests(images, (CIFAR10.name, CIFAR100.name, IMAGENET16_120.name))) is None:
        parts = _held_out(images)
    elif dataset == CIFAR10.name:
        everything = torch.from_numpy(_canonical_order(images))
        parts = _parts(images, everything, None, tests, "NAS-Bench-201's training on all images", is_official=True)
    else:
        halves = split_images(images, "nasbench201", np.random.default_rng(0))  # a split of the whole set draws nothing
        train, validation = torch.from_numpy(halves.weights), torch.from_numpy(halves.architecture)
        if images.dataset != CIFAR10.name:
            tests = Part(tests.images, tests.rows[~torch.isin(tests.rows + len(images), validation)])
        parts = _parts(images, train, validation, tests, "the official halves of NAS-Bench-201", is_official=True)
    return replace(parts, train_evaluation=None)


def _check_dataset(images: ImageSet, dataset: str) -> None:
    trainings = ("cifar10-valid", "cifar10") if images.dataset == CIFAR10.name else (images.dataset,)
    if images.dataset != OTHER and dataset not in trainings:
        raise InvalidInputError(
            f"--dataset {dataset} does not train on the images of {images.name}, which are "
            f"{data_set(images.dataset).title}'s: give --dataset {trainings[0]} or other --images"
        )


def _official_tests(images: ImageSet, names: tuple[str, ...] = (CIFAR10.name,)) -> Part | None:
    """Return the test images of an image set that is the whole of one of these data sets; None for any other set."""
    tests = _tests(images)
    if tests is None or images.dataset not in names or len(tests) != data_set(images.dataset).test_images:
        return None
    return tests if is_whole(images) else None


def _canonical_order(images: ImageSet) -> np.ndarray:
    return np.argsort(images.index.numpy(), kind="stable")


def _held_out(images: ImageSet) -> Parts:
    """Hold out the last sevenths of every class: one for validation and, without test images, one for testing."""
    order, tests = _canonical_order(images), _tests(images)
    if tests is None:
        train, test, validation = _cut(images, order, 2)
        of = "" if images.dataset == OTHER else f" of {data_set(images.dataset).title}"
        words = f"the last two sevenths of every class test and validate: no test images{of}"
        return _parts(images, train, validation, Part(images, test), words)
    train, validation = _cut(images, order, 1)
    return _parts(images, train, validation, tests, "the last seventh of every class validates")


def _parts(
    images: ImageSet, train: Tensor, validation: Tensor | None, tests: Part, words: str, is_official: bool = False
) -> Parts:
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
