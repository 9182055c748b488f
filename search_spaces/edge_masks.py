"""Graphs of seven vertices as masks of 21 bits, edge x → y at bit x + y(y - 1)/2, all 2,097,152 of them at once.

The bits of one column, the parents of vertex y, are adjacent, so that whole columns are processed at once.
"""

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_EDGES, MAX_VERTICES, VERTEX_BIT, Encodings, edge_bit

OUTPUT = MAX_VERTICES - 1
N_MASKS = 1 << EDGE_BITS
RULES = ("pruned", "raw")
"""The limit of nine edges applies to the pruned graph (as in `nasbench.api`) or to the whole graph."""

Masks = NDArray[np.int32]
Bits = NDArray[np.uint8]
Parents = tuple[tuple[int, ...], ...]

_MEMBERS = tuple(tuple(x for x in range(OUTPUT) if bits >> x & 1) for bits in range(2**OUTPUT))
_ONES = np.array([bits.bit_count() for bits in range(2**MAX_VERTICES)], np.uint8)


def all_masks() -> Masks:
    """Return all masks, 0 … 2²¹ - 1."""
    return np.arange(N_MASKS, dtype=np.int32)


def mask_of(parents: Parents) -> int:
    """Return the mask of a graph, given the parents of vertices 1 … 6."""
    return sum(1 << edge_bit(x, y) for y, of_vertex in enumerate(parents, start=1) for x in of_vertex)


def parents_of(mask: int) -> Parents:
    """Return the parents of vertices 1 … 6 of a mask; inverse of `mask_of`."""
    return tuple(_MEMBERS[mask >> edge_bit(0, y) & 2**y - 1] for y in range(1, MAX_VERTICES))


def column(masks: Masks, y: int) -> Bits:
    """Return the parents of vertex y as bit sets, (N,)."""
    bits: Bits = (masks >> edge_bit(0, y) & (1 << y) - 1).astype(np.uint8)
    return bits


def live_vertices(masks: Masks) -> Bits:
    """Return the vertices on a path from input to output as bit sets, (N,); 0 if there is no such path."""
    reached = np.ones(len(masks), np.uint8)
    for y in range(1, MAX_VERTICES):  # edges ascend, so one sweep in order is enough
        reached |= ((column(masks, y) & reached) != 0).astype(np.uint8) << np.uint8(y)
    live = reached & np.uint8(1 << OUTPUT)
    for y in range(OUTPUT, 0, -1):
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


def is_valid(masks: Masks, rule: str) -> NDArray[np.bool_]:
    """Return whether graphs have a path and at most nine edges, counted by one of `RULES`, (N,)."""
    live = live_vertices(masks)
    edges = count_edges(masks, live if rule == "pruned" else None)
    return np.logical_and(live, edges <= MAX_EDGES)


def pruned_graphs() -> tuple[Masks, Encodings]:
    """Return every pruned graph of NAS-Bench-101: inner vertices are 1, 2, … without gaps, others unconnected.

    Returns:
        (6472,) masks, ascending, and the edges and number of vertices of each, packed as in `nasbench101.encoding`.
    """
    masks = all_masks()
    live = live_vertices(masks)
    inner = live >> np.uint8(1) & np.uint8(2 ** (OUTPUT - 1) - 1)
    edges = count_edges(masks)
    kept = (live != 0) & (edges <= MAX_EDGES) & (edges == count_edges(masks, live)) & (inner & (inner + 1) == 0)
    masks, n_vertices = masks[kept], _ONES[live[kept]].astype(np.uint64)
    below_output = (n_vertices - np.uint64(1)) * (n_vertices - np.uint64(2)) // np.uint64(2)
    lower = masks.astype(np.uint64) & np.uint64(2 ** edge_bit(0, OUTPUT) - 1)
    outputs = column(masks, OUTPUT).astype(np.uint64) << below_output
    return masks, n_vertices << np.uint64(VERTEX_BIT) | outputs | lower
