"""On which side of a column of vertices each edge runs, so that few edges cross."""

from collections.abc import Iterable, Mapping

Edge = tuple[int, int]

STRAIGHT, RIGHT, LEFT = 0, 1, -1


def sides(edges: Iterable[Edge]) -> dict[Edge, int]:
    """Return the side of every edge (source, target) between vertices that lie below each other in their order.

    Edges between neighbours are straight. Short edges come first. Each takes the side on which it crosses fewer of the
    edges before it; of equal sides, the one with fewer edges, or the right one.
    """
    found: dict[Edge, int] = {}
    for edge in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge)):
        found[edge] = STRAIGHT if edge[1] - edge[0] == 1 else _better_side(edge, found)
    return found


def _better_side(edge: Edge, found: Mapping[Edge, int]) -> int:
    there = {side: [other for other, of_other in found.items() if of_other == side] for side in (RIGHT, LEFT)}
    return min(there, key=lambda side: (sum(_cross(edge, other) for other in there[side]), len(there[side])))


def _cross(one: Edge, other: Edge) -> bool:
    """Return whether two arcs on one side cross: each has exactly one end strictly within the other."""
    (a, b), (c, d) = sorted((one, other))
    return a < c < b < d
