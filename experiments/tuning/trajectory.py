"""Incumbents of studies over simulated time: figures 5, 14 and 15 of NAS-Bench-1Shot1.

The simulated clock sums the costs of all observations, as if one machine had made them one after the other. The cost of
an observation is the time of its search plus the table's training time of its architecture (section 5 of the paper).
The incumbent is the observation with the lowest loss so far, at any budget; test values select nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import use_log_axes, zero_floor
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import MOST_BANDS, curve_rows, curve_styles
from nasbench1shot1.display.curves import Spread, describe_band, draw_curve, pool_values
from nasbench1shot1.display.style import PictureStyle
from nasbench1shot1.experiments.tuning.best import DEFAULT_ID
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.tuning.record import simulated_cost

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Axes, Figure

Floats = NDArray[np.float64]
Style = dict[str, Any]
REGRETS = ("test_regret", "validation_regret")
COLUMNS = ("seconds", "number", "configuration_id", "budget", "loss", *REGRETS)
CLOCK = "simulated time: all searches, and one training of each architecture [s]"


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
    """Return the simulated seconds of each observation, shape (N,), as `tuning.record.simulated_cost` defines them."""
    times = observations[["simulated_seconds", "started", "finished"]]
    rows = times.astype(object).where(times.notna(), None)
    return np.array([simulated_cost(dict(row)) for _, row in rows.iterrows()], dtype=np.float64)


def average(repetitions: Sequence[pandas.DataFrame], at: Floats | None = None) -> pandas.DataFrame:
    """Return mean and standard deviation of the incumbents' regrets over repetitions.

    The frame covers the time in which every repetition has an incumbent and none has ended.

    Args:
        repetitions: frames as in `Curve`; at least one.
        at: simulated seconds at which to average. Default: all times at which an incumbent changes.

    Returns:
        Columns `seconds`, `repetitions`, and for each of `REGRETS` `_mean` and `_std` (n - 1; NaN for one repetition),
        as fractions.

    Raises:
        InvalidInputError: there is no repetition, or a repetition has no incumbent.
    """
    times, _ = _aligned(repetitions, REGRETS[0], at)
    columns = {"seconds": times, "repetitions": np.full(len(times), len(repetitions))}
    for name in REGRETS:
        _, values = _aligned(repetitions, name, at)
        columns[f"{name}_mean"] = values.mean(axis=0)
        columns[f"{name}_std"] = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(times), np.nan)
    return pandas.DataFrame(columns)


def _aligned(repetitions: Sequence[pandas.DataFrame], name: str, at: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the times (T,) of `average`, and the values of a column at these times, shape (repetitions, T)."""
    if not repetitions or any(not len(frame) for frame in repetitions):
        raise InvalidInputError("a repetition has no incumbent: give at least one, each with a finished search")
    changes = [frame["seconds"].to_numpy(np.float64) for frame in repetitions]
    start = max(times[0] for times in changes)
    end = max(start, min(times[-1] for times in changes))
    times = np.unique(np.concatenate([[start, end], *changes])) if at is None else np.asarray(at, np.float64)
    times = times[(times >= start) & (times <= end)]
    return times, np.stack([_values_at(frame, name, times) for frame in repetitions])


def _values_at(frame: pandas.DataFrame, name: str, times: Floats) -> Floats:
    """Return the value of a repetition at each time, which is in its last row until then."""
    rows = np.searchsorted(frame["seconds"].to_numpy(np.float64), times, side="right") - 1
    held: Floats = frame[name].to_numpy(np.float64)[rows]
    return held


# Picture: one panel per space, one line per method --------------------------------------------------------------------


def draw_trajectories(
    panels: Mapping[str, Sequence[Curve]],
    title: str,
    caption: str,
    source: str,
    spread: Spread | None = "std",
    style: PictureStyle | None = None,
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
        spread: what the bands show. Default: as in the paper.
        style: "screen" or "paper".
    """
    curves = {curve.key: curve for of_panel in panels.values() for curve in of_panel}
    kinds = {key: curve.kind for key, curve in curves.items()}
    rows = curve_rows([[curve.key for curve in of_panel] for of_panel in panels.values()], kinds)
    order = [curves[key] for row in rows for key in row]
    styles = dict(zip(curves, curve_styles([curve.method for curve in curves.values()]), strict=True))
    floor, width = _floor(panels), max(3.6, 8 / len(panels))
    with Canvas(len(rows), len(panels), panel=(width, 3.4), style=style, sharex=True, sharey=True) as canvas:
        for row, line in zip(rows, canvas.grid, strict=True):
            name = f": {kinds[row[0]]}" if len(rows) > 1 else ""
            for (panel, of_panel), ax in zip(panels.items(), line, strict=True):
                own = [curve for curve in of_panel if curve.key in row]
                for curve in own:
                    _draw(curve, ax, styles[curve.key], floor, spread, has_band=len(own) <= MOST_BANDS)
                use_log_axes(ax)
                ax.grid(alpha=0.25, which="both")
                ax.set_title(f"{panel}{name}")
            line[0].set_ylabel(f"test regret of the incumbent [%]\n({source})")
        for ax in canvas.grid[-1]:
            ax.set_xlabel(CLOCK, fontsize=7)
        canvas.axes[0].set_ylim(bottom=100 * floor)
        legend = {curve.label: styles[curve.key] for curve in order}
        if any(_defaults(curve) for curve in order):
            legend["default configuration"] = {"color": "black", "marker": "o", "markersize": 5, "linestyle": ""}
        return canvas.finish(title, caption, legend=legend, legend_title=_band_text(panels, rows, spread))


def _band_text(panels: Mapping[str, Sequence[Curve]], rows: Sequence[Sequence[str]], spread: Spread | None) -> str:
    """Return what lines and bands show, for every kind of curve."""
    curves = [curve for of_panel in panels.values() for curve in of_panel]
    lines = []
    for kind in dict.fromkeys(curve.kind for curve in curves):
        counts = {len(curve.repetitions) for curve in curves if curve.kind == kind}
        own = [curve.key for curve in curves if curve.kind == kind]
        longest = min(sum(c.key in row for c in of) for row in rows if set(own) & set(row) for of in panels.values())
        runs = counts.pop() if len(counts) == 1 else None
        if longest > MOST_BANDS:
            text = "mean" if runs is None else f"mean over {counted(runs, 'repetition')}"
        else:
            text = describe_band(spread, runs, "repetition")
        if text:
            lines.append(f"{kind}: {text}")
    return "\n".join(lines)


def _floor(panels: Mapping[str, Sequence[Curve]]) -> float:
    """Return the lower edge of the plot as a fraction: below the smallest positive regret."""
    regrets = [frame["test_regret"] for curves in panels.values() for curve in curves for frame in curve.repetitions]
    return zero_floor(np.concatenate([regret.to_numpy(np.float64) for regret in regrets]))


def _draw(curve: Curve, axes: "Axes", style: Style, floor: float, spread: Spread | None, has_band: bool) -> None:
    times, values = _aligned(curve.repetitions, "test_regret")
    pooled = pool_values(times, values, spread=spread)
    draw_curve(axes, pooled, label=curve.label, style=style, steps=True, floor=floor, has_band=has_band)
    if defaults := _defaults(curve):
        first = pandas.DataFrame(defaults)[["seconds", "test_regret"]].mean()
        axes.plot(first["seconds"], 100 * max(first["test_regret"], floor), "o", color=style["color"], markersize=5)


def _defaults(curve: Curve) -> list["pandas.Series[float]"]:
    """Return the first search of every repetition that started with the default configuration."""
    firsts = [frame.iloc[0] for frame in curve.repetitions]
    return [first for first in firsts if first.get("configuration_id") == DEFAULT_ID]
