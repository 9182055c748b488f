"""DrNAS (Chen et al.: DrNAS: Dirichlet Neural Architecture Search, ICLR 2021). See docs/drnas.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.components.relaxation_kinds import RelaxationName
from nasbench1shot1.optimizers.gradient import (
    PUBLISHED_SETTINGS,
    GradientHyperparameters,
    GradientOptimizer,
)
from nasbench1shot1.phases import Phase, bilevel_phases
from nasbench1shot1.runs.options import Range
from nasbench1shot1.runs.schedules import Cosine

if TYPE_CHECKING:
    import torch

    from nasbench1shot1.space import OneShotSpace


@dataclass(frozen=True, kw_only=True)
class DrNASHyperparameters(GradientHyperparameters):
    """Options of DrNAS: mixing weights drawn from a Dirichlet distribution."""

    relaxation: RelaxationName = "dirichlet"
    """Relaxation that turns Λ into mixing weights."""


class DrNAS(GradientOptimizer):
    """Train with mixing weights drawn from Dir(elu(Λ) + 1); Λ follows pathwise gradients."""

    Hyperparameters = DrNASHyperparameters
    defaults = {"epochs": 100}  # noqa: RUF012
    original_defaults = {"evaluation_noise": True}  # noqa: RUF012
    original_family_defaults = {"nasbench201": PUBLISHED_SETTINGS}  # noqa: RUF012


@dataclass(frozen=True, kw_only=True)
class ProgressiveDrNASHyperparameters(DrNASHyperparameters):
    """Options of progressive DrNAS: a second stage with fewer operations and more channels."""

    kept_share: Annotated[float, Range(0, 1)] = 0.6
    """Share of the operations of each choice that the second stage keeps. The number is rounded up to at least one."""
    second_partial_channels: Annotated[int, Range(1)] = 2
    """Apply operations to 1/k of a block's channels in the second stage; --partial-channels is k of the first stage."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range, and for meaningless combinations."""
        super().check()
        if self.kind.mixes_widths:
            raise InvalidInputError(
                f"progressive DrNAS excludes operations, but {option('relaxation', self.relaxation)} interpolates "
                f"widths: choose another {option('relaxation')}"
            )


class ProgressiveDrNAS(DrNAS):
    """DrNAS in two stages: the second one keeps the operations with the largest Λ, on more channels.

    Λ does not move in the first `warm_start_epochs` epochs of each stage. One cosine schedule spans both stages.
    """

    Hyperparameters = ProgressiveDrNASHyperparameters
    defaults = {"epochs": 100, "partial_channels": 4, "warm_start_epochs": 10}  # noqa: RUF012
    hyperparameters: ProgressiveDrNASHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        self.stage = 1

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells of the space cannot leave out operations, or change their channels."""
        for feature in ("masked-operations", "partial-channels"):
            space.check_cells(feature, "progressive DrNAS")

    def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
        """Return a warm-up and a search for each stage; raises InvalidInputError if a stage has no epoch to search."""
        first = _first_stage(epochs)
        if epochs - first <= warm_start_epochs:
            raise InvalidInputError(
                f"{option('epochs', epochs)} is too few for two stages that each begin with "
                f"{option('warm_start_epochs', warm_start_epochs)}: raise the first or lower the second"
            )
        stages = []
        for number, (begin, length) in enumerate([(0, first), (first, epochs - first)], start=1):
            for phase in bilevel_phases(length, warm_start_epochs):
                start = begin + (1 if phase.name == "warm-up" or not warm_start_epochs else warm_start_epochs + 1)
                widened = self.hyperparameters.second_partial_channels if number == 2 else None
                stages.append(
                    replace(
                        phase,
                        name=f"stage {number}" + (", warm-up" if phase.name == "warm-up" else ""),
                        schedule=Cosine(epochs, start),
                        partial_channels=widened,
                    )
                )
        return stages

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Exclude operations before the first epoch of the second stage."""
        super().begin_epoch(epoch, epochs, generator)
        if epoch > _first_stage(epochs) and self.stage == 1:
            self.stage = 2
            self._exclude()

    def _exclude(self) -> None:
        """Keep the operations with the largest Λ of each choice of operations."""
        for number, choice in enumerate(self.space.choices()):
            if choice.key == self.space.operation_key:
                of_choice = choice.of(self.preferences())
                entries = len(self.allowed[number])
                kept = max(math.ceil(self.hyperparameters.kept_share * entries - ROUNDING), choice.picks)
                order = of_choice.detach().argsort(descending=True, stable=True)
                self.allowed.keep(number, order[:kept].tolist())

    def structure(self) -> Mapping[str, Any]:
        """Return the operations that are not excluded, and the stage."""
        return {"stage": self.stage, **super().structure()}

    @property
    def changes_structure(self) -> bool:
        """True: the first stage uses other channels and operations than the last."""
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the state of DrNAS, and the stage."""
        return {**super().state_dict(), "stage": self.stage}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.stage = int(state["stage"])


ROUNDING = 1e-9
"""Tolerance for floating-point error before rounding up: 0.6 · 5 must give 3."""


def _first_stage(epochs: int) -> int:
    """Return the number of epochs of the first stage: half of them, rounded up."""
    return epochs - epochs // 2
