"""The network that NAS-Bench-201 trains for an architecture (section 2.1)."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import EDGES, N_NODES, OPERATIONS, EdgeArchitecture
from nasbench1shot1.nasbench201.cost import CELLS_PER_STAGE, CHANNELS, STAGES, checked_sizes
from nasbench1shot1.nasbench201.layers import ResidualBlock, batch_norm, edge_operation, node_value, stem
from nasbench1shot1.runs.machine import within_memory
from nasbench1shot1.supernets.layers import initialise


class NetworkCell(nn.Module):
    """A cell of four nodes, (N, in_channels, H, W) → (N, C, H, W); each node is the sum of its incoming edges.

    As published, every edge is computed, even if its target does not reach the output. This includes convolutions on a
    node without inputs, which return the shift of their batch norm.

    Args:
        operations: the operation of each edge, in the order of `EDGES`.
        channels: C.
        in_channels: number of input channels; edges from the input change it to C. Cells with zeroized edges or
            pooling must keep the number of channels. Default: C.
    """

    def __init__(self, operations: Sequence[int], channels: int, in_channels: int | None = None) -> None:
        super().__init__()
        names = [OPERATIONS[operation] for operation in operations]
        self._edges = [(e, *EDGES[e]) for e, name in enumerate(names) if name != "none"]
        widths = (in_channels or channels, *[channels] * (N_NODES - 1))
        self.edges = nn.ModuleDict(
            {str(e): edge_operation(names[e], widths[source], channels) for e, _, source in self._edges}
        )

    def forward(self, x: Tensor) -> Tensor:
        """Compute all edges, in the order of `EDGES`."""
        nodes: list[Tensor] = [x]
        for target in range(1, N_NODES):
            outputs = [self.edges[str(e)](nodes[source]) for e, to, source in self._edges if to == target]
            nodes.append(node_value(outputs, x))
        return nodes[-1]


class CellNetwork(nn.Module):
    """Stem, cells and residual blocks in a row, batch-norm, global average, dense layer.

    Args:
        stem_channels: channels of the stem.
        cells: cells and residual blocks.
        last_channels: channels of the last of them.
        classes: number of classes.
    """

    def __init__(self, stem_channels: int, cells: Iterable[nn.Module], last_channels: int, classes: int) -> None:
        super().__init__()
        self.stem = stem(stem_channels)
        self.cells = nn.ModuleList(cells)
        self.last_bn = batch_norm(last_channels)
        self.classifier = nn.Linear(last_channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) normalised images → (N, classes) logits."""
        x = self.stem(images)
        for layer in self.cells:
            x = layer(x)
        logits: Tensor = self.classifier(torch.relu(self.last_bn(x)).mean(dim=(2, 3)))
        return logits


class EdgeNetwork(CellNetwork):
    """The network of an architecture of nb201: three stages of one cell with residual blocks between them.

    Attributes:
        architecture: the architecture of the cells.
    """

    def __init__(self, architecture: EdgeArchitecture, channels: int, cells_per_stage: int, classes: int) -> None:
        cells: list[nn.Module] = []
        width = channels
        for stage in range(STAGES):
            if stage:
                cells.append(ResidualBlock(width, 2 * width))
                width *= 2
            cells.extend(NetworkCell(architecture.operations, width) for _ in range(cells_per_stage))
        super().__init__(channels, cells, width, classes)
        self.architecture = architecture


def build_edge_network(
    architecture: EdgeArchitecture,
    *,
    channels: int = CHANNELS,
    cells_per_stage: int = CELLS_PER_STAGE,
    classes: int = 10,
    generator: torch.Generator | None = None,
) -> EdgeNetwork:
    """Build the network of an architecture of NAS-Bench-201, with fresh weights; the defaults are the published ones.

    Args:
        architecture: an `EdgeArchitecture`.
        channels: channels of the stem and the first stage; every further stage doubles them.
        cells_per_stage: N, the number of cells in each stage.
        classes: number of classes.
        generator: draws the initial weights from PyTorch's default distributions. Default: a generator with seed 0.

    Raises:
        InvalidInputError: `architecture` is not an `EdgeArchitecture`, a number is not a whole number of at least 1,
            there are more than a million classes, or there is too little memory for the weights.
    """
    if not isinstance(architecture, EdgeArchitecture):
        raise InvalidInputError(
            f"{architecture!r} is not an architecture of nb201: give one, such as a result of nb.Architecture.parse"
        )
    channels, cells_per_stage, classes = checked_sizes(
        channels=channels, cells_per_stage=cells_per_stage, classes=classes
    )
    with within_memory("a network", STAGES * cells_per_stage, channels=channels, cells_per_stage=cells_per_stage):
        net = EdgeNetwork(architecture, channels, cells_per_stage, classes)
    initialise(net, generator or torch.Generator().manual_seed(0))
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
