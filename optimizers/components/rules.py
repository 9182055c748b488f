"""The exponentiated-gradient rule, by which Λ can move instead of by Adam (Li et al.: GAEA, ICLR 2021, section 3.2)."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

LEAST_SHARE = 1e-5  # as published: a mixing weight cannot become smaller, so that it can grow again


def start_uniformly(parameters: Mapping[str, Tensor]) -> None:
    """Set Λ to the logarithms of uniform mixing weights, in place."""
    with torch.no_grad():
        for value in parameters.values():
            value.fill_(-math.log(value.shape[-1]))


@torch.no_grad()
def exponentiate(
    parameters: Mapping[str, Tensor], gradients: Mapping[str, Tensor], rate: float, entropy_weight: float = 0.0
) -> None:
    """Take a step of the exponentiated gradient on Λ = log θ, in place.

    θ ← θ · exp(-η ∂L/∂θ), raised to at least 1e-5 and normalised. In terms of Λ, this is a step of plain gradient
    descent with the gradient that is taken at θ, followed by a normalisation. So softmax(Λ) is θ. Entries of Λ that are
    -inf belong to excluded candidates, and stay.

    Args:
        parameters: Λ.
        gradients: ∂L/∂θ for every key.
        rate: the learning rate η.
        entropy_weight: weight of the term Σ θ log(θ n) in L, with n candidates, which keeps θ close to uniform.
    """
    for key, value in parameters.items():
        left = value > -math.inf
        value.sub_(value.logsumexp(dim=-1, keepdim=True))
        of_entropy = entropy_weight * (value + math.log(value.shape[-1]) + 1)
        moved = (value - rate * (gradients[key] + of_entropy)).clamp(min=math.log(LEAST_SHARE))
        value.copy_(torch.where(left, moved, -math.inf))
        value.sub_(value.logsumexp(dim=-1, keepdim=True))


def gradients_of_shares(parameters: Mapping[str, Tensor], gradients: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return ∂L/∂θ = (∂L/∂Λ) / θ for every key, with Λ = log θ.

    Args:
        parameters: Λ. A constant added to a vector of Λ changes neither θ = softmax(Λ) nor L.
        gradients: ∂L/∂Λ, in the order of the keys.
    """
    pairs = zip(parameters.items(), gradients, strict=True)
    return {key: of / value.detach().softmax(dim=-1).clamp(min=LEAST_SHARE) for (key, value), of in pairs}
