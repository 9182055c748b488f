"""The preset "original" computes what the published code of NATS-Bench's size search computes, in float64.

`benchmarks/published_widths.py` ran that code, and recorded its draws and results in published_widths.npz.
"""

from dataclasses import fields
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from published_widths import BATCH, CLASSES, METHODS, SIDE, SPREAD, STEPS, TEMPERATURE, images_and_labels, values_of
from torch import Tensor

from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.conformance.tiny_search import random_images, tiny_state
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.nats_size.supernet import WidthReduction
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing
from nasbench1shot1.optimizers.adam import BETAS
from nasbench1shot1.optimizers.components import relaxation
from nasbench1shot1.supernets.supernet import Supernet

OURS = dict(zip(METHODS, ("tas", "fbnetv2", "tunas"), strict=True))
LAYERS = 6
EXACT = {"rtol": 1e-9, "atol": 1e-11}

_PLACES = {
    "_cells.0.0": "stem.conv.conv",
    **{f"_cells.{place}": f"cells.{number}.convolutions" for place, number in ((1, 0), (3, 1), (5, 2))},
    **{f"_cells.{place}": f"reductions.{number}" for place, number in ((2, 1), (4, 2))},
}
_EDGES = ("10", "20", "21", None, "31", "32")
_PARTS = {"conv_a.op.1": "conv_a.conv", "conv_a.op.2": "conv_a.bn", "conv_b.op.1": "conv_b.conv",
          "conv_b.op.2": "conv_b.bn", "downsample.1": "shortcut"}  # fmt: skip


@pytest.fixture(scope="module")
def published() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).parent / "published_widths.npz") as file:
        return dict(file)


def published_name(name: str) -> str:
    """The name of one of our supernet's weights in the published one."""
    if name.startswith("stem"):
        return name.replace("stem.conv.conv", "_cells.0.0")
    if name.startswith("classifier"):
        return name
    for theirs, ours in _PLACES.items():
        if name.startswith(f"{ours}."):
            rest = name.removeprefix(f"{ours}.")
            if "convolutions" in ours:
                edge, _, end = rest.partition(".conv.")
                return f"{theirs}.layers.{_EDGES.index(edge.removeprefix('edge_'))}.op.1.{end}"
            for part, of in _PARTS.items():
                if rest.startswith(f"{of}."):
                    return f"{theirs}.{part}.{rest.removeprefix(f'{of}.')}"
    raise AssertionError(name)


def load_published_weights(net: Supernet) -> None:
    """The weights that `published_widths.initial_weights` gives to the published supernet."""
    for name, parameter in net.named_parameters():
        drawn = torch.from_numpy(values_of(published_name(name), tuple(parameter.shape)))
        is_scale = parameter.dim() == 1 and name.endswith("weight")
        values = 1 + 0.1 * drawn if is_scale else drawn / max(drawn[0].numel(), 1) ** 0.5
        parameter.data = values


class DoubleState(SearchState):
    """A search whose class scores stay in float64."""

    def logits(self, mixing: Mixing, images: Tensor, compiled: bool = True) -> Tensor:
        return self.net(images, *mixing.arguments())


def batch(name: str) -> Batch:
    images, labels = images_and_labels(name)
    return Batch(images, labels)


@pytest.fixture
def make_state(tmp_path):
    """A function from a published method to the state of our search at the same weights and Λ."""

    def make(method: str, **options) -> DoubleState:
        given = {"optimizer": OURS[method], "space": "nats-size", "preset": "original", "warm_up_ratio": 0.0}
        sizes = {"channels": 64, "cells": 3, "batch_size": BATCH, "epochs": 2, "architecture_learning_rate": 3e-4}
        images = {"images": str(random_images(tmp_path)), "image_side": SIDE}
        state = tiny_state({**given, **sizes, **images, **options})
        state = DoubleState(**{field.name: getattr(state, field.name) for field in fields(state)})
        state.net.double()
        load_published_weights(state.net)
        (of_widths,) = state.method.parameters.values()
        of_widths.data = SPREAD * torch.from_numpy(values_of("Λ", (5, 8)))
        state.net.train()
        return state

    return make


class Draws:
    """Published draws, which replace those of our methods, pass by pass."""

    def __init__(self, recorded: dict[str, np.ndarray], prefix: str) -> None:
        self._noise = recorded.get(f"{prefix}/noise")
        self._indices = recorded.get(f"{prefix}/indices")
        self._used = 0

    def gumbel_noise(self, size: int, _) -> Tensor:
        """Noise of the layers of a pass, for the rows that they use; other rows of a sample are not used."""
        assert size == LAYERS * 5 * 8
        rows = self._of_layers(-np.log(self._noise))
        return torch.from_numpy(rows).flatten()

    def pairs(self, logits: Tensor, _) -> Tensor:
        """The sampled pairs; they follow the noise of the same pass."""
        self._used -= 1
        return torch.from_numpy(self._of_layers(self._indices))

    def positions(self) -> Tensor:
        return torch.from_numpy(self._of_layers(self._indices)[..., 0])

    def _of_layers(self, values: np.ndarray) -> np.ndarray:
        """(6, 5, …): the layers' draws at the rows that they use; the other rows repeat them."""
        of_pass = values[LAYERS * self._used : LAYERS * (self._used + 1)]
        self._used += 1
        return np.repeat(of_pass[:, None], 5, axis=1)


@pytest.fixture
def replay(monkeypatch, published):
    """A function that lets a state's method make the published draws."""

    def install(state: SearchState, prefix: str) -> None:
        draws = Draws(published, prefix)
        monkeypatch.setattr(relaxation, "gumbel_noise", draws.gumbel_noise)
        monkeypatch.setattr(relaxation, "draw_pairs", draws.pairs)
        if state.config.optimizer == "tunas":
            monkeypatch.setattr(state.method, "_draw", draws.positions)

    return install


@pytest.mark.parametrize("method", METHODS)
def test_a_layer_and_a_pass_equal_the_published_code(method, published, make_state, replay):
    """The output of the first reduction block, all class scores, and the gradient of Λ's loss."""
    state, given, kept = make_state(method), batch("pass"), {}
    assert len(given.labels) == BATCH
    replay(state, f"{method}/pass")
    state.method.temperature = TEMPERATURE
    reduction = state.net.reductions["1"]
    assert isinstance(reduction, WidthReduction)
    reduction.register_forward_hook(lambda _, __, output: kept.update(layer=output))
    with patch.object(state.method, "descend") as descend:
        if method == "mask_rl":
            mixing = state.method.mixing()
            logits = state.logits(mixing, given.images)
            replay(state, f"{method}/pass")
            log_probability = state.method.log_probability(state.method._draw())
            (gradient,) = torch.autograd.grad(-2.5 * log_probability, list(state.method.parameters.values()))
        else:
            logits = state.logits(state.method.mixing(), given.images)
            layer = kept["layer"]
            replay(state, f"{method}/pass")
            state.method.architecture_step(state.step(given, given))
            ((gradient,),), kept["layer"] = descend.call_args.args, layer
    for name, found in (("layer", kept["layer"][:2]), ("logits", logits), ("gradient", gradient)):
        torch.testing.assert_close(found.detach(), torch.from_numpy(published[f"{method}/pass/{name}"]), **EXACT)
    assert logits.shape == (BATCH, CLASSES)


@pytest.mark.parametrize("method", METHODS)
def test_ten_steps_equal_the_published_loop(method, published, make_state, replay, monkeypatch):
    """Weights first, without clipping; then Λ: all ten values of Λ, and what the steps change in the supernet."""
    state, lambdas = make_state(method), []
    pairs = [(batch(f"weights {i}"), batch(f"Λ {i}")) for i in range(STEPS)]
    replay(state, f"{method}/steps")
    monkeypatch.setattr(loop, "batch_pairs", lambda *_: pairs)
    begin_epoch, descend = state.method.begin_epoch, state.method.descend

    def begin(*arguments) -> None:
        begin_epoch(*arguments)
        state.method.temperature = TEMPERATURE

    def recorded(gradients) -> None:
        descend(gradients)
        lambdas.append(next(iter(state.method.parameters.values())).detach().clone())

    monkeypatch.setattr(state.method, "begin_epoch", begin)
    monkeypatch.setattr(state.method, "descend", recorded)
    loop.train_epoch(state, 1, SilentReporter())
    assert state.weight_optimizer.param_groups[0]["lr"] == 0.025
    found = {
        "lambdas": torch.stack(lambdas),
        "classifier": state.net.classifier.weight.detach(),
        "running": torch.stack([state.net.reductions[n].conv_b.bn.running_mean for n in "12"]),
    }
    if method == "mask_rl":
        found["baseline"] = torch.tensor(state.method.baseline.value(0.0), dtype=torch.float64)
    for name, value in found.items():
        tolerance = {"rtol": 1e-6, "atol": 1e-9}
        torch.testing.assert_close(value, torch.from_numpy(published[f"{method}/steps/{name}"]), **tolerance)


def test_the_warm_up_masks_layers_as_published(published, make_state, monkeypatch):
    """Six independent masks; their probabilities are tested in tests/optimizers/test_widths.py."""
    state = make_state("tas", warm_up_ratio=0.5)
    state.method.begin_epoch(1, 2, torch.Generator())
    assert state.method.full_share == 1.0
    choices = torch.from_numpy(published["warm_choices"])[:, None].expand(LAYERS, 5)
    monkeypatch.setattr(torch, "where", lambda *_: choices)
    logits = state.logits(state.method.mixing(), batch("pass").images)
    monkeypatch.undo()
    torch.testing.assert_close(logits.detach(), torch.from_numpy(published["warm_logits"]), **EXACT)


def test_images_of_lambda_are_augmented_as_published(make_state):
    state = make_state("tas")
    assert state.augments_architecture_images and not state.augments_scored_images
    assert isinstance(state.augmentation(1), Augmentation)
    normalised = state.images_of(torch.arange(4), state.augmentation(1), None).images
    ((_, first), *_) = loop.batch_pairs(state, 1)
    assert not any(torch.equal(image, other) for image in first.images for other in normalised)


@pytest.mark.parametrize("method", METHODS)
def test_settings_equal_the_published_ones(method):
    """Configuration files and command line of the published search."""
    options = search_options({"optimizer": OURS[method], "space": "nats-size", "preset": "original", "device": "cpu"})
    common, own = options.common, options.own
    assert (common.learning_rate, common.learning_rate_min, common.momentum) == (0.025, 0.001, 0.9)
    assert (common.nesterov, common.weight_decay, common.grad_clip) == (True, 5e-4, 0.0)
    assert (common.epochs, common.batch_size, common.channels, common.cells) == (100, 64, 64, 3)
    assert (common.evaluation_batch_norm, common.cutout_probability) == ("running", 0.0)
    assert (common.draw_with_replacement, common.augment_scored_images) == (True, False)
    assert (own.architecture_learning_rate, BETAS) == (3e-4, (0.5, 0.999))
    assert own.architecture_weight_decay == (0.0 if method == "mask_rl" else 1e-3)
    assert (own.architecture_grad_clip, own.draws, own.weights_first, own.evaluation_noise) == (0.0, 6, True, True)
    if method == "mask_rl":
        assert (own.baseline_decay, own.baseline_includes_current, own.reward_in_percent) == (0.95, True, True)
    else:
        assert (own.temperature_max, own.temperature_min, own.temperature_ends_after) == (10.0, 0.1, False)
