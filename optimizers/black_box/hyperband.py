"""Hyperband: train many random architectures at small budgets, and the best of them longer.

Source: Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization (JMLR 2018,
arXiv:1603.06560), algorithm 1. The brackets are hpbandster's (Falkner et al., ICML 2018), which repeats them
indefinitely.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.optimizers.black_box.trials import TrialOptimizer
from nasbench1shot1.proposers.brackets import EndlessBrackets, Plan
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from nasbench1shot1.proposers.bracket_proposer import Proposal
    from nasbench1shot1.proposers.configurations import ConfigurationGenerator


@dataclass(frozen=True, kw_only=True)
class HyperbandHyperparameters(Hyperparameters):
    """The options of Hyperband."""

    eta: Annotated[int, Range(2)] = 3  # run_hyperband.py of NAS-Bench-101's authors and of NAS-Bench-1Shot1
    """Reduction factor: one in eta configurations at a budget is promoted to the next larger budget."""


class Hyperband(TrialOptimizer):
    """Hyperband on the budgets of the table, with uniformly drawn architectures.

    With the budgets 4, 12, 36 and 108 and eta 3, the first bracket trains 27 architectures for 4 epochs, the best 9 for
    12, the best 3 for 36 and the best one for 108 epochs. The next brackets start with 9 architectures at 12 epochs, 6
    at 36 and 4 at 108; then the cycle repeats. Each promotion is a new training and costs its full time.

    With bounds, architectures outside them are drawn again, and do not take a place in a bracket.

    If all trainings of a bracket are running on other simulated workers, the next bracket begins, as in hpbandster.

    Raises:
        UserError: the extra [tune] is not installed.
    """

    Hyperparameters = HyperbandHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        require_package("hpbandster", type(self).__name__, extra="tune")
        from nasbench1shot1.proposers.bracket_proposer import BracketProposer

        self._proposer = BracketProposer(self.plan(), self.generator())

    @classmethod
    def unused_options(cls, hyperparameters: Any) -> Mapping[str, str]:
        """Return `epochs` as unused, because the brackets train at the budgets of the table."""
        return {"epochs": "the brackets of this method train at all budgets of the table"}

    def plan(self) -> Plan:
        """Return the brackets."""
        return EndlessBrackets(self.budgets, self.hyperparameters.eta)

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """See `BlackBoxOptimizer`."""
        return tuple(sorted(set(map(self.trained_epochs, self.budgets))))

    def generator(self) -> "ConfigurationGenerator":
        """Return the generator of configurations. For Hyperband, configurations are architectures."""
        return _Sampler(self)

    def architecture(self, configuration: Any) -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is invalid."""
        arch: Architecture = configuration
        return arch

    def trained_epochs(self, budget: int) -> int:
        """Return the number of epochs to train at a bracket's budget."""
        return budget

    def next_trial(self) -> "Proposal | None":
        """Return the next training of a bracket."""
        return self._proposer.propose()

    def training(self, trial: "Proposal") -> Query:
        """Return the training of a proposal."""
        return Query(self.architecture(trial.configuration), self.trained_epochs(trial.epochs))

    def observe(self, trial: "Proposal", validation_error: float) -> None:
        """Report the error to the proposal's bracket."""
        self._proposer.observe(trial.configuration_id, trial.epochs, validation_error)


class _Sampler:
    """A configuration generator whose configurations are architectures, drawn uniformly from all valid encodings."""

    def __init__(self, method: Hyperband) -> None:
        self._method = method

    def get_config(self, *_: Any) -> tuple[Any, dict[str, bool]]:
        """Return a random architecture."""
        method = self._method
        return method.first_allowed(lambda: method.space.sample(method.rng)), {"model_based_pick": False}

    def new_result(self, job: Any) -> None:
        """Do nothing: Hyperband does not use a model."""
