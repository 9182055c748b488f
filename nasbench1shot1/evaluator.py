"""From an architecture to what a table says of it: the only bridge between a search and the truth."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import OutOfDomainError
from nasbench1shot1.tables.table import Table

EPOCHS = 108  # NAS-Bench-101's full training; shorter budgets are a matter of `Table.query`


@dataclass(frozen=True)
class Score:
    """One architecture in one table, at 108 epochs, mean over repeats; errors and regrets are fractions.

    None where the table has no value. Regret is relative to the best of the architecture's own space.
    """

    cell_hash: str
    table_valid_error: float | None
    table_test_error: float | None
    valid_regret: float | None
    test_regret: float | None
    valid_measured: bool
    test_measured: bool
    training_seconds: float | None

    def fields(self, search_seconds: float) -> dict[str, Any]:
        """The fields of a metrics line that come from the table, and the simulated clock: search, then one training.

        The clock is that of NAS-Bench-1Shot1, section 5: t_sim = t_search + t_train, in seconds.
        """
        found = asdict(self)
        training_seconds = found.pop("training_seconds")
        simulated = None if training_seconds is None else search_seconds + training_seconds
        return {**found, "search_seconds": search_seconds, "simulated_seconds": simulated}


def score(arch: Architecture, table: Table) -> Score:
    """Look an architecture up.

    Raises OutOfDomainError if the table has no row for it, or has no 108-epoch budget.
    """
    metrics = table.query(arch, epochs=EPOCHS)
    return Score(
        cell_hash=metrics.hash,
        table_valid_error=_none_if_nan(1 - metrics.validation_accuracy),
        table_test_error=_none_if_nan(1 - metrics.test_accuracy),
        valid_regret=_regret(table, arch, "validation"),
        test_regret=_regret(table, arch, "test"),
        valid_measured=bool(metrics.is_measured("validation_accuracy")),
        test_measured=bool(metrics.is_measured("test_accuracy")),
        training_seconds=_none_if_nan(metrics.training_time),
    )


def _regret(table: Table, arch: Architecture, split: str) -> float | None:
    try:
        return float(table.regret(arch, split=split, epochs=EPOCHS))  # type: ignore[arg-type]
    except OutOfDomainError:  # a table without that split, asked for a score all the same
        return None


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
