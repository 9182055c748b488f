"""NATS-Bench's table 4 and figures 6 and 7: plans, complete and bundled tables, and small runs of both spaces."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from refusals import exits, missing
from rich.console import Console
from tiny_figures import planned as planned_at
from tiny_figures import run_jobs_here, shrink

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.black_box_search import studying
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.experiments.reproduction.results.nats_bench import AccuracyOverTime
from nasbench1shot1.tables.columns import Column, standard
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import load_table

SETS = ("cifar10", "cifar100", "ImageNet16-120")
LARGEST = {"cifar10": 0.9340, "cifar100": 0.7072, "ImageNet16-120": 0.4717}
TINY_WIDTHS: dict[str, Any] = {
    **{"scale": "quick", "channels": 64, "cells": 3, "image_side": 4, "images_per_half": 20, "batch_size": 10},
    **{"epochs": 2, "threads": 1, "device": "cpu"},
}


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table with every column that the published searches observe.

    Test accuracies are the measured ones of the bundled table. Validation accuracies and times are made up from them
    and from the numbers of parameters: they are like the columns of an imported archive, but not like its values.
    """
    table, folder = load_table("nats-size"), tmp_path_factory.mktemp("complete") / "table"
    for objective in table.objectives:
        tested = table.values("test_accuracy", 90, objective.test)[:, :1]
        size = table.query(range(len(table)), dataset=objective.test).trainable_parameters[:, None]
        accuracy = np.stack([0.5 * tested, 0.8 * tested, tested - 0.02], axis=1)
        seconds = np.array([1.0, 12.0, 90.0])[None, :, None] * (3.0 + 4.0 * size[:, None] / size.max())
        for name, values in (("validation_accuracy", accuracy), ("training_time", seconds)):
            table = table.with_column(_column(name, objective.validation), values, name="complete")
    table.save(folder)
    return folder


def _column(name: str, dataset: str) -> Column:
    return standard(name, epochs=(1, 12, 90), dataset=dataset)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs_here(monkeypatch)
    monkeypatch.setattr(studying, "save_figure", lambda *_: None)  # the picture of each study takes a second


def drawn(name: str, out: Path, **given: Any) -> tuple[pandas.DataFrame, str]:
    """Run a figure; return its CSV file and what it printed at a width of 80 characters."""
    said = io.StringIO()
    picture = reproduce(name, out=out, console=Console(file=said, width=80), **given)
    assert picture is not None and picture.read_bytes().startswith(b"\x89PNG")
    return pandas.read_csv(picture.with_suffix(".csv")), said.getvalue()


def planned(name: str, out: Path, *, only: Sequence[str] = (), **given: Any) -> list[Any]:
    return planned_at(name, out, scale="full", only=only, **given)


@pytest.mark.parametrize(
    ("name", "space", "seconds"), [("nats-figure6", "nb201", 120_000), ("nats-figure6-size", "nats-size", 60_000)]
)
def test_the_published_time_limits_differ_between_data_sets(tmp_path, complete, name, space, seconds):
    given = {"table": str(complete)} if space == "nats-size" else {}
    jobs = planned(name, tmp_path, **given)
    assert [job.panel for job in jobs] == [panel for panel in SETS for _ in range(4)]
    assert {job.curve for job in jobs} == {"random", "regularized-evolution", "reinforce", "bohb"}
    limits = {job.panel: job.options["seconds"] for job in jobs}
    assert limits == dict(zip(SETS, (20_000, 40_000, seconds), strict=True))
    assert {(job.options["space"], job.options["epochs"], job.options["repeats"]) for job in jobs} == {(space, 12, 500)}
    assert {(job.options["objective"], job.options["evaluations"]) for job in jobs} == {(None, None)}
    table4 = planned(name.replace("figure6", "table4"), tmp_path, **given)
    assert [job.options for job in table4] == [job.options for job in jobs]


@pytest.mark.parametrize("name", ["nats-figure6", "nats-figure6-size"])
def test_black_box_methods_have_the_published_settings_on_both_spaces(tmp_path, complete, name):
    """run-all.sh of AutoDL-Projects (f46486e) gives the same settings for both spaces."""
    given = {"table": str(complete)} if name.endswith("size") else {}
    jobs = {job.curve: job.options for job in planned(name, tmp_path, **given)}
    assert (jobs["regularized-evolution"]["population"], jobs["regularized-evolution"]["tournament"]) == (10, 3)
    assert (jobs["reinforce"]["update"], jobs["reinforce"]["learning_rate"]) == ("adam", 0.01)
    assert (jobs["bohb"]["num_samples"], jobs["bohb"]["random_fraction"]) == (4, 0.0)


def test_figure_7_has_the_published_one_shot_methods(tmp_path, monkeypatch):
    jobs = planned("nats-figure7-size", tmp_path, device="cpu")
    assert {job.curve for job in jobs} == {"tas", "fbnetv2", "tunas"} and len(jobs) == 27
    assert {job.options["images"] for job in jobs} == set(SETS) and {job.options["seed"] for job in jobs} == {0, 1, 2}
    keys = ("epochs", "batch_size", "learning_rate", "weight_decay", "warm_up_ratio")
    assert {tuple(job.options[key] for key in keys) for job in jobs} == {(100, 64, 0.025, 5e-4, 0.3)}
    (other, *_) = planned("nats-figure7-size", tmp_path, only=["cifar10/tas-without-warm-up"], device="cpu")
    assert other.options["warm_up_ratio"] == 0.0
    jobs = planned("nats-figure7", tmp_path, device="cpu")
    assert len(jobs) == 54 and {job.options["space"] for job in jobs} == {"nb201"}
    sampled = {job.curve for job in jobs if job.options.get("candidate_batches") == 8}
    assert sampled == {"random-ws", "enas", "setn"}


def test_a_complete_table_is_searched_as_published(tmp_path, here, complete):
    given = {"table": str(complete), "repeats": 3, "seconds": 3000.0}
    only = ["cifar10/random", "cifar100/random"]
    frame, said = drawn("nats-figure6-size", tmp_path / "figure6", only=only, **given)
    assert "observe test accuracy" not in said
    assert list(frame.columns) == ["panel", "curve", "seconds", "mean", "median", "low", "high"]
    assert set(frame["panel"]) == set(SETS[:2]) and (frame["seconds"] % 100 == 0).all()
    made = nb.BlackBoxStudy.open(tmp_path / "figure6" / "cifar10" / "random" / "seed-0")
    assert (made.config["objective"], made.config["epochs"], made.clock) == (None, 12, "simulated_seconds")
    table, said = drawn("nats-table4-size", tmp_path / "table4", only=only, **given)
    assert len(table) == 2 * 2 and set(table["split"]) == {"validation", "test"}
    own = table.query("curve == 'random' and dataset == 'cifar10'").set_index("split")
    accuracies = 100 * (1 - made.final["test_error"])
    assert own.loc["test", "mean"] == pytest.approx(accuracies.mean())
    assert own.loc["test", "std"] == pytest.approx(accuracies.std())
    assert own.loc["validation", "mean"] == pytest.approx(accuracies.mean() - 2, abs=1e-6)
    assert own[["published_mean", "published_std"]].to_numpy().tolist() == [[90.10, 0.26], [93.03, 0.25]]
    assert not missing(said, "93.03 ± 0.25", "69.72 ± 0.61", "(3)", "93.40", "TAS", "--join")
    assert "do not compare" not in said


def test_the_bundled_table_is_searched_on_test_accuracy_which_every_text_says(tmp_path, here):
    given = {"repeats": 3, "evaluations": 30}
    only = ["cifar10/random", "cifar100/random"]
    frame, said = drawn("nats-figure6-size", tmp_path / "figure6", only=only, **given)
    said_once = " ".join(said.split())
    assert not missing(said_once, "no validation accuracies after 12 epochs and no training times", "optimistic")
    assert not missing(said_once, "NATS-sss-v1_0-50262-simple", "nb1shot1 table import", "CIFAR-10 93.40 %")
    own = frame[frame["panel"] == "cifar100"]
    assert own["evaluations"].tolist() == list(range(1, 31))
    made = nb.BlackBoxStudy.open(tmp_path / "figure6" / "cifar100" / "random" / "seed-0")
    assert own["mean"].iloc[-1] == pytest.approx(1 - made.final["test_error"].mean())
    assert made.goal.is_guided_by_test_values and made.config["epochs"] == 90
    figure = open_figure("nats-figure6-size", only).on_table("full", given, lambda function, *rest: function(*rest))
    jobs = figure.jobs("full", tmp_path / "figure6", given, None, lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, given))
    assert isinstance(results, AccuracyOverTime)
    canvas = results.draw()
    assert not missing(canvas.caption, "no validation accuracies", "Test values guided the search")
    assert not missing(canvas.title, "3 searches of 30 trainings", "paper: 500 searches guided by validation accuracy")
    assert [axes.get_xlabel() for axes in canvas.axes] == ["evaluations"] * 2
    assert "guided by test values" in canvas.axes[0].get_ylabel()
    levels = [axes.get_lines()[-1].get_ydata()[0] for axes in canvas.axes]
    assert levels == pytest.approx([100 * LARGEST[name] for name in SETS[:2]], abs=0.005)


@pytest.mark.parametrize(
    ("name", "part", "budgets"),
    [("nats-figure6-size", "cifar10/bohb", [90]), ("nas201-figure6", "nb201/hyperband", [12, 200])],
)
def test_methods_with_brackets_train_at_all_budgets_of_the_table(tmp_path, here, name, part, budgets):
    given = {"only": [part], "repeats": 2, "evaluations": 20}
    frame, _ = drawn(name, tmp_path, **given)
    made = nb.BlackBoxStudy.open(tmp_path / part / "seed-0")
    assert [int(epochs) for epochs in made.config["feedback_repeats"]] == budgets
    again, _ = drawn(name, tmp_path, **given)  # the recorded study fits the plan
    assert again.equals(frame) and len(frame)


def test_one_shot_searches_are_drawn_and_join_table_4(tmp_path, here, monkeypatch):
    shrink(monkeypatch, "nats-figure7-size", TINY_WIDTHS)
    searched = tmp_path / "figure7"
    frame, said = drawn("nats-figure7-size", searched, scale="quick", only=["tas"], seeds=[0, 1], device="cpu")
    assert list(frame["curve"].unique()) == ["tas"] and frame["epoch"].max() == 2
    runs = [nb.open_run(searched / "cifar10" / "tas" / f"seed-{seed}") for seed in (0, 1)]
    found = [nb.load_table("nats-size").query(run.architectures[-1], dataset="cifar10").test_accuracy for run in runs]
    errors = [1 - accuracy for accuracy in found]
    last = frame[(frame["curve"] == "tas") & (frame["epoch"] == 2)].iloc[0]
    assert last["mean"] == pytest.approx(1 - np.mean(errors)) and last["std"] == pytest.approx(np.std(errors, ddof=1))
    assert last["measured"] == 1 and not missing(said, "tas", "accuracy")
    given = {"only": ["cifar10/random"], "repeats": 2, "evaluations": 5, "joined": [searched]}
    table, said = drawn("nats-table4-size", tmp_path / "table4", **given)
    own = table.set_index("curve")
    assert own.loc["tas", ["mean", "published_mean"]].tolist() == pytest.approx([100 * (1 - np.mean(errors)), 93.40])
    assert own["searches"].to_dict() == {"random": 2, "tas": 2}
    assert not missing(said, "TAS", "no runs of FBNetV2, TuNAS", "do not compare", "Validation accuracies")
    for wrong, words in (("nats-table4", "nats-size nb201"), ("figure2", "--join nats-table4")):
        with pytest.raises(nb.InvalidInputError) as refused:
            open_figure(wrong, joined=[searched])
        assert not missing(refused.value.for_command_line, *words.split())


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["nats-figure6", "--table", "nats-size"], "nats-size NAS-Bench-201 --table"),
        (["nats-figure6-size", "--table", "nb201"], "nb201 NATS-Bench nats-size --table"),
        (["nats-table4-size", "--table", "embedded"], "NAS-Bench-101 nats-size --table"),
        (["nats-figure7-size", "--scale", "quick", "--table", "nb201"], "nb201 nats-size --table"),
        (["nats-figure6-size", "--seconds", "100"], "--seconds --evaluations times"),
        (["nats-figure6-size", "--seconds", "100", "--evaluations", "5"], "--seconds --evaluations one"),
        (["nats-figure7", "--images", "cifar10-sample"], "--images nats-figure7"),
        (["nats-figure7", "--evaluations", "5"], "--evaluations nats-figure7"),
        (["nats-figure7-size", "--only", "darts"], "nats-figure7-size darts tas"),
        (["nats-table4", "--spread", "std"], "--spread nats-table4"),
        (["nats-table4", "--join", "nowhere"], "nowhere finished searches"),
    ],
)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(tmp_path, monkeypatch, capsys, arguments, values):
    monkeypatch.chdir(tmp_path)
    with exits(capsys, *values.split()):
        cli.main(["reproduce", *arguments])
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_a_part_of_the_space_is_refused_with_advice(tmp_path, shared, capsys):
    folder = tmp_path / "table"
    import_table(shared / "nats_fake" / "NATS-sss-v1_0-50262-simple", folder, report=lambda line: None)
    with exits(capsys, "nats-size", "NATS-sss-v1_0-50262-simple", "--table"):
        cli.main(["reproduce", "nats-figure6-size", "--out", str(tmp_path / "out"), "--table", str(folder)])
    assert not (tmp_path / "out").exists()


def test_every_name_of_nats_bench_says_its_space() -> None:
    names = [name for name in FIGURES if name.startswith("nats-")]
    assert [FIGURES[name].title.rpartition(", ")[2] for name in names] == ["topology space", "size space"] * 3
