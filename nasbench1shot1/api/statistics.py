"""A table's rows in the format of `nasbench.api`: plain dictionaries, created on demand."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import OutOfDomainError, UserError, quote
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, decode_graph, edge_bit
from nasbench1shot1.tables.stored_columns import MetricColumn
from nasbench1shot1.tables.table import Table

METRICS = ("training_time", "train_accuracy", "validation_accuracy", "test_accuracy")
"""The metrics, in the order of the published dictionaries."""

Computed = dict[int, list[dict[str, float]]]

_EDGES = (1 << EDGE_BITS) - 1
_AT_ONCE = 4096


class UnknownCellError(OutOfDomainError, KeyError):
    """The cell is not in the table; also a KeyError, which the published package raises."""

    __str__ = OutOfDomainError.__str__  # a KeyError would show its message in quotes


def known_metrics(table: Table) -> dict[tuple[int, bool], tuple[str, ...]]:
    """Return the metrics that a table has, by (epochs, half-way?)."""
    return {
        (epochs, halfway): tuple(metric for metric in METRICS if epochs in _epochs(table, metric, halfway))
        for epochs in table.epochs
        for halfway in (False, True)
    }


def _epochs(table: Table, metric: str, halfway: bool) -> tuple[int, ...]:
    """Return the budgets of a metric; empty if the table lacks it."""
    return table.about(metric, halfway=halfway).epochs


class RowReader:
    """Turns a table's rows into dictionaries.

    Args:
        table: the table to read.
    """

    def __init__(self, table: Table) -> None:
        self.table, self._known = table, known_metrics(table)
        self._cells = table.column("cell")
        self._parameters = table.column("trainable_parameters") if "trainable_parameters" in table.metrics else None
        self._means = {
            (metric, epochs, halfway)
            for (epochs, halfway), metrics in self._known.items()
            for metric in metrics
            if epochs in table.about(metric, halfway=halfway).means
        }

    def __reduce__(self) -> tuple[Any, tuple[Table]]:
        return RowReader, (self.table,)

    @property
    def has_halfway(self) -> bool:
        """Whether the table has half-way values at some budget."""
        return any(metrics for (_, halfway), metrics in self._known.items() if halfway)

    def metrics_at(self, epochs: int, halfway: bool) -> tuple[str, ...]:
        """Return the metrics that at least some rows have at a budget."""
        return self._known[epochs, halfway]

    def fixed(self, row: int) -> dict[str, Any]:
        """Return the values independent of training: module_adjacency (V, V) int8, module_operations and, if the table
        has them, trainable_parameters."""
        code = self._cells.item(row)
        cell = {"module_adjacency": adjacency_of(code), "module_operations": [*_labels(code >> EDGE_BITS)]}
        return cell if self._parameters is None else {**cell, "trainable_parameters": self._parameters.item(row)}

    def training(self, row: int, epochs: int, repeat: int, halfway: bool) -> dict[str, float]:
        """Return the known metrics of one training; where the table has only means over repeats, the means."""
        value, means = self.table.value, self._means
        found = {
            metric: value(metric, row, epochs, "mean" if (metric, epochs, halfway) in means else repeat, halfway)
            for metric in self._known[epochs, halfway]
        }
        return _without_nan(found)

    def computed(self, row: int) -> Computed:
        """Return the known metrics half-way (halfway_…) and at the end (final_…), by budget and repeat."""
        values = {name: values_of(row) for name, values_of in self._whole_rows.items()}
        repeats = range(self.table.repeats)
        return {
            epochs: [_without_nan({name: values[name][place][k] for name, place in places.items()}) for k in repeats]
            for epochs, places in self._places.items()
        }

    @cached_property
    def _whole_rows(self) -> dict[str, Callable[[int], list[list[float]]]]:
        """Functions that read a row's values (budgets × repeats), by the metric's published name."""
        stored = {
            prefix + metric: self.table.stored(metric, halfway=halfway)
            for prefix, halfway in (("halfway_", True), ("final_", False))
            for metric in METRICS
        }
        repeats = self.table.repeats
        return {
            name: _row_values(column, repeats) for name, column in stored.items() if isinstance(column, MetricColumn)
        }

    @cached_property
    def _places(self) -> dict[int, dict[str, int]]:
        """For each budget, the available metrics and the budget's position in their columns."""
        return {
            epochs: {
                prefix + metric: _epochs(self.table, metric, halfway).index(epochs)
                for prefix, halfway in (("halfway_", True), ("final_", False))
                for metric in self._known[epochs, halfway]
            }
            for epochs in self.table.epochs
        }


def _without_nan(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value == value}


def _row_values(column: MetricColumn, repeats: int) -> Callable[[int], list[list[float]]]:
    """Return a function from a row to its values (budgets × repeats), several times faster than single look-ups."""
    stored = column.stored
    if (own := stored.shape[2]) < repeats:
        known = [0 if column.is_same_for_repeats else k if k < own else None for k in range(repeats)]
        of_row = _row_values(column, own)
        return lambda row: [[math.nan if k is None else of[k] for k in known] for of in of_row(row)]
    if stored.dtype.kind == "f" and not column.images:
        return lambda row: stored[row].tolist()
    if stored.dtype.kind == "f":
        return lambda row: [[column.value(row, e, k) for k in range(stored.shape[2])] for e in column.epochs]
    counts = np.arange((column.images or 0) + 1)
    every = replace(column, stored=counts.astype(stored.dtype)[:, None, None], epochs=(0,))
    value = every.values(counts, 0, 0).tolist()
    return lambda row: [[value[count] for count in repeats] for repeats in stored[row].tolist()]


def n_edges(code: int) -> int:
    """Return the number of edges of an encoding."""
    return (code & _EDGES).bit_count()


def adjacency_of(code: int) -> NDArray[np.int8]:
    """Return the (V, V) adjacency of an encoding."""
    return _adjacency(code & _EDGES, len(_labels(code >> EDGE_BITS))).copy()


@lru_cache(maxsize=1 << 14)
def _adjacency(edges: int, n: int) -> NDArray[np.int8]:
    return np.array([[x < y and edges >> edge_bit(x, y) & 1 for y in range(n)] for x in range(n)], np.int8)


@lru_cache(maxsize=1 << 12)
def _labels(code: int) -> tuple[str, ...]:
    """Return the labels of an encoding from which the edge bits have been removed."""
    return tuple(decode_graph(code << EDGE_BITS)[1])


class Statistics(Mapping[str, Any]):
    """A read-only mapping from hashes to the values in a table, in the order of the table's source.

    Every access creates a new value, so that modifying one does not change the table.
    """

    def __init__(self, table: Table, of_row: Callable[[int], Any]) -> None:
        self._table, self._of_row = table, of_row

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        rows = source_order(self._table)
        for start in range(0, len(rows), _AT_ONCE):
            yield from self._table.hashes(rows[start : start + _AT_ONCE])

    def __contains__(self, hash_: object) -> bool:
        try:
            row_of_hash(self._table, hash_)
        except KeyError:
            return False
        return True

    def __getitem__(self, hash_: str) -> Any:
        return self._of_row(row_of_hash(self._table, hash_))

    def __repr__(self) -> str:
        return f"<read-only mapping of {len(self):,} hashes, {self._table.id}>"


def source_order(table: Table) -> NDArray[np.int64]:
    """Return the rows in the order of their first occurrence in the table's source; if unknown, sorted by hash."""
    ordered = "order" in table.info()["columns"]
    return np.asarray(table.column("order") if ordered else np.arange(len(table)), np.int64)


def row_of_hash(table: Table, hash_: Any) -> int:
    """Return the row of a hash; raises UnknownCellError for anything that is not in the table."""
    if not isinstance(hash_, str):
        raise UnknownCellError(f"{hash_!r} is not a hash: use one from hash_iterator()")
    try:
        return table.row_of(hash_)
    except UserError as error:
        raise UnknownCellError(quote(error)) from None
