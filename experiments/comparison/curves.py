"""Mean and spread of test regret over epochs or time, from the repetitions of a run."""

from collections.abc import Sequence

import numpy as np
import pandas

from nasbench1shot1.experiments.comparison.entries import EPOCHS, Floats, Over, Repetition

QUARTILES_FROM = 10
"""Minimum number of repetitions for quartiles; with fewer, the spread is from the minimum to the maximum."""
MOST_POINTS = 1_000
"""Maximum number of points of a curve. Curves with more changes are sampled evenly on a logarithmic axis."""


def curve(repetitions: Sequence[Repetition], over: Over) -> pandas.DataFrame:
    """Return mean and spread of the test regret of the preferred architecture.

    The curve starts when every repetition has a result. The last result of a finished repetition extends to the end of
    the curve. A curve with unfinished repetitions ends with the shortest of them.

    Args:
        repetitions: at least one repetition.
        over: horizontal axis. With "epochs", the curve has one point per epoch; otherwise, one point per change.

    Returns:
        Columns `at` (epochs or seconds), `mean`, `low`, `high` (fractions) and `repetitions`. `low` and `high` are the
        quartiles if there are ten or more repetitions, otherwise the minimum and the maximum.
    """
    times = _moments(repetitions, over)
    values = np.stack([repetition.regret_at(times) for repetition in repetitions])
    low, high = _spread(values)
    columns = {"at": times, "mean": values.mean(axis=0), "low": low, "high": high}
    return pandas.DataFrame({**columns, "repetitions": len(values)})


def span(repetitions: Sequence[Repetition]) -> tuple[float, float]:
    """Return the first and last epoch or second of the curve of some repetitions."""
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
    """Return the lower and upper edges of the spread of values of shape (repetitions, T)."""
    if len(values) >= QUARTILES_FROM:
        low, high = np.quantile(values, (0.25, 0.75), axis=0)
        return low, high
    return values.min(axis=0), values.max(axis=0)
