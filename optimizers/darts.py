"""DARTS (Liu, Simonyan, Yang: DARTS, ICLR 2019; NAS-Bench-1Shot1, algorithm 1). See docs/darts.md."""

from dataclasses import dataclass
from typing import Any

from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer, UpdateName


class DARTS(GradientOptimizer):
    """Train with the softmax of every vector of Λ; update Λ with the validation gradient at the current weights."""

    original_family_defaults = {"nasbench201": {"weights_first": True}}  # noqa: RUF012

    def __init_subclass__(cls, **named: Any) -> None:
        """Prevent variants from inheriting DARTS's published order on NAS-Bench-201: they have their own code."""
        super().__init_subclass__(**named)
        if "original_family_defaults" not in vars(cls):
            cls.original_family_defaults = {}


@dataclass(frozen=True, kw_only=True)
class SecondOrderHyperparameters(GradientHyperparameters):
    """The options of DARTS, with the second-order gradient as default."""

    update: UpdateName = "second-order"
    """Gradient of Λ: first-order (at the current weights), second-order (through one virtual weight step) or implicit
    (through the optimum of the weights, iDARTS)."""


class SecondOrderDARTS(DARTS):
    """DARTS with the gradient of Λ through one virtual weight step (equation 7)."""

    Hyperparameters = SecondOrderHyperparameters
