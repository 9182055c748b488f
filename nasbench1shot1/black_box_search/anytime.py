"""Incumbents of all searches of a study at given times of the simulated clock."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]


def values_at(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> Floats:
    """Return a column of the incumbents at T times, shape (searches, T); NaN before a search's first training ends.

    Args:
        trajectory: rows of incumbents with the columns repeat, simulated_seconds and `column`, sorted by time within
            each repeat.
        times: T simulated seconds, ascending.
        column: the column to return, such as "test_regret" or "test_error".
    """
    moments, searches = np.asarray(times, np.float64), trajectory.groupby("repeat", sort=True)
    return np.stack([_steps(rows, moments, column) for _, rows in searches])


def _steps(rows: "pandas.DataFrame", times: Floats, column: str) -> Floats:
    values = np.concatenate([[np.nan], rows[column].to_numpy(np.float64)])
    return values[np.searchsorted(rows["simulated_seconds"].to_numpy(np.float64), times, side="right")]


def statistics_over_time(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> "pandas.DataFrame":
    """Return statistics of the incumbents over all searches, from the time at which every search has a value.

    Args:
        trajectory, times, column: as in `values_at`.

    Returns:
        A data frame with the columns seconds, mean, median, low and high (25 % and 75 % quantiles), one row per time.
        The statistics are NaN at times at which the value of an incumbent is unknown.
    """
    import pandas

    moments, values = np.asarray(times, np.float64), values_at(trajectory, times, column)
    has_started = np.logical_or.accumulate(~np.isnan(values).any(axis=0))
    moments, values = moments[has_started], values[:, has_started]
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    return pandas.DataFrame(
        {"seconds": moments, "mean": values.mean(axis=0), "median": median, "low": low, "high": high}
    )


def time_grid(trajectories: Sequence["pandas.DataFrame"], last: float | None = None, points: int = 300) -> Floats:
    """Return times, evenly spaced on a logarithmic axis, from the first incumbent of any search to the last time.

    A logarithmic grid cannot start at zero, so incumbents without cost are ignored.

    Args:
        trajectories: rows of incumbents.
        last: the last time in simulated seconds. Default: the time of the last incumbent.
        points: number of times.
    """
    seconds = np.concatenate([rows["simulated_seconds"].to_numpy(np.float64) for rows in trajectories])
    first, end = float(seconds[seconds > 0].min(initial=last or seconds.max() or 1.0)), float(last or seconds.max())
    return np.geomspace(first, max(end, first), points)
