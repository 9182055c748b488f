"""FairDARTS (Chu et al.: Fair DARTS: Eliminating Unfair Advantages in Differentiable Architecture Search, ECCV 2020).

See docs/fair_darts.md.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer, RelaxationName, TermName
from nasbench1shot1.runs.options import IF_GIVEN, Range


@dataclass(frozen=True, kw_only=True)
class FairDARTSHyperparameters(GradientHyperparameters):
    """Options of FairDARTS: a sigmoid per operation, and a term that drives sigmoids to 0 or 1."""

    relaxation: RelaxationName = "sigmoid"
    """Relaxation, which turns Λ into mixing weights."""
    term: Annotated[TermName | None, IF_GIVEN] = "zero-one"
    """Term that is added to the loss of Λ."""
    architecture_learning_rate: Annotated[float, Range(0)] = 3e-3
    """Learning rate of Λ (Adam)."""


class FairDARTS(GradientOptimizer):
    """Train with the sigmoid of every operation, so that operations do not compete.

    Entries of operations start at exactly 0, as published. An operation whose output is zero, such as `none`, has no
    gradient of its own, so the term would otherwise drive its sigmoid to 0 or 1 by the sign of the initial noise.
    """

    Hyperparameters = FairDARTSHyperparameters

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.parameters[self.space.operation_key].data.zero_()
