"""NAS-Bench-101's official files: nasbench_only108.tfrecord, nasbench_full.tfrecord, and NASBench objects in memory."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    INPUT,
    MAX_EDGES,
    MAX_VERTICES,
    OPERATIONS,
    OUTPUT,
    VERTEX_BIT,
    encode_graph,
    path_vertices,
)
from nasbench1shot1.nasbench101.tfrecords import Record, Values, check_possible
from nasbench1shot1.table_import.compact import IMAGES, compact
from nasbench1shot1.table_import.identity import check_identities, complete_spaces, hash_text
from nasbench1shot1.tables.description import MEMBER
from nasbench1shot1.tables.folder import HALFWAY, METRICS, Columns, Meta
from nasbench1shot1.tables.metric_column import whole_number
from nasbench1shot1.tables.table import Table

_EDGES = (1 << EDGE_BITS) - 1


class GraphEncoder:
    """Encodes graphs with the file's numbering; caches the few thousand distinct matrices and labellings.

    Millions of records share them, so a record takes only two look-ups.
    """

    def __init__(self) -> None:
        self._edges, self._labels = dict[str, int](), dict[str, int]()

    def encode(self, adjacency: str, operations: str) -> int:
        """Return the encoding of a cell (`nasbench101.encoding`).

        Args:
            adjacency: V × V digits 0 and 1, row after row.
            operations: V labels, separated by commas.

        Raises:
            InvalidInputError: the graph is not in NAS-Bench-101, or is not pruned. The message is phrased to follow
                the name of the record.
        """
        edges = self._edges.get(adjacency)
        if edges is None:
            edges = self._edges[adjacency] = _edges_of(adjacency)
        labels = self._labels.get(operations)
        if labels is None:
            labels = self._labels[operations] = _labels_of(operations)
        if (edges ^ labels) >> VERTEX_BIT:
            raise InvalidInputError(
                f"has a matrix of {edges >> VERTEX_BIT} vertices but {labels >> VERTEX_BIT} operations ({operations})"
            )
        return edges | labels


def _edges_of(adjacency: str) -> int:
    """Return the encoding's bits for the number of vertices and the edges."""
    n = isqrt(len(adjacency))
    if n * n != len(adjacency) or not set(adjacency) <= {"0", "1"}:
        raise InvalidInputError(f"has '{adjacency[:60]}' for a matrix, which is not a square of digits 0 and 1")
    _check_size(n)
    matrix = [[digit == "1" for digit in adjacency[x * n : x * n + n]] for x in range(n)]
    if any(matrix[x][y] for x in range(n) for y in range(x + 1)):
        raise InvalidInputError(f"has the matrix {adjacency}, which is not strictly upper triangular")
    if (found := adjacency.count("1")) > MAX_EDGES:
        raise InvalidInputError(f"has {found} edges, but NAS-Bench-101's cells have at most {MAX_EDGES}")
    if len(path_vertices(matrix)) != n:
        raise InvalidInputError(f"has the matrix {adjacency}, which is not pruned: a vertex is not on any path")
    return encode_graph(matrix, [OPERATIONS[0]] * n)


def _labels_of(operations: str) -> int:
    """Return the encoding's bits for the number of vertices and the operations, from a chain without its edges."""
    labels = operations.split(",")
    n = len(labels)
    _check_size(n)
    unknown = [label for label in labels[1:-1] if label not in OPERATIONS]
    if unknown or (labels[0], labels[-1]) != (INPUT, OUTPUT):
        raise InvalidInputError(
            f"has the operations '{operations[:200]}': they must be {INPUT}, some of {', '.join(OPERATIONS)}, {OUTPUT}"
        )
    chain = [[y == x + 1 for y in range(n)] for x in range(n)]
    return encode_graph(chain, labels) & ~_EDGES


def _check_size(n: int) -> None:
    if not 2 <= n <= MAX_VERTICES:
        raise InvalidInputError(f"has {n} vertices, but NAS-Bench-101's cells have 2 to {MAX_VERTICES}")


# The descriptions of an imported table's columns in `meta.json` -------------------------------------------------------


_METHODS = {
    "hash": "as the file names its cells",
    "cell": "as the file numbers it",
    "trainable_parameters": "as the file counts them",
    "order": "rows in the order in which the file first names them",
}


def describe_imported_columns(
    columns: Columns, stored: Mapping[str, dict[str, Any]], halfway_epochs: Mapping[int, float]
) -> dict[str, dict[str, Any]]:
    """Return fidelity, sources, method, budgets and storage of every column.

    Args:
        columns: columns of the table.
        stored: storage of each column of accuracies or seconds.
        halfway_epochs: the epoch of the half-way evaluation, by budget.
    """
    epochs = sorted(halfway_epochs)
    half = ", ".join(f"{halfway_epochs[e]:g} of {e}" for e in epochs)
    about: dict[str, dict[str, Any]] = {}
    for name in columns:
        method = (
            f"rows of {name.removeprefix(MEMBER)}'s distinct cells" if name.startswith(MEMBER) else _METHODS.get(name)
        )
        if name in stored:
            method = f"second evaluation, after epoch {half}" if name.startswith(HALFWAY) else "at the end of training"
        about[name] = {"fidelity": "measured" if name in stored else "exact", "sources": [], "method": method}
        if name in stored:
            about[name] |= {"epochs": epochs, **stored[name]}
    return about


def budgets_off_halfway(halfway_epochs: Mapping[int, float]) -> list[int]:
    """Return the budgets whose half-way evaluation is more than a twentieth of the training away from its middle."""
    return [epochs for epochs, at in sorted(halfway_epochs.items()) if not abs(2 * at - epochs) <= epochs / 10]


# Arrangement of trainings by cell, budget and repeat, and checks that every repeat occurs exactly once ----------------


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Repeats:
    """The cell and budget of T trainings, in the order of their file.

    Attributes:
        slots: (T,) row × number of budgets + index of the budget.
        n_rows, n_budgets: numbers of rows and budgets.
    """

    slots: NDArray[np.integer]
    n_rows: int
    n_budgets: int

    def uneven(self) -> tuple[int, int, int, int] | None:
        """Return the first row and budget with an unusual number of repeats.

        Returns:
            Row, index of the budget, its number of repeats, and the usual number; None if all numbers are equal.
        """
        counts = np.bincount(self.slots, minlength=self.n_rows * self.n_budgets)
        usual = self._usual(counts)
        others = np.flatnonzero(counts != usual)
        if not len(others):
            return None
        row, budget = divmod(int(others[0]), self.n_budgets)
        return row, budget, int(counts[others[0]]), usual

    def _usual(self, counts: NDArray[np.integer]) -> int:
        """Return the most frequent number; ties go to the highest, because losing a repeat is likelier than gaining."""
        how_often = np.bincount(counts)
        how_often[0] = 0
        return int(np.flatnonzero(how_often == how_often.max())[-1])

    def trainings(self, row: int, budget: int) -> NDArray[np.int64]:
        """Return the indices of the trainings of a row and budget, ascending."""
        return np.flatnonzero(self.slots == row * self.n_budgets + budget)

    def order(self) -> NDArray[np.int64]:
        """Return the indices of the trainings sorted by row, budget and position in the file, (T,)."""
        return np.argsort(self.slots, kind="stable")


class DuplicateFinder:
    """Finds repeats that agree in every value, which means that one training occurs twice.

    Call `add` with one column after another, (rows, budgets, repeats).
    """

    def __init__(self) -> None:
        self._same: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def add(self, values: Floats) -> None:
        """Keep the pairs that also agree in this column."""
        for pair in combinations(range(values.shape[2]), 2):
            same = values[..., pair[0]] == values[..., pair[1]]
            self._same[pair] = self._same.get(pair, True) & same

    def first(self) -> tuple[int, int] | None:
        """Return the row and the index of the budget of the first duplicate; None if there is none."""
        places = [np.argwhere(same)[0] for same in self._same.values() if same.any()]
        return min(((int(row), int(budget)) for row, budget in places), default=None)


# Assembly of a table's columns from single trainings in any order -----------------------------------------------------


EPOCHS = (4, 12, 36, 108)
"""The budgets of NAS-Bench-101."""
_STORED = (*METRICS, *(HALFWAY + name for name in METRICS))
_SAMPLE = 1_000
"""Number of recomputed hashes: enough to notice that a file has other graphs, in a tenth of a second."""


class Assembly:
    """Collects trainings as plain numbers, about 70 bytes each, and arranges them at the end.

    Args:
        epochs: the allowed budgets.
        source: name of the file, for messages.
    """

    def __init__(self, epochs: Sequence[int] = EPOCHS, source: str = "the file") -> None:
        if wrong := [budget for budget in epochs if whole_number("epochs", budget, "whole numbers") < 1]:
            raise InvalidInputError(f"epochs cannot be {wrong[0]}: a budget is at least 1")
        self._allowed, self._source = tuple(epochs), source
        self._graphs = GraphEncoder()
        self._rows: dict[str, int] = {}
        self._cells, self._parameters = array("Q"), array("q")
        self._budgets: dict[int, int] = {}
        self._halfway_epoch: dict[int, float] = {}
        self._row_of, self._budget_of, self._values = array("I"), array("H"), array("d")

    def __len__(self) -> int:
        return len(self._row_of)

    def add(self, record: Record) -> None:
        """Add one training.

        Raises:
            InvalidInputError: the graph is not in NAS-Bench-101, an earlier record with this hash has another graph or
                number of parameters, or the budget is not allowed.
        """
        try:
            cell = self._graphs.encode(record.adjacency, record.operations)
        except InvalidInputError as error:
            raise self._record_error(record, error.for_command_line) from None
        row = self._rows.get(record.hash)
        if row is None:
            row = self._new_row(record, cell)
        elif self._cells[row] != cell:
            raise self._record_error(record, "has another graph than an earlier record of this hash")
        elif self._parameters[row] != record.trainable_parameters:
            raise self._record_error(record, "has another number of parameters than an earlier record of this hash")
        budget = self._budgets.get(record.epochs)
        self._row_of.append(row)
        self._budget_of.append(self._new_budget(record) if budget is None else budget)
        self._values.extend(record.final)
        self._values.extend(record.halfway)

    def _new_row(self, record: Record, cell: int) -> int:
        if len(record.hash) != 32 or not set(record.hash) <= set("0123456789abcdef"):
            raise self._record_error(record, "has a hash that is not 32 hexadecimal digits")
        row = self._rows[record.hash] = len(self._rows)
        self._cells.append(cell)
        self._parameters.append(record.trainable_parameters)
        return row

    def _new_budget(self, record: Record) -> int:
        if record.epochs not in self._allowed:
            known = ", ".join(map(str, self._allowed))
            raise self._record_error(
                record, f"has a budget other than {known}: if that is right, list all budgets with --epochs"
            )
        self._halfway_epoch[record.epochs] = record.halfway_epoch
        return self._budgets.setdefault(record.epochs, len(self._budgets))

    def _record_error(self, record: Record, fault: str) -> InvalidInputError:
        return InvalidInputError(f"{self._source}: {record.place} {fault}")

    @property
    def budgets_off_halfway(self) -> list[int]:
        """The budgets whose half-way evaluation is not near the middle of the training, as in some EC-NAS files."""
        return budgets_off_halfway(self._halfway_epoch)

    def finish(self) -> tuple[Columns, Meta]:
        """Check all trainings together, and arrange them by hash, budget and repeat.

        Returns:
            The columns of a table, and the fields `epochs`, `repeats`, `spaces` and `columns` of its description.

        Raises:
            InvalidInputError: there are no records; a repeat is missing, surplus or duplicated; a cell lacks a budget;
                a hash does not match its graph; or a graph has two hashes.
        """
        if not self._rows:
            raise InvalidInputError(f"{self._source} has no record")
        keys = np.frombuffer(bytes.fromhex("".join(self._rows)), "S16")
        order = np.argsort(keys)
        hashes, cells = keys[order].view(np.uint8).reshape(-1, 16), np.array(self._cells, np.uint64)[order]
        check_identities(hashes, cells, self._source, every=max(1, len(cells) // _SAMPLE))
        spaces = complete_spaces(hashes)
        columns: Columns = {
            "hash": hashes,
            "cell": cells,
            "trainable_parameters": np.array(self._parameters, np.int32)[order],
            **{MEMBER + space: rows for space, rows in spaces.items()},
        }
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        if not np.array_equal(rank, np.arange(len(rank))):
            columns["order"] = rank
        about = self._add_measured(columns, rank)
        meta = {
            "epochs": sorted(self._budgets),
            "repeats": columns[METRICS[0]].shape[2],
            "spaces": list(spaces),
            "columns": describe_imported_columns(columns, about, self._halfway_epoch),
        }
        return columns, meta

    def _add_measured(self, columns: Columns, rank: NDArray[np.int32]) -> dict[str, dict[str, Any]]:
        """Add the columns of accuracies and times; return the storage of each."""
        repeats = self._repeats(rank)
        hashes, epochs = columns["hash"], sorted(self._budgets)
        if uneven := repeats.uneven():
            raise self._uneven_repeats_error(*uneven, repeats, hashes)
        values = np.frombuffer(self._values).reshape(-1, len(_STORED))
        order, twins, about = repeats.order(), DuplicateFinder(), {}
        for i, name in enumerate(_STORED):
            arranged = values[order, i].reshape(len(rank), len(epochs), -1)
            twins.add(arranged)
            columns[name], about[name] = compact(arranged, IMAGES if name.endswith("accuracy") else None)
        if twin := twins.first():
            raise self._duplicate_error(hash_text(hashes[twin[0]]), epochs[twin[1]])
        return about

    def _repeats(self, rank: NDArray[np.int32]) -> Repeats:
        places = np.argsort(np.argsort(list(self._budgets))).astype(np.int32)  # rank of each budget
        slots = rank[np.frombuffer(self._row_of, np.uint32)] * np.int32(len(places))
        slots += places[np.frombuffer(self._budget_of, np.uint16)]
        return Repeats(slots, len(rank), len(places))

    def _uneven_repeats_error(
        self, row: int, budget: int, found: int, usual: int, repeats: Repeats, hashes: NDArray[np.uint8]
    ) -> InvalidInputError:
        hash_, epochs = hash_text(hashes[row]), sorted(self._budgets)[budget]
        if found == 0:
            return InvalidInputError(
                f"{self._source}: the cell {hash_} has no training with {epochs} epochs, but others do: "
                "the file is incomplete"
            )
        values = np.frombuffer(self._values).reshape(-1, len(_STORED))[repeats.trainings(row, budget)]
        if len(np.unique(values, axis=0)) < found:
            return self._duplicate_error(hash_, epochs)
        return InvalidInputError(
            f"{self._source}: the cell {hash_} has {found} trainings with {epochs} epochs, but others have {usual}: "
            f"{'one is missing' if found < usual else 'there is one too many'}"
        )

    def _duplicate_error(self, hash_: str, epochs: int) -> InvalidInputError:
        return InvalidInputError(f"{self._source}: the cell {hash_} has the same training with {epochs} epochs twice")


# Conversion of a `NASBench` object of the published package to a table ------------------------------------------------


_SOURCE = "the NASBench object"


def table_from_nasbench(obj: Any) -> Table:
    """Create a table from a loaded `nasbench.api.NASBench` object, or a `NASBench` of `nasbench1shot1.api`.

    This takes about as long as importing the file. The table shares no memory with the object; `Table.save` writes it.

    Args:
        obj: an object with `fixed_statistics`, `computed_statistics` and `valid_epochs`, as in the published package.

    Returns:
        A table of measurements in memory, with the object's budgets and repeats.

    Raises:
        InvalidInputError: `obj` is not such an object, has no trainings, or lacks values (like a NASBench object of
            estimates, which has the attribute `table`); or an import would be refused, for example because a repeat
            is missing.
    """
    fixed, computed = _statistics(obj)
    assembly = Assembly(sorted(map(int, obj.valid_epochs)), _SOURCE)
    for hash_, of_cell in fixed.items():
        for record in _records(hash_, of_cell, computed[hash_]):
            assembly.add(record)
    columns, meta = assembly.finish()
    return Table.from_columns(columns, {"name": "nasbench-object", "version": "1", **meta})


def _statistics(obj: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    fixed, computed = (getattr(obj, f"{kind}_statistics", None) for kind in ("fixed", "computed"))
    if not isinstance(fixed, Mapping) or not isinstance(computed, Mapping) or not hasattr(obj, "valid_epochs"):
        raise InvalidInputError(
            f"{type(obj).__name__} is not a NASBench object (it lacks fixed_statistics, computed_statistics or "
            "valid_epochs): give the result of nasbench.api.NASBench(file)"
        )
    if lacking := [hash_ for hash_ in fixed if hash_ not in computed]:
        raise InvalidInputError(f"{_SOURCE} has no trainings of {lacking[0]}: load its file again")
    return fixed, computed


def _records(hash_: str, fixed: Mapping[str, Any], computed: Mapping[Any, Any]) -> Iterator[Record]:
    """Yield the trainings of one cell."""
    try:
        adjacency = "".join(str(int(entry)) for row in fixed["module_adjacency"] for entry in row)
        operations, parameters = ",".join(fixed["module_operations"]), int(fixed["trainable_parameters"])
        for epochs, repeats in computed.items():
            for one in repeats:
                final, halfway = _values(one, "final"), _values(one, "halfway")
                record = Record(hash_, int(epochs), adjacency, operations, parameters, final, halfway, int(epochs) / 2)
                check_possible(record, _SOURCE)
                yield record
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{_SOURCE} lacks values of {hash_} ({type(error).__name__}: {error}); it must have all values of an "
            "official file (if it has estimates, use its attribute table instead)"
        ) from error


def _values(one: Mapping[str, Any], when: str) -> Values:
    validation, test, train, seconds = (float(one[f"{when}_{metric}"]) for metric in METRICS)
    return validation, test, train, seconds
