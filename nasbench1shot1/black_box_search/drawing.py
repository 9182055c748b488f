"""The anytime plot of black-box studies: incumbent test regret over simulated seconds, on logarithmic axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nasbench1shot1.black_box_search.anytime import statistics_over_time, time_grid
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.method_colours import MOST_BANDS, distinct_colours
from nasbench1shot1.wording import counted

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Statistic = Literal["mean", "median"]


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
    has_bands = len(studies) <= MOST_BANDS
    names = [study.config["optimizer"].rpartition(":")[2] for study in studies]
    for study, label, colour in zip(studies, labels or names, distinct_colours(names), strict=True):
        draw_anytime(axes, study, label=label, color=colour, has_band=has_bands)
    axes.legend(frameon=False, fontsize=8)
    config = studies[0].config
    many = " per optimizer" if len(studies) > 1 else ""
    searches = counted(len(studies[0].lines), "search")
    shaded = "; shaded: 25 % to 75 %" if has_bands else ""
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
) -> "Axes":
    """Draw a study's test regret in percent over simulated seconds; between the quartiles, it is shaded (`has_band`).

    The curve starts when every search has an incumbent. Regrets of zero are drawn at the lower edge.

    Returns:
        The axes.
    """
    frame = regret_statistics(study)
    times, percents = frame["seconds"].to_numpy(), 100 * frame[[statistic, "low", "high"]].to_numpy()
    centre, low, high = np.maximum(percents, _floor(percents[:, 0])).T
    axes.step(times, centre, where="post", color=color, linewidth=1.6, label=label)
    if has_band:
        axes.fill_between(times, low, high, step="post", color=color, alpha=0.15, linewidth=0)
    return _use_log_axes(axes, statistic)


def regret_statistics(study: BlackBoxStudy) -> "pandas.DataFrame":
    """Return the test regrets that `draw_anytime` draws, as fractions; columns as in `anytime.statistics_over_time`."""
    return statistics_over_time(study.trajectory, time_grid([study.trajectory], study.config["seconds"]))


def _floor(values: Any) -> float:
    """Return the value drawn instead of zero on a logarithmic axis: a quarter of the smallest positive value."""
    return 0.25 * float(values[values > 0].min(initial=1.0))


def _use_log_axes(axes: "Axes", statistic: Statistic) -> "Axes":
    from nasbench1shot1.log_ticks import label_log_axis

    axes.set_xscale("log")
    axes.set_yscale("log")
    label_log_axis(axes.xaxis)
    label_log_axis(axes.yaxis)
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel(f"{statistic} test regret of the incumbent [%]")
    axes.grid(alpha=0.25, which="major")
    return axes


def caption(studies: Sequence[BlackBoxStudy]) -> str:
    """Return the text below a figure: the tables, and how many of the final test errors are measured."""
    lines = [line for study in studies for line in study.lines]
    measured = sum(line["test_measured"] for line in lines)
    tables = ", ".join(dict.fromkeys(study.config["table_id"] for study in studies))
    if measured in (0, len(lines)):
        return f"table {tables}; all final test errors are {'measured' if measured else 'predicted'}"
    return f"table {tables}; {measured:,} of {len(lines):,} final test errors are measured"
