"""The table: measured or estimated truth about every cell, looked up in microseconds."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError, unknown_name
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import is_possible
from nasbench1shot1.tables.checks import damaged
from nasbench1shot1.tables.description import fidelity
from nasbench1shot1.tables.folder import (
    HALFWAY,
    METRICS,
    Meta,
    TableFolder,
    open_folder,
    table_id,
    table_in_memory,
    verify_folder,
    write_table,
)
from nasbench1shot1.tables.items import Item, listed, own_space
from nasbench1shot1.tables.metric_column import Rows, Run, choose_repeat, whole_number
from nasbench1shot1.tables.metrics import Metrics as Metrics
from nasbench1shot1.tables.metrics import answer, plain
from nasbench1shot1.tables.names import named_table
from nasbench1shot1.tables.references import References
from nasbench1shot1.tables.row_index import RowIndex
from nasbench1shot1.wording import counted


def load_table(path: str | Path | None = None) -> "Table":
    """Open a table.

    Args:
        path: its folder, or the name of a table that is known by one ("embedded", "nb101-sample", or what was
            imported into the data folder: "nasbench_only108"). If not given, what the environment variable
            NB1SHOT1_TABLE says, else "embedded", the estimates that the package carries.

    Raises:
        InvalidInputError: there is no table, or one of another format.
        DamagedFileError: a file of the table is missing or damaged.
    """
    found = named_table(path)
    return Table(found if isinstance(found, TableFolder) else open_folder(found))


class Table:
    """Columns over the distinct cells of NAS-Bench-101 or a part of it, one row per cell, sorted by hash.

    Attributes:
        name, version, id: which table this is; `id` also carries a digest of its content.
        epochs: the budgets, ascending.
        repeats: how many repeats each budget has; the embedded table has one smooth estimate.
        spaces: names of the search spaces whose rows the table knows.
    """

    def __init__(self, folder: TableFolder) -> None:
        self._folder, self._columns = folder, folder.columns
        self._place = folder.path.absolute() if folder.path else None
        self.id = table_id(folder.meta)
        self.name: str = folder.meta["name"]
        self.version: str = folder.meta["version"]
        self.epochs: tuple[int, ...] = tuple(folder.meta["epochs"])
        self.repeats: int = folder.meta["repeats"]
        self.spaces: tuple[str, ...] = tuple(folder.meta["spaces"])
        self._references = References(self.id, folder)

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]], meta: Meta) -> "Table":
        """A table held in memory, of the columns and the description that `tables.folder.write_table` takes."""
        return cls(table_in_memory(columns, meta))

    def save(self, folder: str | Path) -> None:
        """Write the table into a folder, whole or not at all; raises as `tables.folder.write_table` does."""
        write_table(as_path(folder, "folder"), self._columns, self._folder.meta)

    def __len__(self) -> int:
        return len(self._columns["hash"])

    def __repr__(self) -> str:
        rows, repeats = counted(len(self), "row"), counted(self.repeats, "repeat")
        return f"Table('{self.id}', {rows}, epochs {self.epochs}, {repeats})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Another process opens the folder anew: columns are not copied, unless they only lie in memory."""
        if self._place is None:
            return Table, (self._folder,)
        return load_table, (str(self._place),)

    # Rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.id, self._folder)

    def row_of(self, x: Item) -> int:
        """The row of an architecture, cell or hash, in microseconds; raises as `rows` does."""
        return self._index.row_of(x)

    def row_of_encoding(self, code: int) -> int:
        """The row of a cell by its encoding (`nasbench101.encoding`), whichever way its vertices are numbered.

        Raises OutOfDomainError if the table has no such cell.
        """
        return self._index.row_of_encoding(code)

    def rows(self, x: Item | Iterable[Item]) -> Rows:
        """The row of an architecture, cell or hash, () int64; or of an iterable of N, (N,).

        Raises:
            OutOfDomainError: the table has no such cell.
            InvalidInputError: something that is none of the three.
        """
        return np.asarray(self.row_of(x), np.int64) if isinstance(x, Item) else self._index.rows(listed(x))

    def rows_of_encodings(self, codes: NDArray[np.uint64]) -> Rows:
        """The rows of cells by their encodings (N,), whichever way they are numbered; -1 where there is none."""
        return self._index.rows_of_encodings(codes)

    def members(self, space: str) -> Rows:
        """The ascending rows of a space's distinct cells, (M,); every row for "nb101".

        Raises InvalidInputError for a space that the table does not know.
        """
        return self._references.members(space)

    def hashes(self, rows: Any) -> list[str]:
        """The hashes of some rows."""
        digits = np.ascontiguousarray(self._columns["hash"][np.atleast_1d(rows)]).tobytes().hex()
        return [digits[i : i + 32] for i in range(0, len(digits), 32)]

    def cell(self, row: int) -> Cell:
        """The cell of a row."""
        code = int(self._columns["cell"][row])
        if not is_possible(code):
            raise damaged(self._folder.path, "cell", f"names a cell that cannot be in row {row}")
        return Cell.from_encoding(code)

    def column(self, name: str) -> NDArray[Any]:
        """A column as it is stored, memory-mapped and read-only; `tables.folder` lists names and shapes.

        Raises:
            InvalidInputError: a name that the table does not have.
            DamagedFileError: values that cannot be, as a cell of a hundred vertices.
        """
        if not isinstance(name, str) or name not in self._columns:
            raise unknown_name("column", str(name), self._columns)
        return self._folder.checked(name)

    # Queries ---------------------------------------------------------------------------------------------------

    def query(
        self,
        x: Item | Iterable[Item],
        epochs: int = 108,
        run: Run = "mean",
        rng: np.random.Generator | None = None,
        halfway: bool = False,
    ) -> Metrics:
        """Look up an architecture, cell or hash, or an iterable of N of them.

        Args:
            x: what to look up.
            epochs: the budget that it was trained for.
            run: "mean" over the repeats; "random", one drawn for each item; "all", on a last axis; or a number.
            rng: where "random" draws from.
            halfway: the values half-way through that training instead of at its end.

        Raises:
            OutOfDomainError: a cell, budget, repeat or half-way value that the table does not have.
            InvalidInputError: "random" without a generator, a budget or repeat that is not a whole number, or
                something that cannot be looked up.
        """
        rows = self.row_of(x) if isinstance(x, Item) else self.rows(x)
        epochs = self._budget(epochs)
        if halfway:
            self._check_halfway()
        repeat = choose_repeat(self.id, self.repeats, run, np.shape(rows), rng)
        return answer(self.id, self._folder, rows, epochs, repeat, halfway)

    def value(
        self, metric: str, row: int, epochs: int = 108, repeat: Literal["mean"] | int = "mean", halfway: bool = False
    ) -> float:
        """One number of one row, for loops that ask for millions; NaN where the table does not have it.

        Args:
            metric: one of `tables.folder.METRICS`.
            row: of `row_of`.
            epochs, repeat, halfway: as in `query`, but not checked.
        """
        column = self._folder.metrics.get(HALFWAY + metric if halfway else metric)
        return column.value(row, epochs, repeat) if column else float("nan")

    def measured(self, metric: str, epochs: int = 108) -> NDArray[np.float64]:
        """Every row's measurements of a metric at a budget, (R, K), NaN where there is none; estimates are left out.

        K is the number of repeats, 1 for a column of estimates.

        Raises:
            InvalidInputError: unknown metric.
            OutOfDomainError: unknown budget.
        """
        if metric not in METRICS:
            raise unknown_name("metric", str(metric), METRICS)
        return self._folder.measurement(metric, np.arange(len(self)), self._budget(epochs), "all")

    def values(self, metric: str, epochs: int = 108) -> NDArray[np.float64]:
        """Every row's values of a metric at a budget, measured or not, (R, K), NaN where the table has none.

        Raises as `measured` does.
        """
        if metric not in METRICS:
            raise unknown_name("metric", str(metric), METRICS)
        return self._folder.values(metric, np.arange(len(self)), self._budget(epochs), "all")

    def is_measured(self, metric: str) -> bool:
        """Are the values of this metric measurements, and not estimates in which measurements may be drawn in?"""
        return bool(self._folder.meta["columns"].get(metric, {}).get("fidelity") == "measured")

    def _check_halfway(self) -> None:
        if HALFWAY + METRICS[0] not in self._columns:
            raise OutOfDomainError(f"the table {self.id} has no half-way values: ask for the end of the training")

    def _budget(self, epochs: int) -> int:
        if type(epochs) is int and epochs in self.epochs:
            return epochs
        known = ", ".join(map(str, self.epochs))
        number = whole_number("epochs", epochs, f"one of {known}")
        if number not in self.epochs:
            raise OutOfDomainError(f"the table {self.id} has no budget of {counted(number, 'epoch')}: ask for {known}")
        return number

    # Regret ----------------------------------------------------------------------------------------------------

    def regret(
        self,
        x: Item | Iterable[Item],
        reference: str | None = None,
        split: Literal["test", "validation"] = "test",
        epochs: int = 108,
    ) -> Any:
        """Error minus the best error in the reference, both from this table and means over its repeats.

        It is negative only where `x` lies outside the reference and is better than all in it.

        Args:
            x: an architecture, cell or hash, or an iterable of N of them.
            reference: a space's name, or "nb101" for every row of this table (the embedded one holds 66,111 of
                NAS-Bench-101's 423,624 cells). If not given: an architecture's own space, else "nb101".
            split: "test" or "validation".
            epochs: budget.

        Returns:
            A fraction, or (N,) of them.

        Raises:
            OutOfDomainError: a cell or budget without a value.
            InvalidInputError: unknown reference or split.
        """
        items = listed(x)
        rows = self.rows(x if isinstance(x, Item) else items)
        epochs = self._budget(epochs)
        accuracy = self._references.means(split, rows.reshape(-1), epochs)
        if np.isnan(accuracy).any():
            lacking = self.hashes(rows.reshape(-1)[np.isnan(accuracy)])[0]
            budget = counted(epochs, "epoch")
            raise OutOfDomainError(f"the table {self.id} has no {split} accuracy of {lacking} at {budget}")
        if reference is None:
            own = [own_space(item) for item in items]
            best_of = {name: self._references.best_accuracy(name, split, epochs) for name in set(own)}
            return plain((np.array([best_of[name] for name in own]) - accuracy).reshape(rows.shape))
        return plain((self._references.best_accuracy(reference, split, epochs) - accuracy).reshape(rows.shape))

    def best(
        self, reference: str, split: Literal["test", "validation"] = "validation", epochs: int = 108
    ) -> tuple[Cell, Metrics]:
        """The best cell of a space (or of "nb101") by mean accuracy, ties to the lowest hash, and its metrics.

        Raises as `regret` does.
        """
        row = self._references.best_row(reference, split, self._budget(epochs))
        return self.cell(row), self.query(self.hashes(row)[0], epochs)

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

    def fidelity(self, epochs: int = 108) -> str:
        """`Metrics.fidelity` of every answer for a budget, for captions."""
        return fidelity(self._folder.meta, self._budget(epochs))

    def verify(self) -> None:
        """Check description and columns, as they lie on the disk now, against their SHA-256.

        Raises:
            DamagedFileError: one of them differs, or cannot be read.
            InvalidInputError: another table has taken the place of this one.
        """
        if self._place and (found := table_id(verify_folder(self._place))) != self.id:
            raise InvalidInputError(
                f"{self._place} now holds the table {found}, not {self.id} that was opened from it: open it anew"
            )
