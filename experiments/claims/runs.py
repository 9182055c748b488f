"""Tests of claims on recorded runs: orderings of methods, published means, and how runs end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import isnan, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.claims.claim import BLACK_BOX, MEASURED, ONE_SHOT, PREDICTED, Row, Subject
from nasbench1shot1.experiments.claims.evidence import Records, Setting, has_options, planned_seeds
from nasbench1shot1.experiments.claims.measures import Lines, Measure, final_lines, regret, regret_on
from nasbench1shot1.experiments.claims.verdicts import (
    FEWEST_SEARCHES,
    FEWEST_SEEDS,
    LEVELS,
    NEEDS_FULL_SCALE,
    NOT_REPRODUCED,
    UNDECIDED,
    Floats,
    Level,
    Strength,
    Verdict,
    decided,
    difference_of,
    mean_of,
    of_number,
    of_ordering,
    of_share,
    share_of,
)
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.parts import DATA_SETS, LABELS, METHODS, Options
from nasbench1shot1.experiments.rescoring import recorded_table
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tuning.record import Study, best

POSITIVE = "> 0"
RANKING_SCALES = ("full", "long", "medium")
"""Scales at which searches can rank methods, according to the pilot study in docs/scales.md."""
Place = tuple[str, str]
"""Panel and curve of a figure."""


class Group(NamedTuple):
    """The values of one curve at one setting, and where they come from.

    Attributes:
        values: the values of all runs.
        runs, setting, figure, curve: where they come from.
        lines: returns the lines of a run whose test values `values` depends on, as in `Measure`.
    """

    values: Floats
    runs: Sequence[RunRecord]
    setting: Setting
    figure: str
    curve: str
    lines: Callable[[RunRecord], Lines] = final_lines

    @classmethod
    def of(cls, measure: Measure, runs: Sequence[RunRecord], setting: Setting, figure: str, curve: str) -> "Group":
        """Return the values of a measure."""
        return cls(np.concatenate([*map(measure, runs)]), runs, setting, figure, curve, measure.lines)

    @property
    def is_black_box(self) -> bool:
        """Whether the values are those of black-box searches."""
        return isinstance(self.runs[0], BlackBoxStudy)

    @property
    def n(self) -> int:
        """Number of searches, seeds or studies."""
        return len(self.values) if self.is_black_box else len(self.runs)

    @property
    def is_predicted(self) -> bool:
        """Whether one of the test values, or of the true errors of a ranking, is predicted."""
        if isinstance(self.runs[0], Ranking):
            return any(run.summary["measured"] < 1 for run in self.runs)
        if isinstance(self.runs[0], Study):
            return not all(_is_incumbent_measured(run) for run in self.runs)
        return not all(line["test_measured"] for run in self.runs for line in self.lines(run))


def _is_incumbent_measured(study: RunRecord) -> bool:
    """Return whether the table of a study measured its final incumbent; False if the table is not available."""
    table, incumbent = recorded_table(study), best(study.lines)
    if table is None or incumbent is None:
        return False
    return bool(table.query(Architecture.parse(incumbent["architecture"])).is_measurement("test_accuracy"))


@dataclass(frozen=True, kw_only=True)
class RunTest(ABC):
    """A test on the runs of figures.

    Attributes:
        figures: names of figures; each is tested alone.
        paper: options that all runs of the paper's setting have.
        by_optimizer: further such options for the runs of an optimizer.
        only_confirming: optimizers whose runs can confirm, but not refute, because they have an option that the paper
            does not state, or observe means over seeds instead of single trainings.
        renamed: panels and curves in one of the figures, if they have other names there; several if the figure has
            them at several settings, such as numbers of epochs.
        any_length: whether curves of different numbers of epochs are compared, as the paper does.
        command: the command that makes the runs.
        how: how the claim is tested.
    """

    figures: tuple[str, ...]
    paper: Options = field(default_factory=dict)
    by_optimizer: Mapping[str, Options] = field(default_factory=dict)
    only_confirming: frozenset[str] = frozenset()
    renamed: Mapping[tuple[str, Place], tuple[Place, ...]] = field(default_factory=dict)
    any_length: bool = False
    command: str
    how: str = ""

    @property
    def subject(self) -> Subject:
        """What the claim is about: the kind of the runs of the first figure."""
        return BLACK_BOX if FIGURES[self.figures[0]].runs == "black-box" else ONE_SHOT

    @abstractmethod
    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves that each part compares, by the name of the part."""

    @abstractmethod
    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the row of a part at one setting from the runs of its curves."""

    @abstractmethod
    def measure_of(self, part: str) -> Measure:
        """Return what is compared."""

    def published(self, part: str) -> str:
        """Return the published value of a part in words. Default: none."""
        return ""

    def rows(self, records: Records) -> Sequence[Row]:
        """Return a row for each part and setting; see `claim.Evidence`."""
        found = []
        for part, places in self.places().items():
            known = list(self._groups(records, part, places))
            rows = [self.row(part, groups) for groups in known]
            origins = [" and ".join(dict.fromkeys(group.figure for group in groups)) for groups in known]
            if len(set(origins)) > 1:  # perhaps with equal settings
                rows = [
                    replace(row, setting=f"{row.setting}; records of {origin}")
                    for row, origin in zip(rows, origins, strict=True)
                ]
            found += rows or [Row(part=part, published=self.published(part), verdict=NEEDS_FULL_SCALE)]
        return found

    def _groups(self, records: Records, part: str, places: Sequence[Place]) -> Iterator[list[Group]]:
        """Yield the groups of all curves of a part at each setting that all of them have."""
        measure = self.measure_of(part)
        names = [
            (figure, here)
            for figure in self.figures
            for here in zip(*(self.renamed.get((figure, place), (place,)) for place in places), strict=True)
        ]
        for figure, here in names:
            by_place = [(curve, records.runs(figure, panel, curve)) for panel, curve in here]
            for setting in by_place[0][1]:
                found = [self._like(setting, own) for _, own in by_place]
                if None not in found:
                    yield [
                        Group.of(measure, own[of], of, figure, curve)
                        for of, (curve, own) in zip(found, by_place, strict=True)
                        if of is not None
                    ]

    def _like(self, setting: Setting, others: Iterable[Setting]) -> Setting | None:
        """Return the setting of a curve that can be compared with runs of a setting; None if there is none."""
        known = sorted(others, key=lambda other: other != setting)  # an equal one first
        if self.any_length:
            return next((other for other in known if other.of_length(None) == setting.of_length(None)), None)
        return setting if setting in known else None

    def strength(self, groups: Sequence[Group]) -> Strength:
        """Return what groups of one setting can decide."""
        return Strength(
            level=max((self._level(group) for group in groups), key=LEVELS.index),
            n=min(group.n for group in groups),
            fewest=FEWEST_SEARCHES if groups[0].is_black_box else FEWEST_SEEDS,
            predicted=any(group.is_predicted for group in groups),
            only_confirms=any(group.runs[0].config["optimizer"] in self.only_confirming for group in groups),
        )

    def _level(self, group: Group) -> Level:
        config = group.runs[0].config
        if has_options(group.setting, config, {**self.paper, **self.by_optimizer.get(config.get("optimizer", ""), {})}):
            return "paper"
        return "ranking" if group.setting.config.get("scale") in RANKING_SCALES else "below"

    def described(self, groups: Sequence[Group], strength: Strength) -> dict[str, Any]:
        """Return the fields of a row that do not depend on the test."""
        first, settings = groups[0], dict.fromkeys(group.setting.text for group in groups)
        return {
            "level": strength.level,
            "setting": f"{_space(first)}, {', against '.join(settings)}",
            "n": _many(groups),
            "source": PREDICTED if strength.predicted else MEASURED,
            "table": first.setting.table,
        }


def _space(group: Group) -> str:
    run = group.runs[0]
    name = str(run.config["space"])
    recorded = run.dataset if isinstance(run, Ranking) else run.config.get("dataset")
    dataset = DATA_SETS.get(recorded or "", "")
    return f"{name}, {dataset}" if dataset and name not in ("s1", "s2", "s3", "nb101", "nb101-mini") else name


def _many(groups: Sequence[Group]) -> str:
    """Return the number of runs in words: "500 searches", "7 of 10 seeds", or "500 and 100 searches"."""
    counts = list(dict.fromkeys(group.n for group in groups))
    if groups[0].is_black_box:
        return f"{' and '.join(f'{n:,}' for n in counts)} searches"
    fewest = min(groups, key=lambda group: group.n)
    n, planned = fewest.n, planned_seeds(fewest.figure, fewest.curve, fewest.setting)
    return f"{n} of {counted(planned, 'seed')}" if planned is not None and n < planned else counted(n, "seed")


def name_of(curve: str) -> str:
    """Return the name of a curve in texts."""
    return METHODS.get(curve) or LABELS.get(curve) or _labels().get(curve, curve)


@cache
def _labels() -> dict[str, str]:
    curves = [curve for figure in FIGURES.values() for _, curve in figure.full.pairs()]
    return {curve.key: curve.label for curve in curves if curve.label != curve.key}


class Pair(NamedTuple):
    """ "A is better than B" on one panel: the measured regret of A is lower."""

    panel: str
    better: str
    worse: str
    measure: Measure
    title: str

    @property
    def part(self) -> str:
        """The name of the part of the claim."""
        return f"{self.title}: {name_of(self.better)} better than {name_of(self.worse)}"


def pairs(
    panels: Iterable[str], better: str, worse: Iterable[str], kind: Literal["final", "anytime"] = "final"
) -> tuple[Pair, ...]:
    """Return pairs of one curve with each of several others, on several panels, by a kind of `regret`."""
    others = tuple(worse)
    return tuple(Pair(panel, better, other, regret(kind), title_of(panel)) for panel in panels for other in others)


def pairs_on(datasets: Iterable[str], panel: str, better: str, worse: str) -> tuple[Pair, ...]:
    """Return pairs of two curves of one panel by the final test regrets on several data sets."""
    return tuple(Pair(panel, better, worse, regret_on(dataset), DATA_SETS[dataset]) for dataset in datasets)


@dataclass(frozen=True, kw_only=True)
class Ordering(RunTest):
    """Orderings of curves: the difference of their mean regrets, the better one's subtracted from the other's."""

    pairs: Sequence[Pair]

    def _pair(self, part: str) -> Pair:
        return next(pair for pair in self.pairs if pair.part == part)

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return both curves of each pair."""
        return {pair.part: ((pair.panel, pair.better), (pair.panel, pair.worse)) for pair in self.pairs}

    def measure_of(self, part: str) -> Measure:
        """Return the regret of the pair."""
        return self._pair(part).measure

    def published(self, part: str) -> str:
        """Return the sign of the difference."""
        return POSITIVE

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return how much lower the regret of the better curve is, in percentage points."""
        strength, difference = self.strength(groups), difference_of(groups[0].values, groups[1].values)
        verdict, described = decided(partial(of_ordering, difference), strength), self.described(groups, strength)
        return Row(part=part, published=POSITIVE, value=difference, digits=3, **verdict, **described)


def title_of(panel: str) -> str:
    """Return the name of a panel in texts."""
    return DATA_SETS.get(panel) or METHODS.get(panel) or panel


class Published(NamedTuple):
    """A published mean and standard deviation of a curve, in percent.

    Attributes:
        panel, curve: the curve.
        words: what is compared, in a few words.
        measure: the measure.
        mean, deviation: the printed numbers; the deviation is NaN if it is not printed.
        offset: what to subtract from a printed regret, because its reference differs from ours.
    """

    panel: str
    curve: str
    words: str
    measure: Measure
    mean: float
    deviation: float
    offset: float = 0.0

    @property
    def part(self) -> str:
        """The name of the part of the claim."""
        return f"{name_of(self.curve)}, {self.words}"

    @property
    def converted(self) -> float:
        """The mean against our reference."""
        return self.mean - self.offset

    @property
    def text(self) -> str:
        """Mean and standard deviation, if it is printed, and the converted mean, if the references differ."""
        if isnan(self.deviation):
            return str(self.mean)
        text = f"{self.mean:.2f} ± {self.deviation:.2f}" if self.mean > 10 else f"{self.mean} ± {self.deviation}"
        return f"{text}; converted: {self.converted:.3f}" if self.offset else text


@dataclass(frozen=True, kw_only=True)
class Mean(RunTest):
    """Published means over runs.

    Attributes:
        means: the means.
        published_runs: number of published runs.
        digits: number of printed decimals.
    """

    means: Sequence[Published]
    published_runs: int
    digits: int = 2

    def _mean(self, part: str) -> Published:
        return next(mean for mean in self.means if mean.part == part)

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curve of each mean."""
        return {mean.part: ((mean.panel, mean.curve),) for mean in self.means}

    def measure_of(self, part: str) -> Measure:
        """Return the measure of the mean."""
        return self._mean(part).measure

    def published(self, part: str) -> str:
        """Return the published mean and standard deviation."""
        return self._mean(part).text

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return our mean."""
        mean, strength, value = self._mean(part), self.strength(groups), mean_of(groups[0].values)
        error = 0.0 if isnan(mean.deviation) else mean.deviation / sqrt(self.published_runs)
        rule = partial(of_number, value, mean.converted, 0.5 * 10**-self.digits, error=error)
        verdict, described = decided(rule, strength), self.described(groups, strength)
        return Row(part=part, published=mean.text, value=value, digits=self.digits, **verdict, **described)


@dataclass(frozen=True, kw_only=True)
class Share(RunTest):
    """ "Runs end in this way": the share of runs that do.

    Attributes:
        curves: panel and curve, with the name of the part.
        ends: returns whether a run does.
    """

    curves: Sequence[Place]
    ends: Callable[[RunRecord], bool]
    claimed: str

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves."""
        return {f"{title_of(panel)}, {name_of(curve)}": ((panel, curve),) for panel, curve in self.curves}

    def measure_of(self, part: str) -> Measure:
        """Return 1 for runs that end in this way, and 0 for others."""
        return Measure(lambda run: np.array([float(self.ends(run))]))

    def published(self, part: str) -> str:
        """Return the published share."""
        return self.claimed

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the share in percent."""
        strength, hits = self.strength(groups), int(groups[0].values.sum())
        share = share_of(hits, strength.n).in_percent
        described = self.described(groups, strength)
        return Row(
            part=part,
            published=self.claimed,
            value=share,
            verdict=of_share(hits, strength),
            digits=0,
            unit=" %",
            **described,
        )


@dataclass(frozen=True, kw_only=True)
class Alike(RunTest):
    """ "All runs end with the same regret": the share of runs that end with the most frequent one.

    Attributes:
        curves: panel and curve.
    """

    curves: Sequence[Place]

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves."""
        return {f"{title_of(panel)}, {name_of(curve)}": ((panel, curve),) for panel, curve in self.curves}

    def measure_of(self, part: str) -> Measure:
        """Return the final regret."""
        return regret("final")

    def published(self, part: str) -> str:
        """Return the published share."""
        return "all runs"

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the share in percent."""
        strength = self.strength(groups)
        hits = int(np.unique(groups[0].values, return_counts=True)[1].max())
        verdict = of_share(hits, strength)
        if hits < strength.n:
            verdict = NOT_REPRODUCED if strength.refutes and strength.level == "paper" else UNDECIDED
        share = share_of(hits, strength.n).in_percent
        shown = {"value": share, "digits": 0, "unit": " %", **self.described(groups, strength)}
        return Row(part=part, published=self.published(part), verdict=verdict, **shown)


@dataclass(frozen=True, kw_only=True)
class Positive(RunTest):
    """A measure of the runs is positive on average.

    Attributes:
        curves: panel and curve.
        measure: the measure.
    """

    curves: Sequence[Place]
    measure: Measure

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves."""
        return {f"{title_of(panel)}, {name_of(curve)}": ((panel, curve),) for panel, curve in self.curves}

    def measure_of(self, part: str) -> Measure:
        """Return `measure`."""
        return self.measure

    def published(self, part: str) -> str:
        """Return the sign of the mean."""
        return POSITIVE

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the mean of the measure."""
        strength, value = self.strength(groups), mean_of(groups[0].values)
        verdict: Verdict = of_ordering(value, strength)
        return Row(
            part=part, published=POSITIVE, value=value, verdict=verdict, digits=3, **self.described(groups, strength)
        )


def ends_at(architecture: str) -> Callable[[RunRecord], bool]:
    """Return a function that tells whether a search ends with an architecture, given in text form."""
    wanted = Architecture.parse(architecture).network_id

    def ends(run: RunRecord) -> bool:
        return bool(Architecture.parse(run.shared_lines[-1]["architecture"]).network_id == wanted)

    return ends
