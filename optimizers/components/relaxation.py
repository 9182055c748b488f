"""Relaxations, which turn architecture parameters Λ into mixing weights.

Each is a function (space, Λ, temperature, generator) → Mixing, differentiable with respect to Λ. `generator` is on the
CPU; if it is None, the result is the relaxation's mode instead of a sample. All relaxations except `single_path` also
accept Λ with a leading axis, for several samples at once. An entry of −∞ is excluded: its weight is 0.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.components.relaxation_kinds import KINDS
from nasbench1shot1.reading import LEAST_CONCENTRATION, Reading
from nasbench1shot1.space import OneShotSpace

Parameters = Mapping[str, Tensor]
Relaxation = Callable[[OneShotSpace, Parameters, float, torch.Generator | None], Mixing]


def softmax(space: OneShotSpace, parameters: Parameters, temperature: float, _: torch.Generator | None) -> Mixing:
    """Return S(Λ / τ), the softmax over all candidates of each choice (DARTS, equation 2)."""
    return Mixing(_softmax(parameters, temperature))


def gumbel(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return S((Λ + G) / τ) with Gumbel noise G: a sample of the concrete distribution (SNAS, equation 4)."""
    return Mixing(_softmax(add_gumbel_noise(parameters, generator), temperature))


def gumbel_operations(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return a Gumbel-softmax sample, hard for operations and soft for edges (GDAS, as in NAS-Bench-1Shot1).

    Only the sampled operations are computed, so the weights of other operations do not receive a gradient. All entries
    of Λ receive a gradient through the softmax from the sampled operation's weight (straight-through estimator: one-hot
    in the forward pass, soft in the backward pass).
    """
    noisy = add_gumbel_noise(parameters, generator)
    soft, key = _softmax(noisy, temperature), space.operation_key
    sampled = noisy[key].argmax(dim=-1)
    hard = F.one_hot(sampled, noisy[key].shape[-1]).to(noisy[key].dtype)
    operations = tuple(sampled.tolist())  # a single copy to the host for all samples
    return Mixing({**soft, key: _straight_through(hard, soft[key])}, operations)


def single_path(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return a Gumbel top-k sample, hard for operations and edges: an architecture drawn from S(Λ) without replacement.

    Only its path is computed; gradients are as in `gumbel_operations`.
    """
    noisy = add_gumbel_noise(parameters, generator)
    soft = _softmax(noisy, temperature)
    arch = space.discretise(_on_host(noisy))
    hard = {key: torch.from_numpy(value).to(soft[key], non_blocking=True) for key, value in space.one_hot(arch).items()}
    return Mixing({key: _straight_through(hard[key], soft[key]) for key in soft}, path=arch)


def interpolation(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return two candidates of each choice, drawn without replacement, and their shares (TAS, section 3.1).

    With ℓ = (Λ + G) / τ, the candidates are drawn from S(ℓ), and their shares are the softmax of their two entries of
    ℓ. All other candidates have the weight zero. Without a generator, the candidates are the two most probable ones.
    Only spaces of widths have layers that interpolate two candidates.
    """
    logits = {key: value / temperature for key, value in add_gumbel_noise(parameters, generator).items()}
    pairs = {key: draw_pairs(value, generator) for key, value in logits.items()}
    weights = {key: _shares(value, pairs[key]) for key, value in logits.items()}
    return Mixing(weights, _nested_pairs(pairs[space.operation_key]))


def sigmoid(space: OneShotSpace, parameters: Parameters, temperature: float, _: torch.Generator | None) -> Mixing:
    """Return σ(Λ / τ) for operations, which do not compete, and S(Λ / τ) for edges (FairDARTS, equation 4).

    Edges stay a softmax: FairDARTS does not have weights of edges.
    """
    key = space.operation_key
    return Mixing({**_softmax(parameters, temperature), key: (parameters[key] / temperature).sigmoid()})


def dirichlet(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return a sample of Dir(elu(Λ) + 1) for each choice, with pathwise gradients (DrNAS, section 3.1).

    Without a generator, this is the mean of the distribution. The temperature has no effect.
    """
    weights = {}
    for key, value in parameters.items():
        of_choice = concentrations(value)
        if generator is not None:
            drawn = torch._standard_gamma(of_choice.cpu(), generator=generator)  # on the CPU: equal on every device
            of_choice = drawn.clamp_min(torch.finfo(drawn.dtype).tiny).to(value.device)
        of_choice = of_choice.masked_fill(value == float("-inf"), 0.0)
        weights[key] = of_choice / of_choice.sum(dim=-1, keepdim=True)
    return Mixing(weights)


def concentrations(parameters: Tensor) -> Tensor:
    """Return the concentrations elu(Λ) + 1 of DrNAS's Dirichlet distributions, more than 0."""
    return (F.elu(parameters) + 1).clamp_min(LEAST_CONCENTRATION)


def reinmax(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Return operations drawn from S(β), with ReinMax's gradients, and S(Λ) for edges (Liu et al., NeurIPS 2023).

    The operations are one-hot in the forward pass. Their gradient is second-order accurate if it is known for all
    operations, so all of them must be computed when Λ moves; `operations` names the sampled ones for a weight step.
    """
    soft, key = _softmax(parameters, 1.0), space.operation_key
    sampled = add_gumbel_noise({key: parameters[key]}, generator)[key].argmax(dim=-1)
    one_hot = F.one_hot(sampled, parameters[key].shape[-1])
    hard = _ReinMax.apply(parameters[key], one_hot, temperature)  # type: ignore[no-untyped-call]
    return Mixing({**soft, key: hard}, tuple(sampled.tolist()))


class _ReinMax(torch.autograd.Function):
    """A one-hot sample D whose gradient is that of ReinMax: J(q) 2g - J(p) g / 2, less its mean (algorithm 2).

    p = S(Λ), q = (S(Λ / τ) + D) / 2, and J(v) g = v ⊙ (g - v · g) is the Jacobian of the softmax.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, sampled: Tensor, temperature: float) -> Tensor:
        hard = sampled.to(logits.dtype)
        ctx.save_for_backward(logits, hard)
        ctx.temperature = temperature
        return hard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        logits, hard = ctx.saved_tensors
        middle = (F.softmax(logits / ctx.temperature, dim=-1) + hard) / 2
        found = _softmax_jacobian(middle, 2 * gradient) - _softmax_jacobian(F.softmax(logits, dim=-1), gradient / 2)
        return found - found.mean(dim=-1, keepdim=True), None, None


def _softmax_jacobian(shares: Tensor, gradient: Tensor) -> Tensor:
    return shares * (gradient - (shares * gradient).sum(dim=-1, keepdim=True))


PAIR_EPSILON = 1e-7  # added to the probabilities, as published: two candidates can be drawn even if one is certain


def draw_pairs(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return two different candidates of every choice, (…, 2), from logits (…, candidates), on the CPU."""
    flat = F.softmax(logits.detach(), dim=-1).cpu().flatten(0, -2)
    if generator is None:
        drawn = flat.topk(2).indices
    else:
        drawn = torch.multinomial(flat + PAIR_EPSILON, 2, replacement=False, generator=generator)
    return drawn.view(*logits.shape[:-1], 2)


def _shares(logits: Tensor, pairs: Tensor) -> Tensor:
    """Return the softmax of each pair's two logits at the places of the pair, and zeros elsewhere."""
    places = pairs.to(logits.device)
    return torch.zeros_like(logits).scatter(-1, places, F.softmax(logits.gather(-1, places), dim=-1))


def _nested_pairs(pairs: Tensor) -> Any:
    """Return pairs (…, rows, 2) as nested tuples."""
    return tuple(map(_nested_pairs, pairs)) if pairs.dim() > 1 else tuple(pairs.tolist())


RELAXATIONS: dict[str, Relaxation] = {
    "softmax": softmax,
    "gumbel": gumbel,
    "gumbel-operations": gumbel_operations,
    "single-path": single_path,
    "interpolation": interpolation,
    "sigmoid": sigmoid,
    "dirichlet": dirichlet,
    "reinmax": reinmax,
}
"""The relaxations by their name in the option `relaxation`."""


def reading(relaxation: str, temperature: float) -> Reading:
    """Return how Λ maps to mixing weights under a relaxation.

    Samples of one candidate, and the largest entry of a Gumbel-softmax, have the probabilities S(Λ) at any temperature.
    """
    if relaxation == "dirichlet":
        return Reading("dirichlet", "dirichlet")
    kind = KINDS[relaxation]
    return Reading() if kind.has_noise else Reading(kind.encoding, temperature=temperature)


def add_gumbel_noise(parameters: Parameters, generator: torch.Generator | None) -> dict[str, Tensor]:
    """Return Λ + G with standard Gumbel noise G, copied to the device in one transfer; Λ without a generator."""
    if generator is None:
        return dict(parameters)
    sizes = [value.numel() for value in parameters.values()]
    device = next(iter(parameters.values())).device
    parts = gumbel_noise(sum(sizes), generator).to(device, non_blocking=True).split(sizes)
    return {key: value + part.view_as(value) for (key, value), part in zip(parameters.items(), parts, strict=True)}


def gumbel_noise(shape: int | torch.Size, generator: torch.Generator) -> Tensor:
    """Return standard Gumbel noise, float32, always finite."""
    exponential = torch.empty(shape).exponential_(generator=generator)
    return -exponential.clamp_min(torch.finfo(torch.float32).tiny).log()


def _softmax(parameters: Parameters, temperature: float) -> dict[str, Tensor]:
    return {key: F.softmax(value / temperature, dim=-1) for key, value in parameters.items()}


def _straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """Return `hard` with the gradient of `soft`; values are exactly 0 and 1, because soft - soft is 0."""
    return hard + (soft - soft.detach())


def _on_host(parameters: Parameters) -> dict[str, np.ndarray]:
    """Return Λ as arrays, copied from the device in one transfer."""
    flat = torch.cat([value.detach().flatten() for value in parameters.values()]).cpu().numpy()
    parts = np.split(flat, np.cumsum([value.numel() for value in parameters.values()])[:-1])
    return {key: part.reshape(value.shape) for part, (key, value) in zip(parts, parameters.items(), strict=True)}
