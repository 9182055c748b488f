"""The percentile bootstrap (Efron and Tibshirani 1993, chapter 13): resamples, and intervals of resampled values."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
"""The level of confidence intervals unless a function is given another one."""
TAIL = (1 - CONFIDENCE) / 2
"""Fraction of the resampled values on each side of an interval."""


_BLOCK = 2**16
"""How many numbers are drawn at once, which is faster than a draw for each resample."""


def draw_resamples(items: int, number: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield a number of resamples of N items, each as N numbers of items from 0, drawn with replacement.

    The numbers do not depend on the block size, if nothing else is drawn from `rng` until the last resample.
    """
    most = max(1, _BLOCK // max(1, items))
    for first in range(0, number, most):
        yield from rng.integers(items, size=(min(most, number - first), items))


def percentile_interval(values: object, tail: float = TAIL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of the interval that leaves out a fraction `tail` of the values on each side.

    Args:
        values: shape (R, …), one value per resample. Where one is NaN, both ends are NaN.
        tail: fraction on each side. Default: that of a 95 % interval.
    """
    low, high = np.quantile(np.asarray(values, np.float64), (tail, 1 - tail), axis=0)
    return low, high
