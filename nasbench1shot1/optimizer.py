"""What a one-shot optimizer is: it owns the architecture parameters Λ and turns them into mixing weights."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.registry import one_shot
from nasbench1shot1.space import OneShotSpace

INITIAL_SPREAD = 1e-3  # standard deviation of the initial Λ, as published


@dataclass(frozen=True)
class Mixing:
    """What one forward pass of the supernet is given.

    Attributes:
        weights: a tensor for every key of `space.mixing_shapes()`.
        operations: for single-path methods the sampled operation of every block, as Python integers; else None.
    """

    weights: Mapping[str, Tensor]
    operations: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Batch:
    """Normalised images (N, 3, H, W) and their labels (N,)."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class SearchStep:
    """All that an optimizer may use in one step of a search.

    Attributes:
        loss: (mixing, batch) → scalar, the supernet's cross-entropy.
        weight_batch: the batch of the weight half that the following weight step takes.
        architecture_batch: a batch of the architecture half.
        weight_optimizer: the SGD that moves the supernet's weights.
    """

    loss: Callable[[Mixing, Batch], Tensor]
    weight_batch: Batch
    architecture_batch: Batch
    weight_optimizer: torch.optim.Optimizer


@dataclass(frozen=True)
class ArchitectureSettings:
    """Hyperparameters of the optimizer that moves Λ."""

    learning_rate: float = 3e-4
    weight_decay: float = 1e-3
    betas: tuple[float, float] = (0.5, 0.999)


class OneShotOptimizer(ABC):
    """A one-shot method. The search loop calls, for every epoch, `begin_epoch`, then for every step
    `architecture_step` and `mixing`; after the epoch `evaluation_mixing` and `architecture`.

    Attributes:
        space: the search space.
        parameters: Λ, a leaf tensor for every key of `space.mixing_shapes()`.
    """

    def __init__(
        self, space: OneShotSpace, settings: ArchitectureSettings, generator: torch.Generator, device: torch.device
    ) -> None:
        """Draw Λ from `generator`, a CPU one, so that every device starts from the same values."""
        self.space, self.settings = one_shot(space), settings
        self.parameters = {
            key: (INITIAL_SPREAD * torch.randn(shape, generator=generator)).to(device).requires_grad_()
            for key, shape in self.space.mixing_shapes().items()
        }
        self.generator = generator

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Called before every epoch, 1 … epochs; all that the method draws in it must come from `generator`."""
        self.generator = generator

    @abstractmethod
    def mixing(self) -> Mixing:
        """The mixing weights of one training pass, differentiable with respect to Λ; methods that sample draw here."""

    @abstractmethod
    def architecture_step(self, step: SearchStep) -> None:
        """Move Λ once."""

    def evaluation_mixing(self) -> Mixing:
        """The mixing weights that the one-shot validation error is measured with; must not draw."""
        return self.mixing()

    def architecture(self) -> Architecture:
        """The architecture preferred now."""
        return self.space.discretise(self.parameters)

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All that `load_state_dict` needs to go on, as tensors and Python values."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave."""
