"""Incumbents of studies over simulated time: figures 5, 14 and 15 of NAS-Bench-1Shot1.

The simulated clock sums the costs of all observations, as if one machine had made them one after the other. The cost of
an observation is the time of its search plus the table's training time of its architecture (section 5 of the paper). If
the table lacks a training time, the costs are the wall-clock times of the searches alone.
The incumbent is the observation with the lowest loss so far, at any budget; test values select nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import use_log_axes
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, Colors, checked_labels, curve_rows, curve_styles
from nasbench1shot1.display.curves import Pooled, Trace, describe_band, draw_curve, log_floor, pool, span
from nasbench1shot1.display.style import AnyStyle, Spread, tone
from nasbench1shot1.experiments.tuning.best import DEFAULT_ID
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted_range
from nasbench1shot1.tuning.record import are_timed as lines_are_timed
from nasbench1shot1.tuning.record import costs_of

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure

Floats = NDArray[np.float64]
Style = dict[str, Any]
REGRETS = ("test_regret", "validation_regret")
OF_CURVE = ("mean", "std", "low", "high")
"""Columns of `Pooled.frame` that CSV files have."""
COLUMNS = ("seconds", "number", "configuration_id", "budget", "loss", *REGRETS)
SIMULATED = "simulated time: all searches, and one training of each architecture [s]"
WALL_CLOCK = "wall-clock time of the searches (training times are unknown) [s]"
"""Labels of the axis of time, with and without training times in the table (`are_timed`)."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Repetitions of one method, such as a study under several seeds, or runs of a black-box optimizer.

    Attributes:
        key: name of the curve in CSV files.
        label: name of the curve in the legend.
        method: name of the optimizer, which has the same colour in all figures.
        kind: the kind of method. If a panel has too many curves, each kind has its own rows.
        repetitions: a frame per repetition with the columns `seconds` and `REGRETS`. A row holds from its time until
            the next row's; the last row marks the end.
    """

    key: str
    label: str
    method: str
    kind: str
    repetitions: Sequence[pandas.DataFrame]


def trajectory(observations: pandas.DataFrame) -> pandas.DataFrame:
    """Return the incumbents of a study, with a row for each new incumbent, and a last row for the end of the study.

    Args:
        observations: `Study.observations`.

    Returns:
        Columns `COLUMNS`: simulated seconds at which the observation ends, and the observation. Empty if all searches
        diverged.
    """
    frame = observations.assign(seconds=np.cumsum(costs(observations)))
    best = frame["loss"].fillna(np.inf).cummin()
    is_new = best < best.shift(fill_value=np.inf)
    found = frame.loc[is_new, list(COLUMNS)]
    end = found.tail(1).assign(seconds=frame["seconds"].max())
    ends_later = len(found) > 0 and end["seconds"].iloc[0] > found["seconds"].iloc[-1]
    return pandas.concat([found, end] if ends_later else [found], ignore_index=True)


def costs(observations: pandas.DataFrame) -> Floats:
    """Return the cost of each observation in seconds, shape (N,), as `tuning.record.costs_of` defines it."""
    return np.array(costs_of(_lines(observations)), dtype=np.float64)


def are_timed(observations: pandas.DataFrame) -> bool:
    """Return whether `costs` are simulated times; otherwise, they are wall-clock times."""
    return lines_are_timed(_lines(observations))


def _lines(observations: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return what the costs of observations depend on, as `tuning.record` reads it."""
    known = observations[["simulated_seconds", "started", "finished", "architecture"]]
    rows: Any = known.astype(object).where(known.notna(), None).to_dict("records")
    return list(rows)


def average(
    repetitions: Sequence[pandas.DataFrame], at: Floats | None = None, spread: Spread | None = None
) -> pandas.DataFrame:
    """Return mean, standard deviation and band of the incumbents' regrets over repetitions.

    The frame covers the time in which every repetition has an incumbent and none has ended.

    Args:
        repetitions: frames as in `Curve`; at least one.
        at: simulated seconds at which to average. Default: all times at which an incumbent changes.
        spread: what the band shows. Default: "ci".

    Returns:
        Columns `seconds`, `repetitions`, and for each of `REGRETS` `_mean`, `_std` (n - 1; NaN for one repetition),
        `_low` and `_high` (the band), as fractions.

    Raises:
        InvalidInputError: there is no repetition, or a repetition has no incumbent.
    """
    curves = {name: pooled(repetitions, name, spread, at) for name in REGRETS}
    frames = {name: curve.frame for name, curve in curves.items()}
    of_curve = {f"{name}_{of}": frame[of] for name, frame in frames.items() for of in OF_CURVE}
    first = frames[REGRETS[0]]
    return pandas.DataFrame({"seconds": first["at"], "repetitions": first["runs"], **of_curve})


def pooled(
    repetitions: Sequence[pandas.DataFrame],
    name: str,
    spread: Spread | None = None,
    at: Floats | None = None,
) -> Pooled:
    """Return the curve of a regret over repetitions; arguments and errors as in `average`."""
    if not repetitions or any(not len(frame) for frame in repetitions):
        raise InvalidInputError("a repetition has no incumbent: give at least one, each with a finished search")
    columns = [(frame["seconds"].to_numpy(np.float64), frame[name].to_numpy(np.float64)) for frame in repetitions]
    traces = [Trace(at=seconds, values=values, holds=False) for seconds, values in columns]
    start, end = span(traces)
    changes = np.unique(np.concatenate([[start, end], *(seconds for seconds, _ in columns)]))
    times = changes if at is None else np.asarray(at, np.float64)
    return pool(traces, times[(times >= start) & (times <= end)], spread=spread)


# Picture: one panel per space, one line per method --------------------------------------------------------------------


def draw_trajectories(
    panels: Mapping[str, Sequence[Curve]],
    title: str,
    caption: str,
    source: str,
    spread: Spread | None = None,
    style: AnyStyle | None = None,
    *,
    colors: Colors | None = None,
    labels: Sequence[str] | str | None = None,
    clock: str = SIMULATED,
) -> "Figure":
    """Plot the mean test regret of the incumbents on logarithmic axes, with one column per panel.

    The band is shaded on axes of at most `MOST_BANDS` curves. If a panel has more than five curves, the figure has
    several rows with shared axes (`curve_rows`). A dot marks the first search of the studies that started with the
    optimizer's default configuration: its mean time and regret. Regrets of zero lie on the lower edge.

    Args:
        panels: curves by the title of their panel; every curve has a repetition, every repetition an incumbent.
        title: title of the figure.
        caption: text below the figure.
        source: how far the regrets are measured, such as "predicted".
        spread: what the bands show. Default: "ci".
        style: "screen" (default), or as in `style.AnyStyle`.
        colors: colours by label or method, or one per curve. Default: the methods' colours.
        labels: one label per curve.
        clock: label of the horizontal axis: what the column `seconds` of the repetitions counts, such as `WALL_CLOCK`.

    Raises InvalidInputError if there is no such spread or style, or if `colors` or `labels` do not fit the curves.
    """
    curves = {curve.key: curve for of_panel in panels.values() for curve in of_panel}
    kinds = {key: curve.kind for key, curve in curves.items()}
    rows = curve_rows([[curve.key for curve in of_panel] for of_panel in panels.values()], kinds)
    order = [curves[key] for row in rows for key in row]
    names = checked_labels(labels, [curve.label for curve in curves.values()])
    methods = [curve.method for curve in curves.values()]
    styles = dict(zip(curves, curve_styles(methods, colors, names), strict=True))
    drawn = {
        panel: {curve.key: pooled(curve.repetitions, "test_regret", spread) for curve in of_panel}
        for panel, of_panel in panels.items()
    }
    floor = log_floor(curve for of_panel in drawn.values() for curve in of_panel.values())
    band = _band_text(panels, rows, spread, drawn)
    shown = dict(zip(curves, names, strict=True))
    legend = {shown[curve.key]: styles[curve.key] for curve in order}
    if any(default_point(curve) is not None for curve in order):
        legend["default configuration"] = {"color": "black", "marker": "o", "markersize": 5, "linestyle": ""}
    width = max(3.6, 8 / len(panels))
    with Canvas(len(rows), len(panels), panel=(width, 3.4), style=style, sharex=True, sharey=True) as canvas:
        for row, line in zip(rows, canvas.grid, strict=True):
            for (panel, of_panel), axes in zip(panels.items(), line, strict=True):
                own = [curve for curve in of_panel if curve.key in row]
                for curve in own:
                    _draw(curve, drawn[panel][curve.key], axes, styles[curve.key], floor, len(own) <= MOST_BANDS)
                use_log_axes(axes)
                axes.grid(alpha=0.25, which="both")
                axes.set_title(f"{panel}: {kinds[row[0]]}" if len(rows) > 1 else panel)
            line[0].set_ylabel(f"test regret of the incumbent [%]\n({source})")
        for axes in canvas.grid[-1]:
            axes.set_xlabel(clock)
        canvas.axes[0].set_ylim(bottom=100 * floor)
        return canvas.finish(title, caption, legend=legend, band=band)


def _band_text(
    panels: Mapping[str, Sequence[Curve]],
    rows: Sequence[Sequence[str]],
    spread: Spread | None,
    drawn: Mapping[str, Mapping[str, Pooled]],
) -> str:
    """Return what lines and bands show, for every kind of curve."""
    cut_kinds = {
        curve.kind
        for panel, of_panel in panels.items()
        for row in rows
        if len(beside := [curve for curve in of_panel if curve.key in row]) <= MOST_BANDS
        for curve in beside
        if drawn[panel][curve.key].is_cut
    }
    curves = [curve for of_panel in panels.values() for curve in of_panel]
    lines = []
    for kind in dict.fromkeys(curve.kind for curve in curves):
        counts = [len(curve.repetitions) for curve in curves if curve.kind == kind]
        own = [curve.key for curve in curves if curve.kind == kind]
        longest = min(sum(c.key in row for c in of) for row in rows if set(own) & set(row) for of in panels.values())
        if longest > MOST_BANDS:
            text = f"mean over {counted_range(counts, 'repetition')}"
        else:
            text = describe_band(spread, counts, "repetition", is_cut=kind in cut_kinds)
        if text:
            lines.append(f"{kind}: {text}")
    return "\n".join(lines)


def _draw(curve: Curve, drawn: Pooled, axes: "Axes", style: Style, floor: float, has_band: bool) -> None:
    draw_curve(axes, drawn, label=curve.label, style=style, steps=True, floor=floor, has_band=has_band)
    if (point := default_point(curve)) is not None:
        regret = 100 * max(point["test_regret"], floor)
        axes.plot(point["seconds"], regret, "o", color=tone(style["color"]), markersize=5)


def default_point(curve: Curve) -> "pandas.Series[float] | None":
    """Return the mean `seconds` and `test_regret` of the first searches that had the default configuration, if any."""
    firsts = [frame.iloc[0] for frame in curve.repetitions]
    defaults = [first for first in firsts if first.get("configuration_id") == DEFAULT_ID]
    return pandas.DataFrame(defaults)[["seconds", "test_regret"]].mean() if defaults else None
