"""The results of a figure's black-box studies: data frames for CSV files, a picture and a table on the screen."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas

from nasbench1shot1.black_box_search.drawing import caption, draw_anytime, regret_floor
from nasbench1shot1.black_box_search.record import BlackBoxStudy, statistics_over_time
from nasbench1shot1.display.colours import MOST_BANDS, colours, curve_rows
from nasbench1shot1.experiments.black_box_studies import (
    compare_with_published,
    draw_ecdf,
    draw_sorted,
    ecdf,
    final_accuracies,
)
from nasbench1shot1.experiments.reproduction.figure import FigureResults
from nasbench1shot1.experiments.reproduction.figures import DATA_SETS, ROWS, SPACES, BlackBoxPlan, Curve, Panel
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

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


@dataclass(frozen=True)
class BlackBoxResults(FigureResults):
    """The results of the finished studies of a figure, as a `figure.FigureResults`.

    Attributes:
        plan: the figure.
        found: the studies, in the order of the curves.
        unfinished: names of the curves without a finished study.
        table: the table of the studies.
    """

    plan: BlackBoxPlan
    found: Sequence[DrawnStudy]
    unfinished: Sequence[str]
    table: Table

    STATISTIC: ClassVar[str]
    """The first line of the caption, which describes the curves."""
    SHOWN: ClassVar[str] = "final test regret"
    """The quantity of every study that is printed on the screen."""

    @abstractmethod
    def draw(self) -> "Figure":
        """Return the picture."""

    def show(self, console: "Console") -> None:
        """Print the results of the searches of each curve."""
        from rich.table import Table as Screen

        screen = Screen("panel", "curve", "searches", self.SHOWN, "median")
        for panel, curve, study in self.found:
            values = 100 * self.shown_values(study)
            spread = f"{values.mean():.3f} ± {values.std():.3f} %"
            screen.add_row(panel.key, curve.key, str(len(values)), spread, f"{values.median():.3f} %")
        console.print(screen)

    def shown_values(self, study: BlackBoxStudy) -> "pandas.Series[float]":
        """Return the values of `SHOWN` for all searches, as fractions."""
        return study.final["test_regret"]

    @property
    def text(self) -> FigureText:
        """The title and the caption of the picture."""
        lines = [self.STATISTIC, caption([drawn.study for drawn in self.found])]
        if self.unfinished:
            lines.insert(1, f"unfinished: {', '.join(self.unfinished)}")
        return FigureText("\n".join(self._title()), "\n".join(lines))

    def _title(self) -> list[str]:
        config, paper = self.found[0].study.config, self.plan.scales["full"]
        used = list(dict.fromkeys(study.config["space"] for _, _, study in self.found))
        lines = [
            f"After figure {self.plan.number} of {self.plan.paper}: {self.plan.title}",
            f"{_names(used)}, {_extent(config)}",
        ]
        published = list(dict.fromkeys(panel.options["space"] for panel in paper.panels))
        is_paper = used == published and all(config[name] == value for name, value in paper.options.items())
        return lines if is_paper else [*lines, f"the paper's setting: {_names(published)}, {_extent(paper.options)}"]


class RegretAndECDF(BlackBoxResults):
    """Figure 7 of NAS-Bench-101: mean test regret over simulated seconds, and the ECDF of the final regrets."""

    STATISTIC = (
        f"left: mean over searches; shaded, on axes of at most {MOST_BANDS} curves: 25 % to 75 % quantiles\n"
        "right: regrets of zero are drawn at the left edge"
    )

    def as_table(self) -> pandas.DataFrame:
        """Return the left panel's values: panel, curve, then the columns of `record.statistics_over_time`."""
        return _stacked(self.found, attrgetter("regret_statistics"))

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the right panel's values: panel, curve, test_regret and fraction (of searches)."""
        frame = _stacked(self.found, lambda study: ecdf(study.final["test_regret"]))
        return {"ecdf": frame.rename(columns={"value": "test_regret"})}

    def draw(self) -> "Figure":
        """Return the picture, as `draw_regret_and_ecdf` does."""
        return draw_regret_and_ecdf(self.found, self.text)


class MiniAgainstFull(BlackBoxResults):
    """Figure 8 of NAS-Bench-101: variants of evolution on a small and a large space."""

    STATISTIC = (
        f"median over searches; shaded, on axes of at most {MOST_BANDS} curves: 25 % to 75 % quantiles\n"
        "mutation rate: expected number of changed choices"
    )

    def as_table(self) -> pandas.DataFrame:
        """Return the drawn values: panel, curve, then the columns of `record.statistics_over_time`."""
        return _stacked(self.found, attrgetter("regret_statistics"))

    def draw(self) -> "Figure":
        """Return the picture, as `draw_rows` does."""
        return draw_rows(self.found, self.text)


class SortedRuns(BlackBoxResults):
    """Figure 6 of NAS-Bench-201: the sorted final accuracies of all searches on three data sets."""

    STATISTIC = (
        "searches use CIFAR-10 validation accuracies after 12 epochs; shown: accuracies of the final incumbents after "
        "200 epochs,\non validation data if the table has these accuracies for all of them, and on test data"
    )

    @cached_property
    def accuracies(self) -> pandas.DataFrame:
        """The drawn accuracies: panel, curve, then the columns of `final_accuracies`."""
        return _stacked(self.found, lambda study: final_accuracies(study, self.table))

    def as_table(self) -> pandas.DataFrame:
        """Return the drawn accuracies as fractions."""
        return self.accuracies

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return mean and standard deviation beside table 5 of NAS-Bench-201."""
        return {"table5": compare_with_published(self.accuracies)}

    def draw(self) -> "Figure":
        """Return the picture, as `draw_sorted_accuracies` does."""
        return draw_sorted_accuracies(self.found, self.accuracies, self.text)

    def show(self, console: "Console") -> None:
        """Print mean and standard deviation of each curve beside table 5 of NAS-Bench-201."""
        from rich.table import Table as Screen

        screen = Screen("curve", "data set", "split", "accuracy [%]", "published")
        for row in compare_with_published(self.accuracies).to_dict("records"):
            own = _format_spread(row["mean"], row["std"])
            published = _format_spread(row["published_mean"], row["published_std"])
            screen.add_row(row["curve"], row["dataset"], row["split"], own, published)
        console.print(screen)


class AccuracyOverTime(BlackBoxResults):
    """Figure 6 of NATS-Bench: mean test accuracy of the incumbents over simulated seconds, per data set."""

    STATISTIC = (
        "mean over searches every 100 simulated seconds, once all searches have an incumbent; each panel is searched "
        "on its own data set"
    )
    SHOWN = "final test accuracy"

    def as_table(self) -> pandas.DataFrame:
        """Return the drawn accuracies: panel, curve, then the columns of `accuracy_over_time`."""
        return _stacked(self.found, accuracy_over_time)

    def draw(self) -> "Figure":
        """Return the picture, as `draw_accuracy_over_time` does."""
        return draw_accuracy_over_time(self.found, self.text)

    def shown_values(self, study: BlackBoxStudy) -> "pandas.Series[float]":
        """Return the final test accuracies."""
        return 1 - study.final["test_error"]


RESULTS: Mapping[str, type[BlackBoxResults]] = {
    "nas101-figure7": RegretAndECDF,
    "nas101-figure8": MiniAgainstFull,
    "nas201-figure6": SortedRuns,
    "nats-figure6": AccuracyOverTime,
}
"""The class of results of each figure in `figures.BLACK_BOX_FIGURES`."""


# Values ---------------------------------------------------------------------------------------------------------------


def _stacked(found: Sequence[DrawnStudy], frame_of: Callable[[BlackBoxStudy], pandas.DataFrame]) -> pandas.DataFrame:
    """Return the concatenated frames of all studies, with the additional first columns panel and curve."""
    frames = {(panel.key, curve.key): frame_of(study) for panel, curve, study in found}
    return pandas.concat(frames, names=["panel", "curve"]).reset_index(level=["panel", "curve"]).reset_index(drop=True)


def accuracy_over_time(study: BlackBoxStudy) -> pandas.DataFrame:
    """Return the test accuracy of the incumbents (fractions) every 100 simulated seconds, as `statistics_over_time`."""
    times = np.arange(EVERY, study.config["seconds"] + EVERY / 2, EVERY)
    errors = statistics_over_time(study.trajectory, times, "test_error")
    accuracies = {"mean": "mean", "median": "median", "low": "high", "high": "low"}  # a high error is a low accuracy
    return errors.assign(**{name: 1 - errors[error] for name, error in accuracies.items()})


def _names(spaces: Sequence[str]) -> str:
    return " and ".join(SPACES.get(space, space) for space in spaces)


def _extent(options: Mapping[str, Any]) -> str:
    seconds = options["seconds"]
    limit = f"{seconds:,.0f} simulated seconds" if seconds is not None else f"{options['evaluations']:,} trainings"
    return f"{counted(options['repeats'], 'search')} of {limit} per curve"


def _format_spread(mean: float, spread: float) -> str:
    return "–" if isnan(mean) else f"{mean:.2f} ± {spread:.2f}"


# Pictures -------------------------------------------------------------------------------------------------------------


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


def draw_sorted_accuracies(found: Sequence[DrawnStudy], accuracies: pandas.DataFrame, words: FigureText) -> "Figure":
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
