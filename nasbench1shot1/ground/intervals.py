"""95 % confidence intervals of means, differences of means, and medians of a few values, such as one per run.

A mean has Student's t interval, and a difference of means Welch's (1947). A median has the interval between two order
statistics that contains the median of any distribution with a probability of at least 95 % (Conover 1999, section 3.2).
docs/compare.md states how often the intervals are right for regrets of the search spaces.
"""

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.bootstrap import TAIL

Floats = NDArray[np.float64]
FEWEST_FOR_INTERVAL = 6
"""Minimum number of values of an interval; fewer have a range.

The range of N values contains the median with the probability 1 - 2^(1 - N), which exceeds 95 % only from six values
on. A mean of fewer values has a t interval, but a wide one: with two values, of 18 standard deviations.
"""


def mean_interval(values: Floats) -> tuple[Floats, Floats]:
    """Return Student's t interval of the mean of N ≥ 2 values.

    Args:
        values: shape (N, …), one value per run along the first axis. Where one is NaN, both ends are NaN.

    Returns:
        Both ends, each of shape (…). Equal values have an interval of zero width, up to rounding.
    """
    from scipy.special import stdtrit

    n = len(values)
    centre = values.mean(axis=0)
    half = stdtrit(n - 1, 1 - TAIL) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return centre - half, centre + half


def difference_interval(a: Floats, b: Floats) -> tuple[float, float]:
    """Return Welch's t interval of mean(b) - mean(a) of two independent samples.

    Args:
        a, b: at least two values each, shapes (N,) and (M,). The number of values and the variance may differ.

    Returns:
        Both ends; NaN if a value is NaN.
    """
    from scipy.special import stdtrit

    a, b = a - a[0], b - a[0]  # otherwise, rounding alone could separate two groups of one and the same value
    of_a, of_b = (values.var(ddof=1) / len(values) for values in (a, b))
    difference, variance = float(b.mean() - a.mean()), of_a + of_b
    if variance == 0:
        return difference, difference
    freedom = variance**2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    half = float(stdtrit(freedom, 1 - TAIL) * np.sqrt(variance))
    return difference - half, difference + half


def median_interval(values: Floats) -> tuple[Floats, Floats]:
    """Return the distribution-free interval of the median of N ≥ `FEWEST_FOR_INTERVAL` values; its ends are values.

    Args:
        values: shape (N, …), one value per run along the first axis. Where one is NaN, both ends are NaN.

    Returns:
        Both ends, each of shape (…).
    """
    from scipy.special import bdtr

    n = len(values)
    at_most = bdtr(np.arange(n), n, 0.5)  # probability that at most 0, 1, … values are below the median
    left_out = int((at_most < TAIL).sum()) - 1
    ascending = np.sort(values, axis=0)
    low, high = ascending[left_out], ascending[n - 1 - left_out]
    unknown = np.isnan(values).any(axis=0)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)
