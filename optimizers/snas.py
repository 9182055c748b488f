"""SNAS (Xie et al.: SNAS: Stochastic Neural Architecture Search, ICLR 2019). See docs/snas.md."""

from dataclasses import dataclass

from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer


@dataclass(frozen=True, kw_only=True)
class SNASHyperparameters(GradientHyperparameters):
    """Options of SNAS: a soft Gumbel-softmax for operations and edges, and a falling temperature."""

    relaxation: RelaxationName = "gumbel"
    """Relaxation, which turns Λ into mixing weights."""
    temperature_max: float = 1.0
    """Temperature of the relaxation in the first epoch, from which it falls linearly."""
    temperature_min: float = 0.03
    """Temperature of the relaxation in the last epoch."""


class SNAS(GradientOptimizer):
    """Draw mixing weights from the concrete distribution, which sharpens as the temperature falls."""

    Hyperparameters = SNASHyperparameters
