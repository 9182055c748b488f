"""The guarantee of "20k/20k": training never uses validation images of NAS-Bench-101."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import split_images


def image_set(labels: np.ndarray, index: np.ndarray) -> ImageSet:
    images = torch.zeros((1, 1, 1, 1), dtype=torch.uint8).expand(len(labels), 32, 32, 3)
    return ImageSet("made", images, torch.from_numpy(labels.astype(np.int64)), torch.from_numpy(index), "")


@pytest.fixture(scope="module")
def whole() -> ImageSet:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5_000))
    return image_set(labels, np.arange(50_000))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def counts(images: ImageSet, rows: np.ndarray) -> list[int]:
    return np.bincount(images.labels.numpy()[rows], minlength=10).tolist()


def test_the_complete_set_is_split_as_published(whole: ImageSet) -> None:
    halves = split_images(whole, "20k/20k", rng())
    assert np.array_equal(halves.weights, np.arange(20_000))
    assert np.array_equal(halves.architecture, np.arange(20_000, 40_000))
    assert halves.nasbench101_validation_images == 0
    original = split_images(whole, "25k/25k", rng())
    assert np.array_equal(original.weights, np.arange(25_000))
    assert np.array_equal(original.architecture, np.arange(25_000, 50_000))
    assert original.nasbench101_validation_images == 10_000
    assert halves.unknown_images == original.unknown_images == 0
    assert halves.weights.dtype == halves.architecture.dtype == np.int64


def test_the_complete_set_in_another_order_gives_the_same_images(whole: ImageSet) -> None:
    order = rng(5).permutation(50_000)
    shuffled = image_set(whole.labels.numpy()[order], order)
    halves = split_images(shuffled, "20k/20k", rng())
    assert np.array_equal(np.sort(order[halves.weights]), np.arange(20_000))
    assert np.array_equal(np.sort(order[halves.architecture]), np.arange(20_000, 40_000))


@settings(max_examples=25)
@given(size=st.integers(10, 4_000), seed=st.integers(0, 2**32), scheme=st.sampled_from(["20k/20k", "25k/25k"]))
def test_a_subset_stays_within_the_published_ranges(whole: ImageSet, size: int, seed: int, scheme: str) -> None:
    halves = split_images(whole, scheme, rng(seed), images_per_half=size)
    middle, end = (20_000, 40_000) if scheme == "20k/20k" else (25_000, 50_000)
    assert len(np.unique(halves.weights)) == len(np.unique(halves.architecture)) == size
    assert halves.weights.max() < middle <= halves.architecture.min()
    assert halves.architecture.max() < end
    assert halves.nasbench101_validation_images == (np.r_[halves.weights, halves.architecture] >= 40_000).sum()
    for half in (halves.weights, halves.architecture):
        assert np.ptp(counts(whole, half)) == (size % 10 > 0)


@settings(max_examples=200)
@given(data=st.data(), seed=st.integers(0, 2**32), unknown=st.booleans())
def test_corrected_never_uses_the_last_ten_thousand_images(data: st.DataObject, seed: int, unknown: bool) -> None:
    size = data.draw(st.integers(1, 400))
    draw = rng(seed)
    index = draw.choice(50_000, size, replace=False)
    if unknown:
        index[draw.random(size) < 0.3] = -1
    images = image_set(draw.integers(0, 10, size), index)
    wanted = data.draw(st.none() | st.integers(1, 200))
    try:
        halves = split_images(images, "20k/20k", rng(seed), wanted)
    except InvalidInputError:
        usable = np.bincount(images.labels.numpy()[index < 40_000], minlength=10).min() // 2 * 10
        assert usable == 0 or (wanted or 0) > usable
        return
    used = np.r_[halves.weights, halves.architecture]
    assert index[used].max() < 40_000
    assert halves.nasbench101_validation_images == 0
    assert halves.unknown_images == (index[used] == -1).sum()
    assert len(np.unique(used)) == len(used) == 2 * len(halves.weights)
    assert wanted is None or len(halves.weights) == wanted
    assert counts(images, halves.weights) == counts(images, halves.architecture)
    assert np.ptp(counts(images, halves.weights)) <= 1


def test_the_sample_is_halved_by_class_and_determined_by_the_seed() -> None:
    sample = load_images("cifar10-sample")
    halves = split_images(sample, "20k/20k", rng(1))
    assert counts(sample, halves.weights) == counts(sample, halves.architecture) == [175] * 10
    assert not set(halves.weights) & set(halves.architecture)
    again, other = split_images(sample, "20k/20k", rng(1)), split_images(sample, "20k/20k", rng(2))
    assert np.array_equal(halves.weights, again.weights)
    assert np.array_equal(halves.architecture, again.architecture)
    assert not np.array_equal(halves.weights, other.weights)


def test_original_may_use_every_image_of_a_part() -> None:
    images = image_set(np.tile(np.arange(10), 4), np.arange(49_960, 50_000))
    assert split_images(images, "25k/25k", rng()).nasbench101_validation_images == 40
    with pytest.raises(InvalidInputError, match="label 0"):
        split_images(images, "20k/20k", rng())


def test_images_of_unknown_index_are_counted_as_such() -> None:
    images = image_set(np.tile(np.arange(10), 4), np.where(np.arange(40) < 20, -1, np.arange(40)))
    halves = split_images(images, "20k/20k", rng())
    assert (halves.nasbench101_validation_images, halves.unknown_images) == (0, 20)


@pytest.mark.parametrize("classes", [4, 100])
def test_halves_are_balanced_over_the_classes_of_the_set(classes: int) -> None:
    images = image_set(np.tile(np.arange(classes), 6), np.arange(6 * classes))
    halves = split_images(replace(images, classes=classes), "20k/20k", rng())
    for half in (halves.weights, halves.architecture):
        assert np.bincount(images.labels.numpy()[half], minlength=classes).tolist() == [3] * classes


def test_a_data_set_without_ranges_is_refused(whole: ImageSet) -> None:
    with pytest.raises(InvalidInputError, match="'mnist'"):
        split_images(replace(whole, dataset="mnist"), "20k/20k", rng())


@pytest.mark.parametrize("size", [0, -1, 1_751])
def test_impossible_sizes_are_refused(size: int) -> None:
    with pytest.raises(InvalidInputError, match=r"half|halves"):
        split_images(load_images("cifar10-sample"), "20k/20k", rng(), size)


def test_unknown_scheme_suggests_a_known_one(whole: ImageSet) -> None:
    with pytest.raises(InvalidInputError, match="mean '20k/20k'"):
        split_images(whole, "20k", rng())
