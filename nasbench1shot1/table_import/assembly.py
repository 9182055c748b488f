"""Assembly of a table's columns from single trainings in any order."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.tfrecords import Record
from nasbench1shot1.table_import.column_descriptions import budgets_off_halfway, describe_imported_columns
from nasbench1shot1.table_import.compact import IMAGES, compact
from nasbench1shot1.table_import.graphs import GraphEncoder
from nasbench1shot1.table_import.identity import check_identities, complete_spaces, hash_text
from nasbench1shot1.table_import.repeats import DuplicateFinder, Repeats
from nasbench1shot1.tables.description import MEMBER
from nasbench1shot1.tables.folder import HALFWAY, METRICS, Columns, Meta
from nasbench1shot1.tables.metric_column import whole_number

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
