"""An analysis of a table: its function, its result in one line, and its figure with a caption about the data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas

from nasbench1shot1.display.axes import AxesList
from nasbench1shot1.display.charts import Panel, draw_panels
from nasbench1shot1.experiments.space_statistics.values import accuracy, caption, has_values
from nasbench1shot1.reference_points import Asked
from nasbench1shot1.runs.options import check_range
from nasbench1shot1.tables.table import Table

Frame = pandas.DataFrame


@dataclass(frozen=True)
class Analysis:
    """An analysis: the function that computes it, the panels of its figure, and its result in words.

    Attributes:
        ask: (table, ...) → frame; it takes the options in `takes` other than "dataset".
        panels: returns the panels of the figure, row by row, given the frame.
        headline: returns the result in one line.
        split: the split in the paper; None if the analysis has no split.
        takes: options of the command line: "predicted", "split", "rng", "space", "kind", "mark", "dataset". An analysis
            with "dataset" is about a single data set, and `ask` receives a table of this data set.
        columns: maximum number of panels in a row of the figure. Default: all.
        panel_inches: width and height of a panel. Default: the size that `draw_panels` chooses.
    """

    ask: Callable[..., Frame]
    panels: Callable[[Frame], Sequence[Panel]]
    headline: Callable[[Frame], str]
    split: str | None = None
    takes: tuple[str, ...] = ("predicted", "split")
    columns: int | None = None
    panel_inches: tuple[float, float] | None = None

    def run(
        self,
        table: Table,
        split: str | None = None,
        predicted: bool = False,
        seed: int = 0,
        space: str | None = None,
        kind: str | None = None,
        mark: Iterable[Asked] | None = None,
        dataset: str | None = None,
    ) -> Frame:
        """Return the frame for a table, with the options that the analysis takes.

        The default split is the paper's if the table has it, and otherwise validation. Raises InvalidInputError for a
        negative seed, the errors of `Table.of_dataset` if the analysis takes a data set, and the errors of `ask`.
        """
        check_range("seed", seed, 0)
        has_choice = "dataset" in self.takes and len(table.datasets) > 1
        if "dataset" in self.takes:
            table = table.of_dataset(dataset)
        if split is None and self.split is not None:
            split = self.split if has_values(table, accuracy(self.split), predicted=predicted) else "validation"
        options: dict[str, Any] = {"split": split, "predicted": predicted, "space": space, "kind": kind or "all"}
        options["mark"] = mark or None
        options["rng"] = np.random.default_rng(seed)
        frame = self.ask(table, **{name: options[name] for name in self.takes if name != "dataset"})
        if has_choice:
            frame.attrs["quantity"] += f" on {table.datasets[0]}"
        return frame

    def draw(self, frame: Frame, **options: Any) -> AxesList:
        """Draw a frame, with a caption about its data; options as for `draw_panels`."""
        panels = self.panels(frame)
        if frame.attrs["predicted"]:
            panels = [replace(panel, title=f"{panel.title}  (PREDICTED)") for panel in panels]
        layout = {"columns": self.columns, "size": self.panel_inches}
        return draw_panels(panels, caption(frame.attrs), **{**layout, **options})
