"""The training protocol of NAS-Bench-201: schedule, optimizer, images, options."""

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from tiny_training import CELL, EDGES, TINY_EDGES, whole_cifar10

import nasbench1shot1 as nb
from nasbench1shot1.cell_training import loop as state_module
from nasbench1shot1.cell_training import screen
from nasbench1shot1.cell_training.loop import accuracy, begin, train_step
from nasbench1shot1.cell_training.recipe import EpochStream
from nasbench1shot1.cell_training.screen import remaining_seconds
from nasbench1shot1.cell_training.training import TrainingKind
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import Split
from nasbench1shot1.nasbench201 import recipe as parts_module
from nasbench1shot1.nasbench201.network import build_edge_network
from nasbench1shot1.nasbench201.recipe import EdgeRecipe, divide
from nasbench1shot1.nasbench201.recipe import learning_rate as epoch_learning_rate
from nasbench1shot1.nasbench201.recipe import stops as epoch_stops
from nasbench1shot1.nasbench201.splits import official_halves
from nasbench1shot1.nasbench201.training_options import EdgeTrainingConfig
from nasbench1shot1.runs import machine

ARCH = nb.EdgeArchitecture.parse(EDGES)


def noise(side: int = 32, per_class: int = 14, classes: int = 10, **about: Any) -> ImageSet:
    generator, n = torch.Generator().manual_seed(0), per_class * classes
    pixels = torch.randint(256, (n, side, side, 3), dtype=torch.uint8, generator=generator)
    labels = torch.arange(n) % classes
    return ImageSet("noise", pixels, labels, torch.arange(n), "0" * 64, classes=classes, **about)


def tiny_state(monkeypatch: pytest.MonkeyPatch, images: ImageSet | None = None, **options: Any) -> Any:
    monkeypatch.setattr(state_module, "load_images", lambda name: noise() if images is None else images)
    return begin(ARCH, EdgeTrainingConfig.from_options({**TINY_EDGES, **options}))


# The schedule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [1, 12, 200])
def test_the_learning_rate_follows_pytorchs_cosine_per_epoch(epochs: int) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs, eta_min=0.0)
    for epoch in range(epochs):
        assert epoch_learning_rate(epoch, epochs, 0.1) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0, abs=1e-15)


def test_all_steps_of_an_epoch_use_the_same_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    state = tiny_state(monkeypatch)
    rates = []
    for state.step in range(28):
        rates.append(state.learning_rate)
    assert rates == [epoch_learning_rate(step // 7, 4, 0.1) for step in range(28)]
    assert rates[0] == rates[6] == 0.1 > rates[7]


def test_epochs_use_all_images_and_are_evaluated() -> None:
    published = epoch_stops(200, 25_000, 256, evaluate_every=1)
    assert [stop.step for stop in published] == [98 * epoch for epoch in range(1, 201)]
    assert [stop.evaluation for stop in published] == ["epoch"] * 199 + ["final"]
    rare = epoch_stops(7, 100, 50, evaluate_every=3)
    assert [(stop.epochs, stop.evaluation) for stop in rare if stop.evaluation] == [
        (3, "epoch"),
        (6, "epoch"),
        (7, "final"),
    ]


@given(st.integers(1, 50), st.integers(1, 60), st.integers(0, 5))
def test_every_epoch_visits_all_images_in_a_new_order(size: int, batch: int, seed: int) -> None:
    rows, of_epoch = torch.arange(100, 100 + size), -(-size // batch)
    stream = EpochStream(rows, batch, seed)
    for epoch in range(3):
        parts = [stream.batch(step) for step in range(epoch * of_epoch, (epoch + 1) * of_epoch)]
        assert all(len(part) == batch for part in parts[:-1])
        assert torch.equal(torch.cat(parts).sort().values, rows)
    assert torch.equal(stream.batch(of_epoch), EpochStream(rows, batch, seed).batch(of_epoch))
    if size > 20:
        orders = [torch.cat([stream.batch(e * of_epoch + step) for step in range(of_epoch)]) for e in range(2)]
        assert not torch.equal(*orders)


# The optimizer --------------------------------------------------------------------------------------------------------


def test_steps_are_nesterov_sgd_with_weight_decay_on_all_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """v ← 0.9 v + g + λ p, p ← p - rate (g + λ p + 0.9 v), as PyTorch defines it (Sutskever et al. 2013, rewritten)."""
    state = tiny_state(monkeypatch, learning_rate=0.05)
    weights = {name: p.detach().double().clone() for name, p in state.net.named_parameters()}
    speed = {name: torch.zeros_like(p) for name, p in weights.items()}
    for _ in range(3):
        train_step(state)
        for name, p in state.net.named_parameters():
            gradient = p.grad.double() + 5e-4 * weights[name]
            speed[name] = 0.9 * speed[name] + gradient
            weights[name] = weights[name] - 0.05 * (gradient + 0.9 * speed[name])
            torch.testing.assert_close(p.detach().double(), weights[name], rtol=1e-4, atol=1e-6)


def test_sgd_without_momentum(monkeypatch: pytest.MonkeyPatch) -> None:
    state = tiny_state(monkeypatch, momentum=0.0)
    train_step(state)
    assert state.step == 1


# Images ---------------------------------------------------------------------------------------------------------------


def official_split(images: ImageSet, scheme: str, rng: np.random.Generator) -> Split:
    """Even rows train, odd rows validate."""
    assert scheme == "nasbench201"
    return Split(np.arange(0, 50_000, 2), np.arange(1, 50_000, 2), 5000, 0)


@pytest.mark.parametrize("shuffled", [False, True])
def test_cifar10_valid_uses_the_official_split(shuffled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "split_images", official_split)
    images = whole_cifar10(shuffled)
    parts = divide(images, "cifar10-valid")
    assert parts.is_official
    assert parts.train.rows.tolist() == list(range(0, 50_000, 2))
    assert parts.validation.rows.tolist() == list(range(1, 50_000, 2))
    assert len(parts.test) == 10_000
    assert parts.train_evaluation is None
    assert parts.description == (
        "cifar10: 25,000 train, 25,000 validate, 10,000 test (the official halves of NAS-Bench-201)"
    )


def test_cifar10_trains_on_all_images_and_validates_on_none() -> None:
    parts = divide(whole_cifar10(shuffled=True), "cifar10")
    assert parts.is_official
    assert (len(parts.train), parts.validation, len(parts.test)) == (50_000, None, 10_000)
    assert parts.train.rows.unique().numel() == 50_000
    assert "50,000 train, 0 validate, 10,000 test" in parts.description


def test_other_image_sets_are_split_by_class() -> None:
    sample = divide(load_images("cifar10-sample"), "cifar10-valid")
    assert [len(part) for part in (sample.train, sample.validation, sample.test)] == [2500, 500, 500]
    assert not sample.is_official


def test_cifar100_is_validated_and_tested_on_the_official_halves_of_the_test_images() -> None:
    images = replace(whole_cifar10(), dataset="cifar100")
    parts = divide(images, "cifar100")
    assert parts.is_official
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [50_000, 5_000, 5_000]
    validated = (parts.validation.rows - 50_000).tolist()
    assert validated == np.flatnonzero(official_halves("cifar100").is_architecture).tolist()
    assert sorted([*validated, *parts.test.rows.tolist()]) == list(range(10_000))
    pixels, labels = parts.validation.images.batch(parts.validation.rows[:7])
    assert len(pixels) == 7
    assert labels.tolist() == [row % 10 for row in validated[:7]]


@pytest.mark.parametrize(("of", "dataset"), [("cifar100", "cifar10-valid"), ("cifar10", "cifar100")])
def test_training_name_and_images_must_match(of: str, dataset: str) -> None:
    with refuses(nb.InvalidInputError, dataset, options="dataset images"):
        divide(replace(whole_cifar10(), dataset=of), dataset)


def test_the_image_set_selects_the_training_by_default() -> None:
    assert EdgeTrainingConfig().resolved().dataset == "cifar10-valid"
    assert EdgeTrainingConfig(images="cifar100").resolved().dataset == "cifar100"
    assert EdgeTrainingConfig(images="cifar10-sample", dataset="cifar10").resolved().dataset == "cifar10"


@pytest.mark.parametrize(("side", "border", "classes"), [(32, 4, 10), (16, 2, 120)])
def test_images_are_padded_with_black_cropped_flipped_and_normalised(
    side: int, border: int, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {} if side == 32 else {"dataset": "ImageNet16-120", "mean": (0.5,) * 3, "std": (0.25,) * 3}
    images = noise(side, 840 // classes, classes, **about)
    state = tiny_state(monkeypatch, images, batch_size=100, dataset=about.get("dataset"))
    state.parts.train.images.images[:] = 255
    pixels, labels = state.batch()
    assert pixels.shape == (100, 3, side, side)
    assert torch.equal(labels, state.parts.train.images.labels[state.stream.batch(0)])
    mean, std = (125.3, 63.0) if side == 32 else (127.5, 63.75)
    black = pixels[:, 0] < 0
    np.testing.assert_allclose(pixels[:, 0].unique(), [-mean / std, (255 - mean) / std], rtol=1e-5)
    assert black.all(dim=2).sum(dim=1).amax() == black.all(dim=1).sum(dim=1).amax() == border
    logits = state.logits(pixels[:4])
    assert logits.shape == (4, classes)
    train_step(state)


def test_evaluations_use_all_images(monkeypatch: pytest.MonkeyPatch) -> None:
    state, seen = tiny_state(monkeypatch), []
    state.logits = lambda x, compiled: torch.nn.functional.one_hot(torch.zeros(len(x)).long(), 10).float()
    part = state.parts.test
    found = accuracy(state, part, SimpleNamespace(evaluated=lambda: seen.append(1)))
    assert found == (part.images.labels[part.rows] == 0).sum() / 20
    assert len(seen) == 2  # 15 images and 5


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dataset", "steps"), [("cifar10-valid", 98 * 200), ("cifar10", 196 * 200)])
def test_the_full_scale_follows_the_published_protocol(
    dataset: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "load_images", lambda name: whole_cifar10())
    monkeypatch.setattr(parts_module, "split_images", official_split)
    config = EdgeTrainingConfig(device="cpu", dataset=dataset).resolved()
    facts = TrainingKind(ARCH).begin(config, None).facts
    assert facts["is_protocol"]
    assert facts["steps"] == steps
    assert facts["index"] == nb.load_table("nb201").row_of(ARCH)
    assert facts["trainable_parameters"] == nb.load_table("nb201").query(ARCH, dataset=dataset).trainable_parameters
    published = {"epochs": 200, "batch_size": 256, "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 5e-4}
    published |= {"channels": 16, "cells_per_stage": 5, "images": "cifar10", "precision": "float32"}
    assert published.items() <= asdict(config).items()
    assert TrainingKind(ARCH).begin(replace(config, epochs=12), None).facts["is_protocol"]
    others = ({"learning_rate": 0.2}, {"channels": 8}, {"cells_per_stage": 1}, {"weight_decay": 0.0})
    for other in (*others, {"precision": "bfloat16"}):
        assert not TrainingKind(ARCH).begin(replace(config, **other), None).facts["is_protocol"]


def test_the_network_belongs_to_the_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    net = tiny_state(monkeypatch).net
    assert net.architecture == ARCH
    wanted = build_edge_network(ARCH, channels=4, cells_per_stage=1)
    assert [p.shape for p in net.parameters()] == [p.shape for p in wanted.parameters()]


@pytest.mark.parametrize(
    ("x", "options", "sentence"),
    [
        (
            EDGES,
            {"rms_decay": 0.9},
            "rms_decay=.*NAS-Bench-201.*NAS-Bench-101's",
        ),
        (EDGES, {"stem_channels": 8}, "stem_channels="),
        (CELL, {"channels": 8}, "channels=.*NAS-Bench-101.*NAS-Bench-201's"),
        (EDGES, {"chanels": 8}, "mean 'channels'"),
        (EDGES, {"dataset": "cifar10-test"}, "'cifar10-test'"),
        (EDGES, {"epochs": 0}, r"^epochs\b.*1 and"),
        (EDGES, {"channels": 0}, r"^channels\b.*least 1.*\b0\b"),
        (EDGES, {"batch_size": 600}, "batch_size=600.*500 images"),
        ("|none~0|+|none~0|", {}, "edges"),
        (EDGES.replace("none", "max_pool"), {}, "'max_pool'"),
    ],
)
def test_bad_options_are_reported_in_one_sentence_and_write_nothing(
    x: str, options: dict[str, Any], sentence: str, tmp_path: Any
) -> None:
    with pytest.raises(nb.InvalidInputError, match=sentence) as caught:
        nb.train_cell(x, out=tmp_path / "run", scale="quick", device="cpu", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_configuration_of_another_benchmark_is_refused(tmp_path: Any) -> None:
    from nasbench1shot1.cell_training import train_and_evaluate
    from nasbench1shot1.nasbench101.training_options import TrainingConfig

    with pytest.raises(nb.InvalidInputError, match=r"nb201.*EdgeTrainingConfig"):
        train_and_evaluate(nb.Architecture.parse(CELL), EdgeTrainingConfig(scale="quick"), tmp_path / "run")
    with pytest.raises(nb.InvalidInputError, match="cell"):
        train_and_evaluate(ARCH, TrainingConfig(scale="quick"), tmp_path / "run")


def test_the_memory_bound_is_the_minimum_of_every_network(monkeypatch: pytest.MonkeyPatch) -> None:
    config = EdgeTrainingConfig.from_options({**TINY_EDGES, "cells_per_stage": 2})
    images: Any = SimpleNamespace(classes=7, side=16)
    net = build_edge_network(ARCH, channels=4, cells_per_stage=2, classes=7)
    needed = 12 * sum(p.numel() for p in net.parameters()) + 4 * 15 * 2 * 4 * 16 * 16 * (1 + 1 / 2 + 1 / 4)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed)
    EdgeRecipe(ARCH, config).check_fits(images)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed - 1)
    with pytest.raises(nb.InvalidInputError, match=r"channels=.*cells_per_stage=.*batch_size="):
        EdgeRecipe(ARCH, config).check_fits(images)


@pytest.mark.parametrize("side", [6, 30])
def test_images_that_cannot_be_halved_twice_are_refused(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with refuses(nb.InvalidInputError, f"{side} × {side}", "multiple of 4"):
        tiny_state(monkeypatch, noise(side))


def test_a_last_batch_of_one_image_without_several_pixels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 images train the network; batch-norm gets one value per channel from 4 × 4 pixels."""
    with refuses(nb.InvalidInputError, 11, "4 × 4", options="batch_size"):
        tiny_state(monkeypatch, noise(4), batch_size=11)
    assert tiny_state(monkeypatch, noise(4), batch_size=12).stream.smallest_batch == 4
    assert tiny_state(monkeypatch, noise(8), batch_size=11).stream.smallest_batch == 1


def test_the_estimate_waits_for_the_device_of_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    state, waited = tiny_state(monkeypatch), list[str]()
    monkeypatch.setattr(screen, "wait_for", lambda device: waited.append(str(device)))
    remaining_seconds(state)
    assert waited == ["cpu"] * 10  # two passes of a part of a batch and three of all of it; of steps and evaluations
