"""Kernel densities over hyperparameters that are continuous or categorical."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_DENSITY = 1e-32
"""Lower limit of densities; hpbandster raises smaller densities to this value."""


@dataclass(frozen=True, eq=False)
class Density:
    """A product-kernel density: Gaussian kernels for continuous values, Aitchison–Aitken kernels for categorical ones.

    The formulas come from statsmodels' KDEMultivariate, which hpbandster uses, with one difference: the number of
    categories comes from the hyperparameter. statsmodels counts the categories in the data. If the data have only one
    category, its kernel divides by zero, and the acquisition function is NaN (hpbandster's issues 73 and 92).

    Attributes:
        data: shape (points, dimensions); continuous values in [0, 1], categorical ones as indices.
        bw: bandwidths, shape (dimensions,); less than 1 for categorical dimensions.
        levels: number of categories of each dimension, 0 if it is continuous; shape (dimensions,).
    """

    data: "NDArray[np.float64]"
    bw: "NDArray[np.float64]"
    levels: "NDArray[np.int64]"

    @classmethod
    def fit(cls, data: "NDArray[np.float64]", levels: "NDArray[np.int64]", min_bandwidth: float) -> Self:
        """Return a density with the bandwidths of the normal reference rule.

        Bandwidths are at least `min_bandwidth`, as in hpbandster. For c categories, they are at most (c - 1) / c,
        where the kernel is uniform. In hpbandster, bandwidths can exceed 1, and densities are then negative.
        """
        most = np.where(levels > 0, (levels - 1) / np.maximum(levels, 1), np.inf)
        return cls(data, np.clip(reference_bandwidths(data), min_bandwidth, most), levels)

    def pdf(self, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the density at points of shape (points, dimensions)."""
        return np.asarray(np.exp(self.log_pdf(points)))

    def log_pdf(self, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the logarithm of the density at points of shape (points, dimensions); never NaN."""
        difference = points[:, None, :] - self.data[None, :, :]
        gaussian = -0.5 * (difference / self.bw) ** 2 - np.log(self.bw * np.sqrt(2 * np.pi))
        same, other = self._category_logs
        category = np.where(difference == 0, same, other)
        kernels = np.where(self.levels > 0, category, gaussian).sum(axis=2)
        return np.asarray(np.logaddexp.reduce(kernels, axis=1) - np.log(len(self.data)))

    @cached_property
    def _category_logs(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The logarithms of the Aitchison–Aitken kernel for equal and for different categories; 0 if continuous."""
        is_category = self.levels > 0
        weight = np.where(is_category, self.bw, 0.5)
        others = np.maximum(self.levels - 1, 1)
        return np.where(is_category, np.log1p(-weight), 0.0), np.where(is_category, np.log(weight / others), 0.0)


def reference_bandwidths(data: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the bandwidths of the normal reference rule, 1.06 σ n^(-1 / (4 + dimensions)), shape (dimensions,)."""
    points, dimensions = data.shape
    return np.asarray(1.06 * np.std(data, axis=0) * points ** (-1.0 / (4 + dimensions)))


def log_acquisition(good: Density, bad: Density, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the log-ratio of the densities of bad and good configurations, which BOHB minimizes.

    Args:
        good, bad: the densities.
        points: shape (points, dimensions).

    Source: hpbandster's `BOHB.get_config`; Falkner et al. 2018, section 3.2.
    """
    least = np.log(LEAST_DENSITY)
    return np.asarray(np.maximum(bad.log_pdf(points), least) - np.maximum(good.log_pdf(points), least))
