"""The result of a comparison: curves, a table of final regrets and rank tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas

from nasbench1shot1.experiments.comparison.curves import curve, span
from nasbench1shot1.experiments.comparison.entries import SIMULATED_TIME, Entry, Facts, Floats, Over, Repetition
from nasbench1shot1.experiments.comparison.rank_tests import rank_tests
from nasbench1shot1.one_shot_search.captions import provenance

END, COMMON = "end", "common time"
"""Moments of rank tests: the end of each run, or the last time that all curves reach."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A run, a group of seeds or a study, with its results.

    Attributes:
        label: name in figures and tables.
        entry: the run.
        repetitions: the searches that have a result; at least one.
    """

    label: str
    entry: Entry
    repetitions: Sequence[Repetition]

    @property
    def final(self) -> Floats:
        """Final test regret of each repetition, as a fraction."""
        return np.array([repetition.final for repetition in self.repetitions])

    @property
    def missing(self) -> int:
        """Number of repetitions whose result a partial table lacks."""
        return int(np.isnan(self.final).sum())

    @property
    def source(self) -> str:
        """Whether the regrets of this run are measured or predicted, in words."""
        return provenance(pandas.Series([repetition.measured for repetition in self.repetitions]))

    def at(self, moment: float) -> Floats:
        """Return the test regret of each repetition at an epoch or second; empty if a repetition has no result then."""
        found = np.array([repetition.regret_at(np.array([moment]))[0] for repetition in self.repetitions])
        return (
            np.empty(0) if np.isnan(found).any() else found
        )  # the repetitions with an early result would be a biased sample


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Runs in one figure.

    Attributes:
        contenders: the runs, in the order given.
        over: the horizontal axis.
        facts: space, data set and table of all runs.
        is_rescored: whether all architectures were scored again on this table.
    """

    contenders: Sequence[Contender]
    over: Over
    facts: Facts
    is_rescored: bool = False

    def __repr__(self) -> str:
        means = (f"{of.label} {100 * of.final.mean():.2f} % (n = {len(of.final)})" for of in self.contenders)
        where = f"{self.space}, over {self.over}"
        return f"Comparison({where}; mean final test regret, {self.source}: {', '.join(means)})"

    @property
    def space(self) -> str:
        """The short name of the search space, for captions; `facts` has its versioned id."""
        return str(self.contenders[0].entry.configs[0]["space"])

    @cached_property
    def curves(self) -> dict[str, pandas.DataFrame]:
        """The curves of all runs by label, in the format of `curves.curve`."""
        return {contender.label: curve(contender.repetitions, self.over) for contender in self.contenders}

    @property
    def source(self) -> str:
        """Whether the regrets of all runs are measured or predicted, in words."""
        shares = [repetition.measured for contender in self.contenders for repetition in contender.repetitions]
        return provenance(pandas.Series(shares))

    @property
    def common_time(self) -> float:
        """The last simulated second that all curves reach."""
        return min(span(contender.repetitions)[1] for contender in self.contenders)

    @cached_property
    def results(self) -> pandas.DataFrame:
        """A data frame with one row per run; regrets are fractions.

        Columns: label, kind, optimizer, folder, n (number of searches with a result), finished, source (measured or
        predicted), final_mean, final_std (n - 1; NaN for one search), final_median and final_best (statistics of the
        final test regrets). Over simulated time, also common_seconds (the last time that all curves reach), common_mean
        and common_std (statistics of the regrets at this time; NaN if a search has no result by then).
        """
        return pandas.DataFrame([self._row(contender) for contender in self.contenders])

    def _row(self, contender: Contender) -> dict[str, object]:
        entry = contender.entry
        row: dict[str, object] = {
            "label": contender.label,
            "kind": entry.kind,
            "optimizer": entry.optimizer,
            "folder": str(entry.folder),
            "n": len(contender.repetitions),
            "finished": entry.progress is None,
            "source": contender.source,
        }
        row |= {f"final_{name}": value for name, value in _statistics(contender.final).items()}
        if self.over == SIMULATED_TIME:
            common = _statistics(contender.at(self.common_time))
            row |= {"common_seconds": self.common_time} | {f"common_{name}": common[name] for name in ("mean", "std")}
        return row

    @cached_property
    def rank_tests(self) -> pandas.DataFrame:
        """A data frame with one row per pair of runs with five or more searches; columns as in `rank_tests.rank_tests`.

        The tests compare the final regrets. Over simulated time, further rows compare the regrets at the last time that
        all curves reach. Holm's correction is applied to these two sets of tests separately.
        """
        final = {contender.label: contender.final for contender in self.contenders}
        frames = [rank_tests({label: values[~np.isnan(values)] for label, values in final.items()}, END)]
        if self.over == SIMULATED_TIME:
            common = {contender.label: contender.at(self.common_time) for contender in self.contenders}
            frames.append(rank_tests(common, COMMON))
        return pandas.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def _statistics(values: Floats) -> dict[str, float]:
    """Return mean, standard deviation (n - 1), median and minimum of known values; NaN where there are too few."""
    values = values[~np.isnan(values)]
    if not len(values):
        return dict.fromkeys(("mean", "std", "median", "best"), float("nan"))
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
        "median": float(np.median(values)),
        "best": float(values.min()),
    }
