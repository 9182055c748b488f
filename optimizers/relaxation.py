"""Relaxations: how architecture parameters Λ become mixing weights, by name.

Each is a function (space, Λ, temperature, generator) → Mixing, differentiable with respect to Λ. `generator` is a CPU
one; without it (None) nothing is drawn, and the relaxation's mode takes the place of the sample. All but a single path
take Λ with a leading axis, too, for several samples at once.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.space import OneShotSpace

Parameters = Mapping[str, Tensor]
Relaxation = Callable[[OneShotSpace, Parameters, float, torch.Generator | None], Mixing]


def softmax(space: OneShotSpace, parameters: Parameters, temperature: float, _: torch.Generator | None) -> Mixing:
    """S(Λ / τ) over all candidates of each choice (DARTS, equation 2)."""
    return Mixing(_softmax(parameters, temperature))


def gumbel(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """S((Λ + G) / τ), G Gumbel noise: the concrete distribution (SNAS, equation 4)."""
    return Mixing(_softmax(perturbed(parameters, generator), temperature))


def gumbel_operations(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Gumbel-softmax, hard for the operations, soft for the edges (GDAS as NAS-Bench-1Shot1 runs it).

    Only the sampled operations are computed. The weights of an operation that was not sampled get no gradient. Its
    entry of Λ gets the one that flows through the softmax from the sampled operation's weight (straight-through
    estimator: forward one-hot, backward soft).
    """
    noisy = perturbed(parameters, generator)
    soft, key = _softmax(noisy, temperature), space.operation_key
    sampled = noisy[key].argmax(dim=-1)
    hard = F.one_hot(sampled, noisy[key].shape[-1]).to(noisy[key].dtype)
    operations = tuple(sampled.tolist())  # the one copy to the host, of all samples together
    return Mixing({**soft, key: _straight_through(hard, soft[key])}, operations)


def single_path(
    space: OneShotSpace, parameters: Parameters, temperature: float, generator: torch.Generator | None
) -> Mixing:
    """Gumbel top-k, hard for operations and edges alike: one architecture, drawn from S(Λ) without replacement.

    Only its path is computed; gradients as in `gumbel_operations`.
    """
    noisy = perturbed(parameters, generator)
    soft = _softmax(noisy, temperature)
    arch = space.discretise(_on_host(noisy))
    hard = {key: torch.from_numpy(value).to(soft[key], non_blocking=True) for key, value in space.one_hot(arch).items()}
    return Mixing({key: _straight_through(hard[key], soft[key]) for key in soft}, path=arch)


RELAXATIONS: dict[str, Relaxation] = {
    "softmax": softmax,
    "gumbel": gumbel,
    "gumbel-operations": gumbel_operations,
    "single-path": single_path,
}
"""By the name that the option `relaxation` takes."""


def perturbed(parameters: Parameters, generator: torch.Generator | None) -> dict[str, Tensor]:
    """Λ + G with standard Gumbel noise G, drawn at once and copied to the device at once; Λ itself without one."""
    if generator is None:
        return dict(parameters)
    sizes = [value.numel() for value in parameters.values()]
    device = next(iter(parameters.values())).device
    parts = gumbel_noise(sum(sizes), generator).to(device, non_blocking=True).split(sizes)
    return {key: value + part.view_as(value) for (key, value), part in zip(parameters.items(), parts, strict=True)}


def gumbel_noise(shape: int | torch.Size, generator: torch.Generator) -> Tensor:
    """Standard Gumbel noise, float32, finite always."""
    exponential = torch.empty(shape).exponential_(generator=generator)
    return -exponential.clamp_min(torch.finfo(torch.float32).tiny).log()


def _softmax(parameters: Parameters, temperature: float) -> dict[str, Tensor]:
    return {key: F.softmax(value / temperature, dim=-1) for key, value in parameters.items()}


def _straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """`hard` forward, the gradient of `soft` backward; exactly 0 and 1, as soft - soft is 0."""
    return hard + (soft - soft.detach())


def _on_host(parameters: Parameters) -> dict[str, np.ndarray]:
    """Λ as arrays, by one copy from the device."""
    flat = torch.cat([value.detach().flatten() for value in parameters.values()]).cpu().numpy()
    parts = np.split(flat, np.cumsum([value.numel() for value in parameters.values()])[:-1])
    return {key: part.reshape(value.shape) for part, (key, value) in zip(parts, parameters.items(), strict=True)}
