"""The studies that an objective records: equal to our own, safe from other processes and kills, read by all readers."""

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from black_box_tables import S1, convolutions, s1_table
from command_line import command
from own_ask_tell import drive, until_spent
from refusals import fails, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.tables.columns import Column

QUIET = Console(quiet=True)
LATENCY = Column(metric="latency_edgegpu", quantity="latency", dataset="cifar10", unit="ms", direction="lower")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table with three repeats of accuracy and time, and a latency."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("tables") / "noisy"
    accuracies, seconds = rng.uniform(0.5, 1, (2_685, 4, 3)), rng.uniform(1, 9, (2_685, 4, 3))
    s1_table(accuracies, seconds, others={LATENCY: convolutions() + rng.random(2_685)}).save(folder)
    return folder


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("random", {"seconds": 300}, {}),
    ("regularized-evolution", {"evaluations": 60, "seed": 3}, {"population": 10, "tournament": 3}),
    ("regularized-evolution", {"seconds": 200, "deduplicate": True, "first_repeat": 2}, {"population": 5}),
    ("random", {"seconds": 200, "decision_seconds": 2.5, "bounds": "latency_edgegpu=3"}, {}),
    ("hyperband", {"seconds": 400, "continuation": True}, {}),
    ("hyperband", {"seconds": 400}, {}),
    ("random", {"evaluations": 30, "objective": "latency_edgegpu", "epochs": 12}, {}),
]


@pytest.mark.parametrize(("optimizer", "common", "own"), CASES)
def test_our_optimizers_record_the_same_through_an_objective(
    tmp_path: Path, noisy: Path, optimizer: str, common: dict[str, Any], own: dict[str, Any]
) -> None:
    ours = nb.black_box(
        optimizer, space="s1", table=noisy, repeats=3, out=tmp_path / "ours", console=QUIET, **common, **own
    )
    with nb.objective("s1", table=noisy, name="mine", out=tmp_path / "theirs", **common) as function:
        for repeat in ours.numbers:
            function.reset(repeat)
            drive(optimizer, function, **own)
    theirs = nb.open_run(tmp_path / "theirs")
    assert (theirs.folder / "metrics.jsonl").read_bytes() == (ours.folder / "metrics.jsonl").read_bytes()
    assert theirs.summary == ours.summary | {"optimizer": "mine"}
    assert theirs.feedback_repeats == ours.feedback_repeats


def test_every_reader_takes_the_study_like_ours(tmp_path: Path, noisy: Path) -> None:
    nb.black_box("random", space="s1", table=noisy, repeats=3, evaluations=9, out=tmp_path / "ours", console=QUIET)
    with nb.objective("s1", table=noisy, evaluations=9, name="my BO (v2)", out=tmp_path / "mine") as function:
        for number in range(3):
            function.reset()
            for step in range(9):
                function(S1[100 * number + step])
    made = nb.open_run(tmp_path / "mine")
    assert made.is_finished and made.is_outside and (made.folder / "regret.png").is_file()
    assert repr(made).startswith(f"BlackBoxStudy('{made.folder}': my BO (v2) on s1, seed 0, 3 of 3 searches")
    assert made.final["evaluations"].tolist() == [9, 9, 9]
    axes = nb.compare([tmp_path / "ours", tmp_path / "mine"])
    shown = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert shown[:2] == ["random (n = 3)", "my BO (v2) (n = 3)"]
    assert nb.draw_regret(made).get_lines()
    ended = command("compare", "ours", "mine", "--out", "both.png", cwd=tmp_path)
    assert ended.returncode == 0 and "my BO (v2)" in ended.stdout, ended.stderr


def test_a_finished_study_has_the_folder_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for is_moved in (False, True):
        function = nb.objective("s1", evaluations=1, out=f"study-{is_moved}")
        function(S1[0])
        if is_moved:
            monkeypatch.chdir(tmp_path / "elsewhere")
        made = function.finish()
        assert made.folder == (tmp_path / "study-True" if is_moved else Path("study-False")) and made.is_finished


def test_a_study_is_continued_by_an_objective_and_not_by_the_command(tmp_path: Path, noisy: Path) -> None:
    def search(function: nb.Objective, numbers: range) -> None:
        for _ in numbers:
            with until_spent():
                while True:
                    function(function.space.sample(function.rng))
            function.reset()

    options = {"table": noisy, "seconds": 100, "seed": 2}
    with nb.objective("s1", out=tmp_path / "whole", **options) as function:
        search(function, range(4))
    first = nb.objective("s1", out=tmp_path / "part", **options)
    search(first, range(2))
    first(S1[5])  # an unfinished search, which is not recorded
    first.close()
    assert not nb.open_run(tmp_path / "part").is_finished
    with refuses(nb.UserError, "nb.objective", "part"):
        _ = nb.open_run(tmp_path / "part").summary
    fails(command("blackbox", "--resume", "part", cwd=tmp_path), "nb.objective", "own-optimizer")
    with refuses(nb.InvalidInputError, "nb.objective", "own-optimizer"):
        nb.black_box(resume=tmp_path / "part", console=QUIET)
    with nb.objective(resume=tmp_path / "part") as second:
        assert second.number == 2
        search(second, range(2))
    whole, part = nb.open_run(tmp_path / "whole"), nb.open_run(tmp_path / "part")
    assert part.lines == whole.lines and part.summary == whole.summary
    with nb.objective(resume=tmp_path / "part") as third:  # a finished study grows, too
        search(third, range(1))
    assert nb.open_run(tmp_path / "part").lines[:4] == whole.lines
    assert len(nb.open_run(tmp_path / "part").lines) == 5
    ours = nb.black_box("random", space="s1", evaluations=3, repeats=1, out=tmp_path / "ours", console=QUIET)
    with refuses(nb.InvalidInputError, "nb.black_box", "random"):
        nb.objective(resume=ours.folder)


def test_parts_of_several_processes_join_to_one_study(tmp_path: Path, noisy: Path) -> None:
    for first in (0, 2):
        with nb.objective("s1", table=noisy, evaluations=4, first_repeat=first, out=tmp_path / str(first)) as function:
            for number in (first, first + 1):
                function.reset(number)
                function.evaluate([S1[number + step] for step in range(4)])
    joined = nb.BlackBoxStudy.join([tmp_path / "2", tmp_path / "0"])
    assert [line["repeat"] for line in joined.lines] == [0, 1, 2, 3]


def test_two_objectives_cannot_record_into_one_study(tmp_path: Path, noisy: Path) -> None:
    with nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "study") as function:
        function(S1[0])
        with refuses(nb.InvalidInputError, "study"):
            nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "study")
        with refuses(nb.InvalidInputError, "study"):
            nb.objective(resume=tmp_path / "study")
        fork = multiprocessing.get_context("fork").Process(target=_assert_refused, args=(function, tmp_path / "study"))
        fork.start()
        fork.join()
        assert fork.exitcode == 0
        function(S1[1])
    assert [line["evaluations"] for line in nb.open_run(tmp_path / "study").lines] == [2]
    with refuses(nb.InvalidInputError, "study", options="out"):
        nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "study")


def _assert_refused(function: nb.Objective, folder: Path) -> None:
    """In another process, neither the object nor its folder can be used."""
    with refuses(nb.InvalidInputError, "process", "AskTell"):
        function(S1[1])
    with refuses(nb.InvalidInputError, "another process"):
        nb.objective(resume=folder)


def test_a_killed_process_loses_no_finished_search(tmp_path: Path, noisy: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_search_and_die, args=(noisy, tmp_path / "killed"))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [line["repeat"] for line in nb.open_run(tmp_path / "killed").lines] == [0, 1]
    with nb.objective(resume=tmp_path / "killed") as function:
        assert function.number == 2
        function.evaluate([S1[0], S1[1], S1[2]])
    assert [line["evaluations"] for line in nb.open_run(tmp_path / "killed").lines] == [3, 3, 3]


def _search_and_die(table: Path, folder: Path) -> None:
    function = nb.objective("s1", table=table, evaluations=3, out=folder)
    for _ in range(2):
        function.evaluate([S1[0], S1[1], S1[2]])
        function.reset()
    function(S1[7])
    os.kill(os.getpid(), signal.SIGKILL)


def test_several_metrics_record_the_front(tmp_path: Path, noisy: Path) -> None:
    several = ["validation_accuracy", "latency_edgegpu"]
    with nb.objective("s1", table=noisy, objective=several, evaluations=40, out=tmp_path / "study") as function:
        costs = function.evaluate([S1[71 * number] for number in range(40)])
    made = nb.open_run(tmp_path / "study")
    assert list(made.config["other_objectives"]) == several[1:]
    front = [entry[3] for entry in made.lines[0]["front"]]
    entered = [
        one for place, one in enumerate(costs.tolist()) if not (costs[:place] <= np.array(one)).all(axis=1).any()
    ]
    assert front == entered
    assert made.lines[0]["front"][0][:3] == made.lines[0]["incumbents"][0][:3]
    assert made.final["validation_error"][0] == costs[:, 0].min()
    lines = (made.folder / "metrics.jsonl").read_text()
    (made.folder / "metrics.jsonl").write_text(lines.replace('"front": [[', '"front": [[null, '))
    with refuses(nb.DamagedFileError, "front"):
        _ = nb.open_run(made.folder).lines
    assert "front" in json.loads(lines)


def test_searches_without_a_training_in_time_or_out_of_order_are_refused(tmp_path: Path, noisy: Path) -> None:
    empty = nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "empty")
    with refuses(nb.InvalidInputError, "empty"), empty:
        pass
    assert not (tmp_path / "empty").exists()
    function = nb.objective("s1", table=noisy, seconds=0.5, out=tmp_path / "short")
    with until_spent():
        function(S1[0])
    function.reset()
    assert function.number == 0  # the search has nothing to record
    with until_spent():
        function(S1[0])
    with refuses(nb.InvalidInputError, "short", "no recorded search"):
        function.finish()
    with nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "study") as function:
        function(S1[0])
        with refuses(nb.InvalidInputError, "0", "reset(1)"):
            function.reset(0)
        with refuses(nb.InvalidInputError, "7", "reset(1)"):
            function.reset(7)
    with pytest.raises(ZeroDivisionError), nb.objective("s1", table=noisy, evaluations=2, out=tmp_path / "err") as f:
        f(1 / 0)
    assert not (tmp_path / "err").exists()
