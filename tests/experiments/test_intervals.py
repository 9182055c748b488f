"""Bootstrap intervals: determinism, coverage, and resamples in which a criterion is undefined."""

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import spearmanr

from nasbench1shot1.experiments.correlation.criteria import CRITERIA, bootstrap, default_resamples, evaluate
from nasbench1shot1.ground.errors import InvalidInputError


def normal_pair(n: int, correlation: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and true values, bivariate normal with the given Pearson's r."""
    true = rng.normal(size=n)
    return correlation * true + np.sqrt(1 - correlation**2) * rng.normal(size=n), 0.1 + 0.01 * true


def test_equal_generators_give_equal_intervals_in_any_order_of_architectures():
    predicted, true = normal_pair(300, 0.6, np.random.default_rng(0))
    predicted, true = np.round(predicted, 1), np.round(true, 3)
    first = bootstrap(predicted, true, CRITERIA, np.random.default_rng(1), resamples=30)
    order = np.random.default_rng(2).permutation(300)
    again = bootstrap(predicted[order], true[order], CRITERIA, np.random.default_rng(1), resamples=30)
    assert first == again
    assert list(first) == list(CRITERIA)
    assert first != bootstrap(predicted, true, CRITERIA, np.random.default_rng(2), resamples=30)


def test_criteria_share_their_resamples():
    predicted, true = normal_pair(100, 0.6, np.random.default_rng(0))
    alone = bootstrap(predicted, true, ["kendall"], np.random.default_rng(1), resamples=50)
    together = bootstrap(predicted, true, ["p@10", "kendall"], np.random.default_rng(1), resamples=50)
    assert alone["kendall"] == together["kendall"]


def test_intervals_agree_with_scipy():
    predicted, true = normal_pair(200, 0.6, np.random.default_rng(0))
    found = bootstrap(predicted, true, ["spearman"], np.random.default_rng(1), resamples=2000, level=0.9)["spearman"]
    expected = scipy_bootstrap(
        (predicted, true),
        lambda a, b: spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert found == pytest.approx((expected.low, expected.high), abs=0.015)


def test_intervals_have_their_nominal_coverage():
    rng = np.random.default_rng(0)
    population = {"kendall": 2 / np.pi * np.arcsin(0.6), "spearman": 6 / np.pi * np.arcsin(0.3), "pearson": 0.6}
    covered = dict.fromkeys(population, 0)
    for _ in range(60):
        predicted, true = normal_pair(150, 0.6, rng)
        found = bootstrap(predicted, true, population, rng, resamples=60, level=0.9)
        for name, value in population.items():
            covered[name] += found[name][0] <= value <= found[name][1]
    assert all(47 <= count <= 59 for count in covered.values()), covered  # 54 expected, standard deviation 2.3


def test_intervals_contain_the_value_and_widen_with_confidence():
    predicted, true = normal_pair(400, 0.6, np.random.default_rng(0))
    names = ["spearman", "kendall", "pearson", "p@10", "p@20", "wr@20"]
    value = evaluate(predicted, true, names)
    wide = bootstrap(predicted, true, names, np.random.default_rng(1), resamples=200, level=0.99)
    narrow = bootstrap(predicted, true, names, np.random.default_rng(1), resamples=200, level=0.5)
    for name in names:
        assert wide[name][0] < narrow[name][0] < narrow[name][1] < wide[name][1]
        assert wide[name][0] < value[name] < wide[name][1]


def test_copies_resampled_together_add_no_information():
    predicted, true = normal_pair(100, 0.6, np.random.default_rng(0))
    alone = bootstrap(predicted, true, ["pearson"], np.random.default_rng(1), resamples=200)["pearson"]
    fourfold, groups = (np.repeat(predicted, 4), np.repeat(true, 4)), np.repeat(np.arange(100), 4)
    grouped = bootstrap(*fourfold, ["pearson"], np.random.default_rng(1), resamples=200, groups=groups)["pearson"]
    ungrouped = bootstrap(*fourfold, ["pearson"], np.random.default_rng(1), resamples=200)["pearson"]
    assert np.ptp(grouped) == pytest.approx(np.ptp(alone), rel=0.3)
    assert np.ptp(ungrouped) == pytest.approx(np.ptp(alone) / 2, rel=0.3)


def test_a_correlation_undefined_in_many_resamples_has_the_widest_interval():
    # A resample holds one architecture alone, and is constant, with probability 3 / 27 = 11 %.
    found = bootstrap([1, 2, 3], [1, 2, 3], ["spearman", "p@20"], np.random.default_rng(0), resamples=400)
    assert found["spearman"] == (-1, 1)
    assert found["p@20"] == (1, 1)


def test_a_rarely_undefined_correlation_does_not_shift_the_interval():
    predicted, true = [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]  # constant in 6 of 46,656 resamples
    assert bootstrap(predicted, true, ["kendall"], np.random.default_rng(0), resamples=500)["kendall"] == (1, 1)


def test_an_undefined_criterion_is_an_error():
    with pytest.raises(InvalidInputError, match="40 one-shot"):
        bootstrap(
            np.ones(40), np.arange(40), ["kendall"], np.random.default_rng(0), labels=("one-shot losses", "true errors")
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, r"^level\b.*1.0"),
        ({"resamples": 0}, r"^resamples\b.*\b0\b"),
        ({"groups": [0, 1]}, r"^groups\b.*3 integers"),
        ({"groups": [0, 1, -1]}, r"^groups\b.*3 integers"),
        ({"groups": [0.0, 1.0, 2.0]}, r"^groups\b.*3 integers"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        bootstrap([1, 2, 3], [1, 2, 3], ["kendall"], np.random.default_rng(0), **options)


def test_a_seed_in_place_of_a_generator_is_refused():
    with pytest.raises(InvalidInputError, match=r"^rng\b.*default_rng"):
        bootstrap([1, 2, 3], [1, 2, 3], ["kendall"], 0)


def test_more_architectures_use_fewer_resamples():
    assert [default_resamples(n) for n in (100, 3702, 12_474, 135_900)] == [1000, 1000, 320, 100]
