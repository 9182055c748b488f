"""Studies whose objective is another metric than validation accuracy."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from black_box_tables import S1, ScriptedProposals, convolutions, smooth_table
from command_line import command
from refusals import fails, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.drawing import caption, regret_figure
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.black_box_search.simulation import FailedTraining, Limits, TableTrainings, simulate
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.drawing import caption as comparison_caption
from nasbench1shot1.tables.columns import Column, standard

QUIET = Console(quiet=True)
CELLS = 2_685
_NUMBERS = 5 * convolutions() + np.random.default_rng(1).permutation(CELLS) / CELLS
LATENCY = 20 + (_NUMBERS - _NUMBERS.min())
"""Milliseconds, mainly 5 for each 3×3 convolution. The fastest cell needs 20 ms, and no two are equally fast."""
EDGE_GPU = Column(
    metric="latency_edgegpu", quantity="latency", dataset="cifar10", unit="ms", direction="lower", device="Jetson TX2"
)
SPEED = Column(metric="speed", quantity="speed", dataset="cifar10", unit="images/s", direction="higher")
SHAPE = Column(metric="shape_score", quantity="score", dataset="cifar10", fidelity="predicted")
UNKNOWN = Column(metric="latency_phone", quantity="latency", dataset="cifar10", unit="ms", direction="lower")
ACCURACY: dict[str, Any] = {"quantity": "accuracy", "dataset": "cifar10", "unit": "fraction", "direction": "higher"}
OTHERS = {
    EDGE_GPU: LATENCY,
    Column(metric="valtest_accuracy", split="valtest", **ACCURACY): np.linspace(0.5, 0.9, CELLS),
    SPEED: 1000 / LATENCY,
    SHAPE: np.arange(CELLS),
    UNKNOWN: np.full(CELLS, np.nan),
    standard("validation_loss", "cifar10", epochs=(108,)): np.log(1 + convolutions())[:, None, None] + [[[1.0, 2.0]]],
    standard("test_loss", "cifar10", epochs=(108,)): np.log(2 + convolutions())[:, None, None] * [[[1.0, 1.0]]],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> nb.Table:
    """A saved table with two repeats and further columns."""
    folder = tmp_path_factory.mktemp("tables") / "costs"
    smooth_table(repeats=2, others=OTHERS).save(folder)
    return nb.load_table(folder)


def study(folder: Path, table: nb.Table, objective: str | None = "latency_edgegpu", **options: Any) -> nb.BlackBoxStudy:
    short = {"space": "s1", "evaluations": 300, "repeats": 3, "console": QUIET, "optimizer": "local-search"}
    return nb.black_box(out=folder, table=table, objective=objective, **{**short, **options})


def test_a_search_finds_the_fastest_architecture(table: nb.Table, tmp_path: Path) -> None:
    made = study(tmp_path / "made", table, evaluations=6_000, repeats=2)
    fastest = table.row_of(table.best("s1", metric="latency_edgegpu")[0])
    for line in made.lines:
        assert table.row_of(nb.Architecture.parse(line["architecture"])) == fastest
        assert (line["validation_error"], line["test_error"]) == (20.0, 20.0)
        assert (line["validation_regret"], line["test_regret"], line["test_measured"]) == (0.0, 0.0, True)
    assert repr(made).endswith("mean regret in latency edgegpu 0 ms)")


def test_incumbents_and_regrets_follow_the_metric(table: nb.Table, tmp_path: Path) -> None:
    made = study(tmp_path / "made", table, "latency_edgegpu", optimizer="random", evaluations=20)
    for row in made.trajectory.itertuples():
        latency = table.query(nb.Architecture.parse(row.architecture)).latency_edgegpu
        assert row.validation_error == row.test_error == latency
        assert row.test_regret == latency - 20
    default = study(tmp_path / "default", table, None, optimizer="random", evaluations=20)
    assert made.final["simulated_seconds"].tolist() == default.final["simulated_seconds"].tolist()
    assert made.final["architecture"].tolist() != default.final["architecture"].tolist()


def test_higher_values_of_a_metric_can_be_better(table: nb.Table, tmp_path: Path) -> None:
    slow, fast = (
        study(tmp_path / name, table, name, optimizer="random", evaluations=30) for name in ("latency_edgegpu", "speed")
    )
    assert fast.trajectory["architecture"].tolist() == slow.trajectory["architecture"].tolist()
    last = fast.lines[0]
    assert last["validation_error"] == pytest.approx(-1000 / slow.lines[0]["validation_error"])
    assert last["test_regret"] == pytest.approx(1000 / 20 - 1000 / slow.lines[0]["validation_error"])


def test_one_repeat_of_the_metric_is_observed_and_its_test_counterpart_judges(table: nb.Table, tmp_path: Path) -> None:
    made = study(tmp_path / "made", table, "validation_loss", evaluations=40)
    for line in made.lines:
        arch = nb.Architecture.parse(line["architecture"])
        found = [table.query(arch, run=repeat).validation_loss for repeat in (0, 1)]
        assert line["validation_error"] in found
        assert line["validation_regret"] == pytest.approx(np.mean(found) - 1.5)
        assert line["test_error"] == table.query(arch).test_loss
        assert line["test_regret"] == table.regret(arch, metric="test_loss")
    axes = nb.draw_regret(made)
    assert axes.get_ylabel() == "mean regret in test loss [nats] (measured)"


def test_a_study_is_repeatable_and_resumes_to_the_same_record(table: nb.Table, tmp_path: Path) -> None:
    whole = study(tmp_path / "whole", table, repeats=4)
    short = study(tmp_path / "short", table, repeats=2)
    resumed = nb.black_box(resume=short.folder, repeats=4, objective="latency_edgegpu", console=QUIET)
    assert (resumed.folder / "metrics.jsonl").read_bytes() == (whole.folder / "metrics.jsonl").read_bytes()
    assert resumed.summary == whole.summary
    there = study(tmp_path / "there", table, repeats=4, workers=2)
    assert there.lines == whole.lines
    with pytest.raises(nb.InvalidInputError, match='objective="latency_edgegpu"'):
        nb.black_box(resume=short.folder, objective="speed", console=QUIET)


@pytest.mark.parametrize("changes", [{"direction": "higher"}, {"unit": "s"}, {"fidelity": "predicted"}])
def test_a_study_is_not_resumed_if_the_table_describes_its_metric_otherwise(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    smooth_table(others={EDGE_GPU: LATENCY}).save(tmp_path / "costs")
    made = study(tmp_path / "made", nb.load_table(tmp_path / "costs"), optimizer="random", evaluations=5)
    outside = nb.objective(
        "s1", table=tmp_path / "costs", objective=EDGE_GPU.metric, evaluations=2, out=tmp_path / "own"
    )
    outside.close()
    before = (made.folder / "metrics.jsonl").read_bytes()
    smooth_table(others={replace(EDGE_GPU, **changes): LATENCY}).save(tmp_path / "costs")
    assert nb.load_table(tmp_path / "costs").id == made.config["table_id"]
    with refuses(nb.InvalidInputError, str(made.folder), EDGE_GPU.metric, "lower", "measured", *changes.values()):
        nb.black_box(resume=made.folder, repeats=4, console=QUIET)
    with refuses(nb.InvalidInputError, str(tmp_path / "own"), EDGE_GPU.metric, *changes.values()):
        nb.objective(resume=tmp_path / "own")
    assert (made.folder / "metrics.jsonl").read_bytes() == before


def test_the_default_objective_is_validation_accuracy(tmp_path: Path) -> None:
    options: dict[str, Any] = {"space": "nb201", "evaluations": 40, "repeats": 2, "console": QUIET}
    usual = nb.black_box("random", out=tmp_path / "usual", **options)
    explicit = nb.black_box("random", out=tmp_path / "explicit", objective="validation_accuracy", **options)
    for name in ("config.json", "metrics.jsonl", "summary.json"):
        assert (explicit.folder / name).read_bytes() == (usual.folder / name).read_bytes()
    assert usual.config["objective"] is None
    assert not {"objective_metrics", "unit"} & {*usual.config, *usual.summary}
    assert "objective" not in usual.summary


def test_texts_name_metric_and_unit(table: nb.Table, tmp_path: Path) -> None:
    with (tmp_path / "screen").open("w") as file:
        made = study(tmp_path / "made", table, console=Console(file=file, width=300), evaluations=20)
    screen = (tmp_path / "screen").read_text()
    assert "Objective: latency edgegpu (ms, lower is better)." in screen
    assert "Regret in latency edgegpu of the final incumbents: " in screen and " ms ± " in screen
    assert (made.summary["objective"], made.summary["unit"]) == ("latency_edgegpu", "ms")
    figure = regret_figure([made])
    band = figure.legends[0].get_title().get_text()
    assert band == "mean and range of 3 searches" and figure.caption.startswith(f"Shown: {band}.\n")
    drawn = nb.draw_regret(made)
    assert drawn.get_ylabel() == figure.axes[0].get_ylabel() == "mean regret in latency edgegpu [ms] (measured)"
    assert drawn.get_lines()[0].get_ydata()[-1] == pytest.approx(made.final["test_regret"].mean())
    assert caption([made]).splitlines()[:3] == [
        "Regret in latency edgegpu of the incumbent, the architecture with the best feedback so far. Table "
        f"{table.id}: all final values of latency edgegpu are measured.",
        "Regret: distance from the best latency edgegpu of all networks of s1.",
        "Objective: latency edgegpu (ms, lower is better).",
    ]
    assert "%" not in screen + repr(made) + caption([made]) + drawn.get_ylabel()


def test_a_caption_says_that_test_values_guided_the_search(table: nb.Table, tmp_path: Path) -> None:
    made = study(tmp_path / "made", table, "test_accuracy", evaluations=20)
    assert made.lines[0]["validation_regret"] == made.lines[0]["test_regret"]
    assert "Objective: test accuracy (fraction, higher is better). Test values guided the search." in caption([made])
    both = study(tmp_path / "both", table, "valtest_accuracy", evaluations=20)  # half of its images are test images
    assert "Objective: valtest accuracy (fraction, higher is better). Test values guided the search." in caption([both])
    with refuses(nb.InvalidInputError, "valtest_accuracy", "test images"):
        nb.objective("s1", table=table, objective=["validation_accuracy", "valtest_accuracy"], evaluations=9)
    assert nb.draw_regret(made).get_ylabel() == "mean test regret [%] (measured)"


@pytest.mark.parametrize(
    ("objective", "options", "message"),
    [
        ("latency_edgegup", {}, "mean 'latency_edgegpu'"),
        ("shape_score", {}, "shape_score"),
        ("latency_phone", {}, "s1.*objective=.*table="),
        ("validation_loss", {"epochs": 12}, r"s1.*108 epochs.*\b12\b.*epochs=108"),
        (3, {}, r"^objective\b.*\b3\b"),
    ],
)
def test_unsuitable_objectives_are_refused(
    table: nb.Table, tmp_path: Path, objective: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(nb.UserError, match=message):
        study(tmp_path / "bad", table, objective, **options)
    assert not (tmp_path / "bad").exists()


def test_searches_on_test_accuracy_are_marked_everywhere(tmp_path: Path) -> None:
    given = {"space": "nb201", "evaluations": 5, "repeats": 2, "epochs": 200, "console": QUIET}
    guided = nb.black_box("random", objective="test_accuracy", out=tmp_path / "test", **given)
    usual = nb.black_box("random", out=tmp_path / "usual", **given)
    assert "test values" in repr(guided) and "test values" not in repr(usual)
    assert guided.summary["objective"] == "test_accuracy" and "Test values" in caption([guided])
    for drawn in (regret_figure([guided]).axes[0], nb.draw_regret(guided), nb.compare([guided, usual])):
        labels = drawn.get_legend_handles_labels()[1]
        of_runs = [label for label in labels if not label.startswith("mean")]
        assert [("test values" in label) for label in of_runs] == [True, False][: len(of_runs)]
    found = compare_runs([guided, usual], ["a", "b"])
    assert [of.label for of in found.contenders if of.entry.goal.is_guided_by_test_values] == ["a"]
    assert "guided the searches of a." in comparison_caption(found)


def test_a_table_without_validation_accuracy_is_searched_only_if_asked_for(tmp_path: Path) -> None:
    with refuses(nb.OutOfDomainError, "nats-size", options="table objective"):
        nb.black_box("random", space="nats-size", evaluations=5, out=tmp_path / "made", console=QUIET)
    assert not (tmp_path / "made").exists()


def test_studies_with_different_objectives_are_not_joined(table: nb.Table, tmp_path: Path) -> None:
    fast = study(tmp_path / "fast", table, evaluations=20)
    other = study(tmp_path / "other", table, evaluations=20, optimizer="random")
    usual = study(tmp_path / "usual", table, None, evaluations=20)
    with pytest.raises(
        nb.InvalidInputError,
        match=r"latency_edgegpu \('.*fast'\).*validation_accuracy.*\('.*usual'\)",
    ):
        compare_runs([fast, usual])
    with refuses(nb.InvalidInputError, "latency_edgegpu", "validation_accuracy"):
        regret_figure([fast, usual])
    found, axes = compare_runs([fast, other]), nb.compare([fast, other])
    assert found.results["final_mean"].tolist() == [s.final["test_regret"].mean() for s in (fast, other)]
    assert axes.get_ylabel() == "mean regret in latency edgegpu [ms] (measured)"
    assert axes.figure.title == "Regret in latency edgegpu on s1, cifar10, over simulated time"
    assert "%" not in repr(found) and " ms (n = 3)" in repr(found)
    again = compare_runs([fast, other], table=table)
    assert again.results["final_mean"].tolist() == found.results["final_mean"].tolist()


def test_a_damaged_description_of_the_metrics_is_reported(table: nb.Table, tmp_path: Path) -> None:
    path = study(tmp_path / "made", table, evaluations=20).folder / "config.json"
    config = json.loads(path.read_text())
    for damaged in (None, {"validation": {}}, {"validation": {"unit": "ms"}, "test": {}}):
        path.write_text(json.dumps({**config, "objective_metrics": damaged}))
        with pytest.raises(nb.DamagedFileError, match="objective_metrics"):
            nb.open_run(path.parent)


def test_an_architecture_that_is_not_in_the_table_has_the_highest_cost() -> None:
    space, rows = nb.search_space("nb201"), 100
    latency, seconds = np.linspace(3.0, 1.0, rows), np.ones((rows, 1, 1))
    columns = {"index": np.arange(rows, dtype=np.uint16), "validation_accuracy": 0.5 * seconds}
    columns |= {"training_time": seconds, "latency_edgegpu": latency, "speed": 1 / latency}
    about = {"fidelity": "measured", "epochs": [12]}
    entries = {"validation_accuracy": about, "training_time": about}
    entries |= {"latency_edgegpu": EDGE_GPU.entry(), "speed": SPEED.entry()}
    meta = {"name": "part", "version": "1", "keyed_by": "nasbench201", "datasets": ["cifar10"], "epochs": [12]}
    whole = nb.Table.from_columns(columns, {**meta, "repeats": 1, "spaces": [], "columns": entries})
    table = whole.covering(space, present=True)
    missing, known = space[15_000], table.network(7)
    for metric, highest, own in (
        (None, 1.0, 0.5),
        ("latency_edgegpu", 3.0, latency[7]),
        ("speed", -1 / 3, -1 / latency[7]),
    ):
        train = TableTrainings(space, table, None, np.random.default_rng(0), metric=metric)
        assert missing not in table and train(Query(missing, 12)) == FailedTraining(highest, 0.0)
        found = simulate(ScriptedProposals([Query(missing, 12), Query(known, 12)], (12,)), train, Limits())
        assert [(each.architecture, each.validation_error) for each in found.incumbents] == [(known, own)]


def test_metrics_without_budgets_allow_all_budgets() -> None:
    options = black_box_options({"optimizer": "random", "space": "s1", "objective": "latency_edgegpu"})
    repeats = Repeats(options, smooth_table(others={EDGE_GPU: LATENCY}))
    assert repeats.budgets == (4, 12, 36, 108)
    train = TableTrainings(S1, repeats.table, None, np.random.default_rng(0), metric="latency_edgegpu")
    found = [train(Query(S1[7], epochs)) for epochs in repeats.budgets]
    assert {result.validation_error for result in found} == {repeats.table.query(S1[7]).latency_edgegpu}
    assert [result.seconds for result in found] == [4.0, 12.0, 36.0, 108.0]


def test_the_command_minimizes_parameters_on_nb201(tmp_path: Path) -> None:
    options = ["--optimizer", "local-search", "--space", "nb201", "--evaluations", "300", "--repeats", "2"]
    ended = command("blackbox", *options, "--objective", "trainable_parameters", "--out", "small", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (
        "Regret in trainable parameters of the final incumbents: 0 ± 0 (standard deviation), median 0" in ended.stdout
    )
    assert "%" not in ended.stdout
    made, smallest = (
        nb.open_run(tmp_path / "small"),
        nb.load_table("nb201").values("trainable_parameters", 12, "cifar10"),
    )
    assert set(made.final["validation_error"]) == {smallest.min()} == set(made.final["test_error"])
    assert (made.final["test_regret/cifar100"] == 0).all()
    fails(command("blackbox", *options, "--objective", "parameters", cwd=tmp_path), "'parameters'")
