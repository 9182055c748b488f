"""The network that NATS-Bench trains for an architecture of its size space (section 2.2).

A stem, and five layers: cell, residual block, cell, residual block, cell. The stem and the first cell share the first
width (`xautodl/models/shape_infers/InferTinyCellNet.py` in AutoDL-Projects).
"""

import torch

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.layers import ResidualBlock
from nasbench1shot1.nasbench201.network import CellNetwork, NetworkCell
from nasbench1shot1.nats_size.architecture import CELL, WidthArchitecture
from nasbench1shot1.networks import network_size
from nasbench1shot1.supernets.layers import initialise


class WidthNetwork(CellNetwork):
    """The network of an architecture of nats-size.

    Edges from a cell's input change the number of channels; if it changes, a skip connection becomes a 1×1 convolution
    with batch-norm.

    Attributes:
        architecture: the architecture.
    """

    def __init__(self, architecture: WidthArchitecture, classes: int) -> None:
        c0, c1, c2, c3, c4 = architecture.widths
        cells = (
            NetworkCell(CELL.operations, c0),
            ResidualBlock(c0, c1),
            NetworkCell(CELL.operations, c2, in_channels=c1),
            ResidualBlock(c2, c3),
            NetworkCell(CELL.operations, c4, in_channels=c3),
        )
        super().__init__(c0, cells, c4, classes)
        self.architecture = architecture


def build_width_network(
    architecture: WidthArchitecture, *, classes: int = 10, generator: torch.Generator | None = None
) -> WidthNetwork:
    """Build the network of an architecture of NATS-Bench's size space, with fresh weights.

    Args:
        architecture: a `WidthArchitecture`.
        classes: number of classes.
        generator: draws the initial weights from PyTorch's default distributions. Default: a generator with seed 0.

    Raises:
        InvalidInputError: `architecture` is not a `WidthArchitecture`, or `classes` is not a whole number from 1 to a
            million.
    """
    if not isinstance(architecture, WidthArchitecture):
        raise InvalidInputError(
            f"{architecture!r} is not an architecture of nats-size: give one, such as a result of nb.Architecture.parse"
        )
    net = WidthNetwork(architecture, network_size("classes", classes))
    initialise(net, generator or torch.Generator().manual_seed(0))
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
