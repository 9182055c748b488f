"""Arrangement of trainings by cell, budget and repeat, and checks that every repeat occurs exactly once."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Repeats:
    """The cell and budget of T trainings, in the order of their file.

    Attributes:
        slots: (T,) row × number of budgets + index of the budget.
        n_rows, n_budgets: numbers of rows and budgets.
    """

    slots: NDArray[np.integer]
    n_rows: int
    n_budgets: int

    def uneven(self) -> tuple[int, int, int, int] | None:
        """Return the first row and budget with an unusual number of repeats.

        Returns:
            Row, index of the budget, its number of repeats, and the usual number; None if all numbers are equal.
        """
        counts = np.bincount(self.slots, minlength=self.n_rows * self.n_budgets)
        usual = self._usual(counts)
        others = np.flatnonzero(counts != usual)
        if not len(others):
            return None
        row, budget = divmod(int(others[0]), self.n_budgets)
        return row, budget, int(counts[others[0]]), usual

    def _usual(self, counts: NDArray[np.integer]) -> int:
        """Return the most frequent number; ties go to the highest, because losing a repeat is likelier than gaining."""
        how_often = np.bincount(counts)
        how_often[0] = 0
        return int(np.flatnonzero(how_often == how_often.max())[-1])

    def trainings(self, row: int, budget: int) -> NDArray[np.int64]:
        """Return the indices of the trainings of a row and budget, ascending."""
        return np.flatnonzero(self.slots == row * self.n_budgets + budget)

    def order(self) -> NDArray[np.int64]:
        """Return the indices of the trainings sorted by row, budget and position in the file, (T,)."""
        return np.argsort(self.slots, kind="stable")


class DuplicateFinder:
    """Finds repeats that agree in every value, which means that one training occurs twice.

    Call `add` with one column after another, (rows, budgets, repeats).
    """

    def __init__(self) -> None:
        self._same: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def add(self, values: Floats) -> None:
        """Keep the pairs that also agree in this column."""
        for pair in combinations(range(values.shape[2]), 2):
            same = values[..., pair[0]] == values[..., pair[1]]
            self._same[pair] = self._same.get(pair, True) & same

    def first(self) -> tuple[int, int] | None:
        """Return the row and the index of the budget of the first duplicate; None if there is none."""
        places = [np.argwhere(same)[0] for same in self._same.values() if same.any()]
        return min(((int(row), int(budget)) for row, budget in places), default=None)
