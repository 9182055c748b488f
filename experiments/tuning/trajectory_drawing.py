"""The plot of incumbents over simulated time: one panel per space, one line per method."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas

from nasbench1shot1.experiments.tuning.best import DEFAULT_ID
from nasbench1shot1.experiments.tuning.trajectory import Curve, average
from nasbench1shot1.method_colours import colours as method_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

CLOCK = "simulated time: all searches, and one training of each architecture [s]"


def draw_trajectories(panels: Mapping[str, Sequence[Curve]], title: str, caption: str, source: str) -> "Figure":
    """Plot the mean test regret of the incumbents on logarithmic axes, with the standard deviation shaded.

    A dot marks the first search of the studies that started with the optimizer's default configuration: its mean time
    and regret. Regrets of zero lie on the lower edge of the plot.

    Args:
        panels: curves by the title of their panel; every curve has a repetition, every repetition an incumbent.
        title: title of the figure.
        caption: text below the figure.
        source: how far the regrets are measured, such as "predicted".
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(max(1.6 + 3.6 * len(panels), 8.0), 5.6), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    rows = canvas.add_gridspec(2, 1, height_ratios=(8, 1))  # the layout keeps a legend apart only in its own row
    above, below = canvas.add_subfigure(rows[0]), canvas.add_subfigure(rows[1])
    axes = above.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    labels = {curve.key: curve.label for curves in panels.values() for curve in curves}
    colours = dict(zip(labels, method_colours(list(labels)), strict=True))
    floor = _floor(panels)
    for (name, curves), ax in zip(panels.items(), axes, strict=True):
        for curve in curves:
            _draw(curve, ax, colours[curve.key], floor)
        _label(ax, name)
    axes[0].set_ylim(bottom=100 * floor)
    axes[0].set_ylabel(f"test regret of the incumbent [%] ({source})")
    _legend(below, labels, colours, panels)
    above.suptitle(title, fontsize=10)
    canvas.supxlabel(caption, fontsize=7, color="#444444")
    return canvas


def _floor(panels: Mapping[str, Sequence[Curve]]) -> float:
    """Return the lower edge of the plot as a fraction: below the smallest positive regret."""
    regrets = [frame["test_regret"] for curves in panels.values() for curve in curves for frame in curve.repetitions]
    values = np.concatenate([regret.to_numpy(np.float64) for regret in regrets])
    return 0.5 * float(values[values > 0].min(initial=0.01))


def _draw(curve: Curve, axes: "Axes", colour: str, floor: float) -> None:
    frame = average(curve.repetitions)
    mean, spread = frame["test_regret_mean"], frame["test_regret_std"].fillna(0.0)
    low, high = (100 * np.maximum(values, floor) for values in (mean - spread, mean + spread))
    axes.step(frame["seconds"], 100 * np.maximum(mean, floor), where="post", color=colour, linewidth=1.8)
    if len(curve.repetitions) > 1:
        axes.fill_between(frame["seconds"], low, high, step="post", color=colour, alpha=0.14, linewidth=0)
    if defaults := _defaults(curve):
        first = pandas.DataFrame(defaults)[["seconds", "test_regret"]].mean()
        axes.plot(first["seconds"], 100 * max(first["test_regret"], floor), "o", color=colour, markersize=5)


def _defaults(curve: Curve) -> list["pandas.Series[float]"]:
    """Return the first search of every repetition that started with the default configuration."""
    firsts = [frame.iloc[0] for frame in curve.repetitions]
    return [first for first in firsts if first.get("configuration_id") == DEFAULT_ID]


def _label(axes: "Axes", title: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_title(title, fontsize=10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, steps in ((axes.xaxis, (1, 3)), (axes.yaxis, (1, 2, 5))):
        axis.set_major_locator(LogLocator(subs=steps))
        axis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axes.set_xlabel(CLOCK, fontsize=7)
    axes.grid(alpha=0.25, which="both")


def _power(value: float) -> str:
    """Return a tick label: "10³" or "3 · 10³" in matplotlib's notation."""
    exponent = int(np.floor(np.log10(value) + 1e-9))
    factor = round(value / 10**exponent)
    return f"$10^{{{exponent}}}$" if factor == 1 else f"${factor}\\cdot 10^{{{exponent}}}$"


def _legend(
    below: "SubFigure", labels: Mapping[str, str], colours: Mapping[str, str], panels: Mapping[str, Sequence[Curve]]
) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colours[key], linewidth=1.8, label=label) for key, label in labels.items()]
    if any(_defaults(curve) for curves in panels.values() for curve in curves):
        dot = Line2D([], [], color="black", marker="o", markersize=5, linestyle="", label="default configuration")
        lines.append(dot)
    below.legend(handles=lines, loc="center", ncols=min(len(lines), 4), frameon=False, fontsize=8)
