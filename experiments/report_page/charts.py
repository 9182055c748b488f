"""The charts of a report as data for `charts.js`: curves, thinned so that pages stay small, with colours and lines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nasbench1shot1.cell_training.record import Training
from nasbench1shot1.display.colours import COLOURS, LINES, curve_styles
from nasbench1shot1.display.curves import Pooled, Trace, pool
from nasbench1shot1.display.style import Spread
from nasbench1shot1.experiments.comparison.entries import CLOCKS, EPOCHS, Floats
from nasbench1shot1.experiments.report_page.panels import AXES, Panel
from nasbench1shot1.experiments.report_page.subjects import Subject

MOST_POINTS = 16_000
"""Largest number of points of all curves of a page, which bounds its size."""
FEWEST_POINTS, LONGEST_CURVE = 30, 400
DIGITS = 7
"""Significant digits of embedded numbers: more than are shown, so that they are not rounded twice."""
DARK = "#17191e"
"""Background of the page in the dark; the styles of `page.css` have the same."""
CONTRAST = 3.5
"""Smallest contrast of a curve with a dark background; black curves become white."""


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
    curves = []
    for of, look in zip(panel.drawn, looks, strict=True):
        holds = all(trace.holds for trace in of.repetitions)
        by_axis = {
            axis: thinned(panel.curves[axis][of.subject.label], scale, most, is_step=axis != EPOCHS)
            for axis in of.traces
        }
        curves.append(
            {"label": of.subject.label, **line(look), "n": len(of.repetitions), "holds": holds, "axes": by_axis}
        )
    return {
        "name": panel.title,
        "unit": goal.unit,
        "digits": 3 if goal.unit == "%" else None,
        "vertical": goal.with_unit(f"mean {goal.regret}"),
        "bands": panel.has_bands,
        "axes": [
            {
                "key": axis,
                "name": AXES[axis][0],
                "label": AXES[axis][1],
                "steps": axis != EPOCHS,
                "log": axis in CLOCKS,
                "floor": rounded(scale * panel.floor(axis)),
            }
            for axis in panel.axes
        ],
        "levels": [{"label": name, "value": rounded(scale * value)} for name, value in panel.levels()],
        "curves": curves,
    }


def training_chart(subjects: Sequence[Subject], spread: Spread | None, most: int) -> dict[str, Any]:
    """Return the chart of the test errors of trainings after the epochs at which they were evaluated.

    Trainings of one network with several seeds in one group are one curve.
    """
    curves = []
    found = [pair for subject in subjects for pair in by_network(subject).items()]
    looks = curve_styles([name for name, _ in found])
    for (name, trainings), look in zip(found, looks, strict=True):
        traces = [of for of in map(_test_errors, trainings) if of is not None]
        if traces:
            curve = thinned(pool(traces, spread=spread), 100, most, is_step=False)
            ends = all(training.is_finished for training in trainings)
            curves.append({"label": name, **line(look), "n": len(traces), "holds": ends, "axes": {EPOCHS: curve}})
    values = [of for curve in curves for of in curve["axes"][EPOCHS]["mean"] if of]
    floor = 0.9 * min(values, default=1.0)
    axis = {"key": EPOCHS, "name": "Epochs", "label": "training epochs", "steps": False, "log": False, "floor": floor}
    return {
        "name": "Test error of trainings",
        "unit": "%",
        "digits": 2,
        "vertical": "test error [%]",
        "bands": True,
        "axes": [axis],
        "levels": [],
        "curves": curves,
    }


def by_network(subject: Subject) -> dict[str, list[Training]]:
    """Return the trainings of a run that have begun, by the label of their network."""
    found: dict[str, list[Training]] = {}
    several = len({training.network_id for training in subject.trainings}) > 1
    for training in subject.trainings:
        name = f"{subject.label}, {training.folder.parent.name}" if several else subject.label
        found.setdefault(name, []).append(training)
    return found


def _test_errors(training: Training) -> Trace | None:
    known = [line for line in training.lines if line["test_accuracy"] is not None]
    if not known:
        return None
    at = np.array([line["epochs"] for line in known], np.float64)
    return Trace(at=at, values=np.array([1 - line["test_accuracy"] for line in known]), holds=training.is_finished)


def candidate_lines() -> list[dict[str, Any]]:
    """Return the colours and lines of the candidates of a decision, for charts of Λ."""
    dashes = [LINES[number % len(LINES)] for number in range(len(COLOURS))]
    return [
        line({"color": colour, "linestyle": dash, "marker": ""}) for colour, dash in zip(COLOURS, dashes, strict=True)
    ]


def line(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return the colours of a curve on both backgrounds, its dashes and its marker, from arguments of `Axes.plot`."""
    found: dict[str, Any] = {"light": look["color"], "dark": on_dark(look["color"])}
    if look["linestyle"] != "-":
        found["dash"] = " ".join(f"{2 * length:g}" for length in look["linestyle"][1])
    if look["marker"]:
        found["marker"] = True
    return found


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


# Colours --------------------------------------------------------------------------------------------------------------


def on_dark(colour: str) -> str:
    """Return a colour that is mixed with white until its contrast with a dark background suffices."""
    rgb, background = _rgb(colour), _luminance(_rgb(DARK))
    for share in np.linspace(0, 1, 21):
        mixed = rgb + share * (1 - rgb)
        if (_luminance(mixed) + 0.05) / (background + 0.05) >= (CONTRAST if colour != "#000000" else 12):
            break
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in mixed)


def _rgb(colour: str) -> Floats:
    """Return the parts of a colour, such as "#0072b2", from 0 to 1."""
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def _luminance(rgb: Floats) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
