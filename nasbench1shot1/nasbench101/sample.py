"""The measurements of NAS-Bench-101 that are bundled in data/sources, and the table of its sample."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.files import PACKAGE_DATA, read_npz
from nasbench1shot1.nasbench101.encoding import Encodings, from_arrays
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import Meta
from nasbench1shot1.tables.folder import Columns

SOURCES = PACKAGE_DATA / "sources"
DATASET = "cifar10"
SAMPLE = "nb101_partial_val.npz"
IMAGES = 9984
"""Accuracies of a single official run are multiples of 1/9984."""

NAME, VERSION = "nb101-sample", "1"
TIMED_BUDGET = 108
_SAMPLE_ARRAYS = ("hash", "adjacency", "ops", "n_vertices", "epochs", "valid_acc", "train_time_s_e108", "params")


@dataclass(frozen=True)
class Sample:
    """27,001 cells of NAS-Bench-101, drawn uniformly, each with one of the three official repeats per budget.

    Attributes:
        hashes: (N,) MD5s of 16 bytes, ascending.
        encodings: (N,) encodings of the cells.
        epochs: the four budgets in epochs.
        accuracy: (N, 4) validation accuracies, fractions.
        seconds: (N,) training times of the 108-epoch trainings.
        parameters: (N,) numbers of trainable parameters.
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    epochs: tuple[int, ...]
    accuracy: NDArray[np.float64]
    seconds: NDArray[np.float64]
    parameters: NDArray[np.int64]


def read_sample(folder: Path | None = None) -> Sample:
    """Return the sample of NAS-Bench-101; raises DamagedFileError if it cannot be read.

    Args:
        folder: the folder with `nb101_partial_val.npz`. Default: the package's own sources.
    """
    arrays = read_npz((folder or SOURCES) / SAMPLE, "restore it or reinstall the package", _SAMPLE_ARRAYS)
    operations = np.maximum(arrays["ops"][:, 1:6].astype(np.int64), -1)
    n_vertices = arrays["n_vertices"].astype(np.int64)
    operations[np.arange(1, 6) >= n_vertices[:, None] - 1] = -1
    return Sample(
        hashes=np.ascontiguousarray(arrays["hash"]).view("S16")[:, 0],
        encodings=from_arrays(arrays["adjacency"].astype(np.int64), operations, n_vertices),
        epochs=tuple(int(e) for e in arrays["epochs"]),
        accuracy=arrays["valid_acc"],
        seconds=arrays["train_time_s_e108"],
        parameters=arrays["params"].astype(np.int64),
    )


def sample_columns(sources: Path | None = None) -> tuple[Columns, Meta]:
    """Return the columns and the description of the sample, for `Table.from_columns` or `write_table`.

    The sample does not contain any complete search space, so it has no `member_` columns.

    Args:
        sources: the folder with the measurements. Default: the package's own sources.

    Raises DamagedFileError if the sample cannot be read.
    """
    sample = read_sample(sources)
    columns: Columns = {
        "hash": sample.hashes.view(np.uint8).reshape(-1, 16),
        "cell": sample.encodings,
        "trainable_parameters": sample.parameters.astype(np.int32),
        "validation_accuracy": np.rint(sample.accuracy * IMAGES).astype(np.uint16)[:, :, None],
        "training_time": sample.seconds.astype(np.float32)[:, None, None],
    }
    exact = {"fidelity": "exact", "sources": [SAMPLE]}
    about = {
        "hash": exact | {"method": "NAS-Bench-101's graph-invariant MD5"},
        "cell": exact | {"method": "pruned, numbered as NAS-Bench-101 first meets it"},
        "trainable_parameters": standard("trainable_parameters", DATASET).entry(
            sources=[SAMPLE], method="as the source gives it"
        ),
        "validation_accuracy": standard("validation_accuracy", DATASET, epochs=sample.epochs).entry(
            sources=[SAMPLE], method="one of three official repeats", images=IMAGES, rounded="float32"
        ),
        "training_time": standard("training_time", DATASET, epochs=(TIMED_BUDGET,)).entry(
            sources=[SAMPLE], method="of that repeat"
        ),
    }
    meta = {
        "name": NAME,
        "version": VERSION,
        "date": "2026-11-21",
        "keyed_by": "nasbench101",
        "datasets": [DATASET],
        "epochs": list(sample.epochs),
        "repeats": 1,
        "spaces": [],
        "columns": about,
    }
    return columns, meta


# All bundled measurements ---------------------------------------------------------------------------------------------


OFFICIAL_PAIRS = "nb101_ecnas7v_unlabelled.npz"
RETRAINED = "ecnas_4v_retrained.npz"
_SOURCE_ARRAYS = {
    OFFICIAL_PAIRS: ("valid_acc", "test_acc", "train_time_s", "log10_params"),
    RETRAINED: ("hash", "repeat", "epochs", "valid_acc", "test_acc", "train_time_s"),
}

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]


def read_source(name: str, folder: Path | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of one source; raises DamagedFileError if it cannot be read or lacks a needed array."""
    return read_npz((folder or SOURCES) / name, "restore it or reinstall the package", _SOURCE_ARRAYS[name])


def read_repeats(folder: Path | None = None) -> dict[int, dict[str, Floats]]:
    """Return EC-NAS's trainings of all 91 cells with up to four vertices, three repeats at each of four budgets.

    Returns:
        For each budget `valid_acc`, `test_acc` and `train_time_s`, each (91, 3).
    """
    arrays = read_source(RETRAINED, folder)
    order = np.lexsort((arrays["repeat"], *arrays["hash"].T[::-1], arrays["epochs"]))
    shaped = {
        name: arrays[name][order].reshape(4, -1, 3) for name in ("epochs", "valid_acc", "test_acc", "train_time_s")
    }
    return {
        int(shaped["epochs"][i, 0, 0]): {name: shaped[name][i] for name in ("valid_acc", "test_acc", "train_time_s")}
        for i in range(4)
    }
