"""An analysis of a table: its function, its result in one line, and its figure with a caption about the data."""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.experiments.space_statistics.values import caption
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Frame = pandas.DataFrame
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours."""
GREY = "#5a5a5a"
Panel = Callable[..., Any]
"""A function (frame, axes) that draws a frame."""
_CAPTION = "caption"


@dataclass(frozen=True)
class Analysis:
    """An analysis: the function that computes it, the panels of its figure, and its result in words.

    Attributes:
        ask: (table, ...) → frame; it takes the options in `takes`.
        panels: functions (frame, axes), row by row in the figure; or a function that returns them, given the frame.
        headline: returns the result in one line.
        split: the split in the paper; None if the analysis has no split.
        takes: options of the command line: "predicted", "split", "rng", "space", "kind".
        columns: maximum number of panels in a row of the figure. Default: all.
        panel_inches: width and height of a panel. Default: the size that `new_figure` chooses.
    """

    ask: Callable[..., Frame]
    panels: tuple[Panel, ...] | Callable[[Frame], tuple[Panel, ...]]
    headline: Callable[[Frame], str]
    split: str | None = None
    takes: tuple[str, ...] = ("predicted", "split")
    columns: int | None = None
    panel_inches: tuple[float, float] | None = None

    def run(self, table: Table, options: dict[str, Any]) -> Frame:
        """Return the frame for a table, with the options that the analysis takes; raises the errors of `ask`."""
        return self.ask(table, **{name: options[name] for name in self.takes})


def figure_of(
    panels: tuple[Panel, ...] | Callable[[Frame], tuple[Panel, ...]],
    frame: pandas.DataFrame,
    columns: int | None = None,
    panel_inches: tuple[float, float] | None = None,
) -> "Figure":
    """Draw all panels of a frame in one figure, with one caption about the data.

    Args:
        panels: functions (frame, axes), drawn row by row; or a function that returns them, given the frame.
        frame: the data that the panels draw.
        columns: maximum number of panels in a row. Default: all.
        panel_inches: width and height of a panel.
    """
    panels = panels(frame) if callable(panels) else panels
    columns = min(columns or len(panels), len(panels))
    figure, rows = new_figure(columns), -(-len(panels) // columns)
    width = 100 * columns
    if panel_inches:
        figure.set_size_inches(panel_inches[0] * columns, panel_inches[1] * rows)
        width = int(17 * panel_inches[0]) * columns
    places = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(places, panels, strict=False):
        panel(frame, axes)
        for text in [text for text in axes.texts if text.get_gid() == _CAPTION]:
            text.remove()
    figure.supxlabel(_wrap(frame.attrs, width), fontsize=7, color=GREY)
    return figure


def new_figure(panels: int = 1) -> "Figure":
    """Return an empty figure for a number of panels side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4 if panels == 1 else 4.9 * panels, 4.6), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    return figure


def finish(axes: "Axes", frame: pandas.DataFrame, title: str) -> "Axes":
    """Add a title, a grid and a caption about the table and its measured rows; return the axes."""
    predicted = "  (PREDICTED)" if frame.attrs["predicted"] else ""
    axes.set_title(title + predicted, fontsize=10)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.annotate(
        _wrap(frame.attrs, 92),
        (0.5, 0),
        (0, -5),
        xycoords=axes.xaxis.label,  # below the label, which may have several lines
        textcoords="offset points",
        fontsize=7,
        color=GREY,
        ha="center",
        va="top",
        gid=_CAPTION,
    )
    return axes


def _wrap(attributes: Mapping[Any, Any], width: int) -> str:
    return "\n".join(textwrap.fill(line, width) for line in caption(attributes).splitlines())
