"""Incomparable runs are refused in one sentence, and nothing is written."""

import json
from pathlib import Path
from types import SimpleNamespace

import compared_runs as make
import numpy as np
import pandas
import pytest
from black_box_tables import convolutions, s1_table, smooth_table
from refusals import exits, refuses

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.comparison.comparing import compare_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    make.search(out / "one", (4, 3, 2))
    make.search(out / "two", (3, 2, 1))
    make.group(out / "seeds", [(4, 3), (2, 1)])
    make.black_box(out / "study", repeats=2)
    make.with_facts(make.search(out / "s2", (1,)).folder, space_id="nb101-s2-v1")
    make.with_facts(make.search(out / "cifar100", (1,)).folder, dataset="cifar100")
    make.with_facts(make.search(out / "official", (1,)).folder, table_id="nasbench_full-1")
    make.with_facts(make.tuning(out / "tuned").folder, table_id="nasbench_full-1")
    (make.search(out / "empty", (1,), finished=False).folder / "metrics.jsonl").unlink()
    empty_study = make.tuning(out / "tuned-empty").folder
    for name in ("metrics.jsonl", "summary.json"):
        (empty_study / name).unlink()
    make.tuning(out / "tuned-diverged", diverges=lambda configuration: True)
    nb.Recorder(out / "own-empty", nb.search_space("s1"))
    make.group(out / "none", [(1,)], started=0)
    (out / "ranking").mkdir()
    (out / "nothing").mkdir()
    return out


CASES = {
    "no runs": ([], {}, r"^no run "),
    "not a run": (["nothing"], {}, r"nothing' .*config\.json"),
    "no folder": (["nowhere"], {}, r"no folder '.*nowhere'"),
    "twice": (["one", "two", "seeds/../one"], {}, r"one' .*twice"),
    "in its group": (["seeds", "seeds/seed-1"], {}, r"seed-1' .*twice with its group"),
    "its group": (["seeds/seed-1", "seeds"], {}, r"seed-1' .*twice with its group"),
    "labels": (["one", "two"], {"labels": ["a"]}, r"^labels= .*1 label .*2 runs"),
    "equal labels": (["one", "two"], {"labels": ["a", "a"]}, r'"a,a" contains an empty or repeated label'),
    "empty label": (["one"], {"labels": [" "]}, r"contains an empty or repeated label"),
    "axis": (["one"], {"over": "epoch"}, r"unknown axis 'epoch'; did you mean 'epochs'"),
    "epochs": (["one", "study"], {"over": "epochs"}, r'over="epochs" does not apply to .*study. \(black'),
    "search time": (["study"], {"over": "search-time"}, r'over="search-time" does not apply to .*study. \(black'),
    "spaces": (["one", "s2"], {}, r"different search spaces are not comparable \(nb101-s1-v1 \(.*\), nb101-s2"),
    "data sets": (["one", "cifar100"], {}, r"different data sets are not comparable \(cifar10 .*, cifar100"),
    "tables": (["one", "official"], {}, r"different tables are not comparable .*: score all runs on one table"),
    "spaces on a table": (["one", "s2"], {"table": "embedded"}, r"different search spaces are not comparable"),
    "table of a study": (["tuned"], {}, r"the table nasbench_full-1 of '.*tuned' is not installed"),
    "no lines": (["empty"], {}, r"empty' does .* yet: remove it .*, or continue it with resume=.\S+empty.$"),
    "no lines on a table": (["empty"], {"table": "embedded"}, r"empty' does not have a result yet"),
    "no lines of a study": (["tuned-empty"], {}, r'does .* yet: remove it .*, or continue it with resume="\S+empty"$'),
    "no loss in a study": (["tuned-diverged"], {}, r"does not .* searches diverged: remove it from the comparison$"),
    "no lines of a loop": (["own-empty"], {}, r"empty' does not have a result yet: remove it from the comparison$"),
    "empty group": (["none"], {}, r'contain a search yet: continue with resume="\S+none", or'),
}  # fmt: skip


OWN_PANELS = ("spaces", "data sets", "tables", "spaces on a table")
"""Cases in which `nb.compare` draws a panel for each task."""


@pytest.mark.parametrize(("runs", "options", "sentence"), CASES.values(), ids=CASES)
def test_incomparable_runs_are_refused_in_one_sentence(runs, options, sentence, folder):
    with pytest.raises(nb.UserError, match=sentence):
        compare_runs([folder / run for run in runs], **options)


@pytest.mark.parametrize("name", [name for name in CASES if name not in OWN_PANELS])
def test_panels_do_not_make_them_comparable(name, folder):
    runs, options, sentence = CASES[name]
    with pytest.raises(nb.UserError, match=sentence):
        nb.compare([folder / run for run in runs], **options)


def test_a_task_has_at_most_ten_runs(tmp_path):
    runs = [make.search(tmp_path / str(number), (1,)) for number in range(11)]
    for compare in (compare_runs, nb.compare):
        with refuses(nb.InvalidInputError, 11, 10):
            compare(runs)


def test_other_kinds_of_runs_are_named(tmp_path):
    ranking = SimpleNamespace(folder=tmp_path / "ranked", KIND="ranking")
    with refuses(nb.UserError, tmp_path / "ranked"):
        nb.compare([ranking])
    with refuses(nb.UserError, 3):
        nb.compare([3])


def test_another_table_makes_runs_of_different_tables_comparable(folder):
    found = compare_runs([folder / "one", folder / "official", folder / "tuned"], table="embedded")
    assert found.facts.table == nb.load_table("embedded").id
    assert found.results["label"].tolist() == ["darts (one)", "darts (official)", "darts tuned by BOHB"]


def test_a_table_without_test_regrets_or_times_is_named(folder, tmp_path):
    run = make.search(tmp_path / "run", (1, 2), finished=False)
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    for field, what in (("test_regret", "test regrets"), ("simulated_seconds", "training times")):
        text = "".join(json.dumps({**line, field: None}) + "\n" for line in lines)
        (run.folder / "metrics.jsonl").write_text(text)
        with refuses(nb.UserError, run.folder, what):
            nb.compare([run.folder], over="simulated-time")


def test_a_study_on_a_table_without_a_training_time_is_refused(tmp_path):
    """Wall-clock time of its searches is not comparable with simulated time."""
    study, accuracies = make.tuning(tmp_path / "tuned"), convolutions()[:, None, None] / 10 + np.zeros((1, 4, 1))
    seconds, complete = np.ones_like(accuracies), smooth_table()
    seconds[complete.row_of(nb.Architecture.parse(study.lines[3]["architecture"]))] = np.nan
    assert compare_runs([study.folder], table=complete).results["n"].tolist() == [1]
    for table in (s1_table(accuracies, seconds), s1_table(accuracies, np.full_like(seconds, np.nan))):
        with refuses(nb.InvalidInputError, study.folder, "training times", options="table"):
            compare_runs([study.folder], table=table)


def test_accuracies_need_a_result_of_a_search_and_leave_out_seeds_without_one(folder, tmp_path):
    with refuses(nb.InvalidInputError, folder / "empty", "result"):
        compare_accuracies([folder / "one", folder / "empty"], ["one", "empty"])
    group = make.group(tmp_path / "seeds", [(4, 3), (2, 1)])
    (group.folder / "seed-1" / "summary.json").unlink()
    (group.folder / "seed-1" / "metrics.jsonl").unlink()
    found, alone = (compare_accuracies([of]).accuracies for of in (group.folder, group.folder / "seed-0"))
    assert found.final_source == alone.final_source
    pandas.testing.assert_frame_equal(found.frame, alone.frame)


def test_a_folder_with_other_files_is_not_overwritten(folder, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    for out in (tmp_path, tmp_path / "notes.txt"):
        with exits(capsys, f"'{out}'", "--out"):
            main(["compare", str(folder / "one"), "--out", str(out)])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_command_line_refuses_and_writes_nothing(folder, tmp_path, capsys):
    for arguments, sentence in (
        ([], "no run is given"),
        (["--labels", "A", "B", str(folder / "one")], "--labels takes all words"),
        (["--labels", "A", "B", str(folder / "one")], "--labels A,B"),
        ([str(folder / "one"), "--labels", "a,b"], "--labels has 2 labels for 1 run"),
        ([str(folder / "one"), "--format", "gif"], "gif"),
    ):
        with exits(capsys, sentence):
            main(["compare", *arguments, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()
