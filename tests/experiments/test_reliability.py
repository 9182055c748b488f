"""Split-half reliability of synthetic measurements with known reliability."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from scipy.stats import spearmanr

from nasbench1shot1.experiments.correlation.reliability import (
    images_needed,
    reliability_curve,
    spearman_brown,
    split_half,
)
from nasbench1shot1.ground.errors import InvalidInputError


def measurements(architectures: int, images: int, noise: float, seed: int = 0) -> np.ndarray:
    """Losses with variance 1 between and noise² within architectures: reliability n / (n + noise²) for n images."""
    rng = np.random.default_rng(seed)
    shared_by_architectures = rng.normal(size=images)  # difficulty of an image
    return (
        rng.normal(size=(architectures, 1)) + shared_by_architectures + noise * rng.normal(size=(architectures, images))
    )


def spearman_of_normals(pearson: float) -> float:
    return float(6 / np.pi * np.arcsin(pearson / 2))


@pytest.mark.parametrize("size", [10, 40, 160])
def test_split_half_reliability_follows_from_the_variances(size):
    found = split_half(measurements(2000, 400, noise=6), size, np.random.default_rng(1), splits=10)
    assert found.mean == pytest.approx(spearman_of_normals(size / (size + 36)), abs=0.03)
    assert found.low < found.mean < found.high


def test_one_split_agrees_with_a_plain_computation():
    values = measurements(50, 31, noise=3)
    found = split_half(values, 12, np.random.default_rng(5), splits=1)
    permutation = np.random.default_rng(5).permutation(31)
    halves = [values[:, permutation[start::2][:12]].mean(axis=1) for start in (0, 1)]
    assert found.mean == found.low == found.high
    assert found.mean == pytest.approx(spearmanr(*halves).statistic)


def test_halves_of_equal_measurements_agree_fully():
    values = np.repeat(np.random.default_rng(0).normal(size=(100, 1)), 40, axis=1)
    assert split_half(values, 20, np.random.default_rng(0)) == pytest.approx((1, 1, 1))


def test_halves_of_noise_do_not_agree():
    noise = np.random.default_rng(0).normal(size=(3000, 100))
    assert split_half(noise, 50, np.random.default_rng(0)).mean == pytest.approx(0, abs=0.02)


def test_wrong_answers_may_be_booleans_and_keep_their_ties():
    wrong = np.random.default_rng(0).random((5000, 64)) < np.random.default_rng(1).random((5000, 1))
    found = split_half(wrong, 32, np.random.default_rng(2), splits=3)
    assert found == split_half(wrong.astype(np.float32), 32, np.random.default_rng(2), splits=3)
    permutation = np.random.default_rng(2).permutation(64)
    counts = [wrong[:, permutation[start::2]].sum(axis=1) for start in (0, 1)]
    expected = spearmanr(*counts).statistic
    assert split_half(wrong, 32, np.random.default_rng(2), splits=1).mean == pytest.approx(expected, abs=1e-12)


def test_means_of_blocks_rank_like_their_images():
    wrong = np.random.default_rng(0).random((400, 200)) < np.random.default_rng(1).random((400, 1))
    blocks = wrong.reshape(400, 20, 10).mean(axis=2)
    permutation = np.random.default_rng(3).permutation(20)
    images = [np.concatenate([np.arange(10 * b, 10 * b + 10) for b in permutation[start::2]]) for start in (0, 1)]
    plain = spearmanr(*(wrong[:, half].sum(axis=1) for half in images)).statistic
    assert split_half(blocks, 10, np.random.default_rng(3), splits=1).mean == pytest.approx(plain, abs=1e-12)


def test_rankings_of_growing_subsets_become_more_reliable():
    frame = reliability_curve(measurements(1500, 500, noise=6), np.random.default_rng(1))
    assert frame["images"].tolist() == [8, 16, 32, 64, 128, 250]
    assert frame["spearman"].is_monotonic_increasing
    expected = [spearman_of_normals(n / (n + 36)) for n in frame["images"]]
    assert frame["spearman"].tolist() == pytest.approx(expected, abs=0.04)
    assert (frame["low"] <= frame["spearman"]).all()
    assert (frame["spearman"] <= frame["high"]).all()
    all_images = spearman_of_normals(500 / (500 + 36))
    assert frame["spearman_brown_all_images"].tolist()[-3:] == pytest.approx([all_images] * 3, abs=0.03)


def test_columns_may_stand_for_blocks_of_images():
    values = measurements(300, 20, noise=1)
    frame = reliability_curve(values, np.random.default_rng(1), images_per_column=50)
    assert frame["images"].tolist() == [400, 500]
    assert frame["spearman"].iloc[-1] == split_half(values, 10, np.random.default_rng(1)).mean


def test_constant_subsets_are_omitted():
    values = np.zeros((20, 32))
    values[:, :3] = np.arange(20)[:, None]  # all architectures agree on most images
    frame = reliability_curve(values, np.random.default_rng(4), splits=1)
    assert frame["images"].tolist() == [16]
    with pytest.raises(InvalidInputError, match=r"20 means.*16 columns"):
        reliability_curve(np.zeros((20, 32)), np.random.default_rng(0))


@pytest.mark.parametrize("precision", [0.3, 0.6, 0.85])
def test_the_number_of_images_for_a_precision_is_found(precision):
    values = measurements(2000, 600, noise=6)
    found = images_needed(values, precision, np.random.default_rng(1))
    pearson = 2 * np.sin(np.pi * precision / 6)
    assert not found.extrapolated
    assert found.images == pytest.approx(36 * pearson / (1 - pearson), rel=0.1, abs=2)
    assert found.spearman >= precision
    assert found.spearman == split_half(values, found.images, np.random.default_rng(1)).mean
    assert split_half(values, found.images - 1, np.random.default_rng(1)).mean < precision


def test_the_number_of_images_is_extrapolated_if_half_is_not_enough():
    values = measurements(2000, 200, noise=6)
    found = images_needed(values, 0.9, np.random.default_rng(1))
    assert found.extrapolated
    pearson = 2 * np.sin(np.pi * 0.9 / 6)
    assert found.images == pytest.approx(36 * pearson / (1 - pearson), rel=0.25)
    assert found.spearman == pytest.approx(0.9, abs=0.001)
    blocks = images_needed(values, 0.9, np.random.default_rng(1), images_per_column=25)
    assert blocks.images == pytest.approx(25 * found.images, abs=25)


def test_chance_level_reliability_is_not_extrapolated():
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    with refuses(InvalidInputError, "chance"):
        images_needed(values, 0.9, np.random.default_rng(0))


def test_one_image_may_be_enough():
    values = np.repeat(np.arange(10.0)[:, None], 50, axis=1)
    assert images_needed(values, 0.99, np.random.default_rng(0)) == (1, pytest.approx(1), False)


@pytest.mark.parametrize("constant", ["first", "second"])
def test_equal_means_on_either_half_are_blamed_on_the_images(constant):
    """Both halves are one-shot errors: no true error is involved."""
    varied, equal = np.arange(20.0).reshape(5, 4), np.zeros((5, 4))
    halves = [equal, varied] if constant == "first" else [varied, equal]
    alternating = np.stack(halves, axis=2).reshape(5, 8)  # the two halves if columns are not shuffled

    class Unshuffled(np.random.Generator):
        permutation = staticmethod(np.arange)

    unshuffled = Unshuffled(np.random.PCG64(0))
    for ask in (partial(split_half, alternating, 4), partial(images_needed, alternating, 0.9)):
        with refuses(InvalidInputError, "5 means over 4", "more images") as caught:
            ask(unshuffled)
        assert "true errors" not in str(caught.value)


def test_the_spearman_brown_formula():
    assert spearman_brown(0.5, 2) == pytest.approx(2 / 3)
    assert spearman_brown(0.7, 1) == 0.7
    assert spearman_brown(-0.02, 60) == 0  # the formula would give 6.7
    assert spearman_brown(spearman_brown(0.3, 4), 0.25) == pytest.approx(0.3)


def test_values_may_be_lists_or_frames():
    values = measurements(50, 100, noise=4)
    expected = reliability_curve(values, np.random.default_rng(7))
    for given in (values.tolist(), pd.DataFrame(values)):
        assert reliability_curve(given, np.random.default_rng(7)).equals(expected)
    wrong = values > 0
    assert split_half(wrong.tolist(), 20, np.random.default_rng(0)) == split_half(wrong, 20, np.random.default_rng(0))


def test_a_seed_in_place_of_a_generator_is_refused():
    values = measurements(50, 100, noise=4)
    for ask in (
        partial(split_half, values, 4),
        partial(images_needed, values, 0.9),
        partial(reliability_curve, values),
    ):
        with refuses(InvalidInputError, "rng", "numpy.random.default_rng(0)"):
            ask(0)


def test_equal_generators_give_equal_results():
    values = measurements(100, 100, noise=4)
    assert reliability_curve(values, np.random.default_rng(7)).equals(
        reliability_curve(values, np.random.default_rng(7))
    )


@pytest.mark.parametrize(
    ("values", "size", "splits", "named"),
    [
        (np.zeros((3, 10)), 6, 5, "size 6 1 5"),
        (np.zeros((3, 10)), 0, 5, "size 0"),
        (np.zeros((3, 10)), 2, 0, "splits 0"),
        (np.zeros((3, 1)), 1, 5, "split"),
        (np.zeros(10), 1, 5, "split"),
        (np.full((3, 10), np.nan), 2, 5, "NaN"),
        (np.full((3, 10), np.inf), 2, 5, "NaN"),
        (np.zeros((3, 10)), 2, 5, "3 2"),
        (np.arange(20).reshape(2, 10), 2, 5, "2"),
    ],
)
def test_invalid_values_are_refused(values, size, splits, named):
    with refuses(InvalidInputError, *named.split()):
        split_half(values, size, np.random.default_rng(0), splits)


@pytest.mark.parametrize("precision", [0.0, 1.0, 95])
def test_an_impossible_precision_is_refused(precision):
    with pytest.raises(InvalidInputError, match=r"^precision\b"):
        images_needed(measurements(10, 10, 1), precision, np.random.default_rng(0))
