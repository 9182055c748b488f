"""How the rows of a table are identified: by NAS-Bench-101's cells, or by NAS-Bench-201's official indices."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.description import keyed_by
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.items import Item
from nasbench1shot1.tables.metric_column import Rows

_CLASSES = {
    "nasbench101": "nasbench1shot1.tables.cell_keys:CellKeys",
    "nasbench201": "nasbench1shot1.tables.index_keys:IndexKeys",
}


class RowKeys(Protocol):
    """Finds the rows of a table, and names them.

    Attributes:
        WHOLE: the reference that means every row of the table.
        PARTS: further references; like WHOLE, they mean all of their networks that the table has.
        NETWORKS: what a row is, in the plural, for messages.
        SPACES: the ids of the spaces that tables know by name.
        SIZES: how many networks WHOLE and each of PARTS have in the benchmark.
    """

    WHOLE: str
    PARTS: tuple[str, ...]
    NETWORKS: str
    SPACES: Mapping[str, str]
    SIZES: Mapping[str, int]

    def __init__(self, table_id: str, folder: TableFolder) -> None:
        """Take the table's id, for messages, and its opened folder."""

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises as `rows` does."""

    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows (N,) of N items.

        Raises:
            OutOfDomainError: the table does not have an item.
            InvalidInputError: something cannot be looked up in this table.
        """

    def members(self, part: str) -> Rows:
        """Return the ascending rows of WHOLE or of one of PARTS, (M,)."""

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every distinct network of a space, (N,); -1 where the table has none.

        Raises InvalidInputError if they are networks of another benchmark.
        """

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the identifiers of rows, each an item: hashes, or official strings."""

    def network(self, row: int) -> Any:
        """Return what was trained: a Cell, or an Architecture."""


def row_keys(table_id: str, folder: TableFolder) -> RowKeys:
    """Return the keys of a table's rows, as its description names them."""
    module, _, name = _CLASSES[keyed_by(folder.meta)].partition(":")
    keys: RowKeys = getattr(import_module(module), name)(table_id, folder)
    return keys
