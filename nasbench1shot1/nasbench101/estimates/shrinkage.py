"""Estimates of measured cells: predictions that are combined with the measurements of the same cell.

A residual is a measurement minus a prediction by models that were fitted without the cell. It has two parts: a property
of the cell that the regression missed, and the noise of the training. Residuals of one cell at several budgets, and of
its validation and test accuracy, are correlated: the first part is common to them, and a test accuracy belongs to the
same three trainings as the validation accuracies at 108 epochs. So every measurement of a cell improves the estimates
of all its quantities.

The quantity to be estimated is the mean over the three official repeats, which the official table contains. The
estimate is its conditional expectation given the cell's measurements, for normally distributed residuals.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.sources import Floats

RESIDUAL_CLIP = 3.0
"""Residuals are clipped to this many standard deviations: a diverged repeat says little about a cell's mean."""
REPEATS = 3
"""Number of repeats of the mean that is estimated."""

_MAD_TO_SD = 1.4826

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Shrinkage:
    """The joint distribution of a cell's residuals of Q quantities, in log units.

    Attributes:
        sd: (Q,) robust standard deviations of the residuals of single repeats, or of means if only these are known.
        correlation: (Q, Q) correlations of the clipped residuals of one cell.
        own: (Q,) the share of a single repeat's variance that is a property of the cell; 1 for a quantity whose mean
            over all repeats is measured.
    """

    sd: Floats
    correlation: Floats
    own: Floats

    def shrink(self, predicted: Floats, measured: Floats, n_repeats: Integers) -> Floats:
        """Return the estimates of N cells, (N, Q).

        Args:
            predicted: (N, Q) predictions by models that were fitted without the cell.
            measured: (N, Q) means over the known repeats; NaN without any.
            n_repeats: (N, Q) numbers of known repeats. The mean of three is the estimate itself.
        """
        out = predicted.copy()
        residuals = clip_residuals(measured - predicted, self.sd)
        patterns, of_cell = np.unique(n_repeats, axis=0, return_inverse=True)
        for number, repeats in enumerate(patterns):
            cells, known = np.flatnonzero(of_cell == number), np.flatnonzero(repeats)
            if len(known):
                out[cells] += residuals[np.ix_(cells, known)] @ self.weights(repeats)
        return np.where(n_repeats == REPEATS, measured, out)

    def weights(self, n_repeats: Integers) -> Floats:
        """Return the weight of each known residual (K) in each estimate, (K, Q), for one cell's numbers of repeats."""
        covariance = self.correlation * self.sd[:, None] * self.sd
        of_mean = self.own + (1 - self.own) / REPEATS
        with_mean = covariance.copy()
        np.fill_diagonal(with_mean, of_mean * self.sd**2)
        of_known = self.own + (1 - self.own) / np.maximum(n_repeats, 1)
        np.fill_diagonal(covariance, of_known * self.sd**2)
        known = np.flatnonzero(n_repeats)
        return np.asarray(np.linalg.solve(covariance[np.ix_(known, known)], with_mean[known]))

    def as_dict(self, quantity: int) -> dict[str, Any]:
        """Return the description of a quantity for `meta.json`."""
        alone = np.zeros(len(self.sd), np.int64)
        alone[quantity] = 1
        return {
            "residual_sd_of_log": round(float(self.sd[quantity]), 4),
            "weight_of_single_repeat": round(self.weights(alone)[0, quantity].item(), 4),
        }


def fit_shrinkage(residuals: Floats, has_all_repeats: NDArray[np.bool_]) -> Shrinkage:
    """Fit the joint distribution of residuals (N, Q), NaN where a cell has no measurement.

    Budgets are separate trainings, so what a cell's residuals at two neighbouring budgets have in common is a property
    of the cell. `own` is therefore the correlation with a neighbouring budget, the higher one of two. This value is
    conservative, because effects that occur at only one budget count as noise. Correlations are computed from the cells
    that have both measurements.

    Args:
        residuals: the columns are budgets in ascending order, then quantities whose mean over all repeats is measured.
        has_all_repeats: (Q,) which columns are such quantities.
    """
    n = residuals.shape[1]
    sd = np.array([robust_sd(column[~np.isnan(column)]) for column in residuals.T])
    clipped, correlation = clip_residuals(residuals, sd), np.eye(n)
    for i in range(n):
        for j in range(i):
            both = ~np.isnan(clipped[:, i] + clipped[:, j])
            correlation[i, j] = correlation[j, i] = np.corrcoef(clipped[both, i], clipped[both, j])[0, 1]
    of_budgets = correlation[np.ix_(~has_all_repeats, ~has_all_repeats)]
    neighbours = np.diag(of_budgets, k=1)
    own = np.ones(n)
    own[~has_all_repeats] = np.maximum(np.append(neighbours, 0), np.insert(neighbours, 0, 0)).clip(0, 1)
    return Shrinkage(sd, correlation, own)


def weight_from_repeats(sd: float, repeats: Floats) -> float:
    """Return the share of a variance `sd`² that exceeds the variance of the repeats (C, R) of C cells."""
    return float(np.clip(1 - (pooled_noise(repeats) / sd) ** 2, 0, 1))


def pooled_noise(repeats: Floats) -> float:
    """Return the robust standard deviation of single repeats around their cell's mean, pooled over cells.

    The median of the cells' variances is converted to the mean for normal noise. For three repeats, the variance has a
    χ² distribution with two degrees of freedom, whose median is ln 2 times its mean.
    """
    if repeats.shape[1] != REPEATS:
        raise ValueError("the conversion factor requires three repeats")
    return float(np.sqrt(np.median(repeats.var(axis=1, ddof=1)) / np.log(2)))


def robust_sd(values: Floats) -> float:
    """Return the standard deviation of normally distributed values with the same median absolute deviation."""
    return float(_MAD_TO_SD * np.median(np.abs(values - np.median(values))))


def clip_residuals(residuals: Floats, sd: Any) -> Floats:
    """Return residuals clipped to `RESIDUAL_CLIP` standard deviations."""
    return np.asarray(np.clip(residuals, -RESIDUAL_CLIP * sd, RESIDUAL_CLIP * sd))
