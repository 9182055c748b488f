"""The official splits of NAS-Bench-201: exact for complete sets, by known indices for subsets."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, DATA_SETS, IMAGENET16_120, DataSet
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.splits import scheme_for, split_images
from nasbench1shot1.nasbench201.splits import official_halves

OFFICIAL = official_halves("cifar10").is_architecture


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def made_set(of: DataSet, index: np.ndarray, tests: int | None = None) -> ImageSet:
    """Images of one black pixel with cyclic labels, in reverse order for test images."""
    black = torch.zeros(1, 1, 1, 3, dtype=torch.uint8)
    labels = torch.from_numpy(np.where(index < 0, np.arange(len(index)), index) % of.classes)
    images = ImageSet(
        "made", black.expand(len(index), -1, -1, -1), labels, torch.from_numpy(index), "", dataset=of.name
    )
    if tests is None:
        return images
    test_labels = of.classes - 1 - torch.arange(tests) % of.classes
    return replace(images, test_images=black.expand(tests, -1, -1, -1), test_labels=test_labels)


def whole(of: DataSet) -> ImageSet:
    return made_set(of, np.arange(of.training_images), of.test_images)


def counts(images: ImageSet, rows: np.ndarray) -> np.ndarray:
    return np.bincount(images.batch(torch.from_numpy(rows))[1].numpy(), minlength=images.classes)


def test_the_bundled_halves_equal_the_published_lists() -> None:
    """First and last numbers, and sums, of `valid` and `xvalid` in configs/nas-benchmark/ of AutoDL-Projects."""
    for name, first, last, total in (
        ("cifar10", [1, 2, 3, 4, 6, 8], [49_997, 49_998, 49_999], 626_356_151),
        ("cifar100", [1, 3, 4, 5, 8, 10], [9_996, 9_997, 9_999], 25_109_591),
        ("ImageNet16-120", [1, 2, 3, 6, 7, 8], [5_997, 5_998, 5_999], 9_093_224),
    ):
        halved = official_halves(name)
        numbers = np.flatnonzero(halved.is_architecture)
        assert len(halved.is_architecture) == 2 * len(numbers)
        assert (numbers[:6].tolist(), numbers[-3:].tolist(), numbers.sum()) == (first, last, total)
        assert halved.are_tests == (name != "cifar10")


def test_the_halves_of_cifar10_equal_the_shared_ones(shared: Path) -> None:
    with np.load(shared / "nb201_cifar10_split.npz") as file:
        assert np.array_equal(np.sort(file["valid"]), np.flatnonzero(OFFICIAL))
        assert np.array_equal(np.sort(file["train"]), np.flatnonzero(~OFFICIAL))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", None, np.zeros(6_250, np.uint8), np.full(6_249, 170, np.uint8)])
def test_damaged_halves_are_refused(content: bytes | np.ndarray | None, tmp_path: Path) -> None:
    path = tmp_path / "nasbench201-cifar10.npy"
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"nasbench201-cifar10\.npy"):
        official_halves("cifar10", tmp_path)


def test_complete_cifar10_is_split_officially_in_any_order() -> None:
    order = rng(5).permutation(50_000)
    for images, index in ((whole(CIFAR10), np.arange(50_000)), (made_set(CIFAR10, order), order)):
        halves = split_images(images, "nasbench201", rng())
        assert np.array_equal(np.sort(index[halves.weights]), np.flatnonzero(~OFFICIAL))
        assert np.array_equal(np.sort(index[halves.architecture]), np.flatnonzero(OFFICIAL))
        assert (np.diff(halves.weights) > 0).all() and (np.diff(halves.architecture) > 0).all()
        assert (halves.nasbench101_validation_images, halves.unknown_images) == (10_000, 0)


@pytest.mark.parametrize("size", [1, 7, 500, 20_000])
def test_a_selection_of_complete_cifar10_keeps_the_official_halves(size: int) -> None:
    images = whole(CIFAR10)
    halves = split_images(images, "nasbench201", rng(), size)
    assert len(halves.weights) == len(halves.architecture) == size
    assert not OFFICIAL[halves.weights].any() and OFFICIAL[halves.architecture].all()
    assert np.ptp(counts(images, halves.weights)) <= 1 >= np.ptp(counts(images, halves.architecture))


@settings(max_examples=150)
@given(data=st.data(), seed=st.integers(0, 2**32), unknown=st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_a_subset_of_cifar10_keeps_known_images_in_their_halves(data: st.DataObject, seed: int, unknown: float) -> None:
    draw, size = rng(seed), data.draw(st.integers(1, 400))
    index = draw.permutation(np.r_[0, 1 + draw.choice(49_999, size - 1, replace=False)])  # 0 is a known image, too
    index[draw.random(size) < unknown] = -1
    images = replace(made_set(CIFAR10, index), labels=torch.from_numpy(draw.integers(0, 10, size)))
    labels, wanted = images.labels.numpy(), data.draw(st.none() | st.integers(1, 100))
    kind = np.where(index < 0, 2, OFFICIAL[index])
    first, second, free = (np.bincount(labels[kind == of], minlength=10) for of in range(3))
    most = 10 * int(np.minimum(np.minimum(first, second) + free, (first + second + free) // 2).min())
    if most == 0 or (wanted or 0) > most:
        with pytest.raises(InvalidInputError, match=rf"\b{most:,}\b|label"):
            split_images(images, "nasbench201", rng(seed), wanted)
        return
    halves = split_images(images, "nasbench201", rng(seed), wanted)
    assert len(halves.weights) == len(halves.architecture) == (wanted or most)
    assert len(np.union1d(halves.weights, halves.architecture)) == 2 * len(halves.weights)
    assert not OFFICIAL[index[halves.weights]][index[halves.weights] >= 0].any()
    assert OFFICIAL[index[halves.architecture]][index[halves.architecture] >= 0].all()
    assert np.array_equal(counts(images, halves.weights), counts(images, halves.architecture))
    assert np.ptp(counts(images, halves.weights)) <= 1
    assert halves.unknown_images == (index[np.r_[halves.weights, halves.architecture]] < 0).sum()
    again = split_images(images, "nasbench201", rng(seed), wanted)
    assert np.array_equal(halves.weights, again.weights)


def test_the_sample_is_split_officially_and_by_class() -> None:
    sample = load_images("cifar10-sample")
    halves = split_images(sample, "nasbench201", rng(1))
    index = sample.index.numpy()
    assert not OFFICIAL[index[halves.weights]].any() and OFFICIAL[index[halves.architecture]].all()
    assert len(halves.weights) == len(halves.architecture) > 1_600
    assert np.array_equal(counts(sample, halves.weights), counts(sample, halves.architecture))
    assert not np.array_equal(halves.weights, split_images(sample, "nasbench201", rng(2)).weights)


@pytest.mark.parametrize("of", [CIFAR100, IMAGENET16_120], ids=lambda of: of.name)
def test_other_data_sets_take_the_architecture_half_from_the_test_images(of: DataSet) -> None:
    images, official = whole(of), official_halves(of.name).is_architecture
    halves = split_images(images, "nasbench201", rng())
    assert np.array_equal(halves.weights, np.arange(of.training_images))
    assert np.array_equal(halves.architecture - of.training_images, np.flatnonzero(official))
    assert len(halves.architecture) == of.test_images // 2
    assert (halves.nasbench101_validation_images, halves.unknown_images) == (0, 0)
    _, labels = images.batch(torch.from_numpy(halves.architecture))
    assert labels.tolist() == (of.classes - 1 - np.flatnonzero(official) % of.classes).tolist()
    some = split_images(images, "nasbench201", rng(), 2 * of.classes + 5)
    assert len(some.weights) == len(some.architecture) == 2 * of.classes + 5
    assert some.weights.max() < of.training_images
    assert official[some.architecture - of.training_images].all()
    for half in (some.weights, some.architecture):
        assert np.ptp(counts(images, half)) == 1
    with pytest.raises(InvalidInputError, match="most"):
        split_images(images, "nasbench201", rng(), of.test_images // 2 + 1)


def test_a_subset_of_the_test_images_is_halved_by_class() -> None:
    images = made_set(CIFAR100, np.full(300, -1), tests=400)
    halves = split_images(images, "nasbench201", rng())
    assert np.array_equal(halves.weights, np.arange(300))
    assert counts(images, halves.architecture).tolist() == [2] * 100
    assert halves.architecture.min() >= 300
    assert not np.array_equal(halves.architecture, split_images(images, "nasbench201", rng(1)).architecture)


def test_other_data_sets_without_test_images_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"'made'.*CIFAR-100"):
        split_images(made_set(CIFAR100, np.arange(200)), "nasbench201", rng())


@pytest.mark.parametrize("scheme", ["20k/20k", "25k/25k"])
def test_split_schemes_of_cifar10_are_refused_for_other_data_sets(scheme: str) -> None:
    images = made_set(IMAGENET16_120, np.arange(240), tests=240)
    with pytest.raises(InvalidInputError, match=f"'{scheme}'.*CIFAR-10.*ImageNet16-120"):
        split_images(images, scheme, rng())
    assert scheme_for(images, scheme) == "nasbench201"
    assert scheme_for(made_set(CIFAR10, np.arange(20)), scheme) == scheme


@pytest.mark.parametrize("scheme", ["20k/20k", "25k/25k", "nasbench201"])
def test_a_user_data_set_is_halved_by_class_under_every_scheme(scheme: str) -> None:
    own = replace(made_set(CIFAR10, np.full(60, -1)), dataset="other")
    halves = split_images(own, scheme, rng())
    assert counts(own, halves.weights).tolist() == counts(own, halves.architecture).tolist() == [3] * 10
    assert not set(halves.weights) & set(halves.architecture)
    assert (halves.nasbench101_validation_images, halves.unknown_images) == (0, 0)
    assert scheme_for(own, scheme) == scheme


def test_every_data_set_has_a_bundled_split_in_the_package() -> None:
    for name in DATA_SETS:
        assert official_halves(name).is_architecture.any()
