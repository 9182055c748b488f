"""The anytime plot of black-box studies: test regret of the incumbent over time, on logarithmic axes.

Time is what limits the searches: simulated seconds, or a number of trainings.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nasbench1shot1.black_box_search.goal import common_goal, describe_feedback, describe_workers
from nasbench1shot1.black_box_search.record import BlackBoxStudy, Clock
from nasbench1shot1.display.axes import ZERO_NOTE, use_log_axes
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, Colors, checked_labels, curve_styles
from nasbench1shot1.display.curves import Statistic, describe_band, draw_curve, draw_level, log_floor
from nasbench1shot1.display.marked_networks import draw_marked
from nasbench1shot1.display.style import AnyStyle, Spread
from nasbench1shot1.evaluator import common_baseline
from nasbench1shot1.ground.errors import InvalidInputError, in_words
from nasbench1shot1.ground.text import counted
from nasbench1shot1.reference_points import MarkedRegrets
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tables.columns import partly_text, source_text
from nasbench1shot1.tables.references import PRESENT

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure


MOST_NAMED = 3
"""Maximum number of optimizers that a title names."""
CLOCKS: dict[Clock, str] = {"simulated_seconds": "simulated seconds", "evaluations": "evaluations"}
"""The labels of the horizontal axis."""


def check_clocks(studies: Sequence[BlackBoxStudy]) -> None:
    """Raise InvalidInputError if the searches of some studies are limited by seconds, and others by evaluations."""
    by_clock = {study.clock: study for study in studies}
    if len(by_clock) > 1:
        listed = " and ".join(f"'{study.source}' {CLOCKS[clock]}" for clock, study in by_clock.items())
        raise InvalidInputError(f"studies with different clocks ({listed}) cannot share a figure: draw them separately")


def regret_figure(
    studies: Sequence[BlackBoxStudy],
    labels: Sequence[str] | str | None = None,
    *,
    spread: Spread | None = None,
    colors: Colors | None = None,
    style: AnyStyle | None = None,
    note: str = "",
) -> "Figure":
    """Return a figure with the mean test regret of each study, and with bands of up to three studies.

    Args:
        studies: at least one study; all must have recorded searches, the same objective and the same clock.
        labels: one label per study. Default: the names of the optimizers.
        spread: what the bands show. Default: "ci".
        colors: colours by label or optimizer, or one per study. Default: the optimizers' colours.
        style: "screen" (default), or as in `style.AnyStyle`.
        note: a further line of the caption.
    """
    check_clocks(studies)
    names = [optimizer_of(study) for study in studies]
    shown = checked_labels(labels, names, "study")
    looks, has_band = curve_styles(names, colors, shown), len(studies) <= MOST_BANDS
    with Canvas(panel=(6.4, 3.8), style=style) as canvas:
        axes, floor = canvas.axes[0], regret_floor(studies, spread=spread)
        for study, label, look in zip(studies, shown, looks, strict=True):
            draw_anytime(axes, study, label=label, style=look, spread=spread, has_band=has_band, floor=floor)
        draw_baseline(axes, studies, floor)
        axes.set_ylabel(_regret_label(studies, "mean"))
        counts = [len(study.shared_lines) for study in studies]
        band = band_text(studies, spread) if has_band else "mean" if max(counts) > 1 else ""
        about = "\n".join(filter(None, [note, caption(studies)]))
        return canvas.finish(title_of(studies, shown), about, legend=True, band=band)


def band_text(studies: Sequence[BlackBoxStudy], spread: Spread | None) -> str:
    """Return what the bands of the mean test regrets of studies show; see `display.curves.describe_band`."""
    counts = [len(study.shared_lines) for study in studies]
    return describe_band(spread, counts, "search", is_cut=has_cut_band(studies, spread))


def has_cut_band(studies: Iterable[BlackBoxStudy], spread: Spread | None = None, statistic: Statistic = "mean") -> bool:
    """Return whether the band of any study's test regret is cut at 0."""
    return any(study.regret_curve(spread, statistic).is_cut for study in studies)


def title_of(studies: Sequence[BlackBoxStudy], names: Sequence[str]) -> str:
    """Return the title of a figure of studies: the names of the optimizers, space, data set and searches."""
    method, config = in_words(names) if len(names) <= MOST_NAMED else f"{len(names)} optimizers", studies[0].config
    return f"{method} on {config['space']}, {config['dataset']}: {describe_searches(studies)}"


def optimizer_of(study: RunRecord) -> str:
    """Return the name of a study's optimizer; for "module:Class", only the class."""
    return str(study.config["optimizer"]).rpartition(":")[2]


def describe_searches(studies: Sequence[BlackBoxStudy]) -> str:
    """Return the numbers of searches, such as "500 searches per optimizer"."""
    found = list(dict.fromkeys(len(study.shared_lines) for study in studies))
    many = counted(found[0], "search") if len(found) == 1 else f"{min(found):,} to {max(found):,} searches"
    return f"{many} per optimizer" if len(studies) > 1 else many


def draw_anytime(
    axes: "Axes",
    study: BlackBoxStudy,
    *,
    label: str,
    style: dict[str, Any],
    spread: Spread | None = None,
    statistic: Statistic = "mean",
    has_band: bool = True,
    floor: float | None = None,
) -> "Axes":
    """Draw a study's test regret over its clock with its band, on logarithmic axes.

    Regrets of accuracies are in percent, others in the unit of their metric. The curve starts when every search has an
    incumbent, and ends with the longest search. It has gaps where the regret of an incumbent is unknown.

    Args:
        axes: the axes to draw on.
        study: a study with recorded searches.
        label: its label in a legend.
        style: arguments of `Axes.plot`, such as `display.colours.curve_styles` returns.
        spread: what the band shows. Default: "ci".
        statistic: "mean" or "median".
        has_band: whether to draw the band.
        floor: lower edge of the axes, where regrets of zero are drawn; curves on one axes must share it. Default:
            `regret_floor` of this study.

    Returns:
        The axes.
    """
    goal, curve = study.goal, study.regret_curve(spread, statistic)
    edge = regret_floor([study], statistic, spread) if floor is None else floor
    look: dict[str, Any] = {"style": style, "scale": goal.scale, "steps": True, "floor": edge, "has_band": has_band}
    draw_curve(axes, curve, label=goal.mark(label), **look)
    use_log_axes(axes)
    axes.set_ylim(bottom=goal.scale * edge, auto=None)  # the top still follows the curves of shared axes
    axes.set_xlabel(CLOCKS[study.clock])
    axes.set_ylabel(_regret_label([study], statistic))
    axes.grid(alpha=0.25, which="major")
    return axes


def draw_baseline(axes: "Axes", studies: Sequence[BlackBoxStudy], floor: float | None = None) -> None:
    """Draw the baseline of studies with bounds, always the largest network that fits; nothing without bounds.

    Args:
        axes: the axes to draw on, on which regrets have the unit of `draw_anytime`.
        studies: studies with equal bounds.
        floor: lower edge of the axes, as in `draw_anytime`.
    """
    goal, baseline = studies[0].goal, studies[0].baseline
    if baseline is not None and baseline.test_regret is not None:
        label = baseline.label(goal.text(baseline.test_regret), goal.source(baseline.test_measured))
        draw_level(axes, goal.scale * baseline.test_regret, label, None if floor is None else goal.scale * floor)


def draw_marked_regrets(
    axes: "Axes", study: BlackBoxStudy, regrets: MarkedRegrets, floor: float | None = None
) -> "Axes":
    """Draw the regrets of marked networks as horizontal lines; other arguments are as in `draw_baseline`."""
    return draw_marked(axes, regrets.levels(study.goal.scale, study.goal.text, floor))


def _regret_label(studies: Sequence[BlackBoxStudy], statistic: Statistic) -> str:
    """Return the label of an axis of regrets, with their unit and whether they are measured."""
    goal, lines = studies[0].goal, [line for study in studies for line in study.shared_lines]
    of_incumbent = " of the incumbent" if goal.is_default else ""  # longer names leave no space for it
    source = "" if goal.judge.fidelity == "exact" else f" ({partly_text(line['test_measured'] for line in lines)})"
    of_several = f"{statistic} " if any(len(study.shared_lines) > 1 for study in studies) else ""
    return goal.with_unit(f"{of_several}{goal.regret}{of_incumbent}") + source


def regret_floor(
    studies: Sequence[BlackBoxStudy], statistic: Statistic = "mean", spread: Spread | None = None
) -> float:
    """Return the lower edge of axes with the curves of these studies, as recorded: for accuracies, a fraction."""
    return log_floor([study.regret_curve(spread, statistic) for study in studies])


def zero_note(studies: Sequence[BlackBoxStudy], statistic: Statistic = "mean") -> str:
    """Return a sentence about regrets of zero for a plot of a statistic; empty if none of its values is zero."""
    return ZERO_NOTE if any((study.regret_curve("range", statistic).centre == 0).any() for study in studies) else ""


def caption(studies: Sequence[BlackBoxStudy], *, statistic: Statistic | None = "mean") -> str:
    """Return the text below a figure: incumbent, table, regret, objective, bounds, feedback, zeros.

    Args:
        studies: the drawn studies.
        statistic: which statistic of regrets the figure shows. None: it shows no regrets, and does not define them.

    Raises InvalidInputError if the objectives or the bounds of the studies differ.
    """
    goal = common_goal(study.goal for study in studies)
    baseline = common_baseline({str(study.folder): study.baseline for study in studies})
    feedback = describe_feedback((study.feedback_repeats for study in studies), goal)
    spaces = list(dict.fromkeys(str(study.config["space"]) for study in studies))
    regret = goal.definition(
        spaces[0] if len(spaces) == 1 else "the search's space",
        is_partial=any(study.config.get("reference") == PRESENT for study in studies),
        is_bounded=baseline is not None and bool(baseline.described),
    )
    incumbent = f"{goal.title} of the incumbent, the architecture with the best feedback so far. " if statistic else ""
    sentences = (
        f"{incumbent}{_sources(studies)}",
        f"Regret: {regret}." if statistic else "",
        goal.sentence(),
        baseline.sentence if baseline else "",
        feedback,
        describe_workers(study.config["simulated_workers"] for study in studies),
        *dict.fromkeys(study.origin for study in studies),
        zero_note(studies, statistic) if statistic else "",
    )
    return "\n".join(filter(None, sentences))


def _sources(studies: Sequence[BlackBoxStudy]) -> str:
    """Return a sentence about the tables, and how far the final values are measured."""
    lines = [line for study in studies for line in study.shared_lines]
    measured = sum(line["test_measured"] for line in lines)
    tables = ", ".join(dict.fromkeys(study.config["table_id"] for study in studies))
    judge = studies[0].goal.judge
    values = "test errors" if judge.metric == "test_accuracy" else f"values of {judge.words}"
    if judge.fidelity == "exact":
        return f"Table {tables}: all final {values} are exact."
    if measured in (0, len(lines)):
        return f"Table {tables}: all final {values} are {source_text(measured > 0)}."
    return f"Table {tables}: {measured:,} of {len(lines):,} final {values} are measured, the others predicted."
