"""Many cells as arrays, each numbered as NAS-Bench-101 first meets it when it enumerates its graphs.

The numbering matters: where channels do not divide evenly among the vertices that feed the output, the first of
them get one more, so two isomorphic graphs can differ in parameters. NAS-Bench-101 trained the first it met, with
edges ascending as a bit mask, then operations in product order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.cell_encoding import Encodings, edge_bit, from_arrays, to_arrays
from nasbench1shot1.cells import MAX_VERTICES

Integers = NDArray[np.int64]
N_INNER = MAX_VERTICES - 2
OUTPUT = MAX_VERTICES - 1


@dataclass(frozen=True)
class CellArrays:
    """N cells with the output always at vertex 6; vertices that a cell lacks have no edges.

    Attributes:
        adjacency: (N, 7, 7) of 0 and 1.
        operations: (N, 5) operation of vertices 1…5, -1 where there is none.
        n_vertices: (N,).
    """

    adjacency: Integers
    operations: Integers
    n_vertices: Integers

    def __len__(self) -> int:
        return len(self.n_vertices)

    @classmethod
    def from_encodings(cls, codes: Encodings) -> "CellArrays":
        """Unpack encodings, as they are numbered."""
        adjacency, operations, n_vertices = to_arrays(codes)
        rows = np.arange(len(codes))
        inner = n_vertices < MAX_VERTICES
        to_output = adjacency[rows, :, n_vertices - 1]
        adjacency[rows[inner], :, n_vertices[inner] - 1] = 0
        adjacency[:, :, OUTPUT] = to_output
        return cls(adjacency, operations, n_vertices)


def canonical(codes: Encodings) -> Encodings:
    """For each cell, the encoding of the isomorphic graph that the enumeration of NAS-Bench-101 meets first.

    Args:
        codes: (N,) encodings of pruned cells, numbered anyhow.

    Returns:
        (N,) encodings; equal for isomorphic cells.
    """
    adjacency, operations, n_vertices = to_arrays(codes)
    out = np.empty_like(codes)
    for n in np.unique(n_vertices):
        of_size = np.flatnonzero(n_vertices == n)
        out[of_size] = _canonical_of_size(adjacency[of_size], operations[of_size], int(n))
    return out


def _canonical_of_size(adjacency: Integers, operations: Integers, n: int) -> Encodings:
    best_key = np.full(len(adjacency), np.iinfo(np.int64).max)
    best = np.zeros(len(adjacency), np.uint64)
    for inner in permutations(range(1, n - 1)):
        order = [0, *inner, *range(n - 1, MAX_VERTICES)]
        moved = adjacency[:, order][:, :, order]
        labels = operations[:, [v - 1 for v in order[1:-1]]]
        key = np.where(_ascends(moved), _key(moved, labels, n), np.iinfo(np.int64).max)
        better = key < best_key
        best_key[better] = key[better]
        best[better] = from_arrays(moved[better], labels[better], np.full(int(better.sum()), n))
    return best


def _ascends(adjacency: Integers) -> NDArray[np.bool_]:
    return np.asarray(~np.tril(adjacency).any(axis=(1, 2)))


def _key(adjacency: Integers, operations: Integers, n: int) -> Integers:
    """Edges first, then operations with the first vertex the most significant."""
    edges = sum(adjacency[:, x, y] << edge_bit(x, y) for y in range(n) for x in range(y))
    labels = np.zeros(len(adjacency), np.int64)
    for vertex in range(1, n - 1):
        labels = labels * 3 + operations[:, vertex - 1]
    key: Integers = edges * 3**N_INNER + labels
    return key


def stack(parts: Sequence[CellArrays]) -> CellArrays:
    """Several sets of cells as one."""
    return CellArrays(
        np.concatenate([p.adjacency for p in parts]),
        np.concatenate([p.operations for p in parts]),
        np.concatenate([p.n_vertices for p in parts]),
    )
