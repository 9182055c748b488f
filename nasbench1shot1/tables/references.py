"""References: sets of networks whose best network defines zero regret, and the networks of a space that a table has."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, option, quote, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.bounds import Bounds, Limit, not_a_cost_error
from nasbench1shot1.tables.columns import STANDARD, Column, Moment
from nasbench1shot1.tables.description import MEMBER, benchmark_of
from nasbench1shot1.tables.folder import TableFolder
from nasbench1shot1.tables.keys import Item, RowKeys
from nasbench1shot1.tables.stored_columns import Rows

Reference = Literal["present"]
"""Values of the option `reference`: "present" uses the best of the networks of which the table has values."""
PRESENT: Reference = "present"
_END: Moment = "end"


@dataclass(frozen=True, eq=False)
class Coverage:
    """The networks of a space that a table has.

    Attributes:
        space: short name of the space.
        rows: ascending rows (M,) of its distinct networks; read-only.
        networks: number of distinct networks of the space, including missing ones.
    """

    space: str
    rows: Rows
    networks: int

    def __post_init__(self) -> None:
        self.rows.flags.writeable = False  # callers of `Table.members` share the array

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the rows read-only again after pickling or copying, which make them writable."""
        return Coverage, (self.space, self.rows, self.networks)

    @property
    def missing(self) -> int:
        """Number of networks that the table lacks."""
        return self.networks - len(self.rows)


def coverage(space: SearchSpace, folder: TableFolder, keys: RowKeys) -> Coverage:
    """Find the networks of a space in a table.

    Spaces whose rows the table stores and complete benchmarks are not enumerated. Other spaces take about a second for
    50,000 cells.

    Raises InvalidInputError if the table belongs to another benchmark.
    """
    name = space.name
    known = keys.SPACES.get(name) == space.id  # a user's space can have the name of a built-in space
    if known and name in folder.meta["spaces"]:
        rows = np.asarray(folder.checked_column(MEMBER + name), np.int64)
        return Coverage(name, rows, len(rows))
    if known and name in keys.SIZES:
        return Coverage(name, keys.members(name), keys.SIZES[name])
    found = keys.rows_of_space(space)
    rows = np.unique(found[found >= 0])
    return Coverage(name, rows, len(rows) + int((found < 0).sum()))


def incomplete_coverage_error(
    found: Coverage, space: SearchSpace, table_id: str, networks: str, has_option: bool = False, is_new: bool = False
) -> OutOfDomainError:
    """Return the error for a table that lacks networks of a space; it states their number.

    Args:
        found: the networks that the table has.
        space: the space.
        table_id: id of the table.
        networks: plural noun for the benchmark's networks.
        has_option: whether the caller has the option `reference`, which the error then advises.
        is_new: whether the table is being made, so that another table cannot be chosen.
    """
    all_ = "a table that has them all (embedded has s1, s2 and s3; the official data has all of NAS-Bench-101)"
    advice = [f"choose {f'the table {space.table}' if space.table else all_}"]
    if is_new:
        advice = ["add the missing ones"]
    if (present := len(found.rows)) and has_option:
        best = "the only one" if present == 1 else f"the best of the {present:,}"
        advice.append(f"add {option('reference', PRESENT)} to measure regret relative to {best} that it has")
    return OutOfDomainError(
        f"the table {table_id} lacks {found.missing:,} of the {found.networks:,} {networks} of {found.space}, so "
        f"the best one is unknown: {', or '.join(advice)}"
    )


def unsupported_space_error(space: SearchSpace, table_id: str) -> InvalidInputError:
    """Return the error for a table that cannot have networks of a space."""
    return InvalidInputError(
        f"the table {table_id} has no networks of {space.name}, because it belongs to another benchmark: choose the "
        f"table {space.table or 'embedded, or official data'}"
    )


ReferenceSet = str | SearchSpace
"""A set of networks: a name that the table knows, or a search space."""


class References:
    """The references of a table: the spaces that it covers, and names for all rows and for parts.

    Args:
        table_id: id of the table, for error messages.
        folder: the opened table.
        keys: the table's row keys, which name the references for all rows and for parts.
        chosen: the networks of an additional space, which its name then means.

    Attributes:
        is_partial: whether the table was created as a part of a space, so that regrets refer to its own networks.
    """

    def __init__(self, table_id: str, folder: TableFolder, keys: RowKeys, chosen: Coverage | None = None) -> None:
        self._id, self._folder, self._keys, self.whole = table_id, folder, keys, keys.WHOLE
        self.is_partial = folder.meta.get("reference") == PRESENT
        self._networks = benchmark_of(folder.meta).networks[1]
        self._chosen = {chosen.space: chosen} if chosen else {}
        self._names = tuple(dict.fromkeys((*folder.meta["spaces"], self.whole, *keys.PARTS, *self._chosen)))
        self._best: dict[tuple[Hashable, str, int, str, Bounds | None], int] = {}
        self._allowed: dict[Bounds, NDArray[np.bool_]] = {}
        self._is_member: dict[str, NDArray[np.bool_]] = {}
        self._spaces: list[tuple[SearchSpace, Coverage]] = []
        self._whole_spaces: set[str] = set()

    def members(self, reference: ReferenceSet) -> Rows:
        """Return the ascending rows of a reference, (M,).

        Raises:
            InvalidInputError: the name is unknown, or the space belongs to another benchmark.
            OutOfDomainError: the table lacks networks of the space.
        """
        if isinstance(reference, SearchSpace):
            return self.complete_coverage(reference, has_option=True).rows
        if self._known(reference) in self._chosen:
            return self._chosen[reference].rows
        if reference == self.whole or reference in self._keys.PARTS:
            return self._keys.members(reference)
        return np.asarray(self._folder.checked_column(MEMBER + reference), np.int64)

    def coverage(self, space: SearchSpace) -> Coverage:
        """Return which networks of a space the table has, computed once per space; raises InvalidInputError."""
        return self._covered(space)[1]

    def _covered(self, space: SearchSpace) -> tuple[SearchSpace, Coverage]:
        """Return the first known space that equals a space, and its coverage.

        Equality does not rely on `space.id`, which a redefined space in a notebook may share. A user's space may be
        unhashable, so spaces are not keys.
        """
        for known in self._spaces:
            if known[0] == space:
                return known
        try:
            found = space, coverage(space, self._folder, self._keys)
        except InvalidInputError as error:
            raise unsupported_space_error(space, self._id) from error
        self._spaces.append(found)
        return found

    def complete_coverage(self, space: SearchSpace, has_option: bool = False) -> Coverage:
        """Return the coverage of a space; raises OutOfDomainError if the table lacks some of its networks.

        `has_option` is as in `incomplete_coverage_error`.
        """
        found = self.coverage(space)
        if found.missing:
            raise incomplete_coverage_error(found, space, self._id, self._networks, has_option)
        return found

    def own_reference(self, space: str) -> str:
        """Return the name of an architecture's space; raises OutOfDomainError if rows of its benchmark are missing.

        For a table that was created with reference="present", return "present".

        A caller who gives the name as the reference, in contrast, means all rows that the table has.
        """
        if self.is_partial:
            return PRESENT
        if space not in self._whole_spaces:
            if missing := self._missing(space):
                raise OutOfDomainError(
                    f"the table {self._id} lacks {missing:,} of the {self._keys.SIZES[space]:,} {self._networks} "
                    f"of {space}, so the best one is unknown: give {option('reference', space)} for the best "
                    "that it has"
                )
            self._whole_spaces.add(space)
        return space

    def check_members(self, reference: str, items: Sequence[Item], rows: Rows) -> None:
        """Raise InvalidInputError if the network of an item is not in its own reference.

        Args:
            reference: a result of `own_reference`.
            items: the items, for the message.
            rows: the rows of the items, (N,).
        """
        if reference in (self.whole, PRESENT):
            return
        if reference not in self._is_member:  # a mask, because a search in 50,000 rows would take longer than a query
            members = self.members(reference)
            self._is_member[reference] = np.zeros(len(self._keys.members(self.whole)), bool)
            self._is_member[reference][members] = True
        is_member = self._is_member[reference]
        if not (known := is_member[rows]).all():
            raise InvalidInputError(
                f"'{items[int(np.argmin(known))]}' is not one of the {int(is_member.sum()):,} {self._networks} of "
                f"{reference}: correct the architecture, or the name of its space"
            )

    def _missing(self, space: str) -> int:
        is_benchmark = space in self._keys.SIZES and space not in self._chosen
        return self._keys.SIZES[space] - len(self.members(space)) if is_benchmark else 0

    def has_whole_space(self, space: SearchSpace) -> bool:
        """Return whether this table already knows all networks of a space by its name."""
        name, is_known = space.name, self._keys.SPACES.get(space.name) == space.id
        return is_known and name not in self._chosen and name in self._names and not self.coverage(space).missing

    def best_row(
        self, reference: ReferenceSet, metric: str, epochs: int, dataset: str, within: Bounds | None = None
    ) -> int:
        """Return the row with the best mean value of a metric at a budget; ties go to the first row.

        Raises:
            OutOfDomainError: the table has no value at this budget, only some networks have one, or no network is
                within the bounds.
            InvalidInputError: the reference is unknown, or neither high nor low values are better.
        """
        key = (self._named(reference), metric, epochs, dataset, within)
        if key not in self._best:
            name = getattr(reference, "name", reference)
            rows = self.compared(reference, metric, epochs, dataset, within)
            if not len(rows):
                raise OutOfDomainError(f"the table {self._id} has no network of {name}: choose another reference")
            values, about = self.means(metric, rows, epochs, dataset), self._folder.about(metric, dataset)
            known = int((~np.isnan(values)).sum())
            if known < len(rows):
                raise OutOfDomainError(
                    f"the table {self._id} has the {about.words}{self._on(dataset)} at {counted(epochs, 'epoch')} "
                    f"of {known:,} of the {len(rows):,} networks of {name}, so the best one is unknown: use another "
                    f"{'split' if about.split else 'metric'}, budget or data set, or give "
                    f"{option('reference', PRESENT)} for the best of all rows that have a value"
                )
            self._best[key] = int(rows[about.best(values)])  # the first of equals, and rows are in ascending order
        return self._best[key]

    def _named(self, reference: ReferenceSet) -> Hashable:
        if isinstance(reference, SearchSpace):
            return id(self._covered(reference)[0])
        return PRESENT if _is_present(reference) else self._known(reference)

    def compared(
        self, reference: ReferenceSet, metric: str, epochs: int, dataset: str, within: Bounds | None = None
    ) -> Rows:
        """Return the ascending rows of a reference within bounds, (M,).

        For "present", these are all rows that have a value of the metric. Raises the errors of `fitting`.
        """
        if not _is_present(reference):
            return self.members(reference) if within is None else self.fitting(reference, within)
        rows = self.members(self.whole) if within is None else self.fitting(self.whole, within)
        return rows[~np.isnan(self.means(metric, rows, epochs, dataset))]

    def best_value(
        self, reference: ReferenceSet, metric: str, epochs: int, dataset: str, within: Bounds | None = None
    ) -> float:
        """Return the best mean value of a metric in a reference; raises the errors of `best_row`."""
        row = np.array([self.best_row(reference, metric, epochs, dataset, within)])
        return float(self.means(metric, row, epochs, dataset)[0])

    # Bounds ----------------------------------------------------------------------------------------------------

    def costs(self, limit: Limit) -> NDArray[np.float64]:
        """Return every row's value of a bounded metric, (R,), the mean over repeats at the full budget.

        Raises:
            InvalidInputError: the table does not know the metric, or it is not a cost.
            OutOfDomainError: the table has no values of the metric.
        """
        dataset = limit.dataset or self._folder.meta["datasets"][0]
        budgets = self.check_cost(limit, dataset).epochs
        key, rows = (limit.metric, dataset, _END), np.arange(self._folder.meta["rows"])
        return np.asarray(self._folder.values(key, rows, max(budgets, default=0), "mean"), np.float64)

    def check_cost(self, limit: Limit, dataset: str) -> Column:
        """Return the description of a bounded metric on a data set; raises the errors of `costs`."""
        metric = limit.metric
        costs = [of for of in self._folder.names.about.values() if is_cost(of)]
        if metric not in STANDARD and metric not in self._folder.names.metrics:
            raise unknown_name("cost", metric, sorted({of.metric for of in costs}))
        if dataset not in (datasets := self._folder.meta["datasets"]):
            raise unknown_name("data set", dataset, datasets)
        if (metric, dataset, _END) not in self._folder.metrics:
            known = sorted({of.metric for of in costs if dataset in (of.dataset, *of.also_of)})
            raise OutOfDomainError(
                f"the table {self._id} has no {metric.replace('_', ' ')}"
                f"{self._on(dataset)}, so {limit.option} cannot be checked: choose "
                f"another table{f', or bound {alternatives(known)}' if known else ''}"
            )
        found = self._folder.about(metric, dataset)
        if not is_cost(found):
            raise not_a_cost_error(limit)
        return found

    def allowed(self, within: Bounds) -> NDArray[np.bool_]:
        """Return which rows are within bounds, (R,); a row without a value of a cost is not.

        Raises InvalidInputError if a limit has no data set and the metric differs between them, and the errors of
        `costs`.
        """
        if within not in self._allowed:
            allowed = np.ones(self._folder.meta["rows"], np.bool_)
            for limit in within.limits:
                costs = self.costs(limit)
                if not limit.dataset and not self._folder.is_equal_on_all_data_sets(limit.metric):
                    known = self._folder.datasets_of(limit.metric)
                    named = alternatives(str(replace(limit, dataset=name)) for name in known)
                    raise InvalidInputError(
                        f"the table {self._id} has {limit.metric} on several data sets: write {named}"
                    )
                allowed &= costs <= limit.most  # false for NaN
            allowed.flags.writeable = False
            self._allowed[within] = allowed
        return self._allowed[within]

    def fitting(self, reference: ReferenceSet, within: Bounds) -> Rows:
        """Return the ascending rows of a reference that are within bounds, (M,).

        Raises OutOfDomainError if there is none, and the errors of `members` and `allowed`.
        """
        rows = self.members(reference)
        found = rows[self.allowed(within)[rows]]
        if len(found):
            return found
        name, smallest = getattr(reference, "name", reference), []
        for limit in within.limits:
            costs = self.costs(limit)[rows]
            if not (costs <= limit.most).any():
                about = self._folder.about(limit.metric, limit.dataset or self._folder.meta["datasets"][0])
                least = (
                    f"the smallest value is {about.text(float(np.nanmin(costs)))}" if np.isfinite(costs).any() else ""
                )
                smallest.append(f"{limit.option}: {least or 'no value is known'}")
        why = "; ".join(smallest) or f"{within.option} contradict each other"
        raise OutOfDomainError(f"no network of {name} is within the bounds ({why}): raise them")

    def largest_row(self, reference: ReferenceSet, sizes: Sequence[Limit], within: Bounds | None) -> int:
        """Return the row with the largest value of the first metric in `sizes` that has values within the bounds.

        Ties go to the first row, and rows without a value are ignored.

        Raises OutOfDomainError if none of the metrics is known, and the errors of `fitting`.
        """
        rows = self.members(reference) if within is None else self.fitting(reference, within)
        for size in sizes:
            with suppress(OutOfDomainError):  # the table does not have this metric
                costs = self.costs(size)[rows]
                if np.isfinite(costs).any():
                    return int(rows[np.nanargmax(costs)])
        names = ", ".join(size.metric for size in sizes)
        raise OutOfDomainError(
            f"the table {self._id} has no values of {names}, so its largest network is unknown: bound a cost that the "
            "table has, or use another table"
        )

    def means(self, metric: str, rows: Rows, epochs: int, dataset: str) -> NDArray[np.float64]:
        """Return each row's mean value over its repeats, (N,), NaN if unknown; raises the errors of `best_row`."""
        key, about = (metric, dataset, _END), self._folder.about(metric, dataset)
        lacking = f"the table {self._id} has no {about.words}{self._on(dataset)} at {counted(epochs, 'epoch')}"
        if key not in self._folder.metrics:
            others = [name for name in self._folder.datasets_of(metric) if (metric, name, _END) in self._folder.metrics]
            advice = f"use {alternatives(others) if others else 'another metric or table'}"
            raise OutOfDomainError(f"{lacking}, nor at any other budget: {advice}")
        if about.epochs and epochs not in about.epochs:
            budgets = ", ".join(map(str, about.epochs))
            raise OutOfDomainError(
                f"{lacking}, only at {budgets} epochs: give another number of epochs, or use another table"
            )
        return np.asarray(self._folder.values(key, rows, epochs, "mean"), np.float64)

    def regret(self, values: Any, best: Any, metric: str, dataset: str) -> Any:
        """Return how much worse values of a metric are than the best value."""
        return self._folder.about(metric, dataset).regret(values, best)

    def _on(self, dataset: str) -> str:
        return f" on {dataset}" if len(self._folder.meta["datasets"]) > 1 else ""

    def _known(self, name: str) -> str:
        if not isinstance(name, str) or name not in self._names:
            raise InvalidInputError(
                f"{quote(unknown_name('reference', name, self._names))}: give the space itself as reference, use "
                f"table.covering(space), or give '{self.whole}' for all rows of the table {self._id}"
            )
        return name


def is_cost(about: Column) -> bool:
    """Return whether a metric can be bounded: lower values are better, and it does not depend on images."""
    return about.direction == "lower" and about.split is None


def _is_present(reference: object) -> bool:
    return isinstance(reference, str) and reference == PRESENT
