"""Batch-norm in training mode whose statistics hardly round, for a CPU, float32 and channels_last.

PyTorch's kernel for that memory format adds up all pixels of a channel one after the other: of 100,000 pixels, the
variance errs by up to 6e-4 of itself, and with it the gradient of Λ by up to 1 %. The statistics below cost about
the same (benchmarks/README.md, "Rounding").
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

TERMS = 1024  # pixels that are added up one after the other, at least
LARGE = 2**19  # elements; in smaller tensors the overhead of a few more kernels shows, and the error is small


def has_long_sums(x: Tensor) -> bool:
    """Return whether PyTorch's own kernel would add up many pixels of x (N, C, H, W) one after the other."""
    one_after_the_other = x.device.type == "cpu" and x.dtype == torch.float32 and x.stride(1) == 1
    is_large = x.numel() > LARGE and _pixels(x) >= 2 * TERMS
    return one_after_the_other and is_large and not torch.compiler.is_compiling()


def accurate_batch_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x (N, C, H, W) normalised by its own statistics, its mean and its biased variance, (C,) each.

    Differentiable twice, and under torch.func, with respect to x, weight and bias; the statistics are constants.
    """
    output, mean, variance = _AccurateBatchNorm.apply(x, weight, bias, epsilon)  # type: ignore[no-untyped-call]
    return output, mean, variance


def statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and biased variance, (C,) each, of every channel of x (N, C, H, W).

    The memory of x, read as fewer pixels of more channels, gives PyTorch's kernel interleaved parts of the batch. The
    statistics of the parts are combined into the statistics of the batch (Chan, Golub and LeVeque 1983).
    """
    parts, channels = _parts(_pixels(x)), x.shape[1]
    in_parts = x.permute(0, 2, 3, 1).reshape(-1, parts * channels, 1, 1)
    means, variances = (of.view(parts, channels) for of in torch.batch_norm_update_stats(in_parts, None, None, 0.0))
    between, mean = torch.var_mean(means, dim=0, correction=0)
    return mean, variances.mean(dim=0) + between


def _pixels(x: Tensor) -> int:
    return x.shape[0] * x.shape[2] * x.shape[3]


@cache
def _parts(pixels: int) -> int:
    """Return the largest number of equal parts that have at least `TERMS` pixels each."""
    return next(parts for parts in range(max(pixels // TERMS, 1), 0, -1) if pixels % parts == 0)


class _AccurateBatchNorm(torch.autograd.Function):
    """(x, weight, bias, epsilon) → output, mean, biased variance; see `accurate_batch_norm`."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float) -> tuple[Tensor, ...]:
        mean, variance = statistics(x)
        return F.batch_norm(x, mean, variance, weight, bias, training=False, eps=epsilon), mean, variance

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, _, ctx.epsilon = inputs
        _, mean, variance = output
        ctx.mark_non_differentiable(mean, variance)
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.save_for_forward(x, weight, mean, variance)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return torch.vmap(_plain_batch_norm, in_dims)(*inputs), (0, 0, 0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, variance = ctx.saved_tensors
        inverse = (variance + ctx.epsilon).rsqrt()
        wanted = ctx.needs_input_grad[:3]
        of_inputs = torch.ops.aten.native_batch_norm_backward(
            gradient, x, weight, None, None, mean, inverse, True, ctx.epsilon, wanted
        )
        return *(of if want else None for of, want in zip(of_inputs, wanted, strict=True)), None

    @staticmethod
    def jvp(ctx: Any, of_x: Tensor, of_weight: Tensor | None, of_bias: Tensor | None, _: None) -> tuple[Any, ...]:
        x, weight, mean, variance = ctx.saved_tensors
        inverse = (variance + ctx.epsilon).rsqrt()[:, None, None]
        normal = (x - mean[:, None, None]) * inverse
        parallel = normal * (normal * of_x).mean(dim=(0, 2, 3), keepdim=True)
        moved = (of_x - of_x.mean(dim=(0, 2, 3), keepdim=True) - parallel) * inverse
        if of_weight is None or of_bias is None:
            return moved, None, None
        return moved * weight[:, None, None] + normal * of_weight[:, None, None] + of_bias[:, None, None], None, None


def _plain_batch_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float) -> tuple[Tensor, ...]:
    output, mean, inverse = torch.native_batch_norm(x, weight, bias, None, None, True, 0.0, epsilon)
    return output, mean, inverse.pow(-2) - epsilon
