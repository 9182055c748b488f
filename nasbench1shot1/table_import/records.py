"""Records of NAS-Bench-101's files: JSON `[hash, epochs, adjacency, operations, metrics]`, metrics as protobuf."""

import json
import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.table_import.model_metrics import model_metrics
from nasbench1shot1.table_import.tfrecords import frames

Values = tuple[float, float, float, float]
"""Validation, test and train accuracy (fractions) and training time (seconds), as in `tables.folder.METRICS`."""


class Record(NamedTuple):
    """One training of one cell.

    Attributes:
        hash: 32 hexadecimal digits.
        epochs: the budget.
        adjacency: V × V digits 0 and 1, row after row.
        operations: V labels, separated by commas.
        trainable_parameters: number of trainable parameters in the file.
        final: the values at the end of the training.
        halfway: the values half-way through the training.
        halfway_epoch: the epoch of the half-way evaluation; half of `epochs` in NAS-Bench-101's official files.
        offset: offset of the record in its file, in bytes.
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
        """A description of the record, for messages."""
        return f"the record at byte {self.offset:,} (hash {self.hash}, {self.epochs} epochs)"


def read_records(path: Path, on_block: Callable[[bytes], None] = lambda block: None) -> Iterator[Record]:
    """Yield the records of a file in order.

    Args:
        path: the file.
        on_block: called with every block of bytes that is read.

    Raises:
        InvalidInputError: a record does not have NAS-Bench-101's format, or has impossible values.
        DamagedFileError, UserError: as in `tfrecords.frames`.
    """
    parser = RecordParser(path.name)
    for offset, payload in frames(path, on_block):
        yield parser.parse(payload, offset)


class RecordParser:
    """Parses payloads as records.

    Args:
        source: name of the file, for messages.
    """

    def __init__(self, source: str) -> None:
        from google.protobuf.message import DecodeError

        self._source = source
        self._scan = json.JSONDecoder().raw_decode  # json.loads takes twice as long
        self._metrics = model_metrics().FromString
        self._errors = (ValueError, TypeError, RecursionError, DecodeError)

    def parse(self, payload: bytes, offset: int) -> Record:
        """Return the record in a payload that begins at byte `offset` of its file; raises InvalidInputError."""
        try:
            text = payload.decode().strip()
            row, end = self._scan(text)
            hash_, epochs, adjacency, operations, coded = row
            metrics = self._metrics(a2b_base64(coded))
            _, halfway, final = metrics.evaluation_data[:3]
        except self._errors as error:
            raise self._payload_error(payload, offset) from error
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
            raise self._payload_error(payload, offset)
        check_possible(record, self._source)
        return record

    def _whole(self, epochs: Any, hash_: Any, offset: int) -> int:
        """Return epochs that are written as a string, as in EC-NAS."""
        if isinstance(epochs, str) and re.fullmatch("[0-9]{1,6}", epochs):
            return int(epochs)
        raise InvalidInputError(
            f"{self._source}: the record at byte {offset:,} (hash {hash_}) has {epochs!r} epochs, which is not a whole "
            "number"
        )

    def _payload_error(self, payload: bytes, offset: int) -> InvalidInputError:
        """Return the error for a payload that cannot be read; it states the first fault."""
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
            return f"(hash {row[0]!r}) has a value for its {lacking[0]} that is not a string: {form}"
        try:
            evaluations = len(self._metrics(a2b_base64(row[4])).evaluation_data)
        except self._errors:
            return f"(hash {row[0]}) has metrics that are not base64-encoded protobuf"
        if evaluations < 3:
            return f"(hash {row[0]}) has {evaluations} evaluations, not three: start, half-way and end"
        return f"(hash {row[0]}) has extra data after its JSON: {form}"


_TEXTS = ("hash", "adjacency", "operations", "metrics")
_NAMES = ("validation accuracy", "test accuracy", "train accuracy")


def check_possible(record: Record, source: str) -> None:
    """Raise InvalidInputError for accuracies that are not fractions, invalid times, or missing values."""
    if not (_are_possible(*record.final) and _are_possible(*record.halfway) and record.trainable_parameters >= 0):
        raise InvalidInputError(f"{source}: {record.place} {_impossible(record)}")


def _are_possible(validation: float, test: float, train: float, seconds: float) -> bool:
    """Return whether values are possible; false for NaN, which stands for a missing number."""
    return 0 <= validation <= 1 and 0 <= test <= 1 and 0 <= train <= 1 and 0 <= seconds < inf


def _impossible(record: Record) -> str:
    for when, values in (("final", record.final), ("half-way", record.halfway)):
        *accuracies, seconds = values
        for name, value in zip(_NAMES, accuracies, strict=True):
            if not 0 <= value <= 1:
                return f"has a {when} {name} of {value}, which must be a fraction from 0 to 1"
        if not 0 <= seconds < inf:
            return f"has a {when} training time of {seconds} seconds, which must be a finite number of at least 0"
    return f"has {record.trainable_parameters} trainable parameters, or lacks their number"
