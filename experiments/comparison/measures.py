"""What one run is worth, and many runs of a method: areas under the anytime curve, means, medians and intervals.

Anytime regret is the area under the curve of the preferred architecture's test regret, divided by the length of its
range: the mean regret over time. On linear time, most of the range is late, so it resembles the final regret. On
logarithmic time, every decade counts alike.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.display.curves import RANGE, Statistic, Trace, band, cut, span
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL

Floats = NDArray[np.float64]
STATISTICS: tuple[Statistic, ...] = ("mean", "median")
SUMMARY = ("mean", "std", "low", "high", "median", "median_low", "median_high")
"""Keys of a summary: mean, standard deviation (n - 1), median, and the ends of the intervals of mean and median."""


class Span(NamedTuple):
    """The range of an area under a curve.

    Attributes:
        start: the first position at which all runs have a result.
        log_start: the first such position on a logarithmic axis, which cannot start at zero.
        end: the last position that all curves reach.
        whole: positions are whole numbers, such as epochs; the value of each holds until the next one, so the last one
            counts as much as the others.
    """

    start: float
    log_start: float
    end: float
    whole: bool


def common_span(groups: Sequence[Sequence[Trace]], whole: bool) -> Span:
    """Return the range that the curves of all groups of runs have in common."""
    spans = [span(traces) for traces in groups]
    start, end = max(first for first, _ in spans), min(last for _, last in spans)
    at = np.concatenate([trace.at for traces in groups for trace in traces])
    first = 1.0 if whole else float(at[at > 0].min(initial=np.inf))
    return Span(start, max(start, first), end, whole)


def time_averages(traces: Sequence[Trace], over: Span, log: bool = False) -> Floats:
    """Return the area under the curve of each run, divided by the length of the range; shape (runs,).

    NaN: the range is empty, or the value of a run is unknown somewhere in it.

    Args:
        traces: the runs, whose values hold until the next position.
        over: the range.
        log: the area is that on a logarithmic axis.
    """
    start, end = over.log_start if log else over.start, over.end + over.whole
    if not start < end:
        return np.full(len(traces), np.nan)
    return np.array([_average(trace, start, end, over.whole, log) for trace in traces])


def _average(trace: Trace, start: float, end: float, whole: bool, log: bool) -> float:
    if whole:
        edges = np.arange(start, end + 1)
        values = trace.value_at(edges[:-1])
    else:
        changes = np.append(trace.at, trace.last)
        edges = np.unique(np.concatenate([[start], changes[(changes > start) & (changes < end)], [end]]))
        values = trace.value_at((edges[:-1] + edges[1:]) / 2)
        begins = np.append(True, (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1])))
        edges, values = np.append(edges[:-1][begins], end), values[begins]  # equal curves have equal averages
    scale = np.log(edges) if log else edges
    return float(np.average(values, weights=np.diff(scale)))


def summarise(values: Floats) -> list[dict[str, float]]:
    """Return mean, standard deviation, median and intervals of each measure, by the keys of `SUMMARY`.

    The intervals equal the bands in figures (`display.curves.pool`), and are NaN for a single run: the 95 % confidence
    interval, cut at 0, or the range of fewer than `FEWEST_FOR_INTERVAL` runs.

    Args:
        values: shape (runs, measures). Unknown values are NaN and are left out.
    """
    if not np.isnan(values).any():
        return _summaries(values)
    return [_summaries(column[~np.isnan(column), None])[0] for column in values.T]


def _summaries(values: Floats) -> list[dict[str, float]]:
    values = np.sort(values, axis=0)  # as `pool` does: the order of the runs changes nothing
    runs, measures = values.shape
    unknown = np.full(measures, np.nan)
    found = dict.fromkeys(SUMMARY, unknown)
    if runs:
        found |= {"mean": values.mean(axis=0), "median": np.median(values, axis=0)}
    if runs > 1:
        found["std"] = values.std(axis=0, ddof=1)
        found["low"], found["high"] = cut(values, *band(values, "ci", "mean"))
        found["median_low"], found["median_high"] = band(values, "ci", "median")
    return [{name: float(found[name][number]) for name in SUMMARY} for number in range(measures)]


def interval_name(runs: Collection[int]) -> str:
    """Return the name of the intervals of `summarise`, for headings of tables of methods with these numbers of runs."""
    several = [number for number in runs if number > 1]
    few = [number for number in several if number < FEWEST_FOR_INTERVAL]
    name = "95 % interval" if several else "interval"
    return name if not few else RANGE if len(few) == len(several) else f"{name}; n < {FEWEST_FOR_INTERVAL}: {RANGE}"
