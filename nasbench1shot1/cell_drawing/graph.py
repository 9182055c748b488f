"""The graph of a cell as it is drawn.

Vertices have two attributes: `label` is the displayed text, and `live` tells whether the vertex lies on a path from
input to output. Edges have three attributes: `label` is the displayed text, `chosen` tells whether the architecture has
the edge, and `weight` is a mixing weight from 0 to 1. The graph's attributes `vertex_characters` and
`edge_characters` are the lengths of the longest label lines that are possible in graphs of its kind.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import SHORT_NAMES, CellArchitecture
from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.operations import EDGES, N_NODES
from nasbench1shot1.nasbench201.operations import OPERATIONS as EDGE_OPERATIONS

if TYPE_CHECKING:
    import networkx

LABELS = {
    **dict.fromkeys((OPERATIONS[0], SHORT_NAMES[0]), "3×3 conv"),
    **dict.fromkeys((OPERATIONS[1], SHORT_NAMES[1]), "1×1 conv"),
    **dict.fromkeys((OPERATIONS[2], SHORT_NAMES[2]), "3×3 max-pool"),
}
"""Displayed names of operations; operations on edges have the names in an architecture's text."""
ZEROIZE = EDGE_OPERATIONS.index("none")


def cell_graph(x: "Architecture | Cell | str") -> "networkx.DiGraph[int]":
    """Return the graph of a cell. Vertices are in topological order: vertex 0 is the input, the last one the output.

    Loose ends are kept. Zeroized edges of NAS-Bench-201 are omitted.

    Args:
        x: an architecture, the text of an architecture, or a cell of NAS-Bench-101.

    Raises:
        InvalidInputError: the text is not an architecture, or architectures of this type cannot be drawn.
    """
    found = Architecture.parse(x) if isinstance(x, str) else x
    if isinstance(found, Cell):
        matrix = found.matrix
        edges = [(source, target, "") for source, target in zip(*matrix.nonzero(), strict=True)]
        return _graph([LABELS.get(op, op) for op in found.ops], edges)
    if isinstance(found, CellArchitecture):
        labels = ["input", *(LABELS[OPERATIONS[operation]] for operation in found.operations), "output"]
        pairs = [(parent, node, "") for node, parents in enumerate(found.parents, start=1) for parent in parents]
        return _graph(labels, pairs)
    if isinstance(found, EdgeArchitecture):
        chosen = [
            (source, target, EDGE_OPERATIONS[operation])
            for (target, source), operation in zip(EDGES, found.operations, strict=True)
            if operation != ZEROIZE
        ]
        return _graph(["input", *map(str, range(1, N_NODES - 1)), "output"], chosen, EDGE_OPERATIONS)
    raise InvalidInputError(
        f"{x!r} cannot be drawn: give an architecture of s1, s2, s3, nb101 or nb201, the text of one, or a cell"
    )


def is_drawable(arch: Architecture) -> bool:
    """Return whether `cell_graph` supports the type of an architecture."""
    return isinstance(arch, CellArchitecture | EdgeArchitecture)


def _graph(
    labels: list[str], edges: Iterable[tuple[int, int, str]], edge_labels: Sequence[str] = ()
) -> "networkx.DiGraph[int]":
    import networkx

    possible = [*labels, *(() if edge_labels else LABELS.values())]
    graph: networkx.DiGraph[int] = networkx.DiGraph(
        vertex_characters=_longest(possible), edge_characters=_longest(edge_labels)
    )
    graph.add_nodes_from((vertex, {"label": label}) for vertex, label in enumerate(labels))
    graph.add_edges_from((int(a), int(b), {"label": text, "chosen": True, "weight": 0.0}) for a, b, text in edges)
    last = len(labels) - 1
    live = {0, last} | (networkx.descendants(graph, 0) & networkx.ancestors(graph, last)) if labels else set()
    networkx.set_node_attributes(graph, {vertex: vertex in live for vertex in graph}, "live")
    return graph


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
