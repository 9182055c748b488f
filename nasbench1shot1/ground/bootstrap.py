"""The percentile bootstrap (Efron and Tibshirani 1993, chapter 13): resamples, and intervals of resampled values."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
"""The level of confidence intervals unless a function is given another one."""
TAIL = (1 - CONFIDENCE) / 2
"""Fraction of the resampled values on each side of an interval."""
_BLOCK = 2**16
"""Number of indices per draw; one large draw is faster than one for each resample."""


def draw_resamples(items: int, number: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield `number` resamples of N items, each as N indices drawn with replacement.

    Several resamples are drawn at once. Draw nothing else from `rng` until the last one is yielded.
    """
    per_block = max(1, _BLOCK // max(1, items))
    for first in range(0, number, per_block):
        yield from rng.integers(items, size=(min(per_block, number - first), items))


def all_resamples(items: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `number` resamples of N items as one array (number, N), with the same values as `draw_resamples`."""
    return rng.integers(items, size=(number, items))


def count_in_resamples(items: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each of N items occurs in each resample of `all_resamples`, (number, N)."""
    drawn = all_resamples(items, number, rng) + items * np.arange(number)[:, None]
    return np.bincount(drawn.ravel(), minlength=number * items).reshape(number, items)


def percentile_interval(values: object, tail: float = TAIL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of the interval that leaves out a fraction `tail` of the values on each side.

    Args:
        values: shape (R, …), one value per resample. Where one is NaN, both ends are NaN.
        tail: fraction on each side. Default: that of a 95 % interval.
    """
    low, high = np.quantile(np.asarray(values, np.float64), (tail, 1 - tail), axis=0)
    return low, high
