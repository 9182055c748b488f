"""Optuna's univariate TPE over the categorical hyperparameters of a ConfigSpace space."""

from typing import TYPE_CHECKING

import optuna
from ConfigSpace.hyperparameters import CategoricalHyperparameter, Constant
from optuna.distributions import BaseDistribution, CategoricalDistribution

from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


def categorical_distributions(space: "ConfigurationSpace") -> dict[str, BaseDistribution]:
    """Return Optuna's distributions of a space.

    Raises InvalidInputError if a hyperparameter is neither categorical nor constant.
    """
    found: dict[str, BaseDistribution] = {}
    for hyperparameter in space.values():
        if isinstance(hyperparameter, Constant):
            choices = [hyperparameter.value]
        elif isinstance(hyperparameter, CategoricalHyperparameter):
            choices = list(hyperparameter.choices)
        else:
            raise InvalidInputError(
                f"TPE requires categorical choices, but '{hyperparameter.name}' is not categorical: use random"
            )
        found[hyperparameter.name] = CategoricalDistribution(choices)
    return found


def tpe_study(seed: int, startup: int, candidates: int) -> optuna.Study:
    """Return an in-memory study that minimizes, with a seeded sampler."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=startup, n_ei_candidates=candidates, seed=seed, multivariate=False, constant_liar=False
        )
        return optuna.create_study(sampler=sampler, storage=optuna.storages.InMemoryStorage())
    finally:
        optuna.logging.set_verbosity(verbosity)
