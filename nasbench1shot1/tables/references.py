"""The sets of networks that regrets refer to, and the best network of each."""

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.tables.description import MEMBER, datasets, stored_name
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.items import known_split
from nasbench1shot1.tables.keys import RowKeys
from nasbench1shot1.tables.metric_column import Rows
from nasbench1shot1.wording import counted


class References:
    """The references of a table: the spaces that it covers, and a name for all its rows.

    Args:
        table_id: names the table in errors.
        folder: the opened table.
        keys: names the reference that means every row, and those whose rows follow from the cells.
    """

    def __init__(self, table_id: str, folder: TableFolder, keys: RowKeys) -> None:
        self._id, self._folder, self._keys, self.whole = table_id, folder, keys, keys.WHOLE
        self._names = tuple(dict.fromkeys((*folder.meta["spaces"], self.whole, *keys.PARTS)))
        self._best: dict[tuple[str, str, int, str], int] = {}

    def members(self, reference: str) -> Rows:
        """Return the ascending rows of a reference, (M,); raises InvalidInputError for an unknown one."""
        if self._known(reference) == self.whole:
            return np.arange(self._folder.meta["rows"])
        if reference in self._keys.PARTS:
            return self._keys.members(reference)
        return np.asarray(self._folder.checked(MEMBER + reference), np.int64)

    def best_row(self, reference: str, split: str, epochs: int, dataset: str) -> int:
        """Return the row with the highest mean accuracy of a split at a budget; ties go to the first row.

        Raises:
            OutOfDomainError: the table has no value at this budget, or only some networks have one.
            InvalidInputError: unknown reference or split.
        """
        key = (self._known(reference), known_split(split), epochs, dataset)
        if key not in self._best:
            rows = self.members(reference)
            if not len(rows):
                raise OutOfDomainError(f"the table {self._id} has no network of {reference}: choose another reference")
            accuracy = self.means(split, rows, epochs, dataset)
            known = int((~np.isnan(accuracy)).sum())
            if known < len(rows):
                raise OutOfDomainError(
                    f"the table {self._id} has the {split} accuracy{self._on(dataset)} at {counted(epochs, 'epoch')} "
                    f"of {known:,} of the {len(rows):,} networks of {reference}, so the best one is unknown: ask for "
                    "another split, budget, data set or reference"
                )
            self._best[key] = int(rows[np.nanargmax(accuracy)])  # the first of equals, and rows ascend by hash
        return self._best[key]

    def best_accuracy(self, reference: str, split: str, epochs: int, dataset: str) -> float:
        """Return the highest mean accuracy in a reference; raises as `best_row` does."""
        row = np.array([self.best_row(reference, split, epochs, dataset)])
        return float(self.means(split, row, epochs, dataset)[0])

    def means(self, split: str, rows: Rows, epochs: int, dataset: str) -> NDArray[np.float64]:
        """Return the mean accuracy of each row over its repeats, (N,), NaN without one; raises as `best_row` does."""
        name = stored_name(self._folder.meta, dataset, f"{known_split(split)}_accuracy")
        known = self._folder.epochs_of(name)
        if epochs not in known:
            there = f"only at {', '.join(map(str, known))} epochs" if known else "nor at any other budget"
            raise OutOfDomainError(
                f"the table {self._id} has no {split} accuracy{self._on(dataset)} at {counted(epochs, 'epoch')}, "
                f"{there}: ask for another"
            )
        return self._folder.values(name, rows, epochs, "mean")

    def _on(self, dataset: str) -> str:
        return f" on {dataset}" if len(datasets(self._folder.meta)) > 1 else ""

    def _known(self, name: str) -> str:
        if not isinstance(name, str) or name not in self._names:
            raise InvalidInputError(
                f"{unknown_name('reference', name, self._names)}: the table {self._id} only knows the best of "
                f"spaces all of whose networks it holds; open another table, or give reference='{self.whole}' for all "
                "rows of it"
            )
        return name
