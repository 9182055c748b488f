"""The charts of a report as data for `charts.js`: curves, thinned so that pages stay small, with colours and lines."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from nasbench1shot1.display.colours import COLOURS, LINES, curve_styles
from nasbench1shot1.display.curves import Pooled, Trace, pool_values
from nasbench1shot1.display.style import BACKGROUND, on_background
from nasbench1shot1.experiments.comparison.entries import CLOCKS, EPOCHS, EVALUATIONS, Floats
from nasbench1shot1.experiments.report_page.panels import AXES, Panel

MOST_POINTS = 16_000
"""Largest number of points of all curves of a page, which bounds its size."""
FEWEST_POINTS, LONGEST_CURVE = 30, 400
DIGITS = 7
"""Significant digits of embedded numbers: more than are shown, so that they are not rounded twice."""
SHAPES = {
    "o": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z",
    "s": "M-2.7-2.7h5.4v5.4h-5.4Z",
    "^": "M0-3.4L3.2 2.6H-3.2Z",
    "v": "M0 3.4L3.2-2.6H-3.2Z",
    "<": "M-3.4 0L2.6-3.2V3.2Z",
    ">": "M3.4 0L-2.6-3.2V3.2Z",
    "D": "M0-3.6L3.6 0 0 3.6-3.6 0Z",
    "P": "M-1.2-3.4h2.4v2.2h2.2v2.4h-2.2v2.2h-2.4v-2.2h-2.2v-2.4h2.2Z",
    "X": "M-3.3-1.6L-1.6-3.3 0-1.7 1.6-3.3 3.3-1.6 1.7 0 3.3 1.6 1.6 3.3 0 1.7-1.6 3.3-3.3 1.6-1.7 0Z",
    "*": "M0-4L1-1.2 3.9-1.2 1.6.6 2.4 3.4 0 1.7-2.4 3.4-1.6.6-3.9-1.2-1-1.2Z",
    "p": "M0-3.5L3.3-1.1 2.1 2.8H-2.1L-3.3-1.1Z",
    "x": "M-3-2.2L-2.2-3 0-.8 2.2-3 3-2.2 .8 0 3 2.2 2.2 3 0 .8-2.2 3-3 2.2-.8 0Z",
}
"""Matplotlib's markers as paths of SVG, in pixels around the marked point."""


def points_per_curve(curves: int) -> int:
    """Return how many points each curve of a page has at most."""
    return min(LONGEST_CURVE, max(FEWEST_POINTS, MOST_POINTS // max(curves, 1)))


def number_of_curves(panels: Iterable[Panel], trainings: int) -> int:
    """Return the number of curves of a page, over all axes."""
    return trainings + sum(len(of.traces) for panel in panels for of in panel.drawn)


def regret_chart(panel: Panel, most: int) -> dict[str, Any]:
    """Return the chart of a panel; `most` is the largest number of points of a curve."""
    scale, goal = panel.goal.scale, panel.goal
    looks = curve_styles([of.entry.optimizer for of in panel.drawn])
    mean = "mean " if any(len(of.repetitions) > 1 for of in panel.drawn) else ""
    curves = []
    for of, look in zip(panel.drawn, looks, strict=True):
        by_axis = {
            axis: shown_curve(panel.curves[axis][of.subject.label], traces, scale, most, is_step=axis != EPOCHS)
            for axis, traces in of.traces.items()
        }
        curves.append({"label": of.subject.label, **line(look), "n": len(of.repetitions), "axes": by_axis})
    return {
        "name": panel.title,
        "unit": goal.unit,
        "digits": 3 if goal.unit == "%" else None,
        "switch": "Over",
        "bands": panel.has_bands,
        "axes": [
            {
                "key": axis,
                "name": AXES[axis][0],
                "label": AXES[axis][1],
                "vertical": goal.with_unit(f"{mean}{goal.regret}"),
                "steps": axis != EPOCHS,
                "whole": axis in (EPOCHS, EVALUATIONS),
                "log": axis in CLOCKS,
                "floor": rounded(scale * panel.floor(axis)),
            }
            for axis in panel.axes
        ],
        "levels": [{"label": of.name, "value": rounded(scale * of.regret), **line(of.look)} for of in panel.levels()],
        "curves": curves,
    }


def candidate_lines() -> list[dict[str, Any]]:
    """Return the colours and lines of the candidates of a decision, for charts of Λ."""
    return [line({"color": colour, "linestyle": dash}) for colour, dash in zip(COLOURS, cycle(LINES), strict=False)]


def line(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return the colours of a curve on both backgrounds, its dashes and its marker, from arguments of `Axes.plot`."""
    found: dict[str, Any] = {"light": look["color"], "dark": on_background(look["color"], BACKGROUND)}
    if look["linestyle"] != "-":
        found["dash"] = " ".join(f"{2 * length:g}" for length in look["linestyle"][1])
    if look.get("marker"):
        found["marker"] = SHAPES[look["marker"]]
    return found


def shown_curve(curve: Pooled, traces: Sequence[Trace], scale: float, most: int, *, is_step: bool) -> dict[str, Any]:
    """Return a curve as `thinned` does and, if all of its runs hold their results after its end, these results.

    The mean of the results differs from the curve's last value if a search went back to an earlier epoch.

    Args:
        curve: the curve.
        traces: its runs.
        scale, most, is_step: as in `thinned`.

    Returns:
        The lists of `thinned`, and in "result" their values after the end of the curve.
    """
    found = thinned(curve, scale, most, is_step=is_step)
    if not all(trace.holds for trace in traces):
        return found
    pooled = pool_values([0], [[trace.result] for trace in traces], spread=curve.spread, limits=curve.limits)
    ends = thinned(pooled, scale, 1, is_step=True)
    return {**found, "result": {name: ends[name][0] for name in found if name != "at"}}


def thinned(curve: Pooled, scale: float, most: int, *, is_step: bool) -> dict[str, Any]:
    """Return a curve as lists of numbers, without points that do not change the picture.

    A step curve keeps the points at which a value changes, and the last point. Of other curves, only points within
    runs of equal values are left out. If more than `most` points remain, they are chosen evenly, for steps on a
    logarithmic axis; the first and the last are always kept.

    Args:
        curve: the curve.
        scale: the factor from its values to shown ones.
        most: the largest number of points.
        is_step: whether values hold until the next point.

    Returns:
        at, mean, and with several runs low and high; None where a value is unknown.
    """
    rows = [curve.centre, curve.low, curve.high] if curve.has_band else [curve.centre]
    shown = np.array([[np.nan if np.isnan(of) else float(f"{scale * of:.{DIGITS}g}") for of in row] for row in rows])
    changes = np.r_[True, _differ(shown[:, 1:], shown[:, :-1])]
    kept = changes if is_step else changes | np.r_[changes[1:], True]
    kept[-1] = True
    places = np.flatnonzero(kept)
    if len(places) > most:
        places = places[_spread(curve.at[places], most, is_log=is_step)]
    names = ("mean", "low", "high")[: len(rows)]
    values = {
        name: [None if np.isnan(of) else float(of) for of in row[places]]
        for name, row in zip(names, shown, strict=True)
    }
    return {"at": [rounded(of) for of in curve.at[places].tolist()], **values}


def _differ(one: Floats, other: Floats) -> Any:
    """Return a mask of the columns in which two arrays differ; unknown values are equal."""
    return ((one != other) & ~(np.isnan(one) & np.isnan(other))).any(axis=0)


def _spread(at: Floats, most: int, *, is_log: bool) -> Any:
    """Return at most `most` indices of ascending positions, spread evenly, with the first and the last."""
    if is_log and (positive := at[at > 0]).size:
        grid = np.r_[at[0], np.geomspace(positive[0], at[-1], most - 1)]
    else:
        grid = np.linspace(at[0], at[-1], most)
    found = np.atleast_1d(np.searchsorted(at, grid, side="right") - 1)
    return np.unique(np.r_[0, np.clip(found, 0, len(at) - 1)[1:-1], len(at) - 1])


def rounded(value: float) -> float:
    """Return a number with `DIGITS` significant digits."""
    return float(f"{value:.{DIGITS}g}")
