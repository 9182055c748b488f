"""What the methods share that move Λ with Adam along a gradient."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.optimizer import ArchitectureSettings, OneShotOptimizer
from nasbench1shot1.space import OneShotSpace


class GradientOptimizer(OneShotOptimizer):
    """A one-shot method whose Λ follows a gradient; Adam as in DARTS (Liu et al. 2019, section 3)."""

    def __init__(
        self, space: OneShotSpace, settings: ArchitectureSettings, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(space, settings, generator, device)
        self.adam = torch.optim.Adam(
            self.parameters.values(),
            lr=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )

    def descend(self, loss: Tensor) -> None:
        """One step of Adam along -∂loss/∂Λ; the supernet's weights get no gradient, and none is computed for them."""
        keys, leaves = zip(*self.parameters.items(), strict=True)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        for key, gradient in zip(keys, gradients, strict=True):
            self.parameters[key].grad = gradient
        self.adam.step()
        self.adam.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Λ and Adam's moments."""
        return {
            "parameters": {key: value.detach().clone() for key, value in self.parameters.items()},
            "adam": self.adam.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up Λ and Adam's moments."""
        with torch.no_grad():
            for key, value in self.parameters.items():
                value.copy_(state["parameters"][key])
        self.adam.load_state_dict(state["adam"])
