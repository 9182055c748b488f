"""Figure 17 of NAS-Bench-1Shot1: Spearman's ρ of proxy and table errors after every training epoch."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import use_whole_numbers
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import COLOURS, EVERY, MARKER_SIZE, MARKERS
from nasbench1shot1.display.curves import Banded, draw_curve
from nasbench1shot1.display.style import AnyStyle, tone
from nasbench1shot1.evaluator import score
from nasbench1shot1.experiments.correlation.criteria import bootstrap, evaluate
from nasbench1shot1.experiments.reproduction.results.base import CurveResults
from nasbench1shot1.ground.bootstrap import CONFIDENCE
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.one_shot_search.captions import LINE, provenance
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

SPLITS = ("validation", "test")
"""Splits of the table."""
LINES: dict[str, dict[str, Any]] = {
    "validation": {"linestyle": "-", "linewidth": 2.0},
    "test": {"linestyle": ":", "linewidth": 1.4},
}
"""Line style and width, by split of the table."""
FEW = 30
"""Number of points below which each has a marker."""
RESAMPLES = 200
UNDEFINED = float("nan")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProxyResult:
    """The finished trainings of one size of the proxy, pooled over seeds and scored on one table.

    Attributes:
        trainings: one record per seed.
        errors: (architectures, epochs), validation error of the proxy after every epoch, a fraction.
        true: for each of `SPLITS`, (architectures,) the table's error after 108 epochs; NaN for missing values.
        measured: for each of `SPLITS`, (architectures,) whether the table's value is a measurement.
        groups: (architectures,) number of the architecture's cell; equal cells share one value in the table.
    """

    trainings: Sequence[ProxyTrainings]
    errors: Floats
    true: dict[str, Floats]
    measured: dict[str, NDArray[np.bool_]]
    groups: Ints

    @property
    def cells(self) -> int:
        """Number of cells of the proxy."""
        return int(self.trainings[0].config["cells"])

    @property
    def channels(self) -> int:
        """Number of channels of the proxy."""
        return int(self.trainings[0].config["channels"])

    @cached_property
    def by_epoch(self) -> pandas.DataFrame:
        """The rows of `ProxyCorrelations.frame` for this size, one per split and epoch."""
        return pandas.DataFrame([row for split in SPLITS for row in self._rows(split)])

    def at(self, split: str) -> pandas.DataFrame:
        """Return the rows of a split of the table."""
        return self.by_epoch[self.by_epoch["split"] == split]

    def _rows(self, split: str) -> Iterator[dict[str, object]]:
        known = np.isfinite(self.true[split])
        true, measured, groups = self.true[split][known], self.measured[split][known], self.groups[known]
        for epoch, errors in enumerate(self.errors[known].T, start=1):
            value, (low, high) = correlation(errors, true), interval(errors, true, groups)
            place = {"cells": self.cells, "channels": self.channels, "epoch": epoch, "split": split}
            share = float(measured.mean()) if len(true) else UNDEFINED
            yield {**place, "spearman": value, "low": low, "high": high, "n": len(true), "measured": share}


class ProxyCorrelations(CurveResults):
    """The correlations of all finished sizes of the proxy."""

    HEADINGS = ("proxy", "n", "mean error", *(f"ρ, {split}" for split in SPLITS))
    SMALL = "so few and small trainings only demonstrate the study; they do not allow conclusions about proxies"

    @cached_property
    def sizes(self) -> list[ProxyResult]:
        """The results of every size."""
        return [score_trainings(found.runs, self.table) for found in self.found]

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row per size of the proxy, split and epoch.

        Columns: cells, channels, epoch (from 1), split (of the table), spearman, low and high (95 % bootstrap interval
        over architectures), n (number of architectures), measured (fraction of the n values that are measured).
        Undefined correlations are NaN.
        """
        return pandas.concat([result.by_epoch for result in self.sizes], ignore_index=True)

    def rows(self) -> list[list[str]]:
        """Return the correlations after the last epoch."""
        return [
            [
                f"{result.cells} × {result.channels}",
                str(len(result.errors)),
                percent(result.errors[:, -1].mean(), 1),
                *(_format_row(result.at(split).iloc[-1]) for split in SPLITS),
            ]
            for result in self.sizes
        ]

    def notes(self) -> list[str]:
        """Return what the numbers are, and how far they are measured."""
        return [
            "proxy: cells × channels; mean error: mean validation error of n architectures",
            "ρ: Spearman's ρ with the table's errors [95 % bootstrap interval]",
            f"table errors: {', '.join(f'{split} {self._source(split)}' for split in SPLITS)}",
        ]

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: Spearman's ρ of the proxy's validation error and the table's errors.

        There is a column per number of cells, and a band for the validation error.
        """
        cells = sorted({result.cells for result in self.sizes})
        widths = sorted({result.channels for result in self.sizes})
        keys = {result.channels: found.curve.key for result, found in zip(self.sizes, self.found, strict=True)}
        usual = {number: COLOURS[i % len(COLOURS)] for i, number in enumerate(widths)}
        shown = {number: colours.get(keys[number], colour) for number, colour in usual.items()}
        with Canvas(1, len(cells), panel=(max(3.6, 8 / len(cells)), 3.6), sharey=True, style=style) as canvas:
            for number, ax in zip(cells, canvas.axes, strict=True):
                for result in self.sizes:
                    if result.cells == number:
                        _draw_size(result, ax, shown[result.channels])
                ax.set_title(counted(number, "cell"))
                ax.set_xlabel("training epoch of the proxy")
                use_whole_numbers(ax.xaxis)
                ax.axhline(0, color=tone("black"), linewidth=0.6)
                ax.set_ylim(-1.02, 1.02)
                ax.grid(alpha=0.25)
            canvas.axes[0].set_ylabel("Spearman's ρ of proxy and table errors")
            legend = {self.labels[keys[number]]: _look(shown[number]) for number in widths}
            for split, line in LINES.items():
                legend[f"table's {split} error ({self._source(split)})"] = {"color": "black", **line}
            ends = f"{percent(CONFIDENCE, 0)} confidence interval (bootstrap over architectures)"
            band = f"Spearman's ρ; bands: {ends} for the table's validation error"
            return canvas.finish(self._title(), self._caption(), legend=legend, band=band)

    def _source(self, split: str) -> str:
        return provenance(self.frame.loc[self.frame["split"] == split, "measured"])

    def _title(self) -> str:
        config, most = self.runs[0].config, max(len(result.errors) for result in self.sizes)
        size = (
            f"{config['scale']} scale: {counted(config['epochs'], 'epoch')}, {config['weight_images']:,} training and "
            f"{config['architecture_images']:,} validation images of {config['images']}, preset {config['preset']}"
        )
        return self.title(size, f"{most} architectures of {config['space']}, each trained alone in the proxy")

    def _caption(self) -> str:
        pooled = f"the architectures of {self.seeds} seeds are pooled" if self.seeds > 1 else ""
        measured = [pandas.DataFrame({"test_measured": [r.measured["test"].all()]}) for r in self.sizes]
        return self.caption(pooled, *self._gaps(), frames=measured)

    def _gaps(self) -> list[str]:
        """Return lines that explain undefined correlations, if any."""
        undefined = self.frame[self.frame["spearman"].isna()]
        if undefined.empty:
            return []
        places = [
            f"{cells} × {channels} {split} in {counted(len(group), 'epoch')}"
            for (cells, channels, split), group in undefined.groupby(["cells", "channels", "split"])
        ]
        why = "all architectures have equal errors, or the table has values for fewer than 3 of them"
        return textwrap.wrap(f"gaps: ρ is undefined because {why} (cells × channels: {', '.join(places)})", LINE + 40)


def score_trainings(trainings: Sequence[ProxyTrainings], table: Table) -> ProxyResult:
    """Score the trainings of all seeds of one size on a table; raises OutOfDomainError if it lacks an architecture."""
    scores = [score(arch, table) for each in trainings for arch in each.architectures]
    true = {split: [getattr(s, f"table_{split}_error") for s in scores] for split in SPLITS}
    measured = {split: [getattr(s, f"{split}_measured") for s in scores] for split in SPLITS}
    return ProxyResult(
        trainings,
        np.concatenate([each.validation_errors for each in trainings]),
        {split: np.array(values, np.float64) for split, values in true.items()},
        {split: np.array(values, bool) for split, values in measured.items()},
        np.unique([s.cell_hash for s in scores], return_inverse=True)[1].astype(np.int64),
    )


def correlation(errors: Floats, true: Floats) -> float:
    """Return Spearman's ρ of (N,) errors; NaN if a side is constant or fewer than 3 architectures are given."""
    try:
        return evaluate(errors, true, ["spearman"])["spearman"]
    except InvalidInputError:
        return UNDEFINED


def interval(errors: Floats, true: Floats, groups: Ints) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of Spearman's ρ over (N,) architectures; NaN if ρ is undefined.

    Architectures of one group are drawn together. All curves use equal random numbers.
    """
    if np.isnan(correlation(errors, true)):
        return UNDEFINED, UNDEFINED
    rng = np.random.default_rng(0)
    return bootstrap(errors, true, ["spearman"], rng, RESAMPLES, groups=groups)["spearman"]


def _look(colour: str) -> dict[str, Any]:
    """Return the colour and the marker of a width; without markers, a point between two gaps would be invisible."""
    return {"color": colour, "marker": MARKERS.get(colour, "o"), "markersize": MARKER_SIZE, "markevery": EVERY}


def _draw_size(result: ProxyResult, ax: "axes.Axes", colour: str) -> None:
    for split, line in LINES.items():
        at, rho, low, high = (
            result.at(split)[name].to_numpy(np.float64) for name in ("epoch", "spearman", "low", "high")
        )
        style = {**_look(colour), **line, **({"markevery": None} if len(at) < FEW else {})}
        draw_curve(ax, Banded(at, rho, low, high), label="", style=style, scale=1, has_band=split == "validation")


def _format_row(row: "pandas.Series[float]") -> str:
    if np.isnan(row["spearman"]):
        return "undefined"
    return f"{row['spearman']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
