"""Which training is which repeat of which cell and budget: arranging them, and seeing that all are there once."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Repeats:
    """T trainings, in the order of their file, by cell and budget.

    Attributes:
        slots: (T,) row × number of budgets + place of the budget.
        n_rows, n_budgets: how many there are.
    """

    slots: NDArray[np.integer]
    n_rows: int
    n_budgets: int

    def uneven(self) -> tuple[int, int, int, int] | None:
        """The first row and budget with another number of repeats than most have.

        Returns:
            Row, place of the budget, its number of repeats, what most have; None if all have the same.
        """
        counts = np.bincount(self.slots, minlength=self.n_rows * self.n_budgets)
        usual = self._usual(counts)
        others = np.flatnonzero(counts != usual)
        if not len(others):
            return None
        row, budget = divmod(int(others[0]), self.n_budgets)
        return row, budget, int(counts[others[0]]), usual

    def _usual(self, counts: NDArray[np.integer]) -> int:
        """The number that is met most often; of several, the highest, since losing one is more likely than gaining."""
        how_often = np.bincount(counts)
        how_often[0] = 0
        return int(np.flatnonzero(how_often == how_often.max())[-1])

    def trainings(self, row: int, budget: int) -> NDArray[np.int64]:
        """Which trainings these are, ascending."""
        return np.flatnonzero(self.slots == row * self.n_budgets + budget)

    def order(self) -> NDArray[np.int64]:
        """(T,) which training comes where, by row, budget and then place in the file."""
        return np.argsort(self.slots, kind="stable")


class Twins:
    """Finds repeats that agree in every value: one training that is there twice.

    `add` is called with one column after the other, (rows, budgets, repeats).
    """

    def __init__(self) -> None:
        self._same: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def add(self, values: Floats) -> None:
        """Keep the pairs that agree in this column, too."""
        for pair in combinations(range(values.shape[2]), 2):
            same = values[..., pair[0]] == values[..., pair[1]]
            self._same[pair] = self._same.get(pair, True) & same

    def first(self) -> tuple[int, int] | None:
        """Row and place of the budget of the first training that is there twice; None if there is none."""
        places = [np.argwhere(same)[0] for same in self._same.values() if same.any()]
        return min(((int(row), int(budget)) for row, budget in places), default=None)
