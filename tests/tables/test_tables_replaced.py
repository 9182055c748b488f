"""A table repeatedly imported while other processes open it; the import lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_table import CELLS, official_shape

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import file_lock
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tables.writing import write_table

ONE_STEP = pytest.param(True, id="one-step")
TWO_RENAMES = pytest.param(False, id="two-renames")

WRITER = """
import os, sys
os.fsync = lambda descriptor: None  # a test need not wait for the disk
from pathlib import Path
from nasbench1shot1.ground import folder_swap
from nasbench1shot1.tables.folder import open_folder
from nasbench1shot1.tables.writing import write_table
if sys.argv[2] == "False":
    folder_swap._try_exchange = lambda new, folder: False
first = open_folder(Path(sys.argv[1]))
for turn in range(20):
    seconds = first.columns["training_time"] * 0 + turn
    columns = {**first.columns, "training_time": seconds}
    write_table(Path(sys.argv[1]), columns, first.meta | {"version": str(turn)})
"""

HOLDER = """
import sys, time
from pathlib import Path
from nasbench1shot1.ground.files import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def process(code: str, *arguments: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    line = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(line, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("in_one_step", [ONE_STEP, TWO_RENAMES])
@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
def test_a_table_is_opened_complete_during_a_reimport(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool, is_large: bool
) -> None:
    if is_large:
        monkeypatch.setattr("nasbench1shot1.tables.folder.CHECKED_AT_LOAD", 0)
    columns, meta = official_shape()
    seconds = np.full_like(columns["training_time"], 99)
    write_table(tmp_path / "t", columns | {"training_time": seconds}, meta | {"version": "99"})
    with process(WRITER, tmp_path / "t", in_one_step) as writer:
        seen = set()
        while writer.poll() is None:
            table = load_table(str(tmp_path / "t"))
            seen.add(table.version)
            times = np.unique(table.values("training_time"))
            assert table.row_of(CELLS[1]) == 1
            assert times.tolist() == [int(table.version)], "columns and description belong to one table"
        assert writer.communicate() == ("", "")
    assert load_table(tmp_path / "t").version == "19"
    assert seen


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "t.lock"
    with process(HOLDER, lock) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
    assert lock.exists()
    with file_lock(lock):
        assert lock.exists()
    assert not lock.exists()


def test_a_lock_that_cannot_be_written_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="write"), file_lock(tmp_path / "file" / "t.lock"):
        pass
