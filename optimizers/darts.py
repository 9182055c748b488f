"""DARTS (Liu, Simonyan, Yang: DARTS, ICLR 2019; NAS-Bench-1Shot1, algorithm 1). See docs/darts.md."""

from dataclasses import dataclass

from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer, UpdateName


class DARTS(GradientOptimizer):
    """Train with the softmax of every vector of Λ; update Λ with the validation gradient at the current weights."""


@dataclass(frozen=True, kw_only=True)
class SecondOrderHyperparameters(GradientHyperparameters):
    """The options of DARTS, with the second-order gradient as default."""

    update: UpdateName = "second-order"
    """Gradient of Λ: first-order (at the current weights), second-order (through one virtual weight step) or implicit
    (through the optimum of the weights, iDARTS)."""


class SecondOrderDARTS(DARTS):
    """DARTS with the gradient of Λ through one virtual weight step (equation 7)."""

    Hyperparameters = SecondOrderHyperparameters
