"""The files of NAS-Bench-101's measurements that are bundled in data/sources; NOTICE states where they come from."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.files import PACKAGE_DATA, read_npz
from nasbench1shot1.nasbench101.encoding import Encodings, from_arrays

SOURCES = PACKAGE_DATA / "sources"
DATASET = "cifar10"
IMAGES = 9984
"""Accuracies of a single official run are multiples of 1/9984."""
TEST_REPEATS = 3
"""Number of official repeats; measured test accuracies are means over them, multiples of 1/29952."""

SAMPLE = "nb101_partial_val.npz"
TEST_MEANS = "nb101_test_mean3.npz"
DRAWS = "nb101_val108_draws.npz"
RETRAINED = "ecnas_4v_retrained.npz"
_CELL_ARRAYS = ("hash", "adjacency", "ops", "n_vertices")
_NEEDED = {
    SAMPLE: (*_CELL_ARRAYS, "epochs", "valid_acc", "train_time_s_e108", "params"),
    TEST_MEANS: (*_CELL_ARRAYS, "test_mean3", "source"),
    DRAWS: (*_CELL_ARRAYS, "valid_acc_e108"),
    RETRAINED: ("hash", "repeat", "epochs", "train_time_s"),
}

Floats = NDArray[np.float64]


def read_source(name: str, folder: Path | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of one source; raises DamagedFileError if it cannot be read or lacks a needed array.

    Args:
        name: the name of the file.
        folder: the folder of the sources. Default: the package's own sources.
    """
    return read_npz((folder or SOURCES) / name, "restore it or reinstall the package", _NEEDED[name])


def cells_of(arrays: dict[str, NDArray[Any]]) -> tuple[NDArray[np.bytes_], Encodings]:
    """Return the hashes and the encodings of a source's N cells, (N,) each."""
    operations = np.maximum(arrays["ops"][:, 1:6].astype(np.int64), -1)
    n_vertices = arrays["n_vertices"].astype(np.int64)
    operations[np.arange(1, 6) >= n_vertices[:, None] - 1] = -1
    hashes = np.ascontiguousarray(arrays["hash"]).view("S16")[:, 0]
    return hashes, from_arrays(arrays["adjacency"].astype(np.int64), operations, n_vertices)


def read_repeated_times(folder: Path | None = None) -> Floats:
    """Return the seconds of EC-NAS's 108-epoch trainings of all 91 cells with up to four vertices, three repeats each.

    Returns:
        (91, 3) seconds. Only their scatter is used, because these are not records of NAS-Bench-101.
    """
    arrays = read_source(RETRAINED, folder)
    order = np.lexsort((arrays["repeat"], *arrays["hash"].T[::-1], arrays["epochs"]))
    epochs, seconds = (arrays[name][order].reshape(4, -1, 3) for name in ("epochs", "train_time_s"))
    found: Floats = seconds[int(np.argmax(epochs[:, 0, 0]))]
    return found
