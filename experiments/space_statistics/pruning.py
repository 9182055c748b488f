"""The encodings that black-box methods search, labelled V × V matrices, and the cells that they prune to.

NAS-Bench-101 represents a cell as a 7 × 7 upper-triangular matrix and five labels: 2²¹ · 3⁵ encodings (its section
2.2), most of which have loose ends. Tables of smaller cells (EC-NAS) have encodings with fewer vertices.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import unknown_name
from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    MAX_EDGES,
    MAX_VERTICES,
    OPERATIONS,
    VERTEX_BIT,
    Encodings,
    edge_bit,
)
from nasbench1shot1.search_spaces import edge_masks
from nasbench1shot1.search_spaces.edge_masks import RULES

Integers = NDArray[np.int64]
N_OPERATIONS = len(OPERATIONS)


@dataclass(frozen=True, eq=False)
class Graphs:
    """The pruned graphs of all G = 2^(V (V - 1) / 2) matrices of V vertices, by their edges as bits (`edge_bit`).

    Attributes:
        vertices: V, the number of vertices.
        edges: (G,) edges of the pruned graph, renumbered without gaps.
        live: (G,) inner vertices on a path from input to output, vertex v at bit v - 1; also 0 if there is no path.
        n_vertices: (G,) numbers of vertices of the pruned graph; 0 if no path leads to the output.
        n_edges, raw_edges: (G,) numbers of edges after and before pruning.
    """

    vertices: int
    edges: NDArray[np.int32]
    live: NDArray[np.uint8]
    n_vertices: NDArray[np.uint8]
    n_edges: NDArray[np.uint8]
    raw_edges: NDArray[np.uint8]

    @property
    def inner(self) -> int:
        """Number of labels of an encoding."""
        return self.vertices - 2

    def valid(self, rule: str = "pruned") -> NDArray[np.bool_]:
        """Return whether each matrix is a cell of NAS-Bench-101, (G,), by a rule in `edge_masks.RULES`.

        Raises InvalidInputError for an unknown rule.
        """
        counted = self.n_edges if checked_rule(rule) == "pruned" else self.raw_edges
        valid: NDArray[np.bool_] = (self.n_vertices > 0) & (counted <= MAX_EDGES)
        return valid

    def cells(self, matrices: Integers, labels: Integers) -> Encodings:
        """Return the encodings of the pruned cells.

        Args:
            matrices: (N,) edges as bits, each with a path from input to output.
            labels: (N, V - 2) operations, including dead vertices.
        """
        codes = self.n_vertices[matrices].astype(np.uint64) << np.uint64(VERTEX_BIT)
        codes |= self.edges[matrices].astype(np.uint64)
        live = self.live[matrices]
        place = np.zeros(len(matrices), np.int64)  # position of the next live vertex
        for vertex in range(self.inner):
            is_live = (live >> vertex & 1).astype(np.int64)
            shift = (EDGE_BITS + 2 * place).astype(np.uint64)
            codes |= (labels[:, vertex] * is_live).astype(np.uint64) << shift
            place += is_live
        return codes


@lru_cache(maxsize=2)
def graphs(vertices: int = MAX_VERTICES) -> Graphs:
    """Return all matrices with a number of vertices; for seven, two million in less than a second."""
    masks = np.arange(1 << edge_bit(0, vertices), dtype=np.int32)
    wide = _with_output_last(masks, vertices)
    on_path = edge_masks.live_vertices(wide)
    live = on_path >> np.uint8(1) & np.uint8((1 << vertices - 2) - 1)
    edges, n_vertices = np.zeros_like(masks), np.zeros(len(masks), np.uint8)
    for kept in _vertex_sets(vertices):
        rows = np.flatnonzero((live == sum(1 << v - 1 for v in kept[1:-1])) & (on_path != 0))
        n_vertices[rows] = len(kept)
        for new_y, y in enumerate(kept):
            for new_x, x in enumerate(kept[:new_y]):
                edges[rows] |= (masks[rows] >> edge_bit(x, y) & 1) << edge_bit(new_x, new_y)
    counts = edge_masks.count_edges(wide, on_path), edge_masks.count_edges(wide)
    found = Graphs(vertices, edges, live, n_vertices, *counts)
    for array in (edges, live, n_vertices, *counts):
        array.flags.writeable = False
    return found


def checked_rule(rule: str) -> str:
    """Return `rule`; raises InvalidInputError if it is unknown."""
    if rule not in RULES:
        raise unknown_name("rule of what is valid", rule, RULES)
    return rule


def _vertex_sets(vertices: int) -> list[tuple[int, ...]]:
    """Return all sets of vertices that contain input and output."""
    inner = range(1, vertices - 1)
    return [(0, *chosen, vertices - 1) for k in range(vertices - 1) for chosen in combinations(inner, k)]


def _with_output_last(masks: edge_masks.Masks, vertices: int) -> edge_masks.Masks:
    """Return the graphs as matrices of seven vertices; the output's column moves to the end."""
    below = edge_bit(0, vertices - 1)
    wide: edge_masks.Masks = masks & (1 << below) - 1 | masks >> below << edge_bit(0, MAX_VERTICES - 1)
    return wide
