"""A figure whose drawing or whose copying of records is stopped, fails, or meets other files and commands."""

import errno
import os
import shutil
import tempfile
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from made_records import read_packed_files, write_packed
from refusals import exits, refuses
from rich.console import Console
from tiny_figures import JOBS, ONLY, refuse_jobs, run_jobs_here, shrink

from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction import records, reproducing
from nasbench1shot1.experiments.reproduction.figure_jobs import Reproduction
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.jobs import pool
from nasbench1shot1.runs.lock import locked

RUNS = JOBS[::2]  # the seeds of the first curve
FIGURE = {"figure.json"}


def call(out: Path, **options) -> Path:
    return reproduce(
        "figure12",
        scale="quick",
        only=[ONLY[0]],
        out=out,
        console=Console(quiet=True),
        **{"epochs": 1, **options},
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("faults") / "figure12"
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        run_jobs_here(patch)
        call(out, pack=out.parent / "records.tar.xz")
    return out


@pytest.fixture
def packed(finished) -> Path:
    return finished.parent / "records.tar.xz"


@pytest.fixture(autouse=True)
def no_search(monkeypatch) -> None:
    shrink(monkeypatch)
    run_jobs_here(monkeypatch)
    refuse_jobs(monkeypatch)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def runs(out: Path) -> set[str]:
    """The folders that hold a run, or what is left of one."""
    names = {path.relative_to(out).parent for path in out.rglob("*") if path.is_file()}
    return {str(name) for name in names if len(name.parts) == 3 and not name.name.startswith(".")}


def without_pictures(finished: Path, out: Path) -> Path:
    """The figure before it was drawn."""
    shutil.copytree(finished, out)
    for path in out.glob("figure12*"):
        path.unlink()
    return out


# Drawing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["save_figure", "write_records"])
def test_ctrl_c_after_the_runs_says_where_they_are(step, finished, tmp_path, monkeypatch):
    out = without_pictures(finished, tmp_path / "out")

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stopped:
        patch.setattr(reproducing, step, stop)
        call(out, pack=tmp_path / "records.tar.xz")
    assert str(out) in str(stopped.value)
    call(out, pack=tmp_path / "records.tar.xz")
    assert files(out) == files(finished)
    assert (tmp_path / "records.tar.xz").read_bytes() == (finished.parent / "records.tar.xz").read_bytes()


def test_ctrl_c_counts_more_than_records_that_cannot_be_written(finished, tmp_path, monkeypatch):
    out = without_pictures(finished, tmp_path / "out")
    monkeypatch.setattr(reproducing, "save_figure", Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr(reproducing, "write_records", Mock(side_effect=UserError("no space")))
    with pytest.raises(KeyboardInterrupt) as stopped:
        call(out, pack=tmp_path / "records.tar.xz")
    assert str(out) in str(stopped.value)


def test_a_figure_that_cannot_be_drawn_leaves_no_files(finished, tmp_path):
    out = without_pictures(finished, tmp_path / "out")
    before = files(out)
    with refuses(InvalidInputError, "2 labels"):
        call(out, labels=["one", "two"])
    assert files(out) == before


@pytest.mark.parametrize("draw_only", [False, True])
def test_finished_runs_without_results_are_an_error(draw_only, finished, tmp_path, monkeypatch):
    """For example, if all searches of a study diverged."""
    out = without_pictures(finished, tmp_path / "out")
    before = files(out)
    monkeypatch.setattr(Reproduction, "results", lambda *_: None)
    with refuses(UserError, out, "searches", options=""):
        call(out, draw_only=draw_only)
    assert files(out) == before


@pytest.mark.parametrize("number", range(4), ids=["table", "values", "picture", "records"])
def test_a_full_disk_leaves_whole_files_and_repeating_draws_the_rest(number, finished, tmp_path, monkeypatch):
    out, target, written = without_pictures(finished, tmp_path / "out"), tmp_path / "records.tar.xz", list[Path]()

    def until_full(descriptor: int) -> None:
        written.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        if len(written) > number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", until_full)
        with refuses(UserError, "no space left"):
            call(out, pack=target)
    whole = files(finished)
    assert files(out).items() <= whole.items()
    assert all((out / name).exists() for name in whole if not name.startswith("figure12"))
    call(out, pack=target)
    assert files(out) == whole and target.read_bytes() == (finished.parent / "records.tar.xz").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"out", "records.tar.xz"}


def test_a_run_that_is_complete_except_for_its_pictures_is_named_with_the_command_that_draws_them(
    finished, tmp_path, monkeypatch
):
    out = without_pictures(finished, tmp_path / "out")
    shutil.rmtree(out / RUNS[1])

    def fail_after_the_summary(jobs, *_):
        shutil.copytree(finished / RUNS[1], out / RUNS[1])
        return {RUNS[1]: "the disk is full"}

    with monkeypatch.context() as patch:
        patch.setattr(reproducing, "run_jobs", fail_after_the_summary)
        with refuses(UserError, "the disk is full", f"nb1shot1 report {out / RUNS[1]}"):
            call(out)
    assert call(out).exists()


def deny(monkeypatch, folder: Path) -> None:
    """Refuse to create anything directly in a folder; permissions do not bind root."""
    real = tempfile.TemporaryFile

    def refused(*, dir):
        if Path(dir) == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return real(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)


def test_a_folder_that_cannot_be_written_is_refused_before_the_runs(finished, tmp_path, monkeypatch):
    out = without_pictures(finished, tmp_path / "out")
    shutil.rmtree(out / RUNS[1])
    deny(monkeypatch, out)
    with refuses(UserError, out, "Permission denied"):
        call(out)


def test_a_folder_may_be_in_one_that_cannot_be_written(finished, tmp_path, monkeypatch):
    out = without_pictures(finished, tmp_path / "out")
    deny(monkeypatch, tmp_path)
    assert call(out).exists()


# Records --------------------------------------------------------------------------------------------------------------


def test_files_of_others_in_the_folder_of_a_run_are_kept(packed, tmp_path):
    mine = tmp_path / "out" / RUNS[1] / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with refuses(InvalidInputError, mine.parent, options="out"):
        call(tmp_path / "out", records=packed)
    assert files(tmp_path / "out") == {f"{RUNS[1]}/mine.txt": b"mine"}


def test_records_replace_what_a_killed_process_left_before_it_recorded_its_options(finished, packed, tmp_path):
    left = tmp_path / "out" / RUNS[1] / "environment.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    call(tmp_path / "out", records=packed)
    assert left.read_bytes() == (finished / RUNS[1] / "environment.json").read_bytes()


def fail_at_the_second_run(monkeypatch, before=lambda: None, error: BaseException | None = None) -> None:
    unpack = records.PackedRecords.unpack

    def until_the_second(self, job, folder):
        if job == RUNS[1]:
            before()
            raise UserError("the disk is full") if error is None else error
        unpack(self, job, folder)

    monkeypatch.setattr(records.PackedRecords, "unpack", until_the_second)


def test_a_second_ctrl_c_while_copied_records_are_removed_leaves_whole_runs(finished, packed, tmp_path, monkeypatch):
    def stop_after_the_first_file(folder, *_, **__):
        if found := sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            found[0].unlink()
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        fail_at_the_second_run(patch, error=KeyboardInterrupt())
        patch.setattr(shutil, "rmtree", stop_after_the_first_file)
        call(out, records=packed)
    for left in out.rglob("*.part"):  # of a process that has ended
        left.rename(left.with_name(left.name.replace(f".{os.getpid()}.", ".99999999.")))
    call(out, records=packed)
    for name in (f"figure12-{ONLY[0].replace('/', '-')}.{kind}" for kind in ("csv", "png", "md")):
        assert (out / name).read_bytes() == (finished / name).read_bytes()
    assert runs(out) == set(RUNS) and not list(out.rglob(".*"))


def test_failed_records_do_not_remove_what_another_command_has_written(packed, tmp_path, monkeypatch):
    mine = tmp_path / "out" / "s1" / "mine.txt"

    def write() -> None:
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")

    fail_at_the_second_run(monkeypatch, write)
    with refuses(UserError, "the disk is full"):
        call(tmp_path / "out", records=packed)
    assert files(tmp_path / "out") == {"s1/mine.txt": b"mine"}


def test_records_are_not_copied_while_another_command_writes(packed, tmp_path):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"), refuses(InvalidInputError, tmp_path / "out"):
        call(tmp_path / "out", records=packed)
    assert not list((tmp_path / "out").iterdir())


def test_records_are_not_copied_beside_a_run_with_other_options(finished, packed, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished / RUNS[1], out / RUNS[1])
    config = out / RUNS[1] / "config.json"
    config.write_text(config.read_text().replace('"epochs": 1', '"epochs": 2'))
    with refuses(InvalidInputError, out / RUNS[1], options="epochs out"):
        call(out, records=packed)
    assert runs(out) == {RUNS[1]}


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_a_damaged_file_in_records_is_an_error_about_the_records(name, packed, tmp_path):
    path, content = tmp_path / "damaged.tar.xz", read_packed_files(packed)
    write_packed(path, {**content, f"{RUNS[1]}/{name}": b"{\n"})
    with refuses(DamagedFileError, f"{path} has a damaged record", RUNS[1], name):
        call(tmp_path / "out", records=path)
    assert not (tmp_path / "out").exists()


def test_records_are_not_copied_without_the_table(packed, tmp_path):
    with refuses(InvalidInputError, "no-table"):
        call(tmp_path / "out", records=packed, table=str(tmp_path / "no-table"))
    assert not (tmp_path / "out").exists()


# Commands at the same time --------------------------------------------------------------------------------------------


def test_a_folder_that_another_figure_has_taken_meanwhile_is_refused(finished, tmp_path, monkeypatch):
    """The other command has ended before this one takes the lock."""
    out = tmp_path / "out"

    def announce(*_):
        out.mkdir()
        (out / "figure.json").write_text('{"figure": "figure10"}')

    monkeypatch.setattr(reproducing, "_announce", announce)
    with refuses(InvalidInputError, out, "figure10", "figure12", options="out"):
        call(out)
    assert {path.name for path in out.iterdir()} == FIGURE


def test_interrupted_jobs_leave_no_tokens(tmp_path):
    """A queued job whose token is gone does not start any more."""
    jobs = [pool.Job(name=name, command="", folder=tmp_path / name) for name in ("one", "two")]
    workers = SimpleNamespace(count=1, submit=lambda job, token: Future())

    class Interrupted(pool.Watcher):
        def tick(self, waiting) -> None:
            assert all(job.token_file.exists() for job in waiting) and len(waiting) == 2
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pool, "TICK_EVERY", 0)
        pool.run_jobs(jobs, workers, Interrupted())
    assert not list(tmp_path.iterdir())


# Arguments ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argument", ["--scale quick", "--records records.tar.xz", "--pack records.tar.xz"])
def test_options_without_a_figure_are_refused(argument, capsys):
    with exits(capsys, argument.split()[0], "reproduce figure2"):
        cli.main(["reproduce", *argument.split()])


@pytest.mark.parametrize(("name", "why"), [("missing", "No such file or directory"), ("", "it is a folder")])
def test_records_that_cannot_be_read_are_named_once(name, why, tmp_path):
    path = tmp_path / name
    with refuses(InvalidInputError, f"{path} cannot be read ({why})", options="pack"):
        call(tmp_path / "out", records=path)
