"""FairDARTS (Chu et al.: Fair DARTS: Eliminating Unfair Advantages in Differentiable Architecture Search, ECCV 2020).

See docs/fair_darts.md.
"""

from dataclasses import dataclass
from typing import Annotated

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
    """Train with the sigmoid of every operation, so that operations do not compete."""

    Hyperparameters = FairDARTSHyperparameters
