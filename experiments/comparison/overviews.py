"""Pictures of final regrets: distributions on each task, and critical differences and profiles over all tasks."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.axes import ZERO_NOTE, label_log_axis
from nasbench1shot1.display.canvas import Canvas, broken, text_width
from nasbench1shot1.display.colours import MOST_BANDS, literal
from nasbench1shot1.display.curves import Banded, draw_curve, marked_places
from nasbench1shot1.display.style import AnyStyle, checked_style, tone
from nasbench1shot1.experiments.comparison.drawing import MOST_PANELS, method_looks
from nasbench1shot1.experiments.comparison.overall import AverageRanks
from nasbench1shot1.experiments.comparison.rank_tests import SIGNIFICANT
from nasbench1shot1.experiments.comparison.sentences import (
    FEW,
    progress_text,
    reference_text,
    tables_text,
    texts_per_task,
)
from nasbench1shot1.experiments.comparison.statistics import Comparison
from nasbench1shot1.experiments.comparison.tasks import TaskComparison
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import number_range

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray

    from nasbench1shot1.display.axes import Axes, Figure

BAR, GAP, SPARE = 3.0, 0.55, 0.15
"""Width of the bars of a critical-difference diagram in points, distance of its lines in units of the axes, and space
at both sides in inches."""
RANK_AXIS = 0.2
"""Minimum width of the axis of ranks in a critical-difference diagram, relative to the diagram."""


def _unfinished(tasks: Mapping[str, Comparison]) -> list[str]:
    """Return sentences about unfinished runs; none if all runs are finished."""
    return texts_per_task(tasks, lambda comparison: [progress_text(comparison)])


def _with_methods(found: TaskComparison, labels: Iterable[Any]) -> dict[str, Comparison]:
    """Return the comparisons with only some methods, which a figure shows for all tasks."""
    shown = frozenset(labels)
    return found.drawn_tasks(dict.fromkeys(found.tasks, shown))


# Average ranks --------------------------------------------------------------------------------------------------------


def critical_difference_figure(found: TaskComparison, style: AnyStyle | None = None) -> "Figure":
    """Return the critical-difference diagram of the average ranks of final regrets (Demšar, 2006).

    The methods are placed by their average ranks, the best at the left. A bar connects methods of which no pair
    differs.

    Raises InvalidInputError if there are no average ranks (`TaskComparison.average_ranks`).
    """
    ranks, looks = found.average_ranks(), method_looks(found.tasks)
    with Canvas(style=style) as canvas:
        size, inches = checked_style(style).points("legend.fontsize"), canvas.figure.get_figwidth() - SPARE
        names = _names_at_sides(ranks, size, inches)
        lines = 1 + len(ranks.groups) + max(_lines_of(side).sum() for side in names)
        _draw_ranks(canvas.axes[0], ranks, names, looks, size, inches)
        statistic, p = ranks.friedman
        tasks, drawn = ", ".join(found.tasks), _with_methods(found, ranks.averages.index)
        each = next(iter(found.tasks.values()))
        verdict = "" if ranks.is_significant else ", so that no pair is called different"
        bars = "Bars connect methods that do not differ" if ranks.groups else "All pairs of methods differ"
        caption = "\n".join(
            [
                f"Ranks by mean final {each.goal.regret}, 1 is best; tasks: {tasks}.",
                f"Friedman test: χ² = {statistic:.2f}, p = {p:.2g}{verdict}.",
                f"{bars} (Nemenyi test at {100 * SIGNIFICANT:.0f} %; CD: critical difference of average ranks).",
                f"Tables: {tables_text(drawn, with_curves=False)}.",
                found.ranks_note,
                *_unfinished(drawn),
            ]
        )
        return canvas.finish(f"Average ranks over {len(found.tasks)} tasks", caption, height=0.7 + 0.19 * lines)


def _names_at_sides(ranks: AverageRanks, size: float, inches: float) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names at the left and at the right of a diagram, from top to bottom, by label.

    Names for which the axis of ranks leaves too little space are wrapped.
    """
    labels = list(ranks.averages.index)
    sides = labels[: -(-len(labels) // 2)], labels[: -(-len(labels) // 2) - 1 : -1]
    space = (1 - RANK_AXIS) * inches - 2 * _beside_names(ranks, size)
    wide = [max((text_width(label, size) for label in side), default=0.0) for side in sides]
    left, right = (
        {label: broken(label, max(space / 2, space - other), size) for label in side}
        for side, other in zip(sides, reversed(wide), strict=True)
    )
    return left, right


def _beside_names(ranks: AverageRanks, size: float) -> float:
    """Return the width in inches of what is beside a name: the average rank, and the spaces around both."""
    return max(text_width(f"{average:.2f}", size) for average in ranks.averages) + 3 * text_width("0", size)


def _lines_of(names: Mapping[str, str]) -> "NDArray[np.int_]":
    """Return the number of lines of each name."""
    return np.array([name.count("\n") + 1 for name in names.values()])


def _draw_ranks(
    axes: "Axes",
    ranks: AverageRanks,
    names: tuple[Mapping[str, str], Mapping[str, str]],
    looks: dict[str, dict[str, Any]],
    size: float,
    inches: float,
) -> None:
    """Draw an axis of ranks, a line and a name for each method, and the bars, on axes that end at the names.

    Args:
        axes: the axes to draw on.
        ranks: the ranks.
        names: the names at the left and at the right from top to bottom, by label.
        looks: arguments of `Axes.plot` of each method.
        size: font size in points.
        inches: width of the axes.
    """
    averages, worst = ranks.averages, ranks.ranks.shape[1]
    top, below, stub = 1.0, GAP * (len(ranks.groups) + 1), 0.05 * (worst - 1)
    space, beside = text_width("0", size), _beside_names(ranks, size)
    before, after = (
        beside + max(text_width(line, size) for name in side.values() for line in name.split("\n")) for side in names
    )
    inch = (worst - 1 + 2 * stub) / max(inches - before - after, RANK_AXIS * inches)
    axes.plot([1, worst], [top, top], color=tone("black"), linewidth=1)
    step = ceil(inch * (text_width(str(worst), size) + space / 2))  # of ranks whose numbers do not overlap
    for rank in range(1, worst + 1):
        axes.plot([rank, rank], [top, top + 0.15], color=tone("black"), linewidth=1)
        if (rank - 1) % step == 0:
            axes.text(rank, top + 0.25, str(rank), ha="center", va="bottom", fontsize=size)
    for side, end, outwards in zip(names, (1 - stub, worst + stub), (-1, 1), strict=True):
        align: Any = {"ha": "right" if outwards < 0 else "left", "va": "center", "fontsize": size}
        lines = _lines_of(side)
        for label, line in zip(side, np.cumsum(lines) - (lines + 1) / 2, strict=True):
            average, height, color = averages[label], top - below - GAP * line, tone(looks[label]["color"])
            ends = [average, average, end]
            axes.plot(ends, [top, height, height], color=color, linewidth=1.2, solid_joinstyle="miter")
            axes.text(end + outwards * space * inch, height, f"{average:.2f}", **align)
            axes.text(end + outwards * (beside - space) * inch, height, literal(side[label]), **align)
    for number, group in enumerate(ranks.groups):
        ends = [averages[group[0]] - 0.03, averages[group[-1]] + 0.03]
        height = top - GAP * (number + 0.7)
        axes.plot(ends, [height, height], color=tone("black"), linewidth=BAR, solid_capstyle="butt")
    length, height = ranks.critical_difference, top + 1.1
    axes.errorbar(1 + length / 2, height, xerr=length / 2, color=tone("black"), capsize=3, linewidth=1)
    axes.text(1 + length / 2, height + 0.15, f"CD = {length:.2f}", ha="center", va="bottom", fontsize=size)
    axes.set_xlim(1 - stub - before * inch, max(worst + stub + after * inch, 1 + length))
    axes.set_ylim(top - below - GAP * max(_lines_of(side).sum() for side in names), height + 0.7)
    axes.set_axis_off()


# Distributions --------------------------------------------------------------------------------------------------------


def distribution_figure(found: TaskComparison, style: AnyStyle | None = None) -> "Figure":
    """Return the distributions of final regrets, with a panel for each task.

    Raises InvalidInputError if no method has several runs on a task.
    """
    frame, looks = found.distributions, method_looks(found.tasks)
    if not len(frame):
        raise InvalidInputError("every method has one run, which has no distribution: add seeds or repeats")
    drawn = found.drawn_tasks({str(name): set(rows["label"]) for name, rows in frame.groupby("task")})
    names = list(drawn)
    counts = frame.groupby(["label", "task"]).size()
    running = {of.label for own in found.tasks.values() for of in own.contenders if of.entry.progress is not None}
    texts = {
        label: f"{label} (n = {number_range(list(counts[label]))}{', unfinished' if label in running else ''})"
        for label in dict.fromkeys(frame["label"])
    }
    lines = -(-len(names) // MOST_PANELS)
    columns = -(-len(names) // lines)
    with Canvas(lines, columns, panel=(max(3.3, 6.4 / columns), 2.9), style=style, sharey=True) as canvas:
        for ax, name in zip(canvas.axes, names, strict=False):
            _draw_distributions(ax, frame[frame["task"] == name], drawn[name].goal, looks, texts)
            ax.set_title(f"{name}\n({drawn[name].source})" if len(names) > 1 else "")
        for unused in canvas.axes[len(names) :]:
            unused.set_axis_off()
        for row in canvas.grid:
            row[0].set_ylabel("share of runs")
        each = next(iter(found.tasks.values()))
        space = "the panel's space" if len(names) > 1 else None
        caption = "\n".join(
            filter(
                None,
                [
                    f"Share of the runs of each method whose final {each.goal.regret} is at most the value on the "
                    "horizontal axis (empirical distribution).",
                    f"Tables: {tables_text(drawn, with_curves=False)}.",
                    f"Regret: {reference_text(each, space)}.",
                    ZERO_NOTE.replace("lower", "left") if (frame["regret"] == 0).any() else "",
                    *texts_per_task(found.tasks, lambda own: [_single_runs_text(own)]),
                    *_unfinished(drawn),
                ],
            )
        )
        where = names[0] if len(names) == 1 else f"{len(names)} tasks"
        return canvas.finish(f"Distribution of final {each.goal.regret} on {where}", caption, legend=True)


def _single_runs_text(comparison: Comparison) -> str:
    """Return a sentence about the methods that distributions leave out; empty if there are none."""
    single = [of.label for of in comparison.contenders if of.n < 2]
    return f"Not drawn, with fewer than two results: {', '.join(single)}." if single else ""


def _draw_distributions(
    axes: "Axes",
    frame: "pandas.DataFrame",
    goal: Goal,
    looks: Mapping[str, Mapping[str, Any]],
    texts: Mapping[str, str],
) -> None:
    """Draw the rows of `TaskComparison.distributions` of a task on logarithmic axes; regrets of zero at their edge.

    `looks` and `texts` are the lines and the texts of the legend, by label.
    """
    positive = frame["regret"][frame["regret"] > 0]
    floor = 0.5 * float(positive.min()) if len(positive) else 0.005
    top = 1.1 * max(float(frame["regret"].max()), floor)
    for label, rows in frame.groupby("label", sort=False):
        at = np.array([floor, *np.maximum(rows["regret"], floor), top])
        shares = np.array([0.0, *rows["share"], 1.0])
        curve = Banded(goal.scale * at, shares, shares, shares)
        text, look = texts[str(label)], dict(looks[str(label)])
        marked = [1 + place for place in marked_places(len(rows), look["markevery"])]  # the first point is not a run
        look |= {"markevery": marked, "clip_on": False}  # the edge would hide half of the marker of a regret of zero
        draw_curve(axes, curve, label=text, style=look, scale=1, steps=True, has_band=False)
    axes.set_xlim(goal.scale * floor, goal.scale * top)
    axes.set_xscale("log")
    label_log_axis(axes.xaxis)
    axes.set_xlabel(goal.with_unit(f"final {goal.regret}"))
    axes.grid(alpha=0.25)


def profile_figure(found: TaskComparison, style: AnyStyle | None = None) -> "Figure":
    """Return the performance profile over all tasks (`TaskComparison.profile`).

    Raises InvalidInputError if there is no profile.
    """
    frame, looks = found.profile, method_looks(found.tasks)
    if not len(frame):
        raise InvalidInputError(
            "a performance profile needs several tasks, at least two methods with runs on all of them, and tables with "
            "the mean regret of each space: add runs"
        )
    labels = list(dict.fromkeys(frame["label"]))
    has_band = len(labels) <= MOST_BANDS and bool(frame["low"].notna().any())
    few = [label for label in labels if frame["low"][frame["label"] == label].isna().all()]
    each = next(iter(found.tasks.values()))
    with Canvas(panel=(6.4, 3.6), style=style) as canvas:
        ax = canvas.axes[0]
        for label, rows in frame.groupby("label", sort=False):
            at, share, low, high = (rows[name].to_numpy(np.float64) for name in ("at", "share", "low", "high"))
            curve = Banded(at, share, low, high)
            own = has_band and label not in few
            draw_curve(ax, curve, label=str(label), style=looks[str(label)], scale=1, steps=True, has_band=own)
        ax.set_xscale("log")
        label_log_axis(ax.xaxis)
        ax.set_xlim(float(frame["at"].min()), float(frame["at"].max()))
        ax.set_ylim(0, 1.03)
        ax.set_xlabel(f"final {each.goal.regret}, relative to the mean of the space")
        ax.set_ylabel("share of runs")
        ax.grid(alpha=0.25)
        counts = [f"{label}: {sum(map(len, found.relative[label])):,}" for label in labels]
        partial = [label for label in looks if label not in labels]
        drawn = _with_methods(found, labels)
        caption = "\n".join(
            [
                f"Share of runs whose final {each.goal.regret} is at most a multiple of the mean regret of the space's "
                "networks.",
                f"All tasks have the same weight: {', '.join(found.tasks)}. Runs: {', '.join(counts)}.",
                *([f"Without bands, because they have {FEW} on some task: {', '.join(few)}."] if few else []),
                *([f"Left out, because they lack runs on some tasks: {', '.join(partial)}."] if partial else []),
                f"Tables: {tables_text(drawn, with_curves=False)}.",
                *_unfinished(drawn),
            ]
        )
        band = "share and 95 % confidence interval (bootstrap of the runs of each task)" if has_band else ""
        return canvas.finish(f"Performance profile over {len(found.tasks)} tasks", caption, legend=True, band=band)
