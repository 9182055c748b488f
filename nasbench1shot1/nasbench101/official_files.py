"""NAS-Bench-101's official files: nasbench_only108.tfrecord, nasbench_full.tfrecord, and NASBench objects in memory."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, option, quote
from nasbench1shot1.nasbench101.keys import Hashes, check_identities, hash_text
from nasbench1shot1.nasbench101.sources import DATASET, IMAGES
from nasbench1shot1.nasbench101.tfrecords import GraphEncoder, Record, Values, check_possible, is_tfrecord, read_records
from nasbench1shot1.tables.columns import Moment, standard
from nasbench1shot1.tables.description import MEMBER, Meta, exact_entry
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import Download, FileFormat, Progress, Report, Source, compact
from nasbench1shot1.tables.table import Table, load_table

VERSION = "1"
_HOME = "https://storage.googleapis.com/nasbench"
ONLY108 = Download(
    file="nasbench_only108.tfrecord",
    home=_HOME,
    sha256="4c39c3936e36a85269881d659e44e61a245babcb72cb374eacacf75d0e5f4fd1",
    size="499 MB",
)
FULL = Download(
    file="nasbench_full.tfrecord",
    home=_HOME,
    sha256="3d64db8180fb1b0207212f9032205064312b6907a3bbc81eabea10db2f5c7e9c",
    size="1.95 GB",
)
"""The two files that NAS-Bench-101's authors published."""


class TFRecordFiles(FileFormat):
    """The format of NAS-Bench-101's files, which other projects use, too."""

    example = "nasbench_only108.tfrecord, nasbench_full.tfrecord or another file in this format"

    def recognises(self, path: Path) -> bool:
        """Return whether a file's suffix or first bytes are those of a TFRecord file."""
        return path.suffix == ".tfrecord" or is_tfrecord(path)

    def read(
        self, source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
    ) -> tuple[Columns, Meta]:
        """Read and check every record; `epochs` are the budgets that the file may have."""

        def on_block(block: bytes) -> None:
            source.update(block)
            progress("reading", source.read / source.size if source.size else None)

        assembly = Assembly(EPOCHS if epochs is None else epochs, source.path.name)
        for record in read_records(source.path, on_block):
            assembly.add(record)
        progress("checking", None)
        columns, meta = assembly.finish()
        if warning := _warning(source):
            report(warning)
        if assembly.budgets_off_halfway:
            budgets = ", ".join(map(str, assembly.budgets_off_halfway))
            report(f"{source.path.name}: at {budgets} epochs, half-way values are not from the middle of the training")
        official = _official(source)
        about = source.describe(len(assembly), official is not None)
        return columns, {"name": official or source.path.stem, "version": VERSION, **meta, "source": about}


TFRECORDS = TFRecordFiles()


def _official(source: Source) -> str | None:
    """Return the stem of the official file with this content, None for other files; call after reading the file."""
    return next((Path(known.file).stem for known in (ONLY108, FULL) if known.sha256 == source.sha256), None)


def _warning(source: Source) -> str | None:
    """Return a one-line warning if the file is not official, else None."""
    if _official(source):
        return None
    name, found = source.path.name, str(source.sha256)[:12]
    digests = {Path(official.file).stem: official.sha256 for official in (ONLY108, FULL)}
    known = digests.get(source.path.stem)
    if known is None:
        return f"{name} is not one of NAS-Bench-101's official files (SHA-256 {found}…); it is imported unchanged"
    return (
        f"{name} has the name of an official NAS-Bench-101 file, but is NOT that file (SHA-256 {found}…, not "
        f"{known[:12]}…): it is altered or from another source, and its results are not NAS-Bench-101's; it is "
        "imported unchanged"
    )


# Entries of the columns in `meta.json` --------------------------------------------------------------------------------


METRICS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
"""The metrics of a record, in the order of `tfrecords.Values`."""
_MOMENTS: tuple[tuple[Moment, str], ...] = (("end", ""), ("halfway", "halfway_"))
_STORED = tuple((prefix + metric, metric, moment) for moment, prefix in _MOMENTS for metric in METRICS)
"""Name, metric and moment of the stored columns."""
_METHODS = {
    "hash": "as the file names its cells",
    "cell": "as the file numbers it",
    "trainable_parameters": "as the file counts them",
    "order": "rows in the order in which the file first names them",
}


def describe_imported_columns(
    columns: Columns, stored: Mapping[str, dict[str, Any]], halfway_epochs: Mapping[int, float]
) -> dict[str, dict[str, Any]]:
    """Return the entry of every column in `meta.json`.

    Args:
        columns: columns of the table.
        stored: storage of each column of accuracies or seconds.
        halfway_epochs: the epoch of the half-way evaluation, by budget.
    """
    epochs = tuple(sorted(halfway_epochs))
    half = ", ".join(f"{halfway_epochs[e]:g} of {e}" for e in epochs)
    methods: dict[Moment, str] = {"end": "at the end of training", "halfway": f"second evaluation, after epoch {half}"}
    about: dict[str, dict[str, Any]] = {}
    for name in columns:
        about[name] = exact_entry(_METHODS.get(name, f"rows of {name.removeprefix(MEMBER)}'s distinct cells"))
    about["trainable_parameters"] = standard("trainable_parameters", DATASET).entry(**about["trainable_parameters"])
    for name, metric, moment in _STORED:
        column = standard(metric, DATASET, moment=moment, epochs=epochs)
        about[name] = column.entry(sources=[], method=methods[moment], **stored[name])
    return about


def budgets_off_halfway(halfway_epochs: Mapping[int, float]) -> list[int]:
    """Return the budgets whose half-way evaluation is more than a twentieth of the training away from its middle."""
    return [epochs for epochs, at in sorted(halfway_epochs.items()) if not abs(2 * at - epochs) <= epochs / 10]


# Repeats, each of which must occur exactly once -----------------------------------------------------------------------


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


# Assembly of columns from single trainings in any order ---------------------------------------------------------------


EPOCHS = (4, 12, 36, 108)
"""The budgets of NAS-Bench-101."""
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
            raise self._record_error(record, quote(error)) from None
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
                record, f"has a budget other than {known}: if that is right, list all budgets with {option('epochs')}"
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
            The columns of a table, and its description without name and version.

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
            "keyed_by": "nasbench101",
            "datasets": [DATASET],
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
        for i, (name, _, _) in enumerate(_STORED):
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


def complete_spaces(hashes: Hashes) -> dict[str, NDArray[np.int32]]:
    """Return the search spaces whose distinct cells are all present, with their ascending rows.

    The embedded table stores the hashes of each space, so spaces are not enumerated.

    Args:
        hashes: (R, 16) hashes, ascending.
    """
    embedded, keys = load_table("embedded"), _keys(hashes)
    found = {}
    for space in embedded.spaces:
        wanted = _keys(embedded.column("hash")[embedded.members(space)])
        rows = np.searchsorted(keys, wanted)
        if np.array_equal(keys[np.minimum(rows, len(keys) - 1)], wanted):
            found[space] = rows.astype(np.int32)
    return found


def _keys(hashes: Hashes) -> NDArray[np.bytes_]:
    keys: NDArray[np.bytes_] = np.ascontiguousarray(hashes).view("S16")[:, 0]
    return keys


# NASBench objects of the published package ----------------------------------------------------------------------------


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
