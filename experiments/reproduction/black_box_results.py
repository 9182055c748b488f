"""The results of a figure's black-box studies: data frames for CSV files, a picture and a table on the screen."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import pandas

from nasbench1shot1.black_box_search.drawing import caption
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.experiments.black_box_studies import compare_with_published, ecdf, final_accuracies
from nasbench1shot1.experiments.reproduction.black_box_drawing import (
    DrawnStudy,
    FigureText,
    accuracy_over_time,
    draw_accuracy_over_time,
    draw_regret_and_ecdf,
    draw_rows,
    draw_sorted_accuracies,
)
from nasbench1shot1.experiments.reproduction.figure import FigureResults
from nasbench1shot1.experiments.reproduction.figures import SPACES, BlackBoxPlan
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


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


def _stacked(found: Sequence[DrawnStudy], frame_of: Callable[[BlackBoxStudy], pandas.DataFrame]) -> pandas.DataFrame:
    """Return the concatenated frames of all studies, with the additional first columns panel and curve."""
    frames = {(panel.key, curve.key): frame_of(study) for panel, curve, study in found}
    return pandas.concat(frames, names=["panel", "curve"]).reset_index(level=["panel", "curve"]).reset_index(drop=True)


def _names(spaces: Sequence[str]) -> str:
    return " and ".join(SPACES.get(space, space) for space in spaces)


def _extent(options: Mapping[str, Any]) -> str:
    seconds = options["seconds"]
    limit = f"{seconds:,.0f} simulated seconds" if seconds is not None else f"{options['evaluations']:,} trainings"
    return f"{counted(options['repeats'], 'search')} of {limit} per curve"


class RegretAndECDF(BlackBoxResults):
    """Figure 7 of NAS-Bench-101: mean test regret over simulated seconds, and the ECDF of the final regrets."""

    STATISTIC = (
        f"left: mean over searches; shaded, on axes of at most {MOST_BANDS} curves: 25 % to 75 % quantiles\n"
        "right: regrets of zero are drawn at the left edge"
    )

    def as_table(self) -> pandas.DataFrame:
        """Return the left panel's values: panel, curve, then the columns of `anytime.statistics_over_time`."""
        return _stacked(self.found, attrgetter("regret_statistics"))

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the right panel's values: panel, curve, test_regret and fraction (of searches)."""
        frame = _stacked(self.found, lambda study: ecdf(study.final["test_regret"]))
        return {"ecdf": frame.rename(columns={"value": "test_regret"})}

    def draw(self) -> "Figure":
        """Return the picture, as `black_box_drawing.draw_regret_and_ecdf` does."""
        return draw_regret_and_ecdf(self.found, self.text)


class MiniAgainstFull(BlackBoxResults):
    """Figure 8 of NAS-Bench-101: variants of evolution on a small and a large space."""

    STATISTIC = (
        f"median over searches; shaded, on axes of at most {MOST_BANDS} curves: 25 % to 75 % quantiles\n"
        "mutation rate: expected number of changed choices"
    )

    def as_table(self) -> pandas.DataFrame:
        """Return the drawn values: panel, curve, then the columns of `anytime.statistics_over_time`."""
        return _stacked(self.found, attrgetter("regret_statistics"))

    def draw(self) -> "Figure":
        """Return the picture, as `black_box_drawing.draw_rows` does."""
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
        """Return the picture, as `black_box_drawing.draw_sorted_accuracies` does."""
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


def _format_spread(mean: float, spread: float) -> str:
    return "–" if isnan(mean) else f"{mean:.2f} ± {spread:.2f}"


class AccuracyOverTime(BlackBoxResults):
    """Figure 6 of NATS-Bench: mean test accuracy of the incumbents over simulated seconds, per data set."""

    STATISTIC = (
        "mean over searches every 100 simulated seconds, once all searches have an incumbent; each panel is searched "
        "on its own data set"
    )
    SHOWN = "final test accuracy"

    def as_table(self) -> pandas.DataFrame:
        """Return the drawn accuracies: panel, curve, then the columns of `black_box_drawing.accuracy_over_time`."""
        return _stacked(self.found, accuracy_over_time)

    def draw(self) -> "Figure":
        """Return the picture, as `black_box_drawing.draw_accuracy_over_time` does."""
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
"""The class of results of each figure of `black_box_figures`."""
