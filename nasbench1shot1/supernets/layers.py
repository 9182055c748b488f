"""Supernet primitives: the layers that every cell is made of."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.supernets.batch_norm import accurate_batch_norm, has_long_sums

BATCH_NORM_EPSILON = 1e-5  # NAS-Bench-101's
Observer = Callable[[str, int | None, int, Tensor], None]
"""Receives the output of a candidate in a cell's mixture, before it is scaled: the key and row of the choice as in
`space.Choice`, the number of the entry, and the output (N, C, H, W)."""


class BatchNorm2d(nn.BatchNorm2d):
    """PyTorch's batch-norm, which can also keep its running statistics unchanged, or use other statistics."""

    other_statistics: "Callable[[BatchNorm2d, Tensor], Tensor] | None" = None
    updates_statistics = True

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) → (N, C, H, W); with `other_statistics`, these normalise, and no buffer changes."""
        if self.other_statistics is not None:
            return self.other_statistics(self, x)
        if self.training and has_long_sums(x):
            return self._accurate(x)
        if self.updates_statistics or not self.training:
            return super().forward(x)
        return F.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)

    def affine_parameters(self, channels: int) -> tuple[Tensor | None, Tensor | None]:
        """Return the scale and the shift of inputs with a number of channels; None if there are none."""
        return self.weight, self.bias

    def _accurate(self, x: Tensor) -> Tensor:
        """PyTorch's result in training mode, with less rounding error."""
        output, mean, variance = accurate_batch_norm(x, *self.affine_parameters(x.shape[1]), self.eps)
        if self.updates_statistics and self.track_running_stats:
            self._update_statistics(mean, variance, len(x) * x[0, 0].numel())
        return output

    @torch.no_grad()
    def _update_statistics(self, mean: Tensor, variance: Tensor, pixels: int) -> None:
        """Move the running statistics as PyTorch does: a plain mean over batches where `momentum` is None."""
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        of_mean, of_variance = self.running_mean[: len(mean)], self.running_var[: len(mean)]  # a layer may be narrower
        of_mean.mul_(1 - share).add_(mean, alpha=share)
        of_variance.mul_(1 - share).add_(variance, alpha=share * pixels / (pixels - 1))


@contextmanager
def normalised_by(module: nn.Module, statistics: Callable[[BatchNorm2d, Tensor], Tensor]) -> Iterator[None]:
    """Inside the context, every `BatchNorm2d` of a module calls `statistics(layer, x)` instead of normalising."""
    with _norms_with(module, "other_statistics", statistics, None):
        yield


def untracked_norms(module: nn.Module) -> list[BatchNorm2d]:
    """Return every `BatchNorm2d` of a module that has no running statistics."""
    norms = (layer for layer in module.modules() if isinstance(layer, BatchNorm2d))
    return [layer for layer in norms if layer.running_mean is None]


def other_buffers(module: nn.Module) -> dict[str, Tensor]:
    """Return, by name, the buffers that are not statistics of a `BatchNorm2d`; a user's own cell may have some."""
    return {
        f"{prefix}.{name}".lstrip("."): buffer
        for prefix, part in module.named_modules()
        if not isinstance(part, BatchNorm2d)
        for name, buffer in part.named_buffers(recurse=False)
    }


@contextmanager
def unchanged_statistics(module: nn.Module) -> Iterator[None]:
    """Inside the context, passes in training mode do not change the running statistics of a `BatchNorm2d`."""
    with _norms_with(module, "updates_statistics", False, True):
        yield


@contextmanager
def _norms_with(module: nn.Module, attribute: str, value: object, afterwards: object) -> Iterator[None]:
    norms = [layer for layer in module.modules() if isinstance(layer, BatchNorm2d)]
    for layer in norms:
        setattr(layer, attribute, value)
    try:
        yield
    finally:
        for layer in norms:
            setattr(layer, attribute, afterwards)


def set_affine(module: nn.Module, affine: bool) -> None:
    """Let all batch norms of a module learn a scale and a shift, which begin at 1 and 0, or let none of them."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d) and layer.affine != affine:
            layer.affine = affine
            for name, first in (("weight", 1.0), ("bias", 0.0)):
                learned = nn.Parameter(torch.full((layer.num_features,), first)) if affine else None
                layer.register_parameter(name, learned)


class ConvBNReLU(nn.Module):
    """Convolution without bias, batch-norm, ReLU; stride 1, size kept (NAS-Bench-101's conv-bn-relu)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, momentum: float) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2, bias=False)
        self.bn = BatchNorm2d(out_channels, eps=BATCH_NORM_EPSILON, momentum=momentum)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H, W)."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


def max_pool_3x3(x: Tensor) -> Tensor:
    """Return 3 × 3 max-pooling with stride 1, which keeps the size.

    PyTorch's kernel also writes the index of each maximum for the gradient, and takes two to five times as long on a
    CPU as the maxima of rows and columns.
    """
    if torch.is_grad_enabled() or x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.max_pool2d(x, kernel_size=3, stride=1, padding=1)
    return _max_of_three(_max_of_three(x, 2), 3)


def _max_of_three(x: Tensor, axis: int) -> Tensor:
    """Return the maximum of each pixel and its two neighbours along an axis."""
    size = x.shape[axis]
    if size == 1:
        return x
    pairs = torch.maximum(x.narrow(axis, 1, size - 1), x.narrow(axis, 0, size - 1))
    result = torch.empty_like(x)
    torch.maximum(
        pairs.narrow(axis, 1, size - 2), pairs.narrow(axis, 0, size - 2), out=result.narrow(axis, 1, size - 2)
    )
    result.select(axis, 0).copy_(pairs.select(axis, 0))
    result.select(axis, size - 1).copy_(pairs.select(axis, size - 2))
    return result


def total(tensors: Sequence[Tensor]) -> Tensor:
    """Return the sum of equally shaped tensors, added in order; a single tensor is returned unchanged."""
    summed, *others = tensors
    for place, tensor in enumerate(others):
        summed = summed.add_(tensor) if place and not torch.is_grad_enabled() else summed + tensor
    return summed


def interleave(parts: Sequence[Tensor]) -> Tensor:
    """Return k tensors (N, C, H, W) as one (N, k · C, H, W) with interleaved channels: the concatenation, then
    ShuffleNet's shuffle (section 3.1), in one copy that stays in channels_last.
    """
    stacked = torch.stack([part.permute(0, 2, 3, 1) for part in parts], dim=-1)
    return stacked.flatten(3).permute(0, 3, 1, 2)


def apply_to_part(
    x: Tensor, partial: int, compute: Callable[[Tensor], Tensor], visible: Tensor | None = None
) -> Tensor:
    """Apply `compute` to the first 1/partial of the channels, (N, C, H, W) → (N, C, H, W), and shuffle all channels.

    The other channels bypass `compute` (PC-DARTS, Xu et al. 2020, section 3.1). With `visible`, `compute` sees the
    channels with these numbers, (C / partial,), and the results replace these channels in place, without a shuffle
    (equation 2).
    """
    if partial == 1:
        return compute(x)
    if visible is not None:
        seen = x[:, visible].contiguous(memory_format=torch.channels_last)
        return x.index_copy(1, visible, compute(seen))
    seen, *bypassing = x.split(x.shape[1] // partial, dim=1)
    seen = seen.contiguous(memory_format=torch.channels_last)  # once for all operations
    return interleave([compute(seen), *bypassing])


class Mixture(nn.Module):
    """Base class of mixtures of operations, whose sub-modules are the operations that have weights.

    With k = `partial` > 1, operations see 1/k of the channels, and the others bypass them (PC-DARTS).

    Attributes:
        channels: number of channels of the input and of the output.
        partial: k; `supernets.widening` changes it with the weights of the operations.
        visible: the channels that operations see, (channels / k,); None: the first ones.
        auxiliary_skip: the factor of the input that a pass of the whole mixture adds to its output (DARTS-).
        observer: receives the numbers and the outputs (N, C, H, W) of a mixture's operations; None: no observer.
    """

    visible: Tensor | None = None
    auxiliary_skip = 0.0
    observer: Callable[[int, Tensor], None] | None = None

    def __init__(self, channels: int, partial: int = 1) -> None:
        super().__init__()
        self.channels, self.partial = channels, partial

    def apply_to_visible(self, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `compute` to the channels that operations see, (N, C, H, W) → (N, C, H, W); others are unchanged."""
        return apply_to_part(x, self.partial, compute, self.visible)

    def add_skip(self, mixture: Tensor, x: Tensor) -> Tensor:
        """Return the output of a mixture with its input x added, scaled by `auxiliary_skip`; both (N, C, H, W)."""
        return mixture + self.auxiliary_skip * x if self.auxiliary_skip else mixture


def check_partial(channels: int, partial: int) -> None:
    """Raise InvalidInputError if channels cannot be divided by `partial`, which is at least 1."""
    if channels % partial:
        raise InvalidInputError(
            f"{channels} channels cannot be divided by {option('partial_channels', partial)}: choose a multiple of "
            f"{partial} as {option('channels')}"
        )


def entries_of(weights: Tensor, entries: Sequence[int]) -> Tensor:
    """Return some entries of weights (k,) or (N, k), without waiting for a device."""
    return torch.stack([weights[..., entry] for entry in entries], dim=-1)


def as_broadcastable(weights: Tensor, x: Tensor) -> Sequence[Tensor]:
    """Return weights (k,) or, one set per sample, (N, k), as k factors for x (N, C, H, W), in the dtype of x."""
    if weights.dim() == 1:
        return weights.unbind()  # scalars keep the dtype of what they scale
    return weights.to(x.dtype)[:, :, None, None, None].unbind(1)


def weighted_sum(weights: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Return Σ wᵢ tᵢ of k equally shaped tensors (N, C, H, W); weights (k,) or, one set per sample, (N, k)."""
    if weights.dim() > 1 or torch.compiler.is_compiling():
        return _plain_weighted_sum(weights, *tensors)
    kind = _WeightedSumOnHost if _is_on_host(weights) else _WeightedSumOnDevice
    weighted: Tensor = kind.apply(weights, *tensors)  # type: ignore[no-untyped-call]
    return weighted


def weighted_concatenation(weights: Tensor, shortcut: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Return w₀ · shortcut + the concatenation of all wᵢ tᵢ, (N, k · C, H, W), of k tensors (N, C, H, W).

    Weights are (k + 1,) or, one set per sample, (N, k + 1).
    """
    if not _is_on_host(weights):
        return _weighted_concatenation_on_device(weights, shortcut, tensors)
    first, *others = as_broadcastable(weights, shortcut)
    weighted = [weight * tensor for weight, tensor in zip(others, tensors, strict=True)]
    return first * shortcut + torch.cat(weighted, dim=1)


def _weighted_concatenation_on_device(weights: Tensor, shortcut: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """`weighted_concatenation` with four kernels, however many tensors; a CPU gains nothing by it."""
    joined = torch.cat(tuple(tensors), dim=1)
    of_channels = weights[..., 1:].to(joined.dtype).repeat_interleave(tensors[0].shape[1], dim=-1)
    first = as_broadcastable(weights, shortcut)[0]
    return torch.addcmul(first * shortcut, of_channels[..., None, None], joined)


def _is_on_host(weights: Tensor) -> bool:
    """Return whether weights can be read as Python numbers without waiting for a device."""
    return weights.device.type == "cpu"


def _plain_weighted_sum(weights: Tensor, *tensors: Tensor) -> Tensor:
    factors = as_broadcastable(weights, tensors[0])
    total = factors[0] * tensors[0]
    for factor, tensor in zip(factors[1:], tensors[1:], strict=True):
        total = torch.addcmul(total, factor, tensor) if weights.dim() > 1 else total + factor * tensor
    return total


class _WeightedSum(torch.autograd.Function):
    """`weighted_sum` of weights (k,) with fewer passes over memory; what both kinds have in common.

    Under torch.func, `vmap` takes the plain sum, as weights that differ along a batch are not scalars.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        return torch.vmap(_plain_weighted_sum, in_dims)(*inputs), 0

    @staticmethod
    def jvp(ctx: Any, of_weights: Tensor, *of_tensors: Tensor) -> Tensor:
        weights, *tensors = ctx.saved_tensors
        return _plain_weighted_sum(of_weights, *tensors) + _plain_weighted_sum(weights, *of_tensors)

    @classmethod
    def backward(cls, ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody differentiates twice: only tensor operations keep the graph
            return torch.stack([(gradient * t).sum() for t in tensors]), *[gradient * w for w in weights.unbind()]
        of_weights = None
        if ctx.needs_input_grad[0]:
            of_weights = torch.stack([_dot(gradient, t) for t in tensors]).to(weights.dtype)
        return of_weights, *cls.multiples(gradient, weights)

    @staticmethod
    def multiples(gradient: Tensor, weights: Tensor) -> Sequence[Tensor]:
        """Return the gradient times each weight."""
        raise NotImplementedError


class _WeightedSumOnHost(_WeightedSum):
    """The sum on a CPU, with the weights as Python numbers: a step of Λ is 1.3 times as fast (benchmarks/README.md)."""

    @staticmethod
    def forward(weights: Tensor, *tensors: Tensor) -> Tensor:
        first, *others = weights.tolist()
        total: Tensor = tensors[0] * first
        for weight, tensor in zip(others, tensors[1:], strict=True):
            total.add_(tensor, alpha=weight)
        return total

    @staticmethod
    def multiples(gradient: Tensor, weights: Tensor) -> Sequence[Tensor]:
        return [gradient * weight for weight in weights.tolist()]


class _WeightedSumOnDevice(_WeightedSum):
    """The sum on other devices, without reading the weights as Python numbers, which would wait for the device."""

    @staticmethod
    def forward(weights: Tensor, *tensors: Tensor) -> Tensor:
        first, *others = weights.unbind()
        total: Tensor = tensors[0] * first
        for weight, tensor in zip(others, tensors[1:], strict=True):
            total.addcmul_(tensor, weight)
        return total

    @staticmethod
    def multiples(gradient: Tensor, weights: Tensor) -> Sequence[Tensor]:
        """Return the gradient times each weight, from one kernel that reads the gradient once."""
        return (gradient * weights.to(gradient.dtype).view(-1, *[1] * gradient.dim())).unbind()


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Return Σ a b of two (N, C, H, W) tensors in channels_last, in one pass and in float32 at least."""
    if a.dtype == torch.bfloat16:
        a, b = a.float(), b.float()
    return torch.dot(a.permute(0, 2, 3, 1).reshape(-1), b.permute(0, 2, 3, 1).reshape(-1))


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw all weights anew from `generator`, with the distributions that PyTorch uses by default.

    Convolutions and linear layers: uniform in ±1/√fan_in; batch-norm: scale 1, shift 0.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bound = layer.weight[0].numel() ** -0.5
            for parameter in layer.parameters(recurse=False):
                nn.init.uniform_(parameter, -bound, bound, generator=generator)
        elif isinstance(layer, nn.BatchNorm2d):
            layer.reset_parameters()
