"""Estimates of measured cells: weights of simulated residuals, whose best weights are known."""

import numpy as np
import pytest

from nasbench1shot1.nasbench101.estimates.shrinkage import Shrinkage, fit_shrinkage, pooled_noise, weight_from_repeats

PARTLY = np.array([False, False, True])


def simulated(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of two budgets' single repeats and of a mean test value, and the means over three repeats.

    The noise of a test value is correlated with the noise of the second budget's value of the same training.
    """
    rng = np.random.default_rng(0)
    own = rng.normal(0, 0.03, (cells, 1)) + np.zeros(3)
    runs = rng.normal(0, 0.04, (cells, 3, 3))  # cell, quantity, repeat
    runs[:, 2] = 0.5 * (runs[:, 1] + runs[:, 2])
    means = own + runs.mean(axis=2)
    residuals = own + runs[:, :, 0]
    residuals[:, 2] = means[:, 2]
    return residuals, means


def test_estimates_of_means_are_the_best_linear_ones() -> None:
    residuals, means = simulated(200_000)
    shrinkage = fit_shrinkage(residuals, PARTLY)
    for known in ([1, 1, 0], [1, 0, 0], [0, 1, 3], [0, 0, 3]):
        used = np.flatnonzero(known)
        best, *_ = np.linalg.lstsq(residuals[:, used], means, rcond=None)
        assert shrinkage.weights(np.array(known)) == pytest.approx(best, abs=0.02)


def test_own_shares_are_the_correlation_of_neighbouring_budgets() -> None:
    rng = np.random.default_rng(0)
    independent, own = rng.normal(0, 1, (5000, 1)), rng.normal(0, 1, (5000, 1))
    residuals = np.hstack([independent, own + rng.normal(0, 1, (5000, 1)), own + rng.normal(0, 1, (5000, 1))])
    assert fit_shrinkage(residuals, np.zeros(3, bool)).own == pytest.approx([0, 0.5, 0.5], abs=0.05)


def test_missing_measurements_are_left_out_of_the_correlations() -> None:
    residuals, _ = simulated(20_000)
    residuals[:15_000, 2] = np.nan
    residuals[18_000:, 0] = np.nan
    whole, partial = fit_shrinkage(simulated(20_000)[0], PARTLY), fit_shrinkage(residuals, PARTLY)
    assert partial.correlation == pytest.approx(whole.correlation, abs=0.05)
    assert np.array_equal(partial.correlation, partial.correlation.T)


def test_a_known_mean_of_all_repeats_is_the_estimate() -> None:
    shrinkage = fit_shrinkage(simulated(20_000)[0], PARTLY)
    measured = np.array([[np.nan, -0.5, 0.01], [np.nan, np.nan, np.nan], [0.02, np.nan, np.nan]])
    n_repeats = np.array([[0, 3, 3], [0, 0, 0], [1, 0, 0]])
    found = shrinkage.shrink(np.zeros((3, 3)), measured, n_repeats)
    assert found[0, 1:].tolist() == [-0.5, 0.01]
    assert found[1].tolist() == [0, 0, 0]
    assert 0 < found[2, 1] < found[2, 0] < 0.02


def test_two_repeats_weigh_more_than_one_and_less_than_three() -> None:
    shrinkage = Shrinkage(np.array([0.05]), np.eye(1), np.array([0.2]))
    weights = [shrinkage.weights(np.array([n])).item() for n in (1, 2, 3)]
    assert weights == pytest.approx([0.2 + 0.8 / 3, (0.2 + 0.8 / 3) / 0.6, 1])


def test_a_diverged_repeat_hardly_changes_the_estimate() -> None:
    shrinkage = Shrinkage(np.array([0.05]), np.eye(1), np.array([0.1]))
    weight = shrinkage.weights(np.array([1])).item()
    drawn = shrinkage.shrink(np.zeros((2, 1)), np.array([[0.1], [2.0]]), np.ones((2, 1), int))
    assert drawn[:, 0] == pytest.approx([weight * 0.1, weight * 3 * 0.05])


def test_noise_of_repeats_is_recovered() -> None:
    repeats = np.random.default_rng(0).normal(0, 0.3, (4000, 3)) + np.arange(4000)[:, None]
    assert pooled_noise(repeats) == pytest.approx(0.3, rel=0.05)
    assert weight_from_repeats(0.5, repeats) == pytest.approx(16 / 25, abs=0.03)
    with pytest.raises(ValueError, match="three repeats"):
        pooled_noise(repeats[:, :2])
