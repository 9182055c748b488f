"""The row keys of NAS-Bench-201 tables: the official index, in the ascending column `index` (R,)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.nasbench201.architecture import SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of_valid
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import Rows
from nasbench1shot1.tables.keys import Item, KeyColumn, RowKeys, wrong_benchmark_error


class IndexKeys(RowKeys):
    """The rows of a table by official index."""

    COLUMNS: Mapping[str, KeyColumn] = {"index": KeyColumn()}
    WHOLE = SPACE_NAME
    SPACES: Mapping[str, str] = {SPACE_NAME: "nb201-v1"}
    SIZES: Mapping[str, int] = {SPACE_NAME: N_ARCHITECTURES}

    def item_of(self, text: str) -> Item:
        """Return an official index as an integer, and any other text unchanged."""
        return int(text) if text.isdecimal() else text

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises the errors of `rows`."""
        row = self._row_of_index[_official_index(item)]
        return row if row >= 0 else int(self.rows([item])[0])  # raises

    @cached_property
    def _row_of_index(self) -> list[int]:
        """The row of every official index, -1 for a missing architecture."""
        rows = np.full(N_ARCHITECTURES, -1)
        indices = self._folder.checked_column("index")
        rows[indices] = np.arange(len(indices))
        return rows.tolist()

    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows (N,) of N items.

        Raises:
            OutOfDomainError: the table lacks an architecture.
            InvalidInputError: something is not an architecture of NAS-Bench-201.
        """
        wanted = np.array([_official_index(item) for item in items], np.int64)
        indices = self._folder.checked_column("index")
        places = np.minimum(np.searchsorted(indices, wanted), len(indices) - 1)
        if (missing := indices[places] != wanted).any():
            name = self._architecture(int(wanted[missing][0])).official
            raise OutOfDomainError(
                f"the table {self._table_id} has no row for '{name}': use one of its {len(indices):,} architectures"
            )
        return np.asarray(places, np.int64)

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every architecture of a space, (N,), -1 for a missing one; raises InvalidInputError.

        Unlike in NAS-Bench-101, isomorphic architectures were trained separately, so each of them has its own row.
        """
        wanted = (_official_index(arch) for arch in space.architectures(space.kinds[0]))
        return np.array([self._row_of_index[index] for index in wanted], np.int64)

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the official strings of rows."""
        return [self.network(row).official for row in rows]

    def network(self, row: int) -> EdgeArchitecture:
        """Return the architecture of a row."""
        return self._architecture(int(self._folder.checked_column("index")[row]))

    def _architecture(self, index: int) -> EdgeArchitecture:
        return EdgeArchitecture.unchecked(SPACE_NAME, tuple(all_operations()[index].tolist()))

    @classmethod
    def fault(cls, name: str, values: NDArray[Any], rows: int) -> str | None:
        """Return whether the column `index` does not have official indices in ascending order."""
        if name != "index":
            return None
        if values.min() < 0 or values.max() >= N_ARCHITECTURES or (values[1:] <= values[:-1]).any():
            return "does not contain official indices of NAS-Bench-201 in ascending order"
        return None


def _official_index(item: Item) -> int:
    if isinstance(item, EdgeArchitecture):
        return index_of_valid(item.operations)
    if isinstance(item, str):
        return index_of_valid(EdgeArchitecture.parse(item).operations)
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if 0 <= item < N_ARCHITECTURES:
            return int(item)
        raise InvalidInputError(f"{item} is not an official index: give 0 to {N_ARCHITECTURES - 1:,}")
    if isinstance(item, Architecture):
        raise wrong_benchmark_error(item, "NAS-Bench-201")
    raise InvalidInputError(
        f"{item!r} cannot be looked up in a table of NAS-Bench-201: give an architecture, its string or official index"
    )
