"""The preset original computes on nb201 what the published code of NAS-Bench-201 computes, in float64.

`benchmarks/published_nb201.py` ran that code, and recorded its draws and results in published_nb201.npz.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from published_nb201 import (
    EDGE,
    SCORED,
    STEEP,
    STEPS,
    TEMPERATURE,
    images_and_labels,
    initial_lambda,
    pixels_of,
    projected,
    values_of,
)
from torch import Tensor

from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.conformance.tiny_search import random_images, tiny_state
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches
from nasbench1shot1.images.splits import Split
from nasbench1shot1.nasbench201.architecture import EDGES
from nasbench1shot1.one_shot_search import loop, weight_step
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing
from nasbench1shot1.optimizers import random_ws, setn
from nasbench1shot1.optimizers.components import relaxation
from nasbench1shot1.supernets.group_statistics import measured_statistics

METHODS = ("darts", "gdas", "setn", "random-ws")
EXACT = {"rtol": 1e-9, "atol": 1e-11}
_EDGES = tuple(f"{target}<-{source}" for target, source in EDGES)
_PARTS = {"conv_a.conv": "conv_a.op.1", "conv_a.bn": "conv_a.op.2", "conv_b.conv": "conv_b.op.1",
          "conv_b.bn": "conv_b.op.2", "shortcut": "downsample.1"}  # fmt: skip
_OPERATIONS = {"conv1x1": 2, "conv3x3": 3}


@pytest.fixture(scope="module")
def published() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).parent / "published_nb201.npz") as file:
        return dict(file)


def published_name(name: str) -> str:
    """The name of one of our supernet's weights in the published one."""
    kind, number, *rest = name.split(".")
    if kind == "cells":
        edge, operation, part, end = rest[1:]
        assert rest[0] == "edges"
        of_part = {"conv": 1, "bn": 2}[part]
        return f"cells.{2 * int(number)}.edges.{_EDGES[int(edge)]}.{_OPERATIONS[operation]}.op.{of_part}.{end}"
    if kind == "reductions":
        part, end = ".".join(rest[:-1]), rest[-1]
        return f"cells.{2 * int(number) - 1}.{_PARTS[part]}.{end}"
    return name.replace("last_bn", "lastact.0")


def our_edge(state: SearchState) -> Tensor:
    (found,) = (weight for name, weight in state.net.named_parameters() if published_name(name) == EDGE)
    return found


class DoubleState(SearchState):
    """A search whose class scores stay in float64."""

    def logits(self, mixing: Mixing, images: Tensor, compiled: bool = True) -> Tensor:
        return self.net(images, *mixing.arguments())


def batch(name: str) -> Batch:
    return Batch(*images_and_labels(name))


@pytest.fixture
def make_state(tmp_path):
    """A function from a method to the state of our search at the published initial weights and Λ."""

    def make(recorded: str, **options: Any) -> DoubleState:
        method = recorded.removesuffix("-steep")
        given = {"optimizer": method, "space": "nb201", "preset": "original", "channels": 4, "cells": 3}
        images = {"images": str(random_images(tmp_path)), "image_side": 8, "batch_size": 4}
        rate = {"architecture_learning_rate": 3e-4} if method in ("darts", "gdas", "setn") else {}
        state = tiny_state({**given, **images, **rate, **options})
        state = DoubleState(**{field.name: getattr(state, field.name) for field in fields(state)})
        state.net.double()
        for name, parameter in state.net.named_parameters():
            drawn = torch.from_numpy(values_of(published_name(name), tuple(parameter.shape)))
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            parameter.data = 1 + 0.1 * drawn if is_scale else drawn / max(drawn[0].numel(), 1) ** 0.5
        if recorded != method:
            state.net.classifier.weight.data *= STEEP
        if state.method.learns_parameters:
            state.method.parameters["operations"].data = initial_lambda()
        if method == "gdas":  # all weights have been used before
            for weight in state.net.parameters():
                state.weight_optimizer.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        return state

    return make


def replay_draws(state: SearchState, published: dict[str, np.ndarray], method: str, monkeypatch: Any) -> None:
    """Let the method make the published draws."""
    if f"{method}/noise" in published:
        noise = iter(-np.log(published[f"{method}/noise"]))
        monkeypatch.setattr(relaxation, "gumbel_noise", lambda *_: torch.from_numpy(next(noise)))
    elif f"{method}/paths" in published:
        paths = iter(published[f"{method}/paths"])

        def draw(space: Any, _: Any) -> Any:
            return space.from_picks([[int(operation)] for operation in next(paths)])

        for module in (random_ws, setn):
            monkeypatch.setattr(module, "draw_uniformly", draw)


def train(state: SearchState, method: str, published: dict[str, np.ndarray], monkeypatch: Any) -> dict[str, Tensor]:
    """Make the steps of the published loop; return what `published_nb201.record_loop` returns."""
    replay_draws(state, published, method, monkeypatch)
    pairs = [(batch(f"weights {i}"), batch(f"Λ {i}")) for i in range(STEPS)]
    monkeypatch.setattr(loop, "batch_pairs", lambda *_: pairs)
    begin_epoch, step, lambdas, edges = state.method.begin_epoch, loop.weight_step, [], []

    def begin(*arguments: Any) -> None:
        begin_epoch(*arguments)
        if method.startswith("gdas"):
            state.method.temperature = TEMPERATURE

    def recorded_step(*arguments: Any) -> Any:
        result = step(*arguments)
        edges.append(our_edge(state).detach().clone())
        return result

    monkeypatch.setattr(state.method, "begin_epoch", begin)
    monkeypatch.setattr(loop, "weight_step", recorded_step)
    if method != "random-ws":
        descend = state.method.descend

        def recorded(gradients: Any) -> None:
            descend(gradients)
            lambdas.append(state.method.parameters["operations"].detach().clone())

        monkeypatch.setattr(state.method, "descend", recorded)
    loop.train_epoch(state, 1, SilentReporter())
    weights = dict(state.net.named_parameters())
    found = {"classifier": weights["classifier.weight"].detach(), "stem": weights["stem.0.weight"].detach()}
    return found | {"edge": torch.stack(edges)} | ({"lambdas": torch.stack(lambdas)} if lambdas else {})


@pytest.mark.parametrize("method", [*METHODS, "gdas-steep", "setn-steep"])
def test_ten_steps_equal_the_published_loop(method, published, make_state, monkeypatch):
    """Order, terms of unsampled operations, no clipping of Λ, and decay of unused weights."""
    state = make_state(method)
    if method.startswith(
        "setn"
    ):  # in the first step, no pass has used all weights yet, so PyTorch has no gradients to decay
        first, real = iter([True]), weight_step.give_unused_zero_gradients
        monkeypatch.setattr(weight_step, "give_unused_zero_gradients", lambda state: next(first, None) or real(state))
    found = train(state, method, published, monkeypatch)
    for name, value in found.items():
        torch.testing.assert_close(value, torch.from_numpy(published[f"{method}/{name}"]), **EXACT)
    assert state.weight_optimizer.param_groups[0]["lr"] == 0.025


@pytest.mark.parametrize(
    ("method", "switch"),
    [
        ("darts", {"weights_first": False}),
        ("gdas", {"weights_first": False}),
        ("gdas", {"unsampled_terms": False}),
        ("gdas-steep", {"architecture_grad_clip": 5.0}),
        ("gdas-steep", {"grad_clip": 0.0}),
        ("setn-steep", {"grad_clip": 5.0}),
        ("setn-steep", {"architecture_grad_clip": 5.0}),
        ("gdas", {"unused_weights": "kept"}),
        ("setn", {"unused_weights": "kept"}),
        ("random-ws", {"unused_weights": "kept"}),
        ("random-ws", {"unused_weights": "decayed"}),
    ],
)
def test_every_switch_is_needed_for_the_published_result(method, switch, published, make_state, monkeypatch):
    found = train(make_state(method, **switch), method, published, monkeypatch)
    far = [
        (value - torch.from_numpy(published[f"{method}/{name}"])).abs().max().item() for name, value in found.items()
    ]
    assert max(far) > 1e-6


def test_evaluation_equals_the_published_network_without_running_statistics_in_cells(
    published, make_state, monkeypatch
):
    state = make_state("random-ws")
    train(state, "random-ws", published, monkeypatch)
    last = state.net.space.from_picks([[int(operation)] for operation in published["random-ws/paths"][-1]])
    state.net.eval()
    assert state.config.evaluation_batch_norm == "batch-in-cells"
    with torch.no_grad(), measured_statistics(state.net.cells):
        logits = state.net(batch("evaluation").images, last)
    torch.testing.assert_close(logits, torch.from_numpy(published["random-ws/evaluated"]), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["random-ws", "setn"])
def test_a_selection_compares_candidates_as_the_published_one(method, published, make_state, monkeypatch):
    """Accuracies of candidates on batches of their own, normalised in the cells by one pass, and the selected one."""
    state = make_state(method)
    if method == "setn":  # as in `test_ten_steps_equal_the_published_loop`
        first, real = iter([True]), weight_step.give_unused_zero_gradients
        monkeypatch.setattr(weight_step, "give_unused_zero_gradients", lambda state: next(first, None) or real(state))
    train(state, method, published, monkeypatch)
    shared, errors = state.shared_weights(1), []
    real_errors = shared.errors
    monkeypatch.setattr(shared, "rows_in_turn", lambda *_: ([i % SCORED] * 4 for i in count()))
    monkeypatch.setattr(shared, "_rows", torch.tensor)
    monkeypatch.setattr(shared, "_batch", lambda rows: batch(f"scored {int(rows[0])}"))
    monkeypatch.setattr(shared, "errors", lambda *given: errors.extend(found := real_errors(*given)) or found)
    made = [state.net.space.from_picks([[int(of)] for of in picks]) for picks in published[f"{method}/candidates"]]
    drawn = iter(made)
    monkeypatch.setattr(random_ws, "draw_uniformly", lambda *_: next(drawn))
    state.method.choose_among(len(made), shared)
    np.testing.assert_allclose(100 * (1 - np.array(errors)), published[f"{method}/accuracies"], atol=1e-9)
    assert state.method.architecture() == state.net.space.from_picks([[int(of)] for of in published[f"{method}/best"]])


@pytest.fixture
def searched_images(published, tmp_path) -> SearchState:
    """Our search on the images of the published loader's first pairs, with the published mean and deviation."""
    weights, of_lambda = published["images/rows"].T
    kept = np.unique(published["images/rows"])
    assert not set(weights) & set(of_lambda)
    np.savez(tmp_path / "images.npz", images=np.stack([pixels_of(n) for n in kept]), labels=kept % 10)
    given = {"optimizer": "darts", "space": "nb201", "preset": "original", "images": str(tmp_path / "images.npz")}
    state = tiny_state({**given, "image_side": 32, "batch_size": 64, "cells": 3})
    mean, std = np.array([[125.3, 123.0, 113.9], [63.0, 62.1, 66.7]]) / 255
    np.testing.assert_allclose(state.images.mean, mean, rtol=5e-4)
    np.testing.assert_allclose(state.images.std, std, rtol=5e-4)
    state.images = replace(state.images, mean=tuple(mean), std=tuple(std))
    halves = (np.searchsorted(kept, np.unique(half)) for half in (weights, of_lambda))
    state.split = Split(*halves, nasbench101_validation_images=0, unknown_images=0)
    return state


def test_both_batches_of_a_step_are_augmented_as_the_published_ones(published, searched_images, monkeypatch):
    """Flip, crop and normalisation of each image, and the pairing of images for the weights and Λ."""
    rows = torch.from_numpy(np.searchsorted(np.unique(published["images/rows"]), published["images/rows"]))
    pairs = [part.T for part in rows.split(64)]
    drawn_rows = iter([pair[1] for pair in pairs])
    monkeypatch.setattr(loop, "batches", lambda *_: iter([pair[0] for pair in pairs]))
    monkeypatch.setattr(loop, "draw_rows", lambda _, count, __: next(drawn_rows)[:count])
    flips, top, left = np.moveaxis(published["images/draws"], 2, 0)
    left = np.where(flips, 8 - left, left)  # the published code flips before it crops
    none = np.zeros_like(top)
    draws = torch.from_numpy(np.stack([top, left, flips, none, none, none], axis=-1))
    in_turn = iter([draws[start : start + 64, of] for start in range(0, len(draws), 64) for of in (0, 1)])
    monkeypatch.setattr(Augmentation, "draw", lambda *_: next(in_turn))
    found = [
        [projected(batch.images) for batch in (of_weights, of_lambda)]
        for of_weights, of_lambda in loop.batch_pairs(searched_images, 1)
    ]
    assert next(in_turn, None) is None
    np.testing.assert_allclose(np.concatenate(found, axis=1).T, published["images/projections"], atol=1e-4)


def test_images_of_lambda_are_drawn_with_replacement_as_the_published_ones(published):
    """As many images as the weights have in each step; about 1 - 1/e of the half in an epoch."""
    half, generator = np.arange(25_000), torch.Generator().manual_seed(0)
    sizes = published["images/sizes"]
    assert sizes.tolist() == [[len(rows)] * 2 for rows in batches(half, 64, generator)]
    drawn = torch.cat([loop.draw_rows(half, int(size), generator) for size, _ in sizes])
    expected, deviation = 25_000 * (1 - np.exp(-1)), (25_000 * np.exp(-1) * (1 - 2 * np.exp(-1))) ** 0.5
    for distinct in (len(drawn.unique()), int(published["images/distinct"])):
        assert abs(distinct - expected) < 4 * deviation


def test_images_of_a_selection_are_taken_in_turn_as_the_published_ones(published, searched_images):
    """Each once in an epoch and not augmented, in batches of 512 of which the last is smaller."""
    shared = searched_images.shared_weights(1)
    assert not searched_images.augments_scored_images
    assert published["images/scored-draws"] == 0
    shared._split = Split(np.arange(0), np.arange(25_000), nasbench101_validation_images=0, unknown_images=0)
    turn = list(islice(shared.rows_in_turn(512, torch.Generator().manual_seed(0)), 49))
    assert [len(rows) for rows in turn] == published["images/scored-sizes"].tolist()
    assert len(torch.cat(turn).unique()) == published["images/scored-distinct"] == 25_000


def controller_weights(published: dict[str, np.ndarray], when: str) -> Iterator[tuple[str, Tensor]]:
    """Our names of the controller's weights, and their published values."""
    of = {name.removeprefix(f"enas/{when}/"): value for name, value in published.items() if f"enas/{when}/" in name}
    yield "embedding.weight", torch.from_numpy(np.concatenate([of["input_vars"][0], of["w_embd.weight"]]))
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        yield f"lstm.{kind}", torch.from_numpy(of[f"w_lstm.{kind}_l0"])
        yield f"upper.0.{kind}", torch.from_numpy(of[f"w_lstm.{kind}_l1"])
    for kind in ("weight", "bias"):
        yield f"scores.0.{kind}", torch.from_numpy(of[f"w_pred.{kind}"])


def test_two_epochs_of_the_controller_equal_the_published_ones(published, make_state):
    """Layers, Adam, aggregation, clipping, reward, the gradient of its entropy, and the baseline."""
    settings = {"controller_entropy_weight": 0.1, "controller_baseline_decay": 0.9, "controller_architectures": 4}
    method = make_state("enas", **settings).method
    method.controller.double()
    weights = dict(method.controller.named_parameters())
    for name, value in controller_weights(published, "initial"):
        assert weights[name].shape == value.shape
        weights[name].data = value
    assert len(weights) == len(list(controller_weights(published, "initial")))
    decisions, accuracies = iter(published["enas/decisions"]), iter(published["enas/accuracies"])
    measured, baselines = [], []
    for _ in range(2):
        at_start = method.baseline
        for _ in range(3):
            scored = []
            for _ in range(4):
                samples = method.controller.score([torch.tensor([[int(pick)]]) for pick in next(decisions)])
                measured.append((samples.log_probability.item(), samples.entropy.item()))
                scored.append((samples, float(next(accuracies))))
            method.reinforce(scored, at_start)
        baselines.append(method.baseline)
    wanted = np.stack([published["enas/log_probabilities"], published["enas/entropies"]], axis=1)
    np.testing.assert_allclose(measured, wanted, rtol=1e-6)  # published accuracies are float32
    np.testing.assert_allclose(baselines, published["enas/baselines"], rtol=1e-6)
    for name, value in controller_weights(published, "final"):
        torch.testing.assert_close(weights[name].detach(), value, rtol=1e-6, atol=1e-8)


def test_the_learning_rate_of_enas_oscillates_as_published(published, make_state):
    state = make_state("enas", epochs=25)
    rates = [state.learning_rate(epoch) for epoch in range(1, 26)]
    np.testing.assert_allclose(rates, published["enas/rates"], rtol=1e-12)
    assert rates[10] == pytest.approx(5e-4)
    assert rates[20] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("darts", {"epochs": 50, "grad_clip": 5.0, "architecture_grad_clip": 0.0, "weights_first": True,
                   "scored_batch_size": 64}),
        ("darts-second-order", {"epochs": 50, "weights_first": None}),
        ("gdas", {"epochs": 250, "temperature_max": 10.0, "temperature_min": 0.1, "temperature_ends_after": False,
                  "draws": 1, "evaluation_noise": True, "scored_batch_size": 64,
                  "architecture_grad_clip": 0.0, "grad_clip": 5.0}),
        ("setn", {"epochs": 250, "grad_clip": 0.0, "candidates": 100, "candidate_batches": 8, "own_images": True,
                  "final_candidates": 100, "scored_batch_size": 512}),
        ("random-ws", {"epochs": 250, "grad_clip": 5.0, "candidates": 100, "candidate_batches": 8, "own_images": True,
                       "final_candidates": 100, "scored_batch_size": 512}),
        ("enas", {"epochs": 250, "batch_size": 128, "candidates": 10, "final_candidates": 100,
                  "controller_steps": 50, "controller_architectures": 20, "controller_hidden": 32,
                  "controller_layers": 2, "controller_entropy_weight": 1e-4, "controller_reward_scale": 1.0,
                  "controller_beta1": 0.0, "controller_learning_rate": 1e-3, "controller_grad_clip": 5.0,
                  "augment_scored_images": True, "scored_batch_size": 128, "learning_rate": 0.05,
                  "learning_rate_min": 5e-4}),
    ],
)  # fmt: skip
def test_settings_equal_the_published_ones(method, wanted):
    """Configuration files and command lines of the published searches."""
    found = search_options({"optimizer": method, "space": "nb201", "preset": "original", "device": "cpu"}).as_dict()
    assert {name: found.get(name) for name in wanted} == wanted
    assert (found["momentum"], found["nesterov"], found["evaluation_batch_norm"]) == (0.9, True, "batch-in-cells")
