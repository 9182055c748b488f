"""Encodings of pruned cells as 34-bit integers, as tables store them; one at a time or many at once.

Bits 0–20: edge x → y at bit x + y(y - 1)/2, so that encodings ascend as NAS-Bench-101 enumerates its graphs.
Bits 21–30: two bits for the operation of vertices 1…5, its index in `OPERATIONS`. Bits 31–33: number of vertices.

A graph has one encoding for each numbering of its inner vertices along the edges (`nasbench101.numbering`). A table
lists all of them, so that a cell is found without its MD5, which would take ten times as long.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from operator import lshift
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError


class HasEncoding(Protocol):
    """The part of a cell's interface that encoding needs."""

    @property
    def encoding(self) -> int:
        """The pruned cell as one integer."""


class HasEdges(Protocol):
    """The part of an architecture's interface that encoding needs: edges and operations."""

    @property
    def edges(self) -> int:
        """The edges of the graph as bits, `edge_bits` of its parents."""

    @property
    def operations(self) -> tuple[int, ...]:
        """The index in `OPERATIONS` of every block's operation."""


INPUT, OUTPUT = "input", "output"
OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
"""NAS-Bench-101's `available_ops`: the order of operations in every column, one-hot vector and file."""

MAX_VERTICES, MAX_EDGES = 7, 9

Encodings = NDArray[np.uint64]
Parents = tuple[tuple[int, ...], ...]
EDGE_BITS, OPERATION_BITS = 21, 10
VERTEX_BIT = EDGE_BITS + OPERATION_BITS
_INDEX = {operation: i for i, operation in enumerate(OPERATIONS)}


def edge_bit(x: int, y: int) -> int:
    """Return the bit of the edge from vertex x to vertex y > x."""
    return x + y * (y - 1) // 2


def edge_bits(parents: Parents) -> int:
    """Return the edges of a graph as bits (`edge_bit`), given the ascending parents of vertices 1, 2, …."""
    bits = lowest = 0
    for before, of_vertex in enumerate(parents):
        lowest += before
        bits |= _as_bits(of_vertex) << lowest
    return bits


@lru_cache(maxsize=1 << 10)
def _as_bits(vertices: tuple[int, ...]) -> int:
    return sum(1 << vertex for vertex in vertices)


def _operation_bit(vertex: int) -> int:
    return EDGE_BITS + 2 * (vertex - 1)


# One at a time --------------------------------------------------------------------------------------------------


def encode_graph(matrix: Sequence[Sequence[Any]], ops: Sequence[Any]) -> int:
    """Prune a graph and encode it.

    Args:
        matrix: V rows of V entries; true entries above the diagonal are edges, all others are ignored.
        ops: V labels; the first and the last are ignored.

    Raises:
        InvalidInputError: no path leads from the first to the last vertex, more than 7 vertices are on such a path, or
            one of these vertices has a label that is not in `OPERATIONS`.
    """
    return _encode(_predecessors(matrix), ops)


def path_vertices(matrix: Sequence[Sequence[Any]]) -> list[int]:
    """Return the vertices on a path from the first to the last, ascending; empty if there is no such path."""
    kept = _path_mask(_predecessors(matrix))
    return [vertex for vertex in range(len(matrix)) if kept >> vertex & 1]


def _predecessors(matrix: Sequence[Sequence[Any]]) -> list[int]:
    """Return the predecessors of every vertex as a bit mask."""
    n = len(matrix)
    before = [0] * n
    for x in range(n - 1):
        row, bit = matrix[x], 1 << x
        for y in range(x + 1, n):
            if row[y]:
                before[y] |= bit
    return before


def _encode(before: list[int], ops: Sequence[Any]) -> int:
    kept = _path_mask(before)
    code = _encode_edges(before, kept)
    inner = [vertex for vertex in range(1, len(before) - 1) if kept >> vertex & 1]
    for place, vertex in enumerate(inner, start=1):
        code |= _index(ops[vertex]) << _operation_bit(place)
    return code


def _encode_edges(before: list[int], kept: int) -> int:
    """Return the encoding of the subgraph on the vertices `kept`, with operation 0 in all of them."""
    if not kept:
        raise InvalidInputError("the cell has no path from input to output: connect the two")
    n = kept.bit_count()
    if n > MAX_VERTICES:
        raise InvalidInputError(f"the cell has {n} vertices, NAS-Bench-101's have at most {MAX_VERTICES}")
    code, lowest, place = n << VERTEX_BIT, 0, 0
    for y, mask in enumerate(before):
        if kept >> y & 1:
            code |= _compress(mask & kept, kept) << lowest
            lowest, place = lowest + place, place + 1
    return code


def _path_mask(before: Sequence[int]) -> int:
    """Return the vertices on a path from the first to the last vertex as a bit mask (0: no such path)."""
    last = len(before) - 1
    if last < 1:
        return 0
    reached = 1
    for y in range(1, last + 1):  # edges ascend, so one sweep in order is enough
        if before[y] & reached:
            reached |= 1 << y
    kept = 1 << last
    for y in range(last, 0, -1):
        if kept >> y & 1:
            kept |= before[y]
    kept &= reached
    return kept if kept & 1 else 0


@lru_cache(maxsize=1 << 14)
def _compress(mask: int, kept: int) -> int:
    """Return the bits of `mask` at the positions that are set in `kept`, without gaps."""
    places = [place for place in range(kept.bit_length()) if kept >> place & 1]
    return sum((mask >> place & 1) << i for i, place in enumerate(places))


def _index(operation: Any) -> int:
    try:
        return _INDEX[operation]
    except (KeyError, TypeError):
        raise InvalidInputError(f"unknown operation '{operation}': NAS-Bench-101 has {', '.join(OPERATIONS)}") from None


def decode_graph(code: int) -> tuple[list[list[int]], list[str]]:
    """Return the adjacency matrix and the labels of an encoding."""
    n = code >> VERTEX_BIT
    matrix = [[int(x < y and code >> edge_bit(x, y) & 1) for y in range(n)] for x in range(n)]
    inner = [OPERATIONS[code >> _operation_bit(vertex) & 3] for vertex in range(1, n - 1)]
    return matrix, [INPUT, *inner, OUTPUT]


@lru_cache(maxsize=1 << 14)
def _wiring(edges: int, n_blocks: int) -> tuple[int, tuple[int, ...]]:
    """Return the encoding of a wiring with operation 0 in all blocks, and the operation bit of each (60: dead)."""
    before = [edges >> lowest & ones for lowest, ones in _columns(n_blocks + 2)]
    kept = _path_mask(before)
    return _encode_edges(before, kept), _shifts(kept, n_blocks)


@lru_cache(maxsize=1 << 6)
def _columns(n_vertices: int) -> tuple[tuple[int, int], ...]:
    """Return, for each vertex, the lowest bit of its incoming edges and a mask with one bit per possible edge."""
    return tuple((edge_bit(0, y), (1 << y) - 1) for y in range(n_vertices))


@lru_cache(maxsize=1 << 10)
def _shifts(kept: int, n_blocks: int) -> tuple[int, ...]:
    """Return the operation bit of each block, given the vertices that are kept; 60 for others."""
    places = [(kept & (1 << block) - 1).bit_count() for block in range(1, n_blocks + 1)]  # the input is always kept
    return tuple(_operation_bit(place) if kept >> block & 1 else 60 for block, place in enumerate(places, start=1))


def encode_architecture(arch: HasEdges) -> int:
    """Return the encoding of an architecture's cell; raises InvalidInputError like `encode_graph`."""
    code, shifts = _wiring(arch.edges, len(arch.operations))
    operations: int = sum(map(lshift, arch.operations, shifts))
    return code | operations & (1 << 60) - 1  # the operations of dead blocks are above bit 59


# Many at once ---------------------------------------------------------------------------------------------------


def encode_architectures(archs: Sequence[HasEdges]) -> Encodings:
    """Return the encodings of N architectures of one space, (N,), an order of magnitude faster than one by one.

    Raises InvalidInputError like `encode_graph`.
    """
    n_blocks = len(archs[0].operations) if archs else 0
    wirings = [_wiring(arch.edges, n_blocks) for arch in archs]
    flat = chain.from_iterable([arch.operations for arch in archs])
    operations = np.fromiter(flat, np.uint64, len(archs) * n_blocks).reshape(-1, n_blocks)
    codes = np.array([code for code, _ in wirings], np.uint64)
    shifts = np.fromiter(chain.from_iterable([s for _, s in wirings]), np.uint64, operations.size)
    moved = operations << shifts.reshape(operations.shape)
    for block in range(n_blocks):
        codes |= moved[:, block]
    return codes & np.uint64((1 << 60) - 1)


def encode_all(cells: Iterable[HasEncoding]) -> Encodings:
    """Return the encodings of many cells, (N,)."""
    return np.fromiter((cell.encoding for cell in cells), np.uint64)


def to_arrays(codes: Encodings) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Unpack many encodings.

    Returns:
        (N, 7, 7) adjacency, zero padded; (N, 5) operations of vertices 1…5, -1 for missing vertices; (N,) numbers of
        vertices V, of which V - 1 is the output.
    """
    n_vertices = (codes >> np.uint64(VERTEX_BIT)).astype(np.int64)
    adjacency = np.zeros((len(codes), MAX_VERTICES, MAX_VERTICES), np.int64)
    for y in range(MAX_VERTICES):
        for x in range(y):
            adjacency[:, x, y] = codes >> np.uint64(edge_bit(x, y)) & np.uint64(1)
    vertices = np.arange(1, MAX_VERTICES - 1)
    shifts = np.array([_operation_bit(int(v)) for v in vertices], np.uint64)
    operations = (codes[:, None] >> shifts & np.uint64(3)).astype(np.int64)
    operations[vertices >= n_vertices[:, None] - 1] = -1
    return adjacency, operations, n_vertices


def from_arrays(
    adjacency: NDArray[np.integer], operations: NDArray[np.integer], n_vertices: NDArray[np.integer]
) -> Encodings:
    """Pack arrays into encodings; the inverse of `to_arrays`."""
    codes = n_vertices.astype(np.uint64) << np.uint64(VERTEX_BIT)
    for y in range(MAX_VERTICES):
        for x in range(y):
            codes |= adjacency[:, x, y].astype(np.uint64) << np.uint64(edge_bit(x, y))
    for vertex in range(1, MAX_VERTICES - 1):
        of_vertex = np.where(vertex < n_vertices - 1, operations[:, vertex - 1], 0)
        codes |= of_vertex.astype(np.uint64) << np.uint64(_operation_bit(vertex))
    return codes


# Which integers are encodings -----------------------------------------------------------------------------------


def is_possible(code: int) -> bool:
    """Return whether an integer can be an encoding: 2 to 7 vertices, known operations, no other bits set.

    Does not check whether all vertices are on a path from input to output.
    """
    n = code >> VERTEX_BIT
    return 2 <= n <= MAX_VERTICES and not (code & ~_MEANINGFUL[n] or code & code >> 1 & _LOW_BITS)


def are_possible(codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return `is_possible` of N integers, (N,)."""
    numbers = np.asarray(codes, np.uint64)
    n = np.minimum(numbers >> np.uint64(VERTEX_BIT), np.uint64(MAX_VERTICES + 1)).astype(np.int64)
    meaningless = ~np.array([*_MEANINGFUL, 0], np.uint64)[n]
    possible: NDArray[np.bool_] = (
        (n >= 2)
        & (n <= MAX_VERTICES)
        & (numbers & meaningless == 0)
        & (numbers & numbers >> np.uint64(1) & np.uint64(_LOW_BITS) == 0)
    )
    return possible


_MEANINGFUL = tuple(
    n << VERTEX_BIT | (1 << n * (n - 1) // 2) - 1 | (1 << 2 * max(n - 2, 0)) - 1 << EDGE_BITS
    for n in range(MAX_VERTICES + 1)
)
"""The bits that can be set in the encoding of a cell, by its number of vertices."""
_LOW_BITS = sum(1 << _operation_bit(vertex) for vertex in range(1, MAX_VERTICES - 1))
"""The lower bit of every operation. If the upper bit is also set, the operation is 3, which does not exist."""
