"""Drawing architectures on matplotlib axes: cells as graphs, with operations on nodes or on edges; sizes as bars."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from nasbench1shot1.architecture import EXCLUDED, LEFT, Architecture, Bars
from nasbench1shot1.display.axes import checked_axes
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import checked_colors
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.layout import COMPACT, EDGE_TEXT, Layout, in_two_lines
from nasbench1shot1.display.size_bars import TEXT, bar_limits, draw_bars, figure_size
from nasbench1shot1.display.style import AnyStyle, look, relative_size, tone
from nasbench1shot1.ground.errors import InvalidInputError, shorten
from nasbench1shot1.reading import Reading, Shares
from nasbench1shot1.space import as_array

if TYPE_CHECKING:
    import networkx

    from nasbench1shot1.display.axes import Axes, DrawnAxes

ENDS = "#dddddd"
"""Fill colour of the input and the output."""
NOT_CHOSEN = "#717171"
"""Colour of texts of what is not chosen. Its contrast with #f6f6f6 is at least 4.5, as WCAG 2 requires of text."""
OPERATIONS = ("#9ecae9", "#f7c99b", "#b5dfb1")
"""Fill colours of nodes by their operation; nodes without an operation are white."""
DECIDED = 1.8
"""Line width of the frames of nodes with decided operations."""
Fills = str | Mapping[str, str]
"""The values of `colors=` for cells: one colour, or colours by the text in a node."""


class Drawable(Protocol):
    """An architecture, a cell of NAS-Bench-101, or another object with a graph for pictures.

    An object with sizes instead of a graph has the method `Architecture.drawn_bars`.
    """

    def drawn_graph(self) -> "networkx.DiGraph[int] | None":
        """Return the graph that `Architecture.drawn_graph` describes."""


def draw_cell(
    x: Drawable | str,
    ax: "Axes | None" = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    title: str | None = None,
    colors: Fills | None = None,
    style: AnyStyle | None = None,
) -> "DrawnAxes":
    """Draw a cell with its input at the top and its output at the bottom. Loose ends are pale.

    An architecture of nats-size is drawn as five bars, the widths of its layers.

    Args:
        x: an architecture of s1, s2, s3, nb101, nb101-mini, nb201 or nats-size, the text of an architecture, or a cell
            of NAS-Bench-101.
        ax: axes to draw on. Default: the axes of a new figure that is not registered with pyplot.
        parameters: raw architecture parameters Λ, arrays or tensors for every key of the space's `mixing_shapes()`. If
            given, all candidate edges are drawn with their softmax weights as widths; edges that the architecture lacks
            are grey. Steps of bars are shaded by the softmax weights of their sizes.
        weights: mixing weights to draw instead of the softmax of `parameters`, such as `run.mixing_weights(epoch)`; NaN
            for excluded entries, whose edges are dotted. Decided operations have thick frames.
        title: title of the axes. Default: none.
        colors: fill colours of the nodes with operations: one for all, or colours by the text in the node; for bars,
            by the name of the layer. Default: `OPERATIONS`, in the benchmark's order.
        style: "screen" (default), "paper" (without title and caption, as wide as a column or a page), "dark", an
            `nb.FigureStyle`, or settings of matplotlib (docs/figures.md).

    Returns:
        The axes; `ax.figure.savefig("cell.png")` writes the picture.

    Raises:
        InvalidInputError: `x` cannot be drawn, `ax` is not axes, `parameters` or `weights` are given for a cell, or
            both, or without numbers for every key, or `colors` contains an invalid colour.
    """
    if parameters is not None and weights is not None:
        raise InvalidInputError("parameters= and weights= cannot be combined: give only one of them")
    shares = None if weights is None else _as_arrays("weights", weights)
    if parameters is not None:
        shares = Reading().weights(_as_arrays("parameters", parameters))
    drawn = _drawn(Architecture.parse(x) if isinstance(x, str) else x, shares)
    size, draw = _drawing(drawn, colors)
    axes = Canvas(panel=size, style=style).axes[0] if ax is None else checked_axes(ax)
    with look(style, axes):
        draw(axes)
        if title is not None:
            axes.set_title(title, fontsize=relative_size(0.9))
    return cast("DrawnAxes", axes)


def _as_arrays(name: str, given: Mapping[str, Any]) -> Shares:
    """Return the arrays or tensors of an argument as arrays; raises InvalidInputError if they are not numbers."""
    try:
        return {key: as_array(values) for key, values in given.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name}= cannot be {shorten(repr(given))}: give an array of numbers for every key of space.mixing_shapes()"
        ) from error


def draw_cells_alike(
    architectures: Sequence[Architecture],
    panels: "Sequence[Axes]",
    weights: Sequence[Mapping[str, Any] | None],
    titles: Sequence[str],
    colors: Fills | None = None,
    *,
    is_compact: bool = False,
) -> None:
    """Draw one architecture on each of several axes, with equal limits, and text of one size on axes of one size.

    Arguments are as for `draw_cell`, one of each per axes, and so are the errors. With `is_compact`, operations on
    nodes have two lines of text, which is larger.
    """
    drawn = _alike(architectures, weights, is_compact)
    for each, axes, title in zip(drawn, panels, titles, strict=True):
        _drawing(each, colors)[1](axes)
        axes.set_title(title, fontsize=relative_size(0.9))
    lefts, rights = zip(*(axes.get_xlim() for axes in panels), strict=True)
    for axes in panels:
        axes.set_xlim(min(lefts), max(rights))


def text_points(
    architectures: Sequence[Architecture],
    weights: Sequence[Mapping[str, Any] | None],
    width: float,
    *,
    is_compact: bool = False,
) -> float:
    """Return the size in points of the smallest text of `draw_cells_alike` on axes that are `width` inches wide."""
    spans, sizes = list[tuple[float, float]](), list[float]()
    for each in _alike(architectures, weights, is_compact):
        if isinstance(each, Bars):
            spans.append(bar_limits(each))
            sizes.append(TEXT)
        else:
            layout = Layout.of(each)
            spans.append(layout.limits[0])
            sizes.append(layout.smallest_text)
    lefts, rights = zip(*spans, strict=True)
    return float(72 * width * min(sizes) / (max(rights) - min(lefts)))


def _alike(
    architectures: Sequence[Architecture], weights: Sequence[Mapping[str, Any] | None], is_compact: bool
) -> "list[networkx.DiGraph[int] | Bars]":
    """Return what is drawn of several architectures, with space for the longest text in the nodes of all."""
    drawn = [_drawn(arch, own) for arch, own in zip(architectures, weights, strict=True)]
    graphs = [each for each in drawn if not isinstance(each, Bars)]
    if is_compact and graphs and not graphs[0].graph["edge_characters"]:
        for graph in graphs:
            for node in graph.nodes.values():
                node["label"] = in_two_lines(node["label"])
            lines = [line for node in graph.nodes.values() for line in node["label"].split("\n")]
            graph.graph |= {COMPACT: True, "node_characters": max(map(len, lines))}
    longest = max((graph.graph["node_characters"] for graph in graphs), default=0)
    for graph in graphs:
        graph.graph["node_characters"] = longest
    return drawn


def is_drawable(arch: Architecture) -> bool:
    """Return whether `draw_cell` can draw architectures of this form."""
    return arch.drawn_graph() is not None or arch.drawn_bars() is not None


def drawable_weights(architectures: Sequence[Architecture], weights: Mapping[int, Shares]) -> Mapping[int, Shares]:
    """Return mixing weights by epoch unchanged, or {} if drawings of the architectures have no place for them.

    Users' own spaces can have other weights than the drawn form of their architectures, such as fewer operations.
    Graphs of users' own forms can be independent of weights.

    Args:
        architectures: the architecture after every epoch.
        weights: the mixing weights of some epochs, all with the same keys and shapes.
    """
    for epoch in list(weights)[:1]:
        try:
            shown, without = _drawn(architectures[epoch], weights[epoch]), _drawn(architectures[epoch], None)
        except InvalidInputError:
            return {}
        if not isinstance(shown, Bars) and not isinstance(without, Bars) and _content(shown) == _content(without):
            return {}
    return weights


def _content(graph: "networkx.DiGraph[int]") -> tuple[Any, ...]:
    """Return the nodes and edges of a graph with their attributes."""
    return dict(graph.nodes), {edge: graph.edges[edge] for edge in graph.edges}


def describe_drawing(architectures: Sequence[Architecture], weights: str = "", excludes: bool = False) -> str:
    """Return what the lines, numbers and colours of `draw_cell` mean, for captions; empty for plain graphs.

    Args:
        architectures: the drawn architectures, at least one.
        weights: a description of the mixing weights, such as "softmax of Λ"; empty if none are drawn.
        excludes: whether some candidates are excluded.
    """
    arch = architectures[0]
    if (bars := arch.drawn_bars()) is not None:
        outlines = f"outlines: preferred numbers of {bars.unit}"
        outlines += f"; shades of steps and numbers in brackets: {weights}" if weights else ""
        return f"{outlines}; hatched: excluded" if excludes else outlines
    drawn = "not on a path from input to output"
    if weights:
        drawn = f"not chosen, or {drawn}\nline widths, and numbers at the preferred operations: {weights}"
    if excludes:
        drawn += f"\n{LEFT} candidate operation, {EXCLUDED} excluded one; "
        drawn += f"{'dotted: excluded edge; thick ' if _has_operations_on_nodes(arch) else ''}frame: decided operation"
    return f"grey: {drawn}" if weights or any(map(_has_grey, architectures)) else ""


def _has_grey(arch: Architecture) -> bool:
    """Return whether a drawing of an architecture without weights has nodes or edges that are not on a path."""
    if (graph := arch.drawn_graph()) is None:
        return False
    live = _live_nodes(graph)
    return len(live) < len(graph) or not all(
        is_chosen and {source, target} <= live for source, target, is_chosen in graph.edges(data="chosen")
    )


def _has_operations_on_nodes(arch: Architecture) -> bool:
    """Return whether nodes have operations, and not edges; only then are edges themselves chosen."""
    graph = arch.drawn_graph()
    return graph is not None and any(of["operation"] is not None for of in graph.nodes.values())


def _drawn(x: Any, weights: Mapping[str, Any] | None) -> "networkx.DiGraph[int] | Bars":
    if weights is not None and not isinstance(x, Architecture):
        raise InvalidInputError("a cell has no architecture parameters: give an architecture or omit parameters=")
    for form in ("drawn_graph", "drawn_bars"):
        method = getattr(x, form, None)
        found: networkx.DiGraph[int] | Bars | None = method and (method() if weights is None else method(weights))
        if found is not None:
            return found
    raise InvalidInputError(
        f"{x!r} cannot be drawn: give an architecture of s1, s2, s3, nb101, nb201 or nats-size, the text of one, or a "
        "cell"
    )


Drawing = tuple[tuple[float, float], Callable[["Axes"], None]]
"""The size of a new figure in inches, and the function that draws on axes."""


def _drawing(drawn: "networkx.DiGraph[int] | Bars", colors: Fills | None) -> Drawing:
    return _bar_drawing(drawn, colors) if isinstance(drawn, Bars) else _graph_drawing(drawn, colors)


def _bar_drawing(bars: Bars, colors: Fills | None) -> Drawing:
    fills = _given_fills(bars.names, bars.kinds, colors)
    return figure_size(bars), partial(draw_bars, bars=bars, fills=dict(zip(bars.names, fills, strict=True)))


def _graph_drawing(graph: "networkx.DiGraph[int]", colors: Fills | None) -> Drawing:
    layout, live, fills = Layout.of(graph), _live_nodes(graph), _fills(graph, colors)

    def draw(axes: "Axes") -> None:
        _draw_edges(axes, graph, layout, live)
        _draw_nodes(axes, graph, layout, live, fills)
        _frame(axes, layout)

    return _figure_size(layout), draw


def _live_nodes(graph: "networkx.DiGraph[int]") -> set[int]:
    """Return the nodes on a path of chosen edges from input to output, including both."""
    import networkx

    if not graph:
        return set()
    chosen: networkx.DiGraph[int] = networkx.DiGraph()
    chosen.add_nodes_from(graph)
    chosen.add_edges_from((source, target) for source, target, is_chosen in graph.edges(data="chosen") if is_chosen)
    last = len(graph) - 1
    between: set[int] = networkx.descendants(chosen, 0) & networkx.ancestors(chosen, last)
    return {0, last} | between


def _figure_size(layout: Layout) -> tuple[float, float]:
    """Return the width and height of a new figure, in inches."""
    return 3.4, 0.6 + 0.6 * max(layout.vertices, 2) * min(layout.distance, 1.2)


def _draw_edges(axes: "Axes", graph: "networkx.DiGraph[int]", layout: Layout, live: set[int]) -> None:
    from nasbench1shot1.display.artists import ScaledText

    for source, target in graph.edges:
        edge = graph.edges[source, target]
        shown = edge["chosen"] and source in live and target in live
        excluded, is_decided = math.isnan(edge["weight"]), bool(edge.get("decided"))
        color = tone("#222222" if shown else "#c4c4c4")
        about = "chosen" if edge["chosen"] else "excluded" if excluded else "not chosen"
        note_drawn(axes, "edge", about, x=source, y=target, value=edge["weight"], text=edge["label"])
        start, end = layout.ends((source, target))
        style = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0, "color": color}
        style |= {
            "linewidth": 0.8 + (0 if excluded else 2.6 * min(edge["weight"], 1.0)),
            "linestyle": ":" if excluded else "-",
            "connectionstyle": f"arc3,rad={layout.curvature((source, target))}",
        }
        axes.annotate("", end, start, arrowprops=style, zorder=2 if shown else 1)
        if edge["label"]:
            box: dict[str, Any] = {"facecolor": tone("white"), "edgecolor": "none", "pad": 0.8}
            if is_decided:
                box |= {"edgecolor": color, "linewidth": 0.9, "pad": 1.6}
            more: dict[str, Any] = {"color": color if shown else tone(NOT_CHOSEN), "bbox": box, "zorder": 3}
            more |= {"transform": axes.transData, "linespacing": 1.1}
            place = layout.label_place((source, target))
            axes.add_artist(ScaledText(*place, edge["label"], fontsize=relative_size(0.9), height=EDGE_TEXT, **more))


def _draw_nodes(
    axes: "Axes", graph: "networkx.DiGraph[int]", layout: Layout, live: set[int], fills: Mapping[int, str]
) -> None:
    from matplotlib.patches import FancyBboxPatch

    from nasbench1shot1.display.artists import ScaledText

    left, height = -layout.half_width, layout.vertex_text
    for node, attributes in graph.nodes.items():
        is_live = node in live
        y = -node * layout.distance
        corner, size = (left, y - layout.half_height), (-2 * left, 2 * layout.half_height)
        box = FancyBboxPatch(
            corner,
            *size,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=fills[node] if is_live else tone("#f6f6f6"),
            edgecolor=tone("#444444" if is_live else "#c4c4c4"),
            linewidth=DECIDED if attributes.get("decided") else 0.8,
            zorder=4,
        )
        axes.add_patch(box)
        more: dict[str, Any] = {
            "color": "black" if is_live else tone(NOT_CHOSEN),
            "zorder": 5,
            "transform": axes.transData,
            "linespacing": 1.0,
        }
        axes.add_artist(ScaledText(0, y, attributes["label"], fontsize=relative_size(0.8), height=height, **more))
        note_drawn(
            axes, "node", "" if is_live else "not on a path", x=node, text=" ".join(attributes["label"].split("\n"))
        )


def _fills(graph: "networkx.DiGraph[int]", colors: Fills | None) -> dict[int, str]:
    """Return the fill colour of every node."""
    operations = {node: graph.nodes[node]["operation"] for node in list(graph)[1:-1]}
    known = {node: operation for node, operation in operations.items() if operation is not None}
    texts = [graph.nodes[node]["label"] for node in known]
    own = dict(zip(known, _given_fills(texts, list(known.values()), colors), strict=True))
    return {node: ENDS if node in (0, len(graph) - 1) else own.get(node, "white") for node in graph}


def _given_fills(texts: Sequence[str], kinds: Sequence[int], colors: Fills | None) -> list[str]:
    """Return the fill colours of nodes or bars: the given ones by text, else `OPERATIONS` by kind."""
    by_text = dict.fromkeys(texts, colors) if isinstance(colors, str) else colors or {}
    if not isinstance(by_text, Mapping):
        raise InvalidInputError(
            f"colors= cannot be {shorten(repr(colors))}: give one colour, or a mapping from texts to colours"
        )
    given = checked_colors({text: colour for text, colour in by_text.items() if text in texts}, texts)
    return [colour or OPERATIONS[kind % len(OPERATIONS)] for colour, kind in zip(given, kinds, strict=True)]


def _frame(axes: "Axes", layout: Layout) -> None:
    horizontal, vertical = layout.limits
    axes.set_xlim(horizontal)
    axes.set_ylim(vertical)
    axes.set_aspect("equal")
    axes.set_axis_off()
