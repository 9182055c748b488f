"""Fixtures shared by several test modules."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import browser as browsers
import garbage
import numpy as np
import pytest
import warm_process
from hypothesis import settings
from image_builders import ROWS
from local_server import serving
from small_official import small_table
from unrendered import skip_pictures
from unrepeated import skip_repetitions

from nasbench1shot1 import api
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images.data_sets import CIFAR10, DATA_SETS
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.one_shot_search import memory
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tables.writing import write_table

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import hpbandster.optimizers.bohb  # noqa: F401, which warns when it is first imported or compiled

settings.register_profile("repeatable", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=50, print_blob=True)  # make explore
settings.load_profile("repeatable")

CHECKOUT = Path(__file__).resolve().parents[1]

LONGEST_FIRST = (
    "test_optimizer_conformance",
    "test_kills",
    "test_correlate",
    "test_reproduce_runs",
    "test_estimate",
    "test_nasbench201_import",
    "test_command_line",
    "test_cluster",
    "test_training_groups",
    "test_cell_training_resumed",
    "test_ranges",
    "test_black_box_conformance",
    "test_nasbench101",
    "test_search",
    "test_readme",
    "test_optimizers_on_nasbench201",
    "test_own_benchmark",
    "test_shared_passes",
    "test_network",
    "test_proxy_study",
    "test_canvas",
    "test_cell_training_runs",
    "test_space_statistics_command",
    "test_reproduce_black_box",
    "test_end_search",
    "test_edge_training_runs",
    "test_kept_weights",
    "test_recipes",
    "test_nasbench201_statistics_command",
    "test_reproduce_methods",
    "test_workers",
    "test_own_optimizer",
    "test_published_searches",
    "test_nasbench201_statistics",
    "test_space_statistics",
    "test_table_import",
    "test_images_sources",
    "test_report_page_in_browser",
    "test_parallel_seeds",
    "test_overwriting",
    "test_reproduce_ranking",
    "test_cell_features",
    "test_claims",
    "test_tune_command",
    "test_reproduce_nats_bench",
    "test_reproduce_nasbench201",
    "test_shared_weights",
    "test_width_optimizers",
    "test_own_space",
    "test_reproduce",
    "test_embedded_table",
    "test_edge_supernet",
    "test_studies",
    "test_every_option_has_an_effect",
    "test_site",
    "test_examples",
)
"""Modules of 15 s and more. The processes of xdist take one after another; a long one at the end would keep one of them
busy alone."""


def pytest_xdist_auto_num_workers() -> int:
    """Use one process more than there are cores: tests of processes and clusters wait most of their time."""
    return usable_cores() + 1


def pytest_collection_finish() -> None:
    garbage.collect_rarely()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest modules first."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(scope="session")
def real_cells() -> Path:
    """The bundled 27,001 real cells of NAS-Bench-101 with their hashes."""
    return PACKAGE_DATA / "sources" / "nb101_partial_val.npz"


@pytest.fixture(scope="session")
def shared() -> Path:
    """More real data, in a folder next to the developers' checkouts; required if CI announces it."""
    folder = CHECKOUT.parent / "shared" / "data"
    if not folder.is_dir():
        assert not os.environ.get("NB1SHOT1_SHARED_IS_HERE"), f"{folder} is missing"
        pytest.skip(f"{folder} is not here: this test compares with data that only the developers have")
    return folder


@pytest.fixture(scope="session", autouse=True)
def temporary_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Replace the user's data folder; distinct cells are enumerated once for all xdist processes."""
    base = tmp_path_factory.getbasetemp()
    folder = _data_folder(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NB1SHOT1_DATA", str(folder))
        yield folder


def _data_folder(base: Path) -> Path:
    folder = base / "data"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def supernets_counted_once() -> Iterator[None]:
    """Check once whether equal supernets fit in memory; a check takes half as long as building one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "supernet_size", cache(memory.supernet_size))
        yield


@pytest.fixture(scope="session", autouse=True)
def skip_search_pictures() -> Iterator[None]:
    """Skip pictures, most of a tiny search's time; processes of the fork server skip them, too."""
    with pytest.MonkeyPatch.context() as patch:
        skip_pictures(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def skip_repeated_work() -> Iterator[None]:
    """Skip waits for the disk and repeated work; forked processes skip them, too."""
    with pytest.MonkeyPatch.context() as patch:
        skip_repetitions(patch)
        yield


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_configure_node(node: Any) -> None:
    """Start one fork server for all processes of xdist, because each would spend 6 s on its imports."""
    garbage.collect_rarely()  # this process does not collect tests
    data = _data_folder(node.config._tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NB1SHOT1_DATA", str(data))  # for forked processes without an environment of their own
        warm_process.context()
    node.workerinput["fork_server"] = warm_process.address()


@pytest.fixture(scope="session", autouse=True)
def single_fork_server(pytestconfig: pytest.Config) -> Iterator[None]:
    """Only warm_process.py may start Python's single fork server, because the starter decides what it imports."""
    if found := getattr(pytestconfig, "workerinput", {}).get("fork_server"):
        warm_process.join(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forkserver, "set_forkserver_preload", lambda names: warm_process.context())
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate data folder for this test, not yet created."""
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server on this machine; it serves the folder `tmp_path / "served"`."""
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> "Iterator[browsers.Browser]":
    """A real browser, started once for a module (browser.py); without one, its tests are skipped."""
    if missing := browsers.what_is_missing():
        pytest.skip(missing)
    with browsers.launched() as found:
        yield found


@pytest.fixture
def small_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use CIFAR-10 archives with 12 images per batch instead of 10,000."""
    monkeypatch.setitem(DATA_SETS, "cifar10", replace(CIFAR10, training_images=5 * ROWS, test_images=ROWS))


@pytest.fixture(scope="session")
def official_table(real_cells: Path, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The imported small file of the official format (small_official.py)."""
    return small_table(tmp_path_factory.mktemp("small"), real_cells)


@pytest.fixture
def nasbench(official_table: Table) -> api.NASBench:
    """The drop-in for `nasbench.api` on that table."""
    return api.NASBench(official_table, seed=0)


@pytest.fixture(scope="session")
def measured_table(tmp_path_factory):
    """The s1 rows of the embedded table with made-up measured accuracies, in the official shape of 3 repeats."""
    from nasbench1shot1.tables.table import load_table

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
    meta = {"name": "measured", "version": "1", "keyed_by": "nasbench101", "datasets": ["cifar10"]}
    meta |= {"epochs": [108], "repeats": 3, "spaces": ["s1"]}
    described = dict.fromkeys(("validation_accuracy", "test_accuracy"), about)
    described["training_time"] = {"epochs": [108], "fidelity": "measured"}
    folder = tmp_path_factory.mktemp("table") / "measured"
    write_table(folder, columns, {**meta, "columns": described})
    return load_table(folder)
