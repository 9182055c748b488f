"""The interface that identifies rows of a table: by NAS-Bench-101's cells, or by NAS-Bench-201's official indices."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import Rows
from nasbench1shot1.tables.description import key_kind
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.items import Item

_CLASSES = {
    "nasbench101": "nasbench1shot1.nasbench101.keys:CellKeys",
    "nasbench201": "nasbench1shot1.nasbench201.keys:IndexKeys",
}


class RowKeys(Protocol):
    """Finds the rows of a table, and names them.

    Attributes:
        WHOLE: the reference that means every row of the table.
        PARTS: further references; like WHOLE, each means all of its networks that the table has.
        NETWORKS: the plural noun for rows, for messages.
        SPACES: the ids of the spaces that tables know, by name.
        SIZES: number of networks in the benchmark for WHOLE and each of PARTS.
    """

    WHOLE: str
    PARTS: tuple[str, ...]
    NETWORKS: str
    SPACES: Mapping[str, str]
    SIZES: Mapping[str, int]

    def __init__(self, table_id: str, folder: TableFolder) -> None:
        """Take the table's id, for messages, and its opened folder."""

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises the errors of `rows`."""

    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows (N,) of N items.

        Raises:
            OutOfDomainError: the table lacks an item.
            InvalidInputError: something cannot be looked up in this table.
        """

    def members(self, part: str) -> Rows:
        """Return the ascending rows of WHOLE or of one of PARTS, (M,)."""

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every distinct network of a space, (N,); -1 for a missing one.

        Raises InvalidInputError if the space belongs to another benchmark.
        """

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the identifiers of rows: hashes, or official strings."""

    def network(self, row: int) -> Any:
        """Return the network of a row: a Cell or an Architecture."""


def row_keys(table_id: str, folder: TableFolder) -> RowKeys:
    """Return the row keys that a table's description names."""
    module, _, name = _CLASSES[key_kind(folder.meta)].partition(":")
    keys: RowKeys = getattr(import_module(module), name)(table_id, folder)
    return keys
