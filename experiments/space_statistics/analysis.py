"""An analysis of a table: its function, the panels of its figure, and its result in one line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Frame = pandas.DataFrame


@dataclass(frozen=True)
class Analysis:
    """An analysis: the function that computes it, the panels of its figure, and its result in words.

    Attributes:
        ask: (table, ...) → frame; it takes the options in `takes`.
        panels: functions (frame, axes), row by row in the figure.
        headline: returns the result in one line.
        split: the split in the paper; None if the analysis has no split.
        takes: options of the command line: "predicted", "split", "rng", "space", "kind".
        columns: panels in a row of the figure. Default: all.
        panel_inches: width and height of a panel. Default: the size that `drawing.new_figure` chooses.
    """

    ask: Callable[..., Frame]
    panels: "tuple[Callable[[Frame, Axes | None], Axes], ...]"
    headline: Callable[[Frame], str]
    split: str | None = None
    takes: tuple[str, ...] = ("predicted", "split")
    columns: int | None = None
    panel_inches: tuple[float, float] | None = None

    def run(self, table: Table, options: dict[str, Any]) -> Frame:
        """Return the frame for a table, with the options that the analysis takes; raises the errors of `ask`."""
        return self.ask(table, **{name: options[name] for name in self.takes})
