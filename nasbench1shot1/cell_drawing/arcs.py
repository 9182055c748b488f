"""Layout of edges on the two sides of a column of vertices, with few crossings."""

from collections.abc import Iterable, Mapping

Edge = tuple[int, int]

STRAIGHT, RIGHT, LEFT = 0, 1, -1


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
