"""The places of vertices, edges and labels in the picture of a graph, in data units of its axes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

Edge = tuple[int, int]
Point = tuple[float, float]

COMPACT = "compact"
"""Attribute of graphs whose layout is compact, with labels of two lines."""
STRAIGHT, RIGHT, LEFT = 0, 1, -1
HALF_HEIGHT, HALF_HEIGHT_OF_TWO = 0.22, 0.42
"""Half the height of a vertex, and of a vertex with two lines of text."""
CHARACTER = 0.66
"""Width of a character, relative to the font size."""
LARGEST_TEXT, LARGEST_OF_TWO = 0.28, 0.36
"""Largest font size of vertices, and of vertices with two lines of text."""
EDGE_TEXT = 0.24
"""Font size of edge labels."""
GAP = 0.12
"""Smallest distance between an edge label and what is beside it."""
ROUND, ROUND_COMPACT = 0.24, 0.14
"""Sideways extent of an arc without a label, relative to its length, and in a compact layout."""
STEEP = 0.76
"""Fraction of its sideways extent that a long arc reaches at the upper edge of a shorter arc's label."""


@dataclass(frozen=True)
class Layout:
    """The layout of a cell's vertices in a column, with longer edges as arcs on both sides.

    Attributes:
        vertices: number of vertices.
        edges: the edges that there is space for, as (source, target). With edge labels, these are all pairs of
            vertices, even if the graph lacks some of them.
        vertex_characters: number of characters of the longest text in a vertex.
        edge_characters: number of characters of the longest line of an edge label; 0 if edges do not have labels.
        is_compact: vertices have two lines of larger text, and arcs are flat. The text is then larger, relative to the
            width of the picture. Only for edges without labels.
    """

    vertices: int
    edges: tuple[Edge, ...]
    vertex_characters: int
    edge_characters: int
    is_compact: bool = False

    @classmethod
    def of(cls, graph: "networkx.DiGraph[int]") -> "Layout":
        """Return the layout of a graph.

        With edge labels, there is space for all edges between the vertices, so that panels with different edges are
        equally large.
        """
        on_vertices, on_edges = graph.graph["node_characters"], graph.graph["edge_characters"]
        edges = tuple(combinations(graph, 2)) if on_edges else tuple(graph.edges)
        return cls(len(graph), edges, on_vertices, on_edges, graph.graph.get(COMPACT, False))

    @cached_property
    def sides(self) -> dict[Edge, int]:
        """The side of every edge."""
        return sides(self.edges)

    @property
    def half_width(self) -> float:
        """Half the width of a vertex."""
        return 0.62 if self.edge_characters else 1.4 if self.is_compact else 1.05

    @property
    def half_height(self) -> float:
        """Half the height of a vertex."""
        return HALF_HEIGHT_OF_TWO if self.is_compact else HALF_HEIGHT

    @property
    def distance(self) -> float:
        """The distance between adjacent vertices; edge labels and second lines need more space."""
        return 1.7 if self.edge_characters else 1.4 if self.is_compact else 1.0

    @property
    def vertex_text(self) -> float:
        """The font size with which all texts fit in their vertices."""
        largest = LARGEST_OF_TWO if self.is_compact else LARGEST_TEXT
        return min(largest, 2 * self.half_width / (max(self.vertex_characters, 1) * CHARACTER))

    @property
    def label_width(self) -> float:
        """The width of the space for an edge label."""
        return self.edge_characters * EDGE_TEXT * CHARACTER

    def bulge(self, length: int) -> float:
        """Return the sideways extent of an arc between vertices `length` places apart.

        An arc with a label passes the labels of shorter arcs on its side.
        """
        if not self.edge_characters:
            return (ROUND_COMPACT if self.is_compact else ROUND) * length * self.distance
        first = GAP + self.label_width / 2
        return first if length <= 2 else (2 * first + (length - 2) * GAP) / STEEP

    def ends(self, edge: Edge) -> tuple[Point, Point]:
        """Return the start and end points of an edge: at the sides of its vertices, or below and above them."""
        source, target = (vertex * self.distance for vertex in edge)
        if side := self.sides[edge]:
            return (side * self.half_width, -source), (side * self.half_width, -target)
        return (0.0, -source - self.half_height), (0.0, -target + self.half_height)

    def curvature(self, edge: Edge) -> float:
        """Return `rad` of matplotlib's connection style arc3, whose arcs extend by `rad` / 2 of their length."""
        length = edge[1] - edge[0]
        return -2 * self.sides[edge] * self.bulge(length) / (length * self.distance)

    def label_place(self, edge: Edge) -> Point:
        """Return the centre of an edge's label: the middle of the edge."""
        (_, top), (_, bottom) = self.ends(edge)
        side = self.sides[edge]
        return side * (self.half_width + self.bulge(edge[1] - edge[0])), (top + bottom) / 2

    @property
    def limits(self) -> tuple[Point, Point]:
        """The limits of the axes, (left, right) and (bottom, top)."""
        lengths = {s: [b - a for (a, b), side in self.sides.items() if side == s] for s in (LEFT, RIGHT)}
        margin = 0.15 + self.label_width / 2
        left, right = (
            self.half_width + margin + (self.bulge(max(found)) if found else 0.0) for found in lengths.values()
        )
        outside = self.half_height + 0.18
        return (-left, right), (-(self.vertices - 1) * self.distance - outside, outside)

    @property
    def smallest_text(self) -> float:
        """The font size of the smallest text."""
        return min(self.vertex_text, EDGE_TEXT) if self.edge_characters else self.vertex_text


def in_two_lines(text: str) -> str:
    """Return a text, broken at the space at which the longer line is shortest; a single word stays as it is."""
    words = text.split(" ")
    breaks = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words))]
    return "\n".join(min(breaks, key=lambda lines: max(map(len, lines)))) if breaks else text


def sides(edges: Iterable[Edge]) -> dict[Edge, int]:
    """Return the side of every edge (source, target) between vertices in one column, ordered from top to bottom.

    Edges between adjacent vertices are straight. The other edges are placed in order of length. Each takes the side on
    which it crosses fewer edges already placed. If both sides are equal, it takes the side with fewer edges; if these
    are equal, too, the right side.
    """
    found: dict[Edge, int] = {}
    for edge in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge)):
        found[edge] = STRAIGHT if edge[1] - edge[0] == 1 else _better_side(edge, found)
    return found


def _better_side(edge: Edge, found: Mapping[Edge, int]) -> int:
    there = {side: [other for other, other_side in found.items() if other_side == side] for side in (RIGHT, LEFT)}
    return min(there, key=lambda side: (sum(_cross(edge, other) for other in there[side]), len(there[side])))


def _cross(one: Edge, other: Edge) -> bool:
    """Return whether two arcs on one side cross: each has exactly one end strictly within the other."""
    (a, b), (c, d) = sorted((one, other))
    return a < c < b < d
