"""Figures of regret per search epoch: their searches, their results and their picture.

Colours and line styles are safe for colour-blind readers:

- Curves of several methods have the methods' colours (`display.colours`), which are equal in all figures.
- Two variants of one method, such as without and with cutout, both have the method's colour: the first is solid, the
  second dashed.
- More variants of one method are values of one option in ascending order, such as weight decays. They have the colours
  of a sequential colour map in that order, in all panels, because shades of the method's colour are too similar. Their
  lines differ, too, because these curves often coincide.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
from rich.console import Console
from rich.table import Table as Screen

from nasbench1shot1.display.axes import start_at_zero
from nasbench1shot1.display.colours import LINES, METHODS, MOST_BANDS
from nasbench1shot1.display.colours import curve_styles as method_styles
from nasbench1shot1.experiments.reproduction.figure import FigureJob, FigureResults, Options
from nasbench1shot1.experiments.reproduction.figures import FIGURES, SCALES, Curve, Panel, PaperFigure
from nasbench1shot1.experiments.reproduction.searches import (
    SearchedFigure,
    SearchJob,
    jobs_of,
    resolve_options,
    title_line,
)
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.one_shot_search.captions import provenance, scale_text, table_text
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.one_shot_search.regret_curve import (
    CURVES,
    MEAN_LABEL,
    WIDTH,
    anytime_regret,
    draw_mean_regret,
    mean_regret_of,
)
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

REGRET, ERROR = "test_regret", "one_shot_validation_error"
Style = Mapping[str, Any]
Place = tuple[Panel, Curve]
"""A curve and its panel."""


@dataclass(frozen=True, eq=False)
class Result:
    """The finished searches of one curve, scored on one table.

    Attributes:
        frames: metrics of each search; columns as in `Run.metrics`.
    """

    panel: Panel
    curve: Curve
    runs: Sequence[Run]
    frames: Sequence[pandas.DataFrame]

    @cached_property
    def by_epoch(self) -> pandas.DataFrame:
        """Mean and standard deviation over the seeds (NaN for one seed); columns as in `anytime_regret`."""
        frame = anytime_regret(self.frames)
        if len(self.frames) == 1:
            frame[[f"{curve}_std" for curve in CURVES]] = float("nan")
        return frame


@dataclass(frozen=True)
class RegretCurves(FigureResults):
    """The finished searches of a figure, scored on one table; a `figure.FigureResults`."""

    name: str
    figure: PaperFigure
    found: Sequence[Result]
    seeds: int
    table: Table

    def as_table(self) -> pandas.DataFrame:
        """Return one row per panel, curve and epoch, as the function `as_table` does."""
        return as_table(self.found)

    def draw(self) -> "Figure":
        """Return the picture, as the function `draw` does."""
        return draw(self.name, self.figure, self.found, self.seeds, self.table)

    def show(self, console: Console) -> None:
        """Print the results of every curve at the last epoch."""
        show_results(self.found, console)


class RegretFigure(SearchedFigure):
    """A figure of regret per search epoch; a `figure.ReproducedFigure`."""

    def jobs(
        self, scale: str, out: Path, given: Options, seeds: Sequence[int] | None, call: Callable[..., Any]
    ) -> list[SearchJob]:
        """Return the searches, as `jobs_of` does; `call` fills in defaults on the machine of the workers."""
        return jobs_of(self.figure, scale, out, given, seeds, partial(call, resolve_options))

    def results(self, jobs: Sequence[FigureJob], table: Table) -> RegretCurves | None:
        """Return the regret curves of the finished searches."""
        found, seeds = results(self.figure, jobs, table), len({job.options["seed"] for job in jobs})
        return RegretCurves(self.name, self.figure, found, seeds, table) if found else None


def results(figure: PaperFigure, jobs: Sequence[FigureJob], table: Table) -> list[Result]:
    """Return every curve that has a finished search, in the figure's order, scored on `table`.

    Raises OutOfDomainError if the table lacks an architecture.
    """
    found = []
    for panel, curve in figure.pairs():
        own = [job for job in jobs if (job.panel, job.curve) == (panel.key, curve.key) and job.is_finished]
        if runs := [open_search(job.folder) for job in own]:
            found.append(Result(panel, curve, runs, [rescore(run, table) for run in runs]))
    return found


def as_table(found: Sequence[Result]) -> pandas.DataFrame:
    """Return a row for every panel, curve and epoch: `seeds`, then the columns of `anytime_regret` (fractions)."""
    frames = []
    for result in found:
        frame = result.by_epoch.reset_index()
        for name, value in (("seeds", len(result.runs)), ("curve", result.curve.key), ("panel", result.panel.key)):
            frame.insert(0, name, value)
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def show_results(found: Sequence[Result], console: Console) -> None:
    """Print the last epoch of every curve: mean and standard deviation over its seeds."""
    screen = Screen("panel", "curve", "seeds", "final test regret", "one-shot error")
    for result in found:
        last = result.by_epoch.iloc[-1]
        source = {0.0: " (predicted)", 1.0: ""}.get(float(last[f"{REGRET}_measured"]), " (partly predicted)")
        regret, error = (_format_spread(last[f"{c}_mean"], last[f"{c}_std"]) for c in (REGRET, ERROR))
        screen.add_row(result.panel.key, result.curve.key, str(len(result.runs)), regret + source, error)
    console.print(screen)


def _format_spread(mean: float, spread: float) -> str:
    return f"{100 * mean:.2f} %" if math.isnan(spread) else f"{100 * mean:.2f} ± {100 * spread:.2f} %"


# Picture --------------------------------------------------------------------------------------------------------------


def draw(name: str, figure: PaperFigure, found: Sequence[Result], seeds: int, table: Table) -> "Figure":
    """Return the picture: a column per panel, test regret in the upper row, one-shot validation error in the lower row.

    Panels share their axes. The spread over the seeds is shaded where at most `MOST_BANDS` curves share an axis; more
    bands would hide the curves. A dotted line shows the mean regret of the space.

    Args:
        name: "figure2", …
        figure: the figure, or the selected part of it.
        found: the return value of `results`; at least one.
        seeds: the number of searches of a complete curve.
        table: the table behind `found`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [panel for panel in figure.panels if any(result.panel.key == panel.key for result in found)]
    canvas = Figure(figsize=(max(1.6 + 3.6 * len(panels), 8.0), 6.6), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    rows = canvas.add_gridspec(2, 1, height_ratios=(10, 1))  # the layout keeps a legend apart only in its own row
    above, below = canvas.add_subfigure(rows[0]), canvas.add_subfigure(rows[1])
    grid = above.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2))
    styles = curve_styles(FIGURES.get(name, figure).pairs())
    for panel, column in zip(panels, grid.T, strict=True):
        column[0].set_title(panel.title, fontsize=10)
        _draw_panel([result for result in found if result.panel.key == panel.key], column, styles, table)
    _label(grid, provenance(pandas.concat([result.by_epoch[f"{REGRET}_measured"] for result in found])))
    _legend(below, grid, legend_styles([(result.panel, result.curve) for result in found], styles))
    above.suptitle(_title(name, figure, found, seeds), fontsize=10)
    canvas.supxlabel(_caption(found, seeds, table), fontsize=7, color="#444444")
    return canvas


def _draw_panel(
    found: Sequence[Result], column: "Sequence[Axes]", styles: Mapping[tuple[str, str], Style], table: Table
) -> None:
    """Draw the curves of a panel on its two axes, and the mean regret of its space on the upper one."""
    for result in found:
        frame, style = result.by_epoch, styles[result.panel.key, result.curve.key]
        for axes, values in zip(column, (REGRET, ERROR), strict=True):
            mean, spread = 100 * frame[f"{values}_mean"], 100 * frame[f"{values}_std"]
            axes.plot(frame.index, mean, linewidth=WIDTH, **style)
            if len(result.runs) > 1 and len(found) <= MOST_BANDS:
                axes.fill_between(frame.index, mean - spread, mean + spread, color=style["color"], alpha=0.1, lw=0)
    config = found[0].runs[0].config
    if (mean_regret := mean_regret_of(config["space"], config["dataset"], table)) is not None:
        draw_mean_regret(mean_regret, column[0])


def _label(grid: Any, measured: str) -> None:
    from matplotlib.ticker import MaxNLocator

    for axes in grid.flat:
        axes.grid(alpha=0.25)
    for axes in grid[-1]:
        axes.set_xlabel("search epoch (0: before training)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    start_at_zero(grid[0, 0])
    grid[0, 0].set_ylabel(f"test regret [%]\n({measured})")
    grid[1, 0].set_ylabel("one-shot validation\nerror [%]")


def _legend(below: "SubFigure", grid: Any, styles: Mapping[str, Style]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], linewidth=WIDTH, label=label, **style) for label, style in styles.items()]
    lines += [line for line in grid[0, 0].get_lines() if line.get_label() == MEAN_LABEL]
    below.legend(handles=lines, loc="center", ncols=min(len(lines), 6), frameon=False, fontsize=8, handlelength=3.2)


def _title(name: str, figure: PaperFigure, found: Sequence[Result], seeds: int) -> str:
    configs = [run.config for result in found for run in result.runs]
    lines = [title_line(name, _content(FIGURES.get(name, figure), found)), scale_text(configs)]
    size, paper = f"{configs[0]['epochs']} epochs, {_seeds_text(seeds)}", SCALES["full"]
    if configs[0]["scale"] == "full":
        return "\n".join([*lines, size])
    full = f"16 channels × 9 cells, 25,000 + 25,000 images, {figure.epochs} epochs, {_seeds_text(len(paper.seeds))}"
    return "\n".join([*lines, f"{size}; the paper's setting is {full}"])


def _content(whole: PaperFigure, found: Sequence[Result]) -> str:
    """Return the title of the whole figure, or the labels of the curves if some are not drawn."""
    drawn = {result.curve.key: result.curve.label for result in found}
    return whole.title if len(drawn) == len({curve.key for _, curve in whole.pairs()}) else ", ".join(drawn.values())


def _caption(found: Sequence[Result], seeds: int, table: Table) -> str:
    lines = [_spread_text(found, seeds)] if seeds > 1 else []
    if short := [f"{r.panel.key}/{r.curve.key} {len(r.runs)}" for r in found if len(r.runs) < seeds]:
        lines.append(f"searches finished so far: {', '.join(short)}")
    if found[0].runs[0].config["scale"] == "quick":
        lines.append("searches this small show that the methods run and how they begin, but not how they rank")
    frames = [frame for result in found for frame in result.frames]
    return "\n".join([*lines, table_text(frames, table.id, table.fidelity())])


def _spread_text(found: Sequence[Result], seeds: int) -> str:
    """Return in words what lines and bands show, and whether only some panels have bands."""
    counts = Counter(result.panel.key for result in found).values()
    if min(counts) > MOST_BANDS:
        return f"lines: mean over {seeds} seeds; the CSV file has the standard deviations"
    some = "" if max(counts) <= MOST_BANDS else f" (panels with at most {MOST_BANDS} curves)"
    return f"lines: mean over {seeds} seeds; bands: ± standard deviation{some}"


def _seeds_text(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"{seeds} seeds"


# Colours and line styles ----------------------------------------------------------------------------------------------

MOST_OF_ONE_COLOUR = 2
"""Maximum number of variants that only differ in their lines."""
MAP, BRIGHTEST = "viridis", 0.86
"""Sequential colour map, and the part of it that is dark enough for lines on white."""
NEUTRAL = "#222222"
"""Colour in the legend of curves whose colours differ between panels."""


def curve_styles(places: Sequence[Place]) -> dict[tuple[str, str], Style]:
    """Return the arguments of `Axes.plot` for every curve of a figure, by the keys of panel and curve.

    Args: places: all curves of the whole figure, so that a part of it has the same styles.
    """
    curves = {curve.key: curve for _, curve in places}
    order = list(curves)
    if all("optimizer" in curve.options for curve in curves.values()):
        methods = method_styles([str(curve.options["optimizer"]) for curve in curves.values()])
        return {(panel.key, curve.key): methods[order.index(curve.key)] for panel, curve in places}
    return {(panel.key, curve.key): _variant(panel, order.index(curve.key), len(order)) for panel, curve in places}


def _variant(panel: Panel, rank: int, number: int) -> Style:
    """Return the style of a variant of a panel's method, by its rank among a number of variants."""
    if number <= MOST_OF_ONE_COLOUR:
        return {"color": METHODS[panel.options["optimizer"]], "linestyle": LINES[rank]}
    import matplotlib
    from matplotlib.colors import to_hex

    return {"color": to_hex(matplotlib.colormaps[MAP](BRIGHTEST * rank / (number - 1))), "linestyle": LINES[rank]}


def legend_styles(places: Sequence[Place], by_place: Mapping[tuple[str, str], Style]) -> dict[str, Style]:
    """Return the style of every curve in a common legend of all panels, by the label of the curve."""
    found = dict[str, list[Style]]()
    for panel, curve in places:
        found.setdefault(curve.label, []).append(by_place[panel.key, curve.key])
    is_neutral = any(len({style["color"] for style in own}) > 1 for own in found.values())
    return {label: {**own[0], "color": NEUTRAL} if is_neutral else own[0] for label, own in found.items()}
