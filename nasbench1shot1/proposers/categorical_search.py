"""SMAC's local and random search of the acquisition function, on arrays of categories.

The algorithm follows SMAC's `LocalAndSortedRandomSearch`: hill climbing from the best of many random configurations and
from the best observed ones. SMAC's own code creates a Configuration for every neighbour, which takes most of the time
of a proposal.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from ConfigSpace import Configuration
from smac.acquisition.maximizer import AbstractAcquisitionMaximizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

STARTS = 10
"""Number of hill climbs from random configurations, and also from observed ones, as in SMAC."""
RETURNED = 50
"""Number of returned configurations; SMAC takes the first new one."""


class CategoricalSearch(AbstractAcquisitionMaximizer):
    """Maximizes an acquisition function over independent categorical hyperparameters."""

    def _maximize(self, previous_configs: list[Configuration], n_points: int) -> list[tuple[float, Configuration]]:
        levels = np.array([h.size for h in self._configspace.values()])
        drawn = np.floor(self._rng.rand(n_points, len(levels)) * levels)
        known = np.array([config.get_array() for config in previous_configs])
        climbed = self._climb(np.concatenate([self._best(drawn, STARTS)[0], self._best(known, STARTS)[0]]), levels)
        points = np.unique(np.concatenate([climbed, drawn]), axis=0)
        new = ~np.isin(_keys(points, levels), _keys(known, levels))
        best, values = self._best(points[new], RETURNED)
        return [(float(value), self._configuration(point)) for point, value in zip(best, values, strict=True)]

    def _values(self, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
        assert self._acquisition_function is not None
        values = np.asarray(self._acquisition_function._compute(points), np.float64).ravel()
        return np.where(np.isnan(values), -np.inf, values)

    def _best(self, points: "NDArray[np.float64]", number: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return the points with the largest values, and these values; ties are in random order."""
        if not len(points):
            return points, np.zeros(0)
        points = points[self._rng.permutation(len(points))]
        values = self._values(points)
        order = np.argsort(-values, kind="stable")[:number]
        return points[order], values[order]

    def _climb(self, points: "NDArray[np.float64]", levels: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """Move each point to its best neighbour until no neighbour is better."""
        shifts = np.concatenate([np.eye(len(levels))[[d]] * np.arange(1, n)[:, None] for d, n in enumerate(levels)])
        points, values = points.copy(), self._values(points)
        moving = np.arange(len(points))
        while len(moving) and len(shifts):
            around = (points[moving, None] + shifts) % levels
            found = self._values(around.reshape(-1, len(levels))).reshape(around.shape[:2])
            best = found.argmax(axis=1)
            rows = np.flatnonzero(found.max(axis=1) > values[moving])
            moving, best, around, found = moving[rows], best[rows], around[rows], found[rows]
            places = np.arange(len(rows))
            points[moving], values[moving] = around[places, best], found[places, best]
        return points

    def _configuration(self, point: "NDArray[np.float64]") -> Configuration:
        return Configuration(self._configspace, vector=point, origin="Acquisition Function Maximizer: Local Search")


def _keys(points: "NDArray[np.float64]", levels: "NDArray[np.int64]") -> Any:
    """Return a number for each point, equal for equal points."""
    return points @ np.concatenate([[1.0], np.cumprod(levels[:-1], dtype=float)])
