"""The result of a comparison on one task: curves, a table of regrets and rank tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pandas

from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.curves import Pooled, Trace, pool, span
from nasbench1shot1.display.style import Spread
from nasbench1shot1.evaluator import Baseline
from nasbench1shot1.experiments.comparison.entries import (
    CLOCK_WORDS,
    CLOCKS,
    EPOCHS,
    EVALUATIONS,
    Entry,
    Facts,
    Floats,
    Over,
)
from nasbench1shot1.experiments.comparison.measures import Span, common_span, interval_name, summarise, time_averages
from nasbench1shot1.experiments.comparison.rank_tests import (
    FEWEST,
    FEWEST_PAIRS,
    PAIR,
    SIGNIFICANT,
    match,
    paired_tests,
    rank_tests,
)
from nasbench1shot1.ground.notebooks import Displayed, html_table
from nasbench1shot1.ground.text import counted
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.one_shot_search.captions import provenance
from nasbench1shot1.reference_points import NO_REGRETS, MarkedRegrets
from nasbench1shot1.tables.columns import partly_text

END, COMMON, ANYTIME, LOG_ANYTIME = MEASURES = ("final", "common", "anytime", "log_anytime")
"""Moments of regrets, which are also the beginnings of columns of results: the end of each run, the last time that all
curves reach, and means over linear and logarithmic time."""
FEW_SEEDS, FEW_REPEATS = 10, 500
"""Numbers of searches, and of repeats of a black-box study, below which a comparison warns."""
Test = Literal["Wilcoxon", "Mann–Whitney"]


def final_source(repetitions: Iterable[Trace]) -> str:
    """Return whether the values at the ends of some runs are measured or predicted, in words."""
    return provenance(pandas.Series([repetition.final_measured for repetition in repetitions], dtype=float))


def curve_source(repetitions: Iterable[Trace]) -> str:
    """Return whether the values along curves are "measured", "predicted" or "partly predicted", as far as it is known.

    Of a black-box study, only the source of the final values is known.
    """
    shares = [share for of in repetitions for share in (of.measured, of.final_measured) if not np.isnan(share)]
    if not shares:
        return final_source([])
    return partly_text(flag for share in shares for flag in {share > 0, share == 1})


def sources_text(repetitions: Sequence[Trace]) -> str:
    """Return how far final regrets are measured and, where this differs, the regrets along the curves of searches.

    The text is "measured", "predicted", or such as "final regrets: predicted; along the curves of searches: 25 %
    measured, else predicted".
    """
    final, points = final_source(repetitions), pandas.Series([of.measured for of in repetitions]).dropna()
    along = provenance(points) if len(points) else final
    return final if along == final else f"final regrets: {final}; along the curves of searches: {along}"


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
    def keys(self) -> list[str]:
        """Random seed of each repetition in words, as `Trace.key`."""
        return [repetition.key for repetition in self.repetitions]

    @property
    def missing(self) -> int:
        """Number of repetitions whose result a partial table lacks."""
        return int(np.isnan(self.final).sum())

    @property
    def n(self) -> int:
        """Number of repetitions with a known result."""
        return len(self.repetitions) - self.missing

    @property
    def source(self) -> str:
        """Whether the final regrets of this run are measured or predicted, in words."""
        return final_source(self.repetitions)

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
        means = (f"{of.label} {self._mean_text(of)} (n = {of.n})" for of in self.contenders)
        where = f"{self.space}, over {CLOCK_WORDS[self.over]}"
        return f"Comparison({where}; mean final {self.goal.regret}, {self.source}: {', '.join(means)})"

    DRAWING = "nasbench1shot1.experiments.comparison.comparing:plot_comparison"

    def _as_html(self) -> str:
        facts, text = self.facts, self.goal.text
        heading = (
            f"{self.goal.title} on {self.space}, {facts.dataset}, over {CLOCK_WORDS[self.over]}; table {facts.table}"
        )
        interval = interval_name([of.n for of in self.contenders])
        columns = ("run", "n", "mean", interval, "standard deviation", "median", "best", "source")
        numbers = ("final_std", "final_median", "final_best")

        def shown(value: float) -> str:
            return "–" if pandas.isna(value) else text(value)

        rows = [
            (
                row["label"], f"{row['n']:,}", shown(row["final_mean"]),
                "–" if pandas.isna(row["final_low"]) else f"{shown(row['final_low'])} to {shown(row['final_high'])}",
                *(shown(row[name]) for name in numbers), row["source"],
            )
            for row in self.results.to_dict("records")
        ]  # fmt: skip
        return html_table(heading, columns, rows)

    def _mean_text(self, of: Contender) -> str:
        return self.goal.text(float(np.nanmean(of.final))) if of.n else "unknown"

    @property
    def space(self) -> str:
        """The short name of the search space, for captions; `facts` has its versioned id."""
        return str(self.contenders[0].entry.configs[0]["space"])

    @copied_property
    def curves(self) -> dict[str, Pooled]:
        """The mean test regret of the preferred architecture of each run and its band, as fractions, by label.

        Over epochs, a curve has one point per epoch; otherwise, one point per change.
        """
        return {
            contender.label: pool(contender.repetitions, spread=self.spread, whole=self.over == EPOCHS)
            for contender in self.contenders
        }

    @property
    def source(self) -> str:
        """Whether the final regrets of all runs are measured or predicted, in words."""
        return final_source(self.repetitions)

    @property
    def curve_source(self) -> str:
        """Whether the regrets along the curves are measured, predicted or partly predicted, for labels of axes."""
        return curve_source(self.repetitions)

    @property
    def repetitions(self) -> list[Trace]:
        """The repetitions of all runs."""
        return [repetition for contender in self.contenders for repetition in contender.repetitions]

    @property
    def common_time(self) -> float:
        """The last simulated second, or number of evaluations, that all curves reach."""
        return min(span(contender.repetitions)[1] for contender in self.contenders)

    @cached_property
    def span(self) -> Span:
        """The range of anytime regrets, which all curves have in common."""
        return common_span([contender.repetitions for contender in self.contenders], self.over in (EPOCHS, EVALUATIONS))

    @copied_property
    def samples(self) -> dict[str, dict[str, Floats]]:
        """The regret of each run by moment and label, in the order of the runs; NaN where it is unknown."""
        found: dict[str, dict[str, Floats]] = {moment: {} for moment in self.moments}
        for contender in self.contenders:
            found[END][contender.label] = contender.final
            if COMMON in found:
                common = contender.at(self.common_time)
                found[COMMON][contender.label] = common if len(common) else np.full(len(contender.final), np.nan)
            for moment, log in ((ANYTIME, False), (LOG_ANYTIME, True)):
                found[moment][contender.label] = time_averages(contender.repetitions, self.span, log)
        return found

    @property
    def has_log_areas(self) -> bool:
        """Whether tables show anytime regrets on a logarithmic axis: not over epochs, which are not a time."""
        return self.over != EPOCHS

    @property
    def moments(self) -> list[str]:
        """The moments at which regrets are compared."""
        return [moment for moment in MEASURES if moment != COMMON or self.over in CLOCKS]

    @property
    def overlaps(self) -> bool:
        """Whether there is a time at which all runs have a result."""
        return self.span.start <= self.span.end

    @property
    def ends_differ(self) -> bool:
        """Whether methods end at different times, so that regrets at the last common time are not the final ones.

        False if there is no common time.
        """
        if not self.overlaps:
            return False
        end, common = (self.samples.get(moment, {}) for moment in (END, COMMON))
        return any(not np.array_equal(end[label], values, equal_nan=True) for label, values in common.items())

    @copied_property
    def results(self) -> pandas.DataFrame:
        """A data frame with one row per run; regrets of accuracies are fractions.

        Columns: label, kind, optimizer, folder, space, dataset, table, scale (NaN for black-box studies), n (number of
        searches with a known result), missing (number of searches whose result a partial table lacks), finished and
        source (of the known final regrets: measured or predicted). Then follow statistics of the known final test
        regrets: final_mean, final_std (n - 1; NaN for one search), final_low and final_high (95 % confidence interval
        of the mean, or the range of fewer than six searches), final_median, final_median_low and final_median_high (the
        same for the median), and final_best.

        anytime_mean, … are the same statistics of the anytime regrets: the mean regret between anytime_start and
        anytime_end, the range that all curves have in common. log_anytime_mean, … are those on logarithmic time, from
        log_anytime_start on. Over simulated time, also common_seconds (the last time that all curves reach),
        common_mean, … (the regrets at this time; NaN if a search has no result by then). Over evaluations,
        common_evaluations takes the place of common_seconds.
        """
        return pandas.DataFrame([self._row(contender) for contender in self.contenders])

    def _row(self, contender: Contender) -> dict[str, object]:
        entry, facts = contender.entry, self.facts
        row: dict[str, object] = {
            "label": contender.label,
            "kind": entry.kind,
            "optimizer": entry.optimizer,
            "folder": str(entry.folder),
            "space": self.space,
            "dataset": facts.dataset,
            "table": facts.table,
            "scale": entry.scale or np.nan,
            "n": contender.n,
            "missing": contender.missing,
            "finished": entry.progress is None,
            "source": contender.source,
        }
        names = self.moments
        columns = [self.samples[name][contender.label] for name in names]
        for name, summary in zip(names, summarise(np.stack(columns, axis=1)), strict=True):
            row |= {f"{name}_{of}": value for of, value in summary.items()}
            if name == "final":
                known = contender.final[~np.isnan(contender.final)]
                row["final_best"] = float(known.min()) if len(known) else np.nan
        row |= {"anytime_start": self.span.start, "log_anytime_start": self.span.log_start}
        row |= {"anytime_end": self.span.end}
        return row | ({f"common_{CLOCKS[self.over]}": self.common_time} if self.over in CLOCKS else {})

    @copied_property
    def rank_tests(self) -> pandas.DataFrame:
        """A data frame with one row per moment and pair of runs with five or more searches.

        The moments are the end of each run, the last time that all curves reach (over simulated time and evaluations),
        and the anytime regrets on linear and logarithmic time. The frame has the columns `rank_tests.COLUMNS` (unpaired
        tests), `rank_tests.PAIRED_COLUMNS` (tests of matched seeds), and `test`, the test that decides which
        differences are significant. Holm's correction applies to the pairs of each moment and test separately.
        """
        frames, keys = [], {of.label: of.keys for of in self.contenders}
        for moment, samples in self.samples.items():
            known = {label: own[~np.isnan(own)] for label, own in samples.items()}
            frames.append(rank_tests(known, moment).merge(paired_tests(samples, keys, moment), on=list(PAIR)))
        frame = pandas.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
        return frame.assign(test=self.test if len(frame) else pandas.Series(dtype=str))

    @cached_property
    def test(self) -> Test:
        """The test that decides which regrets differ: "Wilcoxon" if the seeds of all tested methods match.

        The choice depends only on the seeds, not on the regrets.
        """
        tested = [contender for contender in self.contenders if len(contender.repetitions) >= FEWEST]
        enough = all(len(contender.repetitions) >= FEWEST_PAIRS for contender in tested)
        is_matched = enough and all(match(tested[0].keys, contender.keys) is not None for contender in tested)
        return "Wilcoxon" if len(tested) > 1 and is_matched else "Mann–Whitney"

    def p_values(self, moment: str) -> dict[frozenset[str], float]:
        """Return the p-values of the deciding test with Holm's correction, by pair of labels."""
        own = self.rank_tests[self.rank_tests["moment"] == moment]
        column = "p_paired_holm" if self.test == "Wilcoxon" else "p_holm"
        return {frozenset((row["first"], row["second"])): row[column] for row in own.to_dict("records")}

    def better(self, moment: str) -> dict[frozenset[str], str | None]:
        """Return which method of each tested pair has significantly lower regrets by the deciding test, if any.

        The test, not the mean, decides which method is better: a single very high regret can reverse the means.

        Args:
            moment: one of `moments`.

        Returns:
            The label of the better method by pair of labels, or None if the pair does not differ. Pairs with too few
            (matched) runs are missing.
        """
        own, p_values = self.rank_tests[self.rank_tests["moment"] == moment], self.p_values(moment)
        found = dict[frozenset[str], str | None]()
        for row in own.to_dict("records"):
            pair = frozenset((row["first"], row["second"]))
            lead = row["rank_biserial"] if self.test == "Wilcoxon" else row["a12"] - 0.5
            if not np.isnan(p_values[pair]):
                differs = p_values[pair] < SIGNIFICANT
                found[pair] = (row["first"] if lead > 0 else row["second"]) if differs else None
        return found

    @property
    def warnings(self) -> list[str]:
        """A sentence for each reason to doubt the comparison: too few runs of a kind, or runs of different lengths."""
        found = []
        if self.ends_differ:
            found.append("The methods end at different times, so compare their regrets at the common time, too.")
        for noun, least in (("seed", FEW_SEEDS), ("repeat", FEW_REPEATS)):
            few = [
                f"{of.label} (n = {of.n:,})" for of in self.contenders if noun == of.entry.REPETITION and of.n < least
            ]
            if few:
                found.append(f"Fewer than {counted(least, noun)}, so rankings can change with more: {', '.join(few)}.")
        return found
