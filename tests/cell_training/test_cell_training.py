"""The training protocol of NAS-Bench-101: schedule, optimizer, images."""

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import CELL, TINY, whole_cifar10, write_images

import nasbench1shot1 as nb
from nasbench1shot1.cell_training.loop import accuracy, begin
from nasbench1shot1.cell_training.recipe import ShuffledStream
from nasbench1shot1.ground.text import counted
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import IMAGENET16_120
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.nasbench101.recipe import TensorFlowRMSProp, divide, learning_rate, stops
from nasbench1shot1.nasbench101.training_options import TrainingConfig


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


# The schedule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epochs", "halfway", "total"), [(4, 312, 625), (12, 937, 1875), (36, 2812, 5625), (108, 8437, 16_875)]
)
def test_budgets_have_the_published_numbers_of_steps(epochs, halfway, total):
    found = stops(epochs, 40_000, 256)
    evaluations = [(stop.step, stop.epochs, stop.evaluation) for stop in found if stop.evaluation]
    assert evaluations == [(1, 0, "initial"), (halfway, epochs / 2, "halfway"), (total, epochs, "final")]
    assert [stop.step for stop in found if stop.epochs in range(1, epochs)] == [
        int(e * 40_000 / 256) for e in range(1, epochs)
    ]


@given(st.integers(1, 120), st.integers(1, 60_000), st.integers(1, 600))
def test_stops_ascend_from_the_first_to_the_last_step(epochs, images, batch):
    total = epochs * images // batch
    if total < 4:
        with pytest.raises(
            nb.InvalidInputError, match=f"only {counted(total, 'step')} in {counted(epochs, 'epoch')}, "
        ):
            stops(epochs, images, batch)
        return
    found = stops(epochs, images, batch)
    assert [s.step for s in found] == sorted({s.step for s in found})
    assert [s.evaluation for s in found if s.evaluation] == ["initial", "halfway", "final"]
    assert (found[0].step, found[-1].step) == (1, total)


def test_the_learning_rate_is_a_cosine_to_zero_and_zero_in_the_first_step():
    rates = [learning_rate(step, 625, 0.2) for step in range(626)]
    assert rates[0] == 0
    assert rates[1] == pytest.approx(0.2, rel=1e-4)
    assert rates[312] == pytest.approx(0.1 * (1 + np.cos(np.pi * 312 / 625)), rel=1e-12)
    assert rates[625] == pytest.approx(0, abs=1e-15)
    assert all(a > b for a, b in pairwise(rates[1:]))


# RMSProp --------------------------------------------------------------------------------------------------------------


def numpy_rmsprop(p: np.ndarray, gradients: np.ndarray, rates: list[float], decay: float, weight_decay: float):
    """TensorFlow's RMSProp, one step at a time in double precision."""
    rms, momentum = np.ones_like(p), np.zeros_like(p)
    for gradient, rate in zip(gradients, rates, strict=True):
        g = gradient + weight_decay * p
        rms = decay * rms + (1 - decay) * g**2
        momentum = 0.9 * momentum + rate * g / np.sqrt(rms + 1.0)
        p = p - momentum
    return p, rms, momentum


@settings(max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([0.0, 1e-4, 0.3]), st.sampled_from([0.9, 0.99]))
def test_rmsprop_agrees_with_the_reference(seed, weight_decay, decay):
    rng = np.random.default_rng(seed)
    start, gradients = rng.normal(size=(5, 3)), rng.normal(0, 3, (7, 5, 3))
    rates = [0.0, *rng.uniform(0, 0.3, 6)]
    p = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = TensorFlowRMSProp([p], lr=0.2, decay=decay, weight_decay=weight_decay)
    for gradient, rate in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        (p * torch.from_numpy(gradient)).sum().backward()
        optimizer.step()
    expected, rms, momentum = numpy_rmsprop(start, gradients, rates, decay, weight_decay)
    np.testing.assert_allclose(p.detach(), expected, rtol=1e-12)
    np.testing.assert_allclose(optimizer.state[p]["rms"], rms, rtol=1e-12)
    np.testing.assert_allclose(optimizer.state[p]["momentum"], momentum, rtol=1e-12, atol=1e-15)


def test_weight_decay_equals_the_gradient_of_an_l2_term():
    def moved(in_loss: bool) -> torch.Tensor:
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).double()
        generator = torch.Generator().manual_seed(0)
        for p in net.parameters():
            p.data.normal_(generator=generator)
        optimizer = TensorFlowRMSProp(net.parameters(), lr=0.2, weight_decay=0.0 if in_loss else 0.01)
        x = torch.randn(4, 3, 6, 6, dtype=torch.float64, generator=generator)
        for _ in range(3):
            loss = net(x).square().sum()
            if in_loss:
                loss = loss + 0.01 * sum(p.square().sum() / 2 for p in net.parameters())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return torch.cat([p.flatten() for p in net.parameters()]).detach()

    torch.testing.assert_close(moved(False), moved(True), rtol=1e-9, atol=1e-9)


def test_rmsprop_skips_parameters_without_gradients_and_can_be_resumed():
    one, other = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = TensorFlowRMSProp([one, other], lr=0.2, weight_decay=0.1)
    one.sum().backward()
    optimizer.step()
    assert torch.equal(other, torch.ones(3))
    twin = torch.nn.Parameter(one.detach().clone())
    resumed = TensorFlowRMSProp([twin, torch.nn.Parameter(torch.ones(3))], lr=0.1)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    twin.grad = one.grad.clone()
    optimizer.step()
    resumed.step()
    assert torch.equal(one, twin)


# Images ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffled", [False, True])
def test_cifar10_is_split_as_in_nasbench101(shuffled):
    images = whole_cifar10(shuffled)
    parts = divide(images)
    assert parts.is_official
    assert images.index[parts.train.rows].tolist() == list(range(40_000))
    assert images.index[parts.train_evaluation.rows].tolist() == list(range(10_000))
    assert images.index[parts.validation.rows].tolist() == list(range(40_000, 50_000))
    assert parts.test.images.images is images.test_images
    assert parts.test.rows.tolist() == list(range(10_000))
    assert "the images that NAS-Bench-101 took" in parts.description


def test_the_sample_is_split_by_class_and_reports_it():
    images = load_images("cifar10-sample")
    parts = divide(images)
    assert not parts.is_official
    rows = [part.rows for part in (parts.train, parts.validation, parts.test)]
    assert [torch.bincount(images.labels[r]).tolist() for r in rows] == [[250] * 10, [50] * 10, [50] * 10]
    assert len(torch.cat(rows).unique()) == 3500
    assert parts.description.startswith("cifar10-sample: 2,500 train, 500 validate, 500 test")
    assert "no test images of CIFAR-10" in parts.description
    assert torch.equal(parts.train_evaluation.rows, parts.train.rows)


def test_an_image_set_with_test_images_is_tested_on_them():
    black = torch.zeros(100, 32, 32, 3, dtype=torch.uint8)
    labels = torch.arange(100) % 10
    parts = divide(ImageSet("mine", black, labels, -torch.ones(100).long(), "", black[:30], labels[:30]))
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (90, 10, 30)
    assert not parts.is_official


def test_only_cifar10_is_split_as_in_nasbench101():
    images = whole_cifar10()
    parts = divide(replace(images, dataset="cifar100", classes=None, labels=images.index % 100))
    assert not parts.is_official
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (42_900, 7_100, 10_000)


def test_other_data_sets_use_their_own_normalisation_and_crops(tmp_path):
    shape = (7 * 120, 16, 16, 3)
    path, labels = tmp_path / "mine.npz", np.arange(shape[0]) % 120
    np.savez(path, images=np.zeros(shape, np.uint8), labels=labels, is_test=labels < 0, dataset="ImageNet16-120")
    state = begin(nb.Architecture.parse(CELL).cell, TrainingConfig.from_options({**TINY, "images": str(path)}))
    assert state.augmentation == Augmentation(2, 0.5, 16, 0.0, IMAGENET16_120.mean, IMAGENET16_120.std)
    assert state.net.classifier.out_features == 120
    pixels, _ = state.batch()
    assert pixels.shape == (20, 3, 16, 16)


def test_too_few_images_of_a_class_are_reported_in_one_sentence():
    labels = torch.arange(69) % 10
    black = torch.zeros(69, 32, 32, 3, dtype=torch.uint8)
    with pytest.raises(nb.InvalidInputError, match=r"class 9.*6 images.*7 are"):
        divide(ImageSet("mine", black, labels, torch.arange(69), ""))


@given(st.integers(1, 50), st.integers(1, 120), st.integers(0, 5))
def test_batches_are_cut_from_consecutive_permutations(size, batch, seed):
    rows = torch.arange(100, 100 + size)
    taken = torch.cat([ShuffledStream(rows, batch, seed).batch(step) for step in range(4)])
    kept = ShuffledStream(rows, batch, seed)
    assert torch.equal(taken, torch.cat([kept.batch(step) for step in range(4)]))
    for start in range(0, len(taken), size):
        one_pass = taken[start : start + size]
        assert len(one_pass.unique()) == len(one_pass)
    assert len(taken) == 4 * batch
    assert min(size, batch) < 20 or not torch.equal(kept.batch(0), ShuffledStream(rows, batch, seed + 1).batch(0))


def test_training_images_are_padded_with_black_cropped_flipped_and_normalised(images):
    state = begin(nb.Architecture.parse(CELL).cell, TrainingConfig.from_options({**TINY, "images": images}))
    state.parts.train.images.images[:] = 255
    pixels, labels = state.batch()
    assert pixels.shape == (20, 3, 32, 32)
    assert torch.equal(labels, state.parts.train.images.labels[state.stream.batch(0)])
    mean, std = np.array([125.31, 122.95, 113.87]), np.array([62.99, 62.09, 66.70])
    for channel in range(3):
        values = pixels[:, channel].unique()
        expected = [(0 - mean[channel]) / std[channel], (255 - mean[channel]) / std[channel]]
        np.testing.assert_allclose(values.numpy()[[0, -1]], expected, rtol=1e-5)
        assert len(values) == 2
    black = pixels[:, 0] < 0
    assert 0 < black.any(dim=(1, 2)).sum() <= 20
    assert black.all(dim=2).sum(dim=1).amax() == black.all(dim=1).sum(dim=1).amax() == 4


def test_evaluations_use_full_batches_only(images):
    state = begin(nb.Architecture.parse(CELL).cell, TrainingConfig.from_options({**TINY, "images": images}))
    seen: list[int] = []

    class Counter:
        def evaluated(self) -> None:
            seen.append(1)

    part = divide(whole_cifar10()).validation
    state.config = TrainingConfig.from_options({**TINY, "batch_size": 256})
    state.logits = lambda x, compiled: torch.nn.functional.one_hot(torch.zeros(len(x)).long(), 10).float()
    assert accuracy(state, part, Counter()) == (part.images.labels[part.rows[:9984]] == 0).sum() / 9984
    assert len(seen) == 39
