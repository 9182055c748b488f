"""Drawing a cell on matplotlib axes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nasbench1shot1.cell_drawing.graph import cell_graph
from nasbench1shot1.cell_drawing.relaxed import relaxed_graph
from nasbench1shot1.display.axes import axes_or_new
from nasbench1shot1.display.layout import EDGE_TEXT, HALF_HEIGHT, Layout
from nasbench1shot1.ground.errors import InvalidInputError

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

    from nasbench1shot1.architecture import Architecture
    from nasbench1shot1.nasbench101.cell import Cell

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
    layout = Layout.of(graph)
    axes = axes_or_new(ax, _figure_size(layout))
    _draw_edges(axes, graph, layout)
    _draw_vertices(axes, graph, layout)
    _frame(axes, layout)
    if title is not None:
        axes.set_title(title, fontsize=9)
    return axes


def _figure_size(layout: Layout) -> tuple[float, float]:
    """Return the width and height of a new figure, in inches."""
    return 3.4, 0.6 + 0.6 * max(layout.vertices, 2) * min(layout.distance, 1.2)


def _draw_edges(axes: "Axes", graph: "networkx.DiGraph[int]", layout: Layout) -> None:
    from nasbench1shot1.display.artists import ScaledText

    for source, target in graph.edges:
        edge = graph.edges[source, target]
        shown = edge["chosen"] and graph.nodes[source]["live"] and graph.nodes[target]["live"]
        color = "#222222" if shown else "#c4c4c4"
        start, end = layout.ends((source, target))
        style = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0, "color": color}
        style |= {
            "linewidth": 0.8 + 2.6 * edge["weight"],
            "connectionstyle": f"arc3,rad={layout.curvature((source, target))}",
        }
        axes.annotate("", end, start, arrowprops=style, zorder=2 if shown else 1)
        if edge["label"]:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            more: dict[str, Any] = {"color": color if shown else "#8c8c8c", "bbox": box, "zorder": 3}
            more |= {"transform": axes.transData, "linespacing": 1.1}
            place = layout.label_place((source, target))
            axes.add_artist(ScaledText(*place, edge["label"], fontsize=9, height=EDGE_TEXT, **more))


def _draw_vertices(axes: "Axes", graph: "networkx.DiGraph[int]", layout: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch

    from nasbench1shot1.display.artists import ScaledText

    left, height = -layout.half_width, layout.vertex_text
    for vertex, attributes in graph.nodes.items():
        label, live = attributes["label"], attributes["live"]
        fill = COLOURS.get(" ".join(label.split()[:2]), "white")
        y = -vertex * layout.distance
        corner, size = (left, y - HALF_HEIGHT), (-2 * left, 2 * HALF_HEIGHT)
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
        axes.add_artist(ScaledText(0, y, label, fontsize=8, height=height, **more))


def _frame(axes: "Axes", layout: Layout) -> None:
    horizontal, vertical = layout.limits
    axes.set_xlim(horizontal)
    axes.set_ylim(vertical)
    axes.set_aspect("equal")
    axes.set_axis_off()
