"""Rank correlation coefficients of long vectors, ties and all."""

import numpy as np
import pandas
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's ρ of two (N,) vectors, Pearson's r of their ranks, ties at their mean; NaN if one is constant."""
    return pearson(np.asarray(pandas.Series(a).rank(), np.float64), np.asarray(pandas.Series(b).rank(), np.float64))


def pearson(a: Floats, b: Floats) -> float:
    """Pearson's r of two (N,) vectors; NaN if one is constant."""
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def kendall(a: Floats, b: Floats) -> float:
    """Kendall's τ-b of two (N,) vectors (Kendall 1945) in O(N log N); NaN if one is constant."""
    x, y = _dense_ranks(a), _dense_ranks(b)
    pairs = len(x) * (len(x) - 1) // 2
    tied_x, tied_y = _tied_pairs(x), _tied_pairs(y)
    tied_both = _tied_pairs(x * (int(y.max()) + 1) + y)
    discordant = _inversions(y[np.lexsort((y, x))])
    difference = pairs - tied_x - tied_y + tied_both - 2 * discordant
    scale = float(np.sqrt(float(pairs - tied_x) * float(pairs - tied_y)))
    return difference / scale if scale > 0 else float("nan")


def _dense_ranks(values: Floats) -> NDArray[np.int64]:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _tied_pairs(values: NDArray[np.int64]) -> int:
    _, counts = np.unique(values, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: NDArray[np.int64]) -> int:
    """Pairs that stand in descending order, counted bit by bit: two ranks first differ in the highest such bit."""
    total = 0
    for bit in reversed(range(int(ranks.max()).bit_length())):
        higher, is_one = ranks >> bit + 1, ranks >> bit & 1  # `ranks` is sorted by its higher bits
        ones = np.concatenate([[0], np.cumsum(is_one)])
        group_start = np.searchsorted(higher, higher)
        ones_before = ones[:-1] - ones[group_start]
        total += int(ones_before[is_one == 0].sum())
        ranks = ranks[np.argsort(ranks >> bit, kind="stable")]
    return total
