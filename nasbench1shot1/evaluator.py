"""Look-up of an architecture's true performance in a table; one-shot searches use no other access to tables."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from nasbench1shot1.architecture import Architecture, parsed
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError, shorten
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.folder import damaged_file_error
from nasbench1shot1.runs.record import ObjectOf, has_type
from nasbench1shot1.tables.bounds import Bounds, GivenBounds, as_bounds
from nasbench1shot1.tables.columns import source_text
from nasbench1shot1.tables.description import UNNAMED_DATASET, Objective
from nasbench1shot1.tables.keys import Item
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table

ELSEWHERE = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")
"""Fields that are recorded for data sets on which a search does not train."""
OTHER_DATASETS = ObjectOf(ObjectOf(fields=tuple((name, float | None) for name in ELSEWHERE)))
"""The type of a line's field with `ELSEWHERE` of each of these data sets."""

BOUNDS = "bounds"
"""Field of config.json with the resolved bounds of a run and its baseline; runs without a baseline lack it."""
LARGEST = "always the largest network"


@dataclass(frozen=True)
class Score:
    """The performance of an architecture in a table at the full budget, means over repeats.

    Errors and regrets are fractions; unknown values are None. For a metric other than accuracy, errors are its costs
    (`Column.cost`) and regrets are in its unit. Regret is relative to the best network of the architecture's own space,
    identified by its name: a user's own space needs a table that covers it (`Table.covering`). `cell_hash` identifies
    the row (`Architecture.network_id`). Errors are measurements, or else estimates (`Metrics.is_measurement`).
    `training_seconds` is the time of the full training that the test error belongs to: on NAS-Bench-201's CIFAR-10,
    this is the training on all 50,000 images, not the one that is validated.
    """

    cell_hash: str
    table_validation_error: float | None
    table_test_error: float | None
    validation_regret: float | None
    test_regret: float | None
    validation_measured: bool
    test_measured: bool
    training_seconds: float | None

    def fields(self, search_seconds: float) -> dict[str, Any]:
        """Return the fields of a metrics line that come from the table, and the times of the simulated clock.

        Simulated time follows NAS-Bench-1Shot1, section 5: t_sim = t_search + t_train, in seconds. Both times are
        rounded to milliseconds.
        """
        found = asdict(self)
        training_seconds = found.pop("training_seconds")
        seconds = recorded_seconds(search_seconds)  # first, so that other readers of the record get the same sum
        simulated = None if training_seconds is None else recorded_seconds(seconds + training_seconds)
        return {**found, "search_seconds": seconds, "simulated_seconds": simulated}


def recorded_seconds(seconds: float) -> float:
    """Return a time in seconds as records contain it: rounded to milliseconds, so that they need less space."""
    return round(seconds, 3)


def score(
    arch: Item,
    table: Table,
    dataset: str | None = None,
    metric: str | None = None,
    within: GivenBounds | None = None,
) -> Score:
    """Look up an architecture's errors and regrets.

    Args:
        arch: the architecture, its text, or anything else that the table can look up, such as a cell or its hash.
        table: the table in use.
        dataset: the data set of one of the table's objectives. Default: the first objective.
        metric: the metric that guides a search, as in `Table.objective`. Default: validation accuracy.
        within: bounds of the search: an `nb.Bounds`, a text such as "flops=1e8", or a mapping from metrics to limits.
            Regrets are then relative to the best network within them. Default: no bounds.

    All values are None if the table lacks the architecture and only covers a part of its space (`Table.covering`).

    Raises:
        OutOfDomainError: the table lacks the architecture, the objective or a bounded cost, or no network is within
            the bounds.
        InvalidInputError: the table is only a name, a text is not a bound, the metric is unknown, neither high nor low
            values are better, or the architecture is not in its own space.
    """
    if not isinstance(table, Table):
        raise InvalidInputError(
            f"{shorten(repr(table))} is not an nb.Table: open the table once, as in nb.load_table('embedded')"
        )
    resolved = None if within is None else table.resolve(as_bounds(within, "within"), dataset)
    return _score(parsed(arch), table, table.objective(dataset, metric), resolved)


@dataclass(frozen=True)
class Judge:
    """How the architectures of a run are scored.

    Attributes:
        dataset: the data set of the search. Default: the first objective of the table.
        metric: the metric that guides the search, as in `Table.objective`. Default: validation accuracy.
        within: bounds of the search. Default: no bounds.
    """

    dataset: str | None = None
    metric: str | None = None
    within: Bounds | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: Path) -> "Judge":
        """Return the judge of a recorded run; arguments and errors are as for `Baseline.from_config`."""
        baseline = Baseline.from_config(config, where)
        return cls(config.get("dataset"), config.get("objective"), None if baseline is None else baseline.bounds)

    def score(self, arch: Architecture, table: Table) -> Score:
        """Return `score` of an architecture."""
        return score(arch, table, self.dataset, self.metric, self.within)

    def score_in(self, space: str, network: Item, table: Table) -> Score:
        """Return the `score` of a network, relative to a space of the table that need not contain the network."""
        within = self.within and table.resolve(self.within, self.dataset)
        return _score(network, table, table.objective(self.dataset, self.metric), within, space)

    def elsewhere(self, arch: Architecture, table: Table) -> dict[str, dict[str, float | None]]:
        """Return `scores_on_other_datasets` of an architecture."""
        return scores_on_other_datasets(arch, table, self.dataset, self.metric, self.within)

    def baseline(self, space: str, table: Table) -> "Baseline | None":
        """Return the baseline on a space that the table knows.

        None without bounds, unless the largest network of the benchmark is always a baseline
        (`Benchmark.has_largest_baseline`). Raises the errors of `Baseline.of`.
        """
        if self.within is None and not table.benchmark.has_largest_baseline:
            return None
        return Baseline.of(space, table, self.within, self.dataset, self.metric)


def scores_on_other_datasets(
    arch: Architecture,
    table: Table,
    dataset: str | None = None,
    metric: str | None = None,
    within: Bounds | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return errors and regrets on the table's other data sets that have the metric, by data set.

    Arguments and errors are as for `score`. With bounds, the reference has the same networks on all data sets: costs
    are those of the search's data set.
    """
    main, within = table.objective(dataset), within and table.resolve(within, dataset)
    names = [other.dataset for other in table.objectives if other != main]
    others = {name: _score(arch, table, other, within) for name in names if (other := _objective(table, name, metric))}
    return {name: {field: getattr(found, field) for field in ELSEWHERE} for name, found in others.items()}


def dataset_of_regrets(table: Table, dataset: str) -> str:
    """Return the data set of the values with which a table scores runs on a data set.

    A table of a single data set scores all runs. If it does not name this data set, the result is `dataset`.

    Raises OutOfDomainError if the table has several data sets, but no values for runs on this one.
    """
    found = table.objective(dataset).dataset
    return dataset if found == UNNAMED_DATASET else found


def _objective(table: Table, dataset: str, metric: str | None) -> Objective | None:
    """Return the objective of a metric on a data set; None if the table lacks the metric there."""
    try:
        return table.objective(dataset, metric)
    except OutOfDomainError:
        return None


@dataclass(frozen=True)
class Baseline:
    """The baseline of a search: always the largest network that fits (`Table.largest`).

    Attributes:
        bounds: the bounds, resolved on the data set of the search; None without bounds.
        described: the bounds in words, with units; empty without bounds.
        networks: number of distinct networks of the space within the bounds.
        network: identifier of the largest one.
        validation_regret, test_regret: its regrets, as in `Score`; None if unknown.
        test_measured: whether its test value is measured.
    """

    bounds: Bounds | None
    described: str
    networks: int
    network: str
    validation_regret: float | None
    test_regret: float | None
    test_measured: bool

    @classmethod
    def of(
        cls, space: str, table: Table, within: Bounds | None, dataset: str | None = None, metric: str | None = None
    ) -> "Baseline | None":
        """Return the baseline on a space that the table knows; other arguments and errors are as for `score`.

        None without bounds if the table does not know which network is the largest, because it has no parameters.

        Raises OutOfDomainError if no network of the space is within the bounds.
        """
        resolved, objective = within and table.resolve(within, dataset), table.objective(dataset, metric)
        try:
            largest = table.largest(space, resolved, dataset)
        except OutOfDomainError:
            if within is None:
                return None
            raise
        found = _score(largest, table, objective, resolved, space)
        return cls(
            bounds=resolved,
            described=_describe(table, resolved) if resolved else "",
            networks=len(table.members(space, resolved)),
            network=found.cell_hash,
            validation_regret=found.validation_regret,
            test_regret=found.test_regret,
            test_measured=found.test_measured,
        )

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: Path) -> "Baseline | None":
        """Return the baseline that config.json records; None for a run without one.

        Args:
            config: the content of config.json, flat.
            where: the file, for messages.

        Raises DamagedFileError if the record is damaged.
        """
        if (recorded := config.get(BOUNDS)) is None:
            return None
        try:
            known = {name: value for name, value in recorded.items() if name != "limits"}
            limits = recorded["limits"]
            found = cls(bounds=None if limits is None else Bounds.parse(limits), **known)
            if not all(has_type(getattr(found, name), kind) for name, kind in _RECORDED.items()):
                raise TypeError
            return found
        except (TypeError, KeyError, AttributeError, InvalidInputError):
            raise damaged_file_error(where, f"its {BOUNDS} is impossible") from None

    @property
    def sentence(self) -> str:
        """A sentence about the bounds, for screens and captions; empty without bounds."""
        if self.bounds is None:
            return ""
        return f"Bounds: {self.described} ({counted(self.networks, 'network')}); regrets refer to the best of these."

    @property
    def words(self) -> str:
        """The baseline in words: "always the largest network that fits"."""
        return LARGEST if self.bounds is None else f"{LARGEST} that fits"

    @property
    def source(self) -> str:
        """Whether the test value of the baseline is "measured" or "predicted"."""
        return source_text(self.test_measured)

    def label(self, regret: str, source: str = "", where: str = "") -> str:
        """Return the label of the baseline in legends, with its regret as text.

        Args:
            regret: the regret with its unit.
            source: whether the regret is measured.
            where: the data set of the regret, such as " on cifar10", if the figure shows several data sets.
        """
        return f"{self.words}{where} ({regret}{f', {source}' if source else ''})"

    def fields(self) -> dict[str, Any]:
        """Return the field of config.json that describes bounds and baseline."""
        known = {name: value for name, value in asdict(self).items() if name != "bounds"}
        return {BOUNDS: {"limits": self.bounds and str(self.bounds), **known}}


def with_baseline(config: Mapping[str, Any], baseline: Baseline | None) -> dict[str, Any]:
    """Return the content of config.json, flat, with another baseline; None: without one."""
    others = {name: value for name, value in config.items() if name != BOUNDS}
    return others if baseline is None else others | baseline.fields()


_RECORDED: dict[str, Any] = {
    "described": str,
    "networks": int,
    "network": str,
    "validation_regret": float | None,
    "test_regret": float | None,
    "test_measured": bool,
}
"""The types of a recorded baseline, besides its bounds."""


def _describe(table: Table, bounds: Bounds) -> str:
    """Return resolved bounds in words, with the units of the table's columns."""
    units = [table.about(limit.metric, limit.dataset or table.datasets[0]).unit for limit in bounds.limits]
    return " and ".join(f"{limit.words} {unit}".rstrip() for limit, unit in zip(bounds.limits, units, strict=True))


def common_baseline(found: Mapping[str, Baseline | None]) -> Baseline | None:
    """Return the baseline of several runs, by name; raises InvalidInputError if their bounds differ.

    Of several baselines, which earlier versions may have recorded, the one with the lowest test regret is returned.
    """
    runs = list(found.items())
    (_, one), *others = runs
    for name, other in others:
        if (one and one.bounds) != (other and other.bounds):
            said = [
                f"'{of}' has {(baseline and baseline.described) or 'no bounds'}"
                for of, baseline in (runs[0], (name, other))
            ]
            raise InvalidInputError(
                f"regrets within different bounds are not comparable ({', '.join(said)}): compare only runs with equal "
                "bounds"
            )
    known = [(of.test_regret, of) for of in found.values() if of is not None and of.test_regret is not None]
    return min(known, key=itemgetter(0), default=(0, one))[1]


def mean_regret_of(
    space: str, dataset: str | None, table: Table, within: Bounds | None = None, guide: str | None = None
) -> float | None:
    """Return the mean test regret of the networks of a space; None if the table does not have it.

    Args:
        space: the name of the space, as in the text of its architectures.
        dataset: the data set of the search. Default: the table's only one.
        table: the table that scores the search.
        within: bounds of the search, resolved (`Table.resolve`).
        guide: the metric that guides the search; the regret is in the unit of the metric that judges it. Default:
            validation accuracy, judged by test accuracy as a fraction.
    """
    try:
        objective = table.objective(dataset, guide)
        return table.mean_regret(space, metric=objective.test_metric, dataset=objective.test, within=within)
    except UserError:  # a table without test accuracy, or of another space
        return None


def _score(arch: Any, table: Table, objective: Objective, within: Bounds | None, reference: str | None = None) -> Score:
    if table.is_partial and arch not in table:
        return Score(_identifier(arch), None, None, None, None, False, False, None)
    guide, judge = objective.validation_metric, objective.test_metric
    validated = table.query(arch, dataset=objective.validation)
    is_same = objective.test == objective.validation
    tested = validated if is_same else table.query(arch, dataset=objective.test)
    return Score(
        cell_hash=validated.hash,
        table_validation_error=_cost(table, validated, guide),
        table_test_error=_cost(table, tested, judge),
        validation_regret=_regret(table, arch, guide, objective.validation, within, reference),
        test_regret=_regret(table, arch, judge, objective.test, within, reference),
        validation_measured=bool(validated.is_measurement(guide)),
        test_measured=bool(tested.is_measurement(judge)),
        training_seconds=_none_if_nan(tested.training_time),
    )


def _identifier(item: Item) -> str:
    """Return the identifier of an architecture or a cell; an item that is an identifier, such as a hash, as text."""
    return str(getattr(item, "network_id", None) or getattr(item, "hash", item))


def _cost(table: Table, found: Metrics, metric: str) -> float | None:
    return _none_if_nan(table.about(metric, found.dataset).cost(getattr(found, metric)))


def _regret(
    table: Table, arch: Any, metric: str, dataset: str, within: Bounds | None, reference: str | None
) -> float | None:
    try:
        return float(table.regret(arch, reference, dataset=dataset, metric=metric, within=within))
    except OutOfDomainError:  # the table lacks values of this metric
        return None


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
