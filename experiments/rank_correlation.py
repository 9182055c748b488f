"""Correlation coefficients of two vectors, computed by scipy; NaN where a coefficient is undefined."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RELATIVE_ROUNDING = 1e-12  # below about 1e-13, scipy warns that Pearson's r is inaccurate


def spearman(a: Floats, b: Floats) -> float:
    """Return Spearman's ρ of two (N,) vectors: Pearson's r of their mid-ranks; NaN if a vector is constant."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic) if varies(a) and varies(b) else float("nan")


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
