"""Table 2 of NAS-Bench-1Shot1 as `reproduce` uses it: the best configuration of s3 on s1 and s2, beside the default."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Options
from nasbench1shot1.experiments.reproduction.figures import PaperFigure
from nasbench1shot1.experiments.reproduction.jobs import SearchedFigure, SearchJob
from nasbench1shot1.experiments.reproduction.transfer_jobs import TRANSFERRED, transfer_jobs
from nasbench1shot1.experiments.reproduction.tuning_text import title_line, unfinished_text
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.experiments.tuning.best import transfer_table
from nasbench1shot1.one_shot_search.captions import provenance, scale_text, table_text
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.record import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


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
        """Return one row per panel and curve, as `transfer.transfer_table` does, with the share of measured values."""
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
        """Return the studies and searches, as `transfer_jobs.transfer_jobs` does."""
        return transfer_jobs(self.figure, scale, out, given, seeds, call)

    def results(self, jobs: Sequence[FigureJob], table: Table) -> Transfers | None:
        """Return the regrets of the finished searches; None if there is none."""
        found = self.finished(jobs)
        runs = {(panel.key, curve.key): [open_search(job.folder) for job in own] for panel, curve, own in found}
        studies = [Study.open(job.folder) for job in jobs if not isinstance(job, SearchJob) and job.is_finished]
        seeds = len({job.options["seed"] for job in jobs if isinstance(job, SearchJob)})
        return Transfers(self.name, self.figure, runs, studies, seeds, table) if runs else None


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
