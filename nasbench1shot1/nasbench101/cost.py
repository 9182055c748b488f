"""The widths of all layers of a cell's network, and its number of parameters, for cells with any number of vertices.

`nasbench101.features` counts many cells of at most 7 vertices at once; tests compare the two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell, graph_hash
from nasbench1shot1.networks import network_size

CONV3X3, CONV1X1, MAXPOOL3X3 = OPERATIONS
KERNEL_SIZES = {CONV3X3: 3, CONV1X1: 1}
IMAGE_CHANNELS = 3
STEM_KERNEL_SIZE = 3
NUMBERINGS = ("given", "nasbench101")
"""Numberings of the vertices of a network: as in the given cell, or as in `in_nasbench101_numbering`."""


class CellPlace(NamedTuple):
    """The place of a cell in the network."""

    in_channels: int
    out_channels: int
    halves: bool
    """Whether the image is halved before the cell."""


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """The network around the cells (NAS-Bench-101, section 2.1 and Figure 1); the defaults are NAS-Bench-101's.

    Attributes:
        stem_channels: channels of the stem and of the cells of the first stack; every further stack doubles them.
        stacks: number of stacks; the image is halved before each stack except the first.
        cells_per_stack: number of cells in each stack.
        classes: number of classes.

    Raises:
        InvalidInputError: an attribute is not a whole number of at least 1, or `classes` exceeds a million.
    """

    stem_channels: int = 128
    stacks: int = 3
    cells_per_stack: int = 3
    classes: int = 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, network_size(name, value))

    @property
    def last_channels(self) -> int:
        """Number of channels of the last stack, the input of the dense layer."""
        return self.stem_channels << (self.stacks - 1)

    def places(self) -> Iterator[CellPlace]:
        """Return the place of every cell, in the order of the forward pass."""
        return (place for place, count in self.counted_places() for _ in range(count))

    def counted_places(self) -> Iterator[tuple[CellPlace, int]]:
        """Yield each place with the number of consecutive cells in equal places, in the order of the forward pass."""
        before = self.stem_channels
        for stack in range(self.stacks):
            width = self.stem_channels << stack
            yield CellPlace(before, width, halves=stack > 0), 1
            yield CellPlace(width, width, halves=False), self.cells_per_stack - 1
            before = width


def vertex_channels(matrix: Sequence[Sequence[int]], out_channels: int) -> list[int]:
    """Return the channels of every vertex (NAS-Bench-101, section 2.1; `compute_vertex_channels` in its code).

    The vertices that feed the output share its channels; if the division leaves a remainder, the first of these
    vertices take one more each. Every other vertex is as wide as the widest vertex that it feeds.

    Args:
        matrix: (V, V) adjacency of a pruned cell.
        out_channels: channels of the output.

    Returns:
        V numbers; 0 for the input, whose channels depend on the previous layer.

    Raises:
        InvalidInputError: more vertices feed the output than it has channels.
    """
    last = len(matrix) - 1
    feeding = [v for v in range(1, last) if matrix[v][last]]
    if len(feeding) > out_channels:
        raise InvalidInputError(
            f"{len(feeding)} vertices share the output's {counted(out_channels, 'channel')}: give the stem more "
            "channels"
        )
    channels = [0] * last + [out_channels]
    for position, v in enumerate(feeding):
        channels[v] = out_channels // len(feeding) + (position < out_channels % len(feeding))
    for v in range(last - 1, 0, -1):
        if not matrix[v][last]:
            channels[v] = max(channels[w] for w in range(v + 1, last) if matrix[v][w])
    return channels


def parameter_count(x: Any, skeleton: Skeleton | None = None) -> int:
    """Return the number of trainable parameters of a cell's network, without building it.

    Args:
        x: as for `as_cell`; the given numbering of the vertices is used.
        skeleton: the network around the cells. Default: NAS-Bench-101's.

    Raises:
        InvalidInputError: as `as_cell` and `vertex_channels`.
    """
    cell, skeleton = as_cell(x), skeleton or Skeleton()
    matrix = cell.matrix.tolist()
    total = _conv_bn(IMAGE_CHANNELS, skeleton.stem_channels, STEM_KERNEL_SIZE)
    for place, count in skeleton.counted_places():
        total += count * sum(_conv_bn(*made) for made in _cell_convolutions(matrix, cell.ops, place))
    return total + (skeleton.last_channels + 1) * skeleton.classes


def multiply_adds(x: Any, skeleton: Skeleton | None = None, side: int = 32) -> int:
    """Return the multiply-adds of a cell's network for one image of `side` × `side` pixels, without building it.

    Convolutions and the dense layer count; batch-norm, pooling and sums do not. Other arguments and errors are as for
    `parameter_count`. Raises InvalidInputError if `side` is not a whole number from 1 to 65,536.
    """
    cell, skeleton, side = as_cell(x), skeleton or Skeleton(), network_size("side", side)
    matrix = cell.matrix.tolist()
    total = STEM_KERNEL_SIZE**2 * IMAGE_CHANNELS * skeleton.stem_channels * side**2
    for place, count in skeleton.counted_places():
        side = -(-side // 2) if place.halves else side  # max-pooling rounds up
        convolutions = _cell_convolutions(matrix, cell.ops, place)
        total += count * side**2 * sum(size**2 * before * after for before, after, size in convolutions)
    return total + skeleton.last_channels * skeleton.classes


def _cell_convolutions(matrix: list[list[int]], ops: Sequence[str], place: CellPlace) -> Iterator[tuple[int, int, int]]:
    """Yield the channels before and after each convolution of a cell, projections included, and its kernel size."""
    channels = vertex_channels(matrix, place.out_channels)
    yield from ((place.in_channels, channels[v], 1) for v, edge in enumerate(matrix[0]) if edge)
    yield from ((channels[v], channels[v], KERNEL_SIZES[op]) for v, op in enumerate(ops) if op in KERNEL_SIZES)


def _conv_bn(in_channels: int, out_channels: int, kernel_size: int) -> int:
    """Return the parameters of a convolution without bias, and of the scale and shift of its batch-norm."""
    return (kernel_size**2 * in_channels + 2) * out_channels


_FROM_TEXT = "give nb.Architecture.parse(text), or for a hash the cell of a table, table.cell(table.row_of(hash))"


def as_cell(x: Any) -> Cell:
    """Return a value as a cell whose network can be built.

    Args:
        x: an Architecture, a Cell, or an object with `matrix` and `ops` that `Cell` accepts, such as a ModelSpec.

    Raises:
        InvalidInputError: the value is not a cell, has no path from input to output, or has an operation that is not in
            `OPERATIONS`.
    """
    if isinstance(found := getattr(x, "cell", None), Cell):  # an Architecture
        return found
    if isinstance(x, str):
        raise InvalidInputError(f"'{x}' is text: {_FROM_TEXT}")
    if not hasattr(x, "matrix") or not hasattr(x, "ops"):
        raise InvalidInputError(f"{x!r} is not a cell: give an Architecture, a Cell, or something with matrix and ops")
    is_pruned_away = x.matrix is None or x.ops is None  # in a ModelSpec
    cell = x if isinstance(x, Cell) or is_pruned_away else Cell(x.matrix, x.ops)
    if is_pruned_away or not cell.ops:
        raise InvalidInputError("the cell has no path from input to output, so there is no network: connect the two")
    return cell


def in_nasbench101_numbering(cell: Cell) -> Cell:
    """Return a cell in the numbering that NAS-Bench-101 trained: the first in its enumeration.

    Isomorphic cells can differ in parameters (`nasbench101.numbering`).

    Raises:
        InvalidInputError: the cell is not in NAS-Bench-101.
    """
    import numpy as np

    from nasbench1shot1.nasbench101.numbering import canonicalise

    if not cell.is_valid:
        raise InvalidInputError(f"{cell!r} is not in NAS-Bench-101, which only numbers its own cells")
    return Cell.from_encoding(int(canonicalise(np.array([cell.encoding], np.uint64))[0]))


def has_nasbench101_channels(cell: Cell, skeleton: Skeleton) -> bool:
    """Return whether a cell's vertices have the numbers of channels that they have in NAS-Bench-101's numbering.

    Raises InvalidInputError if the cell is not in NAS-Bench-101, or has too few channels, as `vertex_channels`.
    """
    official = in_nasbench101_numbering(cell)
    widths = {place.out_channels for place, _ in skeleton.counted_places()}
    return all(_hash_with_channels(cell, width) == _hash_with_channels(official, width) for width in widths)


def _hash_with_channels(cell: Cell, width: int) -> str:
    """Return the hash of a cell whose labels also state the channels of the inner vertices."""
    inner = list(zip(vertex_channels(cell.matrix.tolist(), width), cell.ops, strict=True))[1:-1]
    return graph_hash(cell.matrix, [-1, *(len(OPERATIONS) * c + OPERATIONS.index(op) for c, op in inner), -2])
