"""Rank correlation of small proxies: Spearman's ρ of proxy and table errors after every training epoch."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.colours import COLOURS
from nasbench1shot1.evaluator import score
from nasbench1shot1.experiments.correlation.criteria import bootstrap, evaluate
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.one_shot_search.captions import LINE, provenance, table_text
from nasbench1shot1.proxy_training import ProxyTrainings
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SPLITS = ("validation", "test")
"""Splits of the table."""
RESAMPLES, LEVEL = 200, 0.95
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
        """The rows of `as_table` for this size, one per split and epoch."""
        return pandas.DataFrame([row for split in SPLITS for row in self._rows(split)])

    def last(self, split: str) -> "pandas.Series[float]":
        """Return the row of the last epoch."""
        return self.by_epoch[self.by_epoch["split"] == split].iloc[-1]

    def _rows(self, split: str) -> Iterator[dict[str, object]]:
        known = np.isfinite(self.true[split])
        true, measured, groups = self.true[split][known], self.measured[split][known], self.groups[known]
        for epoch, errors in enumerate(self.errors[known].T, start=1):
            value, (low, high) = correlation(errors, true), interval(errors, true, groups)
            place = {"cells": self.cells, "channels": self.channels, "epoch": epoch, "split": split}
            share = float(measured.mean()) if len(true) else UNDEFINED
            yield {**place, "spearman": value, "low": low, "high": high, "n": len(true), "measured": share}


def as_table(found: Sequence[ProxyResult]) -> pandas.DataFrame:
    """Return one row per size of the proxy, split and epoch.

    Columns: cells, channels, epoch (from 1), split (of the table), spearman, low and high (95 % bootstrap interval over
    architectures), n (number of architectures), measured (fraction of the n values that are measured). Undefined
    correlations are NaN.
    """
    return pandas.concat([result.by_epoch for result in found], ignore_index=True)


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
    return bootstrap(errors, true, ["spearman"], rng, RESAMPLES, LEVEL, groups)["spearman"]


# Plot -----------------------------------------------------------------------------------------------------------------

LINES: dict[str, tuple[Literal["-", ":"], float]] = {"validation": ("-", 2.0), "test": (":", 1.4)}
"""Line style and width, by split of the table."""


def draw(name: str, title: str, found: Sequence[ProxyResult], seeds: int, table: Table) -> "Figure":
    """Plot Spearman's ρ of the proxy's validation error and the table's errors, with a band for the validation error.

    Args:
        name: "figure17".
        title: what the figure compares.
        found: at least one size of the proxy, with finished trainings.
        seeds: number of seeds of every size, finished or not.
        table: the table on which `found` is scored.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cells = sorted({result.cells for result in found})
    canvas = Figure(figsize=(max(1.6 + 3.6 * len(cells), 8.0), 5.4), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    rows = canvas.add_gridspec(2, 1, height_ratios=(8, 1))  # the layout keeps a legend apart only in its own row
    above, below = canvas.add_subfigure(rows[0]), canvas.add_subfigure(rows[1])
    panels = above.subplots(1, len(cells), sharey=True, squeeze=False)[0]
    colours = _colours(found)
    for number, axes in zip(cells, panels, strict=True):
        for result in found:
            if result.cells == number:
                _draw_size(result, axes, colours[result.channels])
        _label(axes, number)
    panels[0].set_ylabel("Spearman's ρ of proxy and table errors")
    _legend(below, found, colours)
    above.suptitle(_title(name, title, found), fontsize=10)
    canvas.supxlabel(_caption(found, seeds, table), fontsize=7, color="#444444")
    return canvas


def _colours(found: Sequence[ProxyResult]) -> dict[int, str]:
    """Return the colour of every number of channels."""
    return {number: COLOURS[i % len(COLOURS)] for i, number in enumerate(sorted({r.channels for r in found}))}


def _draw_size(result: ProxyResult, axes: "Axes", colour: str) -> None:
    for split, (line, width) in LINES.items():
        frame = result.by_epoch[result.by_epoch["split"] == split]
        marker = "." if len(frame) < 30 else ""  # without a marker, a point between two gaps would be invisible
        axes.plot(frame["epoch"], frame["spearman"], line, marker=marker, color=colour, linewidth=width)
        if split == "validation":
            axes.fill_between(frame["epoch"], frame["low"], frame["high"], color=colour, alpha=0.12, linewidth=0)


def _label(axes: "Axes", cells: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(counted(cells, "cell"), fontsize=10)
    axes.set_xlabel("training epoch of the proxy")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_ylim(-1.02, 1.02)
    axes.grid(alpha=0.25)


def _legend(below: "SubFigure", found: Sequence[ProxyResult], colours: dict[int, str]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colours[n], linewidth=2.0, label=counted(n, "channel")) for n in colours]
    rows = pandas.concat([result.by_epoch for result in found])
    for split, (line, width) in LINES.items():
        label = f"table's {split} error ({provenance(rows.loc[rows['split'] == split, 'measured'])})"
        lines.append(Line2D([], [], color="black", linestyle=line, linewidth=width, label=label))
    below.legend(handles=lines, loc="center", ncols=min(len(lines), 4), frameon=False, fontsize=8)


def _title(name: str, title: str, found: Sequence[ProxyResult]) -> str:
    config = found[0].trainings[0].config
    size = (
        f"{config['scale']} scale: {counted(config['epochs'], 'epoch')}, {config['weight_images']:,} training and "
        f"{config['architecture_images']:,} validation images of {config['images']}, preset {config['preset']}"
    )
    most = max(len(result.errors) for result in found)
    sample = f"{most} architectures of {config['space']}, each trained alone in the proxy"
    if config["scale"] != "full":
        sample += "; the paper's setting is 150 architectures and 3, 6, 9 cells × 2, 4, 8, 16, 36 channels"
    after = f"After figure {name.removeprefix('figure')} of NAS-Bench-1Shot1: {title}"
    return "\n".join([after, size, *textwrap.wrap(sample, LINE)])


def _caption(found: Sequence[ProxyResult], seeds: int, table: Table) -> str:
    lines = [f"shaded: {percent(LEVEL, 0)} bootstrap interval over architectures, for the table's validation error"]
    if seeds > 1:
        lines.append(f"the architectures of {seeds} seeds are pooled")
    lines += [*_unfinished(found, seeds), *_gaps(found)]
    if found[0].trainings[0].config["scale"] == "quick":
        lines.append(
            "so few and small trainings only demonstrate the study; they do not allow conclusions about proxies"
        )
    measured = [pandas.DataFrame({"test_measured": [r.measured["test"].all()]}) for r in found]
    return "\n".join([*lines, table_text(measured, table.id, table.fidelity())])


def _unfinished(found: Sequence[ProxyResult], seeds: int) -> list[str]:
    """Return a line that lists the sizes with unfinished seeds, if any."""
    short = [f"{r.cells} × {r.channels}" for r in found if len(r.trainings) < seeds]
    return [f"sizes with unfinished seeds (cells × channels): {', '.join(short)}"] if short else []


def _gaps(found: Sequence[ProxyResult]) -> list[str]:
    """Return lines that explain undefined correlations, if any."""
    rows = as_table(found)
    undefined = rows[rows["spearman"].isna()]
    if undefined.empty:
        return []
    places = [
        f"{cells} × {channels} {split} in {counted(len(group), 'epoch')}"
        for (cells, channels, split), group in undefined.groupby(["cells", "channels", "split"])
    ]
    why = "all architectures have equal errors, or the table has values for fewer than 3 of them"
    return textwrap.wrap(f"gaps: ρ is undefined because {why} (cells × channels: {', '.join(places)})", LINE + 40)
