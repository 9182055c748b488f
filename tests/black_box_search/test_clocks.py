"""The clock of a study: simulated seconds, or the number of trainings on a table without training times."""

import json
import math
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.black_box_search.drawing import regret_figure
from nasbench1shot1.experiments.comparison.comparing import compare_runs

QUIET = Console(quiet=True)
LARGEST = nb.WidthArchitecture.parse("64:64:64:64:64")


def study(folder: Path, optimizer: str = "random", **options: Any) -> nb.BlackBoxStudy:
    defaults = {"space": "nats-size", "objective": "test_accuracy", "evaluations": 20, "repeats": 4, "console": QUIET}
    return nb.black_box(optimizer, out=folder, **{**defaults, **options})


def test_a_table_without_times_counts_trainings(tmp_path: Path) -> None:
    made, table = study(tmp_path / "made"), nb.load_table("nats-size")
    assert (made.config["seconds"], made.config["evaluations"], made.config["epochs"]) == (None, 20, 90)
    assert (made.clock, made.is_timed) == ("evaluations", False)
    assert made.final["evaluations"].tolist() == [20] * 4
    assert made.final["simulated_seconds"].isna().all() and made.trajectory["simulated_seconds"].isna().all()
    assert made.summary["mean_simulated_seconds"] is None
    for line in made.lines:
        assert line["test_error"] == line["validation_error"]
        assert line["test_error"] == 1 - table.query(line["architecture"], dataset="cifar10").test_accuracy
        assert [entry[1] for entry in line["incumbents"]] == sorted(entry[1] for entry in line["incumbents"])
    assert math.isclose(made.traces()[0].end, 20)
    axes = nb.draw_regret(made)
    assert axes.get_xlabel() == "evaluations"
    assert axes.get_lines()[0].get_xdata()[[0, -1]].tolist() == [1, 20]


def test_the_default_number_of_trainings_is_recorded(tmp_path: Path) -> None:
    made = study(tmp_path / "made", evaluations=None, repeats=1)
    assert (made.config["evaluations"], made.config["seconds"], made.final["evaluations"][0]) == (500, None, 500)


def test_searches_differ_only_by_the_order_of_results_with_several_workers(tmp_path: Path) -> None:
    """Trainings of equal length end in the order in which they began."""
    one, four = (study(tmp_path / str(n), simulated_workers=n) for n in (1, 4))
    assert one.final.drop(columns="repeat").equals(four.final.drop(columns="repeat"))


def test_several_simulated_workers_are_on_the_screen_and_in_the_picture(tmp_path: Path) -> None:
    texts = {}
    for number in (1, 8):
        out = StringIO()
        made = study(tmp_path / str(number), simulated_workers=number, repeats=1, console=Console(file=out, width=200))
        texts[number] = made, out.getvalue(), regret_figure([made]).caption
    said = "Simulated workers: 8 (trainings at the same time)."
    assert said in texts[8][1] and said in texts[8][2]
    assert "Simulated workers" not in texts[1][1] + texts[1][2]
    both = regret_figure([texts[1][0], texts[8][0]]).caption
    assert "Simulated workers: 1 or 8 (trainings at the same time)." in both


def test_a_killed_study_continues_with_the_same_clock(tmp_path: Path) -> None:
    whole, part = study(tmp_path / "whole", "regularized-evolution"), study(tmp_path / "part", "regularized-evolution")
    lines = (part.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (part.folder / "metrics.jsonl").write_text("".join(lines[:2]))
    (part.folder / "summary.json").unlink()
    nb.black_box(resume=part.folder, console=QUIET)
    assert (part.folder / "metrics.jsonl").read_bytes() == (whole.folder / "metrics.jsonl").read_bytes()


def test_a_table_with_times_has_both_clocks(tmp_path: Path) -> None:
    timed = study(tmp_path / "timed", space="nb201", objective=None, evaluations=None, seconds=5e3)
    counted = study(tmp_path / "counted", space="nb201", objective=None)
    assert (timed.clock, counted.clock) == ("simulated_seconds", "evaluations")
    assert counted.is_timed and counted.final["simulated_seconds"].min() > 0
    for clock, column in (("simulated_seconds", 0), ("evaluations", 1)):
        trace = counted.traces(clock=clock)[0]  # type: ignore[arg-type]
        np.testing.assert_array_equal(trace.at, [entry[column] for entry in counted.lines[0]["incumbents"]])
        assert trace.end == counted.lines[0][clock]
    with refuses(nb.InvalidInputError, "simulated seconds", "evaluations", timed.folder, counted.folder):
        regret_figure([timed, counted])
    over_time = compare_runs([timed.folder, counted.folder])
    assert over_time.over == "simulated-time" and "common_seconds" in over_time.results
    over_trainings = compare_runs([timed.folder, counted.folder], over="evaluations")
    assert over_trainings.results["common_evaluations"].tolist() == [over_trainings.common_time] * 2
    assert over_trainings.common_time <= 20


def test_clocks_are_not_mixed_in_comparisons(tmp_path: Path) -> None:
    counted, recorder = study(tmp_path / "counted"), nb.Recorder(tmp_path / "own", "nats-size", table="nats-size")
    recorder.record(LARGEST)
    recorder.finish()
    with refuses(nb.InvalidInputError, "evaluations", "epochs", counted.folder):
        nb.compare([counted, tmp_path / "own"])
    with refuses(nb.InvalidInputError, counted.folder, options="over"):
        nb.compare([counted], over="simulated-time")
    assert nb.compare([counted]).get_xlabel() == "evaluations"


@pytest.mark.parametrize(
    ("given", "values", "options"),
    [
        ({"seconds": 1e4, "evaluations": 20}, (), "seconds evaluations"),
        ({"seconds": 1e4}, ("nats-size-v1",), "seconds evaluations"),
        ({"evaluations": 20, "decision_seconds": 1.0}, ("nats-size-v1",), "decision_seconds evaluations"),
        ({"evaluations": 20, "objective": None}, ("validation accuracy", "test_accuracy"), None),
        ({"evaluations": 20, "epochs": 12}, ("90", "12"), "epochs"),
        ({"evaluations": 0}, ("0",), "evaluations"),
    ],
)
def test_what_the_table_cannot_answer_is_refused_in_one_sentence(
    tmp_path: Path, given: dict[str, Any], values: tuple[str, ...], options: str | None
) -> None:
    with refuses(nb.UserError, *values, options=options):
        study(tmp_path / "made", **{"evaluations": None, **given})
    assert not (tmp_path / "made").exists()


def test_the_command_names_the_objective_that_the_table_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["blackbox", "--space", "nats-size", "--optimizer", "random", "--repeats", "2", "--out", "made"]
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2 and "--objective test_accuracy" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    cli.main([*arguments, "--objective", "test_accuracy", "--evaluations", "5"])
    printed = capsys.readouterr().out
    assert "2 searches of 5 trainings each" in printed and "Test values guided the search." in printed
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["options"]["evaluations"] == 5


@pytest.mark.parametrize("optimizer", ["tpe", "bohb", "hyperband", "reinforce", "local-search"])
def test_methods_search_ordered_choices(tmp_path: Path, optimizer: str) -> None:
    """BOHB and TPE have no notion of order, so they treat widths as categories, as NATS-Bench's BOHB does."""
    made = study(tmp_path / "made", optimizer, repeats=1, evaluations=30)
    assert made.final["evaluations"].tolist() == [30]
    assert isinstance(nb.Architecture.parse(made.final["architecture"][0]), nb.WidthArchitecture)


def test_published_settings_of_nats_bench_are_the_defaults(tmp_path: Path) -> None:
    """exps/NATS-algos/run-all.sh of AutoDL-Projects."""
    made = study(tmp_path / "made", "regularized-evolution", repeats=1, evaluations=12)
    options = json.loads((made.folder / "config.json").read_text())
    assert (made.config["population"], made.config["tournament"]) == (10, 3), options
