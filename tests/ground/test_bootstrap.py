"""Resamples and percentile intervals, which pictures and ranking criteria share."""

import numpy as np
import pytest

from nasbench1shot1.experiments.correlation.criteria import bootstrap as bootstrap_of_criteria
from nasbench1shot1.experiments.correlation.reliability import split_half
from nasbench1shot1.ground import bootstrap
from nasbench1shot1.ground.bootstrap import all_resamples, count_in_resamples, draw_resamples, percentile_interval

SPEARMAN = (0.09332138066869901, 0.982891003056746)
REGRET = (0.0, 0.020000000000000004)
HALVES = (0.7006003752345216, 0.5380206378986867, 0.807546904315197)


@pytest.mark.parametrize("items", [1, 2, 7, 49, 51, 1000])
def test_resamples_are_drawn_one_after_another(items, monkeypatch):
    monkeypatch.setattr(bootstrap, "_BLOCK", 50)
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    for drawn in draw_resamples(items, 60, rng):
        assert np.array_equal(drawn, other.integers(items, size=items))
    assert rng.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize("items", [1, 2, 7, 51])
def test_all_resamples_at_once_are_the_same_resamples(items):
    drawn = np.stack(list(draw_resamples(items, 60, np.random.default_rng(3))))
    assert np.array_equal(all_resamples(items, 60, np.random.default_rng(3)), drawn)
    counts = np.stack([np.bincount(each, minlength=items) for each in drawn])
    assert np.array_equal(count_in_resamples(items, 60, np.random.default_rng(3)), counts)


def test_intervals_leave_out_equal_fractions_and_keep_unknown_values():
    values = np.stack([np.arange(201.0), np.full(201, np.nan)], axis=1)
    low, high = percentile_interval(values, tail=0.1)
    assert (low[0], high[0]) == (20, 180) and np.isnan([low[1], high[1]]).all()
    assert percentile_interval(np.arange(201.0)) == (pytest.approx(5), pytest.approx(195))


def test_recorded_intervals_keep_their_bits():
    """Values from before the functions were shared."""
    true = 0.1 + 0.01 * np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    predicted = np.array([0.2, 0.1, 0.5, 0.3, 0.4, 0.9, 0.3, 0.5, 0.7, 0.2])
    found = bootstrap_of_criteria(predicted, true, ["spearman", "regret"], np.random.default_rng(1), resamples=60)
    assert found == {"spearman": SPEARMAN, "regret": REGRET}
    values = np.random.default_rng(0).random((40, 64)) + np.linspace(0, 0.4, 40)[:, None]
    assert split_half(values, 16, np.random.default_rng(0)) == HALVES
