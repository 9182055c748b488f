"""Do conclusions on a small benchmark hold on the full one? The question of NAS-Bench-101's figure 8, for statistics.

NAS-Bench-Mini has the cells with at most six vertices. Here, conclusions about cost and about random search are drawn
twice, from these cells and from all cells of a table, with bootstrap intervals over the cells. A sample of cells is
enough, because nothing is searched; `nb1shot1 reproduce nas101-figure8` compares searches.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
import pandas

from nasbench1shot1.display.axis import Axis
from nasbench1shot1.display.charts import Panel, Series
from nasbench1shot1.experiments.space_statistics.values import (
    Floats,
    accuracy,
    cells_of,
    check_enough,
    known_values,
)
from nasbench1shot1.ground.bootstrap import draw_resamples, percentile_interval
from nasbench1shot1.nasbench101.encoding import VERTEX_BIT
from nasbench1shot1.tables.table import Table

MINI_VERTICES = 6
"""Largest number of vertices of the cells of NAS-Bench-Mini."""
BENCHMARKS = {"mini": f"at most {MINI_VERTICES} vertices", "full": "all cells of the table"}
DRAWS = (10, 100, 1000)
"""Numbers of cells that random search draws."""
RESAMPLES = 100
FEWEST = 30
"""Smallest number of cells of a benchmark from which anything is concluded."""
Measure = Callable[[Floats], float]


def mini_against_full(table: Table, split: str = "validation", predicted: bool = False) -> pandas.DataFrame:
    """Return conclusions from the cells with at most six vertices and from all cells of a table.

    Args:
        table: a table of NAS-Bench-101; it may be a sample.
        split: the split of the accuracy, a mean over repeats.
        predicted: use estimates if the metric is not measured.

    Returns:
        A data frame with `quantity`, `benchmark` ("mini" or "full"), `value`, `low` and `high` (95 % bootstrap
        interval over the cells), and the number of `cells`. Quantities: Spearman's ρ of accuracy with parameters and
        with training time; and the mean regret of the best of 10, 100 and 1,000 cells that random search draws, as a
        fraction, relative to the best cell of the benchmark in the table.

    Raises OutOfDomainError if accuracies, times or parameters are unknown, or there are too few cells.
    """
    values = known_values(table, accuracy(split), predicted=predicted)
    seconds = known_values(table, "training_time", predicted=predicted)
    sizes = known_values(table, "trainable_parameters", predicted=predicted)
    rows = reduce(np.intersect1d, (values.rows, seconds.rows, sizes.rows))
    vertices = (cells_of(table)[rows] >> np.uint64(VERTEX_BIT)).astype(np.int64)
    columns = np.stack([each.mean[rows] for each in (values, seconds, sizes)])
    parts = []
    for benchmark, own in (("mini", columns[:, vertices <= MINI_VERTICES]), ("full", columns)):
        check_enough(
            own.shape[1], FEWEST, f"cells ({BENCHMARKS[benchmark]}) with parameters, time and {values.what}", table
        )
        cells = own.shape[1]
        resamples = draw_resamples(cells, RESAMPLES, np.random.default_rng(0))
        drawn = [np.bincount(each, minlength=cells).astype(np.float64) for each in resamples]
        for quantity, measure in _measures(*own).items():
            low, high = percentile_interval(np.array([measure(times) for times in drawn]))
            row = {"quantity": quantity, "benchmark": benchmark, "value": measure(np.ones(cells))}
            parts.append({**row, "low": float(low), "high": float(high), "cells": cells})
    frame = pandas.DataFrame(parts)
    frame.attrs = values.attributes(
        rows, quantity=f"{split} accuracy", split=split,
        predicted=values.predicted or seconds.predicted or sizes.predicted,
        notes=["regret: relative to the best cell of each benchmark in the table; bars: 95 % bootstrap intervals"],
    )  # fmt: skip
    return frame


def _measures(accuracies: Floats, seconds: Floats, parameters: Floats) -> dict[str, Measure]:
    """Return the quantities of (N,) cells as functions of how many times each cell counts, which may be 0."""
    order = np.argsort(-accuracies, kind="stable")
    below_best = accuracies[order[0]] - accuracies[order]

    def regret_of(draws: int) -> Measure:
        def measure(times: Floats) -> float:
            best = below_best[np.flatnonzero(times[order])[0]]  # of the resample
            return expected_minimum(below_best - best, times[order], draws)

        return measure

    return {
        "parameters": _rank_correlation(parameters, accuracies),
        "training time": _rank_correlation(seconds, accuracies),
        **{f"{draws:,} draws": regret_of(draws) for draws in DRAWS},
    }


def _rank_correlation(a: Floats, b: Floats) -> Measure:
    """Return Pearson's r of the ranks; resamples keep the ranks among all cells. NaN if all are equal."""
    from scipy.stats import rankdata

    x, y = (rankdata(of) - (len(of) + 1) / 2 for of in (a, b))
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def measure(times: Floats) -> float:
        mean_x, mean_y, xx, yy, xy = times @ moments / times.sum()
        product = (xx - mean_x**2) * (yy - mean_y**2)
        return float((xy - mean_x * mean_y) / np.sqrt(product)) if product > 0 else np.nan

    return measure


def expected_minimum(ascending: Floats, times: Floats, draws: int) -> float:
    """Return the expected minimum of a number of values drawn with replacement.

    Args:
        ascending: (N,) values, ascending.
        times: (N,) how often each value counts.
        draws: number of draws.
    """
    later = 1 - np.concatenate([[0.0], np.cumsum(times)]) / times.sum()  # the share of values behind each one
    return float(ascending @ -np.diff(np.maximum(later, 0) ** draws))


def mini_panels(frame: pandas.DataFrame) -> list[Panel]:
    """Return the correlations, and the regrets of random search, of both benchmarks."""
    names = list(dict.fromkeys(frame["quantity"]))
    regrets = [name for name in names if name.endswith("draws")]
    others = [name for name in names if name not in regrets]
    return [
        _panel(frame, others, "Rank correlation with accuracy", "cost", Axis("Spearman's ρ"), 1.0),
        _panel(
            frame, regrets, "Random search", "number of cells that are drawn", Axis("mean regret [%]", low=0), 100.0
        ),
    ]


def _panel(frame: pandas.DataFrame, names: list[str], title: str, across: str, up: Axis, scale: float) -> Panel:
    marks = []
    for (benchmark, label), shift, marker in zip(BENCHMARKS.items(), (-0.08, 0.08), ("o", "s"), strict=True):
        own = frame[frame["benchmark"] == benchmark].set_index("quantity").loc[names]
        at = pandas.Series(np.arange(len(names)) + shift, index=own.index)
        low, high = scale * own["low"], scale * own["high"]
        detail = f" ({int(own['cells'].iloc[0]):,} cells)"
        marks.append(Series(at, scale * own["value"], label=label, detail=detail, marker=marker, low=low, high=high))
    return Panel(title, Axis(across, ticks=dict(enumerate(names))), up, marks)
