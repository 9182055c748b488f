"""The anytime plot of black-box studies: incumbent test regret over simulated seconds, on logarithmic axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nasbench1shot1.black_box_search.anytime import over_time, time_grid
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.method_colours import distinct_colours
from nasbench1shot1.wording import counted

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Statistic = Literal["mean", "median"]


def regret_over_time(studies: Sequence[BlackBoxStudy], labels: Sequence[str] | None = None) -> "Figure":
    """Return a figure with the mean test regret of each study; the range between the quartiles is shaded.

    Args:
        studies: at least one study; each must have recorded searches.
        labels: one label per study. Default: the names of the optimizers.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    names = [study.config["optimizer"].rpartition(":")[2] for study in studies]
    for study, label, colour in zip(studies, labels or names, distinct_colours(names), strict=True):
        draw_anytime(axes, study, label=label, color=colour)
    axes.legend(frameon=False, fontsize=8)
    config = studies[0].config
    many = " per optimizer" if len(studies) > 1 else ""
    searches = counted(len(studies[0].lines), "search")
    axes.set_title(f"{config['space']}, {config['dataset']}: {searches}{many}; shaded: 25 % to 75 %", fontsize=10)
    figure.supxlabel(caption(studies), fontsize=6, color="#444444")
    return figure


def draw_anytime(
    axes: "Axes", study: BlackBoxStudy, *, label: str, color: str, statistic: Statistic = "mean", shade: float = 0.15
) -> "Axes":
    """Draw a study's test regret in percent over simulated seconds; the 25 % and 75 % quantiles are shaded.

    The curve starts when every search has an incumbent. Regrets of zero are drawn at the lower edge. `shade` is the
    opacity of the area between the quantiles.

    Returns:
        The axes.
    """
    frame = regrets_over_time(study)
    times, percents = frame["seconds"].to_numpy(), 100 * frame[[statistic, "low", "high"]].to_numpy()
    centre, low, high = np.maximum(percents, _floor(percents[:, 0])).T
    axes.step(times, centre, where="post", color=color, linewidth=1.6, label=label)
    axes.fill_between(times, low, high, step="post", color=color, alpha=shade, linewidth=0)
    return _on_log_axes(axes, statistic)


def regrets_over_time(study: BlackBoxStudy) -> "pandas.DataFrame":
    """Return the test regrets that `draw_anytime` draws, as fractions; columns as in `anytime.over_time`."""
    return over_time(study.trajectory, time_grid([study.trajectory], study.config["seconds"]))


def _floor(values: Any) -> float:
    """Return the value drawn instead of zero on a logarithmic axis: a quarter of the smallest positive value."""
    return 0.25 * float(values[values > 0].min(initial=1.0))


def _on_log_axes(axes: "Axes", statistic: Statistic) -> "Axes":
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
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
