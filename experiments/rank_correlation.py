"""Correlation coefficients of two vectors; NaN where a coefficient is undefined."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RELATIVE_ROUNDING = 1e-12  # below about 1e-13, scipy warns that Pearson's r is inaccurate


def spearman(a: Floats, b: Floats) -> float:
    """Return Spearman's ρ of two (N,) vectors: Pearson's r of their mid-ranks; NaN if a vector is constant.

    `scipy.stats.spearmanr` returns the same number, but takes longer, because it also computes a p-value.
    """
    from scipy.stats import rankdata

    return _pearson_of_ranks(rankdata(a), rankdata(b)) if varies(a) and varies(b) else float("nan")


def spearman_in_resamples(a: Floats, b: Floats, resamples: NDArray[np.int64]) -> Floats:
    """Return Spearman's ρ of two (N,) vectors in resamples, (R,); NaN where a vector is constant.

    Args:
        a, b: the vectors.
        resamples: (R, M) indices of the items of each resample.
    """
    from scipy.stats import rankdata

    drawn = a[resamples], b[resamples]
    vary = np.all([np.ptp(values, axis=1) > 0 for values in drawn], axis=0)
    pairs = zip(*(rankdata(values, axis=1) for values in drawn), vary, strict=True)
    return np.array([_pearson_of_ranks(x, y) if both_vary else float("nan") for x, y, both_vary in pairs])


def _pearson_of_ranks(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[1, 0])


def kendall(a: Floats, b: Floats) -> float:
    """Return Kendall's τ-b of two (N,) vectors (Kendall 1945) in O(N log N); NaN if a vector is constant."""
    from scipy.stats import kendalltau

    if not (varies(a) and varies(b)):
        return float("nan")
    method = "asymptotic" if len(a) > 2 else "exact"  # for the unused p-value, which scipy cannot approximate for two
    return float(kendalltau(a, b, method=method).statistic)


def pearson(a: Floats, b: Floats) -> float:
    """Return Pearson's r of two (N,) vectors; NaN if a vector is constant up to rounding."""
    from scipy.stats import pearsonr

    if not (varies(a, _RELATIVE_ROUNDING) and varies(b, _RELATIVE_ROUNDING)):
        return float("nan")
    return float(pearsonr(a, b).statistic)


def coefficient_text(value: float, digits: int = 2) -> str:
    """Return a coefficient for texts and figures; a dash if it is undefined."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def varies(values: Floats, relative: float = 0.0) -> bool:
    """Return whether the range of a vector exceeds `relative` times its largest magnitude (default: any variation)."""
    return len(values) > 0 and bool(np.ptp(values) > relative * np.abs(values).max())
