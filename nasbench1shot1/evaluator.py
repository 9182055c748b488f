"""Look-up of an architecture's true performance in a table; one-shot searches use no other access to tables."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.bounds import Bounds
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table

ELSEWHERE = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")
"""Fields that are recorded for data sets on which a search does not train."""


@dataclass(frozen=True)
class Score:
    """The performance of an architecture in a table at the full budget, means over repeats.

    Errors and regrets are fractions; unknown values are None. For a metric other than accuracy, errors are its costs
    (`Column.cost`) and regrets are in its unit. Regret is relative to the best network of the architecture's own space,
    identified by its name: a user's own space needs a table that covers it (`Table.covering`). `cell_hash` identifies
    the row (`Architecture.network_id`).
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

        Simulated time follows NAS-Bench-1Shot1, section 5: t_sim = t_search + t_train, in seconds.
        """
        found = asdict(self)
        training_seconds = found.pop("training_seconds")
        simulated = None if training_seconds is None else search_seconds + training_seconds
        return {**found, "search_seconds": search_seconds, "simulated_seconds": simulated}


def score(
    arch: Architecture,
    table: Table,
    dataset: str | None = None,
    metric: str | None = None,
    within: Bounds | None = None,
) -> Score:
    """Look up an architecture's errors and regrets.

    Args:
        arch: the architecture.
        table: the table in use.
        dataset: the data set of one of the table's objectives. Default: the first objective.
        metric: the metric that guides a search, as in `Table.objective`. Default: validation accuracy.
        within: bounds of the search; regrets are then relative to the best network within them. Default: no bounds.

    All values are None if the table lacks the architecture and only covers a part of its space (`Table.covering`).

    Raises:
        OutOfDomainError: the table lacks the architecture, the objective or a bounded cost, or no network is within
            the bounds.
        InvalidInputError: the metric is unknown, or neither high nor low values are better.
    """
    return _score(arch, table, table.objective(dataset, metric), within and table.resolve(within, dataset))


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


def _objective(table: Table, dataset: str, metric: str | None) -> Objective | None:
    """Return the objective of a metric on a data set; None if the table lacks the metric there."""
    try:
        return table.objective(dataset, metric)
    except OutOfDomainError:
        return None


def _score(arch: Architecture, table: Table, objective: Objective, within: Bounds | None) -> Score:
    if table.is_partial and arch not in table:
        return Score(arch.network_id, None, None, None, None, False, False, None)
    guide, judge = objective.validation_metric, objective.test_metric
    validated = table.query(arch, dataset=objective.validation)
    is_same = objective.test == objective.validation
    tested = validated if is_same else table.query(arch, dataset=objective.test)
    return Score(
        cell_hash=validated.hash,
        table_validation_error=_cost(table, validated, guide),
        table_test_error=_cost(table, tested, judge),
        validation_regret=_regret(table, arch, guide, objective.validation, within),
        test_regret=_regret(table, arch, judge, objective.test, within),
        validation_measured=bool(validated.is_measured(guide)),
        test_measured=bool(tested.is_measured(judge)),
        training_seconds=_none_if_nan(validated.training_time),
    )


def _cost(table: Table, found: Metrics, metric: str) -> float | None:
    return _none_if_nan(table.about(metric, found.dataset).cost(getattr(found, metric)))


def _regret(table: Table, arch: Architecture, metric: str, dataset: str, within: Bounds | None) -> float | None:
    try:
        return float(table.regret(arch, dataset=dataset, metric=metric, within=within))
    except OutOfDomainError:  # the table lacks values of this metric
        return None


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
