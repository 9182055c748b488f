"""Figure 3 of NAS-Bench-1Shot1 as `reproduce` uses it: rank correlation of one-shot and true errors by epoch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import headline_place, places, rows_at, source_text, true_errors
from nasbench1shot1.experiments.rank_correlation import spearman
from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Options
from nasbench1shot1.experiments.reproduction.figures import Curve, Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchedFigure, resolve_options
from nasbench1shot1.experiments.reproduction.ranking_jobs import RankingJob, ranking_jobs
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

PREDICTORS = ("error", "loss")
Column = tuple[Panel, Curve, Sequence[Ranking]]


@dataclass(frozen=True)
class RankingCurves(FigureResults):
    """Spearman's ρ of all finished rankings, scored on one table; a `figure.FigureResults`.

    Attributes:
        frame: one row per panel, curve, epoch, budget and split: number of `seeds`; mean and standard deviation over
            seeds (NaN for one seed) of Spearman's ρ of error and of loss; `n`, the number of architectures;
            `measured`, the fraction of their true errors that are measured. Undefined correlations are NaN.
    """

    name: str
    figure: PaperFigure
    rankings: Sequence[Ranking]
    frame: pandas.DataFrame
    seeds: int
    table: Table

    def as_table(self) -> pandas.DataFrame:
        """Return `frame`."""
        return self.frame

    def draw(self) -> "Figure":
        """Return the picture: one column per space, one line per optimizer; errors in the upper row, losses below."""
        from nasbench1shot1.experiments.reproduction.ranking_drawing import draw

        return draw(self.name, self.figure, self.rankings, self.headline, self.seeds, self.table)

    @property
    def headline(self) -> pandas.DataFrame:
        """Return the rows at `headline_place`."""
        return rows_at(self.frame, headline_place(places(self.frame)))

    def show(self, console: "Console") -> None:
        """Print the correlations at the last epoch."""
        from rich.table import Table as Screen

        screen = Screen("panel", "curve", "seeds", "epoch", *(f"ρ of {name}" for name in PREDICTORS))
        for (panel, curve), rows in self.headline.groupby(["panel", "curve"], sort=False):
            last = rows.iloc[-1]
            values = [
                _format_spread(last[f"spearman_{name}_mean"], last[f"spearman_{name}_std"]) for name in PREDICTORS
            ]
            screen.add_row(str(panel), str(curve), str(last["seeds"]), str(last["epoch"]), *values)
        console.print(screen)
        row = self.headline.iloc[0]
        source = source_text(float(self.headline["measured"].mean()))
        console.print(f"ρ: Spearman's ρ with true {row['split']} errors after {row['budget']} epochs, {source}")


class RankingFigure(SearchedFigure):
    """A figure of rank correlation per search epoch; a `figure.ReproducedFigure`."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[RankingJob]:
        """Return one job per search, which also ranks."""
        return ranking_jobs(self.figure, scale, out, given, seeds, partial(call, resolve_options))

    def results(self, jobs: Sequence[FigureJob], table: Table) -> RankingCurves | None:
        """Return the correlations of the finished rankings, scored on a table."""
        columns = list(_columns(self.figure, jobs))
        if not columns:
            return None
        frame = pandas.concat([_score_rankings(*column, table) for column in columns], ignore_index=True)
        rankings, seeds = [ranking for *_, of in columns for ranking in of], {job.options["seed"] for job in jobs}
        return RankingCurves(self.name, self.figure, rankings, frame, len(seeds), table)


def _columns(figure: PaperFigure, jobs: Sequence[FigureJob]) -> Iterator[Column]:
    """Yield every curve that has finished rankings, with its rankings."""
    for panel, curve in figure.pairs():
        own = [job for job in jobs if (job.panel, job.curve) == (panel.key, curve.key) and job.is_finished]
        if own:
            yield panel, curve, [Ranking.open(job.folder) for job in own]


def _score_rankings(panel: Panel, curve: Curve, rankings: Sequence[Ranking], table: Table) -> pandas.DataFrame:
    rows = pandas.concat([_spearman_frame(ranking, table) for ranking in rankings])
    keys = ["epoch", "budget", "split"]
    groups = rows.groupby(keys)
    frame = groups[["n", "measured"]].mean()
    for name in PREDICTORS:
        frame[f"spearman_{name}_mean"] = groups[f"spearman_{name}"].mean()
        frame[f"spearman_{name}_std"] = groups[f"spearman_{name}"].std()
    frame = frame.reset_index()
    for name, value in (("seeds", len(rankings)), ("curve", curve.key), ("panel", panel.key)):
        frame.insert(0, name, value)
    return frame


def _spearman_frame(ranking: Ranking, table: Table) -> pandas.DataFrame:
    """Return Spearman's ρ at every epoch, budget and split; NaN if it is undefined."""
    space, rows = search_space(ranking.config["space"]), []
    for epoch in ranking.config["evaluated_epochs"]:
        scores = ranking.scores(epoch)
        architectures = [space[int(number)] for number in scores.numbers]
        for truth in true_errors(table, architectures, table.epochs):
            known = ~np.isnan(truth.errors)
            values = [
                spearman(of[known].astype(np.float64), truth.errors[known]) for of in (scores.errors, scores.losses)
            ]
            rows.append((epoch, truth.budget, truth.split, *values, int(known.sum()), truth.measured[known].mean()))
    columns = ["epoch", "budget", "split", *(f"spearman_{name}" for name in PREDICTORS), "n", "measured"]
    return pandas.DataFrame(rows, columns=columns)


def _format_spread(mean: float, spread: float) -> str:
    if np.isnan(mean):
        return "undefined"
    return f"{mean:.3f}" if np.isnan(spread) else f"{mean:.3f} ± {spread:.3f}"
