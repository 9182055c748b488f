"""Curves, tables and rank tests of compared runs agree with naive computations."""

from itertools import combinations, product
from math import factorial
from pathlib import Path

import compared_runs as make
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from refusals import refuses
from scipy.stats import mannwhitneyu, rankdata

import nasbench1shot1 as nb
from nasbench1shot1.display.curves import pool
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.entries import latest_results
from nasbench1shot1.experiments.comparison.rank_tests import (
    Distribution,
    describe_effect,
    effect_size,
    holm,
    rank_tests,
)
from nasbench1shot1.experiments.comparison.statistics import Comparison
from nasbench1shot1.experiments.tuning.trajectory import trajectory
from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.one_shot_search.captions import provenance

RANKS = [(50, 40, 30, 20, 10), (55, 45, 5, 15, 25), (59, 3, 33, 43, 13)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A search `one`, a group `seeds`, black-box studies `random` and `evolution`, and a tuning study `tuned`."""
    out = tmp_path_factory.mktemp("runs")
    make.search(out / "one", (40, 30, 20, 10, 0), optimizer="gdas")
    make.group(out / "seeds", RANKS)
    make.black_box(out / "random")
    make.black_box(out / "evolution", "regularized-evolution", evaluations=None, seconds=3e4, repeats=12)
    make.tuning(out / "tuned")
    return out


@pytest.fixture(scope="module")
def everything(folder) -> Comparison:
    return compare_runs([folder / name for name in ("one", "seeds", "random", "evolution", "tuned")])


def regret_at(lines, second: float) -> float:
    """The latest epoch for which search and one training fit into this time."""
    return [line["test_regret"] for line in lines if line["simulated_seconds"] <= second][-1]


def test_over_epochs_the_curve_of_a_group_is_mean_minimum_and_maximum_of_its_searches(folder):
    found = compare_runs([folder / "one", folder / "seeds"])
    assert found.over == "epochs"
    values = [[line["test_regret"] for line in run.lines] for run in nb.open_run(folder / "seeds").runs]
    frame = found.curves["darts"].frame
    assert frame["at"].tolist() == [0, 1, 2, 3, 4]
    for name, naive in (("mean", np.mean), ("low", np.min), ("high", np.max)):
        np.testing.assert_allclose(frame[name], naive(values, axis=0))
    alone = compare_runs(nb.open_run(folder / "seeds"))  # a sequence with a single entry
    assert alone.curves["darts"].frame.equals(frame)
    single = found.curves["gdas"].frame
    assert single["mean"].tolist() == [line["test_regret"] for line in nb.load_run(folder / "one").lines]


def test_over_search_time_the_last_finished_epoch_counts(folder):
    frame = compare_runs([folder / "one"], over="search-time").curves["gdas"].frame
    assert frame["at"].tolist() == [0, 10, 20, 30, 40]


def test_over_simulated_time_a_search_shows_the_latest_epoch_within_search_and_training_time(everything, folder):
    runs = nb.open_run(folder / "seeds").runs
    frame = everything.curves["darts"].frame
    for row in frame.itertuples():
        values = [regret_at(run.lines, row.at) for run in runs]
        assert (row.mean, row.low, row.high) == pytest.approx((np.mean(values), min(values), max(values)))
    assert frame["at"].iloc[0] == max(min(line["simulated_seconds"] for line in run.lines) for run in runs)


def test_an_epoch_completed_after_a_later_epoch_is_hidden():
    assert latest_results(np.array([100.0, 60.0, 80.0, 75.0])).tolist() == [False, True, False, True]
    assert latest_results(np.array([0.0, 1.0, 2.0])).all()


def test_black_box_studies_keep_their_simulated_clock(everything, folder):
    study = nb.open_run(folder / "evolution")
    (contender,) = [of for of in everything.contenders if of.label == "regularized-evolution"]
    frame = pool(contender.repetitions, spread="quartiles").frame
    assert frame["at"].iloc[-1] == 3e4 and frame["runs"].unique() == [12]
    for row in frame.iloc[[0, len(frame) // 2, -1]].itertuples():
        values = [
            [entry[5] for entry in line["incumbents"] if entry[0] <= row.at][-1] for line in study.lines
        ]  # simulated seconds, …, test regret
        assert row.mean == pytest.approx(np.mean(values))
        assert (row.low, row.high) == pytest.approx(tuple(np.quantile(values, (0.25, 0.75))))


def test_a_tuning_study_has_one_repetition_on_its_simulated_clock(everything, folder):
    expected = trajectory(nb.open_run(folder / "tuned").observations)
    frame = everything.curves["darts tuned by BOHB"].frame
    assert frame["runs"].unique() == [1]
    for row in frame.itertuples():
        assert row.mean == expected.loc[expected["seconds"] <= row.at, "test_regret"].iloc[-1]


def test_the_table_has_the_statistics_of_the_final_regrets(everything, folder):
    row = everything.results.set_index("label").loc["random"]
    study = nb.open_run(folder / "random")
    final, source = study.final["test_regret"], provenance(study.final["test_measured"])
    assert (row["n"], row["kind"], row["source"], row["finished"]) == (5, "black-box study", source, True)
    assert (row["final_mean"], row["final_std"], row["final_median"], row["final_best"]) == pytest.approx(
        (final.mean(), final.std(), final.median(), final.min())
    )
    group = everything.results.set_index("label").loc["darts"]
    assert (group["n"], group["kind"], group["optimizer"]) == (3, "group of seeds", "darts")
    assert np.isnan(everything.results.set_index("label").loc["gdas", "final_std"])


def test_the_common_time_is_the_earliest_end_of_a_curve(everything, folder):
    ends = [curve.at[-1] for curve in everything.curves.values()]
    results = everything.results.set_index("label")
    assert set(results["common_seconds"]) == {min(ends)}
    found = nb.open_run(folder / "random").trajectory
    known = found[found["simulated_seconds"] <= min(ends)].groupby("repeat")["test_regret"].last()
    expected = known.mean() if len(known) == 5 else np.nan
    assert results.loc["random", "common_mean"] == pytest.approx(expected, nan_ok=True)
    final = nb.load_run(folder / "one").lines
    assert results.loc["gdas", "common_mean"] == regret_at(final, min(ends))


def test_the_common_time_of_black_box_studies(folder):
    found = compare_runs([folder / "random", folder / "evolution"])
    results = found.results.set_index("label")
    common = max(line["simulated_seconds"] for line in nb.open_run(folder / "random").lines)
    assert set(results["common_seconds"]) == {common}
    rows = nb.open_run(folder / "evolution").trajectory
    known = rows[rows["simulated_seconds"] <= common].groupby("repeat")["test_regret"].last()
    assert len(known) == 12
    assert results.loc["regularized-evolution", "common_mean"] == pytest.approx(known.mean())
    assert results.loc["regularized-evolution", "common_std"] == pytest.approx(known.std())
    (end, at_common, *anytime) = found.rank_tests.itertuples()
    assert (end.moment, at_common.moment) == ("final", "common")
    assert [row.moment for row in anytime] == ["anytime", "log_anytime"]
    first = nb.open_run(folder / "random").final["test_regret"]
    samples = {"random": np.array(first), "evolution": np.array(known)}
    assert at_common.p == rank_tests(samples, "common")["p"].item()


def test_regrets_on_another_table_use_that_table(folder, everything):
    again = compare_runs([folder / name for name in ("one", "seeds", "random", "tuned")], table="embedded")
    assert again.is_rescored and again.facts.table == nb.load_table("embedded").id
    for label in ("gdas", "darts", "random", "darts tuned by BOHB"):
        pandas.testing.assert_frame_equal(again.curves[label].frame, everything.curves[label].frame)


def test_an_early_stopped_search_ends_with_the_architecture_it_went_back_to(tmp_path):
    run = make.search(tmp_path / "run", RANKS[1])
    write_json(run.folder / "summary.json", {**run.summary, "final_epoch": 2})
    found = compare_runs(run.folder)
    assert found.results["final_mean"].item() == run.lines[2]["test_regret"] != run.lines[4]["test_regret"]
    found = compare_accuracies([run.folder]).accuracies.final().query("split == 'test'")
    assert found["mean"].item() == pytest.approx(100 * (1 - run.lines[2]["table_test_error"]))


@pytest.mark.parametrize("epoch", [5, -1, None, "last", True])
def test_a_summary_that_ends_at_an_epoch_that_is_not_recorded_is_damaged(tmp_path, epoch):
    run = make.search(tmp_path / "run", RANKS[1])
    write_json(run.folder / "summary.json", {**run.summary, "final_epoch": epoch})
    with refuses(DamagedFileError, run.folder / "summary.json", epoch):
        compare_runs(run.folder)


def test_times_before_the_first_result_of_a_search_have_no_regrets(everything):
    contender = everything.contenders[1]
    starts = sorted(repetition.at[0] for repetition in contender.repetitions)
    assert starts[0] < starts[-1], "one of them has a result before the others"
    assert len(contender.at(starts[0])) == 0
    assert len(contender.at(starts[-1])) == 3


# Rank tests ----------------------------------------------------------------------------------------------------------


def test_rank_tests_agree_with_scipy_and_holms_correction():
    rng = np.random.default_rng(0)
    samples = {
        "a": rng.normal(0, 1, 8),
        "b": rng.normal(1, 1, 9),
        "c": rng.normal(0.5, 1, 5),
        "few": rng.normal(size=4),
    }
    frame = rank_tests(samples, "end")
    assert list(zip(frame["first"], frame["second"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    for row in frame.itertuples():
        first, second = samples[row.first], samples[row.second]
        expected = mannwhitneyu(first, second, method="exact")
        assert (row.u, row.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
        assert row.a12 == pytest.approx(np.mean([a < b for a, b in product(first, second)]))
    ordered = sorted(frame["p"])
    naive = [min(1, ordered[0] * 3), min(1, max(ordered[0] * 3, ordered[1] * 2)), 0.0]
    naive[2] = max(naive[1], ordered[2])
    assert sorted(frame["p_holm"]) == pytest.approx(naive)


REGRETS = some.lists(some.integers(0, 3), min_size=5, max_size=7)


@settings(max_examples=40, deadline=None)
@given(first=REGRETS, second=REGRETS)
def test_rank_tests_of_equal_regrets_are_exact(first, second):
    """The p-value is the share of all assignments of the ranks to both methods that are as extreme."""
    samples = {"a": np.array(first) / 8, "b": np.array(second) / 8}
    (row,) = rank_tests(samples, "end").itertuples()
    ranks = rankdata(np.concatenate([*samples.values()]))
    sums = ranks[list(combinations(range(len(ranks)), len(first)))].sum(axis=1)
    found = ranks[: len(first)].sum()
    tail = min((sums <= found).mean(), (sums >= found).mean())
    assert row.p == pytest.approx(min(1, 2 * tail), rel=1e-12)
    assert row.u == sum((a > b) + (a == b) / 2 for a, b in product(first, second))


def test_rank_tests_of_more_than_50_runs_are_scipys_normal_approximation():
    rng = np.random.default_rng(0)
    samples = {"a": rng.integers(0, 9, 51) / 8, "b": rng.integers(0, 10, 20) / 8}
    (row,) = rank_tests(samples, "end").itertuples()
    assert row.p == mannwhitneyu(*samples.values()).pvalue
    (row,) = rank_tests({"a": samples["a"][:50], "b": samples["b"]}, "end").itertuples()
    approximate = mannwhitneyu(samples["a"][:50], samples["b"]).pvalue
    assert row.p == pytest.approx(approximate, rel=0.2) and row.p != pytest.approx(approximate, rel=1e-6)


@pytest.mark.parametrize("n", [5, 6])
def test_rank_tests_against_a_known_distribution_are_exact(n):
    """The p-value is the probability of all samples whose sum of ridits is as extreme; these ridits are exact."""
    values, chances = np.array([0.3, 0.1, 0.2, 0.1]), np.array([0.25, 0.25, 0.375, 0.125])  # 0.1 occurs twice
    ridits = {0.1: 0.1875, 0.2: 0.5625, 0.3: 0.875}
    probability = {0.1: 0.375, 0.2: 0.375, 0.3: 0.25}
    every = list(product(ridits, repeat=n))
    sums = np.array([sum(ridits[value] for value in drawn) for drawn in every])
    weights = np.array([np.prod([probability[value] for value in drawn]) for drawn in every])
    known = Distribution(values, chances)
    assert (known.mean, known.std) == pytest.approx((0.1875, np.sqrt(0.375 * 0.01 + 0.375 * 0.04 + 0.0225 - 0.1875**2)))
    for found in ([0.1] * n, [0.3] * n, [0.1, *[0.2] * (n - 1)], [0.1, 0.2, *[0.3] * (n - 2)]):
        (row,) = rank_tests({"a": np.array(found)}, "end", distributions={"known": known}).itertuples()
        total = sum(ridits[value] for value in found)
        tail = min(weights[sums <= total + 1e-9].sum(), weights[sums >= total - 1e-9].sum())
        assert row.p == pytest.approx(min(1, 2 * tail), rel=1e-9)
        assert (row.u, row.a12) == pytest.approx((total, 1 - total / n)) and row.n_second == 0


def test_p_values_against_a_known_distribution_agree_with_simulated_samples():
    rng = np.random.default_rng(0)
    values = np.round(rng.exponential(size=200), 1)  # with ties
    known = Distribution(values, rng.dirichlet(np.ones(200)))
    drawn = rng.choice(values, size=(40_000, 10), p=known.probabilities)
    ridits = known.ridits(drawn).sum(axis=1)
    for seed in (0, 1, 2):
        sample = np.random.default_rng(seed).choice(values, size=10) * 0.6
        (row,) = rank_tests({"a": sample}, "end", distributions={"known": known}).itertuples()
        share = 2 * min((ridits <= row.u).mean(), (ridits >= row.u).mean())
        assert row.p < 0.9 and row.p == pytest.approx(share, abs=4 * np.sqrt(2 * row.p / len(ridits)))


def test_ridits_of_a_continuous_distribution_have_the_sum_of_uniform_numbers():
    """The probability that the sum of n uniform numbers is at most 1 is 1 / n!."""
    known = Distribution(np.arange(20_000.0), np.full(20_000, 1 / 20_000))
    (row,) = rank_tests({"a": np.full(10, 1_999.5)}, "end", distributions={"known": known}).itertuples()
    assert row.u == pytest.approx(1) and row.p == pytest.approx(2 / factorial(10), rel=1e-2)
    (row,) = rank_tests({"a": np.full(10, -1.0)}, "end", distributions={"known": known}).itertuples()
    assert 0 < row.p <= 2e-12 and row.a12 == 1


def test_a_known_distribution_is_the_limit_of_growing_samples_and_takes_part_in_holms_correction():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 40, 400) / 8
    samples = {"a": rng.integers(0, 36, 20) / 8, "b": rng.integers(0, 40, 25) / 8, "few": np.zeros(4)}
    exact = rank_tests(samples, "end", distributions={"random": Distribution(values, np.full(400, 1 / 400))})
    large = rank_tests({**samples, "random": np.tile(values, 100)}, "end")
    assert list(zip(exact["first"], exact["second"], strict=True)) == [("a", "b"), ("a", "random"), ("b", "random")]
    assert exact["a12"].tolist() == pytest.approx(large["a12"].tolist())
    assert exact["p"].tolist() == pytest.approx(large["p"].tolist(), rel=0.05)
    assert exact["p_holm"].tolist() == holm(exact["p"]).tolist()


def test_holms_correction_of_a_worked_example():
    assert holm([0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]).tolist() == []


def test_the_a12_of_a_worked_example():
    a, b = np.array([1.0, 2, 2, 3, 5]), np.array([2.0, 3, 4, 4, 6])
    # Lower regrets of a: 1 is below 5 of b; each 2 below 4, and ties 1; 3 below 3, and ties 1; 5 below 1.
    by_hand = (5 + 4.5 + 4.5 + 3.5 + 1) / 25
    (row,) = rank_tests({"a": a, "b": b}, "end").itertuples()
    assert row.a12 == pytest.approx(by_hand) == 0.74
    assert row.effect == "large"
    assert describe_effect("a", "b", 0.74) == "a is better than b in 74 % of all pairs of searches: a large effect"
    assert describe_effect("a", "b", 0.4) == "b is better than a in 60 % of all pairs of searches: a small effect"
    assert "in 100 % of all pairs" in describe_effect("a", "b", 1.0)
    assert describe_effect("a", "b", 0.004).startswith("b is better than a in more than 99 % of all pairs")
    assert describe_effect("a", "b", 0.5) == "a and b are equally likely to be better"
    assert [effect_size(value) for value in (0.5, 0.57, 0.65, 0.29)] == ["negligible", "small", "medium", "large"]


def test_equal_regrets_are_not_significantly_different():
    (row,) = rank_tests({"a": np.full(5, 0.1), "b": np.full(6, 0.1)}, "end").itertuples()
    assert (row.p, row.p_holm, row.a12, row.effect) == (1.0, 1.0, 0.5, "negligible")
