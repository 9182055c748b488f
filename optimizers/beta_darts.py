"""β-DARTS (Ye et al.: β-DARTS: Beta-Decay Regularization for Differentiable Architecture Search, CVPR 2022).

See docs/beta_darts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, TermName
from nasbench1shot1.runs.options import IF_GIVEN, Range

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class BetaDARTSHyperparameters(GradientHyperparameters):
    """Options of β-DARTS: DARTS with a term that keeps the entries of every vector of Λ small and comparable."""

    term: Annotated[TermName | None, IF_GIVEN] = "beta"
    """Term that is added to the loss of Λ."""
    flooding: Annotated[float, Range(0)] = 0.0
    """Level b of the weights' loss, which becomes |L - b| + b (β-DARTS++); 0 disables flooding."""


class BetaDARTS(DARTS):
    """DARTS whose loss of Λ has the term λ · mean log Σ exp(Λ), with λ growing over the epochs."""

    Hyperparameters = BetaDARTSHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    hyperparameters: BetaDARTSHyperparameters

    def weight_loss(self, loss: Tensor) -> Tensor:
        """Return the loss, mirrored at the flooding level where it is below that level (Ishida et al., ICML 2020)."""
        level = self.hyperparameters.flooding
        return (loss - level).abs() + level if level else loss
