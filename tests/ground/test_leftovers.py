"""Temporary files of killed processes are removed when a file is written next to them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nasbench1shot1.ground.files import atomic_write, check_writable
from nasbench1shot1.ground.folder_swap import machine_name


def ended_process() -> int:
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def test_temporary_files_of_killed_processes_are_removed_at_the_next_write(tmp_path: Path) -> None:
    if (child := os.fork()) == 0:
        with atomic_write(tmp_path / "cells.png") as file:
            file.write(b"half")
            file.flush()
            os._exit(0)
    os.waitpid(child, 0)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    with atomic_write(tmp_path / "other.json") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_a_check_that_a_folder_can_be_written_never_has_an_entry_in_it(tmp_path: Path) -> None:
    """A process may be killed at any moment of the check."""
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except OSError:
        pytest.skip("this file system has no unnamed files")
    seen = list[str]()

    def look(frame: object, event: str, argument: object) -> None:
        sys.setprofile(None)
        seen.extend(path.name for path in tmp_path.iterdir())
        sys.setprofile(look)

    sys.setprofile(look)
    try:
        check_writable(tmp_path / "new" / "run")
    finally:
        sys.setprofile(None)
    assert seen == []


def test_temporary_files_of_other_processes_and_machines_are_kept(tmp_path: Path) -> None:
    pid = ended_process()
    kept = [
        f".a.{machine_name()}.{os.getpid()}.part",
        f".a.elsewhere.{pid}.part",
        "a.part",
        f"a.{machine_name()}.{pid}",
    ]
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / f".a.{machine_name()}.{pid}.part").touch()
    (tmp_path / f".b.{machine_name()}.{pid}.0123abcd.part").mkdir()  # a folder, which its next writer removes
    with atomic_write(tmp_path / "b") as file:
        file.write(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "b", f".b.{machine_name()}.{pid}.0123abcd.part"}
