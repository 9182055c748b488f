"""The configuration generator of SMAC3: a random forest and expected improvement.

SMAC's own loop keeps its state in files and draws from generators whose position depends on everything that was asked
before. Here each proposal comes from a new `MultiFidelityFacade`, which is told all observations and then asked once.
Its seed depends on the study's seed and the configuration's identity. A resumed study therefore proposes what an
uninterrupted one does, and SMAC needs neither dask nor a process of its own.

Source: Lindauer et al., SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization (JMLR 2022).
"""

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ConfigSpace import Configuration
from hpbandster.core.dispatcher import Job
from joblib import parallel_config
from smac import MultiFidelityFacade, Scenario
from smac.initial_design import AbstractInitialDesign
from smac.intensifier.abstract_intensifier import AbstractIntensifier
from smac.main.config_selector import ConfigSelector
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.runhistory import StatusType, TrialInfo, TrialValue

from nasbench1shot1.tuning.engine.sampling import (
    FIRST,
    MODEL_BASED,
    Proposed,
    default_configuration,
    random_configuration,
    random_state,
)
from nasbench1shot1.tuning.engine.trial import ConfigurationId, plain

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

BY_MODEL = "Acquisition Function Maximizer"
"""How SMAC's origins begin of configurations that its model proposes; one in five is random."""


class SmacGenerator:
    """Proposes configurations by SMAC's random forest.

    As in SMAC, the forest is fitted to the largest budget that has enough observations, and a fifth of the proposals
    are random. As in `BohbGenerator`, enough is one more than the number of hyperparameters; SMAC's own default is 1.

    Args:
        space: the configurations; it is copied.
        seed: seed of all draws.
    """

    def __init__(self, space: "ConfigurationSpace", seed: int) -> None:
        self.configspace, self.seed = copy.deepcopy(space), seed
        self.min_points_in_model = len(space) + 1
        self.observed: dict[int, list[tuple[Configuration, float]]] = {}

    def get_config(self, budget: int, configuration_id: ConfigurationId) -> Proposed:
        """Return the configuration with an identity; the first one is the space's default."""
        if configuration_id == FIRST:
            return default_configuration(self.configspace)
        rng = random_state(self.seed, *configuration_id)
        if max(map(len, self.observed.values()), default=0) < self.min_points_in_model:
            return random_configuration(self.configspace, rng)
        try:
            proposed = self._ask(rng.randint(2**31))
        except ConfigurationSpaceExhaustedException:
            return random_configuration(self.configspace, rng)
        return plain(dict(proposed)), {MODEL_BASED: str(proposed.origin).startswith(BY_MODEL)}

    def new_result(self, job: Job) -> None:
        """Add an observation; a result of None, for a diverged trial, counts as the worst one of its budget."""
        configuration = Configuration(self.configspace, values=job.kwargs["config"])
        loss = math.inf if job.result is None else job.result["loss"]
        self.observed.setdefault(job.kwargs["budget"], []).append((configuration, loss))

    def _ask(self, seed: int) -> Configuration:
        with TemporaryDirectory() as folder, parallel_config("sequential"):  # threads would take longer to start
            scenario = Scenario(
                self.configspace, output_directory=Path(folder), deterministic=True, n_trials=1, seed=seed
            )
            smac = MultiFidelityFacade(
                scenario,
                initial_design=AlreadyObserved(scenario, self._observed()[:1]),
                config_selector=ConfigSelector(scenario, retrain_after=1, min_trials=self.min_points_in_model),
                intensifier=Asked(scenario),
                logging_level=False,
                overwrite=True,
            )
            for trial, value in self._told():
                smac.tell(trial, value, save=False)
            return smac.ask().config

    def _observed(self) -> list[Configuration]:
        return [configuration for observed in self.observed.values() for configuration, _ in observed]

    def _told(self) -> Iterator[tuple[TrialInfo, TrialValue]]:
        for budget, observed in self.observed.items():
            worst = max((loss for _, loss in observed if math.isfinite(loss)), default=1.0)
            for configuration, loss in observed:
                status = StatusType.SUCCESS if math.isfinite(loss) else StatusType.CRASHED
                trial = TrialInfo(configuration, seed=0, budget=float(budget))
                yield trial, TrialValue(cost=min(loss, worst), status=status)


class AlreadyObserved(AbstractInitialDesign):
    """Adds nothing: SMAC passes over observed configurations, but warns if there is no initial design."""

    def __init__(self, scenario: Scenario, observed: list[Configuration]) -> None:
        super().__init__(scenario, n_configs=1)
        self._observed = observed

    def _select_configurations(self) -> list[Configuration]:
        return self._observed


class Asked(AbstractIntensifier):
    """Asks for new configurations, and leaves their budgets to the brackets of the study."""

    uses_seeds = uses_budgets = True
    uses_instances = uses_cutoffs = False

    def __iter__(self) -> Iterator[TrialInfo]:
        for configuration in self.config_generator:
            yield TrialInfo(configuration, seed=0)

    def update_incumbents(self, config: Configuration) -> None:
        """Do nothing: the study itself keeps the incumbent."""

    def get_trials_of_interest(self, config: Configuration, **options: Any) -> list[TrialInfo]:
        """Return nothing: no trial validates an incumbent."""
        return []

    def get_state(self) -> dict[str, Any]:
        """Return nothing: SMAC's state is not kept."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Do nothing."""
