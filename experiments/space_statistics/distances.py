"""Edit distance between cells: differing edges and operations with the best matching of vertices."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import MAX_VERTICES, OPERATIONS, Encodings, to_arrays

N_INNER, LAST = MAX_VERTICES - 2, MAX_VERTICES - 1
_CHUNK = 65_536


def cell_distances(codes: Encodings, target: int) -> NDArray[np.int64]:
    """Return the edit distances of pruned cells from a given cell.

    An edit adds or removes an edge or changes an operation. The distance is the minimum over all ways to match the
    inner vertices of the two cells, so it does not depend on their numbering. A vertex that only one of the cells has
    contributes its edges, but not its operation, because unused vertices of an encoding can have any operation.

    Args:
        codes: (N,) encodings.
        target: encoding of the given cell.

    Returns:
        (N,) distances.
    """
    wanted = _Features(np.array([target], np.uint64))
    orders = np.array(list(permutations(range(N_INNER))))
    edges, labels, present = wanted.permuted(orders)
    out = np.empty(len(codes), np.int64)
    for start in range(0, len(codes), _CHUNK):
        cells = _Features(codes[start : start + _CHUNK])
        # An edge counts if only one cell has it. The operation of a vertex that both have counts if it differs.
        shared = 2 * cells.edges @ edges.T + cells.labels @ labels.T - cells.present @ present.T
        total = cells.edges.sum(axis=1) + wanted.edges.sum()
        out[start : start + _CHUNK] = np.rint(total - shared.max(axis=1))
    return out


class _Features:
    """Features of N cells whose products count common properties; the output is always at vertex 6.

    Attributes:
        edges: (N, 49) adjacency, float32.
        labels: (N, 15) one-hot operations, float32.
        present: (N, 5) whether each inner vertex is present, float32.
    """

    def __init__(self, codes: Encodings) -> None:
        adjacency, operations, n_vertices = to_arrays(codes)
        rows = np.arange(len(codes))
        to_output = adjacency[rows, :, n_vertices - 1]
        adjacency[rows, :, n_vertices - 1] = 0
        adjacency[:, :, LAST] = to_output
        self._adjacency, self._operations = adjacency, operations
        self.edges = adjacency.reshape(len(codes), -1).astype(np.float32)
        self.labels = _one_hot(operations)
        self.present = (operations >= 0).astype(np.float32)

    def permuted(
        self, orders: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return edges, labels and present of the first cell with its inner vertices in each of P orders."""
        edges = []
        for inner in orders:
            order = [0, *(inner + 1), LAST]
            edges.append(self._adjacency[0][np.ix_(order, order)].ravel())
        operations = self._operations[0][orders]
        return np.array(edges, np.float32), _one_hot(operations), (operations >= 0).astype(np.float32)


def _one_hot(operations: NDArray[np.int64]) -> NDArray[np.float32]:
    hot: NDArray[np.bool_] = operations[:, :, None] == np.arange(len(OPERATIONS))
    return hot.reshape(len(operations), -1).astype(np.float32)
