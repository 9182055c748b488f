"""Reading of NAS-Bench-101's TFRecord files without TensorFlow: frames, protobuf messages, and records."""

import json
import re
import struct
from binascii import a2b_base64
from collections.abc import Callable, Generator, Iterator
from math import inf, isqrt
from pathlib import Path
from typing import Any, NamedTuple

import google_crc32c

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import open_regular, read_error
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

HEADER, FOOTER = struct.Struct("<QI"), struct.Struct("<I")
LONGEST = 2**24
"""Maximum length of a payload in bytes, far above any record's; a longer frame is not read into memory."""
_BLOCK = 4 * 2**20
_GZIP = b"\x1f\x8b"


def frames(path: Path, on_block: Callable[[bytes], None] = lambda block: None) -> Iterator[tuple[int, bytes]]:
    """Read a whole file in large blocks, and check every checksum.

    Args:
        path: the file.
        on_block: called with every block of bytes that is read, for a digest or a progress bar.

    Yields:
        The offset of each frame in bytes, and its payload.

    Raises:
        InvalidInputError: the file is empty, or is not a TFRecord file.
        DamagedFileError: a checksum is wrong, or the file ends within a frame.
        UserError: the file cannot be read.
    """
    start, data, splitter = 0, b"", _Splitter(path)
    for block in _blocks(path):
        on_block(block)
        data += block
        used = yield from splitter.whole_frames(start, data)
        start, data = start + used, data[used:]
    if data and start == 0 and len(data) < HEADER.size:
        raise splitter.no_tfrecord(data)
    if data:
        raise DamagedFileError(
            f"{path} ends within the record that begins at byte {start:,}: it is truncated; copy or download it again"
        )
    if start == 0:
        raise InvalidInputError(f"{path} is empty: give a file such as nasbench_only108.tfrecord")


def is_tfrecord(path: Path) -> bool:
    """Return whether an existing file begins with the length of a frame and its checksum, or is compressed."""
    if not path.is_file():
        return False
    try:
        with open_regular(path) as file:
            start = file.read(HEADER.size)
    except OSError:
        return False
    if len(start) < HEADER.size:
        return False
    return start.startswith(_GZIP) or HEADER.unpack(start)[1] == mask_checksum(google_crc32c.value(start[:8]))


def mask_checksum(checksum: int) -> int:
    """Return a CRC-32C as TFRecord files store it, masked because a CRC of data that contains CRCs is weak."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise read_error(path, error) from error


class _Splitter:
    """Splits blocks of a file into frames; caches checked lengths, because there are few distinct ones."""

    def __init__(self, path: Path) -> None:
        self._path, self._lengths = path, dict[bytes, int]()

    def whole_frames(self, start: int, data: bytes) -> Generator[tuple[int, bytes], None, int]:
        """Yield the complete frames in `data`, which begins at byte `start`; return the number of bytes they take."""
        place, lengths = 0, self._lengths
        while place + HEADER.size <= len(data):
            header = data[place : place + HEADER.size]
            length = lengths.get(header)
            if length is None:
                length = lengths[header] = self._checked_length(header, start + place)
            begin = place + HEADER.size
            end = begin + length
            if end + FOOTER.size > len(data):
                break
            payload = data[begin:end]
            if FOOTER.unpack_from(data, end)[0] != mask_checksum(google_crc32c.value(payload)):
                raise self._damaged(start + place, "content")
            yield start + place, payload
            place = end + FOOTER.size
        return place

    def _checked_length(self, header: bytes, offset: int) -> int:
        length, checksum = HEADER.unpack(header)
        if checksum != mask_checksum(google_crc32c.value(header[:8])):
            raise self._damaged(offset, "length") if offset else self.no_tfrecord(header)
        if length > LONGEST:
            raise InvalidInputError(
                f"{self._path} has a record of {length:,} bytes at byte {offset:,}, so it is not a NAS-Bench-101 file: "
                "give one such as nasbench_only108.tfrecord"
            )
        return int(length)

    def _damaged(self, offset: int, part: str) -> DamagedFileError:
        return DamagedFileError(
            f"{self._path} is damaged: the {part} of the record that begins at byte {offset:,} does not match its "
            "checksum; copy or download the file again"
        )

    def no_tfrecord(self, header: bytes) -> UserError:
        """Return the error for a file whose first bytes are wrong."""
        if header.startswith(_GZIP):
            return InvalidInputError(f"{self._path} is compressed: unpack it with gunzip first")
        return InvalidInputError(
            f"{self._path} is not a TFRecord file, or is damaged at byte 0 (its first 12 bytes are not a length and a "
            "checksum): give a file such as nasbench_only108.tfrecord"
        )


# NAS-Bench-101's protobuf message `ModelMetrics`, declared at run time without generated code or `protoc` -------------
#
# Only the fields that a table needs are declared; others are skipped. Field 6 and later ones differ between projects:
# in NAS-Bench-101 it is the path of a checkpoint, in EC-NAS the energy.


_PACKAGE = "nasbench"
_EVALUATION = ("current_epoch", "training_time", "train_accuracy", "validation_accuracy", "test_accuracy")


def model_metrics() -> Any:
    """Return the message class, with `trainable_parameters`, and `evaluation_data` at the start, middle and end.

    A missing number is NaN, and a missing number of parameters -1. The message has its own descriptor pool, so that a
    program that also loads `nasbench` does not register it twice.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    file = FileDescriptorProto(name="model_metrics.proto", package=_PACKAGE, syntax="proto2")
    evaluation, metrics = file.message_type.add(name="EvaluationData"), file.message_type.add(name="ModelMetrics")
    for number, name in enumerate(_EVALUATION, start=1):
        evaluation.field.add(name=name, number=number, **_kind("DOUBLE", "OPTIONAL"), default_value="nan")
    metrics.field.add(
        name="evaluation_data",
        number=1,
        **_kind("MESSAGE", "REPEATED"),
        type_name=f".{_PACKAGE}.EvaluationData",
    )
    metrics.field.add(name="trainable_parameters", number=2, **_kind("INT32", "OPTIONAL"), default_value="-1")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelMetrics"))


def _kind(kind: str, label: str) -> dict[str, Any]:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

    return {"type": getattr(Field, f"TYPE_{kind}"), "label": getattr(Field, f"LABEL_{label}")}


# Records: JSON `[hash, epochs, adjacency, operations, metrics]`, metrics as protobuf ----------------------------------


Values = tuple[float, float, float, float]
"""Validation, test and train accuracy (fractions) and training time (seconds), as in `official_files.METRICS`."""


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
