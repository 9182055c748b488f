"""Regret figures as `reproduce` uses them: their searches and results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.experiments.reproduction.drawing import Result, as_table, draw, results
from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Options
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchedFigure, SearchJob, jobs_of, resolve_options
from nasbench1shot1.experiments.reproduction.progress import show_results
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from rich.console import Console


@dataclass(frozen=True)
class RegretCurves(FigureResults):
    """The finished searches of a figure, scored on one table; a `figure.FigureResults`."""

    name: str
    figure: PaperFigure
    found: Sequence[Result]
    seeds: int
    table: Table

    def as_table(self) -> "pandas.DataFrame":
        """Return one row per panel, curve and epoch, as `drawing.as_table` does."""
        return as_table(self.found)

    def draw(self) -> "Figure":
        """Return the picture, as `drawing.draw` does."""
        return draw(self.name, self.figure, self.found, self.seeds, self.table)

    def show(self, console: "Console") -> None:
        """Print the results of every curve at the last epoch."""
        show_results(self.found, console)


class RegretFigure(SearchedFigure):
    """A figure of regret per search epoch; a `figure.ReproducedFigure`."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[SearchJob]:
        """Return the searches, as `jobs.jobs_of` does; `call` fills in defaults on the machine of the workers."""
        return jobs_of(self.figure, scale, out, given, seeds, partial(call, resolve_options))

    def results(self, jobs: Sequence[FigureJob], table: Table) -> RegretCurves | None:
        """Return the regret curves of the finished searches."""
        found, seeds = results(self.figure, jobs, table), len({job.options["seed"] for job in jobs})
        return RegretCurves(self.name, self.figure, found, seeds, table) if found else None
