"""Look-up of an architecture's true performance in a table; searches use no other access to tables."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.tables.description import Objective
from nasbench1shot1.tables.table import Table

ELSEWHERE = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")
"""Fields that are recorded for data sets on which a search does not train."""


@dataclass(frozen=True)
class Score:
    """The performance of an architecture in a table at the full budget, means over repeats.

    Errors and regrets are fractions; unknown values are None. Regret is relative to the best network of the
    architecture's own space, identified by its name: a user's own space needs a table that covers it
    (`Table.covering`). `cell_hash` identifies the row (`Architecture.network_id`).
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


def score(arch: Architecture, table: Table, dataset: str | None = None) -> Score:
    """Look up an architecture's errors and regrets.

    Args:
        arch: the architecture.
        table: the table in use.
        dataset: the data set of one of the table's objectives. Default: the first objective.

    All values are None if the table lacks the architecture and only covers a part of its space (`Table.covering`).

    Raises:
        OutOfDomainError: the table lacks the architecture or the objective.
    """
    return _score(arch, table, table.objective(dataset))


def scores_on_other_datasets(
    arch: Architecture, table: Table, dataset: str | None = None
) -> dict[str, dict[str, float | None]]:
    """Return errors and regrets on the table's other data sets, by data set; arguments as for `score`."""
    main = table.objective(dataset)
    others = {other.dataset: _score(arch, table, other) for other in table.objectives if other != main}
    return {name: {field: getattr(found, field) for field in ELSEWHERE} for name, found in others.items()}


def _score(arch: Architecture, table: Table, objective: Objective) -> Score:
    if table.is_partial and arch not in table:
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
    except OutOfDomainError:  # the table lacks values for this split
        return None


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
