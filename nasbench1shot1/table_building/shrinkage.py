"""Shrinkage: combine a prediction with a measurement, weighted by the measurement's reliability.

A residual (measurement minus held-out prediction) has two parts: a property of the cell that the regression missed, and
the noise of one training. An estimate for the cell should only include the first part, a share w of the variance.
"""

from dataclasses import dataclass

import numpy as np

from nasbench1shot1.nasbench101.sample import Floats

CLIP = 3.0
"""Residuals are clipped to this many standard deviations: a diverged repeat says little about a cell's mean."""

_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class Shrinkage:
    """The shrinkage of one quantity.

    Attributes:
        weight: w, the share of the residuals' variance that is a property of the cell.
        sd: robust standard deviation of the residuals.
        weight_by_repeats: the value of w if the noise equalled the scatter of EC-NAS's repeats; None if not computed.
    """

    weight: float
    sd: float
    weight_by_repeats: float | None = None

    def shrink(self, predicted: Floats, measured: Floats) -> Floats:
        """Return prediction + w · (measurement − prediction); residuals are clipped to three standard deviations."""
        return np.asarray(predicted + self.weight * _clip(measured - predicted, self.sd))

    def as_dict(self) -> dict[str, float]:
        """Return the description for `meta.json`."""
        found = {"weight_of_measurement": self.weight, "residual_sd_of_log": self.sd}
        if self.weight_by_repeats is not None:
            found["weight_by_repeats"] = self.weight_by_repeats
        return {name: round(value, 4) for name, value in found.items()}


def fit_shrinkages(residuals: Floats, repeats: list[Floats]) -> list[Shrinkage]:
    """Return weights from the correlation of a cell's residuals between budgets, which are separate trainings.

    Only properties of the cell are common to two of its trainings. So w is the correlation of the residuals at two
    neighbouring budgets, the higher one if a budget has two neighbours. This value is conservative, because effects
    that occur at only one budget count as noise. A weight that is too high would be worse: the best network of a space
    would then be a lucky measurement.

    Args:
        residuals: (N, B) residuals of log error, in ascending order of the budgets.
        repeats: for each budget, (C, R) repeats of other cells' log error, for `weight_by_repeats`.
    """
    sds = [robust_sd(of_budget) for of_budget in residuals.T]
    clipped = np.stack([_clip(r, sd) for r, sd in zip(residuals.T, sds, strict=True)])
    neighbours = np.diag(np.corrcoef(clipped), k=1)
    weights = np.maximum(np.append(neighbours, 0), np.insert(neighbours, 0, 0)).clip(0, 1)
    return [
        Shrinkage(float(weight), sd, weight_from_repeats(sd, of_budget))
        for weight, sd, of_budget in zip(weights, sds, repeats, strict=True)
    ]


def weight_from_repeats(sd: float, repeats: Floats) -> float:
    """Return w, the share of a variance `sd`² that exceeds the variance of the repeats (C, R) of C cells."""
    return float(np.clip(1 - (pooled_noise(repeats) / sd) ** 2, 0, 1))


def pooled_noise(repeats: Floats) -> float:
    """Return the robust standard deviation of single repeats around their cell's mean, pooled over cells.

    The median of the cells' variances is converted to the mean for normal noise. For three repeats, the variance has a
    χ² distribution with two degrees of freedom, whose median is ln 2 times its mean.
    """
    if repeats.shape[1] != 3:
        raise ValueError("the conversion factor requires three repeats")
    return float(np.sqrt(np.median(repeats.var(axis=1, ddof=1)) / np.log(2)))


def robust_sd(values: Floats) -> float:
    """Return the standard deviation of normally distributed values with the same median absolute deviation."""
    return float(_MAD_TO_SD * np.median(np.abs(values - np.median(values))))


def _clip(residuals: Floats, sd: float) -> Floats:
    return np.clip(residuals, -CLIP * sd, CLIP * sd)
