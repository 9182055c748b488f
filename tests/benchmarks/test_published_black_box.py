"""Noise of a single seed, recurring seeds of the published searches, and one study per kind of optimizer."""

import numpy as np
import pytest
from published_black_box import DENSITIES, Bench, Variant, different_searches, seed_noise, study

from nasbench1shot1.nasbench201.topology import representatives


@pytest.fixture(scope="module")
def bench():
    return Bench()


def test_isomorphic_architectures_estimate_the_noise_of_seeds():
    rng = np.random.default_rng(0)
    true = rng.uniform(50, 90, 15_625)[representatives(zero_rule=False)]
    noise, estimates = seed_noise(true + 0.3 * rng.standard_normal(15_625))
    assert [row["deviation"] for row in estimates] == pytest.approx([0.3] * 5, abs=0.03)
    assert sum(row["degrees_of_freedom"] for row in estimates) == 15_625 - 12_751
    assert noise.tolist() == pytest.approx([0.3] * 15_625, abs=0.03)


def test_recurring_seeds_repeat_searches():
    assert different_searches(500, seeds=10**12)["mean"] == 500
    assert different_searches(500, seeds=10**12)["standard_error"] == pytest.approx(500**-0.5, abs=1e-4)
    assert different_searches(500, seeds=1)["mean"] == 1


def test_feedback_is_the_mean_or_one_of_two_seeds(bench):
    place = int(bench.accuracies.argmax())
    mean = bench.feedback("mean", np.random.default_rng(0))(place)
    assert mean == bench.accuracies[place]
    single = bench.feedback("single", np.random.default_rng(0))
    assert single(place) == single(place) != mean
    either = bench.feedback("either", np.random.default_rng(0))
    seen = {round(either(place), 9) for _ in range(30)}
    assert len(seen) == 2
    assert np.mean(list(seen)) == pytest.approx(mean)
    tables = [bench.feedback("table 3", np.random.default_rng(number))(place) for number in (0, 1)]
    assert tables[0] == tables[1] != mean


def test_a_study_has_a_row_for_each_incumbent_rule(bench, capsys):
    (row,) = study(bench, Variant("random"), 2)
    assert row["incumbent"] == "any training"
    rows = study(bench, Variant("bohb", DENSITIES, "single"), 2)
    assert [row["incumbent"] for row in rows] == ["any training", "largest budget"]
    assert all(90 < row["mean_and_deviation"][1][0] < 94.4 for row in rows)
    assert capsys.readouterr().out.count("\n") == 3
