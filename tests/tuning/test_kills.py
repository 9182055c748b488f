"""Tuning studies whose master, dask workers and worker processes are killed at random times.

The number of kills is small by default. `NB1SHOT1_KILLS=100 pytest tests/tuning/test_kills.py` kills 100 times on each
kind of workers; studies are run until there are enough kills. tests/black_box_search/test_black_box_kills.py does the
same with black-box studies.
"""

import random
from collections import Counter
from contextlib import nullcontext

import pytest
from killing import KILLS, PIDS, dask_processes, is_running, last_pids, run_with_kills, start_master
from refusals import refuses
from rich.console import Console
from same_search import assert_same_search
from tiny_studies import TINY
from toy_objective import STEPS, loss_of
from toy_study import BRACKETS, ToyEvaluation, in_fork, make_study, observed, run_toy, wait_until

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import run_until_finished
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import parse_id
from nasbench1shot1.runs.folder import read_lines
from nasbench1shot1.tuning.evaluation import loss_of as loss_of_search
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.trials import Trial

TUNE = "nasbench1shot1.tuning.tuning:tune"
SEARCHES = {**TINY, "optimizer": "gdas", "batch_size": 20, "min_budget": 1, "max_budget": 2, "eta": 2}
SEARCHES |= {"iterations": 2, "repeat": "random"}  # a random repeat: each trial has a loss of its own
WHERE = {"workers": 2}
SAME = ("configuration_id", "budget", "loss", "failure", "architecture", "test_regret", "model_based", "folder")
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
                turn=studies,
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study of searches, undisturbed."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    start_master(run_searches, folder).join()
    return Study.open(folder)


def run_searches(folder):
    """Run the study of searches to its end, or resume it."""
    run_until_finished(TUNE, folder, SEARCHES | WHERE, WHERE, console=Console(quiet=True))


def test_kills_neither_lose_nor_repeat_nor_change_a_search(tmp_path, whole):
    rng, killed, studies = random.Random(7), Counter(), 0
    while killed.total() < KILLS:
        folder = tmp_path / f"study-{studies}"
        killed += run_with_kills(
            lambda of=folder: start_master(run_searches, of),
            {"process": lambda: last_pids(tmp_path / PIDS)},
            rng,
            KILLS - killed.total(),
            mean=1.0,
            turn=studies,
        )
        assert_equals(Study.open(folder), whole)
        studies += 1
    print(f"searches, 2 workers: {dict(killed)} in {studies} studies")
    assert killed["master"] and killed["process"]


def assert_equals(study, whole):
    """Everything but times, workers and attempts is equal, and every loss is the table's."""
    lines, others = ({(line["configuration_id"], line["budget"]): line for line in of.lines} for of in (study, whole))
    assert len(study.lines) == len(lines) == study.options.brackets.planned
    assert lines.keys() == others.keys()
    table = nb.load_table()
    for (configuration, budget), line in lines.items():
        assert {name: line[name] for name in SAME} == {name: others[configuration, budget][name] for name in SAME}
        found, other = (nb.load_run(each.folder / line["folder"]) for each in (study, whole))
        assert_same_search(found, other)
        assert (found.summary["architecture"], found.config["epochs"]) == (line["architecture"], budget)
        asked = Trial(parse_id(configuration), study.configurations[configuration], budget)
        assert line["loss"] == loss_of_search(study, table, nb.Architecture.parse(line["architecture"]), asked)
    assert {path.parent for path in study.folder.glob("runs/*/*/config.json")} == {
        study.folder / line["folder"] for line in study.lines
    }
    assert not list(study.folder.rglob(".*.token"))


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
