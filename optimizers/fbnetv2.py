"""FBNetV2 (Wan et al.: Differentiable Neural Architecture Search for Spatial and Channel Dimensions, CVPR 2020), as run
on NATS-Bench's size space, where it is called mask_gumbel. See docs/fbnetv2.md.
"""

from dataclasses import dataclass
from typing import Annotated

from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer
from nasbench1shot1.optimizers.widths import WidthHyperparameters, WidthOptimizer
from nasbench1shot1.runs.options import Range


@dataclass(frozen=True, kw_only=True)
class FBNetV2Hyperparameters(GradientHyperparameters, WidthHyperparameters):
    """Options of FBNetV2: a soft Gumbel-softmax of all widths, and a falling temperature."""

    relaxation: RelaxationName = "gumbel"
    """Relaxation, which turns Λ into mixing weights."""
    temperature_max: Annotated[float, Range(above=0)] = 10.0
    """Temperature of the relaxation in the first epoch, from which it falls linearly."""
    temperature_min: Annotated[float, Range(above=0)] = 0.1
    """Temperature of the relaxation in the last epoch."""
    weights_first: bool | None = False
    """Train the weights before Λ in every step, as in the published code, instead of after it."""


class FBNetV2(WidthOptimizer, GradientOptimizer):
    """Mask the channels of every layer by a mixture of the masks of all widths; Λ follows the gradient through it."""

    Hyperparameters = FBNetV2Hyperparameters
    original_defaults = {"epochs": 100, "draws": 6, "evaluation_noise": True, "weights_first": True}  # noqa: RUF012
    hyperparameters: FBNetV2Hyperparameters

    @property
    def evaluates_relaxation(self) -> bool:
        """False: the one-shot error is measured on the preferred architecture, or on random samples."""
        return False

    def searched_mixing(self) -> Mixing:
        """Return the relaxation of Λ at this epoch's temperature."""
        return self._relax(self.generator)
