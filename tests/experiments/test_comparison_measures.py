"""Areas under anytime curves, intervals, and rank tests of matched seeds agree with naive computations and scipy."""

from dataclasses import replace
from pathlib import Path

import compared_runs as make
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import PermutationMethod, mannwhitneyu, wilcoxon

import nasbench1shot1 as nb
from nasbench1shot1.display.curves import Trace, pool
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.measures import Span, common_span, summarise, time_averages
from nasbench1shot1.experiments.comparison.paper import measure_table
from nasbench1shot1.experiments.comparison.rank_tests import holm, match, paired_tests, rank_biserial, signed_rank
from nasbench1shot1.experiments.reproduction.results.methods import ANYTIME, measures


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Groups of eight seeds `darts` and `gdas`, of which the second is better for every seed but one; and studies."""
    out, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(0)
    ends = rng.integers(20, 50, 8)
    make.group(out / "darts", [(59, 55, end) for end in ends], epochs=2)
    make.group(out / "gdas", [(58, 50, end - 9) for end in [*ends[:7], ends[7] + 18]], optimizer="gdas", epochs=2)
    make.group(out / "three", [(9, 8, 7)] * 3, optimizer="snas", epochs=2)
    make.search(out / "one", (40, 30, 20), optimizer="enas", epochs=2)
    make.black_box(out / "random", repeats=7)
    make.black_box(out / "local", "local-search", repeats=7)
    make.black_box(out / "other", "regularized-evolution", repeats=7, seed=1)
    return out


# Areas ----------------------------------------------------------------------------------------------------------------


@some.composite
def traces(draw) -> list[Trace]:
    found = []
    for _ in range(draw(some.integers(1, 3))):
        steps = draw(some.lists(some.floats(0.1, 50), min_size=1, max_size=6))
        values = draw(some.lists(some.floats(0, 1), min_size=len(steps), max_size=len(steps)))
        end = float(np.sum(steps)) + draw(some.floats(0, 50))
        found.append(Trace(at=np.cumsum(steps), values=np.array(values), end=end, final=draw(some.floats(0, 1))))
    return found


@given(traces())
@settings(max_examples=25)
def test_an_area_equals_a_sum_over_a_fine_grid(runs):
    span = common_span([runs], whole=False)
    if span.start == span.end:
        assert np.isnan(time_averages(runs, span)).all()
        return
    for log, grid in (
        (False, np.linspace(span.start, span.end, 4_001)),
        (True, np.geomspace(span.log_start, span.end, 4_001)),
    ):
        middles = np.sqrt(grid[1:] * grid[:-1]) if log else (grid[1:] + grid[:-1]) / 2
        naive = [run.value_at(middles).mean() for run in runs]
        assert time_averages(runs, span, log) == pytest.approx(naive, abs=5e-3)


def test_an_area_of_a_worked_example():
    run = Trace(at=np.array([1.0, 10.0]), values=np.array([0.6, 0.2]), end=100.0, final=0.2)
    assert time_averages([run], Span(1, 1, 100, False)) == pytest.approx((9 * 0.6 + 90 * 0.2) / 99)
    assert time_averages([run], Span(1, 1, 100, False), log=True) == pytest.approx(0.4)  # a decade each
    epochs = Trace(at=np.arange(4.0), values=np.array([0.8, 0.4, 0.2, 0.1]))
    assert time_averages([epochs], Span(0, 1, 3, True)) == pytest.approx(1.5 / 4)
    weights = np.log([2, 3 / 2, 4 / 3])  # epochs 1 to 3; an epoch counts until the next one
    assert time_averages([epochs], Span(0, 1, 3, True), log=True) == pytest.approx(
        weights @ [0.4, 0.2, 0.1] / np.log(4)
    )


def test_equal_curves_have_exactly_equal_areas():
    """A tie must not depend on how often an unchanged value is recorded."""
    few = Trace(at=np.array([1.0, 3.0]), values=np.array([0.3, 0.1]), end=10.0)
    many = Trace(at=np.array([1, 1.7, 2.9, 3, 7.3]), values=np.array([0.3, 0.3, 0.3, 0.1, 0.1]), end=10.0)
    for is_log in (False, True):
        one, other = time_averages([few, many], Span(1, 1, 10, False), log=is_log)
        assert one == other
    gap = Trace(at=np.array([1, 2, 3.0]), values=np.array([0.3, np.nan, np.nan]), end=10.0)
    assert np.isnan(time_averages([gap], Span(1, 1, 10, False))).all()


def test_the_range_of_areas_is_what_all_curves_have_in_common(folder):
    found = compare_runs([folder / "darts", folder / "random"])
    starts = [trace.at[0] for contender in found.contenders for trace in contender.repetitions]
    assert (found.span.start, found.span.end) == (max(starts), found.common_time)
    empty = Span(5.0, 5.0, 4.0, False)
    assert np.isnan(time_averages(found.contenders[0].repetitions, empty)).all()


def test_anytime_regret_over_epochs_is_that_of_the_table_of_methods(folder):
    found = compare_runs([folder / "darts", folder / "gdas"])
    for label in ("darts", "gdas"):
        expected = [measures(run.metrics)[ANYTIME] for run in nb.open_run(folder / label).runs]
        assert found.samples["anytime"][label] == pytest.approx(expected)
        row = found.results.set_index("label").loc[label]
        assert row["anytime_mean"] == pytest.approx(np.mean(expected))
        assert (row["anytime_start"], row["log_anytime_start"], row["anytime_end"]) == (0, 1, 2)


# Intervals ------------------------------------------------------------------------------------------------------------


def test_the_intervals_of_the_table_are_the_bands_of_the_figure(folder):
    found = compare_runs([folder / "darts", folder / "gdas"])
    for contender, row in zip(found.contenders, found.results.itertuples(), strict=True):
        for statistic, low, high in (
            ("mean", row.final_low, row.final_high),
            ("median", row.final_median_low, row.final_median_high),
        ):
            band = pool(contender.repetitions, statistic=statistic, whole=True)
            assert (low, high) == pytest.approx((band.low[-1], band.high[-1]), rel=1e-12)
            assert low < (row.final_mean if statistic == "mean" else row.final_median) <= high


def test_intervals_of_means_are_cut_at_zero_unless_a_value_is_negative():
    (cut,) = summarise(np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.9]]))
    assert cut["low"] == 0 < cut["mean"] == 0.15 < cut["high"]
    (below,) = summarise(np.array([[-0.02], [-0.01], [-0.03]]))  # relative to a network that is not the best one
    assert (below["low"], below["high"]) == (-0.03, -0.01)


def test_one_run_has_no_interval_and_unknown_values_are_left_out():
    (single,) = summarise(np.array([[0.25]]))
    assert (single["mean"], single["median"]) == (0.25, 0.25)
    assert all(np.isnan(single[name]) for name in ("std", "low", "high", "median_low", "median_high"))
    values = np.random.default_rng(0).random((9, 2))
    whole, partial = summarise(values)[0], values.copy()
    partial[3, 1] = np.nan
    first, second = summarise(partial)
    assert first == pytest.approx(whole)
    assert second == summarise(np.delete(values[:, 1:], 3, axis=0))[0]
    (unknown,) = summarise(np.full((3, 1), np.nan))
    assert all(np.isnan(value) for value in unknown.values())


# Rank tests of matched seeds ------------------------------------------------------------------------------------------


def test_matched_seeds_are_tested_seed_by_seed(folder):
    found = compare_runs([folder / "darts", folder / "gdas", folder / "three", folder / "one"])
    assert found.test == "Wilcoxon"
    row = found.rank_tests.set_index("moment").loc["final"]
    darts, gdas = (
        np.array([run.lines[-1]["test_regret"] for run in nb.open_run(folder / of).runs]) for of in ("darts", "gdas")
    )
    expected = wilcoxon(darts, gdas)
    assert (row["w"], row["p_paired"], row["p_paired_holm"]) == (expected.statistic, *[expected.pvalue] * 2)
    exhaustive = mannwhitneyu(darts, gdas, method=PermutationMethod(n_resamples=20_000))
    assert row["p"] == pytest.approx(exhaustive.pvalue, rel=1e-12)
    assert (row["pairs"], row["wins"], row["ties"], row["losses"]) == (8, 1, 0, 7)
    assert found.p_values("final") == {frozenset(("darts", "gdas")): expected.pvalue}
    assert row["rank_biserial"] < 0 and found.better("final") == {frozenset(("darts", "gdas")): "gdas"}


def test_the_test_and_not_the_mean_decides_which_method_is_better(tmp_path):
    for name in ("low", "high"):
        make.group(tmp_path / name, [(9, end) for end in range(12)], epochs=1)
    found = compare_runs([tmp_path / name for name in ("low", "high")], labels=["low", "high"])
    finals = {"low": [*np.linspace(0.01, 0.02, 11), 0.84], "high": np.linspace(0.03, 0.04, 12)}
    assert np.mean(finals["low"]) > np.mean(finals["high"]), "because of one search"
    for seeds, test in ((12, "Wilcoxon"), (11, "Mann–Whitney")):
        contenders = [
            replace(
                of, repetitions=[replace(trace, final=end) for trace, end in zip(of.repetitions, ends, strict=True)]
            )
            for of, ends in zip(found.contenders, finals.values(), strict=True)
        ]
        contenders[1] = replace(contenders[1], repetitions=contenders[1].repetitions[:seeds])
        compared = replace(found, contenders=contenders)
        assert compared.test == test and compared.better("final") == {frozenset(finals): "low"}
        ((low, high),) = measure_table({"s1": compared}).parts.values()
        assert high[2].is_best and low[2].is_tied, "not significantly worse, but better"


def test_a_search_without_a_result_is_left_out_with_its_partner():
    a, keys = np.arange(8.0), [f"seed {seed}" for seed in range(8)]
    b = a + np.array([3, -1, 2, 1, 4, 1.5, 2.5, np.nan])
    (row,) = paired_tests({"a": a, "b": b}, {"a": keys, "b": keys}, "end").itertuples()
    expected = wilcoxon(a[:7], b[:7])
    assert (row.pairs, row.w, row.p_paired) == (7, expected.statistic, expected.pvalue)
    assert (row.wins, row.ties, row.losses) == (6, 0, 1)
    b[:2] = np.nan
    (few,) = paired_tests({"a": a, "b": b}, {"a": keys, "b": keys}, "end").itertuples()
    assert few.pairs == 5 and np.isnan([few.p_paired, few.rank_biserial]).all()


@given(some.lists(some.integers(-3, 4), min_size=6, max_size=9).filter(any))
@settings(max_examples=15)
def test_the_rank_biserial_correlation_compares_the_rank_sums(differences):
    found, reverse = rank_biserial(np.array(differences) / 8), rank_biserial(-np.array(differences) / 8)
    greater = wilcoxon(np.array(differences), alternative="greater").statistic  # the sum of the positive ranks
    nonzero = sum(difference != 0 for difference in differences)
    total = nonzero * (nonzero + 1) / 2
    assert found == -reverse == pytest.approx((total - 2 * greater) / total)
    assert rank_biserial(np.zeros(6)) == 0


def test_runs_of_different_seeds_are_compared_unpaired(folder):
    matched = compare_runs([folder / "random", folder / "local"])
    assert matched.test == "Wilcoxon" and set(matched.rank_tests["pairs"]) == {7}
    for runs in (("random", "other"), ("darts", "random"), ("random", "local", "other")):
        found = compare_runs([folder / run for run in runs])
        assert found.test == "Mann–Whitney" and set(found.rank_tests["test"]) == {"Mann–Whitney"}
        row = found.rank_tests.iloc[0]
        pairs = row["pairs"] or row["n_first"] * row["n_second"]
        assert row["wins"] + row["ties"] + row["losses"] == pairs
        if not row["pairs"]:
            assert np.isnan(row["p_paired"])
            assert (row["wins"] + row["ties"] / 2) / pairs == pytest.approx(row["a12"])


def test_signed_ranks_in_any_order_of_runs_and_with_equal_regrets():
    rng = np.random.default_rng(1)
    a, keys = rng.random(9), [f"seed {seed}" for seed in range(9)]
    b, order = a + rng.normal(0, 0.1, 9), rng.permutation(9)
    (row,) = paired_tests({"a": a, "b": b[order]}, {"a": keys, "b": [keys[at] for at in order]}, "end").itertuples()
    assert row.p_paired == wilcoxon(a, b).pvalue
    (equal,) = paired_tests({"a": a, "b": a}, {"a": keys, "b": keys}, "end").itertuples()
    assert (equal.p_paired, equal.wins, equal.ties, equal.losses) == (1.0, 0, 9, 0)
    (few,) = paired_tests({"a": a[:5], "b": b[:5]}, {"a": keys[:5], "b": keys[:5]}, "end").itertuples()
    assert np.isnan(few.p_paired) and few.pairs == 5 and few.wins + few.losses == 5
    assert match(["", ""], ["", ""]) is None and match(["x", "x"], ["x", "x"]) is None and match(["x"], ["y"]) is None


@given(some.lists(some.integers(-3, 4), min_size=6, max_size=9).filter(any))
@settings(max_examples=15)
def test_signed_ranks_of_few_runs_with_ties_are_exact(differences):
    found, expected = signed_rank(np.array(differences) / 8), wilcoxon(np.array(differences) / 8)
    assert found == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


def test_signed_ranks_are_exact_up_to_50_differences_and_scipys_normal_approximation_from_then_on():
    rng = np.random.default_rng(0)
    untied = rng.normal(0.1, 1, 50)
    expected = wilcoxon(untied, method="exact")
    assert signed_rank(np.append(untied, np.zeros(9))) == pytest.approx(tuple(expected), rel=1e-12)
    tied = rng.integers(1, 7, 51) * rng.choice([-1, 1], 51) / 8
    expected = wilcoxon(tied, method="approx")
    assert signed_rank(np.append(tied, np.zeros(9))) == pytest.approx(tuple(expected), rel=1e-12)
    assert signed_rank(tied[:50])[1] != pytest.approx(wilcoxon(tied[:50], method="approx").pvalue, rel=1e-6)


@pytest.mark.parametrize("runs", [13, 14, 500])
@pytest.mark.parametrize("differ", [4, 5, 6])
def test_few_differences_are_not_significant_among_any_number_of_equal_regrets(runs, differ):
    for sizes in (np.full(differ, 0.01), np.arange(1, differ + 1) / 100):
        a, keys = np.full(runs, 0.05), [f"seed {seed}" for seed in range(runs)]
        b = a + np.append(sizes, np.zeros(runs - differ))
        (row,) = paired_tests({"a": a, "b": b}, {"a": keys, "b": keys}, "end").itertuples()
        assert (row.pairs, row.wins, row.ties, row.p_paired) == (runs, differ, runs - differ, 2 ** (1 - differ))


@pytest.mark.parametrize("unit", [0.01, 1.0, 1e5])
def test_rounding_errors_do_not_break_ties_of_differences(unit):
    a = unit * np.array([6.12, 7.12, 8.12, 9.12, 5.12, 6, 3 * 0.1])
    b = unit * np.array([5.12, 6.12, 7.12, 8.12, 6.12, 6.01, 0.3])
    assert len(np.unique(np.abs(a - b)[:5])) > 1 and a[6] != b[6]
    keys = [f"seed {seed}" for seed in range(7)]
    (row,) = paired_tests({"a": a, "b": b}, {"a": keys, "b": keys}, "end").itertuples()
    expected = signed_rank(np.array([1, 1, 1, 1, -1, -0.01]))
    assert (row.w, row.p_paired) == expected == (5.0, 0.375)
    assert (row.wins, row.ties, row.losses) == (2, 1, 4)
    (all_pairs,) = paired_tests({"a": a, "b": b}, {"a": keys, "b": [*keys[:6], "x"]}, "end").itertuples()
    assert all_pairs.ties == 6 and all_pairs.wins + all_pairs.losses == 43


def test_holms_correction_leaves_out_unknown_p_values():
    found = holm([0.04, np.nan, 0.01, 0.03])
    assert found[[0, 2, 3]].tolist() == pytest.approx([0.06, 0.03, 0.06]) and np.isnan(found[1])


def test_few_runs_are_named_in_one_sentence_for_each_kind(folder, tmp_path):
    found = compare_runs([folder / name for name in ("darts", "three", "random")])
    assert found.warnings == [
        "Fewer than 10 seeds, so rankings can change with more: darts (n = 8), snas (n = 3).",
        "Fewer than 500 repeats, so rankings can change with more: random (n = 7).",
    ]
    differ = "The methods end at different times, so compare their regrets at the common time, too."
    longer = make.black_box(tmp_path / "longer", "local-search", repeats=7, evaluations=12)
    assert compare_runs([folder / "random", longer]).warnings[0] == differ
    many = make.group(tmp_path / "ten", [(5, 4)] * 10)
    assert compare_runs([many]).warnings == []
