"""β-DARTS (Ye et al.: β-DARTS: Beta-Decay Regularization for Differentiable Architecture Search, CVPR 2022).

See docs/beta_darts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import PUBLISHED_SETTINGS, GradientHyperparameters, TermName
from nasbench1shot1.runs.options import IF_GIVEN, OnlyWith

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class BetaDARTSHyperparameters(GradientHyperparameters):
    """Options of β-DARTS: DARTS with a regularisation term that keeps mixing weights comparable."""

    term: Annotated[TermName | None, IF_GIVEN] = "beta"
    """Term added to the loss of Λ; none disables it."""
    second_order_term: Annotated[bool | None, OnlyWith("update", ("second-order",)), IF_GIVEN] = None
    """Add the term also with --update second-order; no omits it there, as in the published code. Default: yes."""


class BetaDARTS(DARTS):
    """DARTS whose loss of Λ has the term λ · mean log Σ exp(Λ), with λ growing over the epochs."""

    Hyperparameters = BetaDARTSHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    original_defaults = {"term_epochs": 100, "second_order_term": False}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
    hyperparameters: BetaDARTSHyperparameters

    def _with_term(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        own = self.hyperparameters
        return (
            gradients
            if own.update == "second-order" and own.second_order_term is False
            else super()._with_term(gradients)
        )
