"""The interface that finds and names the rows of a table: what each benchmark gives as its row keys."""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.columns import Rows
from nasbench1shot1.tables.description import key_kind
from nasbench1shot1.tables.folder import TableFolder

_HASH = re.compile("[0-9a-f]{32}")

Item = Architecture | Cell | str | int | np.integer
"""A string is a hash or, in NAS-Bench-201 tables, an architecture string; a number is an official index."""


def as_list(x: Item | Iterable[Item]) -> list[Item]:
    """Return one or many items as a list, so that a generator is consumed only once."""
    if isinstance(x, Item):
        return [x]
    try:
        many = iter(x)
    except TypeError:
        raise _invalid_item_error(x) from None
    return list(many)


def checked_split(name: str) -> str:
    """Return `name`; raises InvalidInputError if it is not a split."""
    if not isinstance(name, str) or name not in ("test", "validation"):
        raise unknown_name("split", str(name), ("test", "validation"))
    return name


def checked_hashes(items: Sequence[Item]) -> str:
    """Return the concatenated hashes of items; raises InvalidInputError for an item without a hash."""
    hashes = [item.hash if isinstance(item, Cell) else item for item in items]
    if wrong := [item for item in hashes if not isinstance(item, str) or not is_hash(item)]:
        raise _invalid_item_error(wrong[0])
    return "".join(hashes)  # type: ignore[arg-type]


def is_hash(text: str) -> bool:
    """Return whether a text is written as the hash of a cell, 32 hexadecimal digits."""
    return _HASH.fullmatch(text) is not None


def wrong_benchmark_error(given: Architecture, benchmark: str) -> InvalidInputError:
    """Return the error for an architecture that is looked up in a table of another benchmark."""
    return InvalidInputError(
        f"'{given}' is not an architecture of {benchmark}, the benchmark of this table: open a table of the "
        "architecture's benchmark"
    )


def _invalid_item_error(given: object) -> InvalidInputError:
    if isinstance(given, Architecture):
        return wrong_benchmark_error(given, "NAS-Bench-101")
    if isinstance(given, str) and ":" in given:
        return InvalidInputError(f"'{given}' is text: give nb.Architecture.parse(text)")
    return InvalidInputError(
        f"{given!r} cannot be looked up in a table of NAS-Bench-101: give an architecture (such as "
        "nb.Architecture.parse('s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3')), a cell, or a hash of 32 "
        "hexadecimal digits; an index of NAS-Bench-201 needs its table, nb201"
    )


# The interface that identifies rows of a table: by NAS-Bench-101's cells, or by NAS-Bench-201's official indices ------


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

    def item_of(self, text: str) -> Item:
        """Return the item that a text on the command line means, if it is not an architecture: a hash or an index.

        Raises InvalidInputError if it cannot be looked up in this table.
        """

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
