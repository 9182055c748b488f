"""BOHB's configuration generator with the densities of hpbandster 0.7.4, including their faults.

It reproduces published searches on spaces with only categorical hyperparameters (NAS-Bench-201, table 5).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from nasbench1shot1.proposers.bohb import LEAST_DENSITY, Density, reference_bandwidths
from nasbench1shot1.proposers.categorical_generator import CategoricalGenerator
from nasbench1shot1.proposers.configurations import MODEL_BASED, Proposed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class HpbandsterDensity(Density):
    """The density of categories of statsmodels, with the bandwidths of hpbandster.

    Two faults can make the density negative, infinite or NaN: bandwidths can exceed 1, and a hyperparameter's number
    of categories is counted in the data (hpbandster's issues 73 and 92).
    """

    @classmethod
    def fit(cls, data: "NDArray[np.float64]", levels: "NDArray[np.int64]", min_bandwidth: float) -> Self:
        """Return a density with the bandwidths of the normal reference rule, without an upper limit."""
        seen = np.array([len(np.unique(column)) for column in data.T])
        return cls(data, np.maximum(reference_bandwidths(data), min_bandwidth), seen)

    def pdf(self, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the density at points of shape (points, dimensions); it can be negative, infinite or NaN."""
        equal = points[:, None, :] == self.data[None, :, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            kernels = np.where(equal, 1 - self.bw, self.bw / (self.levels - 1))
            return np.asarray(kernels.prod(axis=2).mean(axis=1))

    def log_pdf(self, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the logarithm of the density; NaN where it is negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.pdf(points)))


class HpbandsterGenerator(CategoricalGenerator):
    """Proposes configurations as hpbandster does: `HpbandsterDensity` determines candidates and their choice.

    With a bandwidth of at least 1, the category of every candidate is random.

    Source: hpbandster 0.7.4, `optimizers/config_generators/bohb.py`, `BOHB.get_config`.
    """

    def _best_candidate(self, models: dict[str, Density], rng: np.random.RandomState) -> Proposed | None:
        points = self._candidates(models["good"], rng)
        good, bad = (models[name].pdf(points).tolist() for name in ("good", "bad"))
        chosen = choose_candidate(good, bad)
        return None if chosen is None else (self._configuration(points[chosen]), {MODEL_BASED: True})

    def _density(self, points: "NDArray[np.float64]") -> Density:
        return HpbandsterDensity.fit(points, self.vartypes, self.min_bandwidth)


def choose_candidate(good: Iterable[float], bad: Iterable[float]) -> int | None:
    """Return the index of the candidate that hpbandster chooses; None if it draws a random configuration.

    hpbandster chooses the candidate with the smallest ratio of bad to good density. However, it stops at the first
    candidate with an infinite or NaN ratio and a finite good density, and chooses this candidate.

    Args:
        good, bad: density of each candidate under the two models.
    """
    best, chosen = np.inf, None
    for number, (likely, unlikely) in enumerate(zip(good, bad, strict=True)):
        # The order of the arguments matters: `max` returns its first argument when it is compared with NaN.
        ratio = max(LEAST_DENSITY, unlikely) / max(likely, LEAST_DENSITY)
        if not np.isfinite(ratio) and np.isfinite(likely):
            return number
        if ratio < best:
            best, chosen = ratio, number
    return chosen
