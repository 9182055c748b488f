"""The figure of a comparison: mean test regret of each run over epochs or time, with its spread."""

import textwrap
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas

from nasbench1shot1.display.axes import AxesList, start_at_zero, use_whole_numbers
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, curve_rows, curve_styles
from nasbench1shot1.display.curves import describe_band
from nasbench1shot1.experiments.comparison.entries import EPOCHS, SEARCH_TIME, SIMULATED_TIME
from nasbench1shot1.experiments.comparison.statistics import Comparison, Contender
from nasbench1shot1.ground.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

X_LABELS = {
    EPOCHS: "search epoch (0: before training)",
    SEARCH_TIME: "search time [s]",
    SIMULATED_TIME: "simulated time [s]: search and training of the architecture found",
}
WIDTH = 120
"""Maximum number of characters in a line of the caption."""


def comparison_figure(comparison: Comparison) -> "Figure":
    """Return a figure with the curves in rows of at most five, a legend below each row and a caption."""
    rows = rows_of(comparison)
    height = sum(4.8 + 0.18 * -(-len(row) // 2) for row in rows) / len(rows)
    with Canvas(len(rows), panel=(7.2, height), sharex=True, sharey=True) as canvas:
        figure, drawn = canvas.figure, draw_rows(comparison, canvas.axes)
    for axes in drawn:
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, fontsize=8, handlelength=3.2
        )
        axes.xaxis.set_tick_params(labelbottom=True)
    drawn[0].set_title(_title(comparison), fontsize=10)
    figure.supxlabel(caption(comparison), fontsize=6.5, color="#444444")
    return figure


def rows_of(comparison: Comparison) -> list[list[str]]:
    """Return the labels of the runs on each axes: at most five (`curve_rows`)."""
    return curve_rows([[contender.label for contender in comparison.contenders]])


def draw_rows(comparison: Comparison, rows: "Sequence[Axes]") -> AxesList:
    """Draw the runs of each row of `rows_of` on separate axes, with equal limits; return the axes."""
    drawn = AxesList(draw_comparison(comparison, ax, row) for ax, row in zip(rows, rows_of(comparison), strict=True))
    for get, put in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim")) if len(drawn) > 1 else ():
        lows, highs = zip(*(getattr(ax, get)() for ax in drawn), strict=True)
        for ax in drawn:
            getattr(ax, put)(min(lows), max(highs))
    return drawn


def draw_comparison(comparison: Comparison, axes: "Axes", labels: Collection[str] | None = None) -> "Axes":
    """Draw the curves, with a legend whose title states what the bands show, if any are drawn.

    Regrets of accuracies are in percent, others in the unit of their metric. Over simulated time, both axes are
    logarithmic, and regrets of zero are drawn at the lower edge.

    Args:
        comparison: the runs.
        axes: the axes to draw on.
        labels: the labels of the runs to draw. Default: all.

    Returns:
        The axes.
    """
    curves, is_log = comparison.curves, comparison.over == SIMULATED_TIME
    scale = comparison.goal.scale
    floor = comparison.goal.floor(np.concatenate([frame["mean"] for frame in curves.values()])) if is_log else 0.0
    has_bands, ends = _has_bands(comparison), early_ends(comparison)
    looks = curve_styles([contender.entry.optimizer for contender in comparison.contenders])
    pairs = zip(comparison.contenders, looks, strict=True)
    drawn = [(contender, style) for contender, style in pairs if labels is None or contender.label in labels]
    for contender, style in drawn:
        label = _legend_text(contender.label, len(contender.repetitions), contender.entry.progress is not None)
        _draw(curves[contender.label], axes, {**style, "label": label}, has_bands, comparison.over, floor, scale)
        if contender.label in ends:
            _draw_end(curves[contender.label].iloc[-1], axes, ends[contender.label], style["color"], floor, scale)
    _label(axes, comparison, floor)
    title = _band_kinds(comparison, [contender for contender, _ in drawn]) if has_bands else ""
    axes.legend(frameon=False, fontsize=8, handlelength=3.2, title=title or None, title_fontsize=8)
    return axes


def _draw(
    frame: pandas.DataFrame, axes: "Axes", style: dict[str, Any], has_band: bool, over: str, floor: float, scale: int
) -> None:
    mean, low, high = (scale * np.maximum(frame[name], floor) for name in ("mean", "low", "high"))
    steps = "default" if over == EPOCHS else "steps-post"
    if len(frame) == 1:  # a line with a single point would be invisible
        style = {**style, "marker": "o"}
    axes.plot(frame["at"], mean, linewidth=1.6, drawstyle=steps, **style)
    if has_band and frame["repetitions"].iloc[0] > 1:
        step: Literal["post"] | None = None if over == EPOCHS else "post"
        axes.fill_between(frame["at"], low, high, step=step, color=style["color"], alpha=0.13, linewidth=0)


def early_ends(comparison: Comparison) -> dict[str, float]:
    """Return, by label, the end of the longest curve for every finished run whose curve ends earlier.

    Over epochs, no ends are marked.
    """
    if comparison.over == EPOCHS:
        return {}
    ends = {label: float(frame["at"].iloc[-1]) for label, frame in comparison.curves.items()}
    finished = [contender.label for contender in comparison.contenders if contender.entry.progress is None]
    return {label: max(ends.values()) for label in finished if ends[label] < max(ends.values())}


def _draw_end(end: "pandas.Series[Any]", axes: "Axes", last: float, color: str, floor: float, scale: int) -> None:
    """Mark the end of a curve with a dot, and extend its result as a dotted line to the end of the longest curve."""
    result = scale * max(float(end["mean"]), floor)
    look: dict[str, Any] = {"linestyle": ":", "linewidth": 1.0, "marker": "o", "markersize": 3.5, "markevery": [0]}
    axes.plot([end["at"], last], [result, result], color=color, **look)


def _label(axes: "Axes", comparison: Comparison, floor: float) -> None:
    from matplotlib.ticker import MaxNLocator

    from nasbench1shot1.display.axes import label_log_axis

    source = f" ({comparison.source})"
    axes.set_xlabel(X_LABELS[comparison.over])
    axes.set_ylabel(comparison.goal.with_unit(f"mean {comparison.goal.regret}") + source)
    axes.grid(alpha=0.25)
    if comparison.over == SIMULATED_TIME:
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_log_axis(axes.xaxis)
        label_log_axis(axes.yaxis)
        axes.set_ylim(
            bottom=comparison.goal.scale * floor, auto=None
        )  # the top still follows the curves of axes that share it
    else:
        start_at_zero(axes)
        axes.xaxis.set_major_locator(MaxNLocator())
        if comparison.over == EPOCHS:
            use_whole_numbers(axes.xaxis)


def _legend_text(label: str, runs: int, is_unfinished: bool) -> str:
    return f"{label} (n = {runs:,}{', unfinished' if is_unfinished else ''})"


def _title(comparison: Comparison) -> str:
    of = {"epochs": "search epochs", "search-time": "search time", "simulated-time": "simulated time"}[comparison.over]
    return f"{comparison.goal.title} on {comparison.space}, {comparison.facts.dataset}, over {of}"


def caption(comparison: Comparison) -> str:
    """Return the text below a figure: table, meaning of bands and clocks, and unfinished runs."""
    from nasbench1shot1.display.axes import ZERO_NOTE

    is_simulated, goal = comparison.over == SIMULATED_TIME, comparison.goal
    sentences = [
        f"{goal.title} of the preferred architecture, {comparison.source}; table {comparison.facts.table}.",
        goal.sentence(),
        _bands(comparison),
        "Simulated time: for a search, its search time plus one training of the result; for a study, all its trainings."
        if is_simulated
        else "",
        "Dots: ends of finished runs; dotted lines: their results afterwards." if early_ends(comparison) else "",
        ZERO_NOTE if is_simulated and _has_zero(comparison) else "",
        "All architectures were scored again on this table; black-box studies keep their recorded times."
        if comparison.is_rescored and is_simulated
        else "",
        missing_text(comparison),
        unfinished_text(comparison),
    ]
    return "\n".join(line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH))


def unfinished_text(comparison: Comparison) -> str:
    """Return a sentence about the unfinished runs and their progress; empty if all runs are finished."""
    progress = [(contender.label, contender.entry.progress) for contender in comparison.contenders]
    found = [f"{label} ({how_far})" for label, how_far in progress if how_far is not None]
    return f"Unfinished runs, shown as far as recorded: {'; '.join(found)}." if found else ""


def missing_text(comparison: Comparison) -> str:
    """Return in a sentence how many results a partial table lacks; empty if it has all regrets."""
    found = [(contender.label, contender.missing, len(contender.repetitions)) for contender in comparison.contenders]
    lacking = [f"{missing:,} of {n:,} results of {label}" for label, missing, n in found if missing]
    has_gaps = any(np.isnan(frame["mean"]).any() for frame in comparison.curves.values())
    gaps = "Gaps: architectures that are not in the table." if has_gaps else ""
    return " ".join([*([gaps] if gaps else []), *([f"Not in the table: {', '.join(lacking)}."] if lacking else [])])


def _bands(comparison: Comparison) -> str:
    counts = [len(contender.repetitions) for contender in comparison.contenders if len(contender.repetitions) > 1]
    if not counts:
        return "One run per curve."
    if not _has_bands(comparison):
        return f"Lines: means over n runs; bands are omitted if there are more than {counted(MOST_BANDS, 'curve')}."
    return f"Lines and bands: {_band_kinds(comparison, comparison.contenders)} over n runs."


def _band_kinds(comparison: Comparison, contenders: Sequence[Contender]) -> str:
    """Return what the curves and bands of some runs show; empty if none has a band."""
    has_band = any(len(contender.repetitions) > 1 for contender in contenders)
    return describe_band(comparison.spread) if has_band else ""


def _has_bands(comparison: Comparison) -> bool:
    return sum(len(contender.repetitions) > 1 for contender in comparison.contenders) <= MOST_BANDS


def _has_zero(comparison: Comparison) -> bool:
    return any((frame["mean"] == 0).any() for frame in comparison.curves.values())
