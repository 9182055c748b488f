"""Incumbents of studies over simulated time: figures 5, 14 and 15 of NAS-Bench-1Shot1.

The simulated clock sums the costs of all observations, as if one machine had made them one after the other. The cost of
an observation is the time of its search plus the table's training time of its architecture (section 5 of the paper).
The incumbent is the observation with the lowest loss so far, at any budget; test values select nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tuning.record import simulated_cost

Floats = NDArray[np.float64]

REGRETS = ("test_regret", "validation_regret")
COLUMNS = ("seconds", "number", "configuration_id", "budget", "loss", *REGRETS)


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
    if not repetitions or any(not len(frame) for frame in repetitions):
        raise InvalidInputError("a repetition has no incumbent: give at least one, each with a finished search")
    changes = [frame["seconds"].to_numpy(np.float64) for frame in repetitions]
    start = max(times[0] for times in changes)
    end = max(start, min(times[-1] for times in changes))
    times = np.unique(np.concatenate([[start, end], *changes])) if at is None else np.asarray(at, np.float64)
    times = times[(times >= start) & (times <= end)]
    columns = {"seconds": times, "repetitions": np.full(len(times), len(repetitions))}
    for name in REGRETS:
        values = np.stack([_values_at(frame, name, times) for frame in repetitions])
        columns[f"{name}_mean"] = values.mean(axis=0)
        columns[f"{name}_std"] = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(times), np.nan)
    return pandas.DataFrame(columns)


def _values_at(frame: pandas.DataFrame, name: str, times: Floats) -> Floats:
    """Return the value of a repetition at each time, which is in its last row until then."""
    rows = np.searchsorted(frame["seconds"].to_numpy(np.float64), times, side="right") - 1
    held: Floats = frame[name].to_numpy(np.float64)[rows]
    return held
