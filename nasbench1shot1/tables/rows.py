"""What a table is, and which row each network has; the base of `Table`."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.coverage import Coverage
from nasbench1shot1.tables.description import (
    Objective,
    datasets,
    keyed_by,
    objectives,
)
from nasbench1shot1.tables.folder import (
    Meta,
    TableFolder,
    table_id,
    table_in_memory,
    verify_folder,
    write_table,
)
from nasbench1shot1.tables.items import Item, listed
from nasbench1shot1.tables.keys import row_keys
from nasbench1shot1.tables.metric_column import Rows
from nasbench1shot1.tables.metrics import Metrics as Metrics
from nasbench1shot1.tables.references import References
from nasbench1shot1.wording import counted

if TYPE_CHECKING:
    from nasbench1shot1.nasbench101.cell import Cell


class TableRows:
    """What a table is, and its rows: one per trained network.

    Rows are the distinct cells of NAS-Bench-101 or a part of it, sorted by hash, or architectures of NAS-Bench-201,
    sorted by official index.

    Attributes:
        name, version, id: which table this is; `id` also carries a digest of its content.
        keyed_by: how rows are identified: "nasbench101" or "nasbench201".
        datasets: names of the trainings, by data set. NAS-Bench-201 has two on CIFAR-10: "cifar10-valid" on 25,000
            images and "cifar10" on 50,000.
        objectives: for each data set that a search can have, the trainings of its validation and test values.
        epochs: the budgets, ascending.
        full_budget: the longest one, which functions take by default.
        repeats: how many repeats each budget has; the embedded table has one smooth estimate.
        seeds: the random seeds of the repeats, where known.
        spaces: names of the search spaces whose rows the table knows.
    """

    _coverage: Coverage | None = None

    def __init__(self, folder: TableFolder) -> None:
        self._folder, self._columns = folder, folder.columns
        self._place = folder.path.absolute() if folder.path else None
        self.id = table_id(folder.meta)
        self.name: str = folder.meta["name"]
        self.version: str = folder.meta["version"]
        self.keyed_by = keyed_by(folder.meta)
        self.datasets = datasets(folder.meta)
        self.objectives = objectives(folder.meta)
        self.epochs: tuple[int, ...] = tuple(folder.meta["epochs"])
        self.full_budget = self.epochs[-1]
        self.repeats: int = folder.meta["repeats"]
        self.seeds: tuple[int, ...] = tuple(folder.meta.get("seeds", ()))
        self.spaces: tuple[str, ...] = tuple(folder.meta["spaces"])

    @property
    def folder(self) -> Path | None:
        """The folder of the table as an absolute path; None if it lies in memory."""
        return self._place

    def objective(self, dataset: str | None = None) -> Objective:
        """Return the objective of searches on a data set, or the only one, or by default the first.

        Raises OutOfDomainError if the table has several, but none for this data set.
        """
        if dataset is None or len(self.objectives) == 1:
            return self.objectives[0]
        for found in self.objectives:
            if found.dataset == dataset:
                return found
        known = ", ".join(of.dataset for of in self.objectives)
        raise OutOfDomainError(f"the table {self.id} has no values for searches on {dataset}: choose {known}")

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Self:
        """A table held in memory, of the columns and the description that `tables.folder.write_table` takes."""
        return cls(table_in_memory(columns, meta))

    def save(self, folder: str | Path) -> None:
        """Write the table into a folder, whole or not at all; raises as `tables.folder.write_table` does."""
        write_table(as_path(folder, "folder"), self._columns, self._folder.meta)

    def __len__(self) -> int:
        return int(self._folder.meta["rows"])

    def __repr__(self) -> str:
        rows, repeats = counted(len(self), "row"), counted(self.repeats, "repeat")
        return f"Table('{self.id}', {rows}, epochs {self.epochs}, {repeats})"

    # Rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Any:
        """The object that finds rows and names them (`tables.keys.RowKeys`)."""
        return row_keys(self.id, self._folder)

    @cached_property
    def _references(self) -> References:
        return References(self.id, self._folder, self.keys, self._coverage)

    def covering(self, space: SearchSpace, present: bool = False) -> Self:
        """Return a table that knows the rows of a space by its name; it is this table if this one does.

        The result shares all columns. Looking the space up takes about a second for 50,000 cells; nothing is looked up
        for the spaces that a table stores.

        Args:
            space: the space.
            present: whether the table may lack networks of the space. Regrets then refer to the best of those that it
                has, and `nb.score` gives empty values for the others.

        Raises:
            OutOfDomainError: the table lacks networks of the space, or has none of them.
            InvalidInputError: the table is of another benchmark.
        """
        if self._references.stores(space):
            return self
        found = self._references.coverage(space)
        return self.with_coverage(found if present and len(found.rows) else self._references.complete(space))

    def with_coverage(self, coverage: Coverage) -> Self:
        """Return a table that shares this one's columns and knows the rows of one more space."""
        other = type(self)(self._folder)
        other.__dict__["keys"] = self.keys  # so that encodings are not numbered twice
        other._coverage, other.spaces = coverage, tuple(dict.fromkeys((*self.spaces, coverage.space)))
        return other

    @property
    def is_partial(self) -> bool:
        """Whether the table may lack networks of the space that it was asked to cover (`covering`)."""
        return self._coverage is not None and self._coverage.missing > 0

    @property
    def partial_note(self) -> str:
        """A sentence for screens and captions if the table is partial, else empty."""
        if self._coverage is None or not self.is_partial:
            return ""
        of = f"{len(self._coverage.rows):,} of the {self._coverage.networks:,} {self.keys.NETWORKS}"
        return f"It has {of} of {self._coverage.space}: regrets refer to the best of these, others have no values."

    def lacks(self, x: Item) -> bool:
        """Return whether there is no row for an architecture, cell or hash; raises InvalidInputError as `rows`."""
        try:
            self.row_of(x)
        except OutOfDomainError:
            return True
        return False

    def row_of(self, x: Item) -> int:
        """The row of an architecture, cell or hash, in microseconds; raises as `rows` does."""
        row: int = self.keys.row_of(x)
        return row

    def row_of_encoding(self, code: int) -> int:
        """The row of a cell by its encoding (`nasbench101.encoding`), whichever way its vertices are numbered.

        Raises OutOfDomainError if the table has no such cell.
        """
        row: int = self._cells.row_of_encoding(code)
        return row

    @property
    def _cells(self) -> Any:
        """The keys of a table of NAS-Bench-101; raises InvalidInputError if this is a table of another benchmark."""
        if self.keyed_by == "nasbench101":
            return self.keys
        raise InvalidInputError(f"the table {self.id} has no cells of NAS-Bench-101: open a table of that benchmark")

    def rows(self, x: Item | Iterable[Item]) -> Rows:
        """The row of an architecture, cell or hash, () int64; or of an iterable of N, (N,).

        Raises:
            OutOfDomainError: the table has no such network.
            InvalidInputError: something cannot be looked up in this table.
        """
        return np.asarray(self.row_of(x) if isinstance(x, Item) else self.keys.rows(listed(x)), np.int64)

    def rows_of_encodings(self, codes: NDArray[np.uint64]) -> Rows:
        """The rows of cells by their encodings (N,), whichever way they are numbered; -1 where there is none."""
        rows: Rows = self._cells.rows_of_encodings(codes)
        return rows

    def members(self, space: str | SearchSpace) -> Rows:
        """The ascending rows of a space's distinct networks, (M,); every row for `keys.WHOLE`, "nb101" for example.

        "nb101-mini" means every row whose cell has at most six vertices. Raises InvalidInputError for a name that the
        table does not know, OutOfDomainError for a space of which it lacks networks.
        """
        return self._references.members(space)

    def hashes(self, rows: Any) -> list[str]:
        """The identifiers of some rows, each of which can be looked up: hashes, or NAS-Bench-201's strings."""
        names: list[str] = self.keys.names(np.atleast_1d(rows))
        return names

    def network(self, row: int) -> Any:
        """What was trained: a `Cell` of NAS-Bench-101, or an `Architecture`."""
        return self.keys.network(row)

    def cell(self, row: int) -> "Cell":
        """The cell of a row; raises InvalidInputError if this is not a table of NAS-Bench-101."""
        cell: Cell = self._cells.network(row)
        return cell

    def column(self, name: str) -> NDArray[Any]:
        """A column as it is stored, memory-mapped and read-only; `tables.folder` lists names and shapes.

        Raises:
            InvalidInputError: a name that the table does not have.
            DamagedFileError: impossible values, such as a cell of a hundred vertices.
        """
        if not isinstance(name, str) or name not in self._columns:
            raise unknown_name("column", str(name), self._columns)
        return self._folder.checked(name)

    # About the table -------------------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """What the table is, for people and for records: plain numbers, strings, lists and dictionaries."""
        meta = self._folder.meta
        described = {k: v for k, v in meta.items() if k not in ("format", "spaces", "columns")}
        return {
            "id": self.id,
            "folder": str(self._folder.path or "memory"),
            **described,
            "spaces": {space: len(self.members(space)) for space in self.spaces},
            "bytes": sum(column.nbytes for column in self._columns.values()),
            "columns": {name: {k: v for k, v in a.items() if k != "sha256"} for name, a in meta["columns"].items()},
        }

    def verify(self) -> None:
        """Check description and columns, as they lie on the disk now, against their SHA-256.

        Raises:
            DamagedFileError: one of them differs, or cannot be read.
            InvalidInputError: another table has taken the place of this one.
        """
        if self._place and (found := table_id(verify_folder(self._place))) != self.id:
            raise InvalidInputError(
                f"{self._place} now holds the table {found}, not {self.id} that was opened from it: open it again"
            )
