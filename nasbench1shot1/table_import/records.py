"""Rows of NAS-Bench-101's files: JSON `[hash, epochs, adjacency, operations, metrics]`, the last protobuf in base64."""

import json
import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.table_import.model_metrics import model_metrics
from nasbench1shot1.table_import.tfrecords import frames

Values = tuple[float, float, float, float]
"""In the order of `tables.folder.METRICS`: validation, test, train accuracy as fractions, training time in seconds."""


class Record(NamedTuple):
    """One training of one cell.

    Attributes:
        hash: 32 hexadecimal digits.
        epochs: the budget.
        adjacency: V × V digits 0 and 1, row after row.
        operations: V labels, separated by commas.
        trainable_parameters: as the file counts them.
        final: the values at the end of the training.
        halfway: the values of the evaluation between start and end.
        halfway_epoch: when that was; half of `epochs` in NAS-Bench-101's official files.
        offset: where the record begins in its file, in bytes.
    """

    hash: str
    epochs: int
    adjacency: str
    operations: str
    trainable_parameters: int
    final: Values
    halfway: Values
    halfway_epoch: float
    offset: int = 0

    @property
    def place(self) -> str:
        """Which record this is, for messages."""
        return f"the record at byte {self.offset:,} (hash {self.hash}, {self.epochs} epochs)"


def read_records(path: Path, seen: Callable[[bytes], None] = lambda block: None) -> Iterator[Record]:
    """The records of a file, in its order.

    Args:
        path: the file.
        seen: is called with every block of bytes as it is read.

    Raises:
        InvalidInputError: a record is none of NAS-Bench-101's, or its values cannot be.
        As `tfrecords.frames`, too.
    """
    parser = RecordParser(path.name)
    for offset, payload in frames(path, seen):
        yield parser.parse(payload, offset)


class RecordParser:
    """Turns payloads into records.

    Args:
        source: what messages call the file.
    """

    def __init__(self, source: str) -> None:
        from google.protobuf.message import DecodeError

        self._source = source
        self._scan = json.JSONDecoder().raw_decode  # json.loads takes twice as long
        self._metrics = model_metrics().FromString
        self._errors = (ValueError, TypeError, RecursionError, DecodeError)

    def parse(self, payload: bytes, offset: int) -> Record:
        """The record of a payload that begins at byte `offset` of its file; raises InvalidInputError."""
        try:
            text = payload.decode().strip()
            row, end = self._scan(text)
            hash_, epochs, adjacency, operations, coded = row
            metrics = self._metrics(a2b_base64(coded))
            _, halfway, final = metrics.evaluation_data[:3]
        except self._errors as error:
            raise self._refused(payload, offset) from error
        if type(epochs) is not int:
            epochs = self._whole(epochs, hash_, offset)
        record = Record(
            hash_,
            epochs,
            adjacency,
            operations,
            metrics.trainable_parameters,
            (final.validation_accuracy, final.test_accuracy, final.train_accuracy, final.training_time),
            (halfway.validation_accuracy, halfway.test_accuracy, halfway.train_accuracy, halfway.training_time),
            halfway.current_epoch,
            offset,
        )
        if end != len(text) or not type(hash_) is type(adjacency) is type(operations) is str:
            raise self._refused(payload, offset)
        check_possible(record, self._source)
        return record

    def _whole(self, epochs: Any, hash_: Any, offset: int) -> int:
        """EC-NAS, for one, writes epochs as a string."""
        if isinstance(epochs, str) and re.fullmatch("[0-9]{1,6}", epochs):
            return int(epochs)
        raise InvalidInputError(
            f"{self._source}: the record at byte {offset:,} (hash {hash_}) has {epochs!r} for its epochs, "
            "which is not a whole number"
        )

    def _refused(self, payload: bytes, offset: int) -> InvalidInputError:
        """In words, what the first thing is that is wrong with a payload that cannot be read."""
        return InvalidInputError(f"{self._source}: the record at byte {offset:,} {self._fault(payload)}")

    def _fault(self, payload: bytes) -> str:
        form = "NAS-Bench-101's are [hash, epochs, adjacency, operations, metrics]"
        try:
            row = json.loads(payload)
        except self._errors:
            return f"is not JSON: {form}"
        if not isinstance(row, list) or len(row) != 5:
            return f"is not a list of five: {form}"
        if lacking := [n for n, part in zip(_TEXTS, (row[0], *row[2:]), strict=True) if not isinstance(part, str)]:
            return f"(hash {row[0]!r}) has no text for its {lacking[0]}: {form}"
        try:
            evaluations = len(self._metrics(a2b_base64(row[4])).evaluation_data)
        except self._errors:
            return f"(hash {row[0]}) has metrics that are not protobuf in base64"
        if evaluations < 3:
            return f"(hash {row[0]}) has {evaluations} evaluations, not three: start, half-way and end"
        return f"(hash {row[0]}) has something after its JSON: {form}"


_TEXTS = ("hash", "adjacency", "operations", "metrics")
_NAMES = ("validation accuracy", "test accuracy", "train accuracy")


def check_possible(record: Record, source: str) -> None:
    """Raise InvalidInputError for accuracies that are not fractions, times that are not numbers, or missing values."""
    if not (_are_possible(*record.final) and _are_possible(*record.halfway) and record.trainable_parameters >= 0):
        raise InvalidInputError(f"{source}: {record.place} {_impossible(record)}")


def _are_possible(validation: float, test: float, train: float, seconds: float) -> bool:
    """False for NaN, too, which is what an absent number reads as."""
    return 0 <= validation <= 1 and 0 <= test <= 1 and 0 <= train <= 1 and 0 <= seconds < inf


def _impossible(record: Record) -> str:
    for when, values in (("final", record.final), ("half-way", record.halfway)):
        *accuracies, seconds = values
        for name, value in zip(_NAMES, accuracies, strict=True):
            if not 0 <= value <= 1:
                return f"has a {when} {name} of {value}, which must be a fraction from 0 to 1"
        if not 0 <= seconds < inf:
            return f"has a {when} training time of {seconds} seconds, which must be a number from 0 on"
    return f"has {record.trainable_parameters} trainable parameters, or lacks their number"
