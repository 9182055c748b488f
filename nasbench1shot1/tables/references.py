"""The sets of cells that regrets refer to, and the best cell of each."""

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.tables.description import MEMBER
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.items import WHOLE, known_split
from nasbench1shot1.tables.metric_column import Rows
from nasbench1shot1.wording import counted


class References:
    """The references of a table: the spaces that it covers, and "nb101" for all its rows.

    Args:
        table_id: names the table in errors.
        folder: the opened table.
    """

    def __init__(self, table_id: str, folder: TableFolder) -> None:
        self._id, self._folder = table_id, folder
        self._names = (*folder.meta["spaces"], WHOLE)
        self._best: dict[tuple[str, str, int], int] = {}

    def members(self, reference: str) -> Rows:
        """Return the ascending rows of a reference, (M,); raises InvalidInputError for an unknown one."""
        if self._known(reference) == WHOLE:
            return np.arange(len(self._folder.columns["hash"]))
        return np.asarray(self._folder.checked(MEMBER + reference), np.int64)

    def best_row(self, reference: str, split: str, epochs: int) -> int:
        """Return the row with the highest mean accuracy of a split at a budget; ties go to the lowest hash.

        Raises:
            OutOfDomainError: there is no value at this budget.
            InvalidInputError: unknown reference or split.
        """
        key = (self._known(reference), known_split(split), epochs)
        if key not in self._best:
            rows = self.members(reference)
            accuracy = self.means(split, rows, epochs)
            if np.isnan(accuracy).all():
                budget = counted(epochs, "epoch")
                raise OutOfDomainError(f"the table {self._id} has no {split} accuracy in {reference} at {budget}")
            self._best[key] = int(rows[np.nanargmax(accuracy)])  # the first of equals, and rows ascend by hash
        return self._best[key]

    def best_accuracy(self, reference: str, split: str, epochs: int) -> float:
        """Return the highest mean accuracy in a reference; raises as `best_row` does."""
        return float(self.means(split, np.array([self.best_row(reference, split, epochs)]), epochs)[0])

    def means(self, split: str, rows: Rows, epochs: int) -> NDArray[np.float64]:
        """Return the mean accuracy of each row over its repeats, (N,), NaN without one; raises as `best_row` does."""
        name = f"{known_split(split)}_accuracy"
        known = self._folder.epochs_of(name)
        if epochs not in known:
            there = f"only at {', '.join(map(str, known))} epochs" if known else "nor at any other budget"
            raise OutOfDomainError(
                f"the table {self._id} has no {split} accuracy at {counted(epochs, 'epoch')}, {there}: ask for another"
            )
        return self._folder.values(name, rows, epochs, "mean")

    def _known(self, name: str) -> str:
        if not isinstance(name, str) or name not in self._names:
            raise InvalidInputError(
                f"{unknown_name('reference', name, self._names)}: the table {self._id} only knows the best of "
                "spaces all of whose cells it holds; open another table, or give reference='nb101' for all rows of it"
            )
        return name
