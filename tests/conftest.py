"""What several tests use."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.files import PACKAGE_DATA
from nasbench1shot1.table_folder import write_table

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_cells() -> Path:
    """27,001 real cells of NAS-Bench-101 with their hashes, which the package carries."""
    return PACKAGE_DATA / "sources" / "nb101_partial_val.npz"


@pytest.fixture(scope="session")
def shared() -> Path:
    """More real data, in a folder beside the developers' checkouts; CI says that it is there, so it must be."""
    folder = CHECKOUT.parent / "shared" / "data"
    if not folder.is_dir():
        assert not os.environ.get("NB1SHOT1_SHARED_IS_HERE"), f"{folder} is missing"
        pytest.skip(f"{folder} is not here: this test compares with data that only the developers have")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the user's data folder; distinct cells are enumerated once a session."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NB1SHOT1_DATA", str(folder))
        yield folder


@pytest.fixture(scope="session")
def measured_table(tmp_path_factory):
    """The embedded table's s1 rows with other accuracies, said to be measured, in the official shape of 3 repeats."""
    from nasbench1shot1.table import load_table

    table, rng = load_table(), np.random.default_rng(0)
    rows = table.members("s1")
    counts = rng.integers(8500, 9400, (2, len(rows), 1, 3))
    about = {"epochs": [108], "fidelity": "measured", "images": 9984}
    columns = {name: np.array(table.column(name)[rows]) for name in ("hash", "cell", "trainable_parameters")}
    columns |= {
        "validation_accuracy": (counts[0] / 9984).astype(np.float32),
        "test_accuracy": (counts[1] / 9984).astype(np.float32),
        "training_time": np.full((len(rows), 1, 3), 1000, np.float32),
        "member_s1": np.arange(len(rows), dtype=np.int32),
    }
    meta = {"name": "measured", "version": "1", "epochs": [108], "repeats": 3, "spaces": ["s1"]}
    described = dict.fromkeys(("validation_accuracy", "test_accuracy"), about)
    described["training_time"] = {"epochs": [108], "fidelity": "measured"}
    folder = tmp_path_factory.mktemp("table") / "measured"
    write_table(folder, columns, {**meta, "columns": described})
    return load_table(folder)
