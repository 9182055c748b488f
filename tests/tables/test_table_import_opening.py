"""Opening an official file: imported once and atomically, despite concurrent processes and kills."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import official_files as official
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from rich.console import Console

from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.sources import IMAGES
from nasbench1shot1.tables import importing
from nasbench1shot1.tables.formats import compact
from nasbench1shot1.tables.importing import ImportBar, import_table, open_official
from nasbench1shot1.tables.names import name_of_folder, tables_folder
from nasbench1shot1.tables.stored_columns import stored_column
from nasbench1shot1.tables.table import load_table

EXCERPT = Path(__file__).parent / "data" / "ecnas_4V9E_excerpt.tfrecord"


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def file(tmp_path: Path, real_cells: Path) -> Path:
    return official.write_file(tmp_path / "a.tfrecord", official.made_up(official.graphs_of(real_cells, slice(0, 30))))


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were imported."""
    done: list[Path] = []

    def counted(path: Path, *rest: object, **named: object) -> object:
        done.append(path)
        return import_table(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(importing, "import_table", counted)
    return done


def tables() -> list[str]:
    return sorted(path.name for path in tables_folder().iterdir() if path.name != ".locks")


def test_reopening_imports_nothing(file: Path, imports: list[Path]) -> None:
    said: list[str] = []
    first = open_official(file, report=said.append)
    assert said[0].startswith(f"importing {file} into {tables_folder() / 'a-'}")
    assert len(said) == 2
    assert open_official(str(file), report=said.append).id == first.id
    assert (len(said), imports, len(tables())) == (2, [file], 1)


def test_a_changed_file_is_imported_again(file: Path, imports: list[Path]) -> None:
    first = open_official(file)
    content = file.read_bytes()
    short = len(content) // 30  # about the first cell
    official.write_file(file, official.made_up([official.Graph(*_graph(first))]))
    assert file.stat().st_size == pytest.approx(short, rel=0.2)
    second = open_official(file)
    assert (len(first), len(second)) == (30, 1)
    os.utime(file, ns=(1, 1))
    assert open_official(file).id == second.id
    assert len(imports) == 3


def _graph(table: object) -> tuple[str, str, str, int]:
    cell = table.cell(0)  # type: ignore[attr-defined]
    bits = "".join(str(int(digit)) for row in cell.matrix for digit in row)
    return cell.hash, bits, ",".join(cell.ops), 1_000_000


def test_a_table_made_by_table_import_is_opened(file: Path, imports: list[Path]) -> None:
    import_table(file, tables_folder() / "a")
    assert open_official(file).info()["folder"] == str(tables_folder() / "a")
    assert (imports, tables()) == ([], ["a"])


def test_a_damaged_table_is_imported_again(file: Path, imports: list[Path]) -> None:
    first = open_official(file)
    column = Path(first.info()["folder"]) / "test_accuracy.npy"
    column.write_bytes(column.read_bytes()[:-1])
    assert open_official(file).id == first.id
    (Path(first.info()["folder"]) / "meta.json").write_text("[]")
    with refuses(InvalidInputError, "None"):
        load_table(first.info()["folder"])
    assert open_official(file).id == first.id
    assert len(imports) == 3


def test_folders_and_names_are_opened_without_import(file: Path, tmp_path: Path) -> None:
    import_table(file, tmp_path / "t")
    import_table(file, tables_folder() / "mine")
    assert open_official(tmp_path / "t").id == open_official("mine").id == open_official(file).id
    with pytest.raises(InvalidInputError, match="table"):
        open_official(tmp_path / "none")
    with pytest.raises(InvalidInputError, match=r"none\.tfrecord.*only108"):
        open_official(tmp_path / "none.tfrecord")


@pytest.mark.parametrize("kind", ["file", "archive"])
def test_a_name_that_also_means_its_source_is_replaced_by_the_folder_of_the_table(
    kind: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without a suffix, or the folder of an archive, hides the table of its name in the current folder."""
    monkeypatch.chdir(tmp_path)
    here, folder = Path("mydata"), tables_folder() / "mydata"
    if kind == "file":
        here.write_bytes(file.read_bytes())
        import_table(here, folder, report=lambda line: None)
    else:
        here.mkdir()
        (here / "meta.pickle.pbz2").touch()
    for named in ("mydata", "./mydata"):
        with refuses(InvalidInputError, here.absolute(), folder, "current folder"):
            load_table(named)
    if kind == "file":
        assert load_table(str(folder)).id == load_table(name_of_folder(folder)).id
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(InvalidInputError, match=r"then give the table's name, mydata$"):
        load_table(tmp_path / "mydata")


def test_real_records_of_another_project_are_imported(capsys: pytest.CaptureFixture[str]) -> None:
    """Original bytes of EC-NAS, with energy in a field where NAS-Bench-101 has a path."""
    table = open_official(EXCERPT)
    assert (len(table), table.epochs, table.repeats) == (2, (4, 12, 36, 108), 3)
    metrics = table.query("5529e1779433733d1145e20de5d8604e", epochs=36, run=0)
    assert (metrics.validation_accuracy, metrics.test_accuracy) == (0.9174679517745972, 0.9093549847602844)
    assert (metrics.training_time, metrics.train_accuracy) == (668.5900268554688, 0.9977964758872986)
    assert metrics.trainable_parameters == 3_468_426
    assert "half-way" in capsys.readouterr().err


# Concurrent and killed processes ---------------------------------------------------------------------------------

OPEN = """
import sys
from nasbench1shot1.tables.importing import open_official
print(open_official(sys.argv[1]).id)
"""

STOP_WHILE_READING = """
import sys, time
from pathlib import Path
from nasbench1shot1.tables.importing import open_official
def stop(doing, fraction):
    Path(sys.argv[2]).touch()
    time.sleep(600)
open_official(sys.argv[1], progress=stop)
"""

STOP_WHILE_WRITING = """
import sys, time
from pathlib import Path
from nasbench1shot1.tables import writing
from nasbench1shot1.tables.importing import open_official
digests = []
def stop(path, real=writing.sha256):
    if path.parent.suffix == ".part":
        digests.append(path)
    if len(digests) == 5:
        Path(sys.argv[2]).touch()
        time.sleep(600)
    return real(path)
writing.sha256 = stop
open_official(sys.argv[1])
"""


def process(code: str, *arguments: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(line, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_concurrent_processes_import_a_file_once(file: Path) -> None:
    running = [process(OPEN, file) for _ in range(3)]
    said = [one.communicate() for one in running]
    assert [one.returncode for one in running] == [0, 0, 0], said
    assert {out for out, _ in said} == {open_official(file).id + "\n"}
    assert sum("NAS-Bench-101" in error for _, error in said) == 1
    assert len(tables()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize("code", [STOP_WHILE_READING, STOP_WHILE_WRITING], ids=["reading", "writing"])
def test_a_killed_import_leaves_no_partial_table(code: str, file: Path, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    with process(code, file, reached) as running:
        while not reached.exists():
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
    left = tables()
    assert all(name.startswith(".") for name in left), "no table that a later process could take for whole"
    assert len(left) == (1 if code is STOP_WHILE_WRITING else 0)
    assert len(open_official(file)) == 30
    assert [name for name in tables() if name.startswith(".")] == []


def test_a_killed_import_keeps_the_old_table(file: Path, tmp_path: Path) -> None:
    old = open_official(file)
    folder = Path(old.info()["folder"])
    reached = tmp_path / "reached"
    code = STOP_WHILE_WRITING.replace("open_official(sys.argv[1])", "import_table(sys.argv[1], sys.argv[3])")
    code = code.replace("import open_official", "import import_table")
    with process(code, file, reached, folder) as running:
        while not reached.exists():
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        running.kill()
    assert load_table(folder).id == old.id
    shutil.rmtree(folder)
    assert open_official(file).id == old.id


# The progress bar ------------------------------------------------------------------------------------------------


def test_the_bar_counts_bytes_read_and_then_names_the_current_step() -> None:
    screen = io.StringIO()
    with ImportBar(Console(file=screen, force_terminal=True, width=100)) as bar:
        assert screen.getvalue() == "", "another bar may have the screen until there is something to show"
        bar.show("reading", 0.25)
        bar.show("reading", 1.0)
        bar.show("indexing and writing", None)
    shown = screen.getvalue()
    assert "reading" in shown
    assert "indexing and writing" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1, "the cursor is back"


def test_no_bar_without_a_terminal() -> None:
    screen = io.StringIO()
    with ImportBar(Console(file=screen)) as bar:
        bar.show("reading", 0.5)
    assert screen.getvalue().strip() == ""


# Compact columns ------------------------------------------------------------------------------------------------------

doubles = st.floats(width=64, allow_nan=True, allow_infinity=True, allow_subnormal=True)
singles = st.floats(width=32)
fractions = st.integers(0, IMAGES).map(lambda count: count / IMAGES)
rounded = fractions.map(lambda fraction: float(np.float32(fraction)))


def bits(values: Any) -> list[int]:
    return np.asarray(values, np.float64).reshape(-1).view(np.uint64).tolist()


def read_back(stored: Any, about: dict[str, Any]) -> np.ndarray:
    column = stored_column(stored[:, None, None], about | {"epochs": [4]}, "validation_accuracy")
    return column.values(np.arange(len(stored)), 4, 0)


@pytest.mark.parametrize("images", [IMAGES, None])
@given(values=st.lists(st.one_of(doubles, singles, fractions, rounded), min_size=1))
def test_any_array_is_restored_bit_for_bit(images: int | None, values: list[float]) -> None:
    assert bits(read_back(*compact(np.array(values), images))) == bits(values)


@given(st.lists(fractions, min_size=1))
def test_quotients_are_stored_as_counts(values: list[float]) -> None:
    stored, about = compact(np.array(values), IMAGES)
    assert stored.dtype == np.uint16
    assert about["images"] == IMAGES
    assert bits(read_back(stored, about)) == bits(values)


@given(st.lists(rounded, min_size=1))
def test_float32_quotients_are_stored_as_marked_counts(values: list[float]) -> None:
    stored, about = compact(np.array([*values, float(np.float32(1 / 3))]), IMAGES)
    assert (stored.dtype, about) == (np.uint16, {"images": IMAGES, "rounded": "float32"})
    assert bits(read_back(stored, about)[:-1]) == bits(values)


def test_every_count_is_restored() -> None:
    every = np.arange(IMAGES + 1) / IMAGES
    for values in (every, every.astype(np.float32).astype(np.float64)):
        stored, about = compact(values, IMAGES)
        assert stored.tolist() == list(range(IMAGES + 1))
        assert bits(read_back(stored, about)) == bits(values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.5, 1 / 3], np.uint16),
        ([0.5, float(np.float32(1 / 3))], np.uint16),
        ([0.5, 1 / 10_000], np.float64),
        ([0.5, float(np.float32(1 / 10_000))], np.float32),
        ([1 / 7, float(np.float32(1 / 13))], np.float64),
        ([-0.0], np.float32),
        ([1.0, 2.0], np.float32),
        ([float("nan")], np.float32),
        ([1e300], np.float64),
    ],
)
def test_the_smallest_storage_is_chosen(values: list[float], kind: type) -> None:
    stored, _ = compact(np.array(values), IMAGES)
    assert stored.dtype == kind


def test_seconds_are_not_stored_as_counts_of_images() -> None:
    stored, about = compact(np.array([0.0, 0.5, 1.0]))
    assert (stored.dtype, about) == (np.float32, {})


def test_a_folder_in_no_known_format_is_not_said_to_be_missing(tmp_path):
    with pytest.raises(InvalidInputError, match=str(tmp_path)) as caught:
        open_official(tmp_path / "missing.tfrecord")
    missing = str(caught.value).partition(str(tmp_path))[0]
    (tmp_path / "folder.pth").mkdir()
    for folder in (tmp_path, tmp_path / "folder.pth"):
        with pytest.raises(InvalidInputError, match=str(folder)) as caught:
            import_table(folder, tmp_path / "table")
        assert str(caught.value).partition(str(tmp_path))[0] != missing


def test_table_info_shows_the_fidelity_at_every_budget(capsys):
    main(["table", "info"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "validation_accuracy at" in line]
    assert len(lines) == len(load_table().epochs) == 4
