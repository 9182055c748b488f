"""The supernet of NAS-Bench-201: an operation on every edge of the cell, residual blocks between the stages.

Source: Dong and Yang, NAS-Bench-201 (ICLR 2020), sections 2.1 and 4; the published code of its search algorithms.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial as bound
from typing import Any

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import EDGES, N_NODES, NONE, EdgeArchitecture
from nasbench1shot1.nasbench201.layers import (
    ReLUConvBN,
    ResidualBlock,
    average_pool_3x3,
    batch_norm,
    node_value,
    stem,
)
from nasbench1shot1.space import Place
from nasbench1shot1.supernets.layers import (
    Mixture,
    Observer,
    as_broadcastable,
    check_partial,
    entries_of,
    weighted_sum,
)
from nasbench1shot1.supernets.passes import WithUnsampledTerms
from nasbench1shot1.supernets.places import CellWidth, doubling_stages
from nasbench1shot1.supernets.presets import Preset

Operation = int | tuple[int, ...]
"""The operation that an edge computes, or all operations of its mixture."""


class MixedEdge(Mixture):
    """Σₒ αₒ · o(x) over the five operations of an edge.

    With `partial` = k > 1, operations only see 1/k of the channels; the others bypass them (PC-DARTS).
    """

    def __init__(self, channels: int, affine: bool, partial: int = 1) -> None:
        super().__init__(channels, partial)
        width = channels // partial
        self.conv1x1 = ReLUConvBN(width, width, 1, affine=affine)
        self.conv3x3 = ReLUConvBN(width, width, 3, affine=affine)

    def forward(self, x: Tensor, weights: Tensor | None, operation: Operation | None = None) -> Tensor:
        """(N, C, H, W) → (N, C, H, W); `weights` (5,) or (N, 5).

        If `operation` is given, only this operation, or these operations, are computed. Outputs are scaled by their
        weights; without weights (None), the output of a single operation is not scaled.
        """
        return self.apply_to_visible(x, lambda seen: self._mix(seen, weights, operation))

    def _mix(self, x: Tensor, weights: Tensor | None, operation: Operation | None) -> Tensor:
        operations = (torch.zeros_like, nn.Identity(), self.conv1x1, self.conv3x3, average_pool_3x3)
        if isinstance(operation, int):
            output: Tensor = operations[operation](x)
            if weights is None:
                return output
            of_all = as_broadcastable(weights, x)
            scaled = of_all[operation] * output
            if isinstance(operation, WithUnsampledTerms):  # as the published edge for GDAS
                scaled = scaled + sum(weight for number, weight in enumerate(of_all) if number != operation)
            return scaled
        assert weights is not None
        return self.add_skip(self._mixture(x, weights, range(5) if operation is None else operation, operations), x)

    def _mixture(self, x: Tensor, weights: Tensor, taken: Sequence[int], operations: Sequence[Any]) -> Tensor:
        """Return Σₒ αₒ · o(x) over the operations in `taken`; zeroize adds nothing."""
        computed = sorted(number for number in taken if number != NONE)
        if self.observer is not None and NONE in taken:
            self.observer(NONE, torch.zeros_like(x))
        if not computed:
            return torch.zeros_like(x)
        of_computed = weights[..., 1:] if len(computed) == len(operations) - 1 else entries_of(weights, computed)
        outputs = [operations[number](x) for number in computed]
        if self.observer is not None:
            for number, output in zip(computed, outputs, strict=True):
                self.observer(number, output)
        return weighted_sum(of_computed, outputs)


class EdgeCell(nn.Module):
    """A cell of four nodes; each node is the sum of its incoming edges, the last one is the output.

    Batch-norm has no scale and no shift, as in NAS-Bench-201's searches; `AffineEdgeCell` learns them, as does any cell
    under a preset with `batch_norm_affine`.

    Raises:
        InvalidInputError: the channels before and after the cell differ, or cannot be divided by `partial_channels`.
    """

    affine = False

    def __init__(self, space: Any, place: Place, preset: Preset, partial_channels: int = 1) -> None:
        super().__init__()
        channels = place.channels
        if place.in_channels != channels:
            raise InvalidInputError(
                f"a cell of NAS-Bench-201 keeps its {place.in_channels} channels and cannot have {channels}: use the "
                "skeleton of NAS-Bench-201"
            )
        check_partial(channels, partial_channels)
        self.out_channels = channels
        self.edges = nn.ModuleList(MixedEdge(channels, self.affine, partial_channels) for _ in EDGES)

    def forward(
        self,
        x: Tensor,
        mixing: Mapping[str, Tensor] | None,
        operations: Sequence[Operation] | None = None,
        path: EdgeArchitecture | None = None,
    ) -> Tensor:
        """(N, C, H, W) → (N, C, H, W); checked arguments, as in `Supernet.forward`."""
        chosen = operations if path is None else path.operations
        needed = self._needed(chosen, path is not None)
        nodes = [x]
        for target in range(1, N_NODES):
            incoming = [(e, nodes[source]) for e, (to, source) in enumerate(EDGES) if to == target and e in needed]
            outputs = [self._edge(e, value, mixing, chosen) for e, value in incoming]
            nodes.append(node_value(outputs, x))
        return nodes[-1]

    def observe(self, observer: Observer | None) -> None:
        """Let an observer receive the outputs of all operations of mixtures."""
        for e, edge in enumerate(self.edges):
            edge.observer = None if observer is None else bound(observer, "operations", e)  # type: ignore[assignment]

    def _edge(
        self, e: int, x: Tensor, mixing: Mapping[str, Tensor] | None, operations: Sequence[Operation] | None
    ) -> Tensor:
        weights = None if mixing is None else mixing["operations"][..., e, :]
        output: Tensor = self.edges[e](x, weights, None if operations is None else operations[e])
        return output

    def _needed(self, chosen: Sequence[Operation] | None, is_path: bool) -> set[int]:
        """Return the edges to compute, given the operations of all edges, if they are chosen.

        A path leaves out zeroized edges and edges that do not reach the output. With partial channels, every edge is
        needed, because channels bypass its operation, and with terms of unsampled operations, because these have a
        gradient. Edges from a node without inputs are left out only in training and only if batch-norm has no shift.
        Their output is then zero, but weight decay would move their weights if they were computed. Otherwise,
        batch-norm maps zeros to its shift or, with running statistics, to other values.
        """
        first: Any = self.edges[0]  # a preset can make all batch norms learn a shift
        has_terms = any(isinstance(operation, WithUnsampledTerms) for operation in chosen or ())
        if chosen is None or first.partial > 1 or has_terms:
            return set(range(len(EDGES)))
        needed = live_edges(chosen) if is_path else set(range(len(EDGES)))
        return needed & edges_from_input(chosen) if self.training and not first.conv1x1.bn.affine else needed

    @staticmethod
    def output_width(space: Any, in_channels: int, channels: int) -> int:
        """Return the number of input channels, which a cell keeps."""
        return in_channels

    @staticmethod
    def as_evaluated(one_hot: Mapping[str, Tensor], preset: Preset) -> dict[str, Tensor]:
        """Return the one-hot weights: NAS-Bench-201's supernets evaluate discrete architectures as they are."""
        return dict(one_hot)


class AffineEdgeCell(EdgeCell):
    """An `EdgeCell` whose batch-norm learns a scale and a shift."""

    affine = True


class ResidualStages:
    """The skeleton of NAS-Bench-201: three stages of cells, residual blocks between them, global average pooling."""

    def __init__(self, channels: int, cells: int, preset: Preset) -> None:
        self._channels, self._cells = channels, cells

    def places(self, cell_width: CellWidth, side: int = 32) -> Iterator[Place]:
        """Yield the stem, three stages with a residual block between them, and the head."""
        return doubling_stages(
            self._channels, self._cells, cell_width, side, reduction_widens=True, halves_exactly=True
        )

    def layer(self, place: Place) -> nn.Module:
        """Return a 3×3 convolution with batch-norm, or a basic residual block of stride 2."""
        if place.kind == "stem":
            return stem(place.out_channels)
        return ResidualBlock(place.in_channels, place.out_channels)

    def head(self, place: Place, classes: int) -> dict[str, nn.Module]:
        """Return the last batch-norm and a linear classifier."""
        return {"last_bn": batch_norm(place.in_channels), "classifier": nn.Linear(place.in_channels, classes)}

    def classify(self, net: Any, x: Tensor) -> Tensor:
        """(N, C, H, W) → (N, classes)."""
        logits: Tensor = net.classifier(torch.relu(net.last_bn(x)).mean(dim=(2, 3)))
        return logits


def is_zeroized(operation: Operation) -> bool:
    """Return whether an edge computes nothing but zeroize."""
    return operation in (NONE, (NONE,))


def live_edges(operations: Sequence[Operation]) -> set[int]:
    """Return the edges that are not zeroized and lie on a path to the output."""
    reached, live = {N_NODES - 1}, set()
    for e in reversed(range(len(EDGES))):  # edges of later targets come first
        target, source = EDGES[e]
        if target in reached and not is_zeroized(operations[e]):
            live.add(e)
            reached.add(source)
    return live


def edges_from_input(operations: Sequence[Operation]) -> set[int]:
    """Return the edges whose source has a path from the input."""
    reached, fed = {0}, set()
    for e, (target, source) in enumerate(EDGES):  # edges of earlier targets come first
        if source in reached:
            fed.add(e)
            reached |= {target} if not is_zeroized(operations[e]) else set()
    return fed
