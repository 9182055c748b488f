"""Average ranks, Friedman's and Nemenyi's tests, checked by scipy and scikit-posthocs; wins and profiles by hand."""

import warnings

import numpy as np
import pandas
import pytest
from refusals import refuses
from scipy.stats import friedmanchisquare

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.overall import AverageRanks, performance_profile, shares_below, win_tie_loss

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scikit_posthocs


def regrets(shifts, tasks: int = 8, noise: float = 0.5, seed: int = 0) -> pandas.DataFrame:
    values = np.random.default_rng(seed).normal(shifts, noise, (tasks, len(shifts)))
    return pandas.DataFrame(values, [f"task {n}" for n in range(tasks)], list("abcdefgh")[: len(shifts)])


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("methods", [3, 5, 8])
def test_friedman_and_nemenyi_agree_with_other_packages(methods, has_ties):
    frame = regrets(np.linspace(0, 1, methods)).round(1 if has_ties else 9)
    found = AverageRanks.of(frame)
    expected = friedmanchisquare(*frame.to_numpy().T)
    assert found.friedman == (expected.statistic, expected.pvalue)
    nemenyi = scikit_posthocs.posthoc_nemenyi_friedman(frame)
    averages = found.ranks.mean().to_numpy()
    differs = np.abs(averages[:, None] - averages[None, :]) >= found.critical_difference
    assert (differs == (nemenyi.to_numpy() < 0.05)).all()


def test_the_critical_difference_of_demsars_example():
    ranks = pandas.DataFrame(np.tile([1.0, 2.0, 3.0, 4.0], (14, 1)), columns=list("abcd"))
    assert AverageRanks(ranks).critical_difference == pytest.approx(1.25, abs=0.005)  # Demšar (2006), section 3.2.4


def test_groups_are_the_largest_sets_without_a_difference():
    frame = regrets([0, 0.2, 0.6, 3, 3.1], tasks=12)
    found = AverageRanks.of(frame)
    assert found.is_significant
    for group in found.groups:
        assert found.averages[group[-1]] - found.averages[group[0]] < found.critical_difference
    pairs = {pair for group in found.groups for pair in ((a, b) for a in group for b in group if a != b)}
    p = scikit_posthocs.posthoc_nemenyi_friedman(frame)
    assert pairs == {(a, b) for a in p for b in p if a != b and p.loc[a, b] >= 0.05}
    assert not any(set(one) < set(other) for one in found.groups for other in found.groups)


def test_without_a_significant_friedman_test_no_pair_differs():
    found = AverageRanks.of(regrets([0, 0, 0]))
    assert found.friedman[1] > 0.05 and found.groups == [list(found.averages.index)]
    equal = AverageRanks.of(pandas.DataFrame(np.ones((5, 3)), columns=list("abc")))
    assert equal.friedman == (0.0, 1.0) and set(equal.averages) == {2.0}


def test_too_few_tasks_or_methods_are_refused():
    with refuses(nb.InvalidInputError, 5, "there are 4 tasks"):
        AverageRanks.of(regrets([0, 1, 2], tasks=4))
    with refuses(nb.InvalidInputError, 3, "there are 2 methods"):
        AverageRanks.of(regrets([0, 1]))


def test_wins_ties_and_losses_by_hand():
    ab, ac = frozenset("ab"), frozenset("ac")
    better = {"s1": {ab: "a", ac: None}, "s2": {ab: None, ac: "a"}, "s3": {ab: "b"}}
    rows = win_tie_loss(["a", "b", "c"], better).to_numpy().tolist()
    assert rows == [["a", "b", 1, 1, 1, 3], ["a", "c", 1, 1, 0, 2]], "b and c are not tested"


def test_a_performance_profile_weighs_tasks_equally():
    first, second = np.repeat([0.1, 0.2, 0.3, 0.4], 2), np.repeat([0.2, 0.9], 3)
    thresholds = np.array([0.05, 0.2, 0.4, 1.0])
    frame = performance_profile([first, second], thresholds)
    assert frame["share"].tolist() == [0, 0.5, 0.75, 1]
    assert (frame["low"] <= frame["share"]).all() and (frame["share"] <= frame["high"]).all()
    assert frame.loc[1, "low"] < 0.5 < frame.loc[1, "high"] and frame.loc[[0, 3], "low"].tolist() == [0, 1]
    few = performance_profile([first, second[:5]], thresholds)  # five runs on one task have no interval
    assert few["low"].isna().all() and few["share"].notna().all()
    assert shares_below(first, thresholds).tolist() == [0, 0.5, 1, 1]
