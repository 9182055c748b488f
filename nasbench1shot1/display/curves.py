"""From many runs to one curve with a band.

Every picture, table and file of the package pools runs here. Each run is a `Trace`: values over epochs, evaluations or
seconds. `pool` puts the traces on a common axis. The curve is their mean or median. The default band is the 95 %
confidence interval of this statistic (`ground.intervals`). Fewer than `FEWEST_FOR_INTERVAL` runs have no such interval:
their band is the range of their values, and is called so.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from nasbench1shot1.display.colours import in_legend
from nasbench1shot1.display.data import note_drawn
from nasbench1shot1.display.style import Spread, band_opacity, tones
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL, Floats, mean_interval, median_interval
from nasbench1shot1.ground.text import counted_range

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Statistic = Literal["mean", "median"]
SPREADS: dict[Spread, str] = {
    "ci": "95 % confidence interval",
    "std": "± standard deviation",
    "quartiles": "25 % to 75 % quantiles",
    "range": "minimum to maximum",
}
"""The bands in words."""
RANGE = "range"
"""The band of a few runs in words, where others have a confidence interval."""
NOT_NEGATIVE, OF_A_SHARE, OF_A_CORRELATION, UNLIMITED = (0.0, np.inf), (0.0, 1.0), (-1.0, 1.0), (-np.inf, np.inf)
"""Limits of possible values of regrets, of errors, accuracies and other shares, of correlations, and no limits."""
MOST_POINTS = 1_000
"""Maximum number of points of a curve. Curves with more changes are sampled evenly on a logarithmic axis."""
MOST_MARKERS = 12
"""Maximum number of markers of a curve over epochs."""
COLUMNS = ("at", "runs", "mean", "median", "std", "low", "high")
LEVEL_COLOUR = "#555555"
LEVEL_LOOK: dict[str, Any] = {"color": LEVEL_COLOUR, "linestyle": "-.", "linewidth": 1.2}
ALL_ZERO = 0.005
"""Lower edge of a logarithmic axis if all values are zero."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """The values of one run over epochs, evaluations or seconds.

    Attributes:
        at: positions of the values: ascending, not empty; read-only.
        values: the value from each position on, until the next one; shape of `at`; read-only. NaN: unknown.
        end: the position at which the record ends. Default: the last of `at`.
        final: the value after `end`, if the run holds it. Default: the last value.
        holds: whether the run keeps its final value after `end`, as a finished search keeps its architecture. A curve
            ends with the first run that does not.
        measured: share of `values` that are measured; the others are predicted. NaN: unknown.
        final_measured: 1 if the value at the end is measured, 0 if it is predicted; NaN: unknown.
        key: the random seed of the run in words, by which runs of two methods are matched; empty if it is unknown.
    """

    at: Floats
    values: Floats
    end: float = np.nan
    final: float = np.nan
    holds: bool = True
    measured: float = np.nan
    final_measured: float = np.nan
    key: str = ""

    def __post_init__(self) -> None:
        """Make the arrays read-only: comparisons share the traces from which they compute all results."""
        for name in ("at", "values"):
            array = getattr(self, name).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def last(self) -> float:
        """The position at which the record ends."""
        return float(self.at[-1]) if np.isnan(self.end) else self.end

    @property
    def result(self) -> float:
        """The value at the end."""
        return float(self.values[-1]) if np.isnan(self.end) else self.final

    def value_at(self, positions: Floats) -> Floats:
        """Return the values at T positions, shape (T,); NaN before the first one."""
        found = np.concatenate([[np.nan], self.values])[np.searchsorted(self.at, positions, side="right")]
        is_after = positions > self.last
        return found if np.isnan(self.end) else np.where(is_after, self.final, found)


@dataclass(frozen=True, eq=False)
class Banded:
    """A curve with a band.

    Attributes:
        at: T positions on the horizontal axis, ascending.
        centre: values of the curve, shape (T,); NaN: a gap.
        low, high: edges of the band, shape (T,).
    """

    at: Floats
    centre: Floats
    low: Floats
    high: Floats

    @property
    def has_band(self) -> bool:
        """Whether there is a band to draw."""
        return True


@dataclass(frozen=True, eq=False)
class Pooled(Banded):
    """A curve of several runs on a common axis, with its band.

    Attributes:
        centre: mean or median, shape (T,). At a position where the value of a run is unknown, the curve has a gap.
        low, high: edges of the band, shape (T,). With a single run, they equal the centre.
        values: values of the N runs, shape (N, T).
        spread: what the band shows.
        statistic: "mean" or "median".
        limits: the smallest and the largest possible value, which the band does not exceed.
        is_cut: whether the band would reach below the lowest possible value, usually 0, and was cut there.
    """

    values: Floats
    spread: Spread
    statistic: Statistic
    limits: tuple[float, float]
    is_cut: bool = False

    def copy(self) -> "Pooled":
        """Return a curve with new arrays."""
        at, centre, low, high, values = (of.copy() for of in (self.at, self.centre, self.low, self.high, self.values))
        return replace(self, at=at, centre=centre, low=low, high=high, values=values)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.values)

    @property
    def has_band(self) -> bool:
        """Whether there are several runs."""
        return self.runs > 1

    @property
    def frame(self) -> "pandas.DataFrame":
        """The curve as a data frame with the columns `COLUMNS`; std is NaN for a single run (n - 1)."""
        import pandas

        ordered = np.sort(self.values, axis=0)
        mean, median = ordered.mean(axis=0), np.median(ordered, axis=0)
        columns = (self.at, self.runs, mean, median, _deviation(ordered), self.low, self.high)
        return pandas.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def pool(
    traces: Sequence[Trace],
    at: Any = None,
    *,
    spread: Spread | None = None,
    statistic: Statistic = "mean",
    whole: bool = False,
    limits: tuple[float, float] = NOT_NEGATIVE,
) -> Pooled:
    """Pool runs on a common axis.

    The curve starts where every run has a value. It ends with the longest run, or with the first run that does not
    hold its value (`Trace.holds`).

    Args:
        traces: at least one run.
        at: positions of the curve. Default: all positions at which a run changes, at most `MOST_POINTS`.
        spread: what the band shows. Default: "ci".
        statistic: "mean" or "median".
        whole: positions are whole numbers, such as epochs; the curve has a point at each.
        limits: the lowest and the highest possible value, at which the band is cut. Default: 0 and infinity.

    Raises:
        InvalidInputError: there is no run, or no such spread.
    """
    if not traces:
        raise InvalidInputError("no run is given: give at least one")
    positions = common_axis(traces, whole) if at is None else np.asarray(at, np.float64)
    values = np.stack([trace.value_at(positions) for trace in traces])
    return pool_values(positions, values, spread=spread, statistic=statistic, limits=limits)


def pool_values(
    at: Any,
    values: Any,
    *,
    spread: Spread | None = None,
    statistic: Statistic = "mean",
    limits: tuple[float, float] = NOT_NEGATIVE,
) -> Pooled:
    """Pool the values of N runs at T common positions, shape (N, T); other arguments and errors as in `pool`.

    The result does not depend on the order of the runs.
    """
    spread = checked_spread(spread)
    ordered = np.sort(np.asarray(values, np.float64), axis=0)  # unknown values last; the sum is then the same, too
    centre = ordered.mean(axis=0) if statistic == "mean" else np.median(ordered, axis=0)
    uncut = band(ordered, spread, statistic)
    low, high = cut(ordered, *uncut, limits)
    is_cut = bool((low > uncut[0]).any())
    return Pooled(
        np.asarray(at, np.float64), centre, low, high, np.asarray(values, np.float64), spread, statistic, limits, is_cut
    )


def common_axis(traces: Sequence[Trace], whole: bool = False) -> Floats:
    """Return the positions of a curve of several runs, as `pool` describes them."""
    start, end = span(traces)
    if whole:
        return np.arange(start, end + 1)
    changes = np.unique(np.concatenate([[start, end], *(trace.at for trace in traces)]))
    changes = changes[(changes >= start) & (changes <= end)]
    if len(changes) <= MOST_POINTS:
        return changes
    first = start if start > 0 else float(changes[changes > 0][0])
    grid = np.geomspace(first, end, MOST_POINTS)
    return np.unique(np.clip(np.append(grid, start), start, end))


def span(traces: Sequence[Trace]) -> tuple[float, float]:
    """Return the first and the last position of a curve of several runs."""
    start = max(float(trace.at[0]) for trace in traces)
    open_ends = [trace.last for trace in traces if not trace.holds]
    end = min(open_ends) if open_ends else max(trace.last for trace in traces)
    return start, max(start, end)


# Bands ----------------------------------------------------------------------------------------------------------------


def checked_spread(spread: object) -> Spread:
    """Return a spread, "ci" for None; raises InvalidInputError if there is no spread of this name."""
    if spread is None:
        return "ci"
    for known in get_args(Spread):
        if spread == known:
            return known  # type: ignore[no-any-return]
    raise unknown_name("spread", spread, get_args(Spread))


def band(values: Floats, spread: Spread, statistic: Statistic = "mean") -> tuple[Floats, Floats]:
    """Return the lower and upper edges of a band, each of shape (T,).

    Args:
        values: values of N runs at T positions, shape (N, T). Where one is NaN, the band is NaN.
        spread: what the band shows. One run has a band of zero width. With fewer than `FEWEST_FOR_INTERVAL` runs, "ci"
            is the range.
        statistic: "mean" or "median": the centre of "std", and the statistic whose confidence "ci" is.
    """
    if len(values) == 1:
        return values[0], values[0]
    if spread == "range" or (spread == "ci" and len(values) < FEWEST_FOR_INTERVAL):
        return _around(values, statistic, values.min(axis=0), values.max(axis=0))
    if spread == "quartiles":
        low, high = np.quantile(values, (0.25, 0.75), axis=0)
        return low, high
    if spread == "std":
        centre, deviation = getattr(np, statistic)(values, axis=0), _deviation(values)
        return centre - deviation, centre + deviation
    low, high = (mean_interval if statistic == "mean" else median_interval)(values)
    return _around(values, statistic, low, high)


def cut(values: Floats, low: Floats, high: Floats, limits: tuple[float, float] = NOT_NEGATIVE) -> tuple[Floats, Floats]:
    """Return a band that ends at the limits of possible values.

    Args:
        values: shape (N, T). Where one of them lies beyond a limit, the band is not cut at this limit.
        low, high: the edges of the band, each of shape (T,).
        limits: the lowest and the highest possible value.
    """
    lowest, highest = limits
    low = np.where((low < lowest) & (values.min(axis=0) >= lowest), lowest, low)
    return low, np.where((high > highest) & (values.max(axis=0) <= highest), highest, high)


def _around(values: Floats, statistic: Statistic, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return an interval that contains the statistic, which rounding can put outside of it."""
    centre = getattr(np, statistic)(values, axis=0)
    return np.minimum(low, centre), np.maximum(high, centre)


def _deviation(values: Floats) -> Floats:
    """Return the standard deviation (n - 1) of values of shape (N, T) over the runs; NaN for one run."""
    if len(values) == 1:
        return np.full(values.shape[1], np.nan)
    found: Floats = values.std(axis=0, ddof=1)
    return found


# Words and drawing ----------------------------------------------------------------------------------------------------


def describe_band(
    spread: Spread | None,
    runs: int | Collection[int] = (),
    noun: str | None = "seed",
    *,
    statistic: Statistic = "mean",
    is_cut: bool = False,
) -> str:
    """Return what a curve and its band show, such as "mean and 95 % confidence interval, 7 seeds".

    Args:
        spread: what the band shows.
        runs: number of runs of each curve, or of all curves. Default: unknown. One run has no band: the text is empty
            if no curve has more. Confidence intervals of few runs are called their range (`spread_words`).
        noun: the noun for a run; None: the number of runs is not stated.
        statistic: "mean" or "median".
        is_cut: whether a band was cut at zero.
    """
    numbers = [runs] if isinstance(runs, int) else list(runs)
    if max(numbers, default=None) == 1:
        return ""
    words = spread_words(spread, numbers)
    if words == RANGE and noun is not None:
        return f"{statistic} and range of {counted_range(numbers, noun)}"
    joined = " " if spread == "std" else " and "
    many = f", {counted_range(numbers, noun)}" if numbers and noun is not None else ""
    return f"{statistic}{joined}{with_cut(words, is_cut)}{many}"


def with_cut(words: str, is_cut: bool) -> str:
    """Return the words of `spread_words` with the remark that bands are cut at 0, if they are."""
    if not is_cut or words == RANGE:
        return words
    return f"{words} (cut at 0)" if "(" not in words else words.replace("(", "(cut at 0; ", 1)


def spread_words(spread: Spread | None, runs: Collection[int] = ()) -> str:
    """Return what the bands of curves with these numbers of runs show, without the statistic.

    Confidence intervals need `FEWEST_FOR_INTERVAL` runs; with fewer, the text is "range". Curves of one run have no
    band.
    """
    name, several = checked_spread(spread), [number for number in runs if number > 1]
    few = [number for number in several if number < FEWEST_FOR_INTERVAL]
    if name != "ci" or not few:
        return SPREADS[name]
    return RANGE if len(few) == len(several) else f"{SPREADS[name]} (n < {FEWEST_FOR_INTERVAL}: {RANGE})"


def log_floor(curves: Iterable[Banded]) -> float:
    """Return the lower edge of a logarithmic axis with these curves, as they are recorded.

    The edge is below all values, so that a curve does not lie on the frame. If a centre is zero, which is drawn at the
    edge, it is half of the smallest positive centre. Bands end at this edge.
    """
    centres, lows = (np.concatenate(rows) for rows in zip(*((of.centre, of.low) for of in curves), strict=True))
    smallest = float(centres[centres > 0].min(initial=np.inf))
    if smallest == np.inf:
        return ALL_ZERO
    lowest = float(lows[lows > 0].min(initial=smallest))
    return 0.5 * smallest if (centres == 0).any() else max(0.5 * smallest, 0.9 * min(smallest, lowest))


def draw_level(axes: "Axes", value: float, label: str, floor: float | None = None) -> "Axes":
    """Draw a value that does not change, such as a baseline, as a dash-dotted horizontal line; return the axes.

    Args:
        axes: the axes to draw on.
        value: the value, in the unit of the axes.
        label: its label in a legend.
        floor: lower edge of logarithmic axes, where smaller values are drawn.
    """
    shown = value if floor is None else max(value, floor)
    axes.axhline(shown, **tones(LEVEL_LOOK), label=label, zorder=1)
    note_drawn(axes, "level", label, y=value)
    return axes


def marked_places(points: int, spacing: tuple[float, float]) -> list[int]:
    """Return the marked points of a curve: every k-th and the last, at most `MOST_MARKERS`.

    Args:
        points: number of points of the curve.
        spacing: the place of the first marker and the distance of markers, in any unit; the place remains the same
            share of the distance, so that the markers of curves that coincide do not hide each other, except at the
            last point.
    """
    step, last = -(-points // MOST_MARKERS), points - 1
    regular = range(int(spacing[0] / spacing[1] * step), last, step)
    return [*(place for place in regular if last - place > step / 2), last]


def draw_curve(
    axes: "Axes",
    curve: Banded,
    *,
    label: str,
    style: dict[str, Any],
    scale: float = 100.0,
    steps: bool = False,
    floor: float | None = None,
    has_band: bool = True,
) -> None:
    """Draw a curve and, if it has one, its band.

    Args:
        axes: the axes to draw on.
        curve: the curve.
        label: its label in a legend.
        style: arguments of `Axes.plot`, such as `colours.curve_styles` returns, with colours for a white background.
            Without `steps`, its markers are at every k-th point, so that each marks a recorded value.
        scale: factor of drawn values; 100 draws fractions in percent.
        steps: values hold until the next position, as those of incumbents do; otherwise, the points are connected.
        floor: lower edge of a logarithmic axis, at which lower values are drawn (unscaled).
        has_band: whether to draw the band.
    """
    note: dict[str, Any] = {"n": curve.runs} if isinstance(curve, Pooled) else {}
    note |= {"low": scale * curve.low, "high": scale * curve.high} if curve.has_band else {}
    note_drawn(axes, "curve", label, x=curve.at, y=scale * curve.centre, **note)
    rows = (curve.centre, curve.low, curve.high)
    centre, low, high = (scale * (row if floor is None else np.maximum(row, floor)) for row in rows)
    style = tones(style)
    if not steps and isinstance(style.get("markevery"), tuple):
        style = {**style, "markevery": marked_places(len(centre), style["markevery"])}
    if not np.isfinite(centre).any():  # matplotlib cannot space the markers of an empty line
        style = {**style, "markevery": None}
    elif np.isfinite(centre).sum() == 1:  # a line with a single point would be invisible, and half hidden by the frame
        style = {**style, "marker": "o", "markevery": None, "markersize": 5, "clip_on": False}
    axes.plot(curve.at, centre, drawstyle="steps-post" if steps else "default", label=in_legend(label), **style)
    if has_band and curve.has_band:
        step: Literal["post"] | None = "post" if steps else None
        color = style.get("color")
        axes.fill_between(curve.at, low, high, step=step, color=color, alpha=band_opacity(), linewidth=0)
