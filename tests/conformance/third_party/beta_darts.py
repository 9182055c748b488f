"""DARTS with the β-decay regulariser of β-DARTS (Ye et al., CVPR 2022): a term in the loss of Λ."""

from dataclasses import dataclass
from typing import Annotated

import torch

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters
from nasbench1shot1.runs.options import Range


@dataclass(frozen=True, kw_only=True)
class BetaHyperparameters(GradientHyperparameters):
    """The options of DARTS, and the weight of the regulariser."""

    beta_decay: Annotated[float, Range(0)] = 50.0
    """Weight of the regulariser in the last epoch; it grows linearly from zero."""


class BetaDARTS(DARTS):
    """DARTS with an additional term in the loss of Λ: λ · the mean of logsumexp over all vectors of Λ."""

    Hyperparameters = BetaHyperparameters
    hyperparameters: BetaHyperparameters
    strength = 0.0

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        """Set λ, which depends only on the epoch, so checkpoints do not need to store it."""
        super().begin_epoch(epoch, epochs, generator)
        self.strength = self.hyperparameters.beta_decay * epoch / epochs

    def descend(self, gradients: tuple[torch.Tensor | None, ...]) -> None:
        """Add the gradient of the term, before the gradient of Λ is clipped and Adam takes a step."""
        leaves = [value.detach().requires_grad_() for value in self.parameters.values()]
        vectors = torch.cat([value.logsumexp(dim=-1).reshape(-1) for value in leaves])
        terms = torch.autograd.grad(self.strength * vectors.mean(), leaves)
        super().descend(tuple(t if g is None else g + t for g, t in zip(gradients, terms, strict=True)))
