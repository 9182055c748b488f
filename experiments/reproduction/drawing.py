"""What the searches of a figure gave: mean and spread per epoch as a frame, and the picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas

from nasbench1shot1.experiments.reproduction.figure import FigureJob
from nasbench1shot1.experiments.reproduction.figures import SCALES, Curve, Panel, PaperFigure
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.one_shot_search.regret_curve import CURVES, anytime_regret, provenance, scale_text, table_text
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # told apart by the colour-blind, too
REGRET, ERROR = "test_regret", "one_shot_validation_error"


@dataclass(frozen=True, eq=False)
class Result:
    """The finished searches of one curve, scored on one table.

    Attributes:
        frames: metrics of each, columns as in `Run.metrics`.
    """

    panel: Panel
    curve: Curve
    runs: Sequence[Run]
    frames: Sequence[pandas.DataFrame]

    @cached_property
    def by_epoch(self) -> pandas.DataFrame:
        """Mean and standard deviation over the seeds (NaN for one seed); columns as `anytime_regret` says."""
        frame = anytime_regret(self.frames)
        if len(self.frames) == 1:
            frame[[f"{curve}_std" for curve in CURVES]] = float("nan")
        return frame


def results(figure: PaperFigure, jobs: Sequence[FigureJob], table: Table) -> list[Result]:
    """Every curve that has a finished search, in the figure's order, scored on `table`.

    Raises OutOfDomainError if the table lacks an architecture.
    """
    found = []
    for panel, curve in figure.pairs():
        own = [job for job in jobs if (job.panel, job.curve) == (panel.key, curve.key) and job.is_finished]
        if runs := [open_search(job.folder) for job in own]:
            found.append(Result(panel, curve, runs, [rescore(run, table) for run in runs]))
    return found


def as_table(found: Sequence[Result]) -> pandas.DataFrame:
    """A row for every panel, curve and epoch: `seeds`, then the columns of `anytime_regret` (fractions)."""
    frames = []
    for result in found:
        frame = result.by_epoch.reset_index()
        for name, value in (("seeds", len(result.runs)), ("curve", result.curve.key), ("panel", result.panel.key)):
            frame.insert(0, name, value)
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def draw(name: str, figure: PaperFigure, found: Sequence[Result], seeds: int, table: Table) -> "Figure":
    """The picture: a panel beside the other, test regret solid, one-shot validation error dashed, spread shaded.

    Args:
        name: "figure2", …
        figure: its panels and titles.
        found: what `results` gave; at least one.
        seeds: searches of every curve, were all of them finished.
        table: the table behind `found`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [panel for panel in figure.panels if any(result.panel.key == panel.key for result in found)]
    canvas = Figure(figsize=(max(1.6 + 3.6 * len(panels), 8.0), 5.4), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    rows = canvas.add_gridspec(2, 1, height_ratios=(8, 1))  # the layout keeps a legend apart only in its own row
    above, below = canvas.add_subfigure(rows[0]), canvas.add_subfigure(rows[1])
    lefts = above.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    rights = [axes.twinx() for axes in lefts]
    styles = _styles(found)
    for panel, left, right in zip(panels, lefts, rights, strict=True):
        right.sharey(rights[0])
        left.set_title(panel.title, fontsize=10)
        for result in found:
            if result.panel.key == panel.key:
                _draw_curve(result, left, right, *styles[result.curve.key])
    _label(lefts, rights)
    measured = provenance(pandas.concat([result.by_epoch[f"{REGRET}_measured"] for result in found]))
    _legend(below, found, styles, measured)
    above.suptitle(_title(name, figure, found, seeds), fontsize=10)
    canvas.supxlabel(_caption(found, seeds, table), fontsize=7, color="#444444")
    return canvas


def _styles(found: Sequence[Result]) -> dict[str, tuple[str, float]]:
    """Colour and line width of every curve: each narrower than those under it, as curves often coincide."""
    keys = dict.fromkeys(result.curve.key for result in found)
    return {key: (COLOURS[i % len(COLOURS)], 3.0 - 0.4 * (i % len(COLOURS))) for i, key in enumerate(keys)}


def _draw_curve(result: Result, left: "Axes", right: "Axes", colour: str, width: float) -> None:
    frame = result.by_epoch
    for curve, axes, line, alpha, shade in ((REGRET, left, "-", 1.0, 0.14), (ERROR, right, "--", 0.7, 0.05)):
        mean, spread = 100 * frame[f"{curve}_mean"], 100 * frame[f"{curve}_std"]
        axes.plot(frame.index, mean, line, color=colour, linewidth=alpha**2 * width, alpha=alpha)
        if len(result.runs) > 1:
            axes.fill_between(frame.index, mean - spread, mean + spread, color=colour, alpha=shade, linewidth=0)


def _label(lefts: "Sequence[Axes]", rights: "Sequence[Axes]") -> None:
    from matplotlib.ticker import MaxNLocator

    for left in lefts:
        left.set_xlabel("search epoch")
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        left.grid(alpha=0.25)
    for right in rights[:-1]:
        right.tick_params(right=False, labelright=False)
    lefts[0].set_ylim(bottom=0)
    lefts[0].set_ylabel("test regret [%]")
    rights[-1].set_ylabel("one-shot validation error [%]")


def _legend(below: "SubFigure", found: Sequence[Result], styles: dict[str, tuple[str, float]], measured: str) -> None:
    from matplotlib.lines import Line2D

    labels = {result.curve.key: result.curve.label for result in found}
    lines = [Line2D([], [], color=styles[key][0], linewidth=styles[key][1], label=labels[key]) for key in styles]
    lines.append(Line2D([], [], color="black", linewidth=1.5, label=f"test regret ({measured})"))
    lines.append(Line2D([], [], color="black", linewidth=1.0, linestyle="--", label="one-shot validation error"))
    below.legend(handles=lines, loc="center", ncols=min(len(lines), 4), frameon=False, fontsize=8)


def _title(name: str, figure: PaperFigure, found: Sequence[Result], seeds: int) -> str:
    configs = [run.config for result in found for run in result.runs]
    lines = [f"After figure {name.removeprefix('figure')} of NAS-Bench-1Shot1: {figure.title}", scale_text(configs)]
    size, paper = f"{configs[0]['epochs']} epochs, {_seeds_text(seeds)}", SCALES["full"]
    if configs[0]["scale"] == "full":
        return "\n".join([*lines, size])
    full = f"16 channels × 9 cells, 25,000 + 25,000 images, {figure.epochs} epochs, {_seeds_text(len(paper.seeds))}"
    return "\n".join([*lines, f"{size}; the paper's setting is {full}"])


def _caption(found: Sequence[Result], seeds: int, table: Table) -> str:
    lines = [f"mean ± standard deviation over {seeds} seeds"] if seeds > 1 else []
    if short := [f"{r.panel.key}/{r.curve.key} {len(r.runs)}" for r in found if len(r.runs) < seeds]:
        lines.append(f"searches finished so far: {', '.join(short)}")
    if found[0].runs[0].config["scale"] == "quick":
        lines.append("searches this small show that the methods run and how they begin, not how they rank")
    frames = [frame for result in found for frame in result.frames]
    return "\n".join([*lines, table_text(frames, table.id, table.fidelity())])


def _seeds_text(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"{seeds} seeds"
