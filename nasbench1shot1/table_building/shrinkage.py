"""Drawing a measurement into an estimate by as much as it can be trusted."""

from dataclasses import dataclass

import numpy as np

from nasbench1shot1.table_building.sources import Floats

LEVELS = 4
CLIP = 3.0
MAX_WEIGHT = 0.9
_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class Shrinkage:
    """What a single repeat is worth, at several levels of the target.

    Attributes:
        level: (L,) predicted log error (or log seconds) that the other arrays belong to, ascending.
        noise: (L,) standard deviation of a single repeat around the mean of a cell.
        residual: (L,) standard deviation of measurement minus prediction, outliers left aside.
    """

    level: Floats
    noise: Floats
    residual: Floats

    def weight(self, predicted: Floats) -> Floats:
        """w = τ² / (τ² + σ²), from residual variance τ² + σ² and noise variance σ², between 0 and 0.9."""
        weight = 1 - (self.noise / self.residual) ** 2
        return np.interp(predicted, self.level, np.clip(weight, 0, MAX_WEIGHT))

    def drawn_in(self, predicted: Floats, measured: Floats) -> Floats:
        """prediction + w · (measurement − prediction); a residual counts at most three standard deviations.

        That keeps a diverged repeat, which says little about the mean of a cell, from moving it far.
        """
        bound = CLIP * np.interp(predicted, self.level, self.residual)
        return predicted + self.weight(predicted) * np.clip(measured - predicted, -bound, bound)


def fit_shrinkage(predicted: Floats, measured: Floats, repeats: Floats) -> Shrinkage:
    """Compare residuals with the spread of repeats of the same cell.

    Args:
        predicted: (N,) held-out predictions, in logarithms as all here.
        measured: (N,) single repeats of the same cells.
        repeats: (C, R) repeats of other cells.
    """
    ranked = np.argsort(predicted, kind="stable")
    parts = np.array_split(ranked, LEVELS)
    level = np.array([np.median(predicted[part]) for part in parts])
    residual = np.array([_robust_sd(measured[part] - predicted[part]) for part in parts])
    return Shrinkage(level, np.full(LEVELS, pooled_noise(repeats)), residual)


def pooled_noise(repeats: Floats) -> float:
    """The standard deviation of single repeats around their cell's mean, pooled over cells, without outliers.

    The median of the cells' variances is turned into the mean that normal noise would have (three repeats: a χ²
    with two degrees of freedom, whose median is ln 2 of its mean).
    """
    if repeats.shape[1] != 3:
        raise ValueError("the factor below belongs to three repeats")
    return float(np.sqrt(np.median(repeats.var(axis=1, ddof=1)) / np.log(2)))


def _robust_sd(values: Floats) -> float:
    return float(_MAD_TO_SD * np.median(np.abs(values - np.median(values))))
