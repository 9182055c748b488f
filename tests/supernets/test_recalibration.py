"""Batch-norm statistics on several batches, against PyTorch's training mode in float64."""

from itertools import islice

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_search import TINY, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizers.spos import BATCH
from nasbench1shot1.supernets.group_statistics import MOMENTUM, MovingStatistics
from nasbench1shot1.supernets.layers import BatchNorm2d, normalised_by


def published_error(net, arch, batches, images, labels) -> float:
    """The error after statistics are reset and the batches pass in training mode, as in the authors' code."""
    for layer in (layer for layer in net.modules() if isinstance(layer, BatchNorm2d)):
        layer.running_mean.zero_()
        layer.running_var.fill_(1)
        layer.momentum = 0.1
    net.train()
    for batch in batches:
        net(batch, arch)
    net.eval()
    return float((net(images, arch).argmax(dim=1) != labels).double().mean())


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_recalibration_equals_the_published_code(space):
    """After 200 batches, the initial statistics of the published code have no weight."""
    state = tiny_state(optimizer="spos", space=space, channels=2)
    net, shared = state.net, state.shared_weights(1)
    arch = state.net.space.sample(np.random.default_rng(3))
    with torch.no_grad():
        for layer in (layer for layer in net.modules() if isinstance(layer, BatchNorm2d)):
            layer.running_mean.normal_(0, 3, generator=generator(1))  # what training left behind is not used
    batches = list(islice(shared.training_batches(8, generator(5)), 200))
    rows = torch.from_numpy(state.split.architecture)
    before = {name: buffer.clone() for name, buffer in net.named_buffers()}
    found = shared.recalibrated_error(arch, batches, rows)
    assert all(torch.equal(buffer, before[name]) for name, buffer in net.named_buffers())
    images = state.images_of(rows, state.augmentation(1), None)
    with torch.no_grad():
        assert published_error(net, arch, batches, images.images, images.labels) == pytest.approx(found)


@torch.no_grad()
def test_moving_statistics_equal_pytorch_in_float64_up_to_the_initial_weight():
    layer, ours = BatchNorm2d(3, momentum=MOMENTUM).double(), MovingStatistics()
    batches = [5 + 2 * torch.randn(8, 3, 4, 4, generator=generator(n), dtype=torch.float64) for n in range(30)]
    for batch in batches:
        usual = layer.train()(batch)
        with normalised_by(layer, ours):
            torch.testing.assert_close(layer(batch), usual)
    ours.is_fixed = True
    left = (1 - MOMENTUM) ** len(batches)  # the weight of the initial mean 0 and variance 1
    layer.running_mean.div_(1 - left)
    layer.running_var.sub_(left).div_(1 - left)
    with normalised_by(layer, ours):
        found = layer(batches[0])
    torch.testing.assert_close(found, layer.eval()(batches[0]), rtol=1e-12, atol=1e-12)


def test_one_batch_gives_its_own_statistics():
    ours, x = MovingStatistics(), torch.randn(64, 2, 4, 4, generator=generator(0), dtype=torch.float64)
    layer = BatchNorm2d(2).double()
    with torch.no_grad(), normalised_by(layer, ours):
        first = layer(x)
        ours.is_fixed = True
        torch.testing.assert_close(layer(x), first, rtol=1e-3, atol=1e-3)  # PyTorch keeps the unbiased variance


SMALL = {"generations": 2, "population": 3, "crossovers": 1, "mutations": 1, "survivors": 2, "candidates": 2,
         "candidate_batches": 1, "finalists": 1, "images_per_half": 200}  # fmt: skip


@pytest.mark.parametrize("own_images", [False, True])
@pytest.mark.parametrize("batches", [1, 3])
def test_the_fitness_uses_the_images_and_batches_that_the_options_select(own_images, batches, monkeypatch):
    state = tiny_state(
        optimizer="spos", recalibration_batches=batches, fitness_images=70, own_images=own_images, **SMALL
    )
    shared, scored, calibrated = state.shared_weights(1), [], []

    def noted(self, archs, rows=None):
        scored.extend([rows.tolist()] * len(archs))
        return np.linspace(0.1, 0.9, len(archs))

    def recalibrated(self, arch, calibration, rows=None):
        calibrated.append([batch.shape for batch in calibration])
        return float(noted(self, [arch], rows)[0])

    monkeypatch.setattr(type(shared), "errors", noted)
    monkeypatch.setattr(type(shared), "recalibrated_error", recalibrated)
    state.method.end_search(shared)
    assert len(scored) == 6
    assert all(len(set(rows)) == len(rows) == 70 and set(rows) <= set(state.split.architecture) for rows in scored[:2])
    assert (len({tuple(rows) for rows in scored}) == 1) is not own_images
    if own_images:  # the half is used in turn: two times 70 of 200 images have none in common
        assert not set(scored[0]) & set(scored[1])
    assert calibrated == ([[(128, 3, TINY["image_side"], TINY["image_side"])] * batches] * 6 if batches > 1 else [])


def test_preset_original_has_the_published_numbers_of_images():
    own = search_options({"optimizer": "spos", "preset": "original", "device": "cpu"}).own
    assert own.recalibration_batches * BATCH == 25_600
    assert own.fitness_images == 40 * 200
    assert own.own_images


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fitness_images": 41}, ("fitness_images=41", "40 images")),
        ({"recalibration_batches": 2}, ("recalibration_batches=2", "128 images", "only 40")),
    ],
)
def test_more_images_than_there_are_are_refused(options, words, tmp_path):
    with refuses(nb.InvalidInputError, *words):
        search(tmp_path / "run", optimizer="spos", **options)
    assert not (tmp_path / "run").exists()


def test_a_search_with_both_options_is_reproducible(tmp_path):
    options = {**SMALL, "optimizer": "spos", "epochs": 1, "recalibration_batches": 2, "fitness_images": 60}
    first, again = (search(tmp_path / name, own_images=True, **options) for name in ("first", "again"))
    assert first.lines[-1]["architecture"] == again.lines[-1]["architecture"]
