"""Figures of black-box optimizers: 7 and 8 of NAS-Bench-101 and 6 of NAS-Bench-201."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.drawing import caption, draw_anytime, has_cut_band, regret_floor
from nasbench1shot1.black_box_search.options import recorded_study
from nasbench1shot1.black_box_search.record import BlackBoxStudy, Clock
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.display.axes import label_log_axis, use_whole_numbers
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, curve_rows, curve_styles
from nasbench1shot1.display.curves import Pooled
from nasbench1shot1.display.style import AnyStyle, tones
from nasbench1shot1.experiments.accuracies import accuracies_of, compare_with_published, spread_text
from nasbench1shot1.experiments.comparison.overall import shares_below
from nasbench1shot1.experiments.reproduction.figures.black_box import ROWS
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS, SPACES
from nasbench1shot1.experiments.reproduction.results.base import CurveResults, with_spread
from nasbench1shot1.ground.errors import alternatives
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

Style = dict[str, Any]


class BlackBoxStudies(CurveResults):
    """The results of black-box studies, one per panel and curve, and their texts.

    Attributes:
        STATISTIC: the first line of the caption (`statistic`).
        SHOWS_REGRET: whether the figure shows regrets; otherwise, it shows accuracies.
    """

    STATISTIC: ClassVar[str] = ""
    SHOWS_REGRET: ClassVar[bool] = False

    @property
    def statistic(self) -> str:
        """The first line of the caption. Default: `STATISTIC`."""
        return self.STATISTIC

    @property
    def numbers_of_runs(self) -> Collection[int]:
        """The number of searches of each study."""
        return [len(found.runs[0].lines) for found in self.found]

    def _title(self) -> str:
        """Return the title: the spaces, the extent of the searches, and the setting of the paper if it differs."""
        own, full = [found.runs[0].config for found in self.found], self.figure.full
        used = list(dict.fromkeys(config["space"] for config in own))
        published = {panel.key: {**full.options, **panel.options} for panel in full.panels}
        spaces = list(dict.fromkeys(options["space"] for options in published.values()))
        is_paper = all(
            found.panel.key in published
            and all(config[name] == value for name, value in published[found.panel.key].items())
            for found, config in zip(self.found, own, strict=True)
        )
        setting = self.figure.setting
        if not is_paper and not setting:
            setting = f"{_names(spaces)}, {_extent(list(published.values()))}"
        return self.title(f"{_names(used)}, {_extent(own)}", f"paper: {setting}" if setting else "")

    def _caption(self) -> str:
        studies = [found.runs[0] for found in self.found]
        about = filter(None, [self.figure.note, self.statistic, self.budgets()])
        statistic = self.pooling.statistic if self.SHOWS_REGRET else None
        return "\n".join([*about, *self.unfinished(), caption(studies, statistic=statistic)])

    def budgets(self) -> str:
        """Return the budgets at which the searches train, in words that name the curves if their budgets differ."""
        found = dict[str, list[str]]()
        for each in self.found:
            study = each.runs[0]
            repeats = Repeats(recorded_study(study.config, study.folder / CONFIG), self.table)
            budgets = sorted(map(int, study.feedback_repeats))
            found.setdefault(repeats.describe_budgets(budgets), []).append(each.curve.label)
        several = len(found) > 1
        parts = (f"{text} ({', '.join(dict.fromkeys(labels))})" if several else text for text, labels in found.items())
        return f"searches: {'; '.join(parts)}"


class BlackBoxResults(BlackBoxStudies):
    """The results of black-box studies in rows of at most five curves.

    Attributes:
        SHOWN: the quantity of every study that is printed on the screen.
        SHARED: which panels share axes.
    """

    SHOWN: ClassVar[str] = "final test regret"
    SHARED: ClassVar[Any] = "col"

    def headings(self) -> tuple[str, ...]:
        """Return the column headings of the summary."""
        return "panel", "curve", "searches", self.SHOWN, "median"

    def rows(self) -> list[list[str]]:
        """Return the results of the searches of each curve."""
        rows = []
        for found in self.found:
            values = self.shown_values(found.runs[0])
            mean, median = with_spread(values.mean(), values.std(), 3), with_spread(values.median(), np.nan, 3)
            rows.append([*found.place, str(len(values)), mean, median])
        return rows

    def shown_values(self, study: BlackBoxStudy) -> "pandas.Series[float]":
        """Return the values of `SHOWN` for all searches, as fractions."""
        return study.final["test_regret"]

    def stacked(self, frame_of: Callable[[BlackBoxStudy], pandas.DataFrame]) -> pandas.DataFrame:
        """Return the concatenated frames of all studies, with the additional first columns panel and curve."""
        frames = {found.place: frame_of(found.runs[0]) for found in self.found}
        return pandas.concat(frames, names=["panel", "curve"]).reset_index(["panel", "curve"]).reset_index(drop=True)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The regrets of all studies over time: panel, curve, then the columns of `values_over_time`."""
        statistic = self.pooling.statistic
        return self.stacked(lambda study: values_over_time(study.regret_curve(self.spread, statistic), study.clock))

    def styles(self, colours: Mapping[str, str]) -> dict[str, Style]:
        """Return colour and line of every curve, by its key, which is the name of its optimizer."""
        return dict(zip(self.labels, curve_styles(list(self.labels), colours), strict=True))

    @property
    def curve_rows(self) -> list[list[str]]:
        """The keys of the curves in each row of panels."""
        return curve_rows([[found.curve.key for found in curves] for _, curves in self.by_panel])

    @property
    def _is_cut(self) -> bool:
        """Whether the band of some drawn regret is cut at 0."""
        banded = {key for keys in self.curve_rows if self.drawn_curves(keys) <= MOST_BANDS for key in keys}
        studies = (found.runs[0] for found in self.found if found.curve.key in banded)
        return self.SHOWS_REGRET and has_cut_band(studies, self.spread, self.pooling.statistic)

    @abstractmethod
    def columns(self) -> Sequence[Any]:
        """Return what distinguishes the columns of panels."""

    def drawn_curves(self, keys: Sequence[str]) -> int:
        """Return how many of the curves with some keys have finished runs."""
        return len(set(keys) & set(self.labels))

    @abstractmethod
    def draw_row(self, line: "Sequence[axes.Axes]", keys: Sequence[str], colours: Mapping[str, str]) -> None:
        """Draw the curves with some keys on a row of panels; given colours replace the usual ones."""

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture."""
        rows, columns = self.curve_rows, len(self.columns())
        panel = (max(3.4, 8 / columns), 3.1)
        shared: dict[str, Any] = {"sharex": self.SHARED, "sharey": self.SHARED}
        with Canvas(len(rows), columns, panel=panel, style=style, wraps=True, **shared) as canvas:
            lines = [canvas.axes] if len(rows) == 1 else list(canvas.grid)
            for keys, line in zip(rows, lines, strict=True):
                self.draw_row(line, keys, colours)
                for ax in line:
                    ax.grid(alpha=0.25)
            for ax in (ax for line in lines[:-1] for ax in line):
                ax.set_xlabel("")  # only the last row has a label
            band = self.band([self.drawn_curves(keys) for keys in rows], self._is_cut) if self.figure.pooling else ""
            styles = self.styles(colours)
            legend = {label: styles[key] for key, label in self.labels.items()} | self.levels()
            return canvas.finish(self._title(), self._caption(), legend=legend, band=band)

    def levels(self) -> dict[str, Style]:
        """Return the lines of values that do not change, such as baselines, by label, for the legend. Default: none."""
        return {}


class RegretAndECDF(BlackBoxResults):
    """Figure 7 of NAS-Bench-101: mean test regret over simulated seconds, and the ECDF of the final regrets."""

    SHOWS_REGRET = True
    STATISTIC = "right: fraction of searches by final regret; regrets of zero are drawn at the left edge"

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the right panel's values: panel, curve, test_regret and fraction (of searches)."""
        frame = self.stacked(lambda study: ecdf(study.final["test_regret"]))
        return {"ecdf": frame.rename(columns={"value": "test_regret"})}

    def columns(self) -> Sequence[Any]:
        """Return regrets over time (left) and the ECDF (right)."""
        return ("regret", "ecdf")

    def draw_row(self, line: "Sequence[axes.Axes]", keys: Sequence[str], colours: Mapping[str, str]) -> None:
        """Draw regrets over time (left) and the ECDF (right)."""
        finals = {found.curve.key: found.runs[0].final["test_regret"].to_numpy(np.float64) for found in self.found}
        floor = 0.5 * min(float(values[values > 0].min(initial=0.01)) for values in finals.values())
        lowest, styles = regret_floor(self.runs, spread=self.spread), self.styles(colours)
        for found in self.found:
            if (key := found.curve.key) in keys:
                look: Style = {"label": found.curve.label, "style": styles[key]}
                has_band = len(keys) <= MOST_BANDS
                draw_anytime(line[0], found.runs[0], has_band=has_band, floor=lowest, spread=self.spread, **look)
                _draw_ecdf(line[1], finals[key], floor=floor, **look)


class MiniAgainstFull(BlackBoxResults):
    """Figure 8 of NAS-Bench-101: variants of evolution on a small and a large space."""

    SHOWS_REGRET = True
    STATISTIC = (
        "mutation rate: expected number of changed choices; regularized evolution has its default tournament size, 10"
    )
    SHARED = True

    @property
    def curve_rows(self) -> list[list[str]]:
        """The keys of the curves in each entry of `ROWS`."""
        keys = {found.curve.key for found in self.found}
        return [list(row) for row in ROWS.values() if keys & set(row)]

    def columns(self) -> Sequence[Any]:
        """Return the spaces."""
        return self.by_panel

    def draw_row(self, line: "Sequence[axes.Axes]", keys: Sequence[str], colours: Mapping[str, str]) -> None:
        """Draw the median test regret of one entry of `ROWS` over simulated seconds, with one column per space."""
        name = next(name for name, row in ROWS.items() if list(row) == list(keys))
        styles, pooling = self.styles(colours), self.pooling
        look: Style = {"statistic": pooling.statistic, "spread": self.spread}
        look["floor"] = regret_floor(self.runs, pooling.statistic, self.spread)
        look["has_band"] = self.drawn_curves(keys) <= MOST_BANDS
        for ax, (panel, curves) in zip(line, self.by_panel, strict=True):
            by_key = {found.curve.key: found.runs[0] for found in curves}
            for key in (key for key in keys if key in by_key):
                look |= {"label": self.labels[key], "style": styles[key]}
                draw_anytime(ax, by_key[key], **look)
            ax.set_title(f"{panel.title}: {name}")
            ax.set_ylabel("median test regret [%]")


class SortedRuns(BlackBoxResults):
    """Figure 6 of NAS-Bench-201: the sorted final accuracies of all searches on three data sets."""

    STATISTIC = (
        "shown: accuracies of the final incumbents after 200 epochs, on validation data if the table has these "
        "accuracies for all of them, and on test data"
    )

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The drawn accuracies as fractions: panel, curve, then the columns of `final_accuracies`."""
        return self.stacked(lambda study: final_accuracies(study, self.table))

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return mean and standard deviation beside table 5 of NAS-Bench-201."""
        return {"table5": compare_with_published(self.frame)}

    def headings(self) -> tuple[str, ...]:
        """Return the column headings of the summary."""
        return "curve", "data set", "split", "accuracy [%]", "published"

    def rows(self) -> list[list[str]]:
        """Return mean and standard deviation of each curve beside table 5 of NAS-Bench-201."""
        frame = compare_with_published(self.frame)
        return [
            [row["curve"], row["dataset"], row["split"], *(spread_text(row, name) for name in ("", "published_"))]
            for row in frame.to_dict("records")
        ]

    def columns(self) -> list[tuple[str, str]]:
        """Return the data sets and splits."""
        return list(dict.fromkeys(zip(self.frame["dataset"], self.frame["split"], strict=True)))

    def draw_row(self, line: "Sequence[axes.Axes]", keys: Sequence[str], colours: Mapping[str, str]) -> None:
        """Draw the sorted accuracies of all searches, with one column per data set and split."""
        styles = self.styles(colours)
        for ax, (dataset, split) in zip(line, self.columns(), strict=True):
            own = self.frame.query("dataset == @dataset and split == @split and curve in @keys")
            for found in self.found:
                if (key := found.curve.key) in keys:
                    curve = own[own["curve"] == key]
                    ax.plot(curve["rank"], 100 * curve["accuracy"], label=found.curve.label, **tones(styles[key]))
            ax.set_xlabel("search, sorted by accuracy")
            use_whole_numbers(ax.xaxis)
            ax.set_title(f"{DATA_SETS.get(dataset, dataset)}, {split}")
        line[0].set_ylabel("accuracy after 200 epochs [%]")


def values_over_time(curve: Pooled, clock: Clock) -> pandas.DataFrame:
    """Return a curve as a data frame with the columns seconds or evaluations, mean, median, low and high (the band)."""
    time = "seconds" if clock == "simulated_seconds" else clock
    return curve.frame.rename(columns={"at": time})[[time, "mean", "median", "low", "high"]]


def ecdf(values: Any) -> pandas.DataFrame:
    """Return the empirical cumulative distribution function (ECDF) of N values.

    The columns are `value` (ascending) and `fraction`, the fraction of values up to and including `value`.
    """
    ascending = np.sort(np.asarray(values, np.float64))
    return pandas.DataFrame({"value": ascending, "fraction": shares_below(ascending, ascending)})


def _draw_ecdf(ax: "axes.Axes", regrets: Any, *, floor: float, label: str, style: Style) -> None:
    """Draw the ECDF of final test regrets, given as fractions, in percent on a logarithmic axis.

    Regrets below `floor`, a fraction, are drawn at `floor`, because a logarithmic axis cannot show zero.
    """
    frame = ecdf(np.maximum(regrets, floor))
    at, fraction = 100 * frame["value"], np.r_[0.0, frame["fraction"]]
    ax.step(np.r_[at[0], at], fraction, where="post", label=label, **tones(style))
    ax.set_xscale("log")
    label_log_axis(ax.xaxis)
    ax.set_xlabel("final test regret [%]")
    ax.set_ylabel("fraction of searches")


def final_accuracies(study: BlackBoxStudy, table: Table) -> pandas.DataFrame:
    """Return the accuracies of the final incumbents of a study on every data set and split, as `accuracies_of` does."""
    return accuracies_of([Architecture.parse(line["architecture"]) for line in study.lines], table)


def _names(spaces: Sequence[str]) -> str:
    return " and ".join(SPACES.get(space, space) for space in spaces)


def _extent(options: Sequence[Mapping[str, Any]]) -> str:
    """Return the number and the limits of the searches with some options, which may differ between data sets."""
    seconds = sorted({float(each["seconds"]) for each in options if each.get("seconds") is not None})
    if seconds:
        limits = f"{alternatives(f'{limit:,.0f}' for limit in seconds)} simulated seconds"
    else:
        limits = f"{options[0]['evaluations']:,} trainings"
    return f"{counted(options[0]['repeats'], 'search')} of {limits} per curve"
