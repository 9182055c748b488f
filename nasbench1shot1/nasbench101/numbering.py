"""The numberings of a cell's vertices: the one that NAS-Bench-101 meets first, and all of them, for many cells at once.

The numbering matters: where channels do not divide evenly among the vertices that feed the output, the first of
them get one more, so two isomorphic graphs can differ in parameters. NAS-Bench-101 trained the first it met when it
enumerated its graphs, with edges ascending as a bit mask, then operations in product order.

A million cells share a few thousand graphs. So every permutation of the inner vertices is applied to the distinct
graphs and to the 1,024 settings of the operations' bits alone, and cells only look up what became of theirs.
"""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    MAX_VERTICES,
    OPERATION_BITS,
    OPERATIONS,
    VERTEX_BIT,
    Encodings,
    edge_bit,
)

N_INNER = MAX_VERTICES - 2
_NONE = np.uint64(2**64 - 1)
"""In the place of edges that a permutation would let descend."""


def canonical(codes: Encodings) -> Encodings:
    """For each cell, the encoding of the isomorphic graph that the enumeration of NAS-Bench-101 meets first.

    Args:
        codes: (N,) encodings of pruned cells, numbered anyhow.

    Returns:
        (N,) encodings; equal for isomorphic cells and no others.
    """
    out = np.empty_like(codes)
    for rows in _by_size(codes):
        out[rows] = _first_met(_Renumbered(codes[rows]))
    return out


def numberings(codes: Encodings) -> tuple[Encodings, NDArray[np.int64]]:
    """Every encoding of every cell: inner vertices permuted in all ways in which edges still ascend.

    Args:
        codes: (N,) encodings of pruned cells, numbered anyhow; all of NAS-Bench-101's have 1,293,208 numberings.

    Returns:
        (K,) distinct encodings, ascending, and for each the position (K,) int64 in `codes` of its cell, the first
        where `codes` names a cell more than once.
    """
    found, positions = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for of_size in _by_size(codes):
        for rows, renumbered in _Renumbered(codes[of_size]).all_encodings():
            found.append(renumbered)
            positions.append(of_size[rows])
    every, position = np.concatenate(found), np.concatenate(positions)
    order = np.lexsort((position, every))
    distinct, first = np.unique(every[order], return_index=True)
    return distinct, position[order][first]


class _Renumbered:
    """Cells of one number of vertices under all P permutations of the inner ones.

    Attributes:
        edges: (P, G) edges of each of the G distinct graphs, `_NONE` where one would descend.
        operations: (P, 1024) what becomes of each setting of the operations' bits.
        graph: (N,) which graph a cell has.
        setting: (N,) its operations' bits.
    """

    def __init__(self, codes: Encodings) -> None:
        self.n_vertices = int(codes[0] >> np.uint64(VERTEX_BIT))
        orders = [(0, *inner, self.n_vertices - 1) for inner in permutations(range(1, self.n_vertices - 1))]
        graphs, self.graph = np.unique(codes & np.uint64(2**EDGE_BITS - 1), return_inverse=True)
        self.setting = (codes >> np.uint64(EDGE_BITS) & np.uint64(2**OPERATION_BITS - 1)).astype(np.int64)
        self.edges = np.stack([_permuted_edges(graphs, order) for order in orders])
        self.operations = np.stack([_permuted_operations(order) for order in orders])

    def all_encodings(self) -> Iterator[tuple[NDArray[np.int64], Encodings]]:
        """For each permutation the rows whose edges still ascend, and their encodings."""
        for edges, operations in zip(self.edges, self.operations, strict=True):
            rows = np.flatnonzero((edges != _NONE)[self.graph])
            yield rows, self.encodings(edges[self.graph[rows]], operations[self.setting[rows]])

    def encodings(self, edges: Encodings, operations: Encodings) -> Encodings:
        """Pack edges and operations of cells of this size."""
        return np.uint64(self.n_vertices << VERTEX_BIT) | operations << np.uint64(EDGE_BITS) | edges


def _by_size(codes: Encodings) -> Iterator[NDArray[np.int64]]:
    """The rows of each number of vertices that occurs."""
    n_vertices = codes >> np.uint64(VERTEX_BIT)
    for n in np.unique(n_vertices):
        yield np.flatnonzero(n_vertices == n)


def _first_met(cells: _Renumbered) -> Encodings:
    """The lowest edges, and of the permutations that lead to them the one with the first operations."""
    lowest = cells.edges.min(axis=0)
    rank, setting_of_rank = _product_order()
    best = np.full(len(cells.graph), len(setting_of_rank))
    for edges, operations in zip(cells.edges, cells.operations, strict=True):
        rows = np.flatnonzero((edges == lowest)[cells.graph])
        best[rows] = np.minimum(best[rows], rank[operations[cells.setting[rows]]])
    return cells.encodings(lowest[cells.graph], setting_of_rank[best])


def _permuted_edges(graphs: Encodings, order: tuple[int, ...]) -> Encodings:
    """Put vertex order[i] in the place of vertex i."""
    permuted = np.zeros_like(graphs)
    descends = np.zeros(len(graphs), bool)
    for y in range(len(order)):
        for x in range(y):
            old = sorted((order[x], order[y]))
            there = graphs >> np.uint64(edge_bit(*old)) & np.uint64(1)
            permuted |= there << np.uint64(edge_bit(x, y))
            if order[x] > order[y]:
                descends |= there.astype(bool)
    permuted[descends] = _NONE
    return permuted


def _permuted_operations(order: tuple[int, ...]) -> Encodings:
    """(1024,) the same for the operations of the inner vertices."""
    settings = np.arange(2**OPERATION_BITS, dtype=np.uint64)
    permuted = np.zeros_like(settings)
    for place, vertex in enumerate(order[1:-1]):
        permuted |= (settings >> np.uint64(2 * (vertex - 1)) & np.uint64(3)) << np.uint64(2 * place)
    return permuted


def _product_order() -> tuple[NDArray[np.int64], Encodings]:
    """(1024,) the rank of operations' bits in product order, the first vertex the most significant, and its inverse."""
    settings = np.arange(2**OPERATION_BITS)
    rank = np.zeros(len(settings), np.int64)
    real = np.ones(len(settings), bool)
    for place in range(N_INNER):
        operation = settings >> 2 * place & 3
        real &= operation < len(OPERATIONS)
        rank = rank * len(OPERATIONS) + operation
    setting_of_rank = np.zeros(len(OPERATIONS) ** N_INNER, np.uint64)
    setting_of_rank[rank[real]] = settings[real]
    return rank, setting_of_rank
