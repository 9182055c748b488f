"""Studies whose master and worker processes are killed at random times."""

import os
import random
import signal
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from toy_objective import STEPS
from toy_study import (
    BRACKETS,
    FAST,
    QUICK,
    ToyRecorder,
    in_fork,
    make_study,
    observed,
    run_toy,
    toy_space,
    wait_until,
)

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.tuning.engine.interfaces import Timing
from nasbench1shot1.tuning.engine.local_workers import local_workers
from nasbench1shot1.tuning.engine.master import run_study

FEW = Brackets(1, 4, 2, 2)
ONE = Brackets(1, 1, 2, 1)


def pids(folder):
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def kill(pid, how=signal.SIGKILL):
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def steps(folder):
    """Number of executions of each step of each trial."""
    return Counter((folder / "steps").read_text().splitlines())


def assert_no_step_is_lost_or_repeated(folder, brackets):
    lines = ToyRecorder(folder).lines
    keys = [(line["configuration_id"], line["budget"]) for line in lines]
    assert len(keys) == len(set(keys)) == brackets.planned
    assert set(steps(folder).values()) == {1}  # each trial continued where it stopped, and none ran twice concurrently
    assert len(steps(folder)) >= 0.9 * STEPS * len(lines)  # a kill can come between a step and its line


def run_with_kills(folder, workers, kills, chance_of_master, rng):
    """Run a study to its end despite kills; return how often master and workers were killed."""
    killed, victims = Counter(), set()
    master = in_fork(run_toy, folder, workers=workers)
    while killed.total() < kills and master.is_alive():
        wait_until(lambda alive=master.is_alive: set(pids(folder)[-workers:]) - victims or not alive())
        time.sleep(rng.uniform(0, 0.4))
        victim = rng.choice(sorted(set(pids(folder)[-workers:]) - victims) or [0])
        if not victim or not master.is_alive():
            continue
        victims.add(victim)
        if rng.random() < chance_of_master:
            victims.update(pids(folder))
            killed["master"] += master.is_alive()
            master.kill()
            master.join()
            master = in_fork(run_toy, folder, workers=workers)
        else:
            killed["worker"] += master.is_alive()
            kill(victim)
    master.join(120)
    assert master.exitcode == 0
    return killed


def test_twenty_kills_do_not_change_any_observation(tmp_path):
    rng = random.Random(0)
    whole, broken = make_study(tmp_path / "whole", seconds=0), make_study(tmp_path / "broken", seconds=0.04)
    in_fork(run_toy, whole).join()
    killed = run_with_kills(broken, 1, 20, 0.4, rng)
    assert killed["master"] > 3
    assert killed["worker"] > 3
    assert killed.total() >= 20
    assert len(observed(whole)) == BRACKETS.planned
    assert observed(broken) == observed(whole)
    assert (broken / "submissions.jsonl").read_text().count("\n") == BRACKETS.planned
    assert_no_step_is_lost_or_repeated(broken, BRACKETS)


def test_killing_several_workers_neither_loses_nor_repeats_trials(tmp_path):
    folder = make_study(tmp_path / "study", seconds=0.05)
    killed = run_with_kills(folder, 3, 8, 0.2, random.Random(1))
    assert killed.total() >= 8
    assert_no_step_is_lost_or_repeated(folder, BRACKETS)
    assert len({line["worker"] for line in ToyRecorder(folder).lines}) == 3


def test_the_late_result_of_a_worker_presumed_dead_is_ignored(tmp_path):
    """One of two workers is suspended within a trial and resumes after the other has finished it."""
    name = "0-0-1 at 1 epoch"
    folder = make_study(tmp_path / "study", **{name: "hang once", "seconds": 0.05})
    timing = Timing(wait_for_workers=60, ping_interval=0.1, answers_within=1.5, missed_pings=2)
    master = in_fork(run_toy, folder, workers=2, brackets=FEW, timing=timing)
    recorder = ToyRecorder(folder)
    wait_until(lambda: any(line["configuration_id"] == "0-0-1" for line in recorder.lines))
    for pid in pids(folder):
        kill(pid, signal.SIGCONT)
    master.join(60)
    assert master.exitcode == 0
    keys = [(line["configuration_id"], line["budget"]) for line in recorder.lines]
    assert len(keys) == len(set(keys)) == FEW.planned
    assert next(line["attempts"] for line in recorder.lines if line["configuration_id"] == "0-0-1") == 2
    starts = (folder / "starts").read_text().splitlines()
    assert starts.count(f"{name} attempt 1") == starts.count(f"{name} attempt 2") == 1
    assert steps(folder)[f"{name} step 4"] == 1


def test_a_trial_that_kills_its_worker_three_times_ends_the_study(tmp_path):
    folder = make_study(tmp_path / "study", all="die")
    with pytest.raises(UserError) as caught:
        run_toy(folder, brackets=ONE, timing=Timing(ping_interval=0.1))
    log = folder / "workers" / "local-0.log"
    assert "the worker of 0-0-0 at 1 epoch died 3 times without progress" in str(caught.value)
    assert f"see {log}, then continue with nb1shot1 tune --resume {folder}" in str(caught.value)
    assert len(pids(folder)) == 3


def test_a_study_whose_workers_are_all_dead_ends(tmp_path, monkeypatch):
    folder = make_study(tmp_path / "study", all="die")
    monkeypatch.setattr("nasbench1shot1.tuning.engine.local_workers.AGAIN_AFTER", 1000.0)  # none is replaced

    @contextmanager
    def started():
        with local_workers(folder, "toy_objective:evaluator", [{}], 1, QUICK) as workers:
            wait_until(lambda: pids(folder))
            yield workers

    timing = Timing(wait_for_workers=3, ping_interval=0.1)
    with pytest.raises(UserError, match=r"all workers were lost, and none has connected for 3 s"):
        run_study(folder, toy_space(), ONE, ToyRecorder(folder), started, seed=0, timing=timing)


def test_a_worker_that_cannot_start_ends_the_study(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()  # without toy.json
    with pytest.raises(UserError, match=r"a worker failed \(FileNotFoundError.*see .*local-0.log"):
        run_toy(folder, brackets=ONE, timing=FAST)


def test_local_workers_exit_with_their_master(tmp_path):
    folder = make_study(tmp_path / "study", seconds=60)
    master = in_fork(run_toy, folder, workers=2, brackets=FEW)
    wait_until(lambda: len(pids(folder)) == 2)
    master.kill()
    master.join()
    wait_until(lambda: not any(is_running(pid) for pid in pids(folder)))


def is_running(pid):
    """Whether a process runs; an orphan may remain as a zombie if no process reaps it."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_leaving_the_context_stops_local_workers(tmp_path):
    folder = make_study(tmp_path / "study", seconds=60)
    with local_workers(folder, "toy_objective:evaluator", [{}, {}], 1):
        wait_until(lambda: len(pids(folder)) == 2)
    assert not any(is_running(pid) for pid in pids(folder))
