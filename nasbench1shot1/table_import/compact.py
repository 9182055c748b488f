"""The smallest storage of a column that gives every double back, bit for bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
IMAGES = 9984
"""NAS-Bench-101 evaluates on 39 whole batches of 256 images, not on all 10,000."""


def compact(values: Floats, images: int | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store a column without loss in as few bytes as possible.

    Args:
        values: any shape.
        images: given for accuracies: how many images they may have been measured on.

    Returns:
        uint16 counts of images with `{"images": …}`, and `"rounded": "float32"` where the source's quotients are
        float32, as TensorFlow's are; else float32 where that is exact; else float64. `tables.metric_column` reads it.
    """
    if images is not None and (found := _counts(values, images)):
        return found
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return (single, {}) if _same(single, values) else (values, {})


def _counts(values: Floats, images: int) -> tuple[NDArray[np.uint16], dict[str, Any]] | None:
    if not np.all((values >= 0) & (values <= 1)):
        return None
    counts = np.rint(values * images).astype(np.uint16)
    quotients = np.arange(images + 1) / images
    if _same(quotients[counts], values):
        return counts, {"images": images}
    if _same(quotients.astype(np.float32)[counts], values):
        return counts, {"images": images, "rounded": "float32"}
    return None


def _same(stored: NDArray[Any], values: Floats) -> bool:
    """Equal to the last bit: -0.0 is not 0.0, and a NaN is itself."""
    return np.array_equal(stored.astype(np.float64).view(np.uint64), values.view(np.uint64))
