"""Graphs of V vertices as masks, edge x → y at bit x + y(y - 1)/2, many at once.

Seven vertices, the default, have 21 possible edges; six have 15. The bits of one column, the parents of vertex y, are
adjacent, so that whole columns are processed at once. The last vertex is the output.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import MAX_EDGES, MAX_VERTICES, VERTEX_BIT, Encodings, edge_bit

RULES = ("pruned", "raw")
"""The limit of nine edges applies to the pruned graph (as in `nasbench.api`) or to the whole graph."""

Masks = NDArray[np.int32]
Bits = NDArray[np.uint8]
Parents = tuple[tuple[int, ...], ...]

_MEMBERS = tuple(tuple(x for x in range(MAX_VERTICES - 1) if bits >> x & 1) for bits in range(2 ** (MAX_VERTICES - 1)))
_COLUMNS = tuple((edge_bit(0, y), 2**y - 1) for y in range(1, MAX_VERTICES))
"""The lowest bit of each column of vertices 1, 2, …, and a mask with one bit per bit of the column."""
_LOWER = (1 << edge_bit(0, 5)) - 1
"""The columns of vertices 1 to 4."""
_ONES = np.array([bits.bit_count() for bits in range(2**MAX_VERTICES)], np.uint8)


def n_edges(n_vertices: int) -> int:
    """Return the number of possible edges among vertices: 21 for seven, 15 for six."""
    return n_vertices * (n_vertices - 1) // 2


def all_masks(n_vertices: int = MAX_VERTICES) -> Masks:
    """Return all masks of graphs, 0 … 2^(possible edges) - 1."""
    return np.arange(1 << n_edges(n_vertices), dtype=np.int32)


def parents_of(mask: int, n_vertices: int = MAX_VERTICES) -> Parents:
    """Return the parents of vertices 1 … V - 1 of a mask; inverse of `nasbench101.encoding.edge_bits`."""
    parents = _lower_parents(mask & _LOWER) + _upper_parents(mask >> _LOWER.bit_length())
    return parents[: n_vertices - 1]


@cache
def _lower_parents(columns: int) -> Parents:
    """Return the parents of vertices 1 to 4; 2^10 cases."""
    return tuple(_MEMBERS[columns >> lowest & ones] for lowest, ones in _COLUMNS[:4])


@cache
def _upper_parents(columns: int) -> Parents:
    """Return the parents of vertices 5 and 6; 2^11 cases."""
    return _MEMBERS[columns & 31], _MEMBERS[columns >> 5]


def column(masks: Masks, y: int) -> Bits:
    """Return the parents of vertex y as bit sets, (N,)."""
    bits: Bits = (masks >> edge_bit(0, y) & (1 << y) - 1).astype(np.uint8)
    return bits


def live_vertices(masks: Masks, n_vertices: int = MAX_VERTICES) -> Bits:
    """Return the vertices on a path from input to output as bit sets, (N,); 0 if there is no such path."""
    output = n_vertices - 1
    reached = np.ones(len(masks), np.uint8)
    for y in range(1, n_vertices):  # edges ascend, so one sweep in order is enough
        reached |= ((column(masks, y) & reached) != 0).astype(np.uint8) << np.uint8(y)
    live = reached & np.uint8(1 << output)
    for y in range(output, 0, -1):
        live |= np.where(live >> np.uint8(y) & 1, column(masks, y) & reached, 0).astype(np.uint8)
    return live


def count_edges(masks: Masks, among: Bits | None = None) -> Bits:
    """Return the numbers of edges, (N,), of all edges or only of edges between vertices of the bit sets `among`."""
    total = np.zeros(len(masks), np.uint8)
    for y in range(1, MAX_VERTICES):
        parents = column(masks, y)
        if among is not None:
            parents = np.where(among >> np.uint8(y) & 1, parents & among, 0).astype(np.uint8)
        total += _ONES[parents]
    return total


def is_valid(masks: Masks, rule: str, n_vertices: int = MAX_VERTICES) -> NDArray[np.bool_]:
    """Return whether graphs have a path and at most nine edges, counted by one of `RULES`, (N,)."""
    live = live_vertices(masks, n_vertices)
    edges = count_edges(masks, live if rule == "pruned" else None)
    return np.logical_and(live, edges <= MAX_EDGES)


def pruned_graphs(n_vertices: int = MAX_VERTICES) -> tuple[Masks, Encodings]:
    """Return every pruned graph of at most V vertices: inner vertices are 1, 2, … without gaps, others unconnected.

    Returns:
        Masks, ascending (6,472 of seven vertices), and the edges and number of vertices of each, packed as in
        `nasbench101.encoding`.
    """
    output = n_vertices - 1
    masks = all_masks(n_vertices)
    live = live_vertices(masks, n_vertices)
    inner = live >> np.uint8(1) & np.uint8(2 ** (output - 1) - 1)
    edges = count_edges(masks)
    kept = (live != 0) & (edges <= MAX_EDGES) & (edges == count_edges(masks, live)) & (inner & (inner + 1) == 0)
    masks, sizes = masks[kept], _ONES[live[kept]].astype(np.uint64)
    below_output = (sizes - np.uint64(1)) * (sizes - np.uint64(2)) // np.uint64(2)
    lower = masks.astype(np.uint64) & np.uint64(2 ** edge_bit(0, output) - 1)
    outputs = column(masks, output).astype(np.uint64) << below_output
    return masks, sizes << np.uint64(VERTEX_BIT) | outputs | lower
