"""Folder locks: one process at a time on any machine, and take-over from dead processes."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import light_run
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.ground import files
from nasbench1shot1.runs import lock
from nasbench1shot1.runs.lifecycle import new_run
from nasbench1shot1.runs.lock import LOCK, FolderLock, locked

HOLD = """
import sys, time
from pathlib import Path
from nasbench1shot1.runs.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    """Start another process and wait until it holds the lock."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    path = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_of_a_live_process_is_respected_and_of_a_killed_one_taken_over(tmp_path):
    process = holder(tmp_path)
    with refuses(nb.InvalidInputError, tmp_path), locked(tmp_path):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()


def on_another_machine(folder: Path) -> None:
    """Rewrite the lock as if its holder ran on another machine, where its process cannot be checked."""
    text = (folder / LOCK).read_text()
    [host] = [line for line in text.splitlines() if line.startswith("host=")]
    (folder / LOCK).write_text(text.replace(host, "host=elsewhere"))


def test_a_stale_lock_from_another_machine_is_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "LEASE", 0.5)
    process = holder_with_lease(tmp_path)
    process.kill()
    process.communicate()
    on_another_machine(tmp_path)
    with locked(tmp_path):  # after the lease
        pass


def holder_with_lease(folder: Path) -> "subprocess.Popen[str]":
    """Hold the lock with the shorter lease of this test."""
    script = HOLD.replace("with locked", "from nasbench1shot1.runs import lock\nlock.LEASE = 0.5\nwith locked")
    command = [sys.executable, "-c", script, str(folder)]
    path = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=path)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_missing_folder_is_created_or_named_in_the_error(tmp_path):
    with locked(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / LOCK).exists()
    (tmp_path / "file").touch()
    with refuses(nb.UserError, tmp_path / "file" / LOCK) as caught, locked(tmp_path / "file"):
        pass
    # InvalidInputError means that another process holds the lock
    assert not isinstance(caught.value, nb.InvalidInputError)


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(filelock.SoftFileLease, "acquire", full)
    with refuses(nb.UserError, tmp_path / LOCK), locked(tmp_path):
        pass


@pytest.mark.parametrize("age", [10**9, 0])
def test_the_empty_lock_file_of_a_killed_process_is_removed(tmp_path, monkeypatch, age):
    monkeypatch.setattr(files, "EMPTY_SECONDS", 0.2)
    (tmp_path / LOCK).touch()
    os.utime(tmp_path / LOCK, (time.time() - age,) * 2)
    with locked(tmp_path):
        assert (tmp_path / LOCK).stat().st_size > 0
    (tmp_path / LOCK).touch()
    with files.file_lock(tmp_path / LOCK):
        assert (tmp_path / LOCK).stat().st_size > 0


def test_a_process_that_lost_its_lock_stops_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "LEASE", 0.3)
    held = FolderLock(tmp_path)
    held.acquire()
    held.check()
    (tmp_path / LOCK).unlink()  # as when another machine took it
    with refuses(nb.UserError, tmp_path):
        while True:  # until the next refresh detects it
            held.check()
            time.sleep(0.01)
    held.release()


def test_a_process_that_lost_its_lock_does_not_remove_the_run_of_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "LEASE", 0.3)
    folder = tmp_path / "run"
    with refuses(nb.UserError, folder), new_run(folder, light_run.LightWriter, light_run.LightRun) as writer:
        writer.describe({}, {})
        (folder / LOCK).unlink()
        while True:
            writer.append_lines([])
            time.sleep(0.01)
    assert {"config.json", "environment.json"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("step", ["break", "restore"])
def test_leftovers_of_a_killed_take_over_are_not_a_run(tmp_path, step):
    left = tmp_path / f"{LOCK}.{step}.1.{0:032x}"
    left.touch()
    light_run.run(out=tmp_path, seed=0)
    assert len(light_run.LightRun.open(tmp_path).lines) == light_run.LINES
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "locked.txt").touch()  # a name that has nothing to do with the lock
    with refuses(nb.InvalidInputError, tmp_path / "new"):
        light_run.run(out=tmp_path / "new", seed=0)


def test_a_lock_of_a_zombie_is_taken_over(tmp_path):
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    try:
        with locked(tmp_path) as taken:
            taken.check()
            assert f"pid={os.getpid()}" in (tmp_path / LOCK).read_text().splitlines()
    finally:
        process.communicate()
    assert not list(tmp_path.glob(f"{LOCK}*"))


def test_a_lock_that_was_just_taken_from_a_zombie_is_put_back(tmp_path, monkeypatch):
    held = FolderLock(tmp_path)
    held.acquire()
    text = (tmp_path / LOCK).read_text()
    zombie = [line.replace(f"pid={os.getpid()}", "pid=1") for line in text.splitlines()]
    monkeypatch.setattr(lock, "thread_states", lambda pid, start: {"Z"} if pid == 1 else {"S"})
    found = iter([zombie])  # the file changes after it was read for the first time
    monkeypatch.setattr(lock, "_lines_of", lambda path: next(found, None) or path.read_text().splitlines())
    with refuses(nb.InvalidInputError, tmp_path), locked(tmp_path):
        pass
    assert (tmp_path / LOCK).read_text() == text
    held.check()
    held.release()


@pytest.mark.parametrize("change", ["host", "start"])
def test_a_stale_lock_whose_process_cannot_be_seen_here_is_taken_over_after_the_lease(tmp_path, monkeypatch, change):
    monkeypatch.setattr(lock, "LEASE", 0.5)
    process = holder_with_lease(tmp_path)
    process.kill()
    process.communicate()
    text = (tmp_path / LOCK).read_text().replace(f"pid={process.pid}\n", f"pid={os.getpid()}\n")
    [host] = [line for line in text.splitlines() if line.startswith("host=")]
    # a container of the same name in which another process had this number; an earlier process with this number
    text = text.replace(host, f"{host.partition('?')[0]}?pidns-1") if change == "host" else text
    (tmp_path / LOCK).write_text(text)
    with locked(tmp_path):
        assert f"pid={os.getpid()}" in (tmp_path / LOCK).read_text()


@pytest.mark.parametrize("years", [-30, 30])
def test_an_empty_lock_file_is_removed_after_the_clock_jumped(tmp_path, years):
    (tmp_path / LOCK).touch()
    os.utime(tmp_path / LOCK, (time.time() + years * 3.15e7,) * 2)
    with locked(tmp_path):
        assert (tmp_path / LOCK).stat().st_size > 0
