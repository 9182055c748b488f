"""The real measurements that the table is made of, as the package carries them in `data/sources`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import DamagedFileError
from nasbench1shot1.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.encoding import Encodings, from_arrays

SAMPLE = "nb101_partial_val.npz"
OFFICIAL_PAIRS = "nb101_ecnas7v_unlabelled.npz"
RETRAINED = "ecnas_4v_retrained.npz"

IMAGES = 9984
"""Accuracies of a single official run are multiples of 1/9984."""

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Sample:
    """27,001 cells of NAS-Bench-101, drawn uniformly, each with one of the three official repeats per budget.

    Attributes:
        hashes: (N,) of 16 bytes, ascending.
        encodings: (N,) of the cells.
        epochs: the four budgets.
        accuracy: (N, 4) validation accuracy.
        seconds: (N,) training time of the 108-epoch run.
        parameters: (N,).
    """

    hashes: NDArray[np.bytes_]
    encodings: Encodings
    epochs: tuple[int, ...]
    accuracy: Floats
    seconds: Floats
    parameters: NDArray[np.int64]


def read_source(name: str, folder: Path | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of one source; raises DamagedFileError where it cannot be read."""
    path = (folder or PACKAGE_DATA / "sources") / name
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, BadZipFile, EOFError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}): restore it or reinstall the package") from error


def read_sample(folder: Path | None = None) -> Sample:
    """The sample of NAS-Bench-101 (`nb101_partial_val.npz`)."""
    arrays = read_source(SAMPLE, folder)
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


def read_repeats(folder: Path | None = None) -> dict[int, dict[str, Floats]]:
    """EC-NAS's own trainings of all 91 cells of up to four vertices, three repeats at each of four budgets.

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
