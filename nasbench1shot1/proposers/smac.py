"""SMAC3: a random forest and expected improvement.

`SmacGenerator` proposes configurations for the brackets of a tuning study. SMAC's own loop keeps its state in files,
and the state of its random generators depends on all earlier proposals. Here, each proposal comes from a new
`MultiFidelityFacade`, which is told all observations and pending trials and then asked once. Its seed depends on the
study's seed and the configuration's identity. A resumed study therefore proposes what an uninterrupted one does, and
SMAC needs neither dask nor a separate process. Two more differences from SMAC are necessary:

- `SmacGenerator` itself decides whether a configuration is random. A new facade would draw this decision and the random
  configuration from one seed, so all random configurations would be similar.
- The local search starts from a sorted list. SMAC's list comes from a set, whose order differs between processes.

`AskTellFacade` is one search of SMAC's own, on architectures.

Source: Lindauer et al., SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization (JMLR 2022).
"""

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from ConfigSpace import Configuration
from joblib import parallel_config
from smac import AlgorithmConfigurationFacade, MultiFidelityFacade, Scenario
from smac.acquisition.maximizer import AbstractAcquisitionMaximizer, LocalAndSortedRandomSearch, LocalSearch
from smac.initial_design import AbstractInitialDesign, RandomInitialDesign
from smac.intensifier.abstract_intensifier import AbstractIntensifier
from smac.intensifier.intensifier import Intensifier
from smac.main.config_selector import ConfigSelector
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.model.random_forest import RandomForest
from smac.random_design import ProbabilityRandomDesign
from smac.runhistory import StatusType, TrialInfo, TrialValue

from nasbench1shot1.proposers.configurations import (
    MODEL_BASED,
    ConfigurationId,
    Configured,
    Proposed,
    is_categorical,
    observations_of_model,
    random_configuration,
    random_state,
    to_python_scalars,
)

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from hpbandster.core.dispatcher import Job
    from numpy.typing import NDArray

RANDOM_FRACTION = 0.2  # SMAC's default
CHALLENGERS = 10_000  # the default of SMAC's facade
BY_MODEL = "Acquisition Function Maximizer"
"""Prefix of the `origin` of configurations that SMAC's model proposes."""
STARTS = 10
"""Number of hill climbs from random configurations, and also from observed ones, as in SMAC."""
RETURNED = 50
"""Number of returned configurations; SMAC takes the first new one."""
ENDLESS = 10**9
"""Number of trials that SMAC may ask for."""


class SmacGenerator:
    """Proposes configurations with SMAC's random forest, fitted to the largest budget with enough observations.

    A budget needs 2(d + 1) observations for d hyperparameters that vary, as for BOHB's densities. SMAC's default is a
    single observation.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int) -> None:
        self.configspace, self.seed = copy.deepcopy(space), seed
        self.random_fraction = RANDOM_FRACTION
        self.min_points_in_model = observations_of_model(space)
        self.observed: dict[int, dict[Configuration, float]] = {}

    def get_config(
        self, budget: int, configuration_id: ConfigurationId, pending: Sequence[Configured] = ()
    ) -> Proposed:
        """Return the configuration with a given identity. SMAC avoids pending configurations."""
        rng = random_state(self.seed, *configuration_id)
        enough = max(map(len, self.observed.values()), default=0) >= self.min_points_in_model
        if not enough or rng.rand() < self.random_fraction:
            return random_configuration(self.configspace, rng)
        try:
            proposed = self._ask(rng.randint(2**31), pending)
        except ConfigurationSpaceExhaustedException:
            return random_configuration(self.configspace, rng)
        return to_python_scalars(dict(proposed)), {MODEL_BASED: str(proposed.origin).startswith(BY_MODEL)}

    def new_result(self, job: "Job") -> None:
        """Add an observation; a result of None, for a diverged trial, counts as the worst one of its budget.

        If a configuration has several observations at a budget, the last one counts, as in SMAC.
        """
        configuration = Configuration(self.configspace, values=job.kwargs["config"])
        loss = math.inf if job.result is None else job.result["loss"]
        self.observed.setdefault(job.kwargs["budget"], {})[configuration] = loss

    def _ask(self, seed: int, pending: Sequence[Configured]) -> Configuration:
        with TemporaryDirectory() as folder, parallel_config("sequential"):  # starting threads would take longer
            scenario = Scenario(self.configspace, None, Path(folder), deterministic=True, n_trials=1, seed=seed)
            smac = MultiFidelityFacade(
                scenario,
                model=forest(scenario, sum(map(len, self.observed.values()))),
                acquisition_maximizer=OrderedSearch(self.configspace, CHALLENGERS, seed),
                initial_design=ObservedDesign(scenario, self._any_observed()),
                random_design=ProbabilityRandomDesign(0.0, seed),
                config_selector=ConfigSelector(scenario, retrain_after=1, min_trials=self.min_points_in_model),
                intensifier=AskOnlyIntensifier(scenario),
                logging_level=False,
                overwrite=True,
            )
            for trial, value in self._observed_trials():
                smac.tell(trial, value, save=False)
            for values in pending:
                smac.runhistory.add_running_trial(TrialInfo(Configuration(self.configspace, values=values), seed=0))
            return smac.ask().config

    def _any_observed(self) -> list[Configuration]:
        return [configuration for observed in self.observed.values() for configuration in observed][:1]

    def _observed_trials(self) -> Iterator[tuple[TrialInfo, TrialValue]]:
        for budget, observed in self.observed.items():
            worst = max(filter(math.isfinite, observed.values()), default=1.0)
            for configuration, loss in observed.items():
                status = StatusType.SUCCESS if math.isfinite(loss) else StatusType.CRASHED
                trial = TrialInfo(configuration, seed=0, budget=float(budget))
                yield trial, TrialValue(cost=min(loss, worst), status=status)


def forest(scenario: Scenario, observations: int) -> RandomForest:
    """Return SMAC's default forest with a tighter limit on the leaves of a tree, which does not change any tree.

    scikit-learn allocates memory for as many leaves as the limit allows. With SMAC's limit of 2²⁰, this took a third to
    two thirds of the time of a proposal (benchmarks/smac_proposals.py). No tree has more leaves than observations.
    """
    model = MultiFidelityFacade.get_model(scenario)
    model._rf_opts["max_leaf_nodes"] = max(observations, 2)
    return model


class OrderedLocalSearch(LocalSearch):
    """A local search with sorted starting points."""

    def _get_init_points_from_previous_configs(self, *arguments: Any) -> list[Configuration]:
        return sorted(super()._get_init_points_from_previous_configs(*arguments), key=repr)


class OrderedSearch(LocalAndSortedRandomSearch):
    """SMAC's acquisition maximizer with an ordered local search."""

    def __init__(self, space: "ConfigurationSpace", challengers: int, seed: int) -> None:
        super().__init__(space, challengers=challengers, seed=seed)
        self._local_search = OrderedLocalSearch(space, seed=seed)


class ObservedDesign(AbstractInitialDesign):
    """An initial design of observed configurations, which SMAC skips; SMAC warns if the design is empty."""

    def __init__(self, scenario: Scenario, observed: list[Configuration]) -> None:
        super().__init__(scenario, n_configs=1)
        self._observed = observed

    def _select_configurations(self) -> list[Configuration]:
        return self._observed


class AskOnlyIntensifier(AbstractIntensifier):
    """An intensifier that only asks for new configurations; the brackets of the study set their budgets."""

    uses_seeds = uses_budgets = True
    uses_instances = uses_cutoffs = False

    def __iter__(self) -> Iterator[TrialInfo]:
        for configuration in self.config_generator:
            yield TrialInfo(configuration, seed=0)

    def update_incumbents(self, config: Configuration) -> None:
        """Do nothing: the study itself keeps the incumbent."""

    def get_trials_of_interest(self, config: Configuration, **options: Any) -> list[TrialInfo]:
        """Return no trials, because incumbents are not validated."""
        return []

    def get_state(self) -> dict[str, Any]:
        """Return an empty state, because SMAC's state is not saved."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Do nothing, because no state was saved."""


class AskTellFacade:
    """One search with SMAC3, which minimizes a noisy cost, without files, threads or unordered sets.

    Equal seeds and equal costs give equal proposals in every process, with any number of processors.

    Args:
        space: the configurations; SMAC seeds it.
        seed: seed of all draws.
        trees: number of trees of the random forest.
        random_fraction: probability of a random configuration.
        most_trainings: maximum number of trials of a configuration.
        challengers: number of random configurations ranked per proposal.
    """

    def __init__(
        self,
        space: "ConfigurationSpace",
        *,
        seed: int,
        trees: int,
        random_fraction: float,
        most_trainings: int,
        challengers: int,
    ) -> None:
        maximizer = CategoricalSearch if is_categorical(space) else OrderedSearch
        with TemporaryDirectory() as folder:  # SMAC only writes its scenario there
            scenario = Scenario(space, output_directory=Path(folder), n_trials=ENDLESS, seed=seed)
            self._forest = AlgorithmConfigurationFacade.get_model(scenario, n_trees=trees)
            self._facade = AlgorithmConfigurationFacade(
                scenario,
                _no_target,
                model=self._forest,
                acquisition_maximizer=maximizer(space, challengers=challengers, seed=seed),
                initial_design=RandomInitialDesign(scenario, n_configs=1),
                random_design=ProbabilityRandomDesign(random_fraction, seed),
                intensifier=Intensifier(scenario, max_config_calls=most_trainings, max_incumbents=1),
                config_selector=_Selector(scenario, retrain_after=1),
                logging_level=False,
                overwrite=True,
            )

    def ask(self) -> TrialInfo | None:
        """Return the next trial, or None if SMAC does not find one."""
        # as in `forest`: this limit does not change any tree, but saves memory and time
        self._forest._rf_opts["max_leaf_nodes"] = max(len(self._facade.runhistory), 2)
        try:
            with parallel_config("sequential"):
                return self._facade.ask()
        except (StopIteration, ConfigurationSpaceExhaustedException, IndexError):  # IndexError: no challengers
            return None

    def tell(self, trial: TrialInfo, cost: float) -> None:
        """Add the cost of a trial."""
        self._facade.tell(trial, TrialValue(cost=cost), save=False)


def _no_target(config: Any, seed: int = 0) -> float:
    """Act as the target function, which SMAC never calls."""
    raise AssertionError


class _Selector(ConfigSelector):
    """SMAC's selector, but with predictions for all observed configurations at once instead of one by one."""

    def _get_x_best(self, X: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], float]":
        assert self._model is not None
        means = self._model.predict_marginalized(X)[0].ravel()
        best = int(np.argmin(means))
        return X[best], float(means[best])


class CategoricalSearch(AbstractAcquisitionMaximizer):
    """Maximizes an acquisition function over independent categorical hyperparameters, on arrays of categories.

    The algorithm follows SMAC's `LocalAndSortedRandomSearch`: hill climbing from the best of many random configurations
    and from the best observed ones. SMAC's own code creates a Configuration for every neighbour, which takes most of
    the time of a proposal.
    """

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
