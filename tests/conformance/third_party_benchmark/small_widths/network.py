"""The supernet and the stand-alone network: each stage uses only the first channels of its convolutions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import nasbench1shot1 as nb
from nasbench1shot1.space import Place
from nasbench1shot1.supernets.layers import ConvBNReLU, initialise
from nasbench1shot1.supernets.places import CellWidth
from nasbench1shot1.supernets.presets import Preset
from small_widths.space import STAGES, WIDTHS, WidthArchitecture


class MaskedLayer(nn.Module):
    """A convolution whose output channels are scaled by the mixing weights of all widths that contain them."""

    def __init__(self, place: Place, momentum: float) -> None:
        super().__init__()
        self.stage = place.stage
        self.conv = ConvBNReLU(place.in_channels, place.out_channels, 3, momentum)
        self.pool = nn.AvgPool2d(2) if place.stride == 2 else nn.Identity()
        channels = torch.arange(place.out_channels) * len(WIDTHS) // place.out_channels
        self.register_buffer("masks", (channels < torch.tensor(WIDTHS)[:, None]).float(), persistent=False)

    def forward(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[int] | None = None,
        path: WidthArchitecture | None = None,
    ) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H', W'): the output is zero beyond the widest mixed width."""
        y = self.pool(self.conv(x))
        chosen = operations[0] if operations is not None else None if path is None else path.widths[self.stage]
        if chosen is None:
            scales = mixing["widths"].to(y.dtype) @ self.masks.to(y.dtype)
        else:
            scales = self.masks[chosen].to(y.dtype)
            if mixing is not None:
                scales = scales * mixing["widths"][..., chosen, None].to(y.dtype)
        return y * scales[..., None, None]


class WidthCell(MaskedLayer):
    """A cell that consists of one layer and keeps the number of channels."""

    def __init__(self, space: Any, place: Place, preset: Preset, partial_channels: int = 1) -> None:
        if partial_channels != 1:
            raise nb.InvalidInputError("the cells of the space widths use all channels: set --partial-channels 1")
        super().__init__(place, preset.batch_norm_momentum)

    @staticmethod
    def output_width(space: Any, in_channels: int, channels: int) -> int:
        """Return the number of input channels."""
        return in_channels

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the one-hot weights."""
        return dict(one_hot)


class WidthStages:
    """A stem, and one cell for each stage, with reductions between them; all layers have equal widths."""

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        self._channels, self._momentum = channels, preset.batch_norm_momentum

    def places(self, cell_width: CellWidth, side: int = 32) -> Iterator[Place]:
        """Yield the stem, three cells with a reduction before the second and the third, and the head."""
        width = self._channels
        yield Place("stem", 0, 0, 3, width, width, 1, side)
        for stage in range(STAGES):
            if stage:
                yield Place("reduction", stage, stage, width, width, width, 2, side)
                side //= 2
            yield Place("cell", stage, stage, width, cell_width(width, width), width, 1, side)
        yield Place("head", 0, STAGES - 1, width, width, width, 1, side)

    def layer(self, place: Place) -> nn.Module:
        """Return a masked convolution for the stem or a reduction."""
        return MaskedLayer(place, self._momentum)

    def head(self, place: Place, classes: int) -> dict[str, nn.Module]:
        """Return a linear classifier."""
        return {"classifier": nn.Linear(place.in_channels, classes)}

    def classify(self, net: Any, x: Tensor) -> Tensor:
        """Return class scores of the last cell's output: (N, C, H, W) → (N, classes)."""
        return net.classifier(x.mean(dim=(2, 3)))


def build_network(
    architecture: WidthArchitecture, *, channels: int = 4, classes: int = 10, generator: torch.Generator | None = None
) -> nn.Module:
    """Build the stand-alone network of an architecture."""
    widths = [channels * WIDTHS[position] for position in architecture.widths]
    layers = [ConvBNReLU(before, after, 3, 0.1) for before, after in zip([3, *widths], widths, strict=False)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes))
    initialise(net, generator or torch.Generator().manual_seed(0))
    return net
