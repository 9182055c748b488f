"""Charts of analyses, described as data: points and lines, bars, matrices with numbers, and the axes around them.

A `Panel` has marks (`Series`, `Cloud`, `Bars` or `Matrix`), two axes, a title and a legend. `draw_panels` draws panels
on given axes or in a new figure, in a style, with the colours and labels that a caller gives:

    panel = Panel("Error by cost", Axis("FLOPs [millions]"), Axis("test error [%]", log=True),
                  [Series(x, y, label="lowest"), Series(x, y[front], label="Pareto front", line="-", steps=True)])
    axes = draw_panels([panel], caption, style=style, colors={"lowest": "black"})
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.display.axes import AxesList, checked_axes, checked_axes_list
from nasbench1shot1.display.axis import FILLED, Axis, fitting_size, font_size, is_compact
from nasbench1shot1.display.canvas import NARROW, PAPER_COLUMNS, Canvas, evenly_wrapped, legend_below, wrapped
from nasbench1shot1.display.colours import (
    BLUE,
    COLOURS,
    LINES,
    Colors,
    checked_colors,
    checked_labels,
    in_legend,
    literal,
)
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.style import (
    CAPTION_COLOUR,
    CAPTION_SIZE,
    AnyStyle,
    band_opacity,
    checked_style,
    look_on,
    tone,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 0.75
"""Font size of numbers at points, bars and in matrices, relative to the style's."""
MANY = 500
"""Above this number of points, files contain them as pixels."""
Look = tuple[str | None, str, str, Any]
"""The colour that a caller gives to a label, the first free colour, the label that is drawn, and the free dashes."""
MINUS = re.compile(r"(?<!\w)-(?=\d)")


@dataclass(frozen=True, eq=False, kw_only=True)
class Mark:
    """Something that a panel shows.

    Attributes:
        label: the text in the legend; empty for none. Marks with equal labels have equal colours.
        detail: what follows the label, such as a number of points; `labels=` does not replace it.
        color: the default colour. None: the first colour that no other label of the figure has.
    """

    label: str = ""
    detail: str = ""
    color: str | None = None

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw on axes, with the label of the legend or an empty one, and return an artist for the legend."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Series(Mark):
    """Points at N positions, a line through them, or both.

    Attributes:
        x, y: positions and values, shape (N,).
        line, width: matplotlib's line style, empty for points only; and the line's width in points.
        marker, size: matplotlib's marker, empty for none, and its size in points.
        alpha: opacity.
        hollow, framed: markers are not filled, or have a black edge.
        steps: values hold until the next position.
        low, high: ends of the vertical bar at each point, shape (N,).
        band: shade the range from `low` to `high` instead.
        texts: N texts below the points; empty for none.
        right: label of an axis at the right, which this series has for itself.
    """

    x: ArrayLike
    y: ArrayLike
    _: KW_ONLY
    line: Any = ""
    width: float | None = None
    marker: str = ""
    size: float = 5.0
    alpha: float = 1.0
    hollow: bool = False
    framed: bool = False
    steps: bool = False
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    band: bool = False
    texts: Sequence[str] = ()
    right: str = ""

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the points, their ranges and their texts; the legend shows a larger marker."""
        from matplotlib.lines import Line2D

        note_drawn(
            axes, "curve" if self.line else "points", label, x=self.x, y=self.y, low=self.low, high=self.high,
            text=self.texts or None, y_axis=self.right,
        )  # fmt: skip
        if self.right:
            axes = axes.twinx()
        x, y = np.asarray(self.x), np.asarray(self.y)
        shape: dict[str, Any] = {"color": color, "linestyle": self.line or "none", "marker": self.marker or "none"}
        shape["label"] = in_legend(label) or None
        if self.width:
            shape["linewidth"] = self.width
        if self.hollow:
            shape["markerfacecolor"] = "none"
        if self.framed or not self.hollow:
            shape |= {"markeredgecolor": tone("black"), "markeredgewidth": 1} if self.framed else {"markeredgewidth": 0}
        steps = "steps-post" if self.steps else "default"
        is_many, above = len(x) > MANY, 3 if self.framed else 2
        scale = font_size() / 10
        axes.plot(
            x, y, markersize=scale * self.size, alpha=self.alpha, drawstyle=steps, zorder=above, **shape,
            rasterized=is_many and not self.line,
        )  # fmt: skip
        if self.low is not None and self.high is not None:
            low, high = np.asarray(self.low), np.asarray(self.high)
            if self.band:
                axes.fill_between(x, low, high, color=color, alpha=band_opacity(), linewidth=0)
            else:
                axes.vlines(x, low, high, color=color, alpha=0.5, linewidth=1.6)
        for place, text in zip(zip(x, y, strict=True), self.texts, strict=False):
            axes.annotate(
                text, place, (0, -5), textcoords="offset points", fontsize=SMALL * font_size(), ha="center", va="top"
            )
        if self.right:
            Axis(self.right).apply(axes, "y")
        return Line2D([], [], markersize=scale * max(self.size, 5), **shape)


@dataclass(frozen=True, eq=False)
class Cloud(Mark):
    """N points with colours for values, and a colour bar.

    Attributes:
        x, y, values: shape (N,); later points cover earlier ones.
        bar: label of the colour bar.
        least: value of the darkest colour; lower values have this colour, too.
    """

    x: ArrayLike
    y: ArrayLike
    values: ArrayLike
    bar: str
    least: float
    _: KW_ONLY
    color: str | None = ""  # it has colours of its own

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the points and the colour bar."""
        note_drawn(axes, "points", label, x=self.x, y=self.y, value=self.values)
        look: dict[str, Any] = {"cmap": "viridis", "vmin": self.least, "linewidths": 0, "rasterized": True}
        points = axes.scatter(self.x, self.y, 3 * (font_size() / 10) ** 2, self.values, **look)
        axes.figure.colorbar(points, ax=axes, extend="min", label=self.bar)
        return points


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """Bars at N positions, with a line at zero if one is negative.

    Attributes:
        at, lengths: positions and lengths, shape (N,); NaN: no bar.
        texts: N texts at the ends of the bars, or empty.
        width: width of a bar.
        horizontal: bars extend to the right.
        upright: texts are rotated, for narrow bars.
    """

    at: ArrayLike
    lengths: ArrayLike
    _: KW_ONLY
    texts: Sequence[str] = ()
    width: float = 0.8
    horizontal: bool = False
    upright: bool = False

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the bars and their texts."""
        x, y = (self.lengths, self.at) if self.horizontal else (self.at, self.lengths)
        note_drawn(axes, "bars", label, x=x, y=y, text=self.texts or None)
        lengths = np.nan_to_num(np.asarray(self.lengths, np.float64))
        bars = (axes.barh if self.horizontal else axes.bar)(
            np.asarray(self.at), lengths, self.width, color=color, label=in_legend(label) or None
        )
        if self.texts:
            size = fitting_size(axes, [] if self.upright or self.horizontal else self.texts, SMALL * font_size())
            axes.bar_label(bars, self.texts, fontsize=size, padding=2, rotation=90 * self.upright)
        if (lengths < 0).any():
            Zero(vertical=self.horizontal).draw(axes, tone(CAPTION_COLOUR), "")
        return bars


@dataclass(frozen=True, eq=False)
class Zero(Mark):
    """A line at zero across the axes, horizontal or vertical."""

    _: KW_ONLY
    vertical: bool = False
    color: str | None = CAPTION_COLOUR

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the line."""
        return (axes.axvline if self.vertical else axes.axhline)(0, color=color, linewidth=0.8)


@dataclass(frozen=True, eq=False)
class Matrix(Mark):
    """Numbers in the cells of a matrix, with colours for their values.

    Attributes:
        values: shape (R, C), NaN if unknown.
        texts: R lists of C texts.
        rows, columns: R and C labels.
        low, high: values at the ends of the colours.
        cmap: matplotlib's name of the colours.
        bar: label of the colour bar; empty for none.
    """

    values: NDArray[np.float64]
    texts: Sequence[Sequence[str]]
    rows: Sequence[str]
    columns: Sequence[str]
    _: KW_ONLY
    low: float
    high: float
    cmap: str = "cividis"
    bar: str = ""
    color: str | None = ""  # it has colours of its own

    def draw(self, axes: "Axes", color: str, label: str) -> Any:
        """Draw the matrix; texts are as large as fits, and white on dark colours."""
        from nasbench1shot1.display.artists import ScaledText

        places = [(column, row) for row in self.rows for column in self.columns]
        columns, rows = zip(*places, strict=True)
        texts = [text for row in self.texts for text in row]
        note_drawn(axes, "matrix", label, x=columns, y=rows, value=self.values, text=texts)
        image = axes.imshow(self.values, cmap=self.cmap, vmin=self.low, vmax=self.high)
        lines = [text.split("\n") for row in self.texts for text in row]
        em = 0.92 / max(1.4 * max(map(len, lines)), 0.62 * max(len(line) for text in lines for line in text))
        colours = image.to_rgba(np.nan_to_num(self.values))
        for (i, j), value in np.ndenumerate(self.values):
            red, green, blue, _ = colours[i, j]
            is_dark = np.isfinite(value) and 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            shown = MINUS.sub("−", self.texts[i][j])
            ink = "white" if is_dark else "black" if np.isfinite(value) else tone("black")
            text = ScaledText(j, i, shown, fontsize=font_size(), height=em, color=ink)
            axes.add_artist(text)
        size = fitting_size(axes, self.columns, 0.7 * font_size())
        axes.set_xticks(range(len(self.columns)), [literal(name) for name in self.columns], fontsize=size)
        axes.set_yticks(range(len(self.rows)), [literal(name) for name in self.rows], fontsize=size)
        if self.bar:
            axes.figure.colorbar(image, ax=axes, label=self.bar, shrink=0.8)
        return image


@dataclass(frozen=True, eq=False)
class Panel:
    """A chart.

    Attributes:
        title: what it shows.
        x, y: the axes.
        marks: what is drawn.
        empty: what a panel without marks says.
        has_legend: whether labels are in the legend below the panels; otherwise, the caller's figure has them.
        legend_title: title of the legend.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark] = ()
    _: KW_ONLY
    empty: str = "not in this table"
    has_legend: bool = True
    legend_title: str = ""


def draw_panels(
    panels: Sequence[Panel],
    caption: str = "",
    title: str = "",
    *,
    ax: "Axes | Iterable[Axes] | None" = None,
    columns: int | None = None,
    size: tuple[float, float] | None = None,
    sharey: bool = False,
    style: AnyStyle | None = None,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
) -> "AxesList":
    """Draw panels, and return the axes of each.

    Args:
        panels: at least one panel.
        caption: text below the figure, or below given axes.
        title: text above the figure. Default: the title of a single panel.
        ax: axes to draw on, one for each panel. Default: a new figure that is not registered with pyplot.
        columns: maximum number of panels in a row of a new figure. Default: all.
        size: width and height of a panel of a new figure in the style "screen", in inches.
        sharey: whether the panels of a new figure have the same vertical axis.
        style: "screen" (default), or as in `style.AnyStyle`. "paper" draws no caption, and a title only above each of
            several panels.
        colors: a colour, a sequence of one colour per label, or colours by label.
        labels: new labels, in the order of the legend; numbers that follow a label stay.

    Raises:
        InvalidInputError: `ax` are not as many axes as panels; there is no such style; or `colors` or `labels` do not
            fit what is drawn.
    """
    is_single, has_texts = len(panels) == 1, checked_style(style).has_texts
    looks = _looks(panels, colors, labels)
    if ax is not None:
        found = [checked_axes(ax)] if is_single else checked_axes_list(ax, "panel", len(panels))
        with look_on(found[0], style):
            for axes, panel in zip(found, panels, strict=True):
                handles = _draw(panel, axes, looks, has_title=not is_single or has_texts)
                if handles and panel.has_legend:
                    legend_below(axes, panel.legend_title, handles=handles)
                if has_texts:
                    _write_below(axes, caption)
        return AxesList(found)
    fitting = PAPER_COLUMNS - any(panel.x.ticks is not None for panel in panels)  # given labels of ticks are wide
    most = len(panels) if has_texts else checked_style(style).columns(fitting, NARROW)
    columns = min(columns or len(panels), len(panels), most)
    size = size or ((6.4, 3.9) if is_single else (4.9, 4.2))
    with Canvas(-(-len(panels) // columns), columns, panel=size, sharey=sharey, style=style) as canvas:
        below: dict[str, Any] = {}
        for axes, panel in zip(canvas.axes, panels, strict=False):
            handles = _draw(panel, axes, looks, has_title=not is_single or bool(title))
            for handle in handles if panel.has_legend else ():
                below.setdefault(handle.get_label(), handle)
            axes.yaxis.set_tick_params(labelleft=True)
        for axes in canvas.axes[len(panels) :]:
            axes.set_axis_off()
        heading = title or (MINUS.sub("−", panels[0].title) if is_single else "")
        canvas.finish(heading, caption, legend=list(below.values()), legend_title=panels[0].legend_title)
    return AxesList(canvas.axes[: len(panels)])


def _looks(panels: Sequence[Panel], colors: Colors | None, labels: Sequence[str] | str | None) -> dict[str, Look]:
    """Return the look of each label; marks without a label have the empty one."""
    marks = [mark for panel in panels for mark in panel.marks]
    keys = list(dict.fromkeys(mark.label for mark in marks if _has_look(mark)))
    names = checked_labels(labels, [key for key in keys if key], "label")
    shown = dict(zip(filter(None, keys), names, strict=True))
    given = checked_colors(colors, keys, [shown.get(key, key) for key in keys])
    free = [(COLOURS[place % len(COLOURS)], LINES[place % len(LINES)]) for place in range(len(keys))]
    return {
        key: (colour, usual, shown.get(key, ""), dashes)
        for key, colour, (usual, dashes) in zip(keys, given, free, strict=True)
    }


def _has_look(mark: Mark) -> bool:
    """Return whether a caller can give the colour of a mark."""
    return bool(mark.label) or mark.color is None


def _draw(panel: Panel, axes: "Axes", looks: Mapping[str, Look], *, has_title: bool) -> list[Any]:
    """Draw a panel and its title; return the entries of the legend."""
    axes.set_axisbelow(True)
    if not any(isinstance(mark, Matrix) for mark in panel.marks):
        axes.grid(alpha=0.25)
    handles = []
    for mark in panel.marks:
        given, free, label, dashes = looks[mark.label] if _has_look(mark) else (None, BLUE, "", LINES[0])
        if isinstance(mark, Series) and mark.line == LINES[0] and mark.color is None:
            mark = replace(mark, line=dashes)
        text = label and label + MINUS.sub("−", mark.detail)
        handle = mark.draw(axes, tone(given or mark.color or free), text)
        if text:
            handles.append(handle)
    panel.x.apply(axes, "x")
    panel.y.apply(axes, "y")
    if has_title:
        width = (FILLED if is_compact(axes) else 1.1) * axes.bbox.width / axes.figure.dpi
        axes.set_title(evenly_wrapped(MINUS.sub("−", panel.title), width, float(axes.title.get_fontsize())))
    if not panel.marks:
        axes.text(0.5, 0.5, panel.empty, transform=axes.transAxes, ha="center", color=tone(CAPTION_COLOUR))
        axes.set(xticks=[], yticks=[])
    return handles


def _write_below(axes: "Axes", caption: str) -> None:
    """Write a caption below the label of the horizontal axis, which may have several lines."""
    text = wrapped(caption, axes.bbox.width / axes.figure.dpi, CAPTION_SIZE)
    axes.annotate(
        text, (0.5, 0), (0, -5), xycoords=axes.xaxis.label, textcoords="offset points", fontsize=CAPTION_SIZE,
        color=tone(CAPTION_COLOUR), ha="center", va="top",
    )  # fmt: skip


def shifts(positions: Iterable[float], lines: int) -> NDArray[np.floating]:
    """Return sideways shifts (lines,), so that bars at equal positions do not hide each other.

    Five lines cover less than half of the smallest gap between two positions.
    """
    distinct = np.unique(list(positions))
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
    return gap * 0.1 * (np.arange(lines) - (lines - 1) / 2)
