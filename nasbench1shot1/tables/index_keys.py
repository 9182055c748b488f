"""Row keys of benchmarks that number their architectures, in the ascending column `index` (R,).

The number is the benchmark's official index, or for a benchmark of the user's own, the number in its space
(`space_keys`).
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, shorten
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.keys import Item, KeyColumn, RowKeys, wrong_benchmark_error
from nasbench1shot1.tables.stored_columns import Rows


class IndexKeys(RowKeys):
    """The rows of a table by official index. A subclass defines how indices and architectures belong together.

    Attributes:
        FORM: the form of the architectures. Their `network_id` names a row.
    """

    COLUMNS: Mapping[str, KeyColumn] = {"index": KeyColumn()}
    FORM: ClassVar[Any]

    @staticmethod
    @abstractmethod
    def index_of(architecture: Any) -> int:
        """Return the official index of an architecture of this form."""

    @staticmethod
    @abstractmethod
    def architecture_at(index: int) -> Any:
        """Return the architecture with a valid official index."""

    @classmethod
    def size(cls) -> int:
        """Return the number of architectures of the benchmark."""
        return cls.SIZES[cls.WHOLE]

    def item_of(self, text: str) -> Item:
        """Return an official index as an integer, and any other text unchanged."""
        with suppress(ValueError):  # of text that is not a number, or has thousands of digits
            if text.isdecimal():
                return int(text)
        return text

    def row_of(self, item: Item) -> int:
        """Return the row of one item; raises the errors of `rows`."""
        row = self._row_of_index.get(self._official_index(item))
        return int(self.rows([item])[0]) if row is None else row  # raises

    @cached_property
    def _row_of_index(self) -> dict[int, int]:
        """The row of every official index in the table; the space may have billions of other indices."""
        return {index: row for row, index in enumerate(self._folder.checked_column("index").tolist())}

    def rows(self, items: Sequence[Item]) -> Rows:
        """Return the rows (N,) of N items.

        Raises:
            OutOfDomainError: the table lacks an architecture.
            InvalidInputError: something is not an architecture of the benchmark.
        """
        wanted = np.array([self._official_index(item) for item in items], np.int64)
        indices = self._folder.checked_column("index")
        places = np.minimum(np.searchsorted(indices, wanted), len(indices) - 1)
        if (missing := indices[places] != wanted).any():
            name = self.architecture_at(int(wanted[missing][0])).network_id
            raise OutOfDomainError(
                f"the table {self._table_id} has no row for '{name}': use one of its "
                f"{counted(len(indices), 'architecture')}"
            )
        return np.asarray(places, np.int64)

    def rows_of_space(self, space: SearchSpace) -> Rows:
        """Return the row of every architecture of a space, (N,), -1 for a missing one; raises InvalidInputError.

        Every architecture has its own row, because the benchmark trained each of them, including isomorphic ones.
        """
        wanted = (self._official_index(arch) for arch in space.architectures(space.kinds[0]))
        return np.array([self._row_of_index.get(index, -1) for index in wanted], np.int64)

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the benchmark's own texts of rows."""
        return [self.network(row).network_id for row in rows]

    def network(self, row: int) -> Any:
        """Return the architecture of a row."""
        return self.architecture_at(int(self._folder.checked_column("index")[row]))

    @classmethod
    def columns_of(cls, architectures: Sequence[Any]) -> tuple[dict[str, NDArray[Any]], Rows]:
        """Return the column `index` of a new table, and the row of each architecture, (N,); raises InvalidInputError.

        Raises the error of `rows` for an architecture of another benchmark.
        """
        given = np.array([cls._official_index(arch) for arch in architectures], np.int64)
        indices, rows = np.unique(given, return_inverse=True)
        return {"index": indices.astype(np.min_scalar_type(cls.size() - 1))}, np.asarray(rows, np.int64)

    @classmethod
    def fault(cls, name: str, values: NDArray[Any], rows: int) -> str | None:
        """Return whether the column `index` does not have official indices in ascending order."""
        if name != "index":
            return None
        if values.min() < 0 or values.max() >= cls.size() or (values[1:] <= values[:-1]).any():
            return f"does not contain official indices of {cls.FORM.benchmark.title} in ascending order"
        return None

    @classmethod
    def parse(cls, text: str) -> Any:
        """Return the architecture of a text; raises InvalidInputError if it is not the text of an architecture."""
        return cls.FORM.parse(text)

    @classmethod
    def _official_index(cls, item: Item) -> int:
        if isinstance(item, cls.FORM):
            return cls.index_of(item)
        if isinstance(item, str):
            return cls.index_of(cls.parse(item))
        if isinstance(item, int | np.integer) and not isinstance(item, bool):
            if 0 <= item < cls.size():
                return cls.index_of_number(int(item))
            raise InvalidInputError(f"{item} is not an official index: give 0 to {cls.size() - 1:,}")
        title = cls.FORM.benchmark.title
        if isinstance(item, Architecture):
            raise wrong_benchmark_error(item, title)
        raise InvalidInputError(
            f"{item!r} cannot be looked up in a table of {title}: give an architecture, its string or official index"
        )

    @classmethod
    def index_of_number(cls, number: int) -> int:
        """Return the index of the network of a number in the space. Default: the number."""
        return number


def space_keys(space: SearchSpace) -> type[IndexKeys]:
    """Return the row keys of a benchmark with one space: an architecture's number in the space identifies its row.

    The record of a benchmark refers to the result, as in `keys="my_space:KEYS"` with `KEYS = space_keys(SPACE)`. If the
    kind "unique" of the space is smaller than the space, architectures with the same network share a row.

    Raises InvalidInputError if `space` is not a search space.
    """
    if not isinstance(space, SearchSpace):
        raise InvalidInputError(
            f"{shorten(repr(space))} is not a search space: give an nb.SearchSpace, such as nb.search_space('s1')"
        )
    whole = space.kinds[0]
    has_copies = "unique" in space.kinds and space.count("unique") < space.count(whole)

    class SpaceKeys(IndexKeys):
        """The rows of a table by the number of an architecture in its space."""

        FORM = type(space[0])
        WHOLE = space.name
        SPACES: Mapping[str, str] = {space.name: space.id}
        SIZES: Mapping[str, int] = {space.name: space.count("unique" if has_copies else whole)}

        @classmethod
        def size(cls) -> int:
            """Return the number of architectures of the space, including copies."""
            return len(space)

        @staticmethod
        def index_of(architecture: Any) -> int:
            """Return the number of an architecture, or of the kind "unique" with its network."""
            number = space.index(architecture)
            return space.index(space.with_network(architecture.network_id)) if has_copies else number

        @classmethod
        def index_of_number(cls, number: int) -> int:
            """Return the number of the architecture of the kind "unique" with the network of a number."""
            return cls.index_of(space[number]) if has_copies else number

        @staticmethod
        def architecture_at(index: int) -> Any:
            """Return the architecture with a number."""
            return space[index]

        @classmethod
        def parse(cls, text: str) -> Any:
            """Return the architecture with a text, or with a network's identifier."""
            with suppress(InvalidInputError):
                return cls.FORM.parse(text)
            return space.with_network(text)

    return SpaceKeys
