"""Numberings of the vertices of many cells: the first in NAS-Bench-101's enumeration, or all.

The numbering matters: if channels do not divide evenly among the vertices that feed the output, the first of these
vertices get one more. Two isomorphic graphs can therefore differ in parameters. NAS-Bench-101 trained the first graph
in its enumeration, with edges ascending as a bit mask, then operations in product order.

A million cells share a few thousand graphs. Every permutation of the inner vertices is therefore applied only to the
distinct graphs and to the 1,024 settings of the operations' bits, and the results are looked up for each cell.
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
"""Marks graphs in which a permutation makes an edge descend."""


def canonicalise(codes: Encodings) -> Encodings:
    """Return, for each cell, the encoding of the isomorphic graph that comes first in NAS-Bench-101's enumeration.

    Args:
        codes: (N,) encodings of pruned cells, in any numbering.

    Returns:
        (N,) encodings; equal if and only if the cells are isomorphic.
    """
    out = np.empty_like(codes)
    for rows in _by_size(codes):
        out[rows] = _first_met(_Renumbered(codes[rows]))
    return out


def numberings(codes: Encodings) -> tuple[Encodings, NDArray[np.int64]]:
    """Return all encodings of all cells: every permutation of the inner vertices with which all edges ascend.

    Args:
        codes: (N,) encodings of pruned cells, in any numbering; NAS-Bench-101's cells have 1,293,208 numberings.

    Returns:
        (K,) distinct encodings, ascending, and (K,) int64 the position in `codes` of the cell of each: the first
        position if a cell occurs more than once.
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
    """Cells with an equal number of vertices under all P permutations of the inner vertices.

    Attributes:
        edges: (P, G) edges of each of the G distinct graphs, `_NONE` if one would descend.
        operations: (P, 1024) each setting of the operations' bits, permuted.
        graph: (N,) index of the graph of each cell.
        setting: (N,) operations' bits of each cell.
    """

    def __init__(self, codes: Encodings) -> None:
        self.n_vertices = int(codes[0] >> np.uint64(VERTEX_BIT))
        orders = [(0, *inner, self.n_vertices - 1) for inner in permutations(range(1, self.n_vertices - 1))]
        graphs, self.graph = np.unique(codes & np.uint64(2**EDGE_BITS - 1), return_inverse=True)
        self.setting = (codes >> np.uint64(EDGE_BITS) & np.uint64(2**OPERATION_BITS - 1)).astype(np.int64)
        self.edges = np.stack([_permuted_edges(graphs, order) for order in orders])
        self.operations = np.stack([_permuted_operations(order) for order in orders])

    def all_encodings(self) -> Iterator[tuple[NDArray[np.int64], Encodings]]:
        """Yield, for each permutation, the rows whose edges still ascend, and their encodings."""
        for edges, operations in zip(self.edges, self.operations, strict=True):
            rows = np.flatnonzero((edges != _NONE)[self.graph])
            yield rows, self.encodings(edges[self.graph[rows]], operations[self.setting[rows]])

    def encodings(self, edges: Encodings, operations: Encodings) -> Encodings:
        """Pack edges and operations of cells of this size."""
        return np.uint64(self.n_vertices << VERTEX_BIT) | operations << np.uint64(EDGE_BITS) | edges


def _by_size(codes: Encodings) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of the cells with each number of vertices."""
    n_vertices = codes >> np.uint64(VERTEX_BIT)
    for n in np.unique(n_vertices):
        yield np.flatnonzero(n_vertices == n)


def _first_met(cells: _Renumbered) -> Encodings:
    """Return the encodings with the lowest edges and, among permutations with these edges, the first operations."""
    lowest = cells.edges.min(axis=0)
    rank, setting_of_rank = _product_order()
    best = np.full(len(cells.graph), len(setting_of_rank))
    for edges, operations in zip(cells.edges, cells.operations, strict=True):
        rows = np.flatnonzero((edges == lowest)[cells.graph])
        best[rows] = np.minimum(best[rows], rank[operations[cells.setting[rows]]])
    return cells.encodings(lowest[cells.graph], setting_of_rank[best])


def _permuted_edges(graphs: Encodings, order: tuple[int, ...]) -> Encodings:
    """Return the edges of graphs with vertex order[i] in the place of vertex i; `_NONE` if an edge descends."""
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
    """Return all settings of the operations' bits, (1024,), with vertex order[i] in the place of vertex i."""
    settings = np.arange(2**OPERATION_BITS, dtype=np.uint64)
    permuted = np.zeros_like(settings)
    for place, vertex in enumerate(order[1:-1]):
        permuted |= (settings >> np.uint64(2 * (vertex - 1)) & np.uint64(3)) << np.uint64(2 * place)
    return permuted


def _product_order() -> tuple[NDArray[np.int64], Encodings]:
    """Return the rank of operations' bits in product order, with the first vertex most significant; its inverse."""
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
