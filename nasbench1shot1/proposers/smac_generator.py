"""The configuration generator of SMAC3: a random forest and expected improvement.

SMAC's own loop keeps its state in files, and the state of its random generators depends on all earlier proposals. Here,
each proposal comes from a new `MultiFidelityFacade`, which is told all observations and pending trials and then asked
once. Its seed depends on the study's seed and the configuration's identity. A resumed study therefore proposes what an
uninterrupted one does, and SMAC needs neither dask nor a separate process.

Two more differences from SMAC are necessary:

- `SmacGenerator` itself decides whether a configuration is random. A new facade would draw this decision and the random
  configuration from one seed, so all random configurations would be similar.
- The local search starts from a sorted list. SMAC's list comes from a set, whose order differs between processes.

Source: Lindauer et al., SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization (JMLR 2022).
"""

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ConfigSpace import Configuration
from hpbandster.core.dispatcher import Job
from joblib import parallel_config
from smac import MultiFidelityFacade, Scenario
from smac.acquisition.maximizer import LocalAndSortedRandomSearch, LocalSearch
from smac.initial_design import AbstractInitialDesign
from smac.intensifier.abstract_intensifier import AbstractIntensifier
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
    random_configuration,
    random_state,
    to_python_scalars,
)

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

RANDOM_FRACTION = 0.2  # SMAC's default
BY_MODEL = "Acquisition Function Maximizer"
"""Prefix of the `origin` of configurations that SMAC's model proposes."""


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
        self.min_points_in_model = 2 * (sum(hyperparameter.size != 1 for hyperparameter in space.values()) + 1)
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

    def new_result(self, job: Job) -> None:
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
                acquisition_maximizer=OrderedSearch(scenario),
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


class OrderedSearch(LocalAndSortedRandomSearch):
    """SMAC's acquisition maximizer, with the defaults of its facade and an ordered local search."""

    def __init__(self, scenario: Scenario) -> None:
        space, seed = scenario.configspace, scenario.seed
        super().__init__(space, challengers=10000, local_search_iterations=10, seed=seed)
        self._local_search = OrderedLocalSearch(space, seed=seed)


class OrderedLocalSearch(LocalSearch):
    """A local search with sorted starting points."""

    def _get_init_points_from_previous_configs(self, *arguments: Any) -> list[Configuration]:
        return sorted(super()._get_init_points_from_previous_configs(*arguments), key=repr)


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
