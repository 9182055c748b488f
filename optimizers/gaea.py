"""GAEA (Li et al.: Geometry-Aware Gradient Algorithms for Neural Architecture Search, ICLR 2021). See docs/gaea.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, RuleName
from nasbench1shot1.phases import Data, Phase, bilevel_phases
from nasbench1shot1.runs.options import IF_GIVEN, Range


@dataclass(frozen=True, kw_only=True)
class GAEAHyperparameters(GradientHyperparameters):
    """Options of GAEA: DARTS whose mixing weights move by exponentiated gradients."""

    rule: Annotated[RuleName | None, IF_GIVEN] = "exponentiated-gradient"
    """Rule by which Λ moves: adam, or exponentiated-gradient on the mixing weights."""
    architecture_learning_rate: Annotated[float, Range(0)] = 0.1
    """Learning rate of Λ."""
    architecture_weight_decay: Annotated[float, Range(0)] = 0.0
    """Weight of an entropy term in the loss of Λ, or Adam's weight decay."""
    levels: Literal["bilevel", "single-level"] = "bilevel"
    """bilevel: one half trains the weights, the other Λ; single-level (ERM): all images train both."""


class GAEA(DARTS):
    """Train with the softmax of Λ = log θ; multiply θ by exp(-η ∂L/∂θ) and normalise it."""

    Hyperparameters = GAEAHyperparameters
    hyperparameters: GAEAHyperparameters

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return the usual phases, on all images if the search has a single level."""
        data: Data = "all" if self.hyperparameters.levels == "single-level" else "halves"
        return bilevel_phases(epochs, warm_start_epochs, data=data)
