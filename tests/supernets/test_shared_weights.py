"""Scoring by shared weights: every batch-norm mode, compared with separate evaluations."""

from unittest.mock import patch

import numpy as np
import pytest
import torch
from naive_supernet import naive_forward
from tiny_search import generator, tiny_state
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.batches import batches
from nasbench1shot1.nasbench101 import shared_passes as engine
from nasbench1shot1.nasbench101.original_passes import without_last_edge
from nasbench1shot1.one_shot_search.measurements import one_shot_error
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.supernets import group_statistics
from nasbench1shot1.supernets import weight_sharing as scoring
from nasbench1shot1.supernets.group_statistics import fixed_statistics, measured_statistics
from nasbench1shot1.supernets.layers import BatchNorm2d
from nasbench1shot1.supernets.presets import BATCH_NORMS
from nasbench1shot1.supernets.weight_sharing import SharedWeights

REFERENCE, AT_ONCE, IMAGES, CELLS = 16, 24, 60, 2


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    monkeypatch.setattr(scoring, "REFERENCE_IMAGES", REFERENCE)
    monkeypatch.setattr(scoring, "PATH_BATCH", AT_ONCE)
    monkeypatch.setattr(scoring, "MIXED_BATCH", AT_ONCE)


def state_of(batch_norm: str | None = None, optimizer: str = "random-ws", **options) -> SearchState:
    """A supernet whose predictions depend on images, architecture and every batch-norm layer."""
    options = {"images_per_half": IMAGES, "cells": CELLS, "channels": 2, "evaluation_batch_norm": batch_norm, **options}
    state, drawn = tiny_state(optimizer=optimizer, **options), generator(1)
    nn.init.zeros_(state.net.classifier.bias)
    norms = [layer for layer in state.net.modules() if isinstance(layer, BatchNorm2d)]
    for layer in norms:
        layer.momentum = 0.8
        if layer.affine:
            nn.init.uniform_(layer.weight, 0.5, 1.5, generator=drawn)
            nn.init.normal_(layer.bias, 0, 0.3, generator=drawn)
    mixing = {key: torch.full(shape, 0.5) for key, shape in state.net.space.mixing_shapes().items()}
    batch = state.images_of(torch.from_numpy(state.split.weights), state.augmentation(1), None)
    with torch.no_grad():
        state.net.train()(batch.images, mixing)  # gives statistics that are close to any path's
    for layer in norms:
        layer.momentum = state.preset.batch_norm_momentum
    return state


def sampled(state, n: int = 4):
    rng = np.random.default_rng(0)
    return [state.net.space.sample(rng) for _ in range(n)]


def naive_predictions(state, mixing, images, batch_norm: str, reference) -> torch.Tensor:
    """Classes predicted by the naive supernet in float64, (N,)."""
    tensors = {key: torch.as_tensor(value).double() for key, value in mixing.items()}
    values = {key: value.double() for key, value in state.net.state_dict().items()}
    of = torch.cat([reference, images]) if batch_norm == "recalibrated" else images
    training = {"running": False, "batch": True, "recalibrated": REFERENCE, "batch-in-cells": "in-cells"}[batch_norm]
    logits, _ = naive_forward(values, of.double(), tensors, CELLS, training)
    return logits[-len(images) :].argmax(dim=1)


def reference_images(state, epoch: int) -> torch.Tensor:
    rows = next(batches(state.split.weights, REFERENCE, state.generator("recalibration", epoch)))
    return state.images_of(rows, state.augmentation(epoch), None).images


def naive_errors(state, architectures, batch_norm: str, rows, at_once: int = AT_ONCE) -> np.ndarray:
    reference, errors = reference_images(state, 2), []
    for arch in architectures:
        wrong = 0
        for part in rows.split(at_once):
            batch = state.images_of(part, state.augmentation(2), None)
            one_hot = state.net.space.one_hot(arch)
            answers = naive_predictions(state, one_hot, batch.images, batch_norm, reference)
            wrong += (answers != batch.labels).sum().item()
        errors.append(wrong / len(rows))
    return np.array(errors)


@pytest.mark.parametrize("batch_norm", ["batch", "batch-in-cells"])
def test_an_option_sets_the_number_of_images_whose_statistics_are_used(batch_norm):
    state = state_of(batch_norm, scored_batch_size=40)
    architectures, rows = sampled(state), torch.from_numpy(state.split.architecture)
    found = state.shared_weights(2).errors(architectures)
    assert np.array_equal(found, naive_errors(state, architectures, batch_norm, rows, 40))
    assert not np.array_equal(found, naive_errors(state, architectures, batch_norm, rows))


@pytest.mark.parametrize(("space", "batch_norm"), [*(("s1", mode) for mode in BATCH_NORMS), ("s3", "recalibrated")])
def test_errors_equal_separate_evaluations(space, batch_norm):
    state = state_of(batch_norm, space=space)
    architectures, rows = sampled(state), torch.from_numpy(state.split.architecture)
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    state.net.train()
    shared = state.shared_weights(2)
    found = shared.errors(architectures)
    assert found.dtype == np.float64
    assert np.array_equal(found, naive_errors(state, architectures, batch_norm, rows))
    assert len(set(found)) > 1
    assert np.array_equal(shared.errors(architectures[::-1])[::-1], found)
    assert np.array_equal([shared.errors([arch])[0] for arch in architectures], found)
    some = rows[torch.randperm(IMAGES, generator=generator(0))[:30]]
    assert np.array_equal(
        shared.errors(architectures[:2], some), naive_errors(state, architectures[:2], batch_norm, some)
    )
    assert all(torch.equal(value, before[name]) for name, value in state.net.state_dict().items())
    assert all(value.grad is None for value in state.net.parameters())
    assert all(layer.training for layer in state.net.modules())
    assert all(layer.other_statistics is None for layer in state.net.modules() if isinstance(layer, BatchNorm2d))


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_several_architectures_in_one_pass_equal_separate_passes(batch_norm, monkeypatch):
    """Imitate a GPU, where the same kernels normalise all groups of a batch."""
    state = state_of(batch_norm)
    state.net.double()
    architectures, shared = sampled(state, 5), state.shared_weights(2)
    monkeypatch.setattr(
        Augmentation, "normalise", lambda self, images, real=Augmentation.normalise: real(self, images).double()
    )
    alone = shared.scores(architectures)
    monkeypatch.setattr(SharedWeights, "_faster_way", lambda *_: None)
    monkeypatch.setattr(SharedWeights, "_together", lambda *_: 3)
    together = shared.scores(architectures)
    np.testing.assert_allclose(together.losses, alone.losses, rtol=1e-6)
    assert np.array_equal(together.errors, alone.errors)
    monkeypatch.setattr(group_statistics, "_all_at_once", lambda x: True)
    as_on_gpu = shared.scores(architectures)
    np.testing.assert_allclose(as_on_gpu.losses, alone.losses, rtol=1e-3)  # float32 statistics


@pytest.mark.parametrize("preset", ["corrected", "original"])
def test_all_architectures_of_a_call_use_the_same_images(preset):
    """Also with augmentation of the architecture half, as published; other calls then use other images."""
    errors = []
    for order in (1, -1):
        state = state_of(preset=preset)
        shared = state.shared_weights(2)
        errors.append(shared.errors(sampled(state)[::order])[::order])
    assert np.array_equal(*errors)
    again = shared.errors(sampled(state))
    assert np.array_equal(again, errors[0]) == (preset == "corrected")


def test_a_failure_leaves_the_supernet_unchanged(monkeypatch):
    state = state_of("batch")
    state.net.train()

    def fail(*_, **__):
        raise RuntimeError("no memory")

    monkeypatch.setattr(engine, "cell_output", fail)
    with pytest.raises(RuntimeError, match="memory"):
        state.shared_weights(2).errors(sampled(state))
    assert state.net.training
    assert all(layer.other_statistics is None for layer in state.net.modules() if isinstance(layer, BatchNorm2d))


@pytest.mark.parametrize("batch_norm", ["batch", "running", "recalibrated"])  # those of the engine
@pytest.mark.parametrize("images", [3, AT_ONCE, AT_ONCE + 1])
def test_the_announced_number_of_images_passes_through_the_network(batch_norm, images, monkeypatch):
    state, passed = state_of(batch_norm), []
    real = engine.cell_output

    def counted(cell, path, key, maps, layers):
        passed.append(len(maps.x))
        return real(cell, path, key, maps, layers)

    monkeypatch.setattr(engine, "cell_output", counted)  # last block of the second cell
    shared = state.shared_weights(2)
    shared.errors(sampled(state, 3), shared.rows(images, generator(0)))
    assert sum(passed) == shared.images_passed(3, images)


@pytest.mark.parametrize(("space", "blocks"), [("s1", 4), ("s3", 5)])
def test_the_gpu_batch_is_bounded_by_the_widest_feature_map(space, blocks):
    shared = state_of(space=space, channels=16, image_side=32).shared_weights(2)
    widest = blocks * 16 * 32 * 32 * 4 * 512
    together = shared._at_once_on_gpu(512)
    assert together * widest <= 2**29 < (together + 1) * widest
    assert shared._at_once_on_gpu(30_000) == 1


def asked(state) -> list:
    """Architectures, a sub-network of one, and mixing weights."""
    first, *others = [arch for arch in sampled(state, 20) if 4 in arch.parents[-1]][:4]
    one_hot = Mixing({key: torch.as_tensor(of) for key, of in state.net.space.one_hot(first).items()})
    return [first, without_last_edge(first), one_hot, *others]


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_scores_are_means_over_images(batch_norm):
    state = state_of(batch_norm)
    shared, passes = state.shared_weights(2), asked(state)
    by_image, scores = shared.by_image(passes), shared.scores(passes)
    assert by_image.wrong.shape == by_image.losses.shape == (len(passes), IMAGES)
    assert (by_image.wrong.dtype, by_image.losses.dtype) == (np.bool_, np.float32)
    np.testing.assert_allclose(by_image.wrong.mean(axis=1), scores.errors, rtol=1e-12)
    np.testing.assert_allclose(by_image.losses.mean(axis=1, dtype=np.float64), scores.losses, rtol=1e-6)
    assert len(set(scores.losses)) >= len(passes) - 1  # a path and its one-hot weights may agree exactly
    none = shared.by_image([])
    assert none.wrong.shape == (0, IMAGES)


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_predictions_do_not_depend_on_other_passes_of_the_call(batch_norm):
    state = state_of(batch_norm)
    shared, passes = state.shared_weights(2), asked(state)
    together, backwards = shared.by_image(passes), shared.by_image(passes[::-1])
    for position, given in enumerate(passes):
        alone = state.shared_weights(2).by_image([given])
        for found in (together, backwards):
            place = position if found is together else len(passes) - 1 - position
            assert np.array_equal(found.losses[place], alone.losses[0])
            assert np.array_equal(found.wrong[place], alone.wrong[0])


@pytest.mark.parametrize("batch_norm", ["running", "recalibrated"])
def test_predictions_have_the_order_of_the_rows(batch_norm):
    state = state_of(batch_norm)
    shared, passes = state.shared_weights(2), asked(state)
    order = np.random.default_rng(0).permutation(IMAGES)
    rows = torch.from_numpy(state.split.architecture)
    whole, shuffled = shared.by_image(passes, rows), shared.by_image(passes, rows[order])
    np.testing.assert_allclose(shuffled.losses, whole.losses[:, order], rtol=1e-4, atol=1e-5)
    assert np.array_equal(shuffled.wrong, whole.wrong[:, order])


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_third_party_cells_give_the_same_scores(batch_norm):
    """A third-party cell class has only `forward`."""
    state = state_of(batch_norm)
    passes = asked(state)
    wanted = state.shared_weights(2).by_image(passes)
    for cell in state.net.cells:
        cell.__class__ = type("Own", (type(cell),), {})
    found = state.shared_weights(2).by_image(passes)
    np.testing.assert_allclose(found.losses, wanted.losses, rtol=1e-3, atol=1e-4)
    assert np.array_equal(found.wrong, wanted.wrong)


def test_an_architecture_of_another_space_is_refused():
    shared, other = state_of().shared_weights(2), nb.search_space("s2").sample(np.random.default_rng(0))
    for given in (other, without_last_edge(other), Mixing(path=other)):
        with pytest.raises(nb.InvalidInputError, match="s1"):
            shared.by_image([given])


def test_rows_are_drawn_from_the_architecture_half_without_replacement():
    state = state_of()
    shared, half = state.shared_weights(0), set(state.split.architecture.tolist())
    assert shared.batch_size == 20
    for images in (1, 30, IMAGES):
        rows = shared.rows(images, generator(3)).tolist()
        assert len(rows) == len(set(rows)) == images
        assert set(rows) <= half
        assert rows == shared.rows(images, generator(3)).tolist()
    assert set(shared.rows(10_000, generator(0)).tolist()) == half
    assert shared.rows(30, generator(1)).tolist() != shared.rows(30, generator(2)).tolist()


# Batch-norm by groups ----------------------------------------------------------------------------------------------


def norm_of(affine: bool, channels: int = 3) -> BatchNorm2d:
    layer, drawn = BatchNorm2d(channels, affine=affine).double(), generator(2)
    layer.running_mean.normal_(generator=drawn)
    if affine:
        nn.init.normal_(layer.weight, generator=drawn)
        nn.init.normal_(layer.bias, generator=drawn)
    return layer


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("affine", [True, False])
def test_each_group_is_normalised_like_a_separate_pytorch_batch(affine, memory_format, together, monkeypatch):
    monkeypatch.setattr(group_statistics, "_all_at_once", lambda x: together)
    layer = norm_of(affine)
    x = (3 + 2 * torch.randn(12, 3, 4, 5, generator=generator(0), dtype=torch.float64)).to(memory_format=memory_format)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    alone = [nn.functional.batch_norm(part, None, None, layer.weight, layer.bias, training=True) for part in x.split(4)]
    tolerance = 1e-5 if together else 1e-10  # its statistics are float32
    with measured_statistics(layer, groups=3):
        torch.testing.assert_close(layer(x), torch.cat(alone).to(x), rtol=tolerance, atol=tolerance)
    assert layer.other_statistics is None
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("affine", [True, False])
def test_later_passes_use_the_biased_statistics_of_the_measured_pass(affine, together, monkeypatch):
    """Per group, and per call if a layer is called twice in a pass."""
    monkeypatch.setattr(group_statistics, "_all_at_once", lambda x: together)
    layer = norm_of(affine)
    references = [3 + 2 * torch.randn(4, 3, 4, 5, generator=generator(i), dtype=torch.float64) for i in (0, 1)]
    scored = torch.randn(6, 3, 4, 5, generator=generator(2), dtype=torch.float64)
    with measured_statistics(layer, groups=2) as statistics:
        for reference in references:
            layer(reference)
    for _ in range(2):  # passes
        with fixed_statistics(layer, statistics):
            found = [layer(scored) for _ in references]
        for reference, normalised in zip(references, found, strict=True):
            wanted = []
            for of_reference, part in zip(reference.split(2), scored.split(3), strict=True):
                mean, variance = of_reference.mean(dim=(0, 2, 3)), of_reference.var(dim=(0, 2, 3), correction=0)
                wanted.append(nn.functional.batch_norm(part, mean, variance, layer.weight, layer.bias, eps=layer.eps))
            tolerance = 1e-5 if together else 1e-9
            torch.testing.assert_close(normalised, torch.cat(wanted), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("together", [False, True])
def test_grouped_normalisation_keeps_dtype_and_constant_channels(dtype, together, monkeypatch):
    monkeypatch.setattr(group_statistics, "_all_at_once", lambda x: together)
    layer = BatchNorm2d(2)
    x = torch.full((4, 2, 3, 3), 1.5, dtype=dtype)
    with measured_statistics(layer, groups=2) as statistics:
        layer(x)
    with fixed_statistics(layer, statistics):
        found = layer(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), torch.zeros(4, 2, 3, 3), rtol=0, atol=1e-2)


# The one-shot error ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_the_one_shot_error_uses_the_current_mixing_weights(batch_norm):
    state = state_of(batch_norm, optimizer="darts")
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    mixing = {key: value.detach() for key, value in state.method.evaluation_mixing().weights.items()}
    wrong = 0
    for rows in torch.from_numpy(state.split.architecture).split(AT_ONCE):
        batch = state.images_of(rows, state.augmentation(2), None)
        wrong += (
            (naive_predictions(state, mixing, batch.images, batch_norm, reference_images(state, 2)) != batch.labels)
            .sum()
            .item()
        )
    assert one_shot_error(state, 2) == wrong / IMAGES
    assert all(torch.equal(value, before[name]) for name, value in state.net.state_dict().items())


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
@pytest.mark.parametrize("space", ["s1", "s3"])
def test_curve_selection_and_shared_weights_agree_on_the_error_of_an_architecture(space, batch_norm):
    """For every way to evaluate an architecture: alone, in a batch, or by mixing weights."""
    state = state_of(batch_norm, space=space)
    first, *others = sampled(state)
    one_hot = Mixing({key: torch.as_tensor(of) for key, of in state.net.space.one_hot(first).items()})
    with patch.object(state.method, "evaluation_mixing", return_value=Mixing(path=first)):
        of_the_curve = one_shot_error(state, 2)
    with patch.object(state.method, "evaluation_mixing", return_value=one_hot):
        as_mixture = one_shot_error(state, 2)
    shared, scores = state.shared_weights(2), state.shared_weights(2).scores([*others, one_hot, first])
    assert of_the_curve == as_mixture == shared.errors([first])[0] == shared.errors([*others, first])[-1]
    assert of_the_curve == scores.errors[-1] == scores.errors[-2]
    assert scores.losses[-1] == pytest.approx(scores.losses[-2], rel=1e-5)


def test_recalibrated_scores_of_an_image_do_not_depend_on_other_images(monkeypatch):
    state = state_of("recalibrated")
    architectures, rows = sampled(state), torch.from_numpy(state.split.architecture)
    whole = state.shared_weights(2).scores(architectures, rows)
    parts = [state.shared_weights(2).scores(architectures, part) for part in rows.split(7)]
    weights = np.array([len(part) for part in rows.split(7)]) / len(rows)
    np.testing.assert_allclose(weights @ [part.errors for part in parts], whole.errors, rtol=1e-12)
    np.testing.assert_allclose(weights @ [part.losses for part in parts], whole.losses, rtol=1e-5)


@pytest.mark.parametrize("batch_norm", BATCH_NORMS)
def test_the_one_shot_error_of_a_sampling_method_uses_its_chosen_architecture(batch_norm):
    state = state_of(batch_norm)
    chosen = state.method.architecture()
    assert state.method.evaluation_mixing() == Mixing(path=chosen)
    assert one_shot_error(state, 2) == state.shared_weights(2).errors([chosen])[0]


def test_the_preset_selects_the_statistics_unless_the_user_does():
    assert state_of().config.evaluation_batch_norm == "recalibrated"
    assert state_of(preset="original").config.evaluation_batch_norm == "running"
    assert state_of("batch", preset="original").config.evaluation_batch_norm == "batch"


@pytest.mark.parametrize(("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_scoring_uses_the_precision_of_the_search(precision, dtype, monkeypatch):
    state, seen = state_of("batch", precision=precision), set()
    real = engine.cell_output
    monkeypatch.setattr(engine, "cell_output", lambda *of: seen.add(of[3].x.dtype) or real(*of))
    errors = state.shared_weights(2).errors(sampled(state))
    assert seen == {dtype}
    assert np.abs(errors - state_of("batch").shared_weights(2).errors(sampled(state))).max() < 0.1
