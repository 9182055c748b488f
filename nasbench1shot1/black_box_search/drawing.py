"""The anytime plot of black-box studies: incumbent test regret over simulated seconds, on logarithmic axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.colours import MOST_BANDS, distinct_colours
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
        studies: at least one study; each must have recorded searches.
        labels: one label per study. Default: the names of the optimizers.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    has_bands, floor = len(studies) <= MOST_BANDS, regret_floor(studies)
    names = [study.config["optimizer"].rpartition(":")[2] for study in studies]
    for study, label, colour in zip(studies, labels or names, distinct_colours(names), strict=True):
        draw_anytime(axes, study, label=label, color=colour, has_band=has_bands, floor=floor)
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
    """Draw a study's test regret in percent over simulated seconds; between the quartiles, it is shaded (`has_band`).

    The curve starts when every search has an incumbent, and ends with the longest search. It has gaps where the regret
    of an incumbent is unknown. Regrets of zero are drawn at the lower edge, `floor`, which curves on the same axes must
    share; default: the `regret_floor` of this study.
    `band_label` is the legend entry of the shaded area; default: none, for figures whose title explains it.

    Returns:
        The axes.
    """
    frame = study.regret_statistics
    edge = 100 * (regret_floor([study], statistic) if floor is None else floor)
    times, percents = frame["seconds"].to_numpy(), 100 * frame[[statistic, "low", "high"]].to_numpy()
    centre, low, high = np.maximum(percents, edge).T
    axes.step(times, centre, where="post", color=color, linewidth=1.6, label=label)
    if has_band:
        axes.fill_between(times, low, high, step="post", color=color, alpha=0.15, linewidth=0, label=band_label)
    _use_log_axes(axes, statistic)
    axes.set_ylim(bottom=min(edge, axes.dataLim.y0), auto=None)  # the top still follows the curves of shared axes
    return axes


def regret_floor(studies: Sequence[BlackBoxStudy], statistic: Statistic = "mean") -> float:
    """Return the lower edge of axes with the curves of these studies, a fraction (`display.axes.zero_floor`)."""
    from nasbench1shot1.display.axes import zero_floor

    return zero_floor(np.concatenate([study.regret_statistics[statistic] for study in studies]))


def zero_note(studies: Sequence[BlackBoxStudy]) -> str:
    """Return a sentence about regrets of zero for a plot of the mean; empty if no mean is zero."""
    from nasbench1shot1.display.axes import ZERO_NOTE

    return ZERO_NOTE if any((study.regret_statistics["mean"] == 0).any() for study in studies) else ""


def _use_log_axes(axes: "Axes", statistic: Statistic) -> "Axes":
    from nasbench1shot1.display.axes import label_log_axis

    axes.set_xscale("log")
    axes.set_yscale("log")
    label_log_axis(axes.xaxis)
    label_log_axis(axes.yaxis)
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel(f"{statistic} test regret of the incumbent [%]")
    axes.grid(alpha=0.25, which="major")
    return axes


def caption(studies: Sequence[BlackBoxStudy]) -> str:
    """Return the text below a figure: tables, number of measured final test errors, and where zeros are drawn."""
    note = zero_note(studies)
    return "\n".join([_sources(studies), *([note] if note else [])])


def _sources(studies: Sequence[BlackBoxStudy]) -> str:
    lines = [line for study in studies for line in study.lines]
    measured = sum(line["test_measured"] for line in lines)
    tables = ", ".join(dict.fromkeys(study.config["table_id"] for study in studies))
    if measured in (0, len(lines)):
        return f"table {tables}; all final test errors are {'measured' if measured else 'predicted'}"
    return f"table {tables}; {measured:,} of {len(lines):,} final test errors are measured"
