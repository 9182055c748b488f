"""The supernet of choice blocks: its cell and skeleton (NAS-Bench-1Shot1, section 3; Bender et al. 2018)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial as bound
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nasbench1shot1.nasbench101.architecture import CellArchitecture, live_blocks
from nasbench1shot1.space import Place
from nasbench1shot1.supernets.layers import (
    BATCH_NORM_EPSILON,
    BatchNorm2d,
    ConvBNReLU,
    Mixture,
    Observer,
    as_broadcastable,
    check_partial,
    entries_of,
    max_pool_3x3,
    total,
    weighted_concatenation,
    weighted_sum,
)
from nasbench1shot1.supernets.places import CellWidth, doubling_stages
from nasbench1shot1.supernets.presets import Preset


class ChoiceBlocks(Protocol):
    """The part of a choice-block space's interface that the cell needs."""

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks."""

    def mixing_key(self, node: int) -> str | None:
        """Return the key of the mixing weights of a node's inputs; None if the node has no choice."""


class MixedOperation(Mixture):
    """xʲ = Σₒ βₒ · o(Iʲ) over 3×3 convolution, 1×1 convolution and 3×3 max-pooling.

    With `partial` = k > 1, the operations only see the first 1/k of the channels; the others bypass them, and all
    channels are then shuffled (PC-DARTS, Xu et al. 2020, section 3.1).
    """

    def __init__(self, channels: int, momentum: float, partial: int = 1) -> None:
        super().__init__(channels, partial)
        width = channels // partial
        self.conv3x3 = ConvBNReLU(width, width, 3, momentum)
        self.conv1x1 = ConvBNReLU(width, width, 1, momentum)

    def forward(self, x: Tensor, weights: Tensor | None, operation: int | tuple[int, ...] | None = None) -> Tensor:
        """(N, C, H, W) → (N, C, H, W); `weights` (3,) or (N, 3).

        If `operation` is given, only this operation, or these operations, are computed. Outputs are scaled by their
        weights; without weights (None), the output of a single operation is not scaled.
        """
        return self.apply_to_visible(x, lambda seen: self._mix(seen, weights, operation))

    def _mix(self, x: Tensor, weights: Tensor | None, operation: int | tuple[int, ...] | None) -> Tensor:
        operations = (self.conv3x3, self.conv1x1, max_pool_3x3)
        if isinstance(operation, int):
            output = operations[operation](x)
            return output if weights is None else as_broadcastable(weights, x)[operation] * output
        assert weights is not None
        if operation is not None:
            weights = entries_of(weights, operation)
        taken = range(len(operations)) if operation is None else operation
        outputs = [operations[number](x) for number in taken]
        if self.observer is not None:
            for number, output in zip(taken, outputs, strict=True):
                self.observer(number, output)
        return self.add_skip(weighted_sum(weights, outputs), x)


class ChoiceBlockCell(nn.Module):
    """A cell with all choice blocks, a 1×1 projection of its input for each block, and a projection for the output.

    Every block has `channels` channels. The outputs of the n blocks are concatenated, and the input, projected to
    n · channels channels, is added. Nodes are numbered as in the space.

    Raises:
        InvalidInputError: `channels` cannot be divided by `partial_channels`.
    """

    observer: Observer | None = None

    def __init__(self, space: ChoiceBlocks, place: Place, preset: Preset, partial_channels: int = 1) -> None:
        super().__init__()
        check_partial(place.channels, partial_channels)
        self.out_channels, momentum = place.out_channels, preset.batch_norm_momentum
        widths = [place.channels] * space.n_blocks + [place.out_channels]
        self.projections = nn.ModuleList(ConvBNReLU(place.in_channels, width, 1, momentum) for width in widths)
        self.blocks = nn.ModuleList(
            MixedOperation(place.channels, momentum, partial_channels) for _ in range(space.n_blocks)
        )
        self._keys = [space.mixing_key(node) for node in range(1, space.n_blocks + 2)]

    def forward(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[int | tuple[int, ...]] | None = None,
        path: CellArchitecture | None = None,
        edges: Mapping[str, Sequence[int]] | None = None,
    ) -> Tensor:
        """(N, in_channels, H, W) → (N, out_channels, H, W); checked arguments, as in `Supernet.forward`."""
        if path is not None:
            return self._parts(x, path.parents, path.operations, mixing)
        if edges is not None:
            return self._parts(x, self._parents(edges), operations or [None] * len(self.blocks), mixing)
        assert mixing is not None
        outputs: list[Tensor] = []
        *projected, shortcut = self.project(x)
        for b, block in enumerate(self.blocks):
            inputs = [projected[b], *outputs]
            key = self._keys[b]
            self._show_inputs(key, inputs)
            mixed = weighted_sum(mixing[key], inputs) if key else total(inputs)
            of_block = mixing["operations"][..., b, :]
            outputs.append(block(mixed, of_block, None if operations is None else operations[b]))
        self._show_inputs("output_edges", [shortcut, *outputs])
        return weighted_concatenation(mixing["output_edges"], shortcut, outputs)

    def observe(self, observer: Observer | None) -> None:
        """Let an observer receive the outputs of all operations of mixtures, and the inputs of nodes with a choice."""
        self.observer = observer
        for b, block in enumerate(self.blocks):
            block.observer = None if observer is None else bound(observer, "operations", b)  # type: ignore[assignment]

    def _show_inputs(self, key: str | None, inputs: Sequence[Tensor]) -> None:
        if self.observer is not None and key is not None:
            for node, value in enumerate(inputs):
                self.observer(key, None, node, value)

    def _parents(self, edges: Mapping[str, Sequence[int]]) -> list[Sequence[int]]:
        """Return the inputs of every node: those in `edges`, or all inputs of a node without an entry there."""
        return [edges.get(key or "", range(node)) for node, key in enumerate(self._keys, start=1)]

    def _parts(
        self,
        x: Tensor,
        parents: Sequence[Sequence[int]],
        operations: Sequence[int | tuple[int, ...] | None],
        mixing: Mapping[str, Tensor] | None,
    ) -> Tensor:
        """Compute only the blocks with a path to the output, their operations, and the projections that they need.

        `parents` lists the inputs of block 1, …, block n and the output, in ascending order; `operations` lists the
        operations of the blocks.
        """
        outputs: dict[int, Tensor] = {}
        for node in live_blocks(parents):
            read = self._scaled_inputs(node, parents[node - 1], x, outputs, mixing)
            of_block = None if mixing is None else mixing["operations"][..., node - 1, :]
            outputs[node] = self.blocks[node - 1](total(list(read.values())), of_block, operations[node - 1])
        read = self._scaled_inputs(len(parents), parents[-1], x, outputs, mixing)
        shortcut = read.pop(0, None)
        if not read:
            assert shortcut is not None
            return shortcut
        nothing = torch.zeros_like(next(iter(read.values())))
        joined = torch.cat([read.get(node, nothing) for node in range(1, len(self.blocks) + 1)], dim=1)
        return joined if shortcut is None else shortcut + joined

    def _scaled_inputs(
        self,
        node: int,
        parents: Sequence[int],
        x: Tensor,
        outputs: Mapping[int, Tensor],
        mixing: Mapping[str, Tensor] | None,
    ) -> dict[int, Tensor]:
        """Return a node's inputs by parent, scaled by mixing weights, if any; parent 0 is a projection of x."""
        inputs = {parent: outputs[parent] if parent else self.projections[node - 1](x) for parent in parents}
        key = self._keys[node - 1]
        if key is not None and self.observer is not None:
            for parent, value in inputs.items():
                self.observer(key, None, parent, value)
        if mixing is None or key is None:
            return inputs
        weights = as_broadcastable(mixing[key], x)
        return {parent: weights[parent] * value for parent, value in inputs.items()}

    @staticmethod
    def output_width(space: ChoiceBlocks, in_channels: int, channels: int) -> int:
        """Return the width of all blocks together, because the output concatenates them."""
        return channels * space.n_blocks

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the mixing weights with which discrete architectures are evaluated, from their one-hot weights.

        docs/presets.md describes the presets.
        """
        evaluated = dict(one_hot)
        for key, value in one_hot.items():
            if key == "operations" and preset.discrete_operations == "softmax":
                evaluated[key] = F.softmax(value, dim=-1)
            elif key != "operations" and preset.discrete_edges == "mean":
                evaluated[key] = value / value.sum(dim=-1, keepdim=True)
        return evaluated

    def project(self, x: Tensor) -> list[Tensor]:
        """Return the projections of the cell's input for every block, then for the output.

        They are computed one after another. On two CPU cores, fusing them into one convolution and one batch norm is
        not faster (benchmarks/fused_projections.py); other devices were not measured.
        """
        return [projection(x) for projection in self.projections]


class CellStacks:
    """The skeleton of NAS-Bench-1Shot1's supernets, like NAS-Bench-101's: three stacks, max-pooling between them.

    The head (ReLU, 1×1 convolution, batch-norm without parameters) reduces the width of the last cell before the
    average. The published supernet has this head; NAS-Bench-101's networks do not.
    """

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        self._channels, self._cells, self._momentum = channels, cells, preset.batch_norm_momentum
        self._padding = int(preset.downsampling == "padded")

    def places(self, cell_width: CellWidth, side: int = 32) -> Iterator[Place]:
        """Yield the stem, three stacks with pooling between them, and the head."""
        return doubling_stages(
            self._channels, self._cells, cell_width, side, reduction_widens=False, padding=self._padding
        )

    def layer(self, place: Place) -> nn.Module:
        """Return a 3×3 convolution with batch-norm and ReLU, or 2×2 max-pooling, which has no parameters."""
        if place.kind == "stem":
            return ConvBNReLU(place.in_channels, place.out_channels, 3, self._momentum)
        return nn.MaxPool2d(2, stride=2, padding=self._padding)

    def head(self, place: Place, classes: int) -> dict[str, nn.Module]:
        """Return a 1×1 convolution, its batch-norm and a linear classifier."""
        return {
            "head": nn.Conv2d(place.in_channels, place.channels, kernel_size=1, bias=False),
            "head_bn": BatchNorm2d(place.channels, eps=BATCH_NORM_EPSILON, affine=False),
            "classifier": nn.Linear(place.channels, classes),
        }

    def classify(self, net: Any, x: Tensor) -> Tensor:
        """(N, C, H, W) → (N, classes)."""
        x = net.head_bn(net.head(F.relu(x)))
        logits: Tensor = net.classifier(x.mean(dim=(2, 3)))
        return logits
