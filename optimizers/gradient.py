"""Base of gradient methods for Λ: any combination of a relaxation, a temperature schedule and an update rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.adam import AdamHyperparameters, AdamOptimizer
from nasbench1shot1.optimizers.widths import check_has_widths
from nasbench1shot1.runs.options import Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch

RelaxationName = Literal["softmax", "gumbel", "gumbel-operations", "single-path", "interpolation"]
"""The names in `relaxation.RELAXATIONS`."""
UpdateName = Literal["first-order", "second-order"]
"""The names in `updates.UPDATES`."""


@dataclass(frozen=True, kw_only=True)
class GradientHyperparameters(AdamHyperparameters):
    """Options of all gradient methods; each method sets its own defaults."""

    relaxation: RelaxationName = "softmax"
    """Relaxation, which turns Λ into mixing weights."""
    temperature_max: float = 1.0
    """Temperature of the relaxation in the first epoch, from which it falls linearly."""
    temperature_min: float = 1.0
    """Temperature of the relaxation in the last epoch."""
    temperature_ends_after: bool = False
    """Reach the minimum temperature one epoch after the last, as in the published code."""
    draws: Annotated[int, Range(1, 1000)] = 1
    """Number of samples per forward pass, which the cells use in turn."""
    evaluation_noise: bool = False
    """Also sample for the one-shot error, as in the published code, instead of using the mode."""
    update: UpdateName = "first-order"
    """Gradient of Λ: first-order (at the current weights) or second-order (through one virtual weight step)."""

    def check(self) -> None:
        """Raise InvalidInputError for a value that is out of range."""
        super().check()
        for name, known in (("relaxation", get_args(RelaxationName)), ("update", get_args(UpdateName))):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if not 0 < self.temperature_min <= self.temperature_max < math.inf:
            raise InvalidInputError(
                f"the temperature cannot fall from {option('temperature_max', self.temperature_max)} to "
                f"{option('temperature_min', self.temperature_min)}: both must be finite and more than 0, and the "
                "maximum at least the minimum"
            )
        if self.draws > 1 and self.relaxation in ("softmax", "single-path"):
            why = "is not random" if self.relaxation == "softmax" else "is the same for all cells"
            raise InvalidInputError(f"the relaxation {self.relaxation} {why}: give {option('draws', 1)}")


class GradientOptimizer(AdamOptimizer):
    """A one-shot method that trains the weights with a relaxation of Λ, and Λ with the gradient through it."""

    Hyperparameters = GradientHyperparameters
    hyperparameters: GradientHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, hyperparameters, generator, device)
        if self.hyperparameters.relaxation == "interpolation":
            check_has_widths(space, option("relaxation", "interpolation"))
        self.temperature = self.hyperparameters.temperature_max

    @property
    def is_annealed(self) -> bool:
        """Whether the temperature falls."""
        return self.hyperparameters.temperature_min < self.hyperparameters.temperature_max

    @property
    def evaluates_with_noise(self) -> bool:
        """Whether the option `evaluation_noise` is set."""
        return self.hyperparameters.evaluation_noise

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set the temperature of the epoch."""
        super().begin_epoch(epoch, epochs, generator)
        settings = self.hyperparameters
        steps = epochs if settings.temperature_ends_after else max(epochs - 1, 1)
        share = (epoch - 1) / steps
        self.temperature = settings.temperature_max + share * (settings.temperature_min - settings.temperature_max)

    def mixing(self) -> Mixing:
        """Return the relaxation of Λ at this epoch's temperature, with its noise, if any."""
        return self._relax(self.generator)

    def evaluation_mixing(self) -> Mixing:
        """Return the relaxation without noise, or with noise if `evaluation_noise` is set."""
        return self._relax(self.generator if self.hyperparameters.evaluation_noise else None)

    def _relax(self, generator: torch.Generator | None) -> Mixing:
        from nasbench1shot1.optimizers.relaxation import RELAXATIONS

        relax, draws = RELAXATIONS[self.hyperparameters.relaxation], self.hyperparameters.draws
        if draws == 1:
            return relax(self.space, self.parameters, self.temperature, generator)
        repeated = {key: value.expand(draws, *value.shape) for key, value in self.parameters.items()}
        return relax(self.space, repeated, self.temperature, generator).unstacked()

    def architecture_step(self, step: SearchStep) -> None:
        """Take one Adam step on Λ with the gradient that `update` selects."""
        import torch

        from nasbench1shot1.optimizers.updates import UPDATES

        mixing = self.mixing()
        tensors = mixing.tensors()
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        of_mixing = UPDATES[self.hyperparameters.update](step, mixing.with_tensors(iter(leaves)), leaves)
        parameters = list(self.parameters.values())
        self.descend(torch.autograd.grad(tensors, parameters, of_mixing, allow_unused=True))

    def state_dict(self) -> dict[str, Any]:
        """Return Λ, Adam's moments and the temperature."""
        return {**super().state_dict(), "temperature": self.temperature}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        super().load_state_dict(state)
        self.temperature = state["temperature"]
