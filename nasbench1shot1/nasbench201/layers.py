"""The layers of NAS-Bench-201's networks and supernets (Dong and Yang 2020, section 2.1 and appendix).

Every convolution is padded to keep the image's size and has no bias; batch norm has PyTorch's default momentum.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.supernets.layers import BATCH_NORM_EPSILON, BatchNorm2d, total

BATCH_NORM_MOMENTUM = 0.1
"""Weight of the newest batch in the running statistics: PyTorch's default, as published."""


class ReLUConvBN(nn.Module):
    """ReLU, convolution, batch norm.

    Args:
        in_channels, out_channels: numbers of input and output channels.
        kernel_size: side of the kernel, odd.
        stride: 2 halves the image.
        affine: whether batch-norm learns a scale and a shift.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, affine: bool = True):
        super().__init__()
        padding = kernel_size // 2
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding=padding, bias=False)
        self.bn = batch_norm(out_channels, affine)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H / stride, W / stride)."""
        normalised: Tensor = self.bn(self.conv(F.relu(x)))
        return normalised


class ResidualBlock(nn.Module):
    """The basic residual block between two stages: two 3×3 convolutions, the first of stride 2.

    The shortcut is 2×2 average pooling and a 1×1 convolution without batch-norm.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv_a = ReLUConvBN(in_channels, out_channels, 3, stride=2)
        self.conv_b = ReLUConvBN(out_channels, out_channels, 3)
        self.shortcut = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H / 2, W / 2)."""
        shortcut: Tensor = self.shortcut(halve(x))
        return shortcut + self.conv_b(self.conv_a(x))  # type: ignore[no-any-return]


def halve(x: Tensor) -> Tensor:
    """Return 2×2 average pooling, (N, C, H, W) → (N, C, H / 2, W / 2).

    Raises InvalidInputError for an odd side: pooling would round it down, but convolutions of stride 2 round it up.
    """
    height, width = x.shape[2:]
    if height % 2 or width % 2:
        raise InvalidInputError(
            f"a residual block cannot halve feature maps of {height} × {width} pixels: use images whose sides are "
            "multiples of 4"
        )
    return F.avg_pool2d(x, kernel_size=2, stride=2)


def batch_norm(channels: int, affine: bool = True) -> BatchNorm2d:
    """Return batch-norm with PyTorch's default settings."""
    return BatchNorm2d(channels, eps=BATCH_NORM_EPSILON, momentum=BATCH_NORM_MOMENTUM, affine=affine)


def stem(channels: int) -> nn.Sequential:
    """Return the first layers: a 3×3 convolution and batch-norm, (N, 3, H, W) → (N, channels, H, W)."""
    return nn.Sequential(nn.Conv2d(3, channels, 3, padding=1, bias=False), batch_norm(channels))


def average_pool_3x3(x: Tensor) -> Tensor:
    """Return 3×3 average pooling with stride 1, which keeps the size; averages exclude the padding."""
    return F.avg_pool2d(x, kernel_size=3, stride=1, padding=1, count_include_pad=False)


def node_value(outputs: Sequence[Tensor], like: Tensor) -> Tensor:
    """Return the value of a node: the sum of its incoming edges' outputs (N, C, H, W), or zeros like `like`."""
    return total(outputs) if outputs else torch.zeros_like(like)  # a sum over a stack would not keep channels_last


def edge_operation(name: str, in_channels: int, channels: int) -> nn.Module:
    """Return the operation of an edge of a network, (N, in_channels, H, W) → (N, channels, H, W).

    Args:
        name: one of `architecture.OPERATIONS` but "none".
        in_channels, channels: numbers of input and output channels; pooling cannot change them.
    """
    if name == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    if name == "skip_connect":
        if in_channels == channels:
            return nn.Identity()
        return nn.Sequential(nn.Conv2d(in_channels, channels, 1, bias=False), batch_norm(channels))
    return ReLUConvBN(in_channels, channels, int(name[-1]))
