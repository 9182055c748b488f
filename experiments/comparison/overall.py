"""Methods over many tasks: average ranks with Friedman's and Nemenyi's tests, win/tie/loss, performance profiles.

A task is a search space with a data set. The procedure is Demšar's (2006, JMLR 7): the methods are ranked on each task
by a mean regret, Friedman's test asks whether their average ranks differ, and Nemenyi's test asks which pairs do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.experiments.comparison.rank_tests import SIGNIFICANT
from nasbench1shot1.ground.bootstrap import count_in_resamples, percentile_interval
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL
from nasbench1shot1.ground.text import counted

Floats = NDArray[np.float64]
FEWEST_TASKS, FEWEST_METHODS = 5, 3
"""Minimum numbers of tasks and methods of a test of average ranks."""
PROFILE_POINTS = 200
"""Number of thresholds of a performance profile."""
RESAMPLES, SEED = 1000, 0
"""Resamples of the runs for the intervals of a profile, and the seed of their generator."""


@dataclass(frozen=True, eq=False)
class AverageRanks:
    """Ranks of M methods on N tasks.

    Attributes:
        ranks: rank of each method (column) on each task (row), 1 for the lowest regret; equal regrets share their mean.
    """

    ranks: pandas.DataFrame

    @classmethod
    def of(cls, regrets: pandas.DataFrame) -> "AverageRanks":
        """Rank methods by their mean regrets.

        Args:
            regrets: mean regret of each method (column) on each task (row).

        Raises:
            InvalidInputError: there are fewer than `FEWEST_TASKS` tasks or `FEWEST_METHODS` methods.
        """
        tasks, methods = regrets.shape
        if tasks < FEWEST_TASKS:
            raise InvalidInputError(
                f"average ranks and a critical-difference diagram need at least {FEWEST_TASKS} tasks (pairs of space "
                f"and data set) with the same methods, and there {_are(tasks, 'task')}: add runs on other spaces or "
                "data sets"
            )
        if methods < FEWEST_METHODS:
            raise InvalidInputError(
                f"average ranks need at least {FEWEST_METHODS} methods with runs on all tasks, and there "
                f"{_are(methods, 'method')}: add runs of other methods, or use the table of wins, ties and losses"
            )
        return cls(regrets.rank(axis=1))

    @property
    def averages(self) -> "pandas.Series[float]":
        """The average rank of each method, the best one first."""
        return self.ranks.mean().sort_values(kind="stable")

    @cached_property
    def friedman(self) -> tuple[float, float]:
        """The χ² statistic of Friedman's test, corrected for ties, and its p-value; 0 and 1 if all ranks are equal."""
        from scipy.stats import friedmanchisquare

        if (self.ranks.nunique(axis=1) == 1).all():
            return 0.0, 1.0
        found = friedmanchisquare(*self.ranks.to_numpy(np.float64).T)
        return float(found.statistic), float(found.pvalue)

    @cached_property
    def critical_difference(self) -> float:
        """The difference of average ranks from which on Nemenyi's test calls it significant (at 5 %)."""
        from scipy.stats import studentized_range  # type: ignore[attr-defined]

        tasks, methods = self.ranks.shape
        quantile = studentized_range.ppf(1 - SIGNIFICANT, methods, np.inf)
        standard_error = np.sqrt(methods * (methods + 1) / (6 * tasks))
        return float(quantile / np.sqrt(2) * standard_error)

    @property
    def is_significant(self) -> bool:
        """Whether Friedman's test rejects equal ranks at 5 %; otherwise, no pair is called different."""
        return self.friedman[1] < SIGNIFICANT

    @property
    def groups(self) -> list[list[str]]:
        """The largest sets of two or more methods, neighbours by average rank, of which no pair differs."""
        averages = self.averages
        labels = list(averages.index)
        if not self.is_significant:
            return [labels]
        found: list[list[str]] = []
        for start in range(len(labels)):
            near = averages.iloc[start:] - averages.iloc[start] < self.critical_difference
            group = labels[start : start + int(near.sum())]
            if len(group) > 1 and not (found and set(group) <= set(found[-1])):
                found.append(group)
        return found

    @property
    def frame(self) -> pandas.DataFrame:
        """A data frame with a row per method, the best one first: label, average_rank, and the rank on each task."""
        frame = self.ranks.T.loc[self.averages.index]
        frame.insert(0, "average_rank", self.averages)
        return frame.rename_axis("label").reset_index()


def _are(number: int, noun: str) -> str:
    return f"{'is' if number == 1 else 'are'} {counted(number, noun)}"


# Wins, ties and losses ------------------------------------------------------------------------------------------------


def win_tie_loss(labels: Sequence[str], better: Mapping[str, Mapping[frozenset[str], str | None]]) -> pandas.DataFrame:
    """Count the tasks on which the first method of each pair is better, not different, or worse.

    Args:
        labels: the methods.
        better: by task, which method of a pair is significantly better, or None (`Comparison.better`). If a pair is
            missing, it was not tested, and its task is not counted.

    Returns:
        A data frame with the columns first, second, wins, ties, losses and tasks (their sum).
    """
    rows = []
    for first, second in combinations(labels, 2):
        counts, pair = [0, 0, 0], frozenset((first, second))
        for of_task in better.values():
            if pair in of_task:
                counts[{first: 0, None: 1, second: 2}[of_task[pair]]] += 1
        if sum(counts):
            rows.append((first, second, *counts, sum(counts)))
    return pandas.DataFrame(rows, columns=["first", "second", "wins", "ties", "losses", "tasks"])


# Distributions of final regrets ---------------------------------------------------------------------------------------


def shares_below(values: Floats, thresholds: Floats) -> Floats:
    """Return the share of values that are at most each threshold: their empirical distribution, shape (T,)."""
    found: Floats = np.searchsorted(np.sort(values), thresholds, side="right") / len(values)
    return found


def performance_profile(samples: Sequence[Floats], thresholds: Floats) -> pandas.DataFrame:
    """Return how likely a run of a method is to reach each relative regret (Agarwal et al., NeurIPS 2021).

    Args:
        samples: for each task, the relative regrets of the method's runs. Every task has the same weight.
        thresholds: shape (T,).

    Returns:
        A data frame with the columns at, share, low and high: the 95 % confidence interval by the bootstrap, which
        resamples the runs of each task. With fewer than `FEWEST_FOR_INTERVAL` runs on some task, the interval is NaN.
    """
    shares = np.mean([shares_below(values, thresholds) for values in samples], axis=0)
    low = high = np.full(len(thresholds), np.nan)
    if min(map(len, samples)) >= FEWEST_FOR_INTERVAL:
        rng = np.random.default_rng(SEED)
        drawn = np.zeros((RESAMPLES, len(thresholds)))
        for values in samples:
            reached = np.sort(values)[:, None] <= thresholds
            runs = len(values)
            drawn += count_in_resamples(runs, RESAMPLES, rng) @ reached / runs / len(samples)
        low, high = percentile_interval(drawn)
    return pandas.DataFrame({"at": thresholds, "share": shares, "low": low, "high": high})
