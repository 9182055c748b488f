"""The configuration generator of BOHB: hpbandster's, with its known faults fixed.

`BohbGenerator` fixes these faults of hpbandster's `optimizers/config_generators/bohb.py`:

- Densities were NaN or negative if the data had fewer categories than the hyperparameter (issues 73 and 92); see
  `Density`.
- A missing value of the first hyperparameter was never imputed, because `np.any` of its index 0 is False. The
  density of conditional hyperparameters was then NaN.
- A bare `except` turned every failure into a random configuration. Here, only forbidden candidates are skipped; the
  next best candidate is proposed instead.
- Observations on a smaller budget were dropped once a larger budget had a model. Here, every budget has a model of all
  its observations. The model of the largest budget proposes, as in hpbandster.
- Draws came from numpy's global state. Here, each configuration has its own random generator, seeded by the study's
  seed and the configuration's identity. A resumed study therefore proposes what an uninterrupted one does.
- Hyperparameters that cannot vary counted as dimensions. Models then needed more observations, and bandwidths were
  larger.
- It called deprecated functions of ConfigSpace.

With continuous hyperparameters and equal draws, both generators propose equal configurations (a test compares them).
"""

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from ConfigSpace import Configuration
from ConfigSpace.exceptions import ForbiddenValueError
from ConfigSpace.hyperparameters import CategoricalHyperparameter, Constant, Hyperparameter, OrdinalHyperparameter
from ConfigSpace.util import deactivate_inactive_hyperparameters
from hpbandster.core.base_config_generator import base_config_generator
from hpbandster.core.dispatcher import Job
from hpbandster.optimizers.config_generators.bohb import BOHB

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers.configurations import (
    MODEL_BASED,
    ConfigurationId,
    Configured,
    Proposed,
    Scalar,
    random_configuration,
    random_state,
    to_python_scalars,
)

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from numpy.typing import NDArray

BATCHES = 10  # batches of candidates to try before sampling at random, if the space forbids all candidates
_IMPUTATION = 2**32 - 1  # replaces a bracket's number in the seed, so that no configuration shares these draws
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


class BohbGenerator(BOHB):  # type: ignore[misc]
    """Proposes configurations with kernel densities of good and bad configurations.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
        num_samples: number of candidates per proposal.

    Raises:
        InvalidInputError: the space has an ordinal hyperparameter.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int, num_samples: int = 64) -> None:
        base_config_generator.__init__(self, logger=logging.getLogger(__name__))
        self.configspace, self.seed, self.num_samples = copy.deepcopy(space), seed, num_samples
        self.top_n_percent, self.random_fraction, self.bw_factor, self.min_bandwidth = 15, 1 / 3, 3, 1e-3
        self.modelled = [h for h in self.configspace.values() if self._is_modelled(h)]
        self.vartypes = np.array([_levels(h) for h in self.modelled], dtype=int)
        self.min_points_in_model = len(self.modelled) + 1
        self.configs: dict[int, list[NDArray[np.float64]]] = {}
        self.losses: dict[int, list[float]] = {}
        self.observed = 0
        self._models: dict[int, dict[str, Density]] = {}
        self._unfitted: dict[int, int] = {}

    def _is_modelled(self, hyperparameter: Hyperparameter[Any, Any]) -> bool:
        """Return whether a hyperparameter is a dimension of the densities; by default, if it can vary."""
        return _levels(hyperparameter) != 1

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with an identity. `pending` is not used."""
        rng = random_state(self.seed, *configuration_id)
        budgets = [budget for budget in self.losses if self._has_model(budget)]
        if not budgets or rng.rand() < self.random_fraction:
            return self._random(rng)
        return self._best_candidate(self._model(max(budgets)), rng) or self._random(rng)

    def _random(self, rng: np.random.RandomState) -> Proposed:
        return random_configuration(self.configspace, rng)

    def _best_candidate(self, models: dict[str, Density], rng: np.random.RandomState) -> Proposed | None:
        """Return the best allowed one of `num_samples` candidates; None if ten batches have no allowed candidate."""
        for _ in range(BATCHES if self.modelled else 0):
            points = self._candidates(models["good"], rng)
            for number in np.argsort(log_acquisition(models["good"], models["bad"], points), kind="stable"):
                try:
                    return self._configuration(points[number]), {MODEL_BASED: True}
                except ForbiddenValueError:
                    continue
        return None

    def _candidates(self, good: Density, rng: np.random.RandomState) -> "NDArray[np.float64]":
        """Draw points near good configurations, shape (num_samples, dimensions)."""
        return np.array([self._candidate(good, rng) for _ in range(self.num_samples)])

    def _candidate(self, good: Density, rng: np.random.RandomState) -> list[float]:
        """Draw a point near a good configuration, with the same draws in the same order as hpbandster."""
        centre = good.data[rng.randint(0, len(good.data))]
        return [self._near(*values, rng) for values in zip(centre, good.bw, self.vartypes, strict=True)]

    def _near(self, value: float, bandwidth: float, levels: int, rng: np.random.RandomState) -> float:
        from scipy.stats import truncnorm  # type: ignore[attr-defined]

        if levels:
            return int(value) if rng.rand() < 1 - bandwidth else rng.randint(levels)
        width = self.bw_factor * bandwidth
        return float(truncnorm.rvs(-value / width, (1 - value) / width, loc=value, scale=width, random_state=rng))

    def _configuration(self, point: "NDArray[np.float64]") -> dict[str, Scalar]:
        """Return the configuration at a point; raises ForbiddenValueError if the space forbids it."""
        # values that are not modelled: ConfigSpace's vector is 1 for a constant, 0 for a categorical with one choice
        vector = np.array([float(isinstance(h, Constant)) for h in self.configspace.values()])
        for hyperparameter, value in zip(self.modelled, point, strict=True):
            vector[self.configspace.index_of[hyperparameter.name]] = value
        values = dict(Configuration(self.configspace, vector=vector, allow_inactive_with_values=True))
        return to_python_scalars(dict(deactivate_inactive_hyperparameters(values, self.configspace)))

    def _point(self, configuration: dict[str, Any]) -> "NDArray[np.float64]":
        """Return a configuration's point; NaN where a hyperparameter is inactive."""
        return np.array([_coordinate(h, configuration) for h in self.modelled])

    def new_result(self, job: Job) -> None:
        """Add an observation; a result of None, for a diverged trial, counts as infinite.

        The model of the budget is fitted when it is needed.
        """
        budget, configuration = job.kwargs["budget"], job.kwargs["config"]
        self.configs.setdefault(budget, []).append(self._point(configuration))
        self.losses.setdefault(budget, []).append(np.inf if job.result is None else job.result["loss"])
        self.observed += 1
        self._unfitted[budget] = self.observed

    @property
    def kde_models(self) -> dict[int, dict[str, Density]]:
        """The densities of good and bad configurations, for every budget with enough observations."""
        return {budget: self._model(budget) for budget in self.losses if self._has_model(budget)}

    def _sizes(self, points: int) -> tuple[int, int]:
        """Return the maximum numbers of good and bad configurations among a number of observations."""
        percents = self.top_n_percent, 100 - self.top_n_percent
        n_good, n_bad = (max(self.min_points_in_model, percent * points // 100) for percent in percents)
        return n_good, n_bad

    def _has_model(self, budget: int) -> bool:
        """Return whether both densities of a budget have more points than dimensions."""
        points = len(self.losses[budget])
        n_good, n_bad = self._sizes(points)
        return min(n_good, n_bad, points - n_good) > len(self.modelled)

    def _model(self, budget: int) -> dict[str, Density]:
        """Return the densities of a budget, fitted to all its observations."""
        if (observed := self._unfitted.pop(budget, None)) is not None:
            self._models[budget] = self._fit_densities(budget, random_state(self.seed, _IMPUTATION, observed))
        return self._models[budget]

    def _fit_densities(self, budget: int, rng: np.random.RandomState) -> dict[str, Density]:
        points, order = np.array(self.configs[budget]), np.argsort(self.losses[budget], kind="stable")
        n_good, n_bad = self._sizes(len(points))
        parts = {"good": points[order[:n_good]], "bad": points[order[n_good : n_good + n_bad]]}
        return {name: self._density(self.impute_conditional_data(part, rng)) for name, part in parts.items()}

    def _density(self, points: "NDArray[np.float64]") -> Density:
        return Density.fit(points, self.vartypes, self.min_bandwidth)

    def impute_conditional_data(
        self, array: "NDArray[np.float64]", rng: np.random.RandomState
    ) -> "NDArray[np.float64]":
        """Return an array with NaN replaced by values of a random other row, or by random values if all are NaN."""
        filled = array.copy()
        for row in filled:
            while len(missing := np.flatnonzero(np.isnan(row))):
                first = missing[0]
                if len(rows := np.flatnonzero(np.isfinite(array[:, first]))):
                    row[missing] = array[rng.choice(rows), missing]
                else:
                    row[first] = rng.randint(self.vartypes[first]) if self.vartypes[first] else rng.rand()
        return filled


def _levels(hyperparameter: Hyperparameter[Any, Any]) -> int:
    """Return the number of categories of a hyperparameter: 0 if it is continuous, 1 if it cannot vary."""
    if isinstance(hyperparameter, OrdinalHyperparameter):
        raise InvalidInputError(
            f"hyperparameter '{hyperparameter.name}' is ordinal, which BOHB does not support: make it an integer or "
            "categorical"
        )
    if isinstance(hyperparameter, CategoricalHyperparameter):
        return len(hyperparameter.choices)
    return 1 if isinstance(hyperparameter, Constant) else 0


def _coordinate(hyperparameter: Hyperparameter[Any, Any], configuration: dict[str, Any]) -> float:
    if hyperparameter.name not in configuration:
        return np.nan
    vector = float(hyperparameter.to_vector(configuration[hyperparameter.name]))
    return (
        vector if _levels(hyperparameter) else min(max(vector, 0.0), 1.0)
    )  # rounding can move values slightly outside
