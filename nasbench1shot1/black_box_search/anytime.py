"""Incumbents at given moments of the simulated clock, for all searches of a study."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]


def at_times(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> Floats:
    """Return a column of the incumbents at T moments, (searches, T); NaN before the first training of a search ends.

    Args:
        trajectory: rows of incumbents with the columns repeat, simulated_seconds and `column`, in order of time within
            each repeat.
        times: T simulated seconds, ascending.
        column: what to return, such as "test_regret" or "test_error".
    """
    moments, searches = np.asarray(times, np.float64), trajectory.groupby("repeat", sort=True)
    return np.stack([_steps(rows, moments, column) for _, rows in searches])


def _steps(rows: "pandas.DataFrame", times: Floats, column: str) -> Floats:
    values = np.concatenate([[np.nan], rows[column].to_numpy(np.float64)])
    return values[np.searchsorted(rows["simulated_seconds"].to_numpy(np.float64), times, side="right")]


def over_time(trajectory: "pandas.DataFrame", times: Any, column: str = "test_regret") -> "pandas.DataFrame":
    """Return statistics of the incumbents over the searches, a row for each moment at which all have an incumbent.

    Args:
        trajectory, times, column: as in `at_times`.

    Returns:
        Columns seconds, mean, median, low and high (25 % and 75 % quantiles).
    """
    import pandas

    moments, values = np.asarray(times, np.float64), at_times(trajectory, times, column)
    complete = ~np.isnan(values).any(axis=0)
    moments, values = moments[complete], values[:, complete]
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    return pandas.DataFrame(
        {"seconds": moments, "mean": values.mean(axis=0), "median": median, "low": low, "high": high}
    )


def time_grid(trajectories: Sequence["pandas.DataFrame"], last: float | None = None, points: int = 300) -> Floats:
    """Return moments, evenly spaced on a logarithmic axis, from the first incumbent of any search to the last moment.

    A grid cannot begin at zero: an incumbent that cost nothing is left out.

    Args:
        trajectories: rows of incumbents.
        last: the last moment in simulated seconds. Default: the last incumbent's.
        points: number of moments.
    """
    seconds = np.concatenate([rows["simulated_seconds"].to_numpy(np.float64) for rows in trajectories])
    first, end = float(seconds[seconds > 0].min(initial=last or seconds.max() or 1.0)), float(last or seconds.max())
    return np.geomspace(first, max(end, first), points)
