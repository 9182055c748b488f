"""Seeds in worker processes: bit-identical to sequential runs despite kills, interruptions and resuming."""

import shutil
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import stalling_search
from forked_jobs import fork_jobs
from refusals import exits, missing, refuses
from rich.console import Console
from same_search import assert_same_search
from tiny_search import TINY

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.ground.errors import RunStoppedError
from nasbench1shot1.jobs import pool, process
from nasbench1shot1.one_shot_search import options as search_options_module
from nasbench1shot1.one_shot_search import seeds
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.runs.lock import locked

QUIET = Console(quiet=True)
SMALL = {**TINY, "epochs": 2}
FULL = {"scale": "full", "images": "cifar10-sample"}


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return nb.search_seeds([0, 1], out=tmp_path_factory.mktemp("serial") / "group", console=QUIET, **SMALL)


@pytest.fixture
def forked(monkeypatch):
    fork_jobs(monkeypatch)


def wait_for_lines(folder, lines):
    deadline = time.monotonic() + 120
    while len(read_lines(folder / METRICS)) < lines:
        assert time.monotonic() < deadline, f"{folder} does not record {lines} lines"
        time.sleep(0.01)


def assert_same_runs(runs, others):
    assert len(runs) == len(others)
    for run, other in zip(runs, others, strict=True):
        assert_same_search(run, other)


def test_parallel_seeds_give_bit_identical_results_to_sequential_ones(serial, forked, tmp_path, capsys):
    folder = tmp_path / "group"
    runs = nb.search_seeds([0, 1], out=folder, workers=2, tensorboard=True, **SMALL)
    assert_same_runs(runs, serial)
    assert all(len(list(run.folder.glob("tensorboard/events.*"))) == 1 for run in runs)
    said = capsys.readouterr().out
    assert not missing(said, "2 at", "1 thread", "paper")
    assert [line[:5] for line in said.splitlines() if "seed " in line] == ["  1/2", "  2/2"]
    assert (folder / "regret.png").stat().st_size > 0
    more = nb.search_seeds([], resume=folder, workers=2, epochs=3, console=QUIET)
    assert [len(run.lines) for run in more] == [4, 4]
    assert [run.is_finished for run in more] == [True, True]


def test_a_killed_worker_does_not_affect_others_and_its_seed_can_be_resumed(serial, forked, tmp_path, monkeypatch):
    folder, real = tmp_path / "group", process.send

    def kill_the_first(job, running, *arguments):
        if job.name != "seed 0":
            return real(job, running, *arguments)
        real(replace(job, command=stalling_search.COMMAND), running, *arguments)
        wait_for_lines(job.folder, 2)
        running.end()

    with monkeypatch.context() as patch, refuses(nb.UserError, 0, 9, folder, options="resume workers"):
        patch.setattr(process, "send", kill_the_first)
        nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, **SMALL)
    assert [run.is_finished for run in nb.load_run(folder).runs] == [False, True]
    assert_same_runs(nb.search_seeds(resume=folder, console=QUIET), serial)


def test_ctrl_c_stops_all_workers_and_the_group_can_be_resumed(serial, forked, tmp_path, monkeypatch):
    folder = tmp_path / "group"

    def interrupt(self, waiting):
        if any(len(read_lines(job.folder / METRICS)) > 1 for job in waiting):
            raise KeyboardInterrupt

    command = f"search --resume {folder} --workers 2"
    with monkeypatch.context() as patch, pytest.raises(RunStoppedError) as stop:
        patch.setattr(seeds.SeedsProgress, "tick", interrupt)
        patch.setattr(seeds, "SEARCH", stalling_search.COMMAND)
        nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, **SMALL)
    assert (stop.value.folder, f'resume="{folder}", workers=2' in str(stop.value)) == (folder, True)
    cli.main(command.split())
    assert_same_runs(nb.load_run(folder).runs, serial)


def test_only_the_seed_that_another_process_writes_fails(forked, tmp_path, monkeypatch):
    folder, real = tmp_path / "group", process.send
    with ExitStack() as locks:

        def lock_second_seed(job, *arguments):
            if job.name == "seed 1":
                job.folder.mkdir()
                locks.enter_context(locked(job.folder))
            return real(job, *arguments)

        monkeypatch.setattr(process, "send", lock_second_seed)
        monkeypatch.setattr(pool, "ENDS_WITHIN", 0.5)
        with refuses(nb.UserError, 1, folder / "seed-1"):
            nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, **SMALL)
    (run,) = nb.load_run(folder).runs
    assert (run.config["seed"], run.is_finished) == (0, True)


@pytest.mark.parametrize("moment", ["config.json", "checkpoint.pt"])
def test_the_error_about_a_dead_worker_names_the_group(serial, forked, tmp_path, monkeypatch, moment):
    folder, real = Path(shutil.copytree(serial[0].folder.parent, tmp_path / "group")), process.send

    def kill(job, *arguments):
        return real(replace(job, command=f"dying_search:after_{moment.partition('.')[0]}"), *arguments)

    monkeypatch.setattr(process, "send", kill)
    with refuses(nb.UserError, 9) as stop:
        nb.search_seeds([7, 8], out=folder, workers=2, overwrite=True, console=QUIET, **SMALL)
    is_new = moment == "checkpoint.pt"
    assert nb.load_run(folder).seeds == ((7, 8) if is_new else (0, 1))
    assert stop.value.options == (("resume", "workers") if is_new else ())


def test_a_group_that_cannot_start_is_refused(forked, tmp_path):
    folder = tmp_path / "group"
    (folder / "seed-1").mkdir(parents=True)
    with refuses(nb.InvalidInputError, folder):
        nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, **SMALL)
    (folder / "seed-1").rmdir()

    def meanwhile(*_):
        raise AssertionError("no process may start")

    with refuses(nb.InvalidInputError, "callbacks", options="workers"):
        nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, callbacks=[meanwhile], **SMALL)
    with locked(folder), refuses(nb.InvalidInputError, folder):
        nb.search_seeds([0, 1], out=folder, workers=2, console=QUIET, **SMALL)


def test_the_traceback_is_printed_if_a_group_without_a_search_is_removed(forked, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(seeds, "SEARCH", "light_run:fail_at_once")
    with refuses(nb.UserError, 0, "ZeroDivisionError", "mine", options=""):
        nb.search_seeds([0], out=tmp_path / "group", workers=2, console=QUIET, **SMALL)
    said = capsys.readouterr().err
    assert said.startswith("Traceback") and "in fail_at_once" in said
    assert list(tmp_path.iterdir()) == []


def test_workers_without_a_seed_reserve_no_cores(forked, tmp_path, monkeypatch):
    monkeypatch.setattr(search_options_module, "usable_cores", lambda: 8)
    options = {name: value for name, value in {**SMALL, **FULL}.items() if name != "threads"}
    _, wanted = seeds._new_group([0, 1], tmp_path / "group", options, 8)
    assert [each.common.threads for each in wanted] == [4, 4]


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, 4), (2, 6, 1), (5, 2, 2)])
def test_the_cores_are_divided_among_the_workers(monkeypatch, cores, workers, threads):
    monkeypatch.setattr(search_options_module, "usable_cores", lambda: cores)
    options = {name: value for name, value in {**TINY, **FULL}.items() if name != "threads"}
    assert seeds.with_threads(options, workers)["threads"] == threads
    assert seeds.with_threads({**options, "scale": "quick"}, workers)["threads"] == 1
    assert seeds.with_threads(TINY, workers) == TINY
    assert seeds.with_threads(options, 1) == options


BAD = {
    "no workers": ({"workers": 0}, "workers must be at least 1"),
    "workers as text": ({"workers": "two"}, "workers must be a whole number, not 'two'"),
    "a fractional number of workers": ({"workers": 1.5}, "workers must be a whole number, not 1.5"),
    "missing images": ({"workers": 2, "images": "cifar100"}, "CIFAR-100 is not installed"),
    "an optimizer defined in a script": ({"workers": 2, "optimizer": "__main__:Mine"}, "is part of this script"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_before_anything_is_written(tmp_path, monkeypatch, given, sentence):
    import __main__
    from nasbench1shot1.optimizers.darts import DARTS

    monkeypatch.setattr(__main__, "Mine", DARTS, raising=False)
    with pytest.raises(nb.UserError, match=sentence):
        nb.search_seeds([0, 1], out=tmp_path / "group", console=QUIET, **{**SMALL, **given})
    assert list(tmp_path.iterdir()) == []


def test_workers_without_seeds_are_refused(tmp_path, capsys):
    with exits(capsys, "add --seeds"):
        cli.main(["search", "--out", str(tmp_path / "run"), "--workers", "2"])
