"""Trainings of a cell end to end: record, determinism, format of the result, bad input."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_training import CELL, TINY, assert_same_training, train, whole_cifar10, without_seconds, write_images

import nasbench1shot1 as nb
from nasbench1shot1.cell_training import load_training, train_and_evaluate
from nasbench1shot1.cell_training import loop as state_module
from nasbench1shot1.cell_training.loop import begin, train_step
from nasbench1shot1.cell_training.record import FIELDS
from nasbench1shot1.cell_training.training import TrainingKind
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.nasbench101.cost import in_nasbench101_numbering, parameter_count
from nasbench1shot1.nasbench101.network import build_network
from nasbench1shot1.nasbench101.recipe import CellRecipe, learning_rate
from nasbench1shot1.nasbench101.training_options import TrainingConfig
from nasbench1shot1.runs import machine
from nasbench1shot1.runs.options import option_names


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


@pytest.fixture(scope="module")
def trained(images, tmp_path_factory):
    return train(tmp_path_factory.mktemp("trained") / "run", images)


# Trainings ------------------------------------------------------------------------------------------------------------


def test_the_full_scale_follows_the_published_protocol(monkeypatch):
    monkeypatch.setattr(state_module, "load_images", lambda name: whole_cifar10())
    cell, table = nb.Architecture.parse(CELL).cell, nb.load_table()
    config = TrainingConfig(device="cpu").resolved()
    facts = TrainingKind(cell).begin(config, None).facts
    assert facts["is_protocol"]
    assert facts["steps"] == 16_875
    assert facts["trainable_parameters"] == table.query(cell).trainable_parameters
    published = {"epochs": 108, "batch_size": 256, "learning_rate": 0.2, "momentum": 0.9, "rms_decay": 0.9}
    published |= {"rms_epsilon": 1.0, "weight_decay": 1e-4, "batch_norm_momentum": 0.003, "stem_channels": 128}
    published |= {"stacks": 3, "cells_per_stack": 3, "images": "cifar10", "precision": "float32"}
    assert published.items() <= asdict(config).items()
    for other in ({"learning_rate": 0.1}, {"stem_channels": 16}, {"cells_per_stack": 1}, {"batch_norm_momentum": 0.1}):
        config = TrainingConfig(**{"device": "cpu", "stem_channels": 16, **other}).resolved()
        assert not TrainingKind(cell).begin(config, None).facts["is_protocol"]
    assert not replace(TrainingConfig(device="cpu").resolved(), precision="bfloat16").is_published()


def test_another_numbering_is_not_the_published_protocol(monkeypatch):
    monkeypatch.setattr(state_module, "load_images", lambda name: whole_cifar10())
    cell = nb.Architecture.parse("s2:0|1|0,1|1,3|2,3,4:conv3x3,maxpool3x3,maxpool3x3,conv3x3").cell
    facts = TrainingKind(cell).begin(TrainingConfig(device="cpu").resolved(), None).facts
    assert (facts["is_protocol"], facts["trainable_parameters"]) == (False, 2_658_367)
    facts = TrainingKind(cell).begin(TrainingConfig(device="cpu", numbering="nasbench101").resolved(), None).facts
    assert facts["is_protocol"]
    assert facts["trainable_parameters"] == nb.load_table().query(cell).trainable_parameters == 2_670_527


@pytest.mark.parametrize(
    ("text", "has_equal_count", "is_published"),
    [
        ("s2:0|1|0,1|1,3|2,3,4:conv3x3,maxpool3x3,maxpool3x3,conv3x3", False, False),
        ("s2:0|1|0,1|0,2|2,3,4:conv1x1,conv1x1,maxpool3x3,maxpool3x3", True, False),
        ("s2:0|1|0,1|0,1|0,2,4:conv3x3,conv3x3,conv3x3,conv3x3", True, True),  # in another numbering
        (CELL, True, True),
    ],
)
def test_a_published_network_has_the_channels_of_nasbench101(text, has_equal_count, is_published):
    cell, config = nb.Architecture.parse(text).cell, TrainingConfig(device="cpu").resolved()
    assert (parameter_count(cell) == parameter_count(in_nasbench101_numbering(cell))) == has_equal_count
    assert CellRecipe(cell, config).has_published_network == is_published
    assert CellRecipe(cell, replace(config, numbering="nasbench101")).has_published_network
    outside = nb.Cell(np.triu(np.ones((5, 5), int), 1), ["input", *["conv3x3-bn-relu"] * 3, "output"])  # 10 edges
    assert CellRecipe(outside, config).has_published_network


def test_the_folder_contains_the_complete_record(trained):
    names = {path.name for path in trained.folder.iterdir()}
    assert names == {"config.json", "environment.json", "metrics.jsonl", "checkpoint.pt", "summary.json"}
    assert [(line["step"], line["epochs"], line["evaluation"]) for line in trained.lines] == [
        (1, 0, "initial"),
        (5, 1, None),
        (10, 2, "halfway"),
        (15, 3, None),
        (20, 4, "final"),
    ]
    assert all(tuple(line) == tuple(FIELDS) for line in trained.lines)
    assert list(trained.metrics.columns) == list(FIELDS)
    assert trained.metrics["test_accuracy"].notna().tolist() == [True, False, True, False, True]
    times = trained.metrics["training_time"]
    assert (times.diff().dropna() > 0).all()
    assert trained.lines[0]["learning_rate"] == 0
    assert trained.lines[-1]["learning_rate"] == learning_rate(19, 20, 0.2)
    assert json.loads((trained.folder / "environment.json").read_text())["torch"] == torch.__version__


def test_the_result_has_the_format_of_the_table(trained):
    line = trained.lines[-1]
    assert trained.final.test_accuracy == line["test_accuracy"] == trained.summary["test_accuracy"]
    assert trained.final.training_time == line["training_time"] == trained.summary["training_time"]
    assert trained.halfway.epochs == 2
    assert trained.halfway.validation_accuracy == trained.summary["halfway"]["validation_accuracy"]
    assert trained.initial.step == 1
    assert trained.summary["initial"]["train_accuracy"] == trained.initial.train_accuracy
    arch = nb.Architecture.parse(CELL)
    assert trained.cell == arch.cell
    assert trained.summary["cell_hash"] == arch.cell.hash
    assert trained.summary["architecture"] == CELL
    expected = nb.build_network(arch, stem_channels=4, cells_per_stack=1)
    assert trained.trainable_parameters == sum(p.numel() for p in expected.parameters())
    for accuracy_of, images in (("train", 100), ("validation", 20), ("test", 20)):
        value = getattr(trained.final, f"{accuracy_of}_accuracy") * images
        assert 0 <= value <= images
        assert value == round(value)
    assert repr(load_training(trained.folder)) == repr(trained)


@pytest.mark.parametrize(
    "change", [{"ops": []}, {"ops": [{}] * 7}, {"matrix": [[0, 1], [0, 0]]}, {"cell_hash": "0" * 32}]
)
def test_a_damaged_cell_is_refused(trained, tmp_path, change):
    folder = Path(shutil.copytree(trained.folder, tmp_path / "run"))
    content = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", {**content, **change})
    with refuses(nb.DamagedFileError, folder / "config.json"):
        _ = nb.open_run(folder).network_id


def test_training_reduces_the_error(images, tmp_path):
    training = train(tmp_path / "run", images, epochs=16, stem_channels=8, learning_rate=0.1)
    assert training.lines[-1]["batch_loss"] < 0.7 * training.lines[0]["batch_loss"]
    assert training.final.test_accuracy > 0.5 > training.initial.test_accuracy


def test_equal_seeds_give_identical_trainings_and_other_seeds_differ(trained, images, tmp_path):
    assert_same_training(trained, train(tmp_path / "again", images))
    assert without_seconds(train(tmp_path / "other", images, seed=1)) != without_seconds(trained)


def test_the_first_step_updates_statistics_but_not_weights(images):
    state = begin(nb.Architecture.parse(CELL).cell, TrainingConfig.from_options({**TINY, "images": images}))
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    train_step(state)
    for name, value in state.net.state_dict().items():
        assert torch.equal(value, before[name]) != ("running" in name or "num_batches" in name), name
    assert all((slots["rms"] != 1).any() for slots in state.optimizer.state.values())
    assert all((slots["momentum"] == 0).all() for slots in state.optimizer.state.values())
    train_step(state)
    assert all(not torch.equal(value, before[name]) for name, value in state.net.named_parameters())


def test_a_model_spec_is_trained_silently(trained, images, tmp_path, capsys):
    from nasbench1shot1.api import ModelSpec

    cell = nb.Architecture.parse(CELL).cell
    spec = ModelSpec(matrix=cell.matrix.tolist(), ops=list(cell.ops))
    training = train_and_evaluate(spec, TrainingConfig.from_options({**TINY, "images": images}), tmp_path / "run")
    assert capsys.readouterr().out == ""
    assert without_seconds(training) == without_seconds(trained)


def test_a_hash_selects_the_cell_of_the_table(images, tmp_path):
    table = nb.load_table()
    training = train(tmp_path / "run", images, table.hashes([7])[0], epochs=1)
    assert training.cell == table.cell(7)
    assert training.config["architecture"] is None


def test_the_vertex_numbering_is_given_or_nasbench101s(images, tmp_path):
    uneven = "s2:0|0|0,1|0,2|2,3,4:conv1x1,conv3x3,maxpool3x3,maxpool3x3"
    table = nb.load_table()
    counts = {}
    for numbering in ("given", "nasbench101"):
        training = train(tmp_path / numbering, images, uneven, epochs=1, numbering=numbering, stem_channels=16)
        counts[numbering] = training.trainable_parameters
    assert counts["given"] != counts["nasbench101"]
    row = table.cell(int(table.rows(nb.Architecture.parse(uneven))))
    assert counts["nasbench101"] == train(tmp_path / "r", images, row, epochs=1, stem_channels=16).trainable_parameters


def test_bfloat16_keeps_weights_and_statistics_in_float32(images, tmp_path):
    training = train(tmp_path / "run", images, precision="bfloat16", epochs=2)
    content = torch.load(training.folder / "checkpoint.pt", weights_only=True)
    kinds = {value.dtype for value in content["network"].values()}
    assert kinds == {torch.float32, torch.int64}
    assert training.final.epochs == 2


def test_training_restores_the_number_of_threads(images, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(tmp_path / "run", images, epochs=1, threads=1)  # two threads that share a busy core take 20 times as long
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "options", "sentence"),
    [
        (None, {}, "architecture"),
        ("f" * 32, {}, "ffffffff"),
        ("nonsense", {}, "looked"),
        ("s1:0|0,1|0,2|1,3|2:conv3x3,conv1x1,maxpool3x3,conv3x3", {}, "s1"),
        (nb.Cell([[0, 0], [0, 0]], ["input", "output"]), {}, "output"),
        (CELL, {"epoch": 4}, "mean 'epochs'"),
        (CELL, {"epochs": 0}, "^epochs .*1 and 1,000,000.*0"),
        (CELL, {"epochs": 2.5}, r"^epochs\b"),
        (CELL, {"scale": "ful"}, "mean 'full'"),
        (CELL, {"numbering": "mine"}, "'mine'"),
        (CELL, {"precision": "float16"}, "mean 'bfloat16'"),
        (CELL, {"device": "tpu"}, "'tpu'"),
        (CELL, {"momentum": 1.5}, "^momentum .*0 and 1"),
        (CELL, {"stacks": 7}, "^stacks .*1 and 6"),
        (CELL, {"learning_rate": float("nan")}, "learning_rate.*least 0"),
        (CELL, {"batch_size": 21}, "batch_size=21.*20 images"),
        (CELL, {"images": "cifar11"}, "mean 'cifar10'"),
        (CELL, {"stem_channels": 1}, "2 vertices.*1 channel"),
    ],
)
def test_bad_options_are_reported_in_one_sentence_and_write_nothing(images, tmp_path, x, options, sentence):
    with pytest.raises(nb.UserError, match=sentence) as caught:
        nb.train_cell(x, out=tmp_path / "run", console=Console(quiet=True), **{**TINY, "images": images, **options})
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_the_full_scale_without_cifar10_suggests_both_remedies(tmp_path, monkeypatch):
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path / "empty"))
    with pytest.raises(nb.UserError, match='scale="quick"'):
        nb.train_cell(CELL, out=tmp_path / "run", console=Console(quiet=True))


@pytest.mark.parametrize("batch_size", [20, 10])
def test_a_nan_loss_ends_the_training_and_keeps_the_record(images, tmp_path, batch_size):
    with pytest.raises(nb.UserError, match=r"step \d+") as caught:
        train(tmp_path / "run", images, learning_rate=1e38, batch_size=batch_size)
    assert "\n" not in str(caught.value)
    assert [line["evaluation"] for line in load_training(tmp_path / "run").lines] == ["initial"]


def test_a_training_that_fails_before_its_first_record_leaves_no_folder(images, tmp_path, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.cell_training.loop.evaluate", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "run", images)
    assert not (tmp_path / "run").exists()


def test_folders_of_another_kind_are_refused(trained, tmp_path):
    with pytest.raises(nb.InvalidInputError, match=r"config\.json"):
        load_training(tmp_path)
    with pytest.raises(nb.InvalidInputError, match="search"):
        nb.load_run(trained.folder)
    (tmp_path / "config.json").write_text('{"kind": "search", "optimizer": "darts"}')
    with pytest.raises(nb.InvalidInputError, match=r"nb\.open_run"):
        load_training(tmp_path)


def test_ctrl_c_names_the_folder_to_resume(images, tmp_path, monkeypatch):
    from nasbench1shot1.cell_training import loop

    def interrupted(state, *_):
        if state.step == 7:
            raise KeyboardInterrupt
        return train_step(state)

    monkeypatch.setattr(loop, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt, match=f'resume="{tmp_path}/run"'):
        train(tmp_path / "run", images)
    stopped = load_training(tmp_path / "run")
    assert stopped.initial.step == 1
    with pytest.raises(nb.UserError, match=f'resume="{stopped.folder}"'):
        _ = stopped.final
    with pytest.raises(nb.UserError, match="finished"):
        _ = stopped.summary


# The page -------------------------------------------------------------------------------------------------------------


def test_the_page_names_every_option_and_field():
    from conftest import CHECKOUT

    page = (CHECKOUT / "docs" / "training.md").read_text()
    names = [*option_names(TrainingConfig), *FIELDS, "is_protocol", "images_sha256", "recorded"]
    assert not [name for name in names if f"`{name}`" not in page]


def test_the_page_lists_the_numbers_of_the_protocol():
    from conftest import CHECKOUT

    from nasbench1shot1.nasbench101.recipe import steps

    page = (CHECKOUT / "docs" / "training.md").read_text()
    assert ", ".join(f"{steps(epochs, 40_000, 256):,}" for epochs in (4, 12, 36, 108)) in page
    full, quick = (TrainingConfig.from_options({"scale": scale, "device": "cpu"}) for scale in ("full", "quick"))
    assert f"| {full.batch_size}; a batch can contain images of two epochs | {quick.batch_size} |" in page
    assert f"| {full.stem_channels} channels, 3 × 3 cells | {quick.stem_channels} channels, 3 × 1 cells |" in page
    assert f"| {full.epochs} (also 4, 12 and 36, each with its own schedule) | {quick.epochs} |" in page
    assert steps(quick.epochs, 2500, quick.batch_size) == 600


# Memory ---------------------------------------------------------------------------------------------------------------

CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


@pytest.mark.parametrize("option", ["stem_channels", "cells_per_stack"])
def test_a_size_of_a_million_is_refused_with_the_memory_estimate(tmp_path, option):
    with pytest.raises(nb.InvalidInputError, match=r"[\d,]+ GiB"):
        nb.train_cell(CELL, out=tmp_path / "run", scale="quick", device="cpu", threads=1, **{option: 10**6})
    assert list(tmp_path.iterdir()) == []


def test_the_memory_bound_is_what_every_network_needs(monkeypatch):
    config = TrainingConfig.from_options({"scale": "quick", "device": "cpu", "threads": 1, "batch_size": 8})
    cell = nb.Architecture.parse(CELL).cell
    net = build_network(cell, stem_channels=config.stem_channels, cells_per_stack=config.cells_per_stack)
    parameters = sum(parameter.numel() for parameter in net.parameters())
    needed = 16 * parameters + 4 * 8 * config.stem_channels * 32 * 32 * (1 + 1 / 2 + 1 / 4)
    images = SimpleNamespace(classes=10, side=32)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed)
    CellRecipe(cell, config).check_fits(images)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed - 1)
    with pytest.raises(nb.InvalidInputError, match="stem_channels="):
        CellRecipe(cell, config).check_fits(images)
