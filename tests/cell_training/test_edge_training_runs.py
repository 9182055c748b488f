"""Trainings of nb201 architectures end to end: record, kill and resume, command line, documentation."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from command_line import command
from conftest import CHECKOUT
from killed_training import assert_training_killed
from refusals import fails, missing
from rich.console import Console
from tiny_training import (
    CELL,
    EDGES,
    TINY_EDGES,
    assert_same_training,
    train,
    train_edges,
    without_seconds,
    write_images,
)

import nasbench1shot1 as nb
from nasbench1shot1.cell_training import Training, load_training
from nasbench1shot1.cell_training.record import FIELDS
from nasbench1shot1.ground.errors import flag
from nasbench1shot1.ground.text import percent
from nasbench1shot1.nasbench201.recipe import learning_rate as epoch_learning_rate
from nasbench1shot1.nasbench201.training_options import SCALES, EdgeTraining, EdgeTrainingConfig
from nasbench1shot1.runs.options import option_names

QUIET = Console(quiet=True)
OFFICIAL = EDGES.removeprefix("nb201:")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


@pytest.fixture(scope="module")
def unbroken(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Training:
    return train_edges(tmp_path_factory.mktemp("unbroken") / "run", images)


def test_the_folder_contains_the_complete_record(unbroken: Training) -> None:
    names = {path.name for path in unbroken.folder.iterdir()}
    assert names == {"config.json", "environment.json", "metrics.jsonl", "checkpoint.pt", "summary.json"}
    config = json.loads((unbroken.folder / "config.json").read_text())
    assert config["kind"] == "NAS-Bench-201 training"
    assert set(config["options"]) == set(option_names(EdgeTrainingConfig))
    assert set(EdgeTraining.FACTS) <= set(config)
    assert type(unbroken) is type(load_training(unbroken.folder)) is type(nb.open_run(unbroken.folder)) is EdgeTraining
    assert unbroken.architecture == unbroken.trained == nb.Architecture.parse(EDGES)
    found = [percent(getattr(unbroken.final, f"{part}_accuracy")) for part in ("validation", "test")]
    assert repr(unbroken).endswith(f"{OFFICIAL}, 4 epochs, seed 0, accuracy: validation {found[0]}, test {found[1]})")
    assert unbroken.trainable_parameters == sum(
        p.numel() for p in nb.build_network(unbroken.architecture, channels=4, cells_per_stage=1).parameters()
    )


def test_every_epoch_has_a_line_with_its_evaluation(unbroken: Training) -> None:
    lines = unbroken.lines
    assert all(tuple(line) == tuple(FIELDS) for line in lines)
    assert [(line["step"], line["epochs"], line["evaluation"]) for line in lines] == [
        (7, 1, "epoch"),
        (14, 2, "epoch"),
        (21, 3, "epoch"),
        (28, 4, "final"),
    ]
    assert [line["learning_rate"] for line in lines] == [epoch_learning_rate(epoch, 4, 0.1) for epoch in range(4)]
    assert all(line["train_accuracy"] == line["batch_accuracy"] for line in lines)
    for name, count in (("batch_accuracy", 100), ("validation_accuracy", 20), ("test_accuracy", 20)):
        assert all(line[name] * count == pytest.approx(round(line[name] * count), abs=1e-9) for line in lines)
    assert unbroken.final.test_accuracy == lines[-1]["test_accuracy"] == unbroken.summary["test_accuracy"]
    assert unbroken.summary["architecture"] == EDGES
    assert unbroken.summary["dataset"] == unbroken.dataset == "cifar10-valid"
    assert "halfway" not in unbroken.summary
    with pytest.raises(nb.InvalidInputError, match="'halfway'"):
        _ = unbroken.halfway


def test_rare_evaluations_change_nothing_else(unbroken: Training, images: Path, tmp_path: Path) -> None:
    rare = train_edges(tmp_path / "run", images, evaluate_every=3)
    assert [line["evaluation"] for line in rare.lines] == [None, None, "epoch", "final"]
    assert [line["test_accuracy"] is None for line in rare.lines] == [True, True, False, False]
    assert [line["batch_loss"] for line in rare.lines] == [line["batch_loss"] for line in unbroken.lines]
    assert rare.final.test_accuracy == unbroken.final.test_accuracy


def test_equal_seeds_give_identical_trainings_and_other_seeds_differ(
    unbroken: Training, images: Path, tmp_path: Path
) -> None:
    assert_same_training(unbroken, train_edges(tmp_path / "again", images, nb.Architecture.parse(EDGES)))
    assert without_seconds(train_edges(tmp_path / "other", images, seed=1)) != without_seconds(unbroken)


def test_training_reduces_the_error(images: Path, tmp_path: Path) -> None:
    training = train_edges(tmp_path / "run", images, epochs=8, channels=8)
    assert training.lines[-1]["batch_loss"] < 0.7 * training.lines[0]["batch_loss"]
    assert training.final.test_accuracy > 0.5


@pytest.mark.parametrize("operations", [(0, 0, 0, 0, 0, 0), (3, 2, 3, 1, 0, 0)])
def test_networks_with_dead_ends_can_be_trained(operations: tuple[int, ...], images: Path, tmp_path: Path) -> None:
    arch = nb.EdgeArchitecture("nb201", operations)
    training = train_edges(tmp_path / "run", images, arch, epochs=1)
    assert training.final.epochs == 1


# Killed and resumed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kills",
    [
        (("training", 0), ("evaluation", 14), ("training", 17), ("summary", 28)),
        (("checkpoint", 14), ("metrics", 21)),
    ],
    ids=["while training", "while writing"],
)
def test_a_killed_and_resumed_training_equals_an_uninterrupted_one(
    unbroken: Training, images: Path, tmp_path: Path, kills: Sequence[tuple[str, int]]
) -> None:
    for moment, step in kills:
        assert_training_killed(moment, step, EDGES, tmp_path / "run", {**TINY_EDGES, "images": str(images)})
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    assert_same_training(unbroken, resumed)


def test_with_rare_checkpoints_training_resumes_from_an_earlier_epoch(
    unbroken: Training, images: Path, tmp_path: Path
) -> None:
    options = {**TINY_EDGES, "images": str(images), "checkpoint_every": 2}
    assert_training_killed("training", 24, EDGES, tmp_path / "run", options)
    assert torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["step"] == 14
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    assert without_seconds(resumed) == without_seconds(unbroken)


def test_training_that_stops_before_its_first_checkpoint_is_resumed(
    unbroken: Training, images: Path, tmp_path: Path
) -> None:
    options = {**TINY_EDGES, "images": str(images), "checkpoint_every": 4}
    assert_training_killed("training", 17, EDGES, tmp_path / "run", options)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) > 1
    resumed = nb.train_cell(resume=tmp_path / "run", console=QUIET)
    assert without_seconds(resumed) == without_seconds(unbroken)


@pytest.mark.parametrize(
    ("x", "options", "sentence"),
    [
        (None, {"epochs": 12}, r"epochs=4.*\b12\b"),
        (None, {"rms_decay": 0.9}, "rms_decay="),
        (EDGES.replace("none", "skip_connect"), {}, "architecture"),
        (CELL, {}, "architecture"),
    ],
)
def test_resuming_with_other_options_is_refused(
    unbroken: Training, x: str | None, options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(nb.InvalidInputError, match=sentence):
        nb.train_cell(x, resume=unbroken.folder, console=QUIET, **options)
    assert_same_training(unbroken, nb.train_cell(EDGES, resume=unbroken.folder, console=QUIET, seed=0))


def test_the_record_of_a_cell_is_not_resumed_with_an_architecture_of_nb201(images: Path, tmp_path: Path) -> None:
    folder = train(tmp_path / "cell", images, epochs=1).folder
    with pytest.raises(nb.InvalidInputError, match="cell"):
        nb.train_cell(EDGES, resume=folder, console=QUIET)


def test_a_damaged_architecture_is_reported_in_one_sentence(unbroken: Training, tmp_path: Path) -> None:
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("nor_conv_1x1", "nor_conv_5x5"))
    with pytest.raises(nb.UserError, match="architecture"):
        nb.train_cell(resume=folder, console=QUIET)


# The command line -----------------------------------------------------------------------------------------------------


def test_the_command_shows_results_next_to_the_table(images: Path, tmp_path: Path) -> None:
    flags = [part for name, value in {**TINY_EDGES, "epochs": 12}.items() for part in (flag(name), str(value))]
    done = command("train", OFFICIAL, *flags, "--images", str(images), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table, arch = nb.load_table("nb201"), nb.Architecture.parse(EDGES)
    training = load_training(tmp_path / "runs" / f"nb201-{table.row_of(arch)}-12-0")
    screen = " ".join(done.stdout.split())
    assert "quick scale: 4 channels × 3 cells" in screen
    assert f"Architecture {table.row_of(arch)}, {OFFICIAL}" in screen
    metrics = table.query(arch, epochs=12, dataset="cifar10-valid")
    assert f"{training.final.validation_accuracy:.4f} │ {metrics.validation_accuracy:.4f} │ measured" in screen
    assert f"{training.trainable_parameters:,} │ {metrics.trainable_parameters:,} │ exact" in screen
    assert f"{metrics.training_time:,.1f} s │ measured" in screen
    assert "differ from NAS-Bench-201's, so accuracies and times are not comparable" in screen


def test_the_command_resumes_and_reports_missing_table_values(unbroken: Training, images: Path, tmp_path: Path) -> None:
    assert_training_killed("training", 10, EDGES, tmp_path / "run", {**TINY_EDGES, "images": str(images)})
    done = command("train", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_training(unbroken, load_training(tmp_path / "run"))
    assert not missing(done.stdout, "compare", "nb201-v2-c488c4c")
    other = command("train", "--resume", "run", "--table", "embedded", cwd=tmp_path)
    assert other.returncode == 0, other.stderr
    assert not missing(other.stdout, "compare")
    fails(command("train", "--resume", "run", "--channels", "8", cwd=tmp_path), "--channels 4", 8)


@pytest.mark.parametrize("arguments", [[OFFICIAL], [EDGES], ["--resume", "{folder}"]])
def test_help_shows_the_options_of_the_benchmark(unbroken: Training, arguments: list[str], tmp_path: Path) -> None:
    given = [argument.format(folder=unbroken.folder) for argument in arguments]
    shown = command("train", *given, "--help", cwd=tmp_path).stdout
    assert all(flag(name) in shown for name in option_names(EdgeTrainingConfig))
    assert "--rms-decay" not in shown


def test_an_option_of_the_other_benchmark_is_refused(tmp_path: Path) -> None:
    fails(command("train", OFFICIAL, "--stem-channels", "8", cwd=tmp_path), "--stem-channels", "NAS-Bench-201")
    fails(command("train", CELL, "--dataset", "cifar10", cwd=tmp_path), "--dataset", "NAS-Bench-101")


# The page -------------------------------------------------------------------------------------------------------------


def test_the_page_lists_every_option_and_the_numbers_of_the_protocol() -> None:
    page = (CHECKOUT / "docs" / "training.md").read_text()
    names = [*option_names(EdgeTrainingConfig), *EdgeTraining.FACTS]
    assert not [name for name in names if f"`{name}`" not in page]
    full, quick = EdgeTrainingConfig(), EdgeTrainingConfig(**SCALES["quick"])
    assert f"| {full.channels} channels, 3 × {full.cells_per_stage} cells | {quick.channels} channels, 3 × 1" in page
    assert f"| {full.epochs} (also 12) | {quick.epochs} |" in page
    assert f"| steps per epoch | {-(-25_000 // full.batch_size)} for cifar10-valid" in page
