"""Base of methods that learn Λ with Adam, as in DARTS (Liu, Simonyan, Yang: DARTS, ICLR 2019, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.optimizer import Hyperparameters, OneShotOptimizer
from nasbench1shot1.runs.options import IF_GIVEN, RATE, OfLength, Range
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BETAS = (0.5, 0.999)


@dataclass(frozen=True, kw_only=True)
class AdamHyperparameters(Hyperparameters):
    """Options of Λ's optimizer."""

    architecture_learning_rate: Annotated[float, RATE, OfLength.STEP] = 3e-4
    """Learning rate of Λ (Adam)."""
    architecture_weight_decay: Annotated[float, RATE] = 1e-3
    """Weight decay of Λ (Adam)."""
    architecture_grad_clip: Annotated[float, Range(0)] = 0.0
    """Maximum norm of Λ's gradient; 0 disables clipping."""
    architecture_beta1: Annotated[float | None, Range(0, below=1), IF_GIVEN] = None
    """First beta of Λ's Adam, the decay rate of the mean of gradients: at least 0, less than 1. Default: 0.5."""
    weights_first: Annotated[bool | None, IF_GIVEN] = None
    """Train the weights before Λ in every step, as in the published code of NAS-Bench-201. Default: no."""


class AdamOptimizer(OneShotOptimizer):
    """A one-shot method that learns Λ with Adam; subclasses compute the gradient."""

    Hyperparameters = AdamHyperparameters
    hyperparameters: AdamHyperparameters

    def __init__(
        self, space: OneShotSpace, hyperparameters: Any, generator: torch.Generator, device: torch.device
    ) -> None:
        import torch

        super().__init__(space, hyperparameters, generator, device)
        own = self.hyperparameters
        self.adam = torch.optim.Adam(
            self.parameters.values(),
            lr=own.architecture_learning_rate,
            betas=BETAS if own.architecture_beta1 is None else (own.architecture_beta1, BETAS[1]),
            weight_decay=own.architecture_weight_decay,
        )

    @property
    def trains_weights_first(self) -> bool:
        """Whether the option `weights_first` is set."""
        return bool(self.hyperparameters.weights_first)

    def descend(self, gradients: tuple[Tensor | None, ...]) -> None:
        """Take one step of Adam, given ∂loss/∂Λ for every tensor of Λ.

        Raises InvalidInputError unless there is a tensor of the right shape, or None, for every tensor of Λ.
        """
        from torch.nn.utils import clip_grad_norm_

        self._check_gradients(gradients)
        for value, gradient in zip(self.parameters.values(), gradients, strict=True):
            value.grad = gradient
        if self.hyperparameters.architecture_grad_clip:
            clip_grad_norm_(self.parameters.values(), self.hyperparameters.architecture_grad_clip)
        self.adam.step()
        self.adam.zero_grad()

    def _check_gradients(self, gradients: Sequence[Tensor | None]) -> None:
        wanted = [tuple(value.shape) for value in self.parameters.values()]
        if len(gradients) == len(wanted) and all(
            gradient is None or tuple(gradient.shape) == shape
            for gradient, shape in zip(gradients, wanted, strict=True)
        ):
            return
        shapes = ", ".join(f"{shape} for {key}" for key, shape in zip(self.parameters, wanted, strict=True))
        given = ", ".join("None" if gradient is None else str(tuple(gradient.shape)) for gradient in gradients)
        raise InvalidInputError(
            f"{type(self).__name__} must give descend() a gradient, or None, for each tensor of Λ, of shape {shapes}, "
            f"not {given or 'nothing'}"
        )

    def state_dict(self) -> dict[str, Any]:
        """Return Λ and Adam's moments."""
        return {
            "parameters": {key: value.detach().clone() for key, value in self.parameters.items()},
            "adam": deepcopy(self.adam.state_dict()),  # otherwise its moments would keep changing
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        import torch

        with torch.no_grad():
            for key, value in self.parameters.items():
                value.copy_(state["parameters"][key])
        self.adam.load_state_dict(state["adam"])
