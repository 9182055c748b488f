"""The data sets of image sets: CIFAR-10, CIFAR-100 and ImageNet16-120, named as in NAS-Bench-201.

An image set that does not belong to a known data set also has a record, which is created from its arrays. This module
is the only place that defines the number of classes, the size and the normalisation of images.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, shorten, unknown_name

OTHER = "other"
"""The name of every data set that is not in `DATA_SETS`."""
SMALLEST_SIDE = 4
"""Smallest height and width of an image in pixels, because a network halves them twice."""
_IMAGES_AT_ONCE = 1_000


def check_image_set(images: object) -> None:
    """Raise InvalidInputError for anything but an `nb.ImageSet`, such as its name."""
    if not hasattr(images, "dataset"):
        raise InvalidInputError(
            f"images must be an nb.ImageSet, such as nb.load_images('cifar10-sample'), not {shorten(repr(images))}"
        )


@dataclass(frozen=True)
class DataSet:
    """A data set of square RGB images.

    Attributes:
        name: the official name in NAS-Bench-201 (Dong and Yang 2020, arXiv:2001.00326, section 2.2), or "other".
        title: the name in sentences.
        classes: number of classes; labels are 0 to `classes` − 1.
        side: height and width of an image in pixels.
        training_images: number of training images in canonical order; 0 if the data set has no such order.
        test_images: number of test images in canonical order; 0 if the data set has no such order.
        mean: mean of the red, green and blue values, as fractions of 255.
        std: standard deviation of the red, green and blue values, as fractions of 255.
        crop: pixels of black border that a random crop adds to a training image.
    """

    name: str
    title: str
    classes: int
    side: int
    training_images: int
    test_images: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    crop: int


def _per_255(red: float, green: float, blue: float) -> tuple[float, float, float]:
    return red / 255, green / 255, blue / 255


# CIFAR-10's mean and standard deviation come from DARTS and the published search. The values of the other data sets,
# and all borders, come from NAS-Bench-201 (xautodl/datasets/get_dataset_with_transform.py in
# github.com/D-X-Y/AutoDL-Projects).
CIFAR10 = DataSet(
    name="cifar10",
    title="CIFAR-10",
    classes=10,
    side=32,
    training_images=50_000,
    test_images=10_000,
    mean=(0.49139968, 0.48215827, 0.44653124),
    std=(0.24703233, 0.24348505, 0.26158768),
    crop=4,
)
CIFAR100 = DataSet(
    name="cifar100",
    title="CIFAR-100",
    classes=100,
    side=32,
    training_images=50_000,
    test_images=10_000,
    mean=_per_255(129.3, 124.1, 112.4),
    std=_per_255(68.2, 65.4, 70.4),
    crop=4,
)
IMAGENET16_120 = DataSet(
    name="ImageNet16-120",
    title="ImageNet16-120",
    classes=120,
    side=16,
    training_images=151_700,
    test_images=6_000,
    mean=_per_255(122.68, 116.66, 104.01),
    std=_per_255(63.22, 61.26, 65.09),
    crop=2,
)
DATA_SETS = {known.name: known for known in (CIFAR10, CIFAR100, IMAGENET16_120)}


def data_set(name: str) -> DataSet:
    """Return the data set with a name; raises InvalidInputError for an unknown name."""
    if name not in DATA_SETS:
        raise unknown_name("data set", name, DATA_SETS)
    return DATA_SETS[name]


def other_data_set(classes: int, side: int, mean: Sequence[float], std: Sequence[float]) -> DataSet:
    """Return the record of a data set that is not in `DATA_SETS`; arguments are as the attributes of `DataSet`.

    The border of a random crop is an eighth of the side, as in the known data sets. Raises ValueError for impossible
    values.
    """
    (red, green, blue), (wide_red, wide_green, wide_blue) = map(float, mean), map(float, std)
    if classes < 1 or side < SMALLEST_SIDE or min(wide_red, wide_green, wide_blue) <= 0:
        raise ValueError(f"{classes} classes of {side} × {side} pixels, standard deviation {std}")
    widths = (wide_red, wide_green, wide_blue)
    return DataSet(OTHER, "a data set of your own", classes, side, 0, 0, (red, green, blue), widths, side // 8)


def moments(images: np.ndarray) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the mean and the standard deviation of red, green and blue in images uint8 (N, H, W, 3), N > 0.

    Both are fractions of 255. They are exact, except that a standard deviation is at least 1/255.
    """
    counts = np.zeros((3, 256), np.int64)
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        for channel in range(3):
            values = images[start : start + _IMAGES_AT_ONCE, ..., channel]
            counts[channel] += np.bincount(values.ravel(), minlength=256)
    levels = np.arange(256)
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    spread = np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1)).clip(min=1)
    return _per_255(*mean.tolist()), _per_255(*spread.tolist())
