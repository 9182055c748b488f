"""The anytime plot of black-box studies: test regret of the incumbent over simulated seconds, on logarithmic axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from nasbench1shot1.black_box_search.goal import Goal, common_goal
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.colours import MOST_BANDS, curve_styles
from nasbench1shot1.ground.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Statistic = Literal["mean", "median"]
QUARTILE_BAND = "25 % to 75 % quantiles"
"""What the bands show, in words."""


def regret_figure(studies: Sequence[BlackBoxStudy], labels: Sequence[str] | None = None) -> "Figure":
    """Return a figure with the mean test regret of each study; with up to three studies, the quartiles are shaded.

    Args:
        studies: at least one study; all must have recorded searches and the same objective.
        labels: one label per study. Default: the names of the optimizers.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    has_bands, floor = len(studies) <= MOST_BANDS, regret_floor(studies)
    names = [study.config["optimizer"].rpartition(":")[2] for study in studies]
    for study, label, style in zip(studies, labels or names, curve_styles(names), strict=True):
        draw_anytime(axes, study, label=label, color=style["color"], has_band=has_bands, floor=floor)
    axes.legend(frameon=False, fontsize=8)
    config = studies[0].config
    many = " per optimizer" if len(studies) > 1 else ""
    searches = counted(len(studies[0].lines), "search")
    shaded = f"; shaded: {QUARTILE_BAND}" if has_bands else ""
    axes.set_title(f"{config['space']}, {config['dataset']}: {searches}{many}{shaded}", fontsize=10)
    figure.supxlabel(caption(studies), fontsize=6, color="#444444")
    return figure


def draw_anytime(
    axes: "Axes",
    study: BlackBoxStudy,
    *,
    label: str,
    color: str,
    statistic: Statistic = "mean",
    has_band: bool = True,
    band_label: str | None = None,
    floor: float | None = None,
) -> "Axes":
    """Draw a study's test regret over simulated seconds, and shade the range between the quartiles (`has_band`).

    Regrets of accuracies are in percent, others in the unit of their metric.

    The curve starts when every search has an incumbent, and ends with the longest search. It has gaps where the regret
    of an incumbent is unknown. Regrets of zero are drawn at the lower edge, `floor`, which curves on the same axes must
    share; default: the `regret_floor` of this study.
    `band_label` is the legend entry of the shaded area; default: none, for figures whose title explains it.

    Returns:
        The axes.
    """
    frame, scale = study.regret_statistics, study.goal.scale
    edge = scale * (regret_floor([study], statistic) if floor is None else floor)
    times, regrets = frame["seconds"].to_numpy(), scale * frame[[statistic, "low", "high"]].to_numpy()
    centre, low, high = np.maximum(regrets, edge).T
    axes.step(times, centre, where="post", color=color, linewidth=1.6, label=label)
    if has_band:
        axes.fill_between(times, low, high, step="post", color=color, alpha=0.15, linewidth=0, label=band_label)
    _use_log_axes(axes, statistic, study.goal)
    axes.set_ylim(bottom=min(edge, axes.dataLim.y0), auto=None)  # the top still follows the curves of shared axes
    return axes


def regret_floor(studies: Sequence[BlackBoxStudy], statistic: Statistic = "mean") -> float:
    """Return the lower edge of axes with the curves of these studies, as recorded: for accuracies, a fraction.

    Raises InvalidInputError if the objectives of the studies differ.
    """
    return common_goal(study.goal for study in studies).floor(
        np.concatenate([study.regret_statistics[statistic] for study in studies])
    )


def zero_note(studies: Sequence[BlackBoxStudy]) -> str:
    """Return a sentence about regrets of zero for a plot of the mean; empty if no mean is zero."""
    from nasbench1shot1.display.axes import ZERO_NOTE

    return ZERO_NOTE if any((study.regret_statistics["mean"] == 0).any() for study in studies) else ""


def _use_log_axes(axes: "Axes", statistic: Statistic, goal: Goal) -> "Axes":
    from nasbench1shot1.display.axes import label_log_axis

    axes.set_xscale("log")
    axes.set_yscale("log")
    label_log_axis(axes.xaxis)
    label_log_axis(axes.yaxis)
    axes.set_xlabel("simulated seconds")
    of_incumbent = " of the incumbent" if goal.is_default else ""  # longer names leave no space for it
    axes.set_ylabel(goal.with_unit(f"{statistic} {goal.regret}{of_incumbent}"))
    axes.grid(alpha=0.25, which="major")
    return axes


def caption(studies: Sequence[BlackBoxStudy]) -> str:
    """Return the text below a figure: tables, number of measured final test errors, objective, and drawing of zeros.

    Raises InvalidInputError if the objectives of the studies differ.
    """
    return "\n".join(
        filter(None, (_sources(studies), common_goal(study.goal for study in studies).sentence(), zero_note(studies)))
    )


def _sources(studies: Sequence[BlackBoxStudy]) -> str:
    lines = [line for study in studies for line in study.lines]
    measured = sum(line["test_measured"] for line in lines)
    tables = ", ".join(dict.fromkeys(study.config["table_id"] for study in studies))
    judge = studies[0].goal.judge
    values = "test errors" if judge.metric == "test_accuracy" else f"values of {judge.words}"
    if judge.fidelity == "exact":
        return f"table {tables}; all final {values} are exact"
    if measured in (0, len(lines)):
        return f"table {tables}; all final {values} are {'measured' if measured else 'predicted'}"
    return f"table {tables}; {measured:,} of {len(lines):,} final {values} are measured"
