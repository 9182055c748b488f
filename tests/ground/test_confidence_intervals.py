"""95 % confidence intervals of few values agree with scipy and contain what they estimate."""

import numpy as np
import pytest
import scipy.stats

from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL, difference_interval, mean_interval, median_interval


def skewed(runs, columns=3, seed=3):
    return np.random.default_rng(seed).lognormal(size=(runs, columns))


@pytest.mark.parametrize("runs", [2, 6, 10, 31])
def test_the_interval_of_a_mean_equals_scipys(runs):
    found = skewed(runs)
    expected = scipy.stats.ttest_1samp(found, 0, axis=0).confidence_interval(0.95)
    low, high = mean_interval(found)
    assert low == pytest.approx(expected.low, rel=1e-12) and high == pytest.approx(expected.high, rel=1e-12)


@pytest.mark.parametrize(("first", "second"), [(2, 2), (6, 10), (10, 10), (40, 7)])
def test_the_interval_of_a_difference_equals_scipys(first, second):
    a, b = skewed(first, 1, seed=1)[:, 0], 2 * skewed(second, 1, seed=2)[:, 0]
    expected = scipy.stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert difference_interval(a, b) == pytest.approx((expected.low, expected.high), rel=1e-12)


@pytest.mark.parametrize("runs", [6, 7, 8, 9, 10, 11, 31, 500])
def test_the_interval_of_a_median_equals_scipys(runs):
    found = skewed(runs)
    low, high = median_interval(found)
    for column, own in enumerate(found.T):
        expected = scipy.stats.quantile_test(own, p=0.5).confidence_interval(0.95)
        assert (low[column], high[column]) == (expected.low, expected.high)


def test_six_values_are_the_fewest_whose_range_contains_the_median_often_enough():
    few, enough = (1 - 2 ** (1 - runs) for runs in (FEWEST_FOR_INTERVAL - 1, FEWEST_FOR_INTERVAL))
    assert few < 0.95 < enough
    found = skewed(FEWEST_FOR_INTERVAL)
    low, high = median_interval(found)
    assert (low == found.min(axis=0)).all() and (high == found.max(axis=0)).all()


def test_unknown_values_have_unknown_intervals():
    found = skewed(7)
    found[4, 1] = np.nan
    assert np.isnan(
        [difference_interval(found[:, 1], found[:, 0]), difference_interval(found[:, 0], found[:, 1])]
    ).all()
    for ends in (mean_interval(found), median_interval(found)):
        assert np.isnan(ends).tolist() == [[False, True, False]] * 2


def test_equal_values_have_intervals_without_width():
    equal = np.full(8, 0.25)
    assert mean_interval(equal) == median_interval(equal) == (0.25, 0.25)
    assert difference_interval(equal, equal + 1) == (1, 1)
    for value in (0.1, 0.3, 1 / 3):
        groups = np.full(7, value), np.full(10, value)
        assert difference_interval(*groups) == (0, 0), "rounding of the means does not separate the groups"
    assert difference_interval(equal, skewed(8, 1)[:, 0])[0] < np.mean(skewed(8, 1)) - 0.25


def test_intervals_of_normal_values_are_right_in_95_percent_of_cases():
    rng = np.random.default_rng(0)
    found = rng.normal(size=(10, 4000))
    low, high = mean_interval(found)
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.95, abs=0.01)
    low, high = median_interval(found)
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.9785, abs=0.01), "1 - 2 * 11 / 1024"
    differences = [difference_interval(a, b) for a, b in zip(found.T[:2000], 3 * found.T[2000:], strict=True)]
    assert np.mean([low < 0 < high for low, high in differences]) == pytest.approx(0.95, abs=0.015)
