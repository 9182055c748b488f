"""Drawing the figures of black-box studies."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from nasbench1shot1.black_box_search.drawing import draw_anytime, regret_floor
from nasbench1shot1.black_box_search.record import BlackBoxStudy, statistics_over_time
from nasbench1shot1.display.colours import MOST_BANDS, colours
from nasbench1shot1.experiments.black_box_studies import draw_ecdf, draw_sorted
from nasbench1shot1.experiments.curve_rows import curve_rows
from nasbench1shot1.experiments.reproduction.figures import DATA_SETS, ROWS, Curve, Panel

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

EVERY = 100.0
"""Simulated seconds between two points of figure 6 of NATS-Bench."""


class DrawnStudy(NamedTuple):
    """A study with its panel and curve."""

    panel: Panel
    curve: Curve
    study: BlackBoxStudy


class FigureText(NamedTuple):
    """The title above a picture and the caption below it."""

    title: str
    caption: str


def draw_regret_and_ecdf(found: Sequence[DrawnStudy], words: FigureText) -> "Figure":
    """Draw the mean test regret over simulated seconds (left) and the ECDF of the final regrets (right)."""
    finals = {drawn.curve.key: drawn.study.final["test_regret"].to_numpy(np.float64) for drawn in found}
    floor = 0.5 * min(float(values[values > 0].min(initial=0.01)) for values in finals.values())
    rows, by_key = _rows(found), _colours(found)
    lowest = regret_floor([drawn.study for drawn in found])

    def draw(axes: Any) -> None:
        for row, (left, right) in zip(rows, axes, strict=True):
            for _, curve, study in _select(found, row):
                label, color = curve.label, by_key[curve.key]
                has_band = len(row) <= MOST_BANDS
                draw_anytime(left, study, label=label, color=color, has_band=has_band, floor=lowest)
                draw_ecdf(right, finals[curve.key], floor=floor, label=label, color=color)

    return _canvas(len(rows), 2, words, draw, _labels(found))


def draw_rows(found: Sequence[DrawnStudy], words: FigureText) -> "Figure":
    """Draw the median test regret over simulated seconds, with one column per space and one row per entry of `ROWS`."""
    panels = list(dict.fromkeys(drawn.panel.key for drawn in found))
    keys = {drawn.curve.key for drawn in found}
    rows = {name: labels for name, labels in ROWS.items() if keys & set(labels)}
    look: dict[str, Any] = {"statistic": "median", "floor": regret_floor([each.study for each in found], "median")}

    def draw(axes: Any) -> None:
        for line, (name, labels) in zip(axes, rows.items(), strict=True):
            order, has_band = list(labels), len(labels) <= MOST_BANDS
            own = _select(found, order)
            for drawn in sorted(own, key=lambda drawn: order.index(drawn.curve.key)):
                ax, color = line[panels.index(drawn.panel.key)], colours(order)[order.index(drawn.curve.key)]
                label = labels[drawn.curve.key]
                draw_anytime(ax, drawn.study, label=label, color=color, has_band=has_band, **look)
                ax.set_title(f"{drawn.panel.title}: {name}", fontsize=9)
            for ax in line:
                ax.legend(frameon=False, fontsize=7)
                ax.set_ylabel("median test regret [%]", fontsize=8)

    return _canvas(len(rows), len(panels), words, draw, {}, shared=True)


def draw_sorted_accuracies(found: Sequence[DrawnStudy], accuracies: "pandas.DataFrame", words: FigureText) -> "Figure":
    """Draw the sorted accuracies of all searches, with one column per data set and split.

    Args:
        found: one study per curve.
        accuracies: columns of `final_accuracies` and `curve`.
        words: title and caption.
    """
    places = list(dict.fromkeys(zip(accuracies["dataset"], accuracies["split"], strict=True)))
    rows, by_key = _rows(found), _colours(found)

    def draw(axes: Any) -> None:
        for row, line in zip(rows, axes, strict=True):
            for ax, (dataset, split) in zip(line, places, strict=True):
                at_place = accuracies[(accuracies["dataset"] == dataset) & (accuracies["split"] == split)]
                for _, curve, _ in _select(found, row):
                    own = at_place[at_place["curve"] == curve.key]
                    draw_sorted(ax, own, label=curve.label, color=by_key[curve.key])
                ax.set_title(f"{DATA_SETS.get(dataset, dataset)}, {split}", fontsize=9)
            line[0].set_ylabel("accuracy after 200 epochs [%]")

    return _canvas(len(rows), len(places), words, draw, _labels(found))


def accuracy_over_time(study: BlackBoxStudy) -> "pandas.DataFrame":
    """Return the test accuracy of the incumbents (fractions) every 100 simulated seconds, as `statistics_over_time`."""
    times = np.arange(EVERY, study.config["seconds"] + EVERY / 2, EVERY)
    errors = statistics_over_time(study.trajectory, times, "test_error")
    accuracies = {"mean": "mean", "median": "median", "low": "high", "high": "low"}  # a high error is a low accuracy
    return errors.assign(**{name: 1 - errors[error] for name, error in accuracies.items()})


def draw_accuracy_over_time(found: Sequence[DrawnStudy], words: FigureText) -> "Figure":
    """Draw the mean test accuracy of the incumbents every 100 simulated seconds, with one column per data set."""
    panels = {drawn.panel.key: drawn.panel.title for drawn in found}
    rows, by_key = _rows(found), _colours(found)

    def draw(axes: Any) -> None:
        for row, line in zip(rows, axes, strict=True):
            for (key, title), ax in zip(panels.items(), line, strict=True):
                for _, curve, study in (drawn for drawn in _select(found, row) if drawn.panel.key == key):
                    frame = accuracy_over_time(study)
                    ax.plot(frame["seconds"], 100 * frame["mean"], color=by_key[curve.key], linewidth=1.6)
                ax.set_title(title, fontsize=9)
                ax.set_xlabel("simulated seconds")
                ax.xaxis.set_major_formatter("{x:,.0f}")
                ax.grid(alpha=0.25)
            line[0].set_ylabel("mean test accuracy of the incumbent [%]")

    return _canvas(len(rows), len(panels), words, draw, _labels(found))


def _rows(found: Sequence[DrawnStudy]) -> list[list[str]]:
    """Return the keys of the curves in each row of a figure, as `curve_rows` does."""
    panels: dict[str, list[str]] = {}
    for drawn in found:
        panels.setdefault(drawn.panel.key, []).append(drawn.curve.key)
    return curve_rows(list(panels.values()))


def _select(found: Sequence[DrawnStudy], keys: Sequence[str]) -> list[DrawnStudy]:
    return [drawn for drawn in found if drawn.curve.key in keys]


def _labels(found: Sequence[DrawnStudy]) -> dict[str, str]:
    return {drawn.curve.key: drawn.curve.label for drawn in found}


def _colours(found: Sequence[DrawnStudy]) -> dict[str, str]:
    """Return the colour of every curve, by its key, the name of its optimizer."""
    keys = list(_labels(found))
    return dict(zip(keys, colours(keys), strict=True))


def _canvas(
    rows: int,
    columns: int,
    words: FigureText,
    draw: Callable[[Any], None],
    labels: dict[str, str],
    shared: bool | Literal["col"] = "col",
) -> "Figure":
    """Return a figure with panels drawn by `draw` and, below them, a legend of `labels`.

    The panels of a column have equal axes; all panels have, if they are `shared`.
    """
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
    grid = above.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    draw(grid)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")  # only the last row has a label
    above.suptitle(words.title, fontsize=10)
    canvas.supxlabel(words.caption, fontsize=7, color="#444444")
    return canvas
