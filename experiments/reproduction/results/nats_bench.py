"""Table 4 and figures 6 and 7 of NATS-Bench: accuracies of final architectures, over time and over search epochs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from nasbench1shot1.black_box_search.drawing import CLOCKS
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.axes import label_epochs
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, curve_styles
from nasbench1shot1.display.curves import (
    LEVEL_COLOUR,
    LEVEL_LOOK,
    OF_A_SHARE,
    Pooled,
    draw_curve,
    draw_level,
    pool,
    pool_values,
    span,
)
from nasbench1shot1.display.style import AnyStyle, Spread, tones
from nasbench1shot1.evaluator import LARGEST, Judge
from nasbench1shot1.experiments.accuracies import (
    SIZE_PUBLISHED,
    Published,
    accuracies_of,
    compare_with_published,
    spread_text,
)
from nasbench1shot1.experiments.reproduction.figures.nats_bench import ONE_SHOT, SIZE
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS, Curve
from nasbench1shot1.experiments.reproduction.results.base import (
    BELOW,
    OURS,
    THEIRS,
    Found,
    Place,
    SearchResults,
    draw_point,
    in_front,
    with_spread,
)
from nasbench1shot1.experiments.reproduction.results.black_box import (
    BlackBoxResults,
    BlackBoxStudies,
    Style,
    final_accuracies,
    values_over_time,
)
from nasbench1shot1.experiments.reproduction.results.regrets import variant_styles
from nasbench1shot1.ground.errors import flag
from nasbench1shot1.one_shot_search.captions import provenance, scale_text
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

EVERY = 100.0
"""Simulated seconds between two points of figure 6."""
STEEP = 0.02
"""The fraction of the clock of figure 6 in which curves may begin below the axis."""
PUBLISHED: Mapping[str, Published] = {SIZE: SIZE_PUBLISHED}
"""Published values of table 4 by space. The values of the topology space are not known to this package."""


def largest_accuracy(table: Table, space: str, dataset: str) -> float | None:
    """Return the test accuracy of the largest network of a space, a fraction.

    None if figures of the benchmark do not have this baseline (`Benchmark.has_largest_baseline`), or the table does not
    know which network is the largest.
    """
    baseline = Judge(dataset).baseline(space, table)
    if baseline is None:
        return None
    return float(table.query(baseline.network, dataset=table.objective(dataset).test).test_accuracy)


def draw_largest_accuracy(ax: "axes.Axes", table: Table, space: str, dataset: str) -> None:
    """Draw the test accuracy of the largest network in percent, if it is a baseline."""
    if (accuracy := largest_accuracy(table, space, dataset)) is not None:
        draw_level(ax, 100 * accuracy, LARGEST)


class AccuracyOverTime(BlackBoxResults):
    """Figure 6: mean test accuracy of the incumbents over simulated seconds or trainings, per data set."""

    SHOWN = "final test accuracy"

    @property
    def statistic(self) -> str:
        """The first line of the caption."""
        is_timed = self.found[0].runs[0].clock == "simulated_seconds"
        when = f"every {EVERY:.0f} simulated seconds" if is_timed else "after every training"
        return (
            f"values {when}, once all searches have an incumbent; each panel is searched on its own data set; vertical "
            f"axes begin with the lowest curve at {100 * STEEP:.0f} % of the time"
        )

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The drawn accuracies: panel, curve, then the columns of `values_over_time`."""
        return self.stacked(lambda study: values_over_time(accuracy_over_time(study, self.spread), study.clock))

    def shown_values(self, study: BlackBoxStudy) -> "pandas.Series[float]":
        """Return the final test accuracies."""
        return 1 - study.final["test_error"]

    def notes(self) -> Sequence[str]:
        """Return the test accuracies of the largest network, if it is a baseline."""
        found = {panel.title: self._largest(curves[0]) for panel, curves in self.by_panel}
        known = [f"{title} {100 * accuracy:.2f} %" for title, accuracy in found.items() if accuracy is not None]
        return [f"{LARGEST}: {', '.join(known)}"] if known else []

    def _start(self, found: Found) -> float:
        """Return the accuracy of a curve where the vertical axis begins; earlier values would flatten all curves."""
        curve = accuracy_over_time(found.runs[0], self.spread)
        return float(curve.centre[np.searchsorted(curve.at, STEEP * curve.at[-1])])

    def levels(self) -> dict[str, Style]:
        """Return the line of the baseline."""
        return {LARGEST: LEVEL_LOOK} if self._largest(self.found[0]) is not None else {}

    def _largest(self, found: Found) -> float | None:
        config = found.runs[0].config
        return largest_accuracy(self.table, config["space"], config["dataset"])

    def columns(self) -> Sequence[Any]:
        """Return the data sets."""
        return self.by_panel

    def draw_row(self, line: "Sequence[axes.Axes]", keys: Sequence[str], colours: Mapping[str, str]) -> None:
        """Draw the mean test accuracy of the incumbents over the clock, with one column per data set."""
        styles, has_band = self.styles(colours), len(keys) <= MOST_BANDS
        for ax, (panel, curves) in zip(line, self.by_panel, strict=True):
            config = curves[0].runs[0].config
            for found in curves:
                if found.curve.key in keys:
                    curve = accuracy_over_time(found.runs[0], self.spread)
                    draw_curve(ax, curve, label="", style=styles[found.curve.key], has_band=has_band)
            draw_largest_accuracy(ax, self.table, config["space"], config["dataset"])
            ax.set_title(panel.title)
            ax.set_xlabel(CLOCKS[curves[0].runs[0].clock])
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.set_ylim(bottom=100 * min(self._start(found) for found in curves), auto=None)
        label = "mean test accuracy of the incumbent [%]"
        line[0].set_ylabel(self.found[0].runs[0].goal.mark(label))


def accuracy_over_time(study: BlackBoxStudy, spread: Spread | None = None) -> Pooled:
    """Return the mean test accuracy of the incumbents (fractions) with its band, over the study's clock.

    There is a point every 100 simulated seconds, or after every training.
    """
    errors = study.traces("test_error")
    is_timed = study.clock == "simulated_seconds"
    end, step = (study.config["seconds"], EVERY) if is_timed else (study.config["evaluations"], 1.0)
    times = np.arange(step, end + step / 2, step)
    accuracies = [replace(trace, values=1 - trace.values, final=1 - trace.final) for trace in errors]
    return pool(accuracies, times[times >= span(errors)[0]], spread=spread, limits=OF_A_SHARE)


class AccuracyOfDataSets(SearchResults):
    """Figure 7: mean test accuracy of the preferred architectures of one-shot searches after every epoch."""

    HEADINGS = ("panel", "curve", "seeds", "final test accuracy", "final test regret")

    @cached_property
    def curves(self) -> dict[Place, Pooled]:
        """The pooled test accuracies, as fractions, up to the last epoch that all runs of a curve have."""
        found = {}
        for place, frames in self.frames.items():
            epochs = range(min(map(len, frames)))
            values = np.stack([1 - frame["table_test_error"].to_numpy(np.float64)[: len(epochs)] for frame in frames])
            found[place] = pool_values(list(epochs), values, spread=self.spread, limits=OF_A_SHARE)
        return found

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every panel, curve and epoch: seeds, mean, std, low and high (the band), and measured.

        Accuracies are fractions; `measured` is the fraction of measured values.
        """
        found = []
        for (panel, curve), pooled in self.curves.items():
            frame = pooled.frame.rename(columns={"at": "epoch", "runs": "seeds"})
            frame["epoch"] = frame["epoch"].astype(int)
            flags = [of["test_measured"].astype(float) for of in self.frames[panel, curve]]
            frame["measured"] = sum(flags) / len(flags)
            columns = ["epoch", "seeds", "mean", "std", "low", "high", "measured"]
            found.append(in_front(frame[columns], panel=panel, curve=curve))
        return pandas.concat(found, ignore_index=True)

    def rows(self) -> list[list[str]]:
        """Return the last epoch of every curve: mean and standard deviation (n - 1) over its seeds."""
        found = []
        for place, curve in self.curves.items():
            last, regrets = curve.frame.iloc[-1], [frame["test_regret"].iloc[-1] for frame in self.frames[place]]
            accuracy = with_spread(last["mean"], last["std"])
            regret = pandas.Series(regrets, dtype="float64")
            found.append([*place, str(len(regrets)), accuracy, with_spread(regret.mean(), regret.std())])
        return found

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: a panel for each data set."""
        styles, columns = variant_styles(self.figure, colours), len(self.by_panel)
        with Canvas(1, columns, panel=(max(3.6, 8 / columns), 3.4), style=style) as canvas:
            for ax, (panel, curves) in zip(canvas.axes, self.by_panel, strict=True):
                config = curves[0].runs[0].config
                for found in curves:
                    look, has_band = styles[found.place], len(curves) <= MOST_BANDS
                    draw_curve(ax, self.curves[found.place], label="", style=look, has_band=has_band)
                draw_largest_accuracy(ax, self.table, config["space"], config["dataset"])
                label_epochs(ax)
                ax.set_title(panel.title)
                ax.grid(alpha=0.25)
            measured = [frame["test_measured"].astype(float) for frame in self.all_frames]
            canvas.axes[0].set_ylabel(f"mean test accuracy [%]\n({provenance(pandas.concat(measured))})")
            legend = {found.curve.label: styles[found.place] for found in self.found}
            config = self.runs[0].config
            if largest_accuracy(self.table, config["space"], config["dataset"]) is not None:
                legend[LARGEST] = LEVEL_LOOK
            band = self.band([len(curves) for _, curves in self.by_panel])
            return canvas.finish(self._title(), self._caption(), legend=legend, band=band)

    def _title(self) -> str:
        return self.title(*described_scales(self.by_panel), self.size_text)

    def _caption(self) -> str:
        shown = "test accuracy, after full training, of the architecture that each search prefers after an epoch"
        return self.caption(shown, frames=self.all_frames)


def described_scales(panels: "Sequence[tuple[Any, Sequence[Found]]]") -> list[str]:
    """Return the scale of the searches in words: one text, or one for each panel if they differ."""
    configs = {panel.title: [run.config for found in curves for run in found.runs] for panel, curves in panels}
    texts = {title: scale_text(of_panel) for title, of_panel in configs.items()}
    if len(set(texts.values())) == 1:
        return list(dict.fromkeys(texts.values()))
    return [f"{title}: {text}" for title, text in texts.items()]


class FinalAccuracies(BlackBoxStudies):
    """Table 4: accuracies of the final architectures on the data set of each search, beside the published values."""

    HEADINGS = ("data set", "method (runs)", "split", "accuracy [%]", "published")
    WHOLE = ("data set", "split", "accuracy [%]", "published")

    @cached_property
    def methods(self) -> list[Found]:
        """The curves of all panels, with joined one-shot searches after the black-box studies of their data set."""
        found, joined = list[Found](), self._joined
        for panel, curves in self.by_panel:
            found += curves
            searches = dict[str, list[SearchRecord]]()
            for run in sorted(joined, key=lambda run: _order(_curve_of(run).key)):
                if run.config["dataset"] == panel.key:
                    searches.setdefault(_curve_of(run).key, []).append(run)
            found += [Found(panel, _curve_of(runs[0]), runs) for runs in searches.values()]
        return found

    @property
    def _joined(self) -> list[SearchRecord]:
        return [run for run in self.joined if isinstance(run, SearchRecord)]

    @cached_property
    def accuracies(self) -> pandas.DataFrame:
        """The accuracies of all final architectures as fractions: panel, curve, dataset, split, rank, accuracy."""
        frames = []
        for found in self.methods:
            first = found.runs[0]
            if isinstance(first, BlackBoxStudy):
                frame = final_accuracies(first, self.table)
            else:
                frame = accuracies_of([run.architectures[run.final_epoch] for run in found.runs], self.table)
            own = frame[frame["dataset"] == found.panel.key].reset_index(drop=True)
            frames.append(in_front(own, panel=found.panel.key, curve=found.curve.key))
        return pandas.concat(frames, ignore_index=True)

    @cached_property
    def compared(self) -> pandas.DataFrame:
        """The table, as `compare_with_published` returns it, in the order of panels, curves and splits."""
        space = self.found[0].runs[0].config["space"]
        return compare_with_published(self.accuracies, PUBLISHED.get(space, {}))

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """Mean and standard deviation beside the published values: the columns of `compared`."""
        return self.compared.sort_values("dataset", key=lambda names: names.map(list(DATA_SETS).index), kind="stable")

    def rows(self) -> list[list[str]]:
        """Return the table; a row without runs shows the largest network of spaces where it is a baseline."""
        labels = {found.curve.key: found.curve.label for found in self.methods}
        rows = []
        for dataset, own in self.frame.groupby("dataset", sort=False):
            title = DATA_SETS[str(dataset)]
            for row in own.to_dict("records"):
                values = [spread_text(row, name) for name in ("", "published_")]
                rows.append([title, f"{labels[row['curve']]} ({row['searches']})", row["split"], *values])
            if (largest := self._largest(str(dataset))) is not None:
                rows.append([title, "largest network", "test", f"{100 * largest:.2f}", "–"])
        return rows

    def _largest(self, dataset: str) -> float | None:
        return largest_accuracy(self.table, self.found[0].runs[0].config["space"], dataset)

    def notes(self) -> Sequence[str]:
        """Return sentences about what the table lacks, and about the published values."""
        space, notes = self.found[0].runs[0].config["space"], list[str]()
        if "validation" not in set(self.compared["split"]):
            notes.append(f"Validation accuracies after the full training are not in the table {self.table.id}.")
        if space in PUBLISHED and self.found[0].runs[0].goal.is_guided_by_test_values:
            notes.append(
                "Published searches observed validation accuracy, but ours observed test accuracy: do not compare them."
            )
        shown = {found.curve.key for found in self.methods}
        of_paper = [curve for curve in ONE_SHOT[space] if "without" not in curve.key]
        if missing := [curve.label for curve in of_paper if curve.key not in shown]:
            figure = "nats-figure7-size" if space == SIZE else "nats-figure7"
            notes.append(
                f"There are no runs of {', '.join(missing)}: run `nb1shot1 reproduce {figure}`, and give its folder "
                f"with {flag('join')}."
            )
        if space not in PUBLISHED:
            notes.append("The published values of this space are not known to this package.")
        return notes

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: mean and standard deviation of the test accuracies of each method, ours and published."""
        frame, columns = self.frame.query("split == 'test'"), len(self.by_panel)
        tall = max(Counter(found.panel.key for found in self.methods).values())
        with Canvas(1, columns, panel=(max(4.2, 8 / columns), 0.9 + 0.36 * tall), style=style) as canvas:
            for ax, (panel, _) in zip(canvas.axes, self.by_panel, strict=True):
                own = [found for found in self.methods if found.panel.key == panel.key]
                rows = frame[frame["dataset"] == panel.key].set_index("curve").to_dict("index")
                for height, found in enumerate(own):
                    row = rows[found.curve.key]
                    (usual,) = curve_styles([str(found.curve.options["optimizer"])])
                    colour = colours.get(found.curve.key, usual["color"])
                    draw_point(ax, row, "", height, **{**OURS, "color": colour})
                    draw_point(ax, row, "published_", height + BELOW, **THEIRS)
                if (largest := self._largest(panel.key)) is not None:
                    ax.axvline(100 * largest, **tones(LEVEL_LOOK), zorder=1)
                ax.set_yticks(range(len(own)), [found.curve.label for found in own])
                ax.set_ylim(tall - 0.4, -0.6)
                ax.grid(alpha=0.25, axis="x")
                ax.set_title(panel.title)
                is_guided = self.found[0].runs[0].goal.is_guided_by_test_values
                guided = "\n(black-box: guided by test values)" if is_guided else ""
                ax.set_xlabel(f"test accuracy [%]{guided}")
            legend = {"mean ± standard deviation": {**OURS, "color": LEVEL_COLOUR, "linestyle": ""}}
            if frame["published_mean"].notna().any():
                legend["published"] = {**THEIRS, "linestyle": ""}
            if self._largest(self.by_panel[0][0].key) is not None:
                legend[LARGEST] = LEVEL_LOOK
            return canvas.finish(self._title(), self._caption(), legend=legend)

    @property
    def statistic(self) -> str:
        """The first lines of the caption."""
        lines = ["test accuracy of the final architecture after the full training, on the data set of the search"]
        if self._joined:
            scales = dict.fromkeys(scale_text([run.config]) for run in self._joined)
            lines.append(f"one-shot searches: {'; '.join(scales)}")
        return "\n".join(lines)


def _order(key: str) -> int:
    """Return the place of a curve in figure 7, or the last place."""
    keys = [curve.key for curves in ONE_SHOT.values() for curve in curves]
    return keys.index(key) if key in keys else len(keys)


def _curve_of(run: SearchRecord) -> Curve:
    """Return the curve of a joined search: that of figure 7 for its runs, otherwise that of the optimizer."""
    known, name = {curve.key: curve for curves in ONE_SHOT.values() for curve in curves}, run.config["optimizer"]
    place = known.get(run.folder.absolute().parent.name)
    return place or known.get(name) or Curve(name, name, {"optimizer": name})
