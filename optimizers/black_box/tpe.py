"""TPE: tree-structured Parzen estimators of good and bad configurations, separately for each choice.

Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization (NeurIPS 2011), section 4, as implemented
by Optuna. The published scripts of NAS-Bench-101 and NAS-Bench-1Shot1 use hyperopt, which is not maintained.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.optimizers.black_box.trials import EncodedHyperparameters, TrialOptimizer
from nasbench1shot1.proposers.configurations import without_order
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial


@dataclass(frozen=True, kw_only=True)
class TPEHyperparameters(EncodedHyperparameters):
    """The options of TPE."""

    startup_trainings: Annotated[int, Range(0)] = 20
    """Number of initial random configurations (hyperopt's default)."""
    candidates: Annotated[int, Range(1)] = 24
    """Number of candidates per choice; the best one is proposed (hyperopt's default)."""


class TPE(TrialOptimizer):
    """Optuna's univariate TPE sampler; hyperopt's TPE is also univariate.

    Each choice of `configuration_space()` is a categorical parameter, also if it is ordinal; a number stays a number.
    Optuna and hyperopt differ in how many configurations count as good; see docs/black_box_methods.md.

    A configuration outside the space gets the error 1 at no cost, as in NAS-Bench-101's published script.

    Raises:
        UserError: the extra [tune] is not installed.
        InvalidInputError: a hyperparameter of the space is neither categorical nor a number.
    """

    Hyperparameters = TPEHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        require_package("optuna", "TPE", extra="tune")
        own, seed = self.hyperparameters, int(self.rng.integers(2**32))
        self._encoding = self.space.encoding(own.encoding)
        self._choices = distributions(without_order(self._encoding.configuration_space()))
        self._study = tpe_study(seed, own.startup_trainings, own.candidates)

    def next_trial(self) -> "Trial":
        """Return a new configuration."""
        return self._study.ask(self._choices)

    def training(self, trial: "Trial") -> Query:
        """Return the training of a configuration."""
        return self.query(self._encoding.from_configuration(trial.params))

    def observe(self, trial: "Trial", validation_error: float) -> None:
        """Report the error of a trial to Optuna."""
        self._study.tell(trial, validation_error)


def distributions(space: "ConfigurationSpace") -> "dict[str, BaseDistribution]":
    """Return Optuna's distributions of a space.

    Raises InvalidInputError if a hyperparameter is neither categorical nor constant nor a uniform number.
    """
    from ConfigSpace.hyperparameters import (
        CategoricalHyperparameter,
        Constant,
        UniformFloatHyperparameter,
        UniformIntegerHyperparameter,
    )
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for hyperparameter in space.values():
        if isinstance(hyperparameter, Constant):
            found[hyperparameter.name] = CategoricalDistribution([hyperparameter.value])
        elif isinstance(hyperparameter, CategoricalHyperparameter):
            found[hyperparameter.name] = CategoricalDistribution(list(hyperparameter.choices))
        elif isinstance(hyperparameter, UniformFloatHyperparameter | UniformIntegerHyperparameter):
            is_whole = isinstance(hyperparameter, UniformIntegerHyperparameter)
            kind: Any = IntDistribution if is_whole else FloatDistribution
            found[hyperparameter.name] = kind(hyperparameter.lower, hyperparameter.upper, log=hyperparameter.log)
        else:
            raise InvalidInputError(
                f"TPE requires categorical choices or uniform numbers, but '{hyperparameter.name}' is neither: use "
                "random"
            )
    return found


def tpe_study(seed: int, startup: int, candidates: int) -> "Study":
    """Return an in-memory study that minimizes, with a seeded sampler."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=startup, n_ei_candidates=candidates, seed=seed, multivariate=False, constant_liar=False
        )
        return optuna.create_study(sampler=sampler, storage=optuna.storages.InMemoryStorage())
    finally:
        optuna.logging.set_verbosity(verbosity)
