"""Hyperband: random architectures at small budgets, of which the best are trained for longer.

Source: Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization (JMLR 2018,
arXiv:1603.06560), algorithm 1. The brackets are hpbandster's (Falkner et al., ICML 2018), which repeats them
without end.
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.hyperparameters import Hyperparameters
from nasbench1shot1.proposers.brackets import EndlessBrackets, Plan
from nasbench1shot1.proposers.extra import require_extra
from nasbench1shot1.runs.options import Range

if TYPE_CHECKING:
    from nasbench1shot1.proposers.bracket_proposer import Proposal
    from nasbench1shot1.proposers.generator import ConfigurationGenerator

ATTEMPTS = 100_000
"""Invalid configurations in a row, after which a search is given up."""
WORST_ERROR = 1.0
"""What a method learns of an invalid configuration, as in the published scripts of NAS-Bench-101."""


@dataclass(frozen=True, kw_only=True)
class HyperbandHyperparameters(Hyperparameters):
    """The options of Hyperband."""

    eta: Annotated[int, Range(2)] = 3  # run_hyperband.py of NAS-Bench-101's authors and of NAS-Bench-1Shot1
    """Of the configurations at a budget, one in eta is promoted to the next larger budget."""


class Hyperband(BlackBoxOptimizer):
    """Hyperband on the budgets of the table, with uniformly drawn architectures.

    With the budgets 4, 12, 36 and 108 and eta 3, the first bracket trains 27 architectures for 4 epochs, the best 9 for
    12, the best 3 for 36 and the best one for 108 epochs. The next brackets begin with 9 architectures at 12 epochs, 6
    at 36, and 4 at 108, and then with 27 at 4 again. Each promotion is a new training, which costs its full time.

    If all trainings of a bracket are running on other simulated workers, the next bracket begins, as in hpbandster.

    Raises:
        UserError: the extra [tune] is not installed.
    """

    Hyperparameters = HyperbandHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        require_extra("hpbandster", type(self).__name__)
        from nasbench1shot1.proposers.bracket_proposer import BracketProposer

        self._proposer = BracketProposer(self.plan(), self.generator())
        self._running: dict[Query, deque[Proposal]] = defaultdict(deque)

    def plan(self) -> Plan:
        """Return the brackets."""
        return EndlessBrackets(self.budgets, self.hyperparameters.eta)

    def generator(self) -> "ConfigurationGenerator":
        """Return what draws the configurations; Hyperband's are architectures."""
        return _Sampler(self)

    def architecture(self, configuration: Any) -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is invalid."""
        arch: Architecture = configuration
        return arch

    def trained_epochs(self, budget: int) -> int:
        """Return the epochs of a training at a bracket's budget."""
        return budget

    def ask(self) -> Query | None:
        """Return the next training of a bracket; invalid configurations get the worst error and cost nothing."""
        for _ in range(ATTEMPTS):
            if (proposal := self._proposer.propose()) is None:
                return None
            try:
                arch = self.architecture(proposal.configuration)
            except InvalidInputError:
                self._proposer.observe(proposal.configuration_id, proposal.epochs, WORST_ERROR)
                continue
            query = Query(arch, self.trained_epochs(proposal.epochs))
            self._running[query].append(proposal)
            return query
        raise InvalidInputError(f"{ATTEMPTS:,} configurations in a row are not in {self.space.name}: use another space")

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        """Register a result with its bracket; of equal queries, the earliest has ended."""
        waiting = self._running[query]
        proposal = waiting.popleft()
        if not waiting:
            del self._running[query]
        self._proposer.observe(proposal.configuration_id, proposal.epochs, validation_error)


class _Sampler:
    """A configuration generator whose configurations are architectures, drawn uniformly from all valid encodings."""

    def __init__(self, method: Hyperband) -> None:
        self._method = method

    def get_config(self, *_: Any) -> tuple[Any, dict[str, bool]]:
        """Return a random architecture."""
        return self._method.space.sample(self._method.rng), {"model_based_pick": False}

    def new_result(self, job: Any) -> None:
        """Do nothing: Hyperband learns nothing between brackets."""
