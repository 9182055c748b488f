"""Jobs are picklable, and are started, resumed or skipped depending on their folder."""

import pickle
from dataclasses import FrozenInstanceError, replace
from errno import ENOSPC

import pytest
from filelock import SoftFileLease
from light_run import LINES, attempts, light_job
from refusals import missing, refuses

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.jobs import job as jobs
from nasbench1shot1.jobs.job import run_until_finished, wait_until_free
from nasbench1shot1.jobs.process import run_here
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.runs.lock import LOCK, locked


def test_a_job_is_frozen_and_picklable(tmp_path):
    job = light_job(tmp_path, "one", seed=3)
    assert pickle.loads(pickle.dumps(job)) == job  # noqa: S301
    assert job.log == tmp_path / "one.log"
    with pytest.raises(FrozenInstanceError):
        job.folder = tmp_path


def test_a_run_is_started_then_resumed_then_skipped(tmp_path):
    job = light_job(tmp_path, "one", fail="stopped")
    with refuses(UserError, "stopped"):
        run_until_finished(job.command, job.folder, job.options)
    assert (len(read_lines(job.folder / METRICS)), job.is_finished) == (2, False)
    run_until_finished(job.command, job.folder, {"seed": "of another run"})  # the record decides
    assert (len(read_lines(job.folder / METRICS)), job.is_finished) == (LINES, True)
    run_until_finished("nowhere:nothing", job.folder, job.options)
    assert len(attempts(job)) == 2


def test_a_stopped_run_is_resumed_with_the_resume_options(tmp_path, monkeypatch):
    job = light_job(tmp_path, "one", fail="stopped")
    with refuses(UserError, "stopped"):
        run_until_finished(job.command, job.folder, job.options)
    seen = []
    monkeypatch.setattr("light_run.run", lambda **given: seen.append(given))
    run_until_finished(job.command, job.folder, job.options, {"epochs": 3})
    run_until_finished(job.command, tmp_path / "new", {"seed": 1, "optimizer": "own:Method"}, {"epochs": 3})
    run_until_finished(job.command, job.folder, {"optimizer": "own:Method"}, {"epochs": 3})
    assert seen == [
        {"resume": job.folder, "epochs": 3},
        {"out": tmp_path / "new", "seed": 1, "optimizer": "own:Method"},
        {"resume": job.folder, "epochs": 3, "allow_module": "own"},
    ]


def test_a_finished_run_is_resumed_only_if_it_is_extended(tmp_path, monkeypatch):
    job = light_job(tmp_path, "one", seed=3)
    run_until_finished(job.command, job.folder, job.options)
    longer = replace(job, extends={"seed": 4}, resume_options={"seed": 4})
    assert [one.is_finished for one in (job, replace(job, extends={"seed": 3}), longer)] == [True, True, False]
    seen = []
    monkeypatch.setattr("light_run.run", lambda **given: seen.append(given))
    failure, _ = run_here(longer, Exception)
    assert seen == [{"resume": job.folder, "seed": 4}] and not missing(str(failure), "summary.json")


def test_a_finished_run_whose_process_was_killed_while_it_drew_is_resumed(tmp_path):
    job = light_job(tmp_path, "one")
    run_until_finished(job.command, job.folder, job.options)
    (job.folder / LOCK).touch()
    assert not job.is_finished
    run_until_finished(job.command, job.folder, job.options)
    assert job.is_finished and len(attempts(job)) == 2
    with locked(job.folder):  # another command, such as a report
        run_until_finished(job.command, job.folder, job.options)
    assert job.is_finished and len(attempts(job)) == 2


def test_a_job_waits_for_a_folder_locked_by_a_lost_worker(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    holder = locked(tmp_path / "run")
    holder.__enter__()
    wait_until_free(tmp_path / "run", 0.01)  # bounded
    monkeypatch.setattr(jobs.time, "sleep", lambda seconds: holder.__exit__(None, None, None))
    wait_until_free(tmp_path / "run", 60)
    with locked(tmp_path / "run"):
        pass
    wait_until_free(tmp_path / "not there", 60)


def test_a_folder_that_stays_locked_is_refused(tmp_path):
    job = light_job(tmp_path, "one")
    job.folder.mkdir()
    with locked(job.folder), refuses(InvalidInputError, job.folder):
        wait_until_free(job.folder, 0.01)
        run_until_finished(job.command, job.folder, job.options)
    assert not job.folder.exists() or not list(job.folder.iterdir())


def test_the_reason_why_a_lock_cannot_be_written_is_the_failure_of_the_job(tmp_path, monkeypatch):
    job = light_job(tmp_path, "one", fail="stopped")
    with refuses(UserError, "stopped"):
        run_until_finished(job.command, job.folder, job.options)

    def full(*given, **named):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(SoftFileLease, "acquire", full)
    wait_until_free(job.folder, 60)
    failure, error = run_here(job, Exception)
    assert error == "UserError" and not missing(str(failure), "no space left", job.folder / ".lock")
