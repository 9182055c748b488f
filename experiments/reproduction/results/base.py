"""The results of a figure's finished runs, scored on one table: CSV files, a picture and a summary on the screen."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas

from nasbench1shot1.display.colours import MOST_BANDS, Colors, checked_colors, checked_labels
from nasbench1shot1.display.curves import describe_band, spread_words, with_cut
from nasbench1shot1.display.style import AnyStyle, Spread, tones
from nasbench1shot1.evaluator import mean_regret_of
from nasbench1shot1.experiments.reproduction.figures.parts import Curve, Figure, Panel, Pooling
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.ground.text import counted, counted_range, markdown_table, print_table
from nasbench1shot1.one_shot_search.captions import table_text
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.display import axes


Place = tuple[str, str]
"""The keys of a panel and of a curve."""
MOST_LISTED = 6
"""Maximum number of unfinished curves that captions list."""
OURS: dict[str, Any] = {"marker": "o", "markersize": 5}
"""The look of our values in panels that show published values, too."""
THEIRS: dict[str, Any] = {"marker": "D", "markersize": 4, "color": "#888888", "markerfacecolor": "white"}
"""The look of published values."""
BELOW = 0.28
"""Distance of a published value below ours, in rows."""


@dataclass(frozen=True, eq=False)
class Found:
    """The finished runs of one curve.

    Attributes:
        panel, curve: the panel and the curve.
        runs: the runs.
        is_joined: whether the runs were added to the figure with `--join`.
    """

    panel: Panel
    curve: Curve
    runs: Sequence[Any]
    is_joined: bool = False

    @property
    def place(self) -> Place:
        """The keys of the panel and the curve."""
        return self.panel.key, self.curve.key


@dataclass(frozen=True, eq=False)
class Results(ABC):
    """The results of the finished runs of a figure.

    Attributes:
        figure: the figure as data.
        jobs: all jobs of the figure, finished or not.
        shown: those jobs whose results the figure shows.
        table: the table that scores the runs.
        found: curves with finished runs, in the order of the figure.
        joined: finished runs that the figure shows beside its own.
        spread: what bands show.
        HEADINGS: column headings of the summary on the screen.
        WHOLE: headings of columns whose cells must not be wrapped.
        SMALL: a sentence about what the quick scale cannot show.
    """

    figure: Figure
    jobs: Sequence[FigureJob]
    shown: Sequence[FigureJob]
    table: Table
    found: Sequence[Found]
    joined: Sequence[RunRecord] = ()
    spread: Spread = "ci"

    HEADINGS: ClassVar[tuple[str, ...]] = ()
    WHOLE: ClassVar[tuple[str, ...]] = ()
    SMALL: ClassVar[str] = ""

    @classmethod
    def with_joined(cls, found: Sequence[Found], joined: Sequence[RunRecord]) -> Sequence[Found]:
        """Return the curves of the figure, and curves of joined runs if the figure draws them. Default: the former."""
        return found

    @property
    @abstractmethod
    def frame(self) -> pandas.DataFrame:
        """The plotted values, for the CSV file."""

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return the contents of further CSV files by the suffix of their names. Default: none."""
        return {}

    @abstractmethod
    def draw(
        self,
        style: AnyStyle | None = None,
        *,
        colors: Colors | None = None,
        labels: Sequence[str] | str | None = None,
    ) -> "axes.Figure":
        """Return the picture.

        Args:
            style: "screen" (default), or as in `style.AnyStyle`.
            colors: a sequence of one colour per curve, or colours by the label or key of a curve; a curve has this
                colour in all panels. Default: the colours of methods and variants.
            labels: new labels, one per curve.

        Raises:
            InvalidInputError: there is no such style, or `colors` or `labels` do not fit the curves.
        """

    def headings(self) -> Sequence[str]:
        """Return the column headings of the summary on the screen. Default: `HEADINGS`."""
        return self.HEADINGS

    @abstractmethod
    def rows(self) -> Sequence[Sequence[str]]:
        """Return the rows of the summary on the screen, with the columns `headings`."""

    def notes(self) -> Sequence[str]:
        """Return lines below the summary. Default: none."""
        return ()

    def markdown(self) -> str:
        """Return the summary in Markdown, with the table that scores the runs."""
        rows = self.rows()
        table = markdown_table(self.headings(), rows)
        return "\n\n".join([table.rstrip(), *self._lines_below(rows), f"Table {self.table.id}"]) + "\n"

    def _lines_below(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Return `notes` and, if the rows of the summary have ±, what it stands for."""
        has_spread = any("±" in cell for row in rows for cell in row)
        return [*self.notes(), *(["±: standard deviation"] if has_spread else [])]

    def show(self, console: "Console") -> None:
        """Print a summary."""
        from rich.table import Table as Screen

        screen, rows = Screen(), self.rows()
        for heading in self.headings():
            screen.add_column(heading, no_wrap=heading in self.WHOLE)
        for row in rows:
            screen.add_row(*row)
        print_table(screen, console)
        for note in self._lines_below(rows):
            console.print(note, highlight=False, soft_wrap=True)

    @cached_property
    def runs(self) -> list[Any]:
        """All finished runs."""
        return [run for found in self.found for run in found.runs]

    @cached_property
    def by_panel(self) -> list[tuple[Panel, list[Found]]]:
        """Every panel with its curves."""
        panels = dict[str, list[Found]]()
        for found in self.found:
            panels.setdefault(found.panel.key, []).append(found)
        return [(curves[0].panel, curves) for curves in panels.values()]

    @property
    def numbers_of_runs(self) -> Collection[int]:
        """The number of pooled runs of each curve: its finished runs by default."""
        return [len(found.runs) for found in self.found]

    @property
    def seeds(self) -> int:
        """Largest number of pooled runs of a curve."""
        return max(self.numbers_of_runs)

    @property
    def seeds_text(self) -> str:
        """The number of the figure's own finished runs of a curve in words: "10 seeds", or "1 to 2 of 10 seeds"."""
        planned = len({{**job.search, **job.options}["seed"] for job in self.shown})
        numbers = [len(found.runs) for found in self.found if not found.is_joined]
        least, most = min(numbers), max(numbers)
        if least == planned:
            return counted(planned, "seed")
        done = f"{least} to {most}" if least < most else str(least)
        return f"{done} of {counted(planned, 'seed')}"

    def band(self, axes_have: Sequence[int], is_cut: bool = False) -> str:
        """Return what the curves and bands show, for the legend.

        Args:
            axes_have: the numbers of curves on each of the axes; axes of more than `MOST_BANDS` have no bands.
            is_cut: whether a band was cut at zero.
        """
        if self.seeds == 1:
            return ""
        pooling = self.pooling
        if min(axes_have) > MOST_BANDS:
            return f"{pooling.statistic} over {counted_range(self.numbers_of_runs, pooling.over)}"
        some = "" if max(axes_have) <= MOST_BANDS else f"; bands where at most {MOST_BANDS} curves share axes"
        shown: dict[str, Any] = {"statistic": pooling.statistic, "is_cut": is_cut}
        return describe_band(self.spread, self.numbers_of_runs, pooling.over, **shown) + some

    def brackets_note(self, is_cut: bool) -> list[str]:
        """Return a line about the intervals in brackets of the summary; none if every curve has one run."""
        words = with_cut(spread_words(self.spread, self.numbers_of_runs), is_cut)
        return [f"in brackets: {words}"] if self.seeds > 1 else []

    @property
    def pooling(self) -> Pooling:
        """The pooling of the runs of a curve."""
        assert self.figure.pooling is not None  # results without pooled curves do not ask
        return self.figure.pooling

    # Words

    def title(self, *lines: str) -> str:
        """Return the title: what is reproduced, lines about the runs, and below the full scale the paper's setting."""
        is_full = self.jobs[0].options.get("scale", "full") == "full"
        setting = "" if is_full or not self.figure.setting else f"paper: {self.figure.setting}"
        of_paper = f"After {self.figure.source}: " if self.figure.source else ""
        first = f"{of_paper}{self.figure.title}"
        return "\n".join(filter(None, [first, *lines, setting]))

    def caption(self, *lines: str, frames: Sequence[pandas.DataFrame] = (), table: str | None = None) -> str:
        """Return the caption: lines about the figure, unfinished curves, the scale's limits, and the table.

        Args:
            *lines: the lines; empty ones are left out.
            frames: scored metrics of the searches, from which the line about the table says what is measured.
            table: another line about the table. Default: its id, what is measured, and its fidelity.
        """
        small = [self.SMALL] if self.is_quick and self.SMALL else []
        last = table_text(frames, self.table.id, self.table.fidelity()) if table is None else table
        return "\n".join([*filter(None, lines), *self.unfinished(), *small, last])

    @property
    def is_quick(self) -> bool:
        """Whether the runs have the quick scale."""
        return bool(self.jobs[0].options.get("scale") == "quick")

    def unfinished(self) -> list[str]:
        """Return a line that says how many runs are finished, if some are not, and how many of each curve, if few."""
        counts = {found.place: len(found.runs) for found in self.found}
        planned = Counter((job.panel, job.curve) for job in self.shown)
        short = {place: counts.get(place, 0) for place, n in planned.items() if counts.get(place, 0) < n}
        if not short:
            return []
        done = sum(counts.get(place, 0) for place in planned)
        line = f"{self.jobs[-1].of.nouns[1]} finished so far: {done:,} of {planned.total():,}"
        listed = ", ".join(f"{'/'.join(place)} {n}" for place, n in short.items())
        return [f"{line} ({listed})" if len(short) <= MOST_LISTED else line]


class CurveResults(Results):
    """Results that are drawn as the curves of the figure."""

    def draw(
        self,
        style: AnyStyle | None = None,
        *,
        colors: Colors | None = None,
        labels: Sequence[str] | str | None = None,
    ) -> "axes.Figure":
        """Return the picture; arguments and errors as in `Results.draw`."""
        shown = self.relabelled(labels)
        colours = checked_colors(colors, list(shown.labels), list(shown.labels.values()))
        given = {key: colour for key, colour in zip(shown.labels, colours, strict=True) if colour is not None}
        return shown.drawn(style, given)

    @abstractmethod
    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture in a style, in which some curves have given colours (by the key of the curve)."""

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of every curve by its key, in the order of the figure."""
        return {found.curve.key: found.curve.label for found in self.found}

    def relabelled(self, labels: Sequence[str] | str | None) -> Self:
        """Return these results with new labels, one per curve; raises InvalidInputError if their number differs."""
        if labels is None:
            return self
        new = dict(zip(self.labels, checked_labels(labels, list(self.labels)), strict=True))
        curves = [replace(found.curve, label=new[found.curve.key]) for found in self.found]
        return replace(
            self, found=[replace(found, curve=curve) for found, curve in zip(self.found, curves, strict=True)]
        )


class SearchResults(CurveResults):
    """Results of one-shot searches, scored on the table of the figure."""

    SMALL = "searches this small show that the methods run and how they begin, but not how they rank"

    @cached_property
    def frames(self) -> dict[Place, list[pandas.DataFrame]]:
        """The metrics of every search, as in `Run.metrics`, by panel and curve."""
        return {found.place: [rescore(run, self.table) for run in found.runs] for found in self.found}

    @cached_property
    def final_rows(self) -> dict[Place, pandas.DataFrame]:
        """The last epoch of every search, by panel and curve."""
        return {place: pandas.concat([frame.tail(1) for frame in frames]) for place, frames in self.frames.items()}

    @property
    def all_frames(self) -> list[pandas.DataFrame]:
        """The metrics of all searches."""
        return [frame for frames in self.frames.values() for frame in frames]

    @property
    def size_text(self) -> str:
        """The lengths of the searches and the number of seeds in words: "50 epochs, 10 seeds"."""
        lengths = sorted({run.config["epochs"] for run in self.runs})
        longest = counted(lengths[-1], "epoch")
        return f"{longest if len(lengths) == 1 else f'{lengths[0]} to {longest}'}, {self.seeds_text}"

    def mean_regret(self, curves: Sequence[Found]) -> float | None:
        """Return the mean test regret of the space of some curves; None if the table does not have it."""
        config = curves[0].runs[0].config
        return mean_regret_of(config["space"], config["dataset"], self.table)


def drawing_of(figure: Figure) -> type[Results]:
    """Return the class that reads and draws the runs of a figure."""
    drawing: type[Results] = imported(f"nasbench1shot1.experiments.reproduction.results.{figure.drawing}")
    return drawing


def with_spread(mean: float, spread: float, digits: int = 2, scale: float = 100.0, unit: str = " %") -> str:
    """Return a mean and its standard deviation, if there is one, in words: "5.12 ± 0.30 %"."""
    if isnan(mean):
        return "undefined"
    value = f"{scale * mean:.{digits}f}"
    return f"{value}{unit}" if isnan(spread) else f"{value} ± {scale * spread:.{digits}f}{unit}"


def draw_point(ax: "axes.Axes", row: Mapping[Any, Any], prefix: str, height: float, **look: Any) -> None:
    """Draw the mean in a row with its standard deviation, if there is one; nothing without a mean."""
    mean, std = row[f"{prefix}mean"], row[f"{prefix}std"]
    if not isnan(mean):
        bar = None if isnan(std) else std
        ax.errorbar(mean, height, xerr=bar, linestyle="", capsize=2, elinewidth=1.2, **tones(look))


def in_front(frame: pandas.DataFrame, **columns: Any) -> pandas.DataFrame:
    """Return a frame with further first columns of constant values."""
    for place, (name, value) in enumerate(columns.items()):
        frame.insert(place, name, value)
    return frame
