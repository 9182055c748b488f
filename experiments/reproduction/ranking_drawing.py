"""The plot of figure 3: Spearman's ρ by search epoch, a column per space, a line per optimizer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas

from nasbench1shot1.display.colours import METHODS as COLOUR_OF
from nasbench1shot1.experiments.correlation.drawing import shifts
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.correlation.truth import source_text
from nasbench1shot1.experiments.reproduction.figures import METHODS, PaperFigure
from nasbench1shot1.experiments.reproduction.ranking_jobs import search_folder
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import scale_text
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LABELS = {"error": "ρ of one-shot error", "loss": "ρ of one-shot loss"}


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
