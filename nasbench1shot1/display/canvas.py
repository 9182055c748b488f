"""A new figure: panels, and the places of its title, legend and caption, so that no text is cut off or overlaps."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, takewhile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from nasbench1shot1.display.colours import in_legend, literal
from nasbench1shot1.display.style import (
    CAPTION_COLOUR,
    CAPTION_SIZE,
    COLUMN_WIDTH,
    DOTS,
    TITLE_SIZE,
    AnyStyle,
    FigureStyle,
    checked_style,
    look,
    tone,
    tones,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from nasbench1shot1.display.artists import StyledFigure

MARGIN, PAD = 0.12, 0.05
"""Space at the left and right of texts, and above and below them, in inches."""
FLATTEST, FLATTEST_ROW = 0.6, 0.45
"""Minimum height of a panel in the paper style, relative to the width of a panel or a column, if that is less; and
the same for panels in several rows."""
MOST_COLUMNS = 6
"""Maximum number of entries in a row of a legend."""
PAPER_COLUMNS, NARROW = 3, 2.0
"""Maximum number of panels in a row in the paper style, and minimum width of a panel beside others, in inches."""
TITLE_WIDTH = 0.75
"""Maximum width of the titles of panels side by side in the paper style, relative to the panels with their labels."""
LABELS_BELOW = 0.5
"""Space below axes for the labels of the horizontal axis, in inches."""
_BREAKS = re.compile(r"(?<!=) (?!= )")
"""Spaces at which a line may be broken: not around an equals sign."""
_PARTS = re.compile(r"(?<=[ _-])")
"""Places at which a name may be broken."""
NARROWER = tuple(1 - 0.05 * step for step in range(1, 14))
"""Widths relative to the available one, at which labels are wrapped until they would have more lines."""
AROUND_NAMES = 0.3
"""Space above and below the panels between their titles, ticks and labels, in inches."""
LINE_HEIGHT = 1.2
"""Distance of lines of text, relative to the font size."""
SPACE = 0.32
"""Approximate width of a space, relative to the font size."""
BELOW: dict[str, Any] = {"loc": "lower center", "borderpad": 0, "borderaxespad": 0}
Shared = bool | Literal["none", "all", "row", "col"]


class Canvas:
    """A figure that is not registered with pyplot, as a context manager within which its panels are drawn.

    Args:
        rows, columns: numbers of panels.
        panel: width and height of a panel with its labels, in inches. In the paper style, the style sets the width
            (`FigureStyle.figure_width`).
        style: "screen" (default), or as in `style.AnyStyle`.
        heights: relative heights of the rows. Default: equal.
        sharex, sharey: as in `matplotlib.figure.Figure.subplots`.
        wraps: in the paper style, a single row of more than `PAPER_COLUMNS` panels becomes several rows.
        empty: the figure begins without axes; add them with `figure.add_subplot`.

    Raises:
        InvalidInputError: there is no such style.
    """

    figure: "StyledFigure"
    axes: "list[Axes]"
    """All panels, row by row."""

    def __init__(
        self,
        rows: int = 1,
        columns: int = 1,
        *,
        panel: tuple[float, float] = (6.4, 3.8),
        style: AnyStyle | None = None,
        heights: Sequence[float] | None = None,
        sharex: Shared = False,
        sharey: Shared = False,
        wraps: bool = False,
        empty: bool = False,
    ) -> None:
        from nasbench1shot1.display.artists import InlineAxes, StyledFigure

        self.style, panels, self._wraps = checked_style(style), rows * columns, wraps
        if wraps and rows == 1 and not self.style.has_texts:
            rows = -(-columns // self.style.columns(PAPER_COLUMNS, NARROW))
            columns = -(-columns // rows)
            sharex, sharey = (share if isinstance(share, bool) else share == "row" for share in (sharex, sharey))
        width, height = _panel_size(panel, rows, columns, self.style)
        self._size = width * columns, height * rows
        self._shares = [each / sum(heights) for each in heights] if heights else [1 / rows] * rows
        self._look = look(self.style)
        with look(self.style):
            self.figure = StyledFigure(self._size, self.style)
            options: dict[str, Any] = {"sharex": sharex, "sharey": sharey, "height_ratios": heights}
            grid: Any = []
            if not empty:
                grid = self.figure.subplots(
                    rows, columns, squeeze=False, subplot_kw={"axes_class": InlineAxes}, **options
                )
        self.grid: Any = grid
        """The panels as an array of shape (rows, columns)."""
        self.axes = [] if empty else list(grid.flat)[:panels]
        for axes in [] if empty else grid.flat[panels:]:
            axes.set_axis_off()
        for axes in self.axes:  # also for ticks that matplotlib creates later, outside of this context
            axes.tick_params(labelsize=self.style.points("xtick.labelsize"))

    def __enter__(self) -> Self:
        self._look.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._look.__exit__(kind, error, trace)

    def finish(
        self,
        title: str = "",
        caption: str = "",
        *,
        legend: "bool | Sequence[Any] | Mapping[str, Mapping[str, Any]]" = False,
        legend_title: str = "",
        band: str = "",
        height: float | None = None,
    ) -> "StyledFigure":
        """Add texts around the panels, make the figure as high as they need, and return it.

        Labels that are too long for their panels are wrapped.

        Args:
            title: text above the panels. Lines that are too long for the figure are wrapped.
            caption: text below the figure, likewise. The paper style draws neither title nor caption; `figure.title`
                and `figure.caption` still have them, and files have them in their metadata.
            legend: a legend below the panels: True for the curves of all panels, and then those that several panels
                share; handles with labels; or arguments of `Line2D` by label.
            legend_title: the title of the legend. Default: `band`.
            band: what curves, points and bands show, as `curves.describe_band` returns it. It is also the first line of
                `figure.caption`; this line is only drawn if no legend has this title.
            height: height of all panels in inches. Default: as given by `panel`.
        """
        figure, width = self.figure, self._size[0]
        self._label_further_rows()
        height = max((height or self._size[1]) + self._fit_labels(), self._height_of_names())
        handles = _handles(legend, self.axes)
        figure.title = title
        figure.caption = "\n".join(
            filter(None, [f"Shown: {band}{'' if band.endswith('.') else '.'}" if band else "", caption])
        )
        if not self._is_title_of_legend(band, (legend_title or band) if handles else ""):
            caption = figure.caption
        if not self.style.has_texts:
            title = caption = ""
        above = below = of_legend = 0.0
        if title:
            drawn: Any = figure.suptitle(wrapped(title, width - 2 * MARGIN, TITLE_SIZE), fontsize=TITLE_SIZE)
            above = self._height(drawn)
        if caption:
            lines = wrapped(caption, width - 2 * MARGIN, CAPTION_SIZE)
            below = self._height(figure.supxlabel(lines, fontsize=CAPTION_SIZE, color=tone(CAPTION_COLOUR)))
        if handles:
            drawn = self._legend(handles, legend_title or band)
            of_legend = self._height(drawn)
            bottom = (below + PAD) / (above + height + of_legend + below)
            drawn.set_bbox_to_anchor((0.5, bottom), transform=figure.transFigure)
        total = above + height + of_legend + below
        figure.set_figheight(total)
        engine: Any = figure.get_layout_engine()
        engine.set(h_pad=PAD, rect=(0, of_legend / total, 1, 1 - of_legend / total))
        return figure

    def _is_title_of_legend(self, band: str, below: str) -> bool:
        """Return whether the legend below the panels, whose title is given, or one beside a panel states the band."""
        beside = [legend.get_title().get_text() for axes in self.axes if (legend := axes.get_legend()) is not None]
        return band in (" ".join(title.split("\n")) for title in (below, *beside))

    def _label_further_rows(self) -> None:
        """Label the vertical axes of the rows into which a single row was wrapped."""
        if self._wraps:
            label = self.axes[0].get_ylabel()
            for axes in self.grid[1:, 0]:
                axes.set_ylabel(axes.get_ylabel() or label)

    def _fit_labels(self) -> float:
        """Wrap the labels and titles of the panels; return the height of their further lines, in inches."""
        rows, columns = self.grid.shape if self.axes else (0, 1)
        size, further = self.style.points("axes.labelsize"), 0.0
        for row in range(rows):
            for axes in self.grid[row]:
                heading, width = axes.title, TITLE_WIDTH * self._size[0] / columns
                heading.set_text(literal(heading.get_text()))
                if columns > 1 and not self.style.has_texts:
                    heading.set_text(evenly_wrapped(heading.get_text(), width, float(heading.get_fontsize())))
                high = self._size[1] * self._shares[row] - (0 if self.style.has_texts else self._outside(axes))
                places = ((axes.xaxis, self._size[0] / columns), (axes.yaxis, high))
                for axis, length in places:
                    axis.set_label_text(evenly_wrapped(axis.get_label_text(), length - 2 * MARGIN, size))
            lines = max(axes.get_xlabel().count("\n") for axes in self.grid[row])
            further += lines * LINE_HEIGHT * size / 72
            if not self.style.has_texts:
                lines = max(axes.get_title().count("\n") for axes in self.grid[row])
                further += lines * LINE_HEIGHT * self.style.points("axes.titlesize") / 72
        return further

    def _outside(self, axes: "Axes") -> float:
        """Return the height of the title, the ticks and the label above and below axes, in inches."""
        parts = {"axes.titlesize": axes.get_title(), "axes.labelsize": axes.get_xlabel(), "xtick.labelsize": "0"}
        lines = {name: text.count("\n") + 1 for name, text in parts.items() if text}
        return LINE_HEIGHT * sum(self.style.points(name) * number for name, number in lines.items()) / 72

    def _height_of_names(self) -> float:
        """Return the height in inches at which names at the vertical axes of the panels do not overlap."""
        from matplotlib.ticker import FixedLocator

        needed = 0.0
        for row, share in zip(self.grid if self.axes else (), self._shares, strict=False):
            for axes in row:
                if not isinstance(axes.yaxis.get_major_locator(), FixedLocator) or axes.get_aspect() != "auto":
                    continue
                lines = sum(label.get_text().count("\n") + 1 for label in axes.get_yticklabels())
                high = LINE_HEIGHT * lines * self.style.points("ytick.labelsize") / 72
                needed = max(needed, (high + self._outside(axes) + AROUND_NAMES) / share)
        return needed

    def _height(self, drawn: Any) -> float:
        """Return the height of a text or legend in inches, with the space that the layout leaves around it."""
        return float(drawn.get_window_extent().height) / self.figure.dpi + 2 * PAD

    def _legend(self, handles: Sequence[Any], title: str) -> "Legend":
        """Return a legend with as many columns as the figure is wide enough for."""
        width = self._size[0] - 2 * MARGIN
        size = self.style.points("legend.fontsize")
        labels = [in_legend(wrapped(str(handle.get_label()), width - 0.6, size)) for handle in handles]
        heading = evenly_wrapped(title, width, size) or None
        columns = min(len(handles), MOST_COLUMNS)
        while True:
            drawn = self.figure.legend(handles, labels, ncols=columns, title=heading, **BELOW)
            drawn.get_title().set_multialignment("center")
            if columns == 1 or drawn.get_window_extent().width <= width * self.figure.dpi:
                return drawn
            drawn.remove()
            rows = -(-len(handles) // columns)
            columns = min(columns - 1, -(-len(handles) // (rows + 1)))


def legend_below(axes: "Axes", title: str = "", columns: int = 2, handles: Sequence[Any] = ()) -> "Legend":
    """Draw a legend below given axes, centred, at most as wide as their figure. New figures: `Canvas.finish`.

    Args:
        axes: axes with labelled curves.
        title: the title of the legend.
        columns: maximum number of columns.
        handles: entries with their labels. Default: the curves.
    """
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None  # axes that were drawn on have one
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    place["bbox_transform"] = axes.transAxes + ScaledTranslation(0, -LABELS_BELOW, figure.dpi_scale_trans)
    if handles:
        place["handles"] = handles
    for number in range(columns, 0, -1):
        drawn = axes.legend(ncols=number, title=title or None, borderaxespad=0, frameon=False, **place)
        drawn.get_title().set_multialignment("center")
        if drawn.get_window_extent().width <= figure.bbox.width - 2 * MARGIN * figure.dpi:
            break
    return drawn


def wrapped(text: str, width: float, size: float) -> str:
    """Return `literal` text in which lines that are longer than `width` inches at a font size in points are wrapped."""
    return literal("\n".join(part for line in text.splitlines() for part in _lines(line, width, size)))


def evenly_wrapped(text: str, width: float, size: float) -> str:
    """Return text as `wrapped` does, but with as little difference as possible between the lengths of the lines."""
    found = wrapped(text, width, size)
    for share in NARROWER:
        narrower = wrapped(text, share * width, size)
        if narrower.count("\n") > found.count("\n"):
            break
        found = narrower
    return found


def _lines(line: str, width: float, size: float) -> list[str]:
    """Return the parts into which a line is wrapped; it is not broken around an equals sign."""
    words, found = _BREAKS.split(line), list[str]()
    while words:
        begin = next((place for place, word in enumerate(words) if word), len(words) - 1)  # skips leading spaces
        end = begin + _fitting(words[begin:], width, size)
        found.append(" ".join(words[begin:end]))
        words = words[end:]
    return found


def _fitting(words: Sequence[str], width: float, size: float) -> int:
    """Return how many words fit into a line, at least one.

    The widths of single words, which are measured only once, give an estimate, and a few measurements of the line
    correct it. Measuring the line after every word would take longer.
    """

    def fits(number: int) -> bool:
        return text_width(" ".join(words[:number]), size) <= width

    ends = accumulate(text_width(word, size) + SPACE * size / 72 for word in words)
    number = max(1, sum(1 for _ in takewhile(lambda end: end <= width, ends)))
    while number > 1 and not fits(number):
        number -= 1
    while number < len(words) and fits(number + 1):
        number += 1
    return number


def broken(name: str, width: float, size: float) -> str:
    """Break a name, with or without spaces, into lines of at most `width` inches at a font size in points.

    Lines end after spaces, hyphens and underscores, and within words that are longer than a line.
    """
    parts = [[part] if text_width(part, size) <= width else part for part in _PARTS.split(name)]
    found = [""]
    for part in chain.from_iterable(parts):
        longer = found[-1] + part
        if not found[-1] or text_width(longer.rstrip(), size) <= width:
            found[-1] = longer
        else:
            found.append(part)
    return "\n".join(line.strip() for line in found)


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in inches, in the font in use, with the hinting of the screen."""
    from matplotlib import rcParams

    settings: Any = rcParams
    fonts = tuple(tuple(settings[f"font.{name}"]) for name in ("family", "serif", "sans-serif", "monospace"))
    return _text_width(text, size, fonts)


@cache
def _text_width(text: str, size: float, fonts: tuple[tuple[str, ...], ...]) -> float:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    dots = DOTS["screen"]
    renderer: Any = RendererAgg(1, 1, dots)  # type: ignore[no-untyped-call]
    width, _, _ = renderer.get_text_width_height_descent(text, FontProperties(size=size), False)
    return float(width) / dots


def _panel_size(panel: tuple[float, float], rows: int, columns: int, style: FigureStyle) -> tuple[float, float]:
    width, height = panel
    if style.has_texts:
        return width, height
    narrow = style.figure_width(columns) / columns
    flattest = (FLATTEST if rows == 1 else FLATTEST_ROW) * min(narrow, COLUMN_WIDTH)
    return narrow, max(height * narrow / width, flattest)


def legend_handles(lines: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return entries of a legend from arguments of `Line2D` by label, with colours for a white background."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=in_legend(label), **tones(properties)) for label, properties in lines.items()]


def _handles(legend: "bool | Sequence[Any] | Mapping[str, Mapping[str, Any]]", panels: "Sequence[Axes]") -> list[Any]:
    if isinstance(legend, Mapping):
        return legend_handles(legend)
    if not isinstance(legend, bool):
        return list(legend)
    found: dict[str, list[Any]] = {}
    for axes in panels if legend else ():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, []).append(handle)
    return [handles[0] for handles in sorted(found.values(), key=lambda handles: len(handles) > 1)]
