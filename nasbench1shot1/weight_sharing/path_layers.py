"""Layers of paths without autograd: batch-norm uses statistics of the pass, or is folded into the convolution."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.supernet import Supernet
from nasbench1shot1.supernets.layers import BatchNorm2d, ConvBNReLU
from nasbench1shot1.weight_sharing.group_statistics import channel_moments

Affine = tuple[Tensor, Tensor]
"""The affine map of a batch-norm with fixed statistics: a factor (C,) and a term (C,), one per channel."""


@dataclass(frozen=True)
class Maps:
    """Feature maps with all or some channels of a cell's output.

    Attributes:
        x: (N, channels, H, W) feature maps.
        columns: int64 (channels,), the positions of these channels in the cell's output; all other channels are zero.
            None if all channels are present.
    """

    x: Tensor
    columns: Tensor | None = None

    def weight(self, conv: nn.Conv2d) -> Tensor:
        """Return the weight of a convolution for the channels that are present."""
        return conv.weight if self.columns is None else conv.weight.index_select(1, self.columns)


class PathLayers(Protocol):
    """The interface for computing the layers of paths."""

    dtype: torch.dtype

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Return the layer's output, (N, out_channels, H, W); `key` identifies the input."""

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Return the classifier's input, (N, channels): the average of the head's output over pixels."""


@dataclass
class MeasuredLayers:
    """Layers whose batch-norm normalises by the statistics of the images in the pass.

    Attributes:
        dtype: data type of the feature maps.
        kept: receives the affine map of each batch-norm by (layer, key), for `FoldedLayers`; None keeps nothing.
    """

    dtype: torch.dtype
    kept: dict[tuple[BatchNorm2d, Hashable], Affine] | None = None

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Convolve, measure the statistics, normalise and apply ReLU."""
        x = F.conv2d(maps.x, maps.weight(layer.conv).to(self.dtype), padding=layer.conv.padding)
        mean, variance = self._measured(layer.bn, key, x)
        norm = layer.bn
        return F.batch_norm(x, mean, variance, norm.weight, norm.bias, training=False, eps=norm.eps).relu_()

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Convolve, measure the statistics, then normalise the averages, because batch-norm is an affine map."""
        x = F.conv2d(maps.x, maps.weight(net.head).to(self.dtype))
        mean, variance = self._measured(net.head_bn, key, x)
        factor, term = affine(net.head_bn, mean, variance)
        return _average(x, factor) * factor + term

    def _measured(self, norm: BatchNorm2d, key: Hashable, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance = channel_moments(x)
        if self.kept is not None:
            self.kept[norm, key] = affine(norm, mean, variance)
        return mean, variance


@dataclass
class FoldedLayers:
    """Layers whose batch-norm has fixed statistics and is folded into its convolution.

    Attributes:
        dtype: data type of the feature maps.
        affine_of: function that returns the affine map of a batch-norm by (layer, key).
        varies: whether the affine map of a layer depends on the key. If not, each layer is folded once.
    """

    dtype: torch.dtype
    affine_of: Callable[[BatchNorm2d, Hashable], Affine]
    varies: bool
    _folded: dict[Hashable, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def conv_bn_relu(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> Tensor:
        """Convolve with folded weights and apply ReLU."""
        weight, term = self._weights(layer, key, maps)
        return F.conv2d(maps.x, weight, term, padding=layer.conv.padding).relu_()

    def features(self, net: Supernet, key: Hashable, maps: Maps) -> Tensor:
        """Average over pixels, then convolve and normalise, because the head has only affine maps."""
        factor, term = self.affine_of(net.head_bn, key)
        weight = maps.weight(net.head).flatten(1)
        return F.linear(_average(maps.x, weight), weight) * factor + term

    def _weights(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> tuple[Tensor, Tensor]:
        if self.varies or maps.columns is not None:
            return self._fold(layer, key, maps)
        if layer not in self._folded:
            self._folded[layer] = self._fold(layer, key, maps)
        return self._folded[layer]

    def _fold(self, layer: ConvBNReLU, key: Hashable, maps: Maps) -> tuple[Tensor, Tensor]:
        factor, term = self.affine_of(layer.bn, key)
        return (maps.weight(layer.conv) * factor[:, None, None, None]).to(self.dtype), term.to(self.dtype)


def affine(norm: BatchNorm2d, mean: Tensor, variance: Tensor) -> Affine:
    """Return the affine map of a batch-norm with the given statistics, (C,) each."""
    factor = torch.rsqrt(variance + norm.eps)
    if not norm.affine:
        return factor, -mean * factor
    factor = factor * norm.weight
    return factor, norm.bias - mean * factor


def running_affine(norm: BatchNorm2d, key: Hashable) -> Affine:
    """Return the affine map of a batch-norm with its running statistics; the key is ignored."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return affine(norm, norm.running_mean, norm.running_var)


def max_pool_3x3(x: Tensor) -> Tensor:
    """Return `supernets.layers.max_pool_3x3(x)`, without a gradient.

    PyTorch's kernel also writes the index of each maximum, and takes two to five times as long on a CPU.
    """
    for axis in (2, 3):
        x = _max_of_three(x, axis)
    return x


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


def _average(x: Tensor, like: Tensor) -> Tensor:
    """Return the mean of every channel over pixels, (N, C), in the data type of `like`."""
    return x.mean(dim=(2, 3), dtype=like.dtype)
