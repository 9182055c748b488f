"""Batched augmentation compared with one image at a time."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import CIFAR10


def random_images(batch: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (batch, 32, 32, 3), dtype=np.uint8))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def plain_normalise(image: np.ndarray) -> np.ndarray:
    return (image / 255 - np.array(CIFAR10.mean)) / np.array(CIFAR10.std)


def plain_augment(image: np.ndarray, draws: list[int], aug: Augmentation) -> np.ndarray:
    """One image (32, 32, 3), step by step like torchvision's RandomCrop and RandomHorizontalFlip, then Cutout."""
    top, left, flip, cut, row, column = draws
    padded = np.zeros((32 + 2 * aug.crop, 32 + 2 * aug.crop, 3), dtype=np.uint8)
    padded[aug.crop : aug.crop + 32, aug.crop : aug.crop + 32] = image
    image = padded[top : top + 32, left : left + 32]
    if flip:
        image = image[:, ::-1]
    out = plain_normalise(image)
    if cut:
        y, x = row - aug.cutout_length // 2, column - aug.cutout_length // 2
        out[max(y, 0) : max(y + aug.cutout_length, 0), max(x, 0) : max(x + aug.cutout_length, 0)] = 0
    return out


def assert_equals_plain(images: torch.Tensor, aug: Augmentation, seed: int) -> None:
    draws = aug.draw(len(images), 32, 32, generator(seed))
    expected = np.stack(
        [plain_augment(i, d, aug) for i, d in zip(images.numpy(), draws.tolist(), strict=True)]
    ).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(aug(images, generator(seed)).numpy(), expected, rtol=0, atol=1e-6)


@settings(max_examples=40)
@given(
    batch=st.integers(1, 9),
    crop=st.integers(0, 8),
    flip=st.sampled_from([0.0, 0.5, 1.0]),
    length=st.integers(0, 80),
    probability=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_batched_augmentation_equals_image_by_image(
    batch: int, crop: int, flip: float, length: int, probability: float, seed: int
) -> None:
    assert_equals_plain(random_images(batch, seed), Augmentation(crop, flip, length, probability), seed)


def test_batched_augmentation_of_real_images_equals_image_by_image() -> None:
    from nasbench1shot1.images.image_set import load_images

    assert_equals_plain(load_images("cifar10-sample").images[:96], Augmentation(cutout_probability=0.7), 3)


def test_the_result_is_float32_in_channels_last() -> None:
    for batch in (1, 96):
        out = Augmentation(cutout_probability=1.0)(random_images(batch), generator())
        assert out.shape == (batch, 3, 32, 32)
        assert out.dtype == torch.float32
        assert out.is_contiguous(memory_format=torch.channels_last)
    half = Augmentation().normalise(random_images(2), dtype=torch.bfloat16)
    assert half.dtype == torch.bfloat16
    assert half.is_contiguous(memory_format=torch.channels_last)


def test_evaluation_only_normalises() -> None:
    images = random_images(5)
    expected = plain_normalise(images.numpy()).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(Augmentation().normalise(images).numpy(), expected, rtol=0, atol=1e-6)
    nothing = Augmentation(crop=0, flip=0.0)(images, generator())
    assert torch.equal(nothing, Augmentation().normalise(images))


def test_equal_generators_give_equal_results_and_images_are_unchanged() -> None:
    images, aug = random_images(7), Augmentation(cutout_probability=0.5)
    before = images.clone()
    assert torch.equal(aug(images, generator(4)), aug(images, generator(4)))
    assert not torch.equal(aug(images, generator(4)), aug(images, generator(5)))
    assert torch.equal(images, before)


def test_ramping_cutout_does_not_change_the_other_draws() -> None:
    aug = Augmentation()
    without = aug.draw(50, 32, 32, generator(1))
    with_cutout = dataclasses.replace(aug, cutout_probability=1.0).draw(50, 32, 32, generator(1))
    kept = [0, 1, 2, 4, 5]
    assert torch.equal(without[:, kept], with_cutout[:, kept])
    assert without[:, 3].sum() == 0
    assert with_cutout[:, 3].sum() == 50


def test_draws_are_uniform_over_their_range() -> None:
    draws = Augmentation(cutout_probability=0.25).draw(20_000, 32, 32, generator(2))
    for column, values, share in ((0, 9, 1 / 9), (1, 9, 1 / 9), (4, 32, 1 / 32), (5, 32, 1 / 32)):
        counts = torch.bincount(draws[:, column], minlength=values)
        assert len(counts) == values
        assert (counts / 20_000 - share).abs().max() < 5 * (share / 20_000) ** 0.5
    assert draws[:, 2].float().mean() == pytest.approx(0.5, abs=0.02)
    assert draws[:, 3].float().mean() == pytest.approx(0.25, abs=0.02)


def test_the_border_is_black_before_normalisation() -> None:
    white = torch.full((200, 32, 32, 3), 255, dtype=torch.uint8)
    out = Augmentation()(white, generator())
    levels = torch.tensor([0, 255], dtype=torch.uint8)[None, None, :, None].expand(1, 1, 2, 3)
    black, bright = Augmentation().normalise(levels)[0, 0, 0].tolist()
    assert set(out[:, 0].unique().tolist()) == {black, bright}


def test_a_cutout_as_wide_as_the_image_can_cover_it() -> None:
    out = Augmentation(cutout_length=64, cutout_probability=1.0)(random_images(4), generator())
    assert not out.any()
    none = Augmentation(cutout_length=0, cutout_probability=1.0)(random_images(4), generator())
    assert torch.equal(none, Augmentation()(random_images(4), generator()))


@pytest.mark.parametrize("bad", [{"flip": 1.1}, {"cutout_probability": float("nan")}, {"crop": -1}])
def test_values_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        Augmentation(**bad)  # type: ignore[arg-type]
