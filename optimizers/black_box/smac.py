"""SMAC: Bayesian optimization with a random forest and repeated trainings of the incumbent.

Source: Hutter, Hoos and Leyton-Brown, Sequential Model-Based Optimization for General Algorithm Configuration (LION
2011); Lindauer et al., SMAC3 (JMLR 2022). The settings come from run_smac.py of NAS-Bench-101's authors.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.optimizers.black_box.trials import EncodedHyperparameters, TrialOptimizer
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from smac.runhistory import TrialInfo


@dataclass(frozen=True, kw_only=True)
class SMACHyperparameters(EncodedHyperparameters):
    """The options of SMAC."""

    trees: Annotated[int, Range(1)] = 10
    """Number of trees of the random forest."""
    random_fraction: Annotated[float, Range(0, 1)] = 0.33
    """Probability of drawing a configuration at random."""
    configuration_trainings: Annotated[int, Range(1)] = 4
    """Maximum number of trainings per configuration; SMAC repeats trainings of its incumbent to estimate its mean."""
    challengers: Annotated[int, Range(1)] = 5000
    """Number of random configurations that the acquisition function ranks per proposal."""


class SMAC(TrialOptimizer):
    """SMAC3 with an ask-and-tell interface: random forest, expected improvement, local search and SMAC's intensifier.

    Before each new configuration, the incumbent is trained once more, up to `configuration_trainings` times. A new
    configuration that is not worse than the incumbent after its first training is trained 2 and then 4 times. The
    forest is fitted to mean errors and refitted for each new configuration.

    A configuration outside the space gets the error 1 at no cost, as in NAS-Bench-101's published script. `ask` returns
    None after all configurations have been proposed.

    Raises:
        UserError: the extra [tune] is not installed.
    """

    Hyperparameters = SMACHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        require_package("smac", "SMAC", extra="tune")
        from nasbench1shot1.proposers.smac import AskTellFacade

        own = self.hyperparameters
        self._encoding = self.space.encoding(own.encoding)
        self._facade = AskTellFacade(
            self._encoding.configuration_space(),
            seed=int(self.rng.integers(2**31)),
            trees=own.trees,
            random_fraction=own.random_fraction,
            most_trainings=own.configuration_trainings,
            challengers=own.challengers,
        )

    def next_trial(self) -> "TrialInfo | None":
        """Return a trial of a new configuration, a challenger or the incumbent."""
        return self._facade.ask()

    def training(self, trial: "TrialInfo") -> Query:
        """Return the training of a configuration."""
        return self.query(self._encoding.from_configuration(trial.config))

    def observe(self, trial: "TrialInfo", validation_error: float) -> None:
        """Report the error of a trial to SMAC."""
        self._facade.tell(trial, validation_error)
