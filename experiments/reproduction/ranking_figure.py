"""Figure 3 of NAS-Bench-1Shot1: rank correlation of one-shot and true errors by search epoch.

For every curve and seed, a job searches, then ranks by the shared weights of the search.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.display.colours import METHODS as COLOUR_OF
from nasbench1shot1.experiments.correlation.drawing import shifts
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.state import CONTROLLER_DRAWS
from nasbench1shot1.experiments.correlation.truth import headline_place, places, rows_at, source_text, true_errors
from nasbench1shot1.experiments.rank_correlation import spearman
from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Kind, Options
from nasbench1shot1.experiments.reproduction.figures import METHODS, Curve, Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.searches import SearchedFigure, SearchJob, jobs_of, resolve_options
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.one_shot_search.captions import scale_text
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from rich.console import Console

SEARCH_AND_RANK = "nasbench1shot1.experiments.reproduction.ranking_figure:search_and_rank"
RANKED_EPOCHS = {"full": 5, "quick": 3}
"""Number of ranked epochs of a search, evenly spaced (paper: every tenth epoch)."""
RANKING: dict[str, dict[str, Any]] = {
    "full": {"architectures": "all", "images": "1000"},
    "quick": {"architectures": "100", "images": "200", "resamples": 10},
}
"""Options of the rankings by scale. The paper evaluates on the 10,000 test images of CIFAR-10."""
FEW = "controller"
"""Architectures that are ranked for ENAS at the full scale: 100 samples from its controller, as in the paper."""
_SHARED = ("preset", "device", "threads", "precision")
"""Options that a ranking takes from its search where they are given."""
LABELS = {"error": "ρ of one-shot error", "loss": "ρ of one-shot loss"}


@dataclass(frozen=True, kw_only=True)
class RankingJob(FigureJob):
    """A search and its ranking, named, for example, "s1/darts/seed-0". The job's folder is the ranking's folder.

    The options are the search's options; the option "ranking" holds the ranking's options.
    """

    NOUNS, UNIT, VERB = ("ranking", "rankings"), "searched or ranked epoch", "made"

    @property
    def search(self) -> SearchJob:
        """The job of the search alone."""
        options = {name: value for name, value in self.options.items() if name != "ranking"}
        return SearchJob(
            name=self.name,
            command="",
            folder=search_folder(self.folder),
            options=options,
            panel=self.panel,
            curve=self.curve,
        )

    @property
    def units(self) -> int:
        """Number of searched epochs plus ranked epochs."""
        return self.search.units + self.search.units // int(self.options["keep_weights_every"])

    @property
    def extent(self) -> str:
        """Return the numbers of searched and of ranked epochs in words."""
        searched = self.search.units
        return f"{searched} searched and {counted(self.units - searched, 'ranked epoch')}"

    @property
    def kind(self) -> Kind:
        """Optimizer and space, on which the time per epoch depends."""
        return self.search.kind

    def units_done(self) -> int:
        """Return the number of recorded epochs, searched plus ranked."""
        return min(self.search.units_done() + self._lines(), self.units)

    def seconds_per_unit(self) -> float:
        """Return the mean seconds per epoch, over searched and ranked epochs."""
        from nasbench1shot1.one_shot_search.estimate import seconds_to_score

        options, ranked = search_options(dict(self.search.options)), self.units - self.search.units
        ranking = self.options["ranking"]
        architectures = _count(str(self.options["space"]), ranking["architectures"])
        seconds = self.search.units * self.search.seconds_per_unit()
        return (seconds + ranked * seconds_to_score(options, architectures, int(ranking["images"]))) / self.units

    def check_data(self) -> None:
        """Raise UserError if the images are missing, or if the ranking needs more than the architecture half has."""
        from nasbench1shot1.one_shot_search.state import load_halves

        _, halves = load_halves(search_options(dict(self.search.options)).common)
        needed, half = int(self.options["ranking"]["images"]), len(halves.architecture)
        if needed > half:
            raise InvalidInputError(
                f"the rankings need {needed:,} images, but the architecture half of --images {self.options['images']} "
                f"has {half:,}: give a larger image set, or use --scale quick"
            )

    def record(self) -> Ranking:
        """Open the ranking's folder."""
        return Ranking.open(self.folder)

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the recorded options of the search and, once it has begun, the ranking; None before the search."""
        found = self.search.recorded_options()
        if found is None or not is_started(self.folder):
            return None if found is None else {**found, "ranking": self.options["ranking"]}
        wanted, config = self.options["ranking"], self.record().config
        scored_anew = {name: wanted[name] for name in ("table",) if name in wanted}
        return {**found, "ranking": {**{name: config.get(name) for name in wanted}, **scored_anew}}

    def outcome(self) -> str:
        """Return Spearman's ρ at the last epoch, in words."""
        *_, last = self.record().summary["epochs"].values()
        found = last.get("spearman_error")
        return "Spearman's ρ is undefined" if found is None else f"Spearman's ρ of one-shot error {found['value']:.3f}"


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

        return draw(self.name, self.figure, self.rankings, self.headline, self.seeds, self.table)

    @property
    def headline(self) -> pandas.DataFrame:
        """Return the rows at `headline_place`."""
        return rows_at(self.frame, headline_place(places(self.frame)))

    def show(self, console: "Console") -> None:
        """Print the correlations at the last epoch."""
        from rich.table import Table as Screen

        screen = Screen("panel", "curve", "seeds", "epoch", *(f"ρ of {name}" for name in LABELS))
        for (panel, curve), rows in self.headline.groupby(["panel", "curve"], sort=False):
            last = rows.iloc[-1]
            values = [_format_spread(last[f"spearman_{name}_mean"], last[f"spearman_{name}_std"]) for name in LABELS]
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
        columns = [
            (panel, curve, [Ranking.open(job.folder) for job in own]) for panel, curve, own in self.finished(jobs)
        ]
        if not columns:
            return None
        frame = pandas.concat([_score_rankings(*column, table) for column in columns], ignore_index=True)
        rankings, seeds = [ranking for *_, of in columns for ranking in of], {job.options["seed"] for job in jobs}
        return RankingCurves(self.name, self.figure, rankings, frame, len(seeds), table)


# Jobs -----------------------------------------------------------------------------------------------------------------


def ranking_jobs(
    figure: PaperFigure,
    scale: str,
    out: Path,
    given: Options,
    seeds: Sequence[int] | None,
    resolve: Callable[[Sequence[Options]], list[dict[str, Any]]],
) -> list[RankingJob]:
    """Return the jobs of figure 3; arguments and errors as in `searches.jobs_of`."""
    epochs = int(given.get("epochs") or figure.epochs_at(scale))
    every = max(1, epochs // RANKED_EPOCHS.get(scale, 1))
    searches = jobs_of(figure, scale, out, {**given, "keep_weights_every": every}, seeds, resolve)
    return [_with_ranking(search, scale, every, given) for search in searches]


def _with_ranking(search: SearchJob, scale: str, every: int, given: Options) -> RankingJob:
    usual, half = RANKING[scale], search.options["images_per_half"]
    own = {name: search.options[name] for name in _SHARED if given.get(name) is not None}
    if given.get("table") is not None:
        own["table"] = given["table"]
    if scale == "full" and search.options["optimizer"] == "enas":
        own["architectures"] = FEW
    if half is not None:
        own["images"] = str(min(half, int(usual["images"])))
    ranking = {**usual, "epochs": f"every:{every}", "threads": search.options["threads"], **own}
    fields = {name: getattr(search, name) for name in ("name", "folder", "threads", "gpu", "panel", "curve")}
    return RankingJob(command=SEARCH_AND_RANK, options={**search.options, "ranking": ranking}, **fields)


def _count(space: str, architectures: str) -> int:
    """Return the number of architectures that a ranking evaluates, for time estimates."""
    if architectures == FEW:
        return CONTROLLER_DRAWS
    return search_space(space).count("no_loose_ends") if architectures == "all" else int(architectures)


def search_and_rank(
    out: str | Path | None = None,
    *,
    resume: str | Path | None = None,
    ranking: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Run or resume a search in the folder "OUT-search", then rank by its shared weights in the folder `out`.

    Args:
        out: the folder of a new ranking.
        resume: the folder of a stopped ranking.
        ranking: options of `nb.correlate`.
        options: options of `nb.search`.

    Raises UserError as `nb.search` and `nb.correlate` do, except for undefined correlations.
    """
    from nasbench1shot1.experiments.correlation.correlating import rank
    from nasbench1shot1.one_shot_search.searching import search

    if resume is not None:
        rank(resume=resume)
        return
    assert out is not None
    folder = search_folder(Path(out))
    run = search(resume=folder) if is_started(folder) else search(out=folder, **options)
    rank(run, out=out, **(ranking or {}))


def search_folder(folder: Path) -> Path:
    """Return the folder of the search that belongs to a ranking's folder."""
    return folder.with_name(f"{folder.name}-search")


# Values ---------------------------------------------------------------------------------------------------------------


def _score_rankings(panel: Panel, curve: Curve, rankings: Sequence[Ranking], table: Table) -> pandas.DataFrame:
    rows = pandas.concat([_spearman_frame(ranking, table) for ranking in rankings])
    keys = ["epoch", "budget", "split"]
    groups = rows.groupby(keys)
    frame = groups[["n", "measured"]].mean()
    for name in LABELS:
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
    columns = ["epoch", "budget", "split", *(f"spearman_{name}" for name in LABELS), "n", "measured"]
    return pandas.DataFrame(rows, columns=columns)


def _format_spread(mean: float, spread: float) -> str:
    if np.isnan(mean):
        return "undefined"
    return f"{mean:.3f}" if np.isnan(spread) else f"{mean:.3f} ± {spread:.3f}"


# Picture --------------------------------------------------------------------------------------------------------------


def draw(
    name: str, figure: PaperFigure, rankings: Sequence[Ranking], rows: pandas.DataFrame, seeds: int, table: Table
) -> "Figure":
    """Plot the rank correlations of one-shot and true errors at one budget, on one split.

    Args:
        name: "figure3".
        figure: the panels and curves.
        rankings: the finished rankings, for their configurations.
        rows: the rows to plot, from `RankingCurves.headline`.
        seeds: number of seeds of every curve, finished or not.
        table: the table on which `rows` are scored.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    panels = [panel for panel in figure.panels if panel.key in set(rows["panel"])]
    canvas = Figure(figsize=(max(1.4 + 3.4 * len(panels), 7.6), 7.4), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    rows_of = canvas.add_gridspec(2, 1, height_ratios=(12, 1))  # the layout keeps a legend apart only in its own row
    above, below = canvas.add_subfigure(rows_of[0]), canvas.add_subfigure(rows_of[1])
    grid = above.subplots(len(LABELS), len(panels), sharex=True, sharey=True, squeeze=False)
    for line, predictor in zip(grid, LABELS, strict=True):
        for axes, panel in zip(line, panels, strict=True):
            _draw_panel(axes, rows[rows["panel"] == panel.key], predictor)
        line[0].set_ylabel(LABELS[predictor])
    for axes, panel in zip(grid[0], panels, strict=True):
        axes.set_title(panel.title, fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("search epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.legend(handles=_handles(rows), loc="center", ncols=5, frameon=False, fontsize=8)
    above.suptitle(_title(name, figure, rankings, seeds), fontsize=10)
    canvas.supxlabel(_caption(rankings, rows, seeds, table), fontsize=7, color="#444444")
    return canvas


def _draw_panel(axes: "Axes", rows: pandas.DataFrame, predictor: str) -> None:
    curves = rows.groupby("curve", sort=False)
    for (curve, line), shift in zip(curves, shifts(rows["epoch"], len(curves)), strict=True):
        mean, spread = line[f"spearman_{predictor}_mean"], line[f"spearman_{predictor}_std"]
        colour, epochs = COLOUR_OF[str(curve)], line["epoch"] + shift
        axes.plot(epochs, mean, "o-", markersize=4, color=colour, linewidth=1.2)
        axes.vlines(epochs, mean - spread, mean + spread, color=colour, alpha=0.5, linewidth=1.6)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.grid(alpha=0.25)


def _handles(rows: pandas.DataFrame) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    curves = [str(curve) for curve in dict.fromkeys(rows["curve"])]
    return [Line2D([], [], color=COLOUR_OF[curve], marker="o", markersize=4, label=METHODS[curve]) for curve in curves]


def _title(name: str, figure: PaperFigure, rankings: Sequence[Ranking], seeds: int) -> str:
    configs = [open_search(search_folder(ranking.folder)).config for ranking in rankings]  # the figure may have moved
    number = name.removeprefix("figure")
    lines = [f"After figure {number} of NAS-Bench-1Shot1: {figure.title}", scale_text(configs)]
    return "\n".join([*lines, f"{configs[0]['epochs']} epochs, {counted(seeds, 'seed')}"])


def _caption(rankings: Sequence[Ranking], rows: pandas.DataFrame, seeds: int, table: Table) -> str:
    row, images = rows.iloc[0], rankings[0].config["image_count"]
    counts = sorted({round(n) for n in rows["n"]})
    many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    lines = [
        f"Spearman's ρ over {many} architectures, {images:,} images; true {row['split']} errors after "
        f"{row['budget']} epochs, {source_text(float(rows['measured'].mean()))}",
    ]
    if seeds > 1:
        lines.append(f"lines: mean over {seeds} seeds; vertical bars: ± standard deviation")
    if rankings[0].config["architectures"].isdecimal():
        lines.append(
            "so small searches and samples only demonstrate the study; they do not show which method ranks better"
        )
    fidelity = table.fidelity(int(row["budget"]))
    return "\n".join([*lines, f"table {table.id}{fidelity and f': {fidelity}'}"])
