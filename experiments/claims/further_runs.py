"""Tests of claims on runs other than searches: rankings, tuning studies and proxy trainings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.experiments.claims.claim import MEASURED, PREDICTED, Row
from nasbench1shot1.experiments.claims.evidence import Records, Setting, has_options, load_once
from nasbench1shot1.experiments.claims.measures import Measure, regret
from nasbench1shot1.experiments.claims.runs import POSITIVE, Group, Place, RunTest, name_of, title_of
from nasbench1shot1.experiments.claims.verdicts import (
    FEWEST_SEARCHES,
    LEVELS,
    REPRODUCED,
    UNDECIDED,
    Floats,
    Interval,
    Level,
    Strength,
    difference_of,
    mean_of,
    of_ordering,
    of_range,
)
from nasbench1shot1.experiments.correlation.recomputed import recorded_table, validation_pearson
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.rank_correlation import spearman_in_resamples
from nasbench1shot1.experiments.reproduction.figures.parts import Options
from nasbench1shot1.experiments.reproduction.observed import table_of
from nasbench1shot1.experiments.reproduction.results.proxies import ProxyResult, score_trainings
from nasbench1shot1.ground.bootstrap import all_resamples, percentile_interval
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tuning.record import Study, best

RESAMPLES = 2_000
"""Resamples of architectures, in each of which the architectures are ranked again."""

# Rankings -------------------------------------------------------------------------------------------------------------


def correlations_over_epochs(run: RunRecord) -> Floats:
    """Return Spearman's ρ of one-shot and true errors at every ranked epoch; NaN where it is undefined.

    The true errors are those at the largest budget, on test if the table has them.
    """
    assert isinstance(run, Ranking)
    rows = run.main_correlations
    values = rows[rows["criterion"] == "spearman_error"].set_index("epoch")["value"]
    found: Floats = values.reindex(run.config["evaluated_epochs"]).to_numpy(np.float64)
    return found


def final_pearson(run: RunRecord) -> Floats:
    """Return `validation_pearson` of a ranking on its recorded table; NaN if this table is not available."""
    assert isinstance(run, Ranking)
    table = recorded_table(run, load_once)
    return np.array([np.nan if table is None else validation_pearson(run, table)])


@dataclass(frozen=True, kw_only=True)
class CorrelationRange(RunTest):
    """ "All correlations are between two numbers": the mean over seeds at every ranked epoch.

    Attributes:
        curves: panel and curve.
        limits: both numbers.
    """

    curves: Sequence[Place]
    limits: tuple[float, float]

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves."""
        return {f"{title_of(panel)}, {name_of(curve)}": ((panel, curve),) for panel, curve in self.curves}

    def measure_of(self, part: str) -> Measure:
        """Return the correlations over the epochs."""
        return Measure(correlations_over_epochs)

    def published(self, part: str) -> str:
        """Return the limits in words."""
        return f"{self.limits[0]:g} to {self.limits[1]:g}"

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the mean at the epoch where it is farthest from the middle of the limits."""
        (group,) = groups
        by_epoch = group.values.reshape(group.n, -1).T
        means = [mean_of(values) for values in by_epoch if np.isfinite(values).all()]
        is_complete = len(means) == len(by_epoch)
        strength = self.strength(groups)
        described = self.described(groups, strength)
        if not means:
            return Row(part=part, published=self.published(part), verdict=UNDECIDED, **described)
        low, high = (pick(means, key=lambda mean: mean.value) for pick in (min, max))
        middle = sum(self.limits) / 2
        shown = max(means, key=lambda mean: abs(mean.value - middle))
        verdict = of_range(low, high, self.limits, strength)
        if verdict == REPRODUCED and not is_complete:  # an epoch with an undefined correlation lies in no range
            verdict = UNDECIDED
        return Row(part=part, published=self.published(part), value=shown, verdict=verdict, digits=3, **described)


# Tuning studies -------------------------------------------------------------------------------------------------------


def final_regret(run: RunRecord) -> Floats:
    """Return the test regret in percent of a study's final incumbent, or of the end of a search or its searches."""
    if isinstance(run, Study):
        incumbent = best(run.lines)
        assert incumbent is not None, "studies without an incumbent are left out"
        return np.array([100 * incumbent["test_regret"]])
    return regret("final")(run)


FINAL_REGRET = Measure(final_regret)
"""The measure of the test regret at the end of a study or of a search."""


@dataclass(frozen=True, kw_only=True)
class Tuned(RunTest):
    """ "Tuned optimizers are better than with their defaults, and than a black-box optimizer".

    Attributes:
        studies: the figure with the studies.
        defaults: figures with searches with default hyperparameters.
        black_box: the figure with the black-box studies, and the optimizer.
        black_box_options: options of black-box studies in the paper's setting.
        spaces, methods: the panels and the curves.
    """

    studies: str
    defaults: tuple[str, ...]
    black_box: Place
    black_box_options: Options
    spaces: Sequence[str]
    methods: Sequence[str]

    def _parts(self) -> Iterator[tuple[str, Place, Place, tuple[str, ...]]]:
        """Yield the name of each part, the curve of the study, and the other curve with its figures."""
        figure, rival = self.black_box
        for space in self.spaces:
            for method in self.methods:
                tuned = (space, method)
                yield f"{space}: tuned {name_of(method)} better than its default", tuned, tuned, self.defaults
                yield f"{space}: tuned {name_of(method)} better than {name_of(rival)}", tuned, (space, rival), (figure,)

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves of each part: the tuned one, and what it is compared with."""
        return {part: (tuned, other) for part, tuned, other, _ in self._parts()}

    def measure_of(self, part: str) -> Measure:
        """Return the test regret at the end."""
        return FINAL_REGRET

    def published(self, part: str) -> str:
        """Return the sign of the difference."""
        return POSITIVE

    def _groups(self, records: Records, part: str, places: Sequence[Place]) -> Iterator[list[Group]]:
        """Yield the studies of each setting with searches of their size and table, or studies of their table."""
        figures = next(figures for name, _, _, figures in self._parts() if name == part)
        (panel, curve), (other_panel, other_curve) = places
        for setting, studies in records.runs(self.studies, panel, curve).items():
            runs = [study for study in studies if best(study.lines) is not None]  # without one, all searches diverged
            for figure in figures:
                for other, others in records.runs(figure, other_panel, other_curve).items():
                    if runs and _is_comparable(setting, other):
                        yield [
                            Group.of(FINAL_REGRET, runs, setting, self.studies, curve),
                            Group.of(FINAL_REGRET, others, other, figure, other_curve),
                        ]

    def _level(self, group: Group) -> Level:
        if not group.is_black_box:
            return super()._level(group)
        return "paper" if has_options(group.setting, group.runs[0].config, self.black_box_options) else "below"

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return how much lower the regret of the tuned optimizer is, in percentage points."""
        strength, difference = self.strength(groups), difference_of(groups[0].values, groups[1].values)
        verdict, described = of_ordering(difference, strength), self.described(groups, strength)
        return Row(part=part, published=POSITIVE, value=difference, verdict=verdict, digits=3, **described)


def _is_comparable(study: Setting, other: Setting) -> bool:
    """Return whether runs of another kind have the table of studies, and the scale and preset of their searches."""
    own, others = study.config, other.config
    if study.table != other.table:
        return False
    return "scale" not in others or all(own[name] == others[name] for name in ("scale", "preset"))


# Proxy trainings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProxyGrowth(RunTest):
    """ "The correlation grows with the number of channels": pairs of successive numbers, at the last epoch.

    Attributes:
        cells: number of cells.
        channels: ascending numbers of channels.
    """

    cells: int
    channels: Sequence[int]

    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Return the curves of two successive numbers."""
        panel = f"cells-{self.cells}"
        return {
            f"{more} better than {fewer} channels": ((panel, f"channels-{more}"), (panel, f"channels-{fewer}"))
            for fewer, more in zip(self.channels[:-1], self.channels[1:], strict=True)
        }

    def measure_of(self, part: str) -> Measure:
        """Return the validation errors of the proxies after the last epoch."""
        return Measure(lambda run: np.asarray(run.validation_errors[:, -1], np.float64))  # type: ignore[attr-defined]

    def published(self, part: str) -> str:
        """Return the sign of the difference."""
        return POSITIVE

    def row(self, part: str, groups: Sequence[Group]) -> Row:
        """Return the difference of Spearman's ρ, with the bootstrap over the architectures, which both sizes share.

        Each random seed has its own sample of architectures, so only seeds with trainings of both sizes count.
        """
        level, setting = max((self._level(group) for group in groups), key=LEVELS.index), groups[0].setting
        shown: dict[str, Any] = {"level": level, "setting": f"{setting.config['space']}, {setting.text}"}
        shared = set.intersection(*({run.config["seed"] for run in group.runs} for group in groups))
        if not shared:
            return Row(part=part, published=POSITIVE, verdict=UNDECIDED, **shown, table=setting.table)
        more, fewer = (_scored(group, shared) for group in groups)
        true, n = more.true["validation"], len(more.true["validation"])
        errors = (more.errors[:, -1], fewer.errors[:, -1])
        drawn = all_resamples(n, RESAMPLES, np.random.default_rng(0))
        low, high = percentile_interval(_gains(errors, true, drawn))
        value = Interval(float(_gains(errors, true, np.arange(n)[None])[0]), float(low), float(high))
        measured = bool(more.measured["validation"].all())
        strength = Strength(level, n, FEWEST_SEARCHES, predicted=not measured)
        shown |= {"n": f"{n} architectures", "source": MEASURED if measured else PREDICTED, "table": setting.table}
        verdict = of_ordering(value, strength)
        return Row(part=part, published=POSITIVE, value=value, verdict=verdict, digits=3, **shown)


def _scored(group: Group, seeds: Collection[int]) -> ProxyResult:
    table = table_of(search_space(group.setting.config["space"]), None)
    runs = sorted((run for run in group.runs if run.config["seed"] in seeds), key=lambda run: run.config["seed"])
    return score_trainings(runs, table)  # type: ignore[arg-type]


def _gains(errors: tuple[Floats, Floats], true: Floats, resamples: NDArray[np.int64]) -> Floats:
    """Return by how much the correlation of the first errors is higher in each resample, (R,); 0 if undefined."""
    first, second = (spearman_in_resamples(of, true, resamples) for of in errors)
    return np.nan_to_num(first - second)
