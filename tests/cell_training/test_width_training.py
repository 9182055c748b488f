"""Trainings of the size space's networks: the published options, a record, and the command line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_training import EDGES, assert_same_training, write_images

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.cell_training import Training
from nasbench1shot1.nats_size.recipe import WidthRecipe
from nasbench1shot1.nats_size.training_options import WidthTraining, WidthTrainingConfig
from nasbench1shot1.runs.options import option_names

ARCH = nb.WidthArchitecture.parse("8:8:8:16:8")
TINY: dict[str, Any] = {"scale": "quick", "epochs": 3, "batch_size": 20, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


def train(out: Path, images: Path, **options: Any) -> Training:
    return nb.train_cell(ARCH, out=out, images=images, console=Console(quiet=True), **{**TINY, **options})


@pytest.fixture(scope="module")
def unbroken(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Training:
    return train(tmp_path_factory.mktemp("unbroken") / "run", images)


def test_the_defaults_are_the_published_protocol() -> None:
    """configs/nas-benchmark/hyper-opts/90E.config and scripts/NATS-Bench/train-shapes.sh (size_space.md, 3.1)."""
    config = WidthTrainingConfig(device="cpu").resolved()
    assert (config.epochs, config.batch_size, config.learning_rate) == (90, 256, 0.1)
    assert (config.momentum, config.weight_decay, config.evaluate_every) == (0.9, 5e-4, 1)
    assert config.is_published() and config.dataset == "cifar10-valid"
    assert not replace(config, precision="bfloat16").is_published()
    recipe = WidthRecipe(ARCH, config)
    assert (recipe.title, recipe.name) == ("Architecture 8, 8:8:8:16:8", "nats-size-8")
    assert recipe.size == "8, 8, 8, 16 and 8 channels"
    last = recipe.stops(25_000)[-1]
    assert (last.step, last.epochs) == (90 * 98, 90.0)
    assert recipe.learning_rate(0, last) == 0.1
    assert recipe.learning_rate(45 * 98, last) == pytest.approx(0.05)
    optimizer = recipe.optimizer(recipe.network(10, torch.Generator().manual_seed(0)))
    assert isinstance(optimizer, torch.optim.SGD) and optimizer.defaults["nesterov"]


def test_the_folder_contains_the_complete_record(unbroken: Training) -> None:
    config = json.loads((unbroken.folder / "config.json").read_text())
    assert config["kind"] == "NATS-Bench size training"
    assert set(config["options"]) == set(option_names(WidthTrainingConfig))
    assert set(WidthTraining.FACTS) <= set(config) and config["index"] == 8
    assert type(unbroken) is type(nb.open_run(unbroken.folder)) is WidthTraining
    assert unbroken.architecture == unbroken.trained == ARCH
    assert unbroken.summary["architecture"] == "nats-size:8:8:8:16:8"
    assert (
        unbroken.trainable_parameters == nb.load_table("nats-size").query(ARCH, dataset="cifar10").trainable_parameters
    )


def test_equal_seeds_give_identical_trainings(unbroken: Training, images: Path, tmp_path: Path) -> None:
    assert_same_training(unbroken, train(tmp_path / "again", images))


def test_the_command_trains_and_compares_with_the_table(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in {**TINY, "epochs": 1}.items()]
    cli.main(["train", str(ARCH), f"--images={images}", "--dataset=cifar10", *options])
    printed = " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "runs" / "nats-size-8-1-0" / "summary.json").exists()
    assert "8:8:8:16:8 after 1 epoch" in printed
    assert "not at 1 epoch" in printed and "are missing (NaN)" in printed


def test_options_of_other_protocols_are_refused(images: Path, tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, "NATS-Bench", "NAS-Bench-201", options="channels"):
        train(tmp_path / "run", images, channels=8)
    with refuses(nb.InvalidInputError, "nats-size", "WidthTrainingConfig"):
        WidthRecipe(nb.Architecture.parse(EDGES), WidthTrainingConfig(device="cpu").resolved())
    assert not (tmp_path / "run").exists()
