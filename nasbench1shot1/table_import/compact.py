"""The smallest lossless storage of a column of doubles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
IMAGES = 9984
"""Number of images in NAS-Bench-101's evaluations: 39 complete batches of 256 images, not all 10,000."""


def compact(values: Floats, images: int | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store a column losslessly in as few bytes as possible.

    Args:
        values: array of any shape.
        images: for accuracies, the number of images on which they may have been measured.

    Returns:
        The array and its description. Accuracies are uint16 image counts with `{"images": …}` if possible, and with
        `"rounded": "float32"` if the source's quotients are float32, as TensorFlow's are. Other values are float32 if
        that is exact, else float64. `tables.metric_column` reads all of these.
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
    """Return whether the values are bit-identical: -0.0 differs from 0.0, and NaN equals itself."""
    return np.array_equal(stored.astype(np.float64).view(np.uint64), values.view(np.uint64))
