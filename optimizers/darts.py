"""DARTS (Liu, Simonyan, Yang: DARTS, ICLR 2019; NAS-Bench-1Shot1, algorithm 1). See docs/darts.md."""

from dataclasses import dataclass

from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer, UpdateName


class DARTS(GradientOptimizer):
    """Softmax over every vector of Λ; Λ follows the validation gradient at the present weights."""


@dataclass(frozen=True, kw_only=True)
class SecondOrderHyperparameters(GradientHyperparameters):
    """DARTS's, with its second-order gradient."""

    update: UpdateName = "second-order"
    """Gradient of Λ: first-order at the present weights, second-order through one virtual step of them."""


class SecondOrderDARTS(DARTS):
    """The same, with Λ's gradient through one virtual step of the weights (equation 7)."""

    Hyperparameters = SecondOrderHyperparameters
