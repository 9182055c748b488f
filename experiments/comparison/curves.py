"""Mean and spread of test regret over epochs or time, from the repetitions of a run."""

from collections.abc import Sequence

import numpy as np
import pandas

from nasbench1shot1.experiments.comparison.entry import EPOCHS, Floats, Over, Repetition

QUARTILES_FROM = 10
"""Number of repetitions from which the spread is the quartiles; the spread of fewer is their minimum and maximum."""
MOST_POINTS = 1_000
"""Largest number of points of a curve; curves with more changes are drawn at evenly spaced moments of a log axis."""


def curve(repetitions: Sequence[Repetition], over: Over) -> pandas.DataFrame:
    """Return mean and spread of the test regret of the preferred architecture.

    The curve begins when every repetition has a result. A finished repetition keeps its result until the end of the
    curve. If repetitions are not finished, the curve ends where the shortest of their records ends.

    Args:
        repetitions: at least one.
        over: "epochs" for a point per epoch; other curves have a point for each change.

    Returns:
        Columns `at` (epochs or seconds), `mean`, `low`, `high` (fractions) and `repetitions`. `low` and `high` are the
        quartiles of ten or more repetitions, else the minimum and the maximum.
    """
    times = _moments(repetitions, over)
    values = np.stack([repetition.held(times) for repetition in repetitions])
    low, high = _spread(values)
    columns = {"at": times, "mean": values.mean(axis=0), "low": low, "high": high}
    return pandas.DataFrame({**columns, "repetitions": len(values)})


def span(repetitions: Sequence[Repetition]) -> tuple[float, float]:
    """Return the first and the last moment of the curve of repetitions."""
    start = max(float(repetition.at[0]) for repetition in repetitions)
    running = [repetition.end for repetition in repetitions if not repetition.is_finished]
    end = min(running) if running else max(repetition.end for repetition in repetitions)
    return start, max(start, end)


def _moments(repetitions: Sequence[Repetition], over: Over) -> Floats:
    start, end = span(repetitions)
    if over == EPOCHS:
        return np.arange(start, end + 1)
    changes = np.unique(np.concatenate([[start, end], *(repetition.at for repetition in repetitions)]))
    changes = changes[(changes >= start) & (changes <= end)]
    if len(changes) <= MOST_POINTS:
        return changes
    return np.unique(np.clip(np.geomspace(max(start, 1e-9), end, MOST_POINTS), start, end))


def _spread(values: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper edge of the spread of values (repetitions, T)."""
    if len(values) >= QUARTILES_FROM:
        low, high = np.quantile(values, (0.25, 0.75), axis=0)
        return low, high
    return values.min(axis=0), values.max(axis=0)
