"""Drawing the figures of black-box studies."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nasbench1shot1.black_box_search.anytime import over_time
from nasbench1shot1.black_box_search.drawing import draw_anytime
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.black_box.ecdf import draw_ecdf
from nasbench1shot1.experiments.black_box.final_accuracy import draw_sorted
from nasbench1shot1.experiments.reproduction.black_box_figures import DATA_SETS, ROWS
from nasbench1shot1.experiments.reproduction.figures import Curve, Panel
from nasbench1shot1.method_colours import colours

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

EVERY = 100.0
"""Simulated seconds between two points of figure 6 of NATS-Bench."""
MANY = 4
"""Number of curves from which the shaded quartiles of a panel are fainter, because they overlap."""


class Drawn(NamedTuple):
    """A study with its panel and curve."""

    panel: Panel
    curve: Curve
    study: BlackBoxStudy


class Words(NamedTuple):
    """The title above a picture and the caption below it."""

    title: str
    caption: str


def draw_regret_and_ecdf(found: Sequence[Drawn], words: Words) -> "Figure":
    """Draw the mean test regret over simulated seconds (left) and the ECDF of the final regrets (right)."""
    finals = [drawn.study.final["test_regret"].to_numpy(np.float64) for drawn in found]
    floor = 0.5 * min(float(values[values > 0].min(initial=0.01)) for values in finals)

    def draw(axes: Any) -> None:
        left, right = axes[0]
        for (_, curve, study), values, color in zip(found, finals, _colours(found), strict=True):
            draw_anytime(left, study, label=curve.label, color=color)
            draw_ecdf(right, values, floor=floor, label=curve.label, color=color)

    return _canvas(1, 2, words, draw, _labels(found))


def draw_rows(found: Sequence[Drawn], words: Words) -> "Figure":
    """Draw the median test regret over simulated seconds, with one column per space and one row per entry of `ROWS`."""
    panels = list(dict.fromkeys(drawn.panel.key for drawn in found))
    keys = {drawn.curve.key for drawn in found}
    rows = {name: labels for name, labels in ROWS.items() if keys & set(labels)}

    def draw(axes: Any) -> None:
        for line, (name, labels) in zip(axes, rows.items(), strict=True):
            order, shade = list(labels), 0.15 if len(labels) < MANY else 0.06
            own = (drawn for drawn in found if drawn.curve.key in labels)
            for drawn in sorted(own, key=lambda drawn: order.index(drawn.curve.key)):
                ax, color = line[panels.index(drawn.panel.key)], colours(order)[order.index(drawn.curve.key)]
                label = labels[drawn.curve.key]
                draw_anytime(ax, drawn.study, label=label, color=color, statistic="median", shade=shade)
                ax.set_title(f"{drawn.panel.title}: {name}", fontsize=9)
            for ax in line:
                ax.legend(frameon=False, fontsize=7)
                ax.set_ylabel("median test regret [%]", fontsize=8)

    return _canvas(len(rows), len(panels), words, draw, {})


def draw_sorted_accuracies(found: Sequence[Drawn], accuracies: "pandas.DataFrame", words: Words) -> "Figure":
    """Draw the sorted accuracies of all searches, with one panel per data set.

    Args:
        found: one study per curve.
        accuracies: columns of `final_accuracies` and `curve`.
        words: title and caption.
    """
    names = list(dict.fromkeys(accuracies["dataset"]))

    def draw(axes: Any) -> None:
        for ax, name in zip(axes[0], names, strict=True):
            for (_, curve, _), color in zip(found, _colours(found), strict=True):
                own = accuracies[(accuracies["curve"] == curve.key) & (accuracies["dataset"] == name)]
                draw_sorted(ax, own, label=curve.label, color=color)
            both = accuracies[accuracies["dataset"] == name]["split"].nunique() > 1
            ax.set_title(DATA_SETS.get(name, name) + (": validation and test" if both else ": test"), fontsize=9)
        axes[0][0].set_ylabel("accuracy after 200 epochs [%]")

    return _canvas(1, len(names), words, draw, _labels(found))


def accuracy_over_time(study: BlackBoxStudy) -> "pandas.DataFrame":
    """Return the test accuracy of the incumbents (fractions) every 100 simulated seconds; columns as in `over_time`."""
    times = np.arange(EVERY, study.config["seconds"] + EVERY / 2, EVERY)
    errors = over_time(study.trajectory, times, "test_error")
    accuracies = {"mean": "mean", "median": "median", "low": "high", "high": "low"}  # a high error is a low accuracy
    return errors.assign(**{name: 1 - errors[error] for name, error in accuracies.items()})


def draw_accuracy_over_time(found: Sequence[Drawn], words: Words) -> "Figure":
    """Draw the mean test accuracy of the incumbents every 100 simulated seconds, with one panel per data set."""
    panels = {drawn.panel.key: drawn.panel.title for drawn in found}
    by_key = dict(zip(_labels(found), colours(list(_labels(found))), strict=True))

    def draw(axes: Any) -> None:
        for (key, title), ax in zip(panels.items(), axes[0], strict=True):
            for _, curve, study in (drawn for drawn in found if drawn.panel.key == key):
                frame = accuracy_over_time(study)
                ax.plot(frame["seconds"], 100 * frame["mean"], color=by_key[curve.key], linewidth=1.6)
            ax.set_title(title, fontsize=9)
            ax.set_xlabel("simulated seconds")
            ax.grid(alpha=0.25)
        axes[0][0].set_ylabel("mean test accuracy of the incumbent [%]")

    return _canvas(1, len(panels), words, draw, _labels(found))


def _labels(found: Sequence[Drawn]) -> dict[str, str]:
    return {drawn.curve.key: drawn.curve.label for drawn in found}


def _colours(found: Sequence[Drawn]) -> list[str]:
    return colours([drawn.curve.key for drawn in found])


def _canvas(rows: int, columns: int, words: Words, draw: Callable[[Any], None], labels: dict[str, str]) -> "Figure":
    """Return a figure with panels drawn by `draw` and, below them, a legend of `labels`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.lines import Line2D

    canvas = Figure(figsize=(max(1.6 + 3.4 * columns, 8.0), 2.0 + 2.8 * rows), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    above: FigureBase = canvas
    lines = [
        Line2D([], [], color=color, label=label)
        for label, color in zip(labels.values(), colours(list(labels)), strict=True)
    ]
    if lines:
        parts = canvas.add_gridspec(2, 1, height_ratios=(8 * rows, 1))  # the legend needs a separate row
        above, below = canvas.add_subfigure(parts[0]), canvas.add_subfigure(parts[1])
        below.legend(handles=lines, loc="center", ncols=min(len(lines), 5), frameon=False, fontsize=8)
    draw(above.subplots(rows, columns, squeeze=False))
    above.suptitle(words.title, fontsize=10)
    canvas.supxlabel(words.caption, fontsize=7, color="#444444")
    return canvas
