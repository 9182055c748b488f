"""The row keys of a table, with which a benchmark's networks are looked up."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.stored_columns import Rows

Item = Any
"""What can be looked up: an architecture, or anything else that the table's row keys accept, such as a cell, its
hash, the text of an architecture, or an official index."""


def is_item(x: Any) -> bool:
    """Return whether `x` is one item rather than an iterable of items."""
    return isinstance(x, (str, Architecture)) or not isinstance(x, Iterable)


def as_list(x: Any) -> list[Any]:
    """Return one or many items as a list, so that a generator is consumed only once."""
    try:
        return [x] if is_item(x) else list(x)
    except TypeError:  # an array without axes
        return [x]


class KeyColumn(NamedTuple):
    """The form of a column of integers that identifies rows.

    Attributes:
        entry: shape of the entry of a row.
        kinds: NumPy's letters for the allowed kinds of integers: "u" (only unsigned), or "iu" (signed and unsigned).
        itemsize: number of bytes of an integer; None for any number.
        method: how a derived column follows from other columns, for its entry in `meta.json`.
    """

    entry: tuple[int, ...] = ()
    kinds: str = "iu"
    itemsize: int | None = None
    method: str = ""


class StoredColumns(Protocol):
    """The columns of a table, as its row keys read them (`folder.TableFolder`)."""

    @property
    def path(self) -> Path | None:
        """The folder of the table; None if it is in memory."""

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """All columns by name."""

    def checked_column(self, name: str) -> NDArray[Any]:
        """Return a column after checking its values once."""


class RowKeys(ABC):
    """Finds the rows of a table, and names them. Each benchmark has a subclass, which its record names.

    Subclasses may have other methods, such as `verify`, which recomputes identifiers; callers ask whether they exist.

    Attributes:
        COLUMNS: the columns that identify rows, of which the first has one entry for every row.
        DERIVED: columns that follow from COLUMNS and make look-ups faster; their lengths may differ.
        WHOLE: the reference that means every row of the table.
        PARTS: further references; like WHOLE, each means all of its networks that the table has.
        SPACES: the ids of the spaces that tables know, by name.
        SIZES: number of networks in the benchmark for WHOLE and each of PARTS.
    """

    COLUMNS: Mapping[str, KeyColumn]
    DERIVED: Mapping[str, KeyColumn] = {}
    WHOLE: str
    PARTS: tuple[str, ...] = ()
    SPACES: Mapping[str, str] = {}
    SIZES: Mapping[str, int] = {}

    def __init__(self, table_id: str, folder: StoredColumns) -> None:
        """Take the table's id, for messages, and its opened folder."""
        self._table_id, self._folder = table_id, folder

    @abstractmethod
    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows (N,) of N items.

        Raises:
            OutOfDomainError: the table lacks an item.
            InvalidInputError: something cannot be looked up in this table.
        """

    @abstractmethod
    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the identifiers of rows, which can be looked up, such as hashes or strings."""

    @abstractmethod
    def network(self, row: int) -> Any:
        """Return the network of a row, such as an architecture or a cell."""

    def architecture(self, row: int) -> Architecture:
        """Return an architecture with the network of a row; its text identifies the row in data frames."""
        found: Architecture = self.network(row)
        return found

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises the errors of `rows`."""
        return int(self.rows([item])[0])

    def members(self, part: str) -> Rows:
        """Return the ascending rows of WHOLE or of one of PARTS, (M,). The default is all rows."""
        return np.arange(len(self._folder.columns[next(iter(self.COLUMNS))]))

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every distinct network of a space, (N,); -1 for a missing one.

        Raises InvalidInputError if the space belongs to another benchmark.
        """
        return np.array([self._row_or_missing(arch) for arch in space.architectures(space.kinds[0])], np.int64)

    def _row_or_missing(self, item: Item) -> int:
        try:
            return self.row_of(item)
        except OutOfDomainError:
            return -1

    def item_of(self, text: str) -> Item:
        """Return the item that a text on the command line means, if it is not an architecture: a hash or an index.

        Raises InvalidInputError if it cannot be looked up in this table.
        """
        return text

    @classmethod
    def columns_of(cls, architectures: Sequence[Any]) -> tuple[dict[str, NDArray[Any]], Rows]:
        """Return COLUMNS of a new table of the networks of N architectures, and the row of each architecture, (N,).

        Raises InvalidInputError if the class does not define this method: tables are then made by the benchmark only.
        """
        raise InvalidInputError(
            f"{cls.__name__} cannot identify the rows of new tables: define its method columns_of, or use "
            "tables.index_keys.space_keys"
        )

    @classmethod
    def derive(cls, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return DERIVED, computed from the other columns; raises DamagedFileError if these are impossible."""
        return {}

    @classmethod
    def fault(cls, name: str, values: NDArray[Any], rows: int) -> str | None:
        """Return what is wrong with the values of one of COLUMNS or DERIVED; None if nothing is.

        Args:
            name: the column. The method is also called with other columns of the table; return None for them.
            values: all of its values, at least one.
            rows: number of rows of the table.

        Returns:
            The fault, phrased to follow the name of the column.
        """
        return None


def wrong_benchmark_error(given: Architecture, benchmark: str) -> InvalidInputError:
    """Return the error for an architecture that is looked up in a table of another benchmark."""
    return InvalidInputError(
        f"'{given}' is not an architecture of {benchmark}, the benchmark of this table: open a table of the "
        "architecture's benchmark"
    )
