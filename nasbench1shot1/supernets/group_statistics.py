"""Batch-norm statistics of groups of images that pass through a supernet in one batch, or over several batches."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.supernets.batch_norm import statistics
from nasbench1shot1.supernets.layers import BatchNorm2d, normalised_by

MOMENTUM = 0.1  # PyTorch's, which the published code of SPOS uses
Moments = tuple[Tensor, Tensor]
"""The mean and the biased variance of every channel in every group, (groups, C) each."""


class GroupStatistics:
    """Statistics of consecutive groups of equal size in a batch, for every `BatchNorm2d` of a network.

    In the pass that measures them (`measured_statistics`), each group is normalised by its own moments, which are
    stored. In later passes (`fixed_statistics`), the groups of other batches are normalised by the stored moments.
    """

    def __init__(self, groups: int) -> None:
        self.groups, self.are_fixed = groups, False
        self._kept: dict[BatchNorm2d, list[Moments]] = {}
        self._calls: dict[BatchNorm2d, int] = {}

    def __call__(self, layer: BatchNorm2d, x: Tensor) -> Tensor:
        """Normalise x (N, C, H, W), whose groups have N / groups images each, in a call of `layer`."""
        kept = self._kept.setdefault(layer, [])
        if not self.are_fixed:
            kept.append(group_moments(x, self.groups))
            return normalise_groups(layer, x, *kept[-1])
        call = self._calls.get(layer, 0)
        self._calls[layer] = call + 1
        return normalise_groups(layer, x, *kept[call % len(kept)])  # a layer may be called several times in a pass


class MovingStatistics:
    """Moving averages of mean and variance of every `BatchNorm2d` of a network, over several batches (SPOS).

    Batches are normalised by their own statistics until `is_fixed` is set, and by the averages from then on
    (`layers.normalised_by`). PyTorch's training mode computes such averages with a momentum of 0.1. Here, they are
    divided by the total weight of all batches, so that they do not depend on initial values. After the 200 batches of
    the published code, which starts at mean 0 and variance 1, this weight is 1 - 7e-10.
    """

    def __init__(self) -> None:
        self.is_fixed = False
        self._averages: dict[BatchNorm2d, Tensor] = {}
        self._calls: dict[BatchNorm2d, int] = {}

    def __call__(self, layer: BatchNorm2d, x: Tensor) -> Tensor:
        """Normalise x (N, C, H, W)."""
        if self.is_fixed:
            mean, variance = self._averages[layer]
        else:
            mean, variance = channel_moments(x)
            self._update(layer, mean, variance, x.numel() // x.shape[1])
        scale_and_shift = layer.affine_parameters(x.shape[1])
        return F.batch_norm(x, mean, variance, *scale_and_shift, training=False, eps=layer.eps)

    def _update(self, layer: BatchNorm2d, mean: Tensor, variance: Tensor, pixels: int) -> None:
        new = torch.stack([mean, variance * pixels / max(pixels - 1, 1)])  # PyTorch averages unbiased variances
        calls = self._calls[layer] = self._calls.get(layer, 0) + 1
        share = MOMENTUM / (1 - (1 - MOMENTUM) ** calls)
        old = self._averages.get(layer)
        self._averages[layer] = new if old is None else old + share * (new - old)


@contextmanager
def measured_statistics(net: nn.Module, groups: int = 1) -> Iterator[GroupStatistics]:
    """Let every `BatchNorm2d` normalise by groups in one pass; yield the statistics for `fixed_statistics`."""
    statistics = GroupStatistics(groups)
    with normalised_by(net, statistics):
        yield statistics
    statistics.are_fixed = True


@contextmanager
def fixed_statistics(net: nn.Module, statistics: GroupStatistics) -> Iterator[None]:
    """Let every `BatchNorm2d` normalise by previously measured statistics, in complete passes."""
    with normalised_by(net, statistics):
        yield


def group_moments(x: Tensor, groups: int) -> Moments:
    """Return the mean and the biased variance of every channel in each group of x (N, C, H, W)."""
    if _all_at_once(x):
        variance, mean = torch.var_mean(x.unflatten(0, (groups, -1)).float(), dim=(1, 3, 4), correction=0)
        return mean, variance
    means, variances = zip(*(channel_moments(part) for part in x.chunk(groups)), strict=True)
    return torch.stack(means), torch.stack(variances)


def channel_moments(x: Tensor) -> Moments:
    """Return the mean and the biased variance of every channel of x (N, C, H, W), (C,) each, at least float32."""
    return statistics(x.float() if x.dtype == torch.bfloat16 else x)


def normalise_groups(layer: BatchNorm2d, x: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Normalise each group of x (N, C, H, W) by its means and variances, (groups, C) each."""
    if _all_at_once(x):
        return _by_broadcasting(layer, x.unflatten(0, (len(means), -1)), means, variances).flatten(0, 1)
    groups = zip(x.chunk(len(means)), means, variances, strict=True)
    parts = [
        F.batch_norm(part, mean, variance, *layer.affine_parameters(x.shape[1]), training=False, eps=layer.eps)
        for part, mean, variance in groups
    ]
    return torch.cat(parts) if parts[1:] else parts[0]


def _all_at_once(x: Tensor) -> bool:
    """Return whether a few kernels handle all groups, which a GPU launches faster than several kernels per group.

    On a CPU, PyTorch's own kernels, one group after another, take a quarter of the time.
    """
    return not x.is_cpu


def _by_broadcasting(layer: BatchNorm2d, x: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Return x (G, size, C, H, W), normalised by means and variances (G, C)."""
    scale, (weight, bias) = torch.rsqrt(variances + layer.eps), layer.affine_parameters(x.shape[2])
    scale = scale if weight is None else scale * weight
    shift = -means * scale if bias is None else bias - means * scale
    return (x.float() * scale[:, None, :, None, None] + shift[:, None, :, None, None]).to(x.dtype)
