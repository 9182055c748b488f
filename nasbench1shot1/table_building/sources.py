"""The measurements from which the table is built, which are bundled in `data/sources`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.tables.measured_sample import SOURCES

OFFICIAL_PAIRS = "nb101_ecnas7v_unlabelled.npz"
RETRAINED = "ecnas_4v_retrained.npz"
_ARRAYS = {
    OFFICIAL_PAIRS: ("valid_acc", "test_acc", "train_time_s", "log10_params"),
    RETRAINED: ("hash", "repeat", "epochs", "valid_acc", "test_acc", "train_time_s"),
}

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]


def read_source(name: str, folder: Path | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of one source; raises DamagedFileError if it cannot be read or lacks a needed array."""
    return read_npz((folder or SOURCES) / name, "restore it or reinstall the package", _ARRAYS[name])


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
