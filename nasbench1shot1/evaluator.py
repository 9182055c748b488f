"""From an architecture to what a table says of it: the only bridge between a search and the truth."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import OutOfDomainError
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.table import Table

ELSEWHERE = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")
"""Fields that are recorded for the data sets that a search does not train on."""


@dataclass(frozen=True)
class Score:
    """One architecture in one table after the full training, mean over repeats; errors and regrets are fractions.

    None where the table has no value. Regret is relative to the best of the architecture's own space, by its name: a
    space of one's own needs a table that covers it (`Table.covering`). `cell_hash` identifies the row
    (`Architecture.network_id`).
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
        """The fields of a metrics line that come from the table, and the simulated clock: search, then one training.

        Simulated time follows NAS-Bench-1Shot1, section 5: t_sim = t_search + t_train, in seconds.
        """
        found = asdict(self)
        training_seconds = found.pop("training_seconds")
        simulated = None if training_seconds is None else search_seconds + training_seconds
        return {**found, "search_seconds": search_seconds, "simulated_seconds": simulated}


def score(arch: Architecture, table: Table, dataset: str | None = None) -> Score:
    """Look up an architecture.

    Args:
        arch: the architecture.
        table: the table in use.
        dataset: the data set of one of the table's objectives. Default: the first objective.

    All values are None for an architecture that a table lacks which covers its space only in part (`Table.covering`).

    Raises:
        OutOfDomainError: the table has no row for the architecture, or no such objective.
    """
    return _scored(arch, table, table.objective(dataset))


def scores_elsewhere(
    arch: Architecture, table: Table, dataset: str | None = None
) -> dict[str, dict[str, float | None]]:
    """Return errors and regrets on the table's other data sets, by data set; arguments as for `score`."""
    main = table.objective(dataset)
    others = {other.dataset: _scored(arch, table, other) for other in table.objectives if other != main}
    return {name: {field: getattr(found, field) for field in ELSEWHERE} for name, found in others.items()}


def _scored(arch: Architecture, table: Table, objective: Objective) -> Score:
    if table.is_partial and table.lacks(arch):
        return Score(arch.network_id, None, None, None, None, False, False, None)
    validated = table.query(arch, dataset=objective.validation)
    is_same = objective.test == objective.validation
    tested = validated if is_same else table.query(arch, dataset=objective.test)
    return Score(
        cell_hash=validated.hash,
        table_validation_error=_none_if_nan(1 - validated.validation_accuracy),
        table_test_error=_none_if_nan(1 - tested.test_accuracy),
        validation_regret=_regret(table, arch, "validation", objective.validation),
        test_regret=_regret(table, arch, "test", objective.test),
        validation_measured=bool(validated.is_measured("validation_accuracy")),
        test_measured=bool(tested.is_measured("test_accuracy")),
        training_seconds=_none_if_nan(validated.training_time),
    )


def _regret(table: Table, arch: Architecture, split: str, dataset: str) -> float | None:
    try:
        return float(table.regret(arch, split=split, dataset=dataset))  # type: ignore[arg-type]
    except OutOfDomainError:  # a table without that split, asked for a score all the same
        return None


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
