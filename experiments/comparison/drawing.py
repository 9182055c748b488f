"""The figure of a comparison: mean test regret of each run over epochs or time, with its spread.

Runs on several tasks are drawn in a panel for each task, because their regrets are not comparable.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.black_box_search.goal import objective_sentence
from nasbench1shot1.display.axes import (
    EPOCH_LABEL,
    ZERO_NOTE,
    AxesList,
    label_epochs,
    start_at_zero,
    use_log_axes,
)
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import Colors, curve_rows, curve_styles
from nasbench1shot1.display.curves import draw_curve, draw_level, log_floor
from nasbench1shot1.display.marked_networks import draw_marked
from nasbench1shot1.display.style import AnyStyle, tone
from nasbench1shot1.experiments.comparison.entries import CLOCKS, EPOCHS, EVALUATIONS, SEARCH_TIME, SIMULATED_TIME, Over
from nasbench1shot1.experiments.comparison.sentences import (
    NO_BANDS,
    band_kinds,
    clock_text,
    different_settings_text,
    has_bands,
    is_partial,
    missing_text,
    no_common_time_text,
    notes,
    progress_text,
    reference_text,
    tables_text,
    tests_text,
    texts_per_task,
    untested_text,
)
from nasbench1shot1.experiments.comparison.statistics import Comparison, Contender
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.regret_curve import draw_mean, mean_name

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure

FARTHEST_MEAN = 1.5
"""The mean of the space is drawn up to this multiple of the largest drawn value, so that it does not flatten curves."""
X_LABELS = {
    EPOCHS: EPOCH_LABEL,
    SEARCH_TIME: "search time [s]",
    SIMULATED_TIME: "simulated time [s]",
    EVALUATIONS: "evaluations",
}


def comparison_figure(comparison: Comparison, colors: Colors | None = None, style: AnyStyle | None = None) -> "Figure":
    """Return a figure with the curves in rows of at most five, a legend below them and a caption.

    A grey dash-dot-dot line shows the mean regret of the space, unless it is far above the curves. The caption states
    it.

    Args:
        comparison: the runs.
        colors: colours by label or optimizer, or one per run. Default: the methods' colours.
        style: "screen" (default), or as in `style.AnyStyle`.
    """
    with Canvas(len(rows_of(comparison)), panel=(7.2, 4.0), style=style, sharex=True, sharey=True) as canvas:
        for axes in draw_rows(comparison, canvas.axes, colors):
            _draw_mean(comparison, axes, mean_label(comparison))
            if (legend := axes.get_legend()) is not None:  # the figure has one legend of all curves
                legend.remove()
            axes.xaxis.set_tick_params(labelbottom=True)
        title = band_kinds(comparison.curves.values()) if has_bands(comparison) else ""
        return canvas.finish(_title(comparison), caption(comparison), legend=True, legend_title=title)


def rows_of(comparison: Comparison) -> list[list[str]]:
    """Return the labels of the runs on each axes: at most five (`curve_rows`)."""
    return curve_rows([[contender.label for contender in comparison.contenders]])


def draw_rows(comparison: Comparison, rows: "Sequence[Axes]", colors: Colors | None = None) -> AxesList:
    """Draw the runs of each row of `rows_of` on separate axes, with equal limits; return the axes."""
    drawn = AxesList(
        draw_comparison(comparison, ax, row, colors) for ax, row in zip(rows, rows_of(comparison), strict=True)
    )
    _share_limits(drawn)
    return drawn


def _share_limits(panels: "Sequence[Axes]") -> None:
    """Give the panels of one task equal limits."""
    for get, put in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim")) if len(panels) > 1 else ():
        lows, highs = zip(*(getattr(ax, get)() for ax in panels), strict=True)
        for ax in panels:
            getattr(ax, put)(min(lows), max(highs))


def draw_comparison(
    comparison: Comparison, axes: "Axes", labels: Collection[str] | None = None, colors: Colors | None = None
) -> "Axes":
    """Draw the curves as `draw_curves` does, with a legend whose title states what the bands show; return the axes."""
    contenders = comparison.contenders
    looks = curve_styles([of.entry.optimizer for of in contenders], colors, [of.label for of in contenders])
    drawn = [of.label for of in contenders if labels is None or of.label in labels]
    texts = {contender.label: legend_text(comparison, contender) for contender in contenders}
    draw_curves(comparison, axes, drawn, dict(zip(texts, looks, strict=True)), texts)
    has_band = has_bands(comparison)
    title = band_kinds([comparison.curves[label] for label in drawn]) if has_band else ""
    axes.legend(frameon=False, title=title or None)
    return axes


def draw_curves(
    comparison: Comparison,
    axes: "Axes",
    labels: Collection[str],
    looks: Mapping[str, Mapping[str, Any]],
    texts: Mapping[str, str],
) -> "Axes":
    """Draw curves of a comparison, without a legend.

    Regrets of accuracies are in percent, others in the unit of their metric. Over simulated time and evaluations, both
    axes are logarithmic, and regrets of zero are drawn at the lower edge.

    Args:
        comparison: the runs.
        axes: the axes to draw on.
        labels: the labels of the runs to draw.
        looks: arguments of `Axes.plot`, by label.
        texts: texts for a legend, by label.

    Returns:
        The axes.
    """
    curves, goal = comparison.curves, comparison.goal
    floor = log_floor(curves.values()) if comparison.over in CLOCKS else None
    has_band, ends = has_bands(comparison), early_ends(comparison)
    for contender in (of for of in comparison.contenders if of.label in labels):
        curve, look, steps = curves[contender.label], looks[contender.label], comparison.over != EPOCHS
        shown: dict[str, Any] = {"label": texts[contender.label], "style": look, "scale": goal.scale}
        draw_curve(axes, curve, steps=steps, floor=floor, has_band=has_band, **shown)
        result = float(contender.final.mean())  # of an early-stopped search, not the curve's last value
        if (last := ends.get(contender.label)) and not np.isnan(result):
            _draw_end(axes, float(curve.at[-1]), last, goal.scale * max(result, floor or 0.0), look["color"])
    if (baseline := comparison.baseline) is not None and baseline.test_regret is not None:
        level = None if floor is None else goal.scale * floor
        draw_level(axes, goal.scale * baseline.test_regret, baseline_label(comparison), level)
    draw_marked(axes, comparison.marked.levels(goal.scale, goal.text, floor))
    _label(axes, comparison, floor)
    return axes


def _draw_mean(comparison: Comparison, axes: "Axes", label: str) -> None:
    """Draw the mean regret of the space, unless it is far above the curves, and let linear axes reach up to it."""
    if comparison.mean is not None and has_mean_line(comparison):
        start_at_zero(draw_mean(axes, comparison.goal.scale * comparison.mean, label))


# Several tasks --------------------------------------------------------------------------------------------------------

MOST_PANELS = 3
"""Maximum number of panels in a row."""
Tasks = Mapping[str, Comparison]
"""Comparisons on several tasks, by the names of the tasks."""


def tasks_figure(tasks: Tasks, colors: Colors | None = None, style: AnyStyle | None = None) -> "Figure":
    """Return a figure with a panel for each task, a common legend and a caption; arguments as in `comparison_figure`.

    If more than five methods are compared on a task, its panel is split into several, one below the other.
    """
    split, columns, each = len(task_rows(tasks)), _columns(tasks), next(iter(tasks.values()))
    lines = -(-len(tasks) // columns)
    with Canvas(lines * split, columns, panel=(max(3.3, 7.2 / columns), 2.9), style=style) as canvas:
        places = task_axes(canvas.axes, tasks)
        for number, ax in enumerate(draw_tasks(tasks, places, colors)):
            if (legend := ax.get_legend()) is not None:
                legend.remove()
            if number // split % columns:
                ax.set_ylabel("")
        for unused in canvas.axes:
            if unused not in places:
                unused.set_axis_off()
        title = f"{each.goal.title} on {counted(len(tasks), 'task')}, {over_text(each.over)}"
        banded = [curve for own in tasks.values() if has_bands(own) for curve in own.curves.values()]
        return canvas.finish(title, tasks_caption(tasks), legend=True, band=band_kinds(banded))


def _columns(tasks: Tasks) -> int:
    """Return the number of columns of panels: nearly equal numbers of tasks in each line of panels."""
    return -(-len(tasks) // -(-len(tasks) // MOST_PANELS))


def task_axes(panels: "Sequence[Axes]", tasks: Tasks) -> "list[Axes]":
    """Return the panels of `tasks_figure`, given row by row, in the order of `draw_tasks`."""
    split, columns = len(task_rows(tasks)), _columns(tasks)
    return [
        panels[(number // columns * split + row) * columns + number % columns]
        for number in range(len(tasks))
        for row in range(split)
    ]


def task_rows(tasks: Tasks) -> list[list[str]]:
    """Return the labels of the methods in each panel of a task: at most five (`curve_rows`)."""
    return curve_rows([[contender.label for contender in own.contenders] for own in tasks.values()])


def draw_tasks(tasks: Tasks, panels: "Sequence[Axes]", colors: Colors | None = None) -> AxesList:
    """Draw each task on its axes, for each task one of `task_rows` after the other; return the axes.

    A method has the same colour and line on all axes.
    """
    looks, texts, rows = method_looks(tasks, colors), _task_texts(tasks), task_rows(tasks)
    drawn = AxesList()
    for (name, comparison), row in product(tasks.items(), rows):
        ax = panels[len(drawn)]
        draw_curves(comparison, ax, row, looks, texts)
        _draw_mean(comparison, ax, mean_name(comparison.baseline, is_partial(comparison)))
        ax.set_title(f"{name}\n({comparison.curve_source})")
        ax.set_ylabel(regret_label(comparison))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(frameon=False)
        drawn.append(ax)
    for first in range(0, len(drawn), len(rows)):
        _share_limits(drawn[first : first + len(rows)])
    return drawn


def method_looks(tasks: Tasks, colors: Colors | None = None) -> dict[str, dict[str, Any]]:
    """Return the arguments of `Axes.plot` of each method, by label; the same for all tasks."""
    optimizers = {of.label: of.entry.optimizer for own in reversed([*tasks.values()]) for of in own.contenders}
    labels = list(dict.fromkeys(of.label for own in tasks.values() for of in own.contenders))
    return dict(zip(labels, curve_styles([optimizers[label] for label in labels], colors, labels), strict=True))


def _task_texts(tasks: Tasks) -> dict[str, str]:
    """Return the text of each method in the legend of all tasks, with its number of runs."""
    found: dict[str, list[tuple[str, int]]] = {}
    for comparison in tasks.values():
        for of in comparison.contenders:
            found.setdefault(of.label, []).append((legend_text(comparison, of), len(of.repetitions)))
    texts = {}
    for label, own in found.items():
        each, counts = {text for text, _ in own}, [n for _, n in own]
        texts[label] = own[0][0] if len(each) == 1 else f"{label} (n = {min(counts):,} to {max(counts):,})"
        if len(each) > 1 and len(set(counts)) == 1:
            texts[label] = f"{label} (n = {counts[0]:,})"
    return texts


def tasks_caption(tasks: Tasks) -> str:
    """Return the text below a figure of several tasks; as `caption`, for all of them."""
    each = next(iter(tasks.values()))
    references = dict.fromkeys(reference_text(own, "the panel's space") for own in tasks.values())
    sentences = [
        f"{each.goal.title} of the preferred architecture; tables: {tables_text(tasks)}.",
        f"Regret: {'; '.join(references)}. Regrets of different panels are not comparable.",
        mean_text(tasks),
        *texts_per_task(tasks, _details),
        *texts_per_task(tasks, lambda own: [tests_text(own), untested_text(own)]),
    ]
    return "\n".join(filter(None, sentences))


# Parts of figures and captions ----------------------------------------------------------------------------------------


def early_ends(comparison: Comparison) -> dict[str, float]:
    """Return, by label, the end of the longest curve for every finished run whose curve ends earlier.

    Over epochs, no ends are marked.
    """
    if comparison.over == EPOCHS:
        return {}
    ends = {label: float(curve.at[-1]) for label, curve in comparison.curves.items()}
    finished = [contender.label for contender in comparison.contenders if contender.entry.progress is None]
    return {label: max(ends.values()) for label in finished if ends[label] < max(ends.values())}


def baseline_label(comparison: Comparison) -> str:
    """Return the label of the baseline of runs with bounds, with its regret; empty without bounds."""
    goal, baseline = comparison.goal, comparison.baseline
    if baseline is None or baseline.test_regret is None:
        return ""
    return baseline.label(goal.text(baseline.test_regret), goal.source(baseline.test_measured))


def mean_label(comparison: Comparison) -> str:
    """Return the label of the mean regret of the space, with its value; empty if it is unknown."""
    if comparison.mean is None:
        return ""
    return f"{mean_name(comparison.baseline, is_partial(comparison))} ({comparison.goal.text(comparison.mean)})"


def has_mean_line(comparison: Comparison) -> bool:
    """Return whether the mean regret of the space is known, and low enough to be drawn (`FARTHEST_MEAN`)."""
    return comparison.mean is not None and comparison.mean <= FARTHEST_MEAN * _largest(comparison)


def mean_text(tasks: Tasks) -> str:
    """Return the mean regrets of the spaces of all panels in sentences; empty if none is known."""
    known = {name: own for name, own in tasks.items() if own.mean is not None}
    several, sentences = len(tasks) > 1, []
    space = "each space" if several else "the space"
    bounded = [own.baseline is not None and own.baseline.bounds is not None for own in known.values()]
    networks = f"all networks of {space}"
    if any(bounded):
        networks = "all networks within the bounds" if all(bounded) else f"{networks} within its bounds, if any"
    if any(map(is_partial, known.values())):
        networks += f" that {'its' if several else 'the'} table has"
    for is_drawn, line in ((True, "Dash-dot-dot line"), (False, "Not drawn, as it is far above the curves")):
        means = [
            f"{f'{name} ' if several else ''}{own.goal.text(own.mean)}"
            for name, own in known.items()
            if own.mean is not None and has_mean_line(own) == is_drawn
        ]
        if means:
            regret = next(iter(known.values())).goal.regret
            sentences.append(f"{line}: mean {regret} of {networks} ({', '.join(means)}).")
    return "\n".join(sentences)


def _largest(comparison: Comparison) -> float:
    """Return the largest drawn value of all curves and bands."""
    has_band = has_bands(comparison)
    return max(
        float(np.nanmax(curve.high if has_band and curve.has_band else curve.centre, initial=0.0))
        for curve in comparison.curves.values()
    )


def _draw_end(axes: "Axes", end: float, last: float, result: float, color: str) -> None:
    """Mark the end of a curve with a ring, and extend its result as a dotted line to the end of the longest curve.

    No method has a ring as its marker.
    """
    look: dict[str, Any] = {"linestyle": ":", "linewidth": 1.0, "marker": "o", "markersize": 6, "markevery": [0]}
    look |= {"markerfacecolor": "none"}
    axes.plot([end, last], [result, result], color=tone(color), clip_on=False, **look)


def _label(axes: "Axes", comparison: Comparison, floor: float | None) -> None:
    goal = comparison.goal
    axes.set_xlabel(X_LABELS[comparison.over])
    axes.set_ylabel(f"{regret_label(comparison)} ({comparison.curve_source})")
    axes.grid(alpha=0.25)
    if floor is not None:
        use_log_axes(axes)
        axes.set_ylim(bottom=goal.scale * floor, auto=None)  # the top still follows the curves of shared axes
        return
    start_at_zero(axes)
    if comparison.over == EPOCHS:
        label_epochs(axes)


def regret_label(comparison: Comparison) -> str:
    """Return the label of an axis of regrets with their unit: a mean, unless every curve is a single run."""
    mean = "mean " if any(len(contender.repetitions) > 1 for contender in comparison.contenders) else ""
    return comparison.goal.with_unit(f"{mean}{comparison.goal.regret}")


def legend_text(comparison: Comparison, contender: Contender) -> str:
    """Return a label with the number of runs and, if runs of several kinds are compared, the kind of method."""
    family = contender.entry.FAMILY
    kind = f"{family}, " if any(family != of.entry.FAMILY for of in comparison.contenders) else ""
    progress = "" if contender.entry.progress is None else ", unfinished"
    guide = ", guided by test values" if contender.entry.goal.is_guided_by_test_values else ""
    return f"{contender.label} ({kind}n = {len(contender.repetitions):,}{progress}{guide})"


def _title(comparison: Comparison) -> str:
    return f"{comparison.goal.title} on {comparison.space}, {comparison.facts.dataset}, {over_text(comparison.over)}"


def over_text(over: Over) -> str:
    """Return the horizontal axis as the end of a title, such as "over search epochs"."""
    return f"over {'search epochs' if over == EPOCHS else over.replace('-', ' ')}"


def caption(comparison: Comparison) -> str:
    """Return the text below a figure: table, reference, meaning of bands and clocks, tests, and unfinished runs."""
    goal = comparison.goal
    sentences = [
        f"{goal.title} of the preferred architecture; table {tables_text({'': comparison})}.",
        f"Regret: {reference_text(comparison)}.",
        mean_text({"": comparison}),
        *_details(comparison),
        tests_text(comparison),
        untested_text(comparison),
    ]
    return "\n".join(filter(None, sentences))


def _details(comparison: Comparison) -> list[str]:
    """Return the sentences of a caption about what is drawn, some of them empty."""
    is_simulated = comparison.over == SIMULATED_TIME
    has_zero = any((curve.centre == 0).any() for curve in comparison.curves.values())
    return [
        objective_text(comparison),
        comparison.baseline.sentence if comparison.baseline else "",
        _bands(comparison),
        clock_text(comparison),
        *notes(comparison),
        different_settings_text(comparison),
        no_common_time_text(comparison),
        "Rings: ends of runs that finish before the longest one; dotted lines: their results afterwards."
        if early_ends(comparison)
        else "",
        ZERO_NOTE if has_zero and comparison.over in CLOCKS else "",
        *dict.fromkeys(of.entry.origin for of in comparison.contenders),
        "All architectures were scored again on this table; black-box studies keep their recorded times."
        if comparison.is_rescored and is_simulated
        else "",
        comparison.marked.note,
        " ".join(filter(None, [_gaps_text(comparison), missing_text(comparison)])),
        progress_text(comparison),
    ]


def objective_text(comparison: Comparison) -> str:
    """Return a sentence about the objective, and about runs that test values guided; empty for the default ones."""
    goals = {of.label: of.entry.goal for of in comparison.contenders}
    is_one = len({goal.guide.metric for goal in goals.values()}) == 1
    return comparison.goal.sentence() if is_one else objective_sentence(goals)


def _gaps_text(comparison: Comparison) -> str:
    """Return a sentence about gaps in curves; empty without gaps."""
    has_gaps = any(np.isnan(curve.centre).any() for curve in comparison.curves.values())
    return "Gaps: architectures that are not in the table." if has_gaps else ""


def _bands(comparison: Comparison) -> str:
    counts = [len(contender.repetitions) for contender in comparison.contenders if len(contender.repetitions) > 1]
    if not counts:
        return "One run per curve."
    if not has_bands(comparison):
        return NO_BANDS
    return f"Lines and bands: {band_kinds(comparison.curves.values())} over n runs."
