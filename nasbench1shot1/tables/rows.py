"""The attributes and rows of a table; the base class of `Table`."""

import copy
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, shorten, unknown_name
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.added_column import with_added_column
from nasbench1shot1.tables.bounds import Bounds, GivenBounds, as_bounds
from nasbench1shot1.tables.checks import keys_of
from nasbench1shot1.tables.columns import Column
from nasbench1shot1.tables.description import Meta, Objective, benchmark_of, objectives
from nasbench1shot1.tables.folder import TableFolder, table_id, verify_folder
from nasbench1shot1.tables.keys import Item, as_list, is_item
from nasbench1shot1.tables.metrics import Metrics as Metrics
from nasbench1shot1.tables.references import Coverage, References
from nasbench1shot1.tables.stored_columns import Rows
from nasbench1shot1.tables.writing import make_checked_folder, without_checksums, write_table

if TYPE_CHECKING:
    import pandas


DRAWING = "nasbench1shot1.experiments.space_statistics.catalogue:draw_statistics"
"""The function that draws tables; it is imported when `plot` is called."""


class TableRows(Displayed):
    """The attributes of a table, and its rows: one per trained network.

    What a row is depends on the benchmark: distinct cells of NAS-Bench-101, sorted by hash, or architectures of
    NAS-Bench-201, sorted by official index.

    Attributes:
        name, version, id: name, version and identifier of the table; `id` includes a digest of its content.
        benchmark: the record of the benchmark, which identifies rows (`benchmark.Benchmark`).
        datasets: names of the trainings, by data set. NAS-Bench-201 has two on CIFAR-10: "cifar10-valid" with 25,000
            images and "cifar10" with 50,000.
        metrics: the names of the metrics, which queries, regrets and objectives accept.
        objectives: for each data set of a search, the trainings that have its validation and test values.
        epochs: the budgets, ascending.
        empty_budgets: the budgets at which no metric has values, although the benchmark has trainings with them.
        full_budget: the largest budget, the default of all functions.
        curves: the budgets whose trainings have learning curves, ascending; empty if the table has only their ends.
        repeats: number of repeats at each budget; the embedded table has one smooth estimate. A column may have its
            own number of repeats.
        seeds: the random seeds of the repeats, if known.
        has_means: whether some metrics are means over repeats, so that the values of single repeats are unknown.
        spaces: names of the search spaces whose rows the table knows.
    """

    _coverage: Coverage | None = None

    def __init__(self, folder: TableFolder) -> None:
        self._folder, self._columns = folder, folder.columns
        self._place = folder.path.absolute() if folder.path else None
        self.id = table_id(folder.meta)
        self.name: str = folder.meta["name"]
        self.version: str = folder.meta["version"]
        self.benchmark = benchmark_of(folder.meta)
        self.datasets: tuple[str, ...] = tuple(folder.meta["datasets"])
        self.metrics = folder.names.metrics
        self.objectives = objectives(folder.meta)
        self.epochs: tuple[int, ...] = tuple(folder.meta["epochs"])
        self.full_budget = self.epochs[-1]
        known = folder.names.budgets or self.epochs
        self.empty_budgets = tuple(epochs for epochs in self.epochs if epochs not in known)
        self.repeats: int = folder.meta["repeats"]
        self.curves: tuple[int, ...] = folder.names.curves
        self.seeds: tuple[int, ...] = tuple(folder.meta.get("seeds", ()))
        self.has_means = any(column.means for column in folder.names.about.values())
        self.spaces: tuple[str, ...] = tuple(folder.meta["spaces"])

    @property
    def folder(self) -> Path | None:
        """The folder of the table as an absolute path; None if it is in memory."""
        return self._place

    def objective(self, dataset: str | None = None, metric: str | None = None) -> Objective:
        """Return the objective of searches on a data set; by default the first, and always the only one.

        Args:
            dataset: the data set of a search.
            metric: the metric that guides the search. The metric that judges it is the same quantity on the test
                images; it is `metric` itself if the quantity does not depend on images. Default: validation accuracy,
                judged by test accuracy.

        Raises:
            OutOfDomainError: the table has several objectives, but none for this data set, or lacks the metric there.
            InvalidInputError: the metric is unknown.
        """
        found = self._objective(dataset)
        if metric is None:
            return found
        if not isinstance(metric, str) or metric not in self.metrics:
            raise unknown_name("metric", str(metric), self.metrics)
        guides = [name for name in (found.validation, found.test) if self._has(metric, name)]
        if not guides:
            raise OutOfDomainError(
                f"the table {self.id} has no {metric} for searches on {found.dataset}: use another metric"
            )
        guide = self._folder.about(metric, guides[0])
        judges = [
            (name, other)
            for name in (found.test, found.validation)
            for other in self.metrics
            if self._has(other, name) and _is_on_test_images(self._folder.about(other, name), guide)
        ]
        test, test_metric = judges[0] if judges else (guides[0], metric)
        return Objective(found.dataset, guides[0], test, metric, test_metric)

    def _objective(self, dataset: str | None) -> Objective:
        if dataset is None or len(self.objectives) == 1:
            return self.objectives[0]
        for found in self.objectives:
            if found.dataset == dataset:
                return found
        known = ", ".join(of.dataset for of in self.objectives)
        raise OutOfDomainError(f"the table {self.id} has no values for searches on {dataset}: choose {known}")

    def resolve(self, bounds: GivenBounds, dataset: str | None = None) -> Bounds:
        """Return bounds for a search on a data set: limits without a data set compare the costs of this search.

        Args:
            bounds: the bounds.
            dataset: the data set of one of the objectives. Default: the first objective.

        Raises:
            InvalidInputError: a text is not a bound, or the table does not know a metric, or it is not a cost.
            OutOfDomainError: the table has no values of a metric there.
        """
        bounds = as_bounds(bounds, "bounds")
        known = {limit.metric: self._dataset_of_cost(limit.metric, dataset) for limit in bounds.limits}
        for limit in bounds.limits:  # messages then quote the limit as it was given
            self._references.check_cost(limit, limit.dataset or known[limit.metric] or self.datasets[0])
        resolved = bounds.on(known)
        self.allowed(resolved)  # raises for values that cannot be read
        return resolved

    def _dataset_of_cost(self, metric: str, dataset: str | None) -> str:
        """Return the data set whose costs a search on `dataset` compares; empty if all data sets have equal costs."""
        found = self._objective(dataset)
        if self._folder.is_equal_on_all_data_sets(metric):
            return ""
        names = (found.dataset, found.validation, found.test)
        return next((name for name in names if self._has(metric, name)), found.validation)

    def allowed(self, bounds: GivenBounds) -> NDArray[np.bool_]:
        """Return which rows are within bounds, (R,), read-only; a row without a value of a cost is not.

        Costs are means over the repeats at the full budget.

        Raises:
            InvalidInputError: a text is not a bound, or the table does not know a metric, it is not a cost, or it
                differs between data sets and the limit does not name one (`resolve`).
            OutOfDomainError: the table has no values of a metric.
        """
        return self._references.allowed(as_bounds(bounds, "bounds"))

    def costs(self, bounds: GivenBounds) -> NDArray[np.float64]:
        """Return every row's value of each bounded metric, (limits, R); NaN if unknown. Errors are as for `allowed`."""
        return np.stack([self._references.costs(limit) for limit in as_bounds(bounds, "bounds").limits])

    def _has(self, metric: str, dataset: str) -> bool:
        return (metric, dataset, "end") in self._folder.metrics

    @property
    def is_part(self) -> bool:
        """Whether the table was created as a part of a space, with reference="present"."""
        return self._references.is_partial

    @property
    def source(self) -> str:
        """Where the values of a table of the user's own come from; empty if nothing is recorded."""
        return str(self._folder.meta.get("source", {}).get("text", ""))

    @property
    def missing(self) -> str:
        """A sentence on standard values that this table lacks although its benchmark has them; usually empty."""
        return self._folder.missing

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]], meta: Meta) -> Self:
        """Create a table in memory from columns and a description, the arguments of `tables.writing.write_table`.

        `columns` and `description` return both for an existing table. `nb.table_from_frame` creates a table from a data
        frame.

        Raises InvalidInputError if columns and description do not match, have wrong types, or have impossible values.
        """
        return cls(make_checked_folder(columns, meta))

    def with_column(self, column: Column, values: Any, *, name: str | None = None, **facts: Any) -> Self:
        """Return a table in memory that has one more column, and the rows, keys and spaces of this one.

        Args:
            column: the description. `dataset` may be omitted if the table has a single data set, or if the column has
                no budgets: it then applies to every data set.
            values: an array (rows,), or (rows, budgets, repeats) if the column has budgets, in the order of the rows;
                or a mapping from architectures, cells, hashes or whatever else can be looked up to a number or an
                array (budgets, repeats). All other rows are NaN. A column may have any number of repeats. A pandas
                Series is a mapping from its index; with the default index 0, 1, 2, …, it is an array.
            name: the name of the new table. Default: this table's name, "-with-" and the metric.
            facts: more facts for the description in `info`, such as `method` and `sources`: texts, finite
                numbers, lists or dictionaries.

        Raises:
            InvalidInputError: the description or the values are invalid, or the table already has the metric.
            OutOfDomainError: the table lacks a network.
        """
        other = type(self)(with_added_column(self._folder, self.rows, column, values, name, facts))
        return other if self._coverage is None else other.with_coverage(self._coverage)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all stored columns by name, except columns that follow from others; read-only, for `from_columns`."""
        return {name: values for name, values in self._columns.items() if name not in self.keys.DERIVED}

    @property
    def description(self) -> Meta:
        """A copy of the table's description, for `from_columns`: the content of `meta.json`, without checksums."""
        return without_checksums(self._folder.meta, self.keys.DERIVED)

    def to_frame(self) -> "pandas.DataFrame":
        """Return all values of the table as a data frame with a row for each training; `nb.table_from_frame` reads it.

        The columns are `architecture` (a text), `dataset`, `epochs`, `repeat` or `seed` ("mean" in rows that have means
        over repeats), and the metrics, NaN where a value is missing. If a metric has more repeats than the table has
        seeds, repeats have numbers instead of seeds. If a metric has estimates, its measurements are in the column
        `measured_METRIC`. Half-way values are in `halfway_METRIC`, and learning curves of trainings of 200 epochs in
        `curve200_METRIC`. A value of a network, such as its number of parameters, is repeated in all of the network's
        rows.

        `frame.attrs` contains the description of the table. pandas keeps the description when rows or columns are
        selected, but CSV files do not contain it.
        """
        from nasbench1shot1.tables.to_frame import table_frame

        return table_frame(self._folder, self.keys)

    def save(self, folder: str | Path) -> None:
        """Write the table into a folder, completely or not at all; raises the errors of `write_table`."""
        write_table(as_path(folder, "folder"), self._columns, self._folder.meta)

    def __len__(self) -> int:
        return int(self._folder.meta["rows"])

    def __repr__(self) -> str:
        rows, repeats = counted(len(self), "row"), counted(self.repeats, "repeat")
        return f"Table('{self.id}', {rows}, epochs {self.epochs}, {repeats})"

    def plot(self, ax: Any = None, *, analysis: str = "pareto-fronts", **options: Any) -> Any:
        """Draw an analysis of the table, as `nb.draw_statistics` does, and return the axes.

        Args:
            ax: the axes to draw on; a sequence for an analysis with several panels. Default: the axes of a new figure
                that is not registered with pyplot.
            analysis: the name of an analysis of the table's benchmark.
            options: further arguments of `nb.draw_statistics`.

        Raises the errors of `nb.draw_statistics`.
        """
        return imported(DRAWING)(analysis, self, ax, **options)

    def _heading(self) -> str:
        return f"Table {self.id}: {self.benchmark.title}"

    def _facts(self) -> dict[str, str]:
        about = self._folder.names.about.values()
        sources: dict[str, dict[str, None]] = {}
        for column in about:
            if column.moment == "end":
                sources.setdefault(self._source_of(column), {})[column.metric] = None
        facts = {
            "rows": counted(len(self), "network"),
            "spaces": ", ".join(self.spaces),
            "data sets": ", ".join(self.datasets),
            "epochs": ", ".join(map(str, self.epochs)),
            "repeats": str(self.repeats),
            **{source: ", ".join(metrics) for source, metrics in sources.items()},
            "note": self.missing,
        }
        return {name: text for name, text in facts.items() if text}

    def _source_of(self, column: Column) -> str:
        """Return where the values of a column come from: "exact", "measured", "partly predicted" or "predicted"."""
        return column.fidelity if column.is_measured or column.fidelity == "modelled" else column.provenance

    # Rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Any:
        """The object that finds and names rows (`tables.keys.RowKeys`)."""
        return keys_of(self._folder.meta)(self.id, self._folder)

    @cached_property
    def _references(self) -> References:
        return References(self.id, self._folder, self.keys, self._coverage)

    def covering(self, space: SearchSpace, present: bool = False, *, has_option: bool = False) -> Self:
        """Return a table that knows the rows of a space by its name; this table itself if it already does.

        The result shares all columns. Looking up a space takes about a second for 50,000 cells, except for spaces that
        the table stores.

        Args:
            space: the space.
            present: whether the table may lack networks of the space; true for a table that was created with
                reference="present". Regrets then refer to the best network that it has, and `nb.score` returns empty
                values for missing ones.
            has_option: whether the caller has the option `reference`, which the error then advises.

        Raises:
            OutOfDomainError: the table lacks networks of the space and `present` is false, or it has none of them.
            InvalidInputError: the table belongs to another benchmark.
        """
        if self._references.has_whole_space(space):
            return self
        found = self._references.coverage(space)
        if (present or self._references.is_partial) and len(found.rows):
            return self.with_coverage(found)
        return self.with_coverage(self._references.complete_coverage(space, has_option))

    def with_coverage(self, coverage: Coverage) -> Self:
        """Return a table that shares this one's columns and knows the rows of one more space."""
        other = type(self)(self._folder)
        other.__dict__["keys"] = self.keys  # avoids computing the index of encodings twice
        other.datasets = self.datasets
        other._coverage, other.spaces = coverage, tuple(dict.fromkeys((*self.spaces, coverage.space)))
        return other

    @property
    def is_partial(self) -> bool:
        """Whether the table lacks networks of the space that was passed to `covering`."""
        return self._coverage is not None and self._coverage.missing > 0

    @property
    def partial_note(self) -> str:
        """A note for screens and captions if the table is partial, else an empty string."""
        if self._coverage is None or not self.is_partial:
            return ""
        of = f"{len(self._coverage.rows):,} of the {self._coverage.networks:,} {self.benchmark.networks[1]}"
        known = f"The table has {of} of {self._coverage.space}"
        return f"{known}: regrets refer to the best of these; the others have no values."

    def __contains__(self, x: Item) -> bool:
        """Return whether the table has an architecture, cell or hash; raises InvalidInputError like `rows`."""
        try:
            self.row_of(x)
        except OutOfDomainError:
            return False
        return True

    def row_of(self, x: Item) -> int:
        """Return the row of an architecture, cell or hash, in microseconds; raises the errors of `rows`."""
        row: int = self.keys.row_of(x)
        return row

    def row_of_encoding(self, code: int) -> int:
        """Return the row of a cell, given its encoding (`nasbench101.encoding`) with any numbering of its vertices.

        Raises OutOfDomainError if the table lacks the cell, InvalidInputError for anything but the encoding of a cell.
        """
        find = self._key_method("row_of_encoding", "encodings of cells")
        row: int = find(whole_number("code", code, "the encoding of a cell (nasbench101.encoding)"))
        return row

    def _key_method(self, name: str, what: str) -> Any:
        """Return a method that only some row keys have; raises InvalidInputError if this table's keys lack it."""
        if (method := getattr(self.keys, name, None)) is None:
            raise InvalidInputError(
                f"the table {self.id} of {self.benchmark.title} has no {what}: open a table of another benchmark"
            )
        return method

    def rows(self, x: Item | Iterable[Item]) -> Rows:
        """Return the row of an architecture, cell or hash, () int64, or the rows of an iterable of N, (N,).

        Raises:
            OutOfDomainError: the table lacks a network.
            InvalidInputError: something cannot be looked up in this table.
        """
        return np.asarray(self.row_of(x) if is_item(x) else self.keys.rows(as_list(x)), np.int64)

    def rows_of_encodings(self, codes: NDArray[np.uint64]) -> Rows:
        """Return the rows of cells, (N,), given encodings with any numbering; -1 for a missing cell."""
        rows: Rows = self._key_method("rows_of_encodings", "encodings of cells")(codes)
        return rows

    def members(self, space: str | SearchSpace, within: GivenBounds | None = None, dataset: str | None = None) -> Rows:
        """Return the ascending rows of a space's distinct networks, (M,); all rows for `keys.WHOLE`, such as "nb101".

        "nb101-mini" means all rows whose cells have at most six vertices. With `within`, only rows within these bounds
        are returned; with `dataset`, limits that name no data set apply to the costs of a search on it, as in
        `resolve`. The array can be read-only: copy it before you change it.

        Raises InvalidInputError for an unknown name, OutOfDomainError for a `SearchSpace` if the table lacks some of
        its networks, or if no network is within the bounds, and the errors of `allowed` and `resolve`.
        """
        if within is None:
            return self._references.members(space)
        bounds = as_bounds(within, "within")
        return self._references.fitting(space, bounds if dataset is None else self.resolve(bounds, dataset))

    def hashes(self, rows: Any) -> list[str]:
        """Return the identifiers of rows, which can be looked up: hashes, or NAS-Bench-201's strings.

        Raises InvalidInputError for anything but row numbers of this table.
        """
        names: list[str] = self.keys.names(np.atleast_1d(self._checked_rows(rows)))
        return names

    def network(self, row: int) -> Any:
        """Return the network of a row: a `Cell` of NAS-Bench-101, or an `Architecture`.

        Raises InvalidInputError for anything but a row number of this table.
        """
        return self.keys.network(self._checked_row(row))

    def _checked_row(self, row: Any) -> int:
        """Return the number of a single row."""
        if (number := self._checked_rows(row)).ndim:
            raise self._not_a_row_error(row)
        return int(number)

    def _checked_rows(self, rows: Any) -> NDArray[np.int64]:
        """Return row numbers as an array."""
        with suppress(TypeError, ValueError, OverflowError):  # of ragged lists, and of numbers beyond 64 bits
            numbers = np.asarray(rows)
            if numbers.size == 0 or (numbers.dtype.kind in "iu" and ((numbers >= 0) & (numbers < len(self))).all()):
                return numbers.astype(np.int64)
        raise self._not_a_row_error(rows)

    def _not_a_row_error(self, given: Any) -> InvalidInputError:
        return InvalidInputError(f"{shorten(repr(given))} is not a row of the table: give 0 to {len(self) - 1}")

    def cell(self, row: int) -> Any:
        """Return the cell of a row.

        Raises InvalidInputError if this is not a NAS-Bench-101 table, and for anything but a row number of this table.
        """
        return self._key_method("cell", "cells")(self._checked_row(row))

    def column(self, name: str) -> NDArray[Any]:
        """Return a stored column, memory-mapped and read-only; `tables.folder` lists names and shapes.

        Raises:
            InvalidInputError: the table has no column with this name.
            DamagedFileError: the column has impossible values, such as a cell with a hundred vertices.
        """
        if not isinstance(name, str) or name not in self._columns:
            raise unknown_name("column", str(name), self._columns)
        return self._folder.checked_column(name)

    # About the table -------------------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """Return a description of the table that consists of plain numbers, strings, lists and dictionaries."""
        meta = copy.deepcopy(self._folder.meta)
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
        """Check the description and the columns on disk against their SHA-256.

        Raises:
            DamagedFileError: a file differs or cannot be read.
            InvalidInputError: another table has replaced this one.
        """
        if self._place and (found := table_id(verify_folder(self._place))) != self.id:
            raise InvalidInputError(
                f"{self._place} now contains the table {found} instead of {self.id}, which was opened: open it again"
            )


def _is_on_test_images(about: Column, guide: Column) -> bool:
    """Return whether a metric is the quantity of another metric on the test images."""
    is_same = (about.quantity, about.device) == (guide.quantity, guide.device)
    return guide.split is not None and about.split == "test" and is_same
