"""Switches of the search loop that preset original sets on NAS-Bench-201: order, images, unused weights, batch-norm.

benchmarks/published_nb201.py compares the same switches with the published code.
"""

from typing import Any

import numpy as np
import pytest
import torch
from naive_edges import naive_forward
from refusals import refuses
from tiny_search import tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.images.batches import draw_rows
from nasbench1shot1.one_shot_search.loop import batch_pairs, training_steps
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.weight_step import weight_step

ON_NB201: dict[str, Any] = {"space": "nb201", "batch_size": 16}


def given(**options: Any) -> dict[str, Any]:
    return search_options({"scale": "quick", "space": "nb201", "preset": "original", **options}).as_dict()


@pytest.mark.parametrize("method", ["darts", "gdas", "setn"])
def test_weights_are_trained_before_lambda_under_original_only(method, monkeypatch):
    for preset, order in (("corrected", ["Λ", "w"]), ("original", ["w", "Λ"])):
        state, calls = tiny_state(optimizer=method, preset=preset, **ON_NB201), []
        step = state.method.architecture_step
        monkeypatch.setattr(state.method, "architecture_step", lambda *a, s=step, c=calls: [c.append("Λ"), s(*a)])
        drawn = state.method.weight_mixing
        monkeypatch.setattr(state.method, "weight_mixing", lambda d=drawn, c=calls: [c.append("w"), d()][1])
        steps = len(list(training_steps(state, 1)))
        assert calls == order * steps


def test_second_order_darts_updates_lambda_first_under_both_presets():
    for preset in ("corrected", "original"):
        assert not tiny_state(optimizer="darts-second-order", preset=preset, **ON_NB201).method.trains_weights_first


@pytest.mark.parametrize("method", ["darts", "pc-darts", "gdas", "setn", "enas", "random-ws"])
@pytest.mark.parametrize("space", ["s1", "s3"])
def test_the_published_loop_of_nasbench201_does_not_apply_to_other_spaces(space, method):
    switches = {"weights_first", "draw_with_replacement", "augment_architecture_images", "augment_scored_images",
                "unused_weights"}  # fmt: skip
    for preset in ("corrected", "original"):
        assert not switches & set(search_options({"optimizer": method, "space": space, "preset": preset}).as_dict())
    assert not switches & set(search_options({"optimizer": method, "space": "nb201"}).as_dict())


def test_images_of_lambda_are_drawn_with_replacement_in_batches_of_equal_size():
    state = tiny_state(optimizer="darts", images_per_half=200, draw_with_replacement=True, batch_size=64, space="nb201")
    pairs = list(batch_pairs(state, 1))
    assert [len(batch.labels) for batch, _ in pairs] == [len(batch.labels) for _, batch in pairs] == [64, 64, 64, 8]
    normalised = state.images_of(torch.from_numpy(state.split.architecture), state.augmentation(1), None).images
    counts = torch.zeros(len(normalised), dtype=torch.int64)
    for _, batch in pairs:
        for image in batch.images:
            matches = (normalised == image).flatten(1).all(dim=1)
            assert matches.any(), "not augmented"
            counts += matches
    assert counts.max() > 1
    assert (counts == 0).any()
    again = list(batch_pairs(state, 1))
    assert all(torch.equal(one.images, other.images) for (_, one), (_, other) in zip(pairs, again, strict=True))


def test_draws_with_replacement_are_uniform():
    counts = np.bincount(draw_rows(np.arange(5), 50_000, torch.Generator().manual_seed(0)).numpy(), minlength=5)
    assert abs(counts / 10_000 - 1).max() < 0.04


@pytest.mark.parametrize("augmented", [True, False])
def test_images_of_lambda_are_augmented_individually(augmented):
    """With 8 pixels, a crop would leave one in 18 images as it is."""
    options = {"preset": "corrected" if augmented else "original", "augment_architecture_images": augmented}
    state = tiny_state(space="nb201", draw_with_replacement=False, image_side=16, **options)
    normalised = state.images_of(torch.from_numpy(state.split.architecture), state.augmentation(1), None).images
    ((_, batch), *_) = batch_pairs(state, 1)
    known = [(normalised == image).flatten(1).all(dim=1).any() for image in batch.images]
    assert not any(known[:10]) if augmented else all(known)


def test_original_augments_the_images_of_lambda_but_not_scored_ones():
    found = given(optimizer="darts")
    assert (found["augment_architecture_images"], found["augment_scored_images"]) == (True, False)
    state = tiny_state(optimizer="random-ws", preset="original", **ON_NB201)
    architectures = [state.net.space[i] for i in (7, 1234)]
    errors = [state.shared_weights(2).scores(architectures).losses for _ in range(2)]
    assert np.array_equal(*errors)
    shared = state.shared_weights(2)
    assert np.array_equal(shared.scores(architectures).losses, shared.scores(architectures).losses)
    augmented = tiny_state(optimizer="random-ws", preset="original", augment_scored_images=True, **ON_NB201)
    augmented.net.load_state_dict(state.net.state_dict())
    assert not np.array_equal(augmented.shared_weights(2).scores(architectures).losses, errors[0])


def decayed(weight: np.ndarray, momentum: np.ndarray, steps: int, rate: float) -> np.ndarray:
    """SGD with Nesterov momentum 0.9 and weight decay 5e-4 on a gradient of zero."""
    for _ in range(steps):
        gradient = 5e-4 * weight
        momentum = 0.9 * momentum + gradient
        weight = weight - rate * (gradient + 0.9 * momentum)
    return weight


@pytest.mark.parametrize(("space", "method"), [("nb201", "random-ws"), ("nb201", "gdas"), ("s1", "random-ws")])
def test_unused_weights_are_kept_or_decayed(space, method):
    """An operation is used in the first step, and not in the second and third ones."""
    kinds = ("kept", "decayed", "decayed-after-use")
    for kind in kinds:
        state = tiny_state(optimizer=method, space=space, unused_weights=kind, weight_decay=5e-4, nesterov=True)
        weights, grads = dict(state.net.named_parameters()), []
        before = {name: weight.detach().numpy().copy() for name, weight in weights.items()}
        (batch, _), *_ = batch_pairs(state, 1)
        weight_step(state, batch)
        first = {name: weight.detach().numpy().copy() for name, weight in weights.items()}
        used = {name for name in weights if not np.array_equal(first[name], before[name])}
        unused = {name for name, weight in weights.items() if weight.grad is None}
        grads = {name for name, weight in weights.items() if weight.grad is not None and weight.grad.any()}
        rate = state.weight_optimizer.param_groups[0]["lr"]
        never = next(name for name in sorted(weights) if name.endswith("conv.weight") and name not in grads)
        if kind == "decayed":
            assert not unused
            wanted = decayed(before[never], np.zeros_like(before[never]), 1, rate)
            np.testing.assert_allclose(first[never], wanted, rtol=1e-6)
        else:
            assert never not in used
            assert np.array_equal(first[never], before[never])
        once = next(iter(sorted(name for name in grads if name.startswith("cells") and name.endswith("conv.weight"))))
        buffer = state.weight_optimizer.state[weights[once]]["momentum_buffer"].numpy().copy()
        others = _paths_without(state, once, batch, 2)
        found = weights[once].detach().numpy()
        wanted = first[once] if kind == "kept" else decayed(first[once], buffer, others, rate)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert np.array_equal(found, first[once]) == (kind == "kept")


def _paths_without(state: Any, name: str, batch: Any, steps: int) -> int:
    """Train with mixings whose passes do not use a weight."""
    real, done = state.method.weight_mixing, 0
    for _ in range(200):
        mixing = real()
        logits = state.logits(mixing, batch.images)
        (gradient,) = torch.autograd.grad(logits.sum(), [dict(state.net.named_parameters())[name]], allow_unused=True)
        if gradient is None:
            state.method.weight_mixing = lambda mixing=mixing: mixing
            state.config.__dict__["grad_clip"] = 0.0
            weight_step(state, batch)
            done += 1
        if done == steps:
            break
    state.method.weight_mixing = real
    assert done == steps
    return done


def test_weights_that_do_not_train_are_not_decayed():
    state = tiny_state(optimizer="random-ws", space="nb201", unused_weights="decayed")
    (batch, _), *_ = batch_pairs(state, 1)
    for name, weight in state.net.named_parameters():
        weight.requires_grad_(not name.startswith("cells"))
    before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
    weight_step(state, batch)
    for name, weight in state.net.named_parameters():
        assert torch.equal(weight, before[name]) == name.startswith("cells")


def test_decay_after_use_needs_a_momentum(tmp_path):
    with refuses(nb.InvalidInputError, "unused_weights", "decayed-after-use", "momentum"):
        nb.search(
            "random-ws", out=tmp_path / "run", scale="quick", unused_weights="decayed-after-use", momentum=0
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_batch_statistics_in_cells_only_equal_a_naive_pass():
    state = tiny_state(space="nb201", cells=3, evaluation_batch_norm="batch-in-cells")
    for _ in training_steps(state, 1):  # gives running statistics
        pass
    space, rows = state.net.space, torch.from_numpy(state.split.architecture[:12])
    architectures = [space[i] for i in (5, 321, 9000)]
    found = state.shared_weights(1).by_image(architectures, rows)
    batch = state.images_of(rows, state.augmentation(1), None)
    values = {name: value.double() for name, value in state.net.state_dict().items()}
    losses = {}
    for training in ("in-cells", True, False):
        one_hot = [torch.as_tensor(space.one_hot(of)["operations"]).double() for of in architectures]
        logits = [naive_forward(values, batch.images.double(), weights, 3, training) for weights in one_hot]
        losses[training] = np.stack(
            [torch.nn.functional.cross_entropy(of, batch.labels, reduction="none").numpy() for of in logits]
        )
    np.testing.assert_allclose(found.losses, losses["in-cells"], rtol=1e-4)
    for other in (True, False):
        assert abs(losses[other] - losses["in-cells"]).max() > 1e-2
