"""Regret figures as `reproduce` uses them: their searches and results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nasbench1shot1.experiments.reproduction.drawing import Result, as_table, draw, results
from nasbench1shot1.experiments.reproduction.figure import FigureJob, Options
from nasbench1shot1.experiments.reproduction.figures import SCALES, PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchJob, figure_named, jobs_of, resolved
from nasbench1shot1.experiments.reproduction.screen import show_results
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from rich.console import Console


@dataclass(frozen=True)
class RegretCurves:
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


@dataclass(frozen=True)
class RegretFigure:
    """A figure of regret per search epoch; a `figure.ReproducedFigure`."""

    name: str
    figure: PaperFigure

    @classmethod
    def named(cls, name: str, only: Sequence[str]) -> Self:
        """Return a figure of `figures.FIGURES` or a part of it; arguments and errors as in `jobs.figure_named`."""
        return cls(name, figure_named(name, only))

    @property
    def title(self) -> str:
        """Return what the figure compares."""
        return self.figure.title

    def size(self, scale: str) -> str:
        """Return the numbers of searches and epochs at a scale."""
        searches = len(self.figure.pairs()) * len(SCALES[scale].seeds)
        return f"{searches} × {self.figure.epochs_at(scale)} epochs"

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[SearchJob]:
        """Return the searches, as `jobs.jobs_of` does; `call` fills in defaults on the machine of the workers."""
        return jobs_of(self.figure, scale, out, given, seeds, partial(call, resolved))

    def results(self, jobs: Sequence[FigureJob], table: Table) -> RegretCurves | None:
        """Return the regret curves of the finished searches."""
        found, seeds = results(self.figure, jobs, table), len({job.options["seed"] for job in jobs})
        return RegretCurves(self.name, self.figure, found, seeds, table) if found else None
