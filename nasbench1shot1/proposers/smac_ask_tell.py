"""SMAC3's facade for algorithm configuration, used with ask and tell, without files, threads or unordered sets."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import parallel_config
from smac import AlgorithmConfigurationFacade, Scenario
from smac.acquisition.maximizer import LocalAndSortedRandomSearch
from smac.initial_design import RandomInitialDesign
from smac.intensifier.intensifier import Intensifier
from smac.main.config_selector import ConfigSelector
from smac.random_design import ProbabilityRandomDesign
from smac.runhistory import TrialInfo, TrialValue

from nasbench1shot1.proposers.categorical_bohb import is_categorical
from nasbench1shot1.proposers.categorical_search import CategoricalSearch
from nasbench1shot1.proposers.smac_generator import OrderedLocalSearch

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from numpy.typing import NDArray

ENDLESS = 10**9
"""Number of trials that SMAC may ask for."""


class AskTellFacade:
    """One search with SMAC3, which minimizes a noisy cost.

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
        maximizer = CategoricalSearch if is_categorical(space) else _OrderedSearch
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
        # as in `smac_generator.forest`: this limit does not change any tree, but saves memory and time
        self._forest._rf_opts["max_leaf_nodes"] = max(len(self._facade.runhistory), 2)
        try:
            with parallel_config("sequential"):
                return self._facade.ask()
        except StopIteration:
            return None

    def tell(self, trial: TrialInfo, cost: float) -> None:
        """Add the cost of a trial."""
        self._facade.tell(trial, TrialValue(cost=cost), save=False)


def _no_target(config: Any, seed: int = 0) -> float:
    """Act as the target function, which SMAC never calls."""
    raise AssertionError


class _OrderedSearch(LocalAndSortedRandomSearch):
    """SMAC's acquisition maximizer with an ordered local search."""

    def __init__(self, space: "ConfigurationSpace", challengers: int, seed: int) -> None:
        super().__init__(space, challengers=challengers, seed=seed)
        self._local_search = OrderedLocalSearch(space, seed=seed)


class _Selector(ConfigSelector):
    """SMAC's selector, but with predictions for all observed configurations at once instead of one by one."""

    def _get_x_best(self, X: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], float]":
        assert self._model is not None
        means = self._model.predict_marginalized(X)[0].ravel()
        best = int(np.argmin(means))
        return X[best], float(means[best])
