"""Builders of files in NAS-Bench-101's format: hand-made frames, JSON and protobuf.

They do not use the package, so that they cannot share its mistakes.
"""

import base64
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import google_crc32c
import numpy as np

OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
EPOCHS = (4, 12, 36, 108)
IMAGES = 9984


@dataclass(frozen=True)
class Graph:
    """A cell as represented in the official files."""

    hash: str
    adjacency: str
    operations: str
    parameters: int


@dataclass(frozen=True)
class Evaluation:
    epoch: float
    seconds: float
    train: float
    validation: float
    test: float
    extra: bytes = b""
    """More protobuf fields, already encoded."""


@dataclass(frozen=True)
class Training:
    graph: Graph
    epochs: int | str
    evaluations: tuple[Evaluation, ...]
    extra: bytes = b""

    @property
    def final(self) -> tuple[float, float, float, float]:
        return _values(self.evaluations[2])

    @property
    def halfway(self) -> tuple[float, float, float, float]:
        return _values(self.evaluations[1])

    def changed(self, place: int, **values: float | bytes) -> "Training":
        """Return a copy with other values in one evaluation."""
        evaluations = list(self.evaluations)
        evaluations[place] = replace(evaluations[place], **values)  # type: ignore[arg-type]
        return replace(self, evaluations=tuple(evaluations))


def _values(evaluation: Evaluation) -> tuple[float, float, float, float]:
    return evaluation.validation, evaluation.test, evaluation.train, evaluation.seconds


# Bytes ----------------------------------------------------------------------------------------------------------


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def text(field: int, value: bytes) -> bytes:
    """A string or an embedded message."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def metrics(training: Training) -> bytes:
    """The message ModelMetrics."""
    evaluations = [
        b"".join(
            double(field, value)
            for field, value in enumerate((e.epoch, e.seconds, e.train, e.validation, e.test), start=1)
        )
        + e.extra
        for e in training.evaluations
    ]
    total = double(3, 1.5 * training.evaluations[-1].seconds)
    parameters = varint(2 << 3) + varint(training.graph.parameters)
    return b"".join(text(1, e) for e in evaluations) + parameters + total + training.extra


def payload(training: Training) -> bytes:
    """A row: JSON, the message in base64 with line feeds, as Python's base64.encodebytes writes it."""
    graph = training.graph
    coded = base64.encodebytes(metrics(training)).decode()
    return json.dumps([graph.hash, training.epochs, graph.adjacency, graph.operations, coded]).encode()


def frame(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", _masked(length)) + content + struct.pack("<I", _masked(content))


def _masked(content: bytes) -> int:
    checksum = google_crc32c.value(content)
    return ((checksum >> 15 | checksum << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2**32


def write_file(path: Path, trainings: Iterable[Training]) -> Path:
    return write_payloads(path, map(payload, trainings))


def write_payloads(path: Path, payloads: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.writelines(map(frame, payloads))
    return path


# Trainings ------------------------------------------------------------------------------------------------------


def graphs_of(file: Path, rows: Sequence[int] | slice = slice(None)) -> list[Graph]:
    """Cells of a bundled .npz with real samples."""
    with np.load(file, allow_pickle=False) as npz:
        columns = [npz[name][rows] for name in ("hash", "n_vertices", "adjacency", "ops", "params")]
    return [
        Graph(
            bytes(digest).hex(),
            "".join(map(str, matrix[:n, :n].ravel())),
            ",".join(["input", *(OPERATIONS[op] for op in ops[1 : n - 1]), "output"]),
            int(parameters),
        )
        for digest, n, matrix, ops, parameters in zip(*columns, strict=True)
    ]


def made_up(graphs: Iterable[Graph], epochs: Sequence[int] = EPOCHS, repeats: int = 3, seed: int = 0) -> list[Training]:
    """Trainings with values as in the official files: k/9984 and seconds, rounded to float32."""
    rng = np.random.default_rng(seed)
    return [
        Training(graph, budget, tuple(_made_up_evaluations(budget, rng)))
        for graph in graphs
        for budget in epochs
        for _ in range(repeats)
    ]


def _made_up_evaluations(budget: int, rng: np.random.Generator) -> Iterator[Evaluation]:
    seconds = rng.uniform(10, 20)
    for share, low in ((0.0, 0.09), (0.5, 0.4), (1.0, 0.7)):
        accuracies = np.rint(rng.uniform(low, low + 0.2, 3) * IMAGES) / IMAGES
        time = float(np.float32(seconds * budget * share))
        yield Evaluation(budget * share, time, *accuracies.astype(np.float32).astype(float).tolist())


def retrained(file: Path, epochs_as_text: bool = False) -> list[Training]:
    """Trainings of EC-NAS, with extra fields and fields of other types."""
    with np.load(file, allow_pickle=False) as npz:
        c = {name: npz[name].tolist() for name in npz.files if npz[name].ndim == 1}
    trainings = []
    for i, graph in enumerate(graphs_of(file)):
        energy = double(6, c["energy_kwh"][i]) + text(9, b"2022-05-29 06:03:58")
        evaluations = (
            Evaluation(0, 0, 0.1, c["init_valid_acc"][i], 0.1, energy),
            Evaluation(*(c[f"mid_{k}"][i] for k in ("epoch", *_COLUMNS)), energy),
            Evaluation(c["epochs"][i], *(c[k][i] for k in _COLUMNS), energy),
        )
        epochs = str(c["epochs"][i]) if epochs_as_text else c["epochs"][i]
        trainings.append(Training(graph, epochs, evaluations, text(9, text(1, b"GPU"))))
    return trainings


_COLUMNS = ("train_time_s", "train_acc", "valid_acc", "test_acc")
