"""DrNAS (Chen et al.: DrNAS: Dirichlet Neural Architecture Search, ICLR 2021). See docs/drnas.md."""

from dataclasses import dataclass

from nasbench1shot1.optimizers.gradient import (
    PUBLISHED_SETTINGS,
    GradientHyperparameters,
    GradientOptimizer,
    RelaxationName,
)


@dataclass(frozen=True, kw_only=True)
class DrNASHyperparameters(GradientHyperparameters):
    """Options of DrNAS: mixing weights drawn from a Dirichlet distribution."""

    relaxation: RelaxationName = "dirichlet"
    """Relaxation, which turns Λ into mixing weights."""


class DrNAS(GradientOptimizer):
    """Train with mixing weights drawn from Dir(elu(Λ) + 1); Λ follows pathwise gradients."""

    Hyperparameters = DrNASHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    original_defaults = {"evaluation_noise": True}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012
