"""The true errors of architectures in a table; measurements are distinguished from estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import OutOfDomainError, option
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.stored_columns import mean_of_known
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
Place = tuple[int, str]
"""A budget in epochs, and a split: "validation" or "test"."""
SPLITS = ("validation", "test")
ALL = "all"
"""The scope of all architectures."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The errors of A architectures after one training budget, on one split.

    Attributes:
        budget: epochs of training.
        split: "validation" or "test".
        errors: (A,) fractions, means over the table's repeats; NaN where the table has no value.
        measurements: (A,) fractions, means over measurements only; NaN for architectures without measurements.
        keeps_measurements: whether the error of an architecture with a measurement is this measurement, rather than an
            estimate that is shrunk toward it.
    """

    budget: int
    split: str
    errors: Floats
    measurements: Floats
    keeps_measurements: bool = True

    @property
    def place(self) -> Place:
        """The budget and the split."""
        return self.budget, self.split

    @property
    def has_measurement(self) -> NDArray[np.bool_]:
        """Whether each architecture has a measurement, (A,)."""
        return ~np.isnan(self.measurements)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Whether each true error is a measurement rather than an estimate, (A,)."""
        return self.has_measurement & self.keeps_measurements

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each architecture has a true error, (A,)."""
        return ~np.isnan(self.errors)

    @property
    def measured_share(self) -> float:
        """The fraction of the known errors that are measured."""
        return float(self.measured[self.known].mean())


def table_of_ranking(run: Run, space: SearchSpace, path: str | Path | None, reference: str | None = None) -> Table:
    """Open the table with the true errors of a ranking.

    The table may lack networks of the space with the `reference` "present". Default: the reference of the run.
    """
    table, own = load_table(path), run.config.get("reference")
    return table.covering(space, present=True) if (reference or own) == PRESENT else table


def table_mask(table: Table, space: SearchSpace, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which architectures (A,) a table has: all, unless it covers the space only in part."""
    if not table.is_partial:
        return np.ones(len(numbers), np.bool_)
    return np.array([space[int(number)] in table for number in numbers], np.bool_)


def true_errors(
    table: Table, architectures: Sequence[Architecture], budgets: Sequence[int], dataset: str | None = None
) -> list[Truth]:
    """Return the true errors of architectures at every budget, on both splits.

    Combinations of budget and split without any value are left out.

    Args:
        table: the table in use.
        architectures: A architectures.
        budgets: training budgets in epochs.
        dataset: the data set of one of the table's objectives. Default: the first objective.

    Raises:
        OutOfDomainError: the table lacks one of the architectures, or has no value for any of them.
    """
    rows, objective = table.rows(architectures), table.objective(dataset)
    found = []
    for budget in budgets:
        for split in SPLITS:
            training = (f"{split}_accuracy", budget, getattr(objective, split))
            errors = 1 - mean_of_known(table.values(*training)[rows])
            if not np.isnan(errors).all():
                measurements = 1 - mean_of_known(table.measured(*training)[rows])
                keeps = table.about(f"{split}_accuracy", getattr(objective, split)).keeps_measurements
                found.append(Truth(budget, split, errors, measurements, keeps))
    if not found:
        raise OutOfDomainError(
            f"the table {table.id} has no accuracy of these architectures: give another {option('table')}"
        )
    return found


def truth_fields(truth: Truth, table: Table) -> dict[str, Any]:
    """Return the table, the measured fraction and the fidelity of the true errors, for summaries."""
    return {
        "table_id": table.id,
        "measured": truth.measured_share,
        "fidelity": table.fidelity(truth.budget),
    }


# Headline: the true errors that summaries, screens and plots show -----------------------------------------------------


def headline(found: Sequence[Truth]) -> Truth:
    """Return the true errors at `headline_place`."""
    by_place = {truth.place: truth for truth in found}
    return by_place[headline_place(by_place)]


def headline_place(places: Iterable[Place]) -> Place:
    """Return the largest budget, on test if available, else on validation."""
    return max(places, key=lambda place: (place[0], place[1] == "test"))


def places(frame: "pandas.DataFrame") -> list[Place]:
    """Return the distinct places of a frame with columns `budget` and `split`, ascending by budget."""
    return sorted({(int(budget), str(split)) for budget, split in zip(frame["budget"], frame["split"], strict=True)})


def place_per_budget(frame: "pandas.DataFrame") -> list[Place]:
    """Return `headline_place` of every budget in a frame, ascending by budget."""
    return [headline_place(group) for _, group in groupby(places(frame), key=itemgetter(0))]


def rows_at(frame: "pandas.DataFrame", place: Place) -> "pandas.DataFrame":
    """Return the rows of a frame with columns `budget` and `split` at one place."""
    return frame[(frame["budget"] == place[0]) & (frame["split"] == place[1])]


def rows_of_all(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """Return the rows of correlations.csv over all architectures, not only those that the table measured."""
    rows = frame[frame["scope"] == ALL]
    return rows.drop_duplicates(["epoch", "budget", "split", "criterion"])  # rows of all architectures come first
