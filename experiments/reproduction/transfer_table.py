"""Table 2 of NAS-Bench-1Shot1: the best configuration of s3 on s1 and s2, beside the default configuration.

The jobs are studies on s3, then searches on s1 and s2 with default and with transferred configurations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Options
from nasbench1shot1.experiments.reproduction.figures import (
    GRADIENT_METHODS,
    METHODS,
    SPACES,
    TUNING_SCALES,
    Curve,
    Panel,
    PaperFigure,
)
from nasbench1shot1.experiments.reproduction.searches import (
    SearchedFigure,
    SearchJob,
    jobs_of,
    resolve_options,
    title_line,
)
from nasbench1shot1.experiments.reproduction.studies import StudyJob, studies_of, unfinished_text
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.experiments.tuning.best import best_of, transfer_table
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.captions import provenance, scale_text, table_text
from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

SEARCH_WITH_BEST = "nasbench1shot1.experiments.tuning.best:search_with_best"
TUNED_ON = "s3"
STUDY_SEED = 0
TRANSFERRED = "-transferred"
"""Suffix of the key of a curve whose configuration is transferred."""


@dataclass(frozen=True, kw_only=True)
class TransferredJob(SearchJob):
    """A search with the best configuration of a study that must be finished first; the option "best" names it."""

    stage: int = 1

    @property
    def planned(self) -> dict[str, Any]:
        """The options of the search with the optimizer's default hyperparameters."""
        return {name: value for name, value in self.options.items() if name != "best"}

    def seconds_per_unit(self) -> float:
        """Return the seconds per epoch on this machine with the default hyperparameters."""
        return seconds_per_epoch(search_options(self.planned))

    def recorded_options(self) -> dict[str, Any] | None:
        """Return the recorded options; transferred hyperparameters that are still the study's best count as planned."""
        recorded = super().recorded_options()
        if recorded is None:
            return None
        best, named = self._best(), self.options["best"]
        kept = {name for name, value in best.items() if recorded.get(name) == value}
        return {**recorded, **{name: self.options[name] for name in kept}, "best": named}

    def _best(self) -> dict[str, Any]:
        try:
            return best_of(Study.open(self.options["best"]["study"]), self.options["best"]["budget"])
        except UserError:  # the study was removed or started again
            return {}


@dataclass(frozen=True, eq=False)
class Transfers(FigureResults):
    """The final test regrets of all finished searches, scored on one table; a `figure.FigureResults`.

    Attributes:
        runs: finished searches by panel and curve, in the order of the figure.
        studies: the finished studies.
    """

    name: str
    figure: PaperFigure
    runs: dict[tuple[str, str], list[Run]]
    studies: Sequence[Study]
    seeds: int
    table: Table

    @cached_property
    def last(self) -> dict[tuple[str, str], pandas.DataFrame]:
        """Return the last epoch of every search, by panel and curve."""
        return {
            key: pandas.concat([rescore(run, self.table).tail(1) for run in runs]) for key, runs in self.runs.items()
        }

    def as_table(self) -> pandas.DataFrame:
        """Return one row per panel and curve, as `best.transfer_table` does, with the share of measured values."""
        frame = transfer_table({key: list(rows["test_regret"]) for key, rows in self.last.items()})
        frame["test_regret_measured"] = [rows["test_measured"].mean() for rows in self.last.values()]
        return frame

    def draw(self) -> "Figure":
        """Return the picture: mean ± standard deviation of the final test regret, with the numbers beside."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        frame = self.as_table()
        panels = list(dict.fromkeys(frame["panel"]))
        titles = {panel.key: panel.title for panel in self.figure.panels}
        labels = {curve.key: curve.label for curve in self.figure.panels[0].curves}
        canvas = Figure(figsize=(max(4.4 * len(panels), 8.0), 5.0), layout="constrained", dpi=100)
        FigureCanvasAgg(canvas)
        for panel, axes in zip(panels, canvas.subplots(1, len(panels), squeeze=False)[0], strict=True):
            _draw(frame[frame["panel"] == panel], labels, axes)
            axes.set_title(titles[panel], fontsize=10)
            source = provenance(frame["test_regret_measured"])
            axes.set_xlabel(f"test regret after the last epoch [%] ({source})", fontsize=8)
        canvas.suptitle(self._title(), fontsize=10)
        canvas.supxlabel(self._caption(), fontsize=7, color="#444444")
        return canvas

    def show(self, console: "Console") -> None:
        """Print the table."""
        from rich.table import Table as Screen

        screen = Screen("panel", "curve", "searches", "test regret")
        for _, row in self.as_table().iterrows():
            regret = _format_spread(row["test_regret_mean"], row["test_regret_std"])
            screen.add_row(row["panel"], row["curve"], str(row["runs"]), regret)
        console.print(screen)

    def _title(self) -> str:
        configs = [run.config for runs in self.runs.values() for run in runs]
        scale = scale_text(configs).splitlines()[0]
        size = f"{configs[0]['epochs']} epochs, {self.seeds} seeds"
        paper = (
            ""
            if configs[0]["scale"] == "full"
            else "; the paper's setting is 16 channels × 9 cells, 50 epochs, 6 seeds"
        )
        return "\n".join([title_line(self.name, "the best configuration of s3 on other spaces"), scale, size + paper])

    def _caption(self) -> str:
        lines = [f"mean ± standard deviation over {self.seeds} seeds"] if self.seeds > 1 else []
        if self.studies:
            planned = self.studies[0].options.brackets.planned
            lines.append(
                "transferred: the configuration of cs2 with the lowest validation error among the searches of as "
                f"many epochs\nin one study of {planned} searches on s3; default: the optimizer's default configuration"
            )
        counts = {key: len(runs) for key, runs in self.runs.items()}
        lines += unfinished_text(self.figure, counts, self.seeds, "searches")
        if next(iter(self.runs.values()))[0].config["scale"] == "quick":
            lines.append("searches this small show that the transfer runs; they do not show whether it helps")
        return "\n".join([*lines, table_text(list(self.last.values()), self.table.id, self.table.fidelity())])


@dataclass(frozen=True)
class TransferTable(SearchedFigure):
    """A table of transferred configurations; a `figure.ReproducedFigure`."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[FigureJob]:
        """Return the studies and searches, as `transfer_jobs` does."""
        return transfer_jobs(self.figure, scale, out, given, seeds, call)

    def results(self, jobs: Sequence[FigureJob], table: Table) -> Transfers | None:
        """Return the regrets of the finished searches; None if there is none."""
        found = self.finished(jobs)
        runs = {(panel.key, curve.key): [open_search(job.folder) for job in own] for panel, curve, own in found}
        studies = [Study.open(job.folder) for job in jobs if not isinstance(job, SearchJob) and job.is_finished]
        seeds = len({job.options["seed"] for job in jobs if isinstance(job, SearchJob)})
        return Transfers(self.name, self.figure, runs, studies, seeds, table) if runs else None


# Jobs -----------------------------------------------------------------------------------------------------------------


def transfer_jobs(
    figure: PaperFigure, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
) -> list[FigureJob]:
    """Return the studies, then the searches that need no study, then the searches that do.

    Args:
        figure: panels and curves of the searches.
        scale: "full" or "quick".
        out: the table's folder.
        given: options of all studies and searches; `epochs` is for the searches. Studies have this budget,
            half of it and twice it.
        seeds: seeds of every curve. Default: the seeds of the scale. Studies have one seed.
        call: `Workers.call`, which fills in the defaults on the machine of the workers.

    Raises:
        InvalidInputError: a scale or an option is unknown, a value is out of range, or seeds are empty or not distinct.
        UserError: hpbandster is not installed.
    """
    searches = jobs_of(
        figure, scale, out, {**_images_of_studies(scale), **given}, seeds, partial(call, resolve_options)
    )
    transferred = {job.options["optimizer"] for job in searches if job.curve.endswith(TRANSFERRED)}
    budgets = {**given, "epochs": 2 * searches[0].epochs}
    tuned = _study_figure([name for name in GRADIENT_METHODS if name in transferred])
    studies = studies_of(tuned, scale, out, budgets, [STUDY_SEED], call) if transferred else []
    folders = {job.options["optimizer"]: job for job in studies}
    with_best = [
        _transferred_job(job, folders[job.options["optimizer"]]) for job in searches if job.curve.endswith(TRANSFERRED)
    ]
    return [*studies, *(job for job in searches if not job.curve.endswith(TRANSFERRED)), *with_best]


def _images_of_studies(scale: str) -> dict[str, Any]:
    """Return the number of images of the studies: the transferred searches are as large."""
    options = TUNING_SCALES[scale].options if scale in TUNING_SCALES else {}
    return {name: options[name] for name in ("images_per_half",) if name in options}


def _study_figure(methods: Sequence[str]) -> PaperFigure:
    curves = tuple(Curve(name, METHODS[name], {"optimizer": name}) for name in methods)
    panel = Panel(TUNED_ON, SPACES[TUNED_ON], {"space": TUNED_ON, "config_space": "cs2"}, curves)
    return PaperFigure("", (panel,))


def _transferred_job(job: SearchJob, study: StudyJob) -> TransferredJob:
    best = {"study": str(study.folder.absolute()), "budget": job.epochs}
    fields = {name: getattr(job, name) for name in ("name", "folder", "threads", "gpu", "panel", "curve")}
    return TransferredJob(command=SEARCH_WITH_BEST, options={**job.options, "best": best}, **fields)


# Picture --------------------------------------------------------------------------------------------------------------


def _draw(frame: pandas.DataFrame, labels: dict[str, str], axes: Any) -> None:
    places = range(len(frame))
    for place, (_, row) in zip(places, frame.iterrows(), strict=True):
        mean, spread = 100 * row["test_regret_mean"], 100 * row["test_regret_std"]
        colour = "#d55e00" if row["curve"].endswith(TRANSFERRED) else "#5a5a5a"
        axes.errorbar(mean, place, xerr=0.0 if np.isnan(spread) else spread, fmt="o", color=colour, capsize=3)
        text = _format_spread(row["test_regret_mean"], row["test_regret_std"])
        axes.annotate(text, (mean, place), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    axes.set_yticks(places, [labels[key] for key in frame["curve"]], fontsize=8)
    axes.set_ylim(len(frame) - 0.5, -0.7)
    axes.grid(alpha=0.25, axis="x")


def _format_spread(mean: float, spread: float) -> str:
    return f"{100 * mean:.3f}" if np.isnan(spread) else f"{100 * mean:.3f} ± {100 * spread:.3f}"
