"""Folder replacement: kills at the worst moment and concurrent readers. JSON nested too deeply."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refuses

from nasbench1shot1.ground import folder_swap
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import atomic_folder, check_replaceable, read_json
from nasbench1shot1.ground.folder_swap import read_consistently, recover_folder, temporary_sibling

ONE_STEP = pytest.param(True, id="one-step")
TWO_RENAMES = pytest.param(False, id="two-renames")

COMMON = """
import os, signal, sys, time
from pathlib import Path
from nasbench1shot1.ground import folder_swap
from nasbench1shot1.ground.files import atomic_folder
folder, in_one_step = Path(sys.argv[1]), sys.argv[2] == "True"
if not in_one_step:
    folder_swap._try_exchange = lambda new, folder: False
def write(text):
    with atomic_folder(folder) as beside:
        for name in "abc":
            (beside / name).write_text(text)
"""
KILLED = """
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def rename(path, target, real=Path.rename):
    return die() if path.suffix == ".part" else real(path, target)
Path.rename = rename
if in_one_step:
    folder_swap.shutil.rmtree = die
write("new")
"""
LOOP = """
for turn in range(150):
    write(f"{turn} " * (turn % 7))
"""


def process(code: str, *arguments: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", COMMON + code, *map(str, arguments)]
    return subprocess.Popen(line, text=True, env=environment, stderr=subprocess.PIPE)


def write(folder: Path, text: str) -> None:
    with atomic_folder(folder) as beside:
        for name in "abc":
            (beside / name).write_text(text)


REPLACE: tuple[Callable[[Path], None], ...] = (check_replaceable, lambda folder: write(folder, "new"))


def read(folder: Path) -> str:
    texts = {(folder / name).read_text() for name in "abc"}
    assert len(texts) == 1
    return texts.pop()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("in_one_step", [ONE_STEP, TWO_RENAMES])
@pytest.mark.parametrize("first", ["reader", "writer"])
def test_a_kill_during_the_swap_loses_nothing(tmp_path: Path, in_one_step: bool, first: str) -> None:
    folder = tmp_path / "kept"
    write(folder, "old")
    with process(KILLED, folder, in_one_step) as running:
        running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2, "it was killed while one folder was set aside"
    if first == "reader":
        assert recover_folder(folder)
        assert read_consistently(folder, read) == ("new" if in_one_step else "old")
    write(folder, "newest")
    assert read(folder) == "newest"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("in_one_step", [ONE_STEP, TWO_RENAMES])
def test_a_reader_always_finds_one_complete_folder_during_a_swap(tmp_path: Path, in_one_step: bool) -> None:
    folder = tmp_path / "kept"
    write(folder, "")
    with process(LOOP, folder, in_one_step) as running:
        reads = 0
        while running.poll() is None:
            read_consistently(folder, read)
            reads += 1
        assert (running.communicate()[1], reads > 0) == ("", True)
    assert read(folder) == "149 149 "
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("in_one_step", [ONE_STEP, TWO_RENAMES])
def test_two_concurrent_writers_both_succeed(tmp_path: Path, in_one_step: bool) -> None:
    running = [process(LOOP, tmp_path / "kept", in_one_step) for _ in range(2)]
    assert [one.communicate()[1] for one in running] == ["", ""]
    assert read(tmp_path / "kept") == "149 149 "
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.skipif(sys.platform != "linux", reason="atomic exchange of folders exists only on Linux")
def test_the_folder_exists_at_every_moment_of_a_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "kept", "old")
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("two renames leave a moment between them"))
    write(tmp_path / "kept", "new")
    assert read(tmp_path / "kept") == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("in_one_step", [ONE_STEP, TWO_RENAMES])
def test_a_folder_that_is_replaced_keeps_its_permissions_and_group(
    tmp_path: Path, in_one_step: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_one_step:
        monkeypatch.setattr(folder_swap, "_try_exchange", lambda new, folder: False)
    shared = tmp_path / "kept"
    shared.mkdir()
    group = 12_345 if os.getuid() == 0 else shared.stat().st_gid
    os.chown(shared, -1, group)
    shared.chmod(0o2770)
    write(shared, "new")
    about = shared.stat()
    assert (about.st_mode & 0o7777, about.st_gid) == (0o2770, group)
    assert (shared / "a").stat().st_gid == group, "its files inherit the group"


@pytest.mark.parametrize("current", ["kept", "kept/below"])
def test_the_current_folder_is_not_replaced(tmp_path: Path, current: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / current)
    for replace in REPLACE:
        with refuses(InvalidInputError, f"'{tmp_path / 'kept'}'", "current folder"):
            replace(tmp_path / "kept")
    write(tmp_path / "kept" / "below" / "new", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_mount_point_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "volume").mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "volume")
    for replace in REPLACE:
        with refuses(InvalidInputError, f"'{tmp_path / 'volume'}'", "mount point"):
            replace(tmp_path / "volume")
    write(tmp_path / "volume" / "new", "new")


def test_a_folder_with_a_similar_name_is_not_restored(tmp_path: Path) -> None:
    temporary_sibling(tmp_path / "a.b", ".old").mkdir()
    temporary_sibling(tmp_path / "ab", ".old").mkdir()
    assert not recover_folder(tmp_path / "a")
    assert recover_folder(tmp_path / "a.b")


def test_a_failed_swap_keeps_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, target: Path, real=Path.rename) -> Path:
        if path.suffix == ".part":
            raise PermissionError(13, "Permission denied")
        return real(path, target)

    write(tmp_path / "kept", "old")
    monkeypatch.setattr(folder_swap, "_try_exchange", lambda new, folder: False)
    monkeypatch.setattr(Path, "rename", refuse)
    with refuses(UserError, tmp_path / "kept"):
        write(tmp_path / "kept", "new")
    assert read(tmp_path / "kept") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_errors_propagate_when_nothing_was_replaced(tmp_path: Path) -> None:
    write(tmp_path / "kept", "old")
    (tmp_path / "kept" / "b").unlink()
    with pytest.raises(FileNotFoundError):
        read_consistently(tmp_path / "kept", read)
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(FileNotFoundError):
        read_consistently(tmp_path / "kept", read)


def test_json_nested_too_deeply_is_reported_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with refuses(DamagedFileError, tmp_path / "deep.json", "JSON"):
        read_json(tmp_path / "deep.json")
