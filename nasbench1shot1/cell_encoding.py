"""A pruned cell as one integer of 34 bits, as the tables keep it; one at a time or many at once.

Bits 0–20: edge x → y at bit x + y(y - 1)/2, so that encodings ascend as NAS-Bench-101 enumerates its graphs.
Bits 21–30: two bits for the operation of vertices 1…5, its index in `OPERATIONS`. Bits 31–33: number of vertices.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.cells import INPUT, MAX_VERTICES, OPERATIONS, OUTPUT, Cell

Encodings = NDArray[np.uint64]
_OPERATION_BIT, _VERTEX_BIT = 21, 31


def encode(cell: Cell) -> int:
    """The encoding of a valid cell; isomorphic cells numbered differently have different ones."""
    n = len(cell.ops)
    code = n << _VERTEX_BIT
    for x, y in zip(*np.nonzero(cell.matrix), strict=True):
        code |= 1 << edge_bit(int(x), int(y))
    for vertex in range(1, n - 1):
        code |= OPERATIONS.index(cell.ops[vertex]) << _operation_bit(vertex)
    return code


def encode_all(cells: Iterable[Cell]) -> Encodings:
    """The encodings of many cells, (N,)."""
    return np.fromiter((encode(cell) for cell in cells), np.uint64)


def decode(code: int) -> Cell:
    """The cell that `encode` was given."""
    n = code >> _VERTEX_BIT
    matrix = [[int(x < y and code >> edge_bit(x, y) & 1) for y in range(n)] for x in range(n)]
    inner = [OPERATIONS[code >> _operation_bit(vertex) & 3] for vertex in range(1, n - 1)]
    return Cell(matrix, [INPUT, *inner, OUTPUT])


def edge_bit(x: int, y: int) -> int:
    """The bit of the edge from vertex x to vertex y > x."""
    return x + y * (y - 1) // 2


def _operation_bit(vertex: int) -> int:
    return _OPERATION_BIT + 2 * (vertex - 1)


def to_arrays(codes: Encodings) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Unpack many encodings.

    Returns:
        (N, 7, 7) adjacency, zero padded; (N, 5) operation of vertices 1…5, -1 where there is none; (N,) number
        of vertices V, of which V - 1 is the output.
    """
    n_vertices = (codes >> np.uint64(_VERTEX_BIT)).astype(np.int64)
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
    """Pack what `to_arrays` gives."""
    codes = n_vertices.astype(np.uint64) << np.uint64(_VERTEX_BIT)
    for y in range(MAX_VERTICES):
        for x in range(y):
            codes |= adjacency[:, x, y].astype(np.uint64) << np.uint64(edge_bit(x, y))
    for vertex in range(1, MAX_VERTICES - 1):
        of_vertex = np.where(vertex < n_vertices - 1, operations[:, vertex - 1], 0)
        codes |= of_vertex.astype(np.uint64) << np.uint64(_operation_bit(vertex))
    return codes
