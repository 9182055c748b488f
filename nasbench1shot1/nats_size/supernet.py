"""The supernet of NATS-Bench's size space: layers of the largest width, of which a pass uses the first channels.

A layer's width can be given in three ways (`layer_width`): as weights of all eight widths, which mask channels
(FBNetV2); as one width, whose channels alone are computed (TuNAS); or as two widths, whose outputs are interpolated
along channels and mixed (TAS).

The preset decides what a width changes besides the output of a layer. Under "corrected", every feature map of a layer
has the layer's width, and the skip connection of a cell is a convolution where two widths differ. A sub-network is then
the network of `nats_size.network` with a part of the weights. Under "original", the published supernet is computed,
which masks only the outputs of layers (`xautodl/models/shape_searchs/generic_size_tiny_cell_model.py` in
AutoDL-Projects).

Source: Dong et al., NATS-Bench (TPAMI 2021), section 3.2, and its published code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.nasbench201.layers import BATCH_NORM_MOMENTUM, halve
from nasbench1shot1.nats_size.architecture import WIDTHS, WidthArchitecture, layer_rows
from nasbench1shot1.space import Place
from nasbench1shot1.supernets.batch_norm import has_long_sums
from nasbench1shot1.supernets.layers import BATCH_NORM_EPSILON, BatchNorm2d, weighted_sum
from nasbench1shot1.supernets.places import CellWidth, doubling_stages
from nasbench1shot1.supernets.presets import Preset

LARGEST, CELLS = WIDTHS[-1], 3

Chosen = int | tuple[int, int] | None
"""Positions in `WIDTHS`: of the width to compute, or of two widths to interpolate. None: all widths are mixed."""

# Widths of a layer ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerWidth:
    """What a pass does with the feature maps of a layer.

    Attributes:
        channels: number of computed channels, the first ones of the layer.
        factor: multiplies feature maps, (1 or N, 1 or channels, 1, 1), on any device; None: nothing.
        pair: the two widths that are interpolated; None: none.
        shares: their mixing weights, (2,) or, one set per image, (N, 2).
    """

    channels: int
    factor: Tensor | None = None
    pair: tuple[int, int] | None = None
    shares: Tensor | None = None

    def apply(self, x: Tensor) -> Tensor:
        """Mask or interpolate a feature map, (N, channels, H, W) → (N, channels, H, W)."""
        if self.pair is not None and self.shares is not None:
            largest = max(self.pair)
            y = interpolate(x[:, :largest], self.pair, self.shares)
            return y if largest == x.shape[1] else F.pad(y, (0, 0, 0, 0, 0, x.shape[1] - largest))
        return x if self.factor is None else x * self.factor.to(x)

    def scale(self, features: Tensor) -> Tensor:
        """Mask the features of the classifier, (N, channels) → (N, channels)."""
        return features if self.factor is None else features * self.factor.to(features)[:, :, 0, 0]


def layer_width(weights: Tensor | None, chosen: Chosen, is_sliced: bool) -> LayerWidth:
    """Return the width of a layer in a pass.

    Args:
        weights: mixing weights of the eight widths, (8,) or (N, 8); None if they do not scale the chosen width.
        chosen: see `Chosen`.
        is_sliced: whether only the channels of the largest chosen width are computed; the others are zero otherwise.
    """
    if chosen is None:
        assert weights is not None
        return LayerWidth(LARGEST, _four_axes(weights @ _masks(weights.dtype, weights.device)))
    if isinstance(chosen, tuple):
        assert weights is not None
        first, second = WIDTHS[chosen[0]], WIDTHS[chosen[1]]
        shares = weights[..., list(chosen)]
        return LayerWidth(max(first, second) if is_sliced else LARGEST, None, (first, second), shares)
    factor = None if weights is None else _four_axes(weights[..., chosen : chosen + 1])
    if is_sliced:
        return LayerWidth(WIDTHS[chosen], factor)
    mask = _masks(torch.float32 if weights is None else weights.dtype, None if weights is None else weights.device)
    mask = _four_axes(mask[chosen])
    return LayerWidth(LARGEST, mask if factor is None else mask * factor)


def interpolate(x: Tensor, widths: tuple[int, int], shares: Tensor) -> Tensor:
    """Return Σᵢ shareᵢ · CWI(the first widthᵢ channels of x), (N, C, H, W) → (N, C, H, W); C is the larger width.

    CWI is channel-wise interpolation (Dong and Yang, TAS, NeurIPS 2019, section 3.1): channel t of C is the mean of
    the channels ⌊t·c/C⌋ … ⌈(t+1)·c/C⌉ - 1 of c. With shares (2,), both interpolations together are one 1×1 convolution;
    with one set per image, (N, 2), they are two.
    """
    first, second = (_interpolation(width, x.shape[1]).to(x) for width in widths)
    if shares.dim() > 1:
        return weighted_sum(shares, [F.conv2d(x, matrix[:, :, None, None]) for matrix in (first, second)])
    matrix = shares[0].to(x.dtype) * first + shares[1].to(x.dtype) * second
    return F.conv2d(x, matrix[:, :, None, None])


@cache
def _interpolation(width: int, channels: int) -> Tensor:
    """Return the matrix (channels, channels) that interpolates the first `width` channels to `channels` channels."""
    matrix = torch.zeros(channels, channels, dtype=torch.float64)
    for channel in range(channels):
        first, last = channel * width // channels, -(-(channel + 1) * width // channels)
        matrix[channel, first:last] = 1 / (last - first)
    return matrix


@cache
def _masks(dtype: torch.dtype, device: torch.device | None) -> Tensor:
    """Return ones in the first channels of each width, (8, 64)."""
    channels = torch.arange(LARGEST, device=device)
    return (channels < torch.tensor(WIDTHS, device=device)[:, None]).to(dtype)


def _four_axes(factors: Tensor) -> Tensor:
    """(C,) or (N, C) → (1 or N, C, 1, 1)."""
    return (factors if factors.dim() > 1 else factors[None])[:, :, None, None]


# Layers whose first channels can be computed alone --------------------------------------------------------------------


class PrefixBatchNorm(BatchNorm2d):
    """Batch norm of the first channels of a layer: a narrower input uses, and updates, the statistics of these."""

    def affine_parameters(self, channels: int) -> tuple[Tensor | None, Tensor | None]:
        """Return scale and shift of the first channels, (channels,) each; None if there are none."""
        return (None, None) if not self.affine else (self.weight[:channels], self.bias[:channels])

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) → (N, C, H, W), for any C up to the number of channels."""
        channels = x.shape[1]
        is_whole = channels == self.num_features
        if is_whole or self.other_statistics is not None or (self.training and has_long_sums(x)):
            return super().forward(x)
        running: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.running_mean is not None and self.running_var is not None:
            running = self.running_mean[:channels], self.running_var[:channels]
        if self.training and self.num_batches_tracked is not None:
            running = running if self.updates_statistics else (None, None)
            self.num_batches_tracked += self.updates_statistics
        uses_batch = self.training or running[0] is None
        return F.batch_norm(
            x, *running, *self.affine_parameters(channels), uses_batch, float(self.momentum or 0.0), self.eps
        )


class WidthConv(nn.Module):
    """Convolution and batch norm, optionally after a ReLU, of which the first channels can be computed alone."""

    def __init__(
        self,
        in_channels: int,
        kernel_size: int,
        stride: int = 1,
        *,
        is_affine: bool,
        is_tracked: bool,
        has_relu: bool = True,
        has_bias: bool = False,
    ) -> None:
        super().__init__()
        padding = kernel_size // 2
        self.conv = nn.Conv2d(in_channels, LARGEST, kernel_size, stride, padding=padding, bias=has_bias)
        self.bn = PrefixBatchNorm(
            LARGEST, BATCH_NORM_EPSILON, BATCH_NORM_MOMENTUM, affine=is_affine, track_running_stats=is_tracked
        )
        self._has_relu = has_relu

    def forward(self, x: Tensor, channels: int) -> Tensor:
        """(N, C, H, W) → (N, channels, H / stride, W / stride)."""
        convolved = prefix_conv(self.conv, F.relu(x) if self._has_relu else x, channels)
        normalised: Tensor = self.bn(convolved)
        return normalised


def prefix_conv(conv: nn.Conv2d, x: Tensor, channels: int) -> Tensor:
    """Apply the part of a convolution between the channels of x and the first output channels."""
    bias = None if conv.bias is None else conv.bias[:channels]
    weight = conv.weight
    if (channels, x.shape[1]) != weight.shape[:2]:
        weight = weight[:channels, : x.shape[1]]
    return F.conv2d(x, weight, bias, conv.stride, conv.padding)


def fit_channels(x: Tensor, channels: int) -> Tensor:
    """Return the first channels of x, followed by zeros if it has fewer, (N, C, H, W) → (N, channels, H, W)."""
    if x.shape[1] < channels:
        return F.pad(x, (0, 0, 0, 0, 0, channels - x.shape[1]))
    return x if x.shape[1] == channels else x[:, :channels]


# Places of the supernet -----------------------------------------------------------------------------------------------


class WidthPlace(nn.Module):
    """What the layers at all places share: they find their own width among the arguments of a pass."""

    def __init__(self, place: Place, preset: Preset) -> None:
        super().__init__()
        self._before, self._own = layer_rows(place.kind, place.number)
        self._preset, self._is_masked = preset, preset.inner_channels == "masked"

    def own_width(
        self, mixing: Mapping[str, Tensor] | None, operations: Sequence[Any] | None, path: WidthArchitecture | None
    ) -> LayerWidth:
        """Return the width of this layer."""
        weights, chosen = self._given(1, self._own, mixing, operations, path)
        return layer_width(weights, chosen, self._is_masked)

    @staticmethod
    def _given(position: int, row: int, mixing: Any, operations: Any, path: Any) -> tuple[Tensor | None, Chosen]:
        """Return the mixing weights and the chosen width of the layer before (position 0) or of this one (1)."""
        weights = None if mixing is None else mixing["widths"][..., position, :]
        if path is not None:
            return weights, path.positions[row]
        return weights, None if operations is None else operations[position]

    def keeps_width(
        self, mixing: Mapping[str, Tensor] | None, operations: Sequence[Any] | None, path: WidthArchitecture | None
    ) -> bool | Tensor:
        """Return whether the layer before has the same width, or the probability of it, () or (N,)."""
        if self._before == self._own:
            return True
        (before, chosen), (own, own_chosen) = (
            self._given(position, row, mixing, operations, path)
            for position, row in enumerate((self._before, self._own))
        )
        if isinstance(chosen, int) and isinstance(own_chosen, int):
            return chosen == own_chosen
        assert before is not None
        assert own is not None
        return (before * own).sum(dim=-1)


class WidthStem(WidthPlace):
    """The first layers: a 3×3 convolution and batch norm."""

    def __init__(self, place: Place, preset: Preset) -> None:
        super().__init__(place, preset)
        self.conv = WidthConv(3, 3, has_relu=False, **_flags(preset))

    def forward(self, x: Tensor, *arguments: Any) -> Tensor:
        """(N, 3, H, W) → (N, C, H, W); arguments as in `WidthCell.forward`."""
        width = self.own_width(*arguments)
        return width.apply(self.conv(x, width.channels))


class WidthCell(WidthPlace):
    """The fixed cell, |conv~0|+|conv~0|conv~1|+|skip~0|conv~1|conv~2|, with 3×3 convolutions.

    Raises:
        InvalidInputError: `partial_channels` is not 1.
    """

    def __init__(self, space: Any, place: Place, preset: Preset, partial_channels: int = 1) -> None:
        super().__init__(place, preset)
        if partial_channels != 1:
            raise InvalidInputError(
                f"{option('partial_channels', partial_channels)} does not apply to {space.name}, where masks already "
                f"select the channels of a layer: give {option('partial_channels', 1)}"
            )
        convolutions = {
            f"edge_{edge}": WidthConv(LARGEST, 3, **_flags(preset)) for edge in ("10", "20", "21", "31", "32")
        }
        self.convolutions = nn.ModuleDict(convolutions)
        self.projection: WidthProjection | None = None
        if preset.projected_skip and self._before != self._own:
            self.projection = WidthProjection(**_flags(preset))

    def forward(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[Any] | None = None,
        path: WidthArchitecture | None = None,
    ) -> Tensor:
        """(N, C, H, W) → (N, C', H, W).

        Args:
            x: the input, whose channels are the first ones of 64.
            mixing: `widths`: mixing weights of the layer before and of this layer, (2, 8) or (N, 2, 8).
            operations: the chosen widths of both, as in `Chosen`.
            path: the architecture to compute alone.
        """
        arguments = mixing, operations, path
        width, edge = self.own_width(*arguments), self._edge
        inner = width.apply if self._is_masked else _unchanged
        first = inner(edge("10", x, width))
        second = inner(edge("20", x, width) + edge("21", first, width))
        skipped = self._skip(x, width, self.keeps_width(*arguments))
        return width.apply(skipped + edge("31", first, width) + edge("32", second, width))

    def _edge(self, name: str, x: Tensor, width: LayerWidth) -> Tensor:
        output: Tensor = self.convolutions[f"edge_{name}"](x, width.channels)
        return output

    def _skip(self, x: Tensor, width: LayerWidth, keeps: bool | Tensor) -> Tensor:
        """Return the input itself where the width does not change, and its projection where it does."""
        if self.projection is None or keeps is True:
            return fit_channels(x, width.channels)
        projected: Tensor = self.projection(x, width.channels)
        if keeps is False:
            return projected
        kept = keeps.to(x.dtype).view(-1, 1, 1, 1)
        return kept * fit_channels(x, width.channels) + (1 - kept) * projected

    @staticmethod
    def output_width(space: Any, in_channels: int, channels: int) -> int:
        """Return the largest width."""
        return LARGEST

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the one-hot weights: discrete architectures are evaluated as they are."""
        return dict(one_hot)


class WidthProjection(WidthConv):
    """The skip connection between two widths: a 1×1 convolution and batch norm, without ReLU."""

    def __init__(self, **flags: bool) -> None:
        super().__init__(LARGEST, 1, has_relu=False, **flags)


class WidthReduction(WidthPlace):
    """The basic residual block between two stages, as in NAS-Bench-201."""

    def __init__(self, place: Place, preset: Preset) -> None:
        super().__init__(place, preset)
        is_published = preset.batch_norm_flags == "published"
        flags = {"is_affine": True, "is_tracked": True} if is_published else _flags(preset)
        self.conv_a = WidthConv(LARGEST, 3, 2, **flags)
        self.conv_b = WidthConv(LARGEST, 3, **flags)
        self.shortcut = nn.Conv2d(LARGEST, LARGEST, 1, bias=False)

    def forward(self, x: Tensor, *arguments: Any) -> Tensor:
        """(N, C, H, W) → (N, C', H / 2, W / 2); arguments as in `WidthCell.forward`."""
        width = self.own_width(*arguments)
        inner = self.conv_a(x, width.channels)
        inner = width.apply(inner) if self._is_masked else inner
        shortcut = prefix_conv(self.shortcut, halve(x), width.channels)
        return width.apply(shortcut + self.conv_b(inner, width.channels))


class SizeStages:
    """The skeleton: stem, three stages of one cell with residual blocks between them, and global average pooling.

    Raises:
        InvalidInputError: the width is not 64, or there are not three cells.
    """

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        for name, given, needed in (("channels", channels, LARGEST), ("cells", cells, CELLS)):
            if given != needed:
                raise InvalidInputError(
                    f"{option(name, given)} does not fit nats-size, whose supernets have {LARGEST} channels and "
                    f"{CELLS} cells: use {option(name, needed)}"
                )
        self._preset = preset

    def places(self, cell_width: CellWidth, side: int = 32) -> Iterator[Place]:
        """Yield the stem, three stages with a residual block between them, and the head; all have 64 channels."""
        places = doubling_stages(LARGEST, CELLS, cell_width, side, reduction_widens=True, halves_exactly=True)
        for place in places:
            before = place.in_channels if place.kind == "stem" else LARGEST
            yield place._replace(in_channels=before, out_channels=LARGEST, channels=LARGEST)

    def layer(self, place: Place) -> nn.Module:
        """Return the layers of the stem or of a residual block."""
        return WidthStem(place, self._preset) if place.kind == "stem" else WidthReduction(place, self._preset)

    def head(self, place: Place, classes: int) -> dict[str, nn.Module]:
        """Return the last batch norm and a linear classifier."""
        return {"last": WidthHead(place, self._preset), "classifier": nn.Linear(LARGEST, classes)}

    def classify(self, net: Any, x: Tensor, *arguments: Any) -> Tensor:
        """(N, C, H, W) → (N, classes); arguments as in `WidthCell.forward`."""
        features: Tensor = net.last(x, *arguments)
        weight = net.classifier.weight
        return F.linear(features, weight[:, : features.shape[1]], net.classifier.bias)


class WidthHead(WidthPlace):
    """Batch norm, ReLU and global average pooling before the classifier."""

    def __init__(self, place: Place, preset: Preset) -> None:
        super().__init__(place, preset)
        flags = _flags(preset)
        self.bn = PrefixBatchNorm(
            LARGEST,
            BATCH_NORM_EPSILON,
            BATCH_NORM_MOMENTUM,
            affine=flags["is_affine"],
            track_running_stats=flags["is_tracked"],
        )

    def forward(self, x: Tensor, *arguments: Any) -> Tensor:
        """(N, C, H, W) → (N, C)."""
        features: Tensor = F.relu(self.bn(x)).mean(dim=(2, 3))
        return self.own_width(*arguments).scale(features) if self._preset.masked_features else features


def _flags(preset: Preset) -> dict[str, bool]:
    """Return the flags of batch norm in stem, cells and head, by `Preset.batch_norm_flags`.

    The published layers use the batch's statistics. Their convolutions have a bias, which the batch's mean cancels.
    """
    is_published = preset.batch_norm_flags == "published"
    return {"is_affine": False, "is_tracked": not is_published, "has_bias": is_published}


def _unchanged(x: Tensor) -> Tensor:
    return x
