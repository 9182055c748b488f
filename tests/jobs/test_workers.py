"""Jobs in this process and in local processes; test_cluster.py tests clusters and full searches."""

import os
import shutil
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import light_run
import pytest
import stalling_search
from forked_jobs import fork_jobs
from light_run import LINES, attempts, light_job, wait_for_lines
from refusals import missing, refuses
from rich.console import Console
from same_search import assert_same_search
from tiny_search import TINY

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import option
from nasbench1shot1.jobs import pool
from nasbench1shot1.jobs.job import Ended, Job, wait_until_free
from nasbench1shot1.jobs.pool import (
    Watcher,
    WorkerOptions,
    _ThisProcess,
    places,
    run_jobs,
    this_machine,
    this_process,
)
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, read_lines
from nasbench1shot1.runs.lock import locked

SEARCH = "nasbench1shot1.one_shot_search.searching:search"


class Ends(Watcher):
    def __init__(self):
        self.ends = []

    def skipped(self, job):
        self.ends.append((job.name, "skipped"))

    def finished(self, job):
        self.ends.append(job.name)

    def failed(self, job, sentence):
        self.ends.append((job.name, sentence))


class Interrupt(Watcher):
    def tick(self, waiting):
        wait_for_lines(waiting[0].folder, 2)
        raise KeyboardInterrupt


@pytest.fixture(params=["this process", "this machine"])
def workers(request):
    with this_process() if request.param == "this process" else this_machine([{}, {}]) as opened:
        yield opened


def test_finished_jobs_are_skipped_stopped_jobs_resumed_and_failures_do_not_stop_the_others(tmp_path, workers):
    jobs = [light_job(tmp_path, "finished"), light_job(tmp_path, "stopped", fail="stop")]
    run_jobs(jobs, workers)
    jobs += [light_job(tmp_path, "bad", fail="a bad day"), light_job(tmp_path, "new", seed=1)]
    watcher = Ends()
    assert run_jobs(jobs, workers, watcher) == {"bad": "a bad day"}
    assert sorted(watcher.ends, key=str) == [("bad", "a bad day"), ("finished", "skipped"), "new", "stopped"]
    assert [len(attempts(job)) for job in jobs] == [1, 2, 1, 1]
    assert [job.is_finished for job in jobs] == [True, True, False, True]
    assert [len(read_lines(job.folder / METRICS)) for job in jobs] == [LINES, LINES, 2, LINES]


def test_a_search_with_a_third_party_optimizer_is_resumed_in_a_new_process(tmp_path, monkeypatch):
    fork_jobs(monkeypatch)
    options = {**TINY, "epochs": 2, "optimizer": "annealed_darts:AnnealedDARTS"}
    job = Job(name="theirs", command=stalling_search.COMMAND, folder=tmp_path / "theirs", options=options, threads=1)
    with this_machine([{}]) as workers:
        workers.submit(job)
        wait_for_lines(job.folder, 2)
    wait_until_free(job.folder, 60)
    other = replace(job, name="other", folder=shutil.copytree(job.folder, tmp_path / "other"))
    config = (other.folder / CONFIG).read_text()
    (other.folder / CONFIG).write_text(config.replace("annealed_darts:", "not_of_the_job:"))
    with this_machine([{}]) as workers:
        failures = run_jobs([job, other], workers)
    assert list(failures) == ["other"]
    assert "names 'not_of_the_job:AnnealedDARTS' as its optimizer, but importing a module runs" in failures["other"]
    assert len(stalling_search.parents(job.folder)) == 2
    assert len(nb.load_run(job.folder).lines) == 3


def test_a_crash_is_reported_by_the_last_line_of_its_traceback(tmp_path, workers):
    jobs = [Job(name="typo", command="light_run:walk", folder=tmp_path / "typo"), light_job(tmp_path, "new")]
    failures = run_jobs(jobs, workers)
    assert list(failures) == ["typo"]
    assert failures["typo"] == "AttributeError: module 'light_run' has no attribute 'walk'"


def test_a_job_whose_process_is_killed_while_it_draws_gets_its_pictures(tmp_path):
    job = replace(light_job(tmp_path, "one"), command="light_run:die_before_the_picture")
    with this_machine([{}]) as workers:
        assert run_jobs([job], workers) == {}
    assert (len(attempts(job)), (job.folder / "picture").exists()) == (2, True)


def test_a_job_failure_is_worded_for_each_caller(tmp_path, workers):
    failures = run_jobs([light_job(tmp_path, "bad", fail=f"lower {option('epochs', 3)}")], workers)
    error = nb.UserError(f"bad failed ({failures['bad']}): continue with {option('resume', 'folder')}")
    assert error.for_command_line == "bad failed (lower --epochs 3): continue with --resume folder"
    assert str(error) == 'bad failed (lower epochs=3): continue with resume="folder"'


def test_the_output_of_a_job_is_written_to_its_log(tmp_path, workers, capfd):
    job = light_job(tmp_path, "one")
    run_jobs([job], workers)
    assert job.log.read_text() == "drawing\n"
    assert capfd.readouterr() == ("", "")


def test_a_worker_process_does_not_depend_on_the_parents_encoding_and_ignores_objects_in_its_path(
    tmp_path, monkeypatch, workers
):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setattr(sys, "path", [*sys.path, Path("lib")])
    job = replace(light_job(tmp_path, "one"), command="light_run:run_with_symbols")
    assert run_jobs([job], workers) == {}
    assert job.log.read_text(encoding="utf-8") == "16 × 9 – Λ\ndrawing\n"


def test_a_live_job_shows_its_own_output_and_receives_what_only_this_process_has(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    seen, sink = [], object()

    def run_and_note(console, **given):
        seen.append((console, given.get("out"), given.get("resume")))
        light_run.run(**given)

    monkeypatch.setattr(light_run, "noted", run_and_note, raising=False)
    jobs = [replace(light_job(Path("runs"), name), command="light_run:noted") for name in "ab"]
    (tmp_path / "runs").mkdir()
    light_run.run(tmp_path / "runs" / "a", seed=0)
    capsys.readouterr()
    watcher = Ends()
    with this_process({"console": sink}) as workers:
        assert run_jobs(jobs, workers, watcher) == {}
    assert seen == [(sink, Path("runs/b"), None)]  # the path as the caller wrote it
    assert watcher.ends == [("a", "skipped"), "b"]
    assert capsys.readouterr() == ("drawing\n", "")
    assert not list(tmp_path.glob("runs/*.log")) and not list(tmp_path.glob("runs/.*.token"))


def test_a_job_in_this_process_does_not_change_the_current_folder_of_the_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run_and_leave(**given):
        light_run.run(**given)
        os.chdir("/")

    monkeypatch.setattr(light_run, "leaving", run_and_leave, raising=False)
    jobs = [replace(light_job(Path("runs"), name), command="light_run:leaving") for name in "ab"]
    with this_process() as workers:
        assert run_jobs(jobs, workers) == {}
    assert Path.cwd() == tmp_path and all(job.is_finished for job in jobs)


@pytest.mark.parametrize("error", [nb.InvalidInputError("bad"), ZeroDivisionError(), KeyboardInterrupt()])
def test_the_error_of_a_live_job_is_raised_and_ends_the_jobs(tmp_path, monkeypatch, error):
    def fail(**given):
        raise error

    monkeypatch.setattr(light_run, "fails", fail, raising=False)
    job = replace(light_job(tmp_path, "bad"), command="light_run:fails")
    with pytest.raises(type(error)) as caught, this_process({}) as workers:
        run_jobs([job, light_job(tmp_path, "never")], workers)
    assert caught.value is error
    assert caught.traceback[-1].name == "fail"
    assert list(tmp_path.iterdir()) == []


def test_the_log_of_a_job_in_this_process_has_the_traceback(tmp_path):
    job = Job(name="typo", command="light_run:walk", folder=tmp_path / "typo")
    with this_process() as workers:
        run_jobs([job], workers)
    assert not missing(job.log.read_text(), "Traceback", "AttributeError", "walk")


def test_a_fifo_in_place_of_a_log_fails_its_job(tmp_path, workers):
    jobs = [light_job(tmp_path, name) for name in ("one", "two", "blocked", "three")]
    os.mkfifo(jobs[2].log)
    failures = run_jobs(jobs, workers)
    assert list(failures) == ["blocked"]
    assert str(jobs[2].log) in failures["blocked"] and "not a regular file" in failures["blocked"]
    assert [job.is_finished for job in jobs] == [True, True, False, True]


def test_a_process_that_always_dies_and_a_process_without_a_result_are_reported(tmp_path):
    jobs = [
        Job(name="dead", command="light_run:die", folder=tmp_path / "dead"),
        Job(name="idle", command="builtins:dict", folder=tmp_path / "idle"),
        Job(name="gone", command="light_run:leave", folder=tmp_path / "gone"),
        light_job(tmp_path, "calm"),
    ]
    with this_machine([{}]) as workers:
        assert run_jobs(jobs, workers) == {
            "dead": "its process was killed by signal 6; it was given out 3 times without progress",
            "idle": "it ended without writing summary.json",
            "gone": "its process ended with exit code 7 (leaving)",
        }
    assert len(attempts(jobs[0])) == 3
    assert jobs[3].is_finished


def test_a_process_that_dies_is_replaced_and_its_job_resumed(tmp_path):
    job = light_job(tmp_path, "crashed", crash=True)
    with this_machine([{}]) as workers:
        assert run_jobs([job], workers) == {}
    assert len({each["process"] for each in attempts(job)}) == 2
    assert len(read_lines(job.folder / METRICS)) == LINES


def test_a_job_that_makes_progress_may_be_lost_many_times(tmp_path):
    job = Job(name="slow", command="light_run:die_after_each_line", folder=tmp_path / "slow", options={"seed": 0})
    with this_machine([{}]) as workers:
        assert run_jobs([job], workers) == {}
    assert len(attempts(job)) == LINES + 1


def test_one_process_per_place_runs_all_jobs_that_need_the_same_threads(tmp_path):
    jobs = [light_job(tmp_path, f"{threads}-{number}", threads=threads) for threads in (1, 2) for number in range(3)]
    with this_machine([{}]) as workers:
        assert run_jobs(jobs, workers) == {}
    processes = [attempts(job)[0]["process"] for job in jobs]
    assert len(set(processes[:3])) == len(set(processes[3:])) == 1
    assert processes[0] != processes[3]
    assert [attempts(job)[0]["OMP_NUM_THREADS"] for job in jobs] == ["1"] * 3 + ["2"] * 3


def test_the_result_of_a_search_does_not_depend_on_earlier_jobs_of_its_process(tmp_path, monkeypatch):
    fork_jobs(monkeypatch)

    def job(folder, **options):
        folder, options = tmp_path / folder, {**TINY, "epochs": 1, **options}
        return Job(name=folder.name, command=SEARCH, folder=folder, options=options, threads=1)

    others = [job("first", optimizer="enas", space="s2", seed=7), job("diverged", learning_rate=1e30)]
    with this_machine([{}]) as workers:
        assert list(run_jobs([*others, job("after")], workers)) == ["diverged"]
    with this_machine([{}]) as workers:
        assert run_jobs([job("alone")], workers) == {}
    assert_same_search(nb.load_run(tmp_path / "after"), nb.load_run(tmp_path / "alone"))


def test_a_module_of_the_current_folder_neither_replaces_pythons_nor_is_it_hidden(tmp_path, monkeypatch):
    for name in ("queue", "types", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "mine.py").write_text("from light_run import run\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as with python -m
    job = replace(light_job(Path("runs"), "one"), command="mine:run")
    with this_machine([{}]) as workers:
        assert run_jobs([job], workers) == {}
    assert (tmp_path / "runs" / "one" / SUMMARY).is_file()


def test_a_job_runs_in_the_folder_of_its_submitter(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    with this_machine([{}]) as workers:
        run_jobs([light_job(tmp_path, "first")], workers)
        monkeypatch.chdir(tmp_path / "a")
        assert run_jobs([light_job(Path("runs"), "second")], workers) == {}
    assert (tmp_path / "a" / "runs" / "second" / SUMMARY).is_file()


@pytest.mark.parametrize("token", [None, "of another session"])
def test_a_worker_that_does_not_see_the_token_is_refused(tmp_path, workers, token, monkeypatch):
    job, real = light_job(tmp_path, "one"), Job.write_token
    monkeypatch.setattr(Job, "write_token", lambda self, wanted: token and real(self, token))
    failures = run_jobs([job], workers)
    assert f"does not see {tmp_path}, or sees a copy of it" in failures["one"]
    assert not job.folder.exists()


def test_a_run_folder_that_does_not_appear_on_this_machine_is_reported(tmp_path, monkeypatch):
    """Imitate a worker with another file system."""
    monkeypatch.setattr(pool, "APPEARS_WITHIN", 0.0)
    elsewhere = _ThisProcess(lambda job: Ended())
    assert run_jobs([light_job(tmp_path, "idle")], elsewhere) == {
        "idle": f"its worker reported that it finished, but {tmp_path / 'idle'} has no finished run on this machine"
    }


def test_leaving_the_context_stops_the_processes_and_their_jobs_can_be_resumed(tmp_path):
    jobs = [light_job(tmp_path, name, stall=True) for name in ("a", "b")]
    with pytest.raises(KeyboardInterrupt), this_machine([{}]) as workers:
        run_jobs(jobs, workers, Interrupt())
    assert not jobs[1].folder.exists()
    with locked(jobs[0].folder):  # the lock is free at once because its process is gone
        pass
    with this_process() as workers:
        assert run_jobs(jobs[:1], workers) == {}
    assert len(read_lines(jobs[0].folder / METRICS)) == LINES


def test_processes_of_this_machine_open_no_port(tmp_path):
    before, during, job = listening_sockets(os.getpid()), [], light_job(tmp_path, "one", stall=True)

    class Look(Watcher):
        def tick(self, waiting):
            wait_for_lines(job.folder, 2)
            during.extend(map(listening_sockets, (os.getpid(), attempts(job)[0]["process"])))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), WorkerOptions().open("cpu", 1, Console(quiet=True)) as workers:
        run_jobs([job], workers, Look())
    assert during == [before, set()]
    with socket.create_server(("127.0.0.1", 0)):
        assert len(listening_sockets(os.getpid())) == len(before) + 1


def listening_sockets(process: int) -> set[str]:
    """The sockets of a process that listen at a TCP port."""
    tables = [Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")]
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    opened = set()
    for handle in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            opened.add(str(handle.readlink()))
    return listening & opened


def test_threads_per_job_are_given_or_a_share_of_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "usable_cores", lambda: 6)
    jobs = [light_job(tmp_path, "own", threads=1), light_job(tmp_path, "share", threads=None)]
    with this_machine([{"CUDA_VISIBLE_DEVICES": "5"}, {"CUDA_VISIBLE_DEVICES": "5"}]) as workers:
        assert run_jobs(jobs, workers) == {}
    seen = [attempts(job)[0] for job in jobs]
    assert [each["OMP_NUM_THREADS"] for each in seen] == [each["MKL_NUM_THREADS"] for each in seen] == ["1", "3"]
    assert {each["CUDA_VISIBLE_DEVICES"] for each in seen} == {"5"}
    assert {each["parent"] for each in seen} == {os.getpid()}


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"workers": 0}, "workers 0"),
        ({"threads": 0}, "threads 0"),
        ({"device": "cpux"}, "'cpux'"),
        ({"scheduler": "tcp://host:1", "workers": 2}, "workers= cluster"),
        ({"tls_key": "key.pem"}, "TLS scheduler="),
    ],
)
def test_bad_options_are_refused(options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        where, others = WorkerOptions.split({"device": "cpu", "threads": 1, **options})
        where.open(**others, console=Console(quiet=True))


def test_searches_are_spread_over_cores_or_over_gpus(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert places(None, "cpu", 1, 0) == [{}] * usable_cores()
    assert places(None, "cpu", 10**6, 0) == [{}]
    assert places(3, "cpu", 1, 0) == [{}] * 3
    assert places(None, "cuda", 1, 2) == [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]
    three = [place["CUDA_VISIBLE_DEVICES"] for place in places(3, "cuda", 1, 2)]
    assert three == ["0", "1", "0"]
    assert places(None, "cuda:1", 1, 2) == [{}]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert [place["CUDA_VISIBLE_DEVICES"] for place in places(None, "cuda", 1, 2)] == ["5", "7"]
    with refuses(nb.InvalidInputError, 0, options="workers"):
        places(0, "cpu", 1, 0)
