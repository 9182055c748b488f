"""Drawing a measurement into an estimate by as much as it can be trusted.

A residual (measurement minus held-out prediction) is part the cell's own, which the regression missed, and part the
luck of that one training. Only the first part, a share w of the variance, belongs into an estimate of the cell.
"""

from dataclasses import dataclass

import numpy as np

from nasbench1shot1.table_building.sources import Floats

CLIP = 3.0
"""Residuals count at most so many standard deviations: a diverged repeat says little about the mean of a cell."""

_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class Shrinkage:
    """How a measurement of one quantity is drawn in.

    Attributes:
        weight: w, the share of the residuals' variance that is the cell's own.
        sd: standard deviation of the residuals, outliers left aside.
        weight_by_repeats: what w would be if runs scattered as little as EC-NAS's own do; None if not asked.
    """

    weight: float
    sd: float
    weight_by_repeats: float | None = None

    def drawn_in(self, predicted: Floats, measured: Floats) -> Floats:
        """prediction + w · (measurement − prediction), the residual clipped to three standard deviations."""
        return np.asarray(predicted + self.weight * _clipped(measured - predicted, self.sd))

    def described(self) -> dict[str, float]:
        """For `meta.json`."""
        found = {"weight_of_measurement": self.weight, "residual_sd_of_log": self.sd}
        if self.weight_by_repeats is not None:
            found["weight_by_repeats"] = self.weight_by_repeats
        return {name: round(value, 4) for name, value in found.items()}


def shared_between_budgets(residuals: Floats, repeats: list[Floats]) -> list[Shrinkage]:
    """Weights from how residuals of the same cell agree between budgets, which are separate trainings.

    What two trainings of a cell have in common is the cell's own, so the correlation of the residuals at two
    neighbouring budgets is taken for w (the higher one where there are two neighbours). It is a cautious value:
    what a cell does at one budget only is counted as luck. Too high a weight would be worse, since the best of
    a space would then be a lucky measurement.

    Args:
        residuals: (N, B) of log error, budgets ascending.
        repeats: for each budget (C, R) repeats of other cells' log error, to compare with.
    """
    sds = [robust_sd(of_budget) for of_budget in residuals.T]
    clipped = np.stack([_clipped(r, sd) for r, sd in zip(residuals.T, sds, strict=True)])
    neighbours = np.diag(np.corrcoef(clipped), k=1)
    weights = np.maximum(np.append(neighbours, 0), np.insert(neighbours, 0, 0)).clip(0, 1)
    return [
        Shrinkage(float(weight), sd, beyond_repeats(sd, of_budget))
        for weight, sd, of_budget in zip(weights, sds, repeats, strict=True)
    ]


def beyond_repeats(sd: float, repeats: Floats) -> float:
    """w from the variance of residuals with standard deviation `sd` beyond the variance of repeats (C, R) of a cell."""
    return float(np.clip(1 - (pooled_noise(repeats) / sd) ** 2, 0, 1))


def pooled_noise(repeats: Floats) -> float:
    """The standard deviation of single repeats around their cell's mean, pooled over cells, without outliers.

    The median of the cells' variances is turned into the mean that normal noise would have (three repeats: a χ²
    with two degrees of freedom, whose median is ln 2 of its mean).
    """
    if repeats.shape[1] != 3:
        raise ValueError("the factor below belongs to three repeats")
    return float(np.sqrt(np.median(repeats.var(axis=1, ddof=1)) / np.log(2)))


def robust_sd(values: Floats) -> float:
    """The standard deviation that normal values with this median absolute deviation have."""
    return float(_MAD_TO_SD * np.median(np.abs(values - np.median(values))))


def _clipped(residuals: Floats, sd: float) -> Floats:
    return np.clip(residuals, -CLIP * sd, CLIP * sd)
