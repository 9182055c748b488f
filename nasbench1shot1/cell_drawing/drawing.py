"""Drawing a cell on matplotlib axes."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nasbench1shot1.cell_drawing.arcs import LEFT, RIGHT, sides
from nasbench1shot1.cell_drawing.graph import cell_graph
from nasbench1shot1.cell_drawing.relaxed import relaxed_graph
from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.notebooks.default_axes import axes_or_new

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

    from nasbench1shot1.architecture import Architecture
    from nasbench1shot1.nasbench101.cell import Cell

HALF_WIDTH, HALF_HEIGHT = 1.05, 0.22
BULGE = 0.32
"""Sideways extent of an arc, relative to its length."""
TEXT_MARGIN = 0.85
"""Width of the space for edge labels on each side."""
LARGEST_TEXT = 0.28
"""Largest font size, in data units."""
CHARACTER = 0.66
"""Width of a character, relative to the font size."""
COLOURS = {
    "input": "#dddddd",
    "output": "#dddddd",
    "3×3 conv": "#9ecae9",
    "1×1 conv": "#f7c99b",
    "3×3 max-pool": "#b5dfb1",
}
"""Fill colours of vertices by the first two words of their label; others are white."""


def draw_cell(
    x: "Architecture | Cell | str",
    ax: "Axes | None" = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> "Axes":
    """Draw a cell with its input at the top and its output at the bottom. Loose ends are pale.

    Args:
        x: an architecture of s1, s2, s3, nb101, nb101-mini or nb201, the text of an architecture, or a cell of
            NAS-Bench-101.
        ax: axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        parameters: raw architecture parameters Λ for every key of the space's `mixing_shapes()`. If given, all
            candidate edges are drawn with their softmax weights as widths; edges that the architecture lacks are grey.
        title: title of the axes. Default: none.

    Returns:
        The axes; `ax.figure.savefig("cell.png")` writes the picture.

    Raises:
        InvalidInputError: `x` cannot be drawn, `ax` is not axes, or `parameters` are given for a cell.
    """
    from nasbench1shot1.architecture import Architecture

    if parameters is None:
        graph = cell_graph(x)
    else:
        found = Architecture.parse(x) if isinstance(x, str) else x
        if not isinstance(found, Architecture):
            raise InvalidInputError("a cell has no architecture parameters: give an architecture or omit parameters=")
        graph = relaxed_graph(found, parameters)
    axes = axes_or_new(ax, (3.4, 0.6 + 0.6 * max(len(graph), 2) * _distance(graph)))
    _draw_edges(axes, graph)
    _draw_vertices(axes, graph)
    _frame(axes, graph)
    if title is not None:
        axes.set_title(title, fontsize=9)
    return axes


def _draw_edges(axes: "Axes", graph: "networkx.DiGraph[int]") -> None:
    from nasbench1shot1.cell_drawing.scaled_text import ScaledText

    distance = _distance(graph)
    height = _text_height((label for *_, label in graph.edges(data="label")), 2 * TEXT_MARGIN)
    for (source, target), side in sides(graph.edges).items():
        edge = graph.edges[source, target]
        shown = edge["chosen"] and graph.nodes[source]["live"] and graph.nodes[target]["live"]
        color = "#222222" if shown else "#c4c4c4"
        start, end = _ends(source * distance, target * distance, side)
        style = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0, "color": color}
        style |= {"linewidth": 0.8 + 2.6 * edge["weight"], "connectionstyle": f"arc3,rad={-side * BULGE * 2}"}
        axes.annotate("", end, start, arrowprops=style, zorder=2 if shown else 1)
        if edge["label"]:
            place = (side * (HALF_WIDTH + BULGE * (target - source) * distance), (start[1] + end[1]) / 2)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            more: dict[str, Any] = {"color": color, "bbox": box, "zorder": 3, "transform": axes.transData}
            axes.add_artist(ScaledText(*place, edge["label"], fontsize=6.5, height=height, **more))


def _ends(source: float, target: float, side: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the start and end points of an edge: at the sides of its vertices, or below and above them.

    `source` and `target` are the distances of the vertices from the input.
    """
    if side:
        return (side * HALF_WIDTH, -source), (side * HALF_WIDTH, -target)
    return (0.0, -source - HALF_HEIGHT), (0.0, -target + HALF_HEIGHT)


def _draw_vertices(axes: "Axes", graph: "networkx.DiGraph[int]") -> None:
    from matplotlib.patches import FancyBboxPatch

    from nasbench1shot1.cell_drawing.scaled_text import ScaledText

    distance = _distance(graph)
    height = _text_height((label for _, label in graph.nodes(data="label")), 2 * HALF_WIDTH)
    for vertex, attributes in graph.nodes.items():
        label, live = attributes["label"], attributes["live"]
        fill = COLOURS.get(" ".join(label.split()[:2]), "white")
        corner, size = (-HALF_WIDTH, -vertex * distance - HALF_HEIGHT), (2 * HALF_WIDTH, 2 * HALF_HEIGHT)
        edge = "#444444" if live else "#c4c4c4"
        shape = "round,pad=0,rounding_size=0.12"
        box = FancyBboxPatch(
            corner,
            *size,
            boxstyle=shape,
            facecolor=fill if live else "#f6f6f6",
            edgecolor=edge,
            linewidth=0.8,
            zorder=4,
        )
        axes.add_patch(box)
        color = "black" if live else "#a0a0a0"
        more: dict[str, Any] = {"color": color, "zorder": 5, "transform": axes.transData}
        axes.add_artist(ScaledText(0, -vertex * distance, label, fontsize=7, height=height, **more))


def _text_height(labels: Iterable[str], width: float) -> float:
    """Return the largest font size, in data units, with which labels are at most `width` data units wide."""
    longest = max((len(label) for label in labels), default=0)
    return min(LARGEST_TEXT, width / (max(longest, 1) * CHARACTER))


def _frame(axes: "Axes", graph: "networkx.DiGraph[int]") -> None:
    runs, distance = sides(graph.edges).items(), _distance(graph)
    lengths = [max((target - source for (source, target), s in runs if s == side), default=0) for side in (LEFT, RIGHT)]
    margin = 0.15 + TEXT_MARGIN * _has_labels(graph)
    left, right = (HALF_WIDTH + BULGE * length * distance + margin for length in lengths)
    axes.set_xlim(-left, right)
    axes.set_ylim(-(len(graph) - 1) * distance - 0.4, 0.4)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _distance(graph: "networkx.DiGraph[int]") -> float:
    """Return the distance between adjacent vertices; edge labels need more space."""
    return 1.5 if _has_labels(graph) else 1.0


def _has_labels(graph: "networkx.DiGraph[int]") -> bool:
    return any(label for _, _, label in graph.edges(data="label"))
