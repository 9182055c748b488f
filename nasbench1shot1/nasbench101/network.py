"""The network that NAS-Bench-101 trains for a cell (its section 2.1; `model_builder` in its code)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.cost import (
    IMAGE_CHANNELS,
    KERNEL_SIZES,
    NUMBERINGS,
    STEM_KERNEL_SIZE,
    CellPlace,
    Skeleton,
    as_cell,
    in_nasbench101_numbering,
    vertex_channels,
)
from nasbench1shot1.runs.machine import within_memory
from nasbench1shot1.supernets.layers import ConvBNReLU, max_pool_3x3, total

BATCH_NORM_MOMENTUM = 0.003
"""Weight of the newest batch in the running statistics; TensorFlow's momentum is the complement, 0.997."""
_TRUNCATION = 2.0
_TRUNCATED_STD = 0.8796256610342398
"""Standard deviation of a standard normal distribution truncated at ±2."""


class NetworkCell(nn.Module):
    """One cell: edges from the input are projections, inner vertices sum their inputs, the output concatenates them.

    A vertex that is one channel wider than the one it feeds loses its last channel. An edge from input to
    output is projected to the full width and added to the concatenation.

    Args:
        cell: the cell; its numbering of vertices is used.
        place: numbers of channels before and after the cell.
        momentum: batch-norm momentum in PyTorch's sense.
    """

    def __init__(self, cell: Cell, place: CellPlace, momentum: float) -> None:
        super().__init__()
        matrix = cell.matrix.tolist()
        self._output = len(matrix) - 1
        self._channels = vertex_channels(matrix, place.out_channels)
        self._inner_sources = [[u for u in range(1, v) if matrix[u][v]] for v in range(len(matrix))]
        self.projections = nn.ModuleDict(
            {
                str(v): ConvBNReLU(place.in_channels, self._channels[v], 1, momentum)
                for v, edge in enumerate(matrix[0])
                if edge
            }
        )
        self.convolutions = nn.ModuleDict(
            {
                str(v): ConvBNReLU(self._channels[v], self._channels[v], KERNEL_SIZES[op], momentum)
                for v, op in enumerate(cell.ops)
                if op in KERNEL_SIZES
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H, W)."""
        values = [x]
        for v in range(1, self._output):
            summed = self._sum(v, x, [values[u][:, : self._channels[v]] for u in self._inner_sources[v]])
            values.append(self.convolutions[str(v)](summed) if str(v) in self.convolutions else max_pool_3x3(summed))
        feeding = [values[u] for u in self._inner_sources[self._output]]
        return self._sum(self._output, x, [torch.cat(feeding, dim=1)] if feeding else [])

    def _sum(self, vertex: int, x: Tensor, tensors: Sequence[Tensor]) -> Tensor:
        """Return the sum of tensors, and of the input's projection if an edge leads from the input to this vertex."""
        if str(vertex) in self.projections:
            tensors = [*tensors, self.projections[str(vertex)](x)]
        return total(tensors)


class CellNetwork(nn.Module):
    """Stem, stacks of one repeated cell with the image halved between them, global average, dense layer.

    Attributes:
        cell: the cell in the numbering of the network.
        skeleton: the network around the cells.
    """

    def __init__(self, cell: Cell, skeleton: Skeleton, momentum: float = BATCH_NORM_MOMENTUM) -> None:
        super().__init__()
        self.cell, self.skeleton = cell, skeleton
        places = list(skeleton.places())
        self._halves = [place.halves for place in places]
        self.stem = ConvBNReLU(IMAGE_CHANNELS, skeleton.stem_channels, STEM_KERNEL_SIZE, momentum)
        self.cells = nn.ModuleList(NetworkCell(cell, place, momentum) for place in places)
        self.classifier = nn.Linear(skeleton.last_channels, skeleton.classes)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) normalised images → (N, classes) logits."""
        x = self.stem(images)
        for halves, cell in zip(self._halves, self.cells, strict=True):
            if halves:
                x = F.max_pool2d(x, kernel_size=2, stride=2, ceil_mode=True)  # TensorFlow's "same"
            x = cell(x)
        logits: Tensor = self.classifier(x.mean(dim=(2, 3)))
        return logits


def build_network(
    x: Any,
    *,
    stem_channels: int = 128,
    stacks: int = 3,
    cells_per_stack: int = 3,
    classes: int = 10,
    numbering: str = "given",
    batch_norm_momentum: float = BATCH_NORM_MOMENTUM,
    generator: torch.Generator | None = None,
) -> CellNetwork:
    """Build the network of a cell, with fresh weights; the defaults are NAS-Bench-101's.

    Two numberings of one cell can differ in parameters, because the first vertices that feed the output take the
    remainder of its channels. The network has the official number of parameters if the cell has the numbering that
    NAS-Bench-101 trained. A table's `cell(row)` has this numbering; `numbering="nasbench101"` applies it to any cell.

    Args:
        x: an Architecture, a Cell, or an object with `matrix` and `ops`, such as a ModelSpec, with any number of
            vertices.
        stem_channels: channels of the stem and the first stack; every further stack doubles them. 16 gives the proxy
            model.
        stacks: number of stacks.
        cells_per_stack: number of cells in each stack.
        classes: number of classes.
        numbering: "given", or "nasbench101" for NAS-Bench-101's numbering of the cell.
        batch_norm_momentum: weight of the newest batch in the running statistics (PyTorch's sense).
        generator: draws the initial weights from TensorFlow's default distributions (`initialise`). Default: PyTorch's
            global generator.

    Raises:
        InvalidInputError: the cell or numbering is invalid, a number is out of range, there are too few channels for
            the vertices that share them, or there is too little memory for the weights.
    """
    cell = as_cell(x)
    if numbering not in NUMBERINGS:
        raise unknown_name("numbering", numbering, NUMBERINGS)
    if numbering == "nasbench101":
        cell = in_nasbench101_numbering(cell)
    sizes = {"stem_channels": stem_channels, "stacks": stacks, "cells_per_stack": cells_per_stack}
    skeleton = Skeleton(**sizes, classes=classes)
    with within_memory("a network", skeleton.stacks * skeleton.cells_per_stack, **sizes):
        net = CellNetwork(cell, skeleton, batch_norm_momentum)
    initialise(net, generator)
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


@torch.no_grad()
def initialise(net: nn.Module, generator: torch.Generator | None) -> None:
    """Draw new weights from the same distributions as TensorFlow's layers in NAS-Bench-101's code.

    Convolutions: `variance_scaling_initializer()`, a normal distribution truncated at two standard deviations, with
    variance 1 / fan-in after truncation. Dense layer: Glorot's uniform distribution in ±√(6 / (fan-in + fan-out)), bias
    0. Batch norm: scale 1, shift 0. Weights on the meta device are skipped.
    """
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d) and not layer.weight.is_meta:
            _truncated_normal(layer.weight, layer.weight[0].numel() ** -0.5 / _TRUNCATED_STD, generator)
        elif isinstance(layer, nn.Linear) and not layer.weight.is_meta:
            bound = (6 / sum(layer.weight.shape)) ** 0.5
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.zero_()


def _truncated_normal(weight: Tensor, std: float, generator: torch.Generator | None) -> None:
    """Draw from a truncated normal distribution by inverse transform sampling, one uniform draw per weight."""
    edge = torch.erf(torch.tensor(_TRUNCATION / 2**0.5)).item()
    weight.uniform_(-edge, edge, generator=generator).erfinv_().mul_(std * 2**0.5)
    weight.clamp_(-_TRUNCATION * std, _TRUNCATION * std)
