"""Levels: whether the weights and Λ train on separate images or on the same ones, and on which.

Shared by GAEA and FairDARTS, whose published codes have a search with a single level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.gradient import GradientHyperparameters
from nasbench1shot1.phases import Data, Phase, TrainingImages, bilevel_phases


@dataclass(frozen=True, kw_only=True)
class LevelHyperparameters(GradientHyperparameters):
    """Options of methods whose weights and Λ can train on the same images."""

    levels: Literal["bilevel", "single-level"] = "bilevel"
    """bilevel: the weight half trains the weights, and the architecture half trains Λ. single-level: the images of
    --training-images train both."""
    training_images: TrainingImages = "weight-half"
    """Images that train the weights: weight-half, or all, which needs --levels single-level. With all, no images are
    held out, and the one-shot error is measured on images that also trained the weights."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for meaningless combinations."""
        super().check()
        if self.training_images == "all" and self.levels == "bilevel":
            raise InvalidInputError(
                f"{option('training_images', 'all')} leaves no images for Λ alone, which {option('levels', 'bilevel')} "
                f"needs: remove it, or give {option('levels', 'single-level')}"
            )

    @property
    def is_single_level(self) -> bool:
        """Whether the same images train the weights and Λ."""
        return self.levels == "single-level"


def level_phases(settings: LevelHyperparameters, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
    """Return the usual phases, on the images that `settings` select; arguments as for `phases.bilevel_phases`."""
    data: Data = settings.training_images if settings.is_single_level else "halves"
    return bilevel_phases(epochs, warm_start_epochs, data=data)
