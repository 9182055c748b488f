"""Tuning studies whose master, workers and processes are killed at random times.

The number of kills is small by default. `NB1SHOT1_KILLS=100 pytest tests/tuning/test_kills.py` kills 100 times on each
kind of workers; studies are run until there are enough kills. tests/black_box_search/test_black_box_kills.py does the
same with black-box studies.
"""

import random
from collections import Counter
from contextlib import nullcontext

import pytest
from killing import KILLS, dask_processes, is_running, run_with_kills
from refusals import refuses
from toy_objective import STEPS, loss_of
from toy_study import BRACKETS, ToyEvaluation, in_fork, make_study, observed, run_toy, wait_until

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.runs.folder import read_lines

FEW = Brackets(1, 4, 2, 2)
ONE = Brackets(1, 1, 2, 1)


def pids(folder):
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def assert_is_whole(folder, brackets=BRACKETS):
    """No trial is lost or recorded twice, no loss is wrong, and no search repeated or skipped a step."""
    lines = ToyEvaluation(folder).lines
    keys = [(line["configuration_id"], line["budget"]) for line in lines]
    assert len(keys) == len(set(keys)) == brackets.planned
    planned = Counter[int]()
    for bracket in range(brackets.iterations):
        planned.update(dict(brackets.plan(bracket)))
    assert Counter(budget for _, budget in keys) == planned
    for line in lines:
        assert line["loss"] == loss_of(line["configuration"], line["budget"])
        steps = read_lines(folder / "runs" / f"{line['configuration_id']}-{line['budget']}" / "metrics.jsonl")
        assert [step["step"] for step in steps] == list(range(STEPS))
    assert not list(folder.glob("runs/.*.token"))


@pytest.mark.parametrize(("is_cluster", "count"), [(False, 1), (False, 2), (True, 2)], ids=["one", "two", "dask"])
def test_kills_neither_lose_nor_repeat_nor_change_a_trial(tmp_path, is_cluster, count):
    rng, killed, studies = random.Random(count), Counter(), 0
    with dask_processes(tmp_path, count) if is_cluster else nullcontext() as cluster:
        while killed.total() < KILLS:
            folder = make_study(tmp_path / f"study-{studies}", seconds=0.02)
            kinds = {"process": lambda of=folder: pids(of)[-2:]} | ({"worker": cluster.pids} if cluster else {})
            killed += run_with_kills(
                lambda of=folder: in_fork(run_toy, of, cluster.address if cluster else count),
                kinds,
                rng,
                KILLS - killed.total(),
                *([cluster.revive] if cluster else []),
            )
            assert_is_whole(folder)
            studies += 1
            if count == 1:
                whole = make_study(tmp_path / f"whole-{studies}")
                run_toy(whole)
                assert observed(folder) == observed(whole)
                submissions = [(each / "submissions.jsonl").read_text().count("\n") for each in (folder, whole)]
                assert submissions == [BRACKETS.planned] * 2
    print(f"{'dask' if cluster else 'local'}, {count} workers: {dict(killed)} in {studies} studies")
    assert killed["master"] and killed["process"]


def test_a_trial_that_always_kills_its_process_ends_the_study(tmp_path):
    folder = make_study(tmp_path / "study", all="die")
    with refuses(UserError, "0-0-0", "signal 9", "3 times"):
        run_toy(folder, 1, brackets=ONE)
    assert len(pids(folder)) == 3
    make_study(folder)
    assert run_toy(folder, 1, brackets=ONE).lines[0]["attempts"] == 4


def test_a_lost_trial_is_given_out_again_and_counted(tmp_path):
    folder = make_study(tmp_path / "study", **{"0-0-1 at 1 epoch": "die once"})
    lines = run_toy(folder, 2, brackets=FEW).lines
    assert_is_whole(folder, FEW)
    assert {line["configuration_id"]: line["attempts"] for line in lines if line["budget"] == 1} == {
        "0-0-0": 1, "0-0-1": 2, "0-0-2": 1, "0-0-3": 1,
    }  # fmt: skip


def test_processes_exit_with_their_master(tmp_path):
    folder = make_study(tmp_path / "study", seconds=60)
    master = in_fork(run_toy, folder, 2, brackets=FEW)
    wait_until(lambda: len(pids(folder)) == 2)
    master.kill()
    master.join()
    wait_until(lambda: not any(is_running(pid) for pid in pids(folder)))
