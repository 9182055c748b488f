"""The result of a comparison: curves, a table of final regrets and rank tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.curves import Pooled, Trace, pool, span
from nasbench1shot1.display.style import Spread
from nasbench1shot1.evaluator import Baseline
from nasbench1shot1.experiments.comparison.entries import CLOCKS, EPOCHS, Entry, Facts, Floats, Over
from nasbench1shot1.ground.notebooks import Displayed, html_table
from nasbench1shot1.one_shot_search.captions import provenance
from nasbench1shot1.reference_points import NO_REGRETS, MarkedRegrets

FEWEST = 5
"""Minimum number of runs on each side of a test; with fewer runs, even the smallest p-value is inconclusive."""
SIGNIFICANT = 0.05
"""p-values from this one on are called not significant."""
COLUMNS = ("moment", "first", "second", "n_first", "n_second", "u", "p", "p_holm", "a12", "effect")
EFFECTS = ((0.71, "large"), (0.64, "medium"), (0.56, "small"), (0.0, "negligible"))
"""Minimum A12 (or 1 − A12) for each effect size (Vargha and Delaney, 2000, section 5)."""
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
    repetitions: Sequence[Trace]

    @property
    def final(self) -> Floats:
        """Final test regret of each repetition, as a fraction."""
        return np.array([repetition.result for repetition in self.repetitions])

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
        found = np.array([repetition.value_at(np.array([moment]))[0] for repetition in self.repetitions])
        return (
            np.empty(0) if np.isnan(found).any() else found
        )  # the repetitions with an early result would be a biased sample


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed):
    """Runs in one figure.

    Attributes:
        contenders: the runs, in the order given.
        over: the horizontal axis.
        facts: space, data set, table and objective of all runs.
        goal: the metrics of this objective; regrets are in the unit of the metric that judges the results.
        is_rescored: whether all architectures were scored again on this table.
        spread: what the bands show. Default: "ci", the 95 % confidence interval of the mean.
        baseline: the bounds of all runs and their baseline; None without bounds.
        marked: the regrets of marked networks.
        mean: the mean test regret of the networks of the space, within the bounds if there are any; None if unknown.
    """

    contenders: Sequence[Contender]
    over: Over
    facts: Facts
    goal: Goal = field(default_factory=Goal)
    is_rescored: bool = False
    spread: Spread | None = None
    baseline: Baseline | None = None
    marked: MarkedRegrets = NO_REGRETS
    mean: float | None = None

    def __repr__(self) -> str:
        means = (f"{of.label} {self.goal.text(of.final.mean())} (n = {len(of.final)})" for of in self.contenders)
        where = f"{self.space}, over {self.over}"
        return f"Comparison({where}; mean final {self.goal.regret}, {self.source}: {', '.join(means)})"

    DRAWING = "nasbench1shot1.experiments.comparison.comparing:plot_comparison"

    def _as_html(self) -> str:
        facts, text = self.facts, self.goal.text
        heading = f"{self.goal.title} on {self.space}, {facts.dataset}, over {self.over}; table {facts.table}"
        columns = ("run", "n", "mean", "standard deviation", "median", "best", "source")
        numbers = ("final_mean", "final_std", "final_median", "final_best")
        rows = [
            (
                row["label"], f"{row['n']:,}",
                *("–" if pandas.isna(row[name]) else text(row[name]) for name in numbers), row["source"],
            )
            for row in self.results.to_dict("records")
        ]  # fmt: skip
        return html_table(heading, columns, rows)

    @property
    def space(self) -> str:
        """The short name of the search space, for captions; `facts` has its versioned id."""
        return str(self.contenders[0].entry.configs[0]["space"])

    @cached_property
    def curves(self) -> dict[str, Pooled]:
        """The mean test regret of the preferred architecture of each run and its band, as fractions, by label.

        Over epochs, a curve has one point per epoch; otherwise, one point per change.
        """
        return {
            contender.label: pool(contender.repetitions, spread=self.spread, whole=self.over == EPOCHS)
            for contender in self.contenders
        }

    @property
    def guided_by_test_values(self) -> list[str]:
        """The labels of the runs whose searches observed test values."""
        return [of.label for of in self.contenders if of.entry.goal.is_guided_by_test_values]

    @property
    def source(self) -> str:
        """Whether the regrets of all runs are measured or predicted, in words."""
        shares = [repetition.measured for contender in self.contenders for repetition in contender.repetitions]
        return provenance(pandas.Series(shares))

    @property
    def common_time(self) -> float:
        """The last simulated second, or number of evaluations, that all curves reach."""
        return min(span(contender.repetitions)[1] for contender in self.contenders)

    @cached_property
    def results(self) -> pandas.DataFrame:
        """A data frame with one row per run; regrets of accuracies are fractions.

        Columns: label, kind, optimizer, folder, n (number of searches with a result), finished, source (measured or
        predicted), final_mean, final_std (n - 1; NaN for one search), final_median and final_best (statistics of the
        final test regrets). Over simulated time, also common_seconds (the last time that all curves reach), common_mean
        and common_std (statistics of the regrets at this time; NaN if a search has no result by then). Over
        evaluations, common_evaluations takes the place of common_seconds.
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
        if self.over in CLOCKS:
            common = _statistics(contender.at(self.common_time))
            row |= {f"common_{CLOCKS[self.over]}": self.common_time} | {
                f"common_{name}": common[name] for name in ("mean", "std")
            }
        return row

    @cached_property
    def rank_tests(self) -> pandas.DataFrame:
        """A data frame with one row per pair of runs with five or more searches; columns as in `COLUMNS`.

        The tests compare the final regrets. Over simulated time and evaluations, further rows compare the regrets at
        the last time that all curves reach. Holm's correction is applied to these two sets of tests separately.
        """
        final = {contender.label: contender.final for contender in self.contenders}
        frames = [rank_tests({label: values[~np.isnan(values)] for label, values in final.items()}, END)]
        if self.over in CLOCKS:
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


# Rank tests of all pairs of methods -----------------------------------------------------------------------------------


def rank_tests(samples: Mapping[str, Floats], moment: str, with_only: str | None = None) -> pandas.DataFrame:
    """Compare the regrets of all pairs of methods with a two-sided Mann–Whitney U test.

    Args:
        samples: regrets of the runs of each method, by label. Methods with fewer than `FEWEST` runs are omitted.
        moment: point in time of the regrets, such as "end".
        with_only: the method with which all others are compared. Default: all pairs are compared.

    Returns:
        A data frame with one row per pair and the columns `COLUMNS`. `u` is the U statistic of the first method, `p`
        the p-value, and `p_holm` the p-value with Holm's correction for the number of pairs. `a12` is the probability
        that a run of the first method has a lower regret than a run of the second (ties count half; Vargha and Delaney,
        2000). `effect_size` is the effect size in words.
    """
    enough = {label: values for label, values in samples.items() if len(values) >= FEWEST}
    pairs = [pair for pair in combinations(enough, 2) if with_only is None or with_only in pair]
    rows = [_test(moment, first, second, enough) for first, second in pairs]
    frame = pandas.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    frame.insert(COLUMNS.index("p_holm"), "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _test(moment: str, first: str, second: str, samples: Mapping[str, Floats]) -> tuple[object, ...]:
    a, b = samples[first], samples[second]
    u, p = _mann_whitney(a, b)
    a12 = 1 - u / (len(a) * len(b))  # U counts the pairs in which the first regret is higher
    return moment, first, second, len(a), len(b), u, p, a12, effect_size(a12)


def _mann_whitney(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the U statistic of `a` and the two-sided p-value; the p-value is 1 if all values are equal."""
    from scipy.stats import mannwhitneyu  # type: ignore[attr-defined]

    if np.ptp(np.concatenate([a, b])) == 0:
        return len(a) * len(b) / 2, 1.0
    found = mannwhitneyu(a, b, alternative="two-sided")
    return float(found.statistic), float(found.pvalue)


def effect_size(a12: float) -> str:
    """Return an effect size in words: negligible, small, medium or large."""
    return next(word for smallest, word in EFFECTS if max(a12, 1 - a12) >= smallest)


def describe_effect(first: str, second: str, a12: float) -> str:
    """Return the meaning of an A12 as a sentence without a full stop."""
    better, worse, share = (first, second, a12) if a12 >= 0.5 else (second, first, 1 - a12)
    if share == 0.5:
        return f"{first} and {second} are equally likely to be better"
    return f"{better} is better than {worse} in {100 * share:.0f} % of pairs: a {effect_size(a12)} effect"


def holm(p: Sequence[float] | Floats) -> Floats:
    """Return p-values with Holm's correction (Holm, 1979), in the order given."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted
