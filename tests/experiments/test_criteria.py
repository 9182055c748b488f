"""Ranking criteria compared with plain implementations, and their bounds."""

import re
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from conftest import CHECKOUT
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from nasbench1shot1.experiments.correlation.criteria import CRITERIA, TOP_SHARES, Comparison, evaluate, scopes, top_size
from nasbench1shot1.ground.errors import InvalidInputError

CORRELATIONS = ("spearman", "kendall", "pearson", "sparse-kendall")
RANKED = tuple(name for name in CRITERIA if name not in ("pearson", "regret"))
LABELS = ("one-shot errors", "true errors")

tied_pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=40).filter(
    lambda pairs: all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
)


def floats(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and true errors with ties; rounding to 0.1 % does not change the true errors."""
    predicted, true = np.array(pairs, float).T
    return predicted / 7, true / 100


def random_errors(n: int, seed: int, digits: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = rng.normal(0.06, 0.01, n)
    return np.round(true * 5 + rng.normal(0.1, 0.05, n), digits), true


# Plain implementations ----------------------------------------------------------------------------------------------


def plain_kendall(a, b):
    concordant = discordant = only_a = only_b = 0
    for i, j in combinations(range(len(a)), 2):
        sign = np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
        concordant += sign > 0
        discordant += sign < 0
        only_a += a[i] != a[j] and b[i] == b[j]
        only_b += a[i] == a[j] and b[i] != b[j]
    untied = concordant + discordant
    return (concordant - discordant) / np.sqrt(float(untied + only_a) * float(untied + only_b))


def plain_mid_ranks(values):
    return [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]


def plain_pearson(a, b):
    a, b = np.array(a) - np.mean(a), np.array(b) - np.mean(b)
    return sum(a * b) / np.sqrt(sum(a * a) * sum(b * b))


def plain_top_k(predicted, true, k):
    """Precision, best and worst rank, averaged over every order of the architectures that respects the predictions."""
    ranks = [1 + sum(other < value for other in true) for value in true]
    found = []
    for order in permutations(range(len(true))):
        if all(predicted[i] <= predicted[j] for i, j in pairwise(order)):
            top = [ranks[i] for i in order[:k]]
            found.append((sum(rank <= k for rank in top) / k, min(top), max(top)))
    return np.mean(found, axis=0)


@given(tied_pairs)
def test_correlations_agree_with_plain_implementations(pairs):
    predicted, true = floats(pairs)
    found = evaluate(predicted, true, CORRELATIONS)
    assert found["kendall"] == pytest.approx(plain_kendall(predicted, true))
    assert found["sparse-kendall"] == found["kendall"]
    assert found["spearman"] == pytest.approx(plain_pearson(plain_mid_ranks(predicted), plain_mid_ranks(true)))
    assert found["pearson"] == pytest.approx(plain_pearson(predicted, true))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6), st.data())
def test_top_k_is_the_mean_over_all_orders_of_ties(pairs, data):
    predicted, true = floats(pairs)
    k = data.draw(st.integers(1, len(pairs)))
    top = Comparison(predicted, true).top(k)
    assert (top.precision(), top.best_rank(), top.worst_rank()) == pytest.approx(plain_top_k(predicted, true, k))


def test_top_k_of_large_tie_groups_is_the_mean_over_random_orders():
    rng = np.random.default_rng(3)
    predicted, true = rng.integers(0, 8, 400) / 8, np.round(rng.normal(0.06, 0.01, 400), 3)
    ranks = np.array([1 + np.sum(true < value) for value in true])
    tops = [ranks[np.lexsort((rng.random(400), predicted))[:20]] for _ in range(4000)]
    found = evaluate(predicted, true)
    assert found["p@5"] == pytest.approx(np.mean([np.mean(top <= 20) for top in tops]), abs=0.004)
    assert found["br@5"] == pytest.approx(np.mean([top.min() for top in tops]) / 400, rel=0.05)
    assert found["wr@5"] == pytest.approx(np.mean([top.max() for top in tops]) / 400, rel=0.01)


@pytest.mark.parametrize("n", [200, 1000])
def test_without_ties_top_k_follows_the_published_code(n):
    predicted, true = random_errors(n, seed=1, digits=15)
    ranks = np.argsort(np.argsort(true)) + 1
    found = evaluate(predicted, true)
    for percent, per_mille in TOP_SHARES.items():
        k = max(1, int(n * per_mille / 1000))
        top = ranks[np.argsort(predicted)[:k]]
        assert found[f"p@{percent}"] == pytest.approx(sum(top < k + 1) / k)
        assert found[f"br@{percent}"] == pytest.approx(min(top) / n)
        assert found[f"wr@{percent}"] == pytest.approx(max(top) / n)
    assert found["regret"] == true[np.argmin(predicted)] - min(true)


def test_golden_values():
    true = [0.060, 0.0601, 0.061, 0.08, 0.09]
    found = evaluate([0.3, 0.2, 0.2, 0.5, 0.4], true)
    assert found["kendall"] == pytest.approx((6 - 3) / np.sqrt(10 * 9))
    assert found["sparse-kendall"] == pytest.approx((6 - 2) / 9)  # 0.0601 counts as 0.060
    assert found["p@20"] == 0  # the truly best is not among the two predicted best
    assert (found["br@20"], found["wr@20"]) == pytest.approx((2.5 / 5, 2.5 / 5))  # ranks 2 and 3 tie for one place
    assert found["regret"] == pytest.approx((0.0001 + 0.001) / 2)


# Properties ---------------------------------------------------------------------------------------------------------


@given(tied_pairs)
def test_rank_criteria_are_invariant_to_monotone_transforms(pairs):
    predicted, true = floats(pairs)
    assert evaluate(np.exp(9 * predicted) - 4, true, RANKED) == evaluate(predicted, true, RANKED)
    unrounded = [name for name in RANKED if name != "sparse-kendall"]
    assert evaluate(predicted, np.sqrt(true) + 1, unrounded) == evaluate(predicted, true, unrounded)


@given(tied_pairs, st.randoms(use_true_random=False))
def test_the_order_of_architectures_does_not_matter(pairs, random):
    expected = evaluate(*floats(pairs))
    random.shuffle(pairs)
    assert evaluate(*floats(pairs)) == pytest.approx(expected)


@given(tied_pairs)
def test_values_stay_within_their_bounds(pairs):
    for name, value in evaluate(*floats(pairs)).items():
        low, high = CRITERIA[name].limits
        assert low - 1e-12 <= value <= high + 1e-12, name


@given(st.lists(st.integers(0, 9), min_size=3, max_size=60).filter(lambda values: len(set(values)) > 1))
def test_a_perfect_ranking_is_best_in_every_criterion(values):
    true = np.array(values) / 100
    found = evaluate(true, true)
    assert all(found[name] == pytest.approx(1) for name in CORRELATIONS)
    assert all(found[f"p@{percent}"] == pytest.approx(1) for percent in TOP_SHARES)
    assert all(found[f"br@{percent}"] == pytest.approx(1 / len(true)) for percent in TOP_SHARES)
    assert found["regret"] == 0


@pytest.mark.parametrize("name", CRITERIA)
def test_reversed_rankings_are_worse_than_perfect_ones(name):
    true = np.linspace(0.05, 0.5, 1000)
    perfect, worst = CRITERIA[name](true, true), CRITERIA[name](-true, true)
    smaller_is_better = name == "regret" or name.startswith(("br@", "wr@"))
    assert (perfect < worst) == smaller_is_better
    assert perfect != worst


@given(tied_pairs)
def test_all_architectures_have_precision_one(pairs):
    top = Comparison(*floats(pairs)).top(len(pairs))
    assert top.precision() == 1
    assert top.best_rank() == 1


def test_a_constant_prediction_has_the_precision_of_chance():
    found = evaluate(np.full(1000, 0.9), np.linspace(0.05, 0.5, 1000), [f"p@{percent}" for percent in TOP_SHARES])
    assert list(found.values()) == pytest.approx([float(percent) / 100 for percent in TOP_SHARES])


@pytest.mark.parametrize(("share", "n", "size"), [(1, 999, 1), (1, 3702, 3), (5, 100, 1), (10, 2999, 29), (200, 5, 1)])
def test_a_top_fraction_is_rounded_down_to_at_least_one_architecture(share, n, size):
    assert top_size(share, n) == size


def test_names_match_the_files():
    assert tuple(CRITERIA)[:4] == CORRELATIONS
    assert tuple(CRITERIA)[4:] == (*(f"{kind}@{k}" for kind in ("p", "br", "wr") for k in TOP_SHARES), "regret")
    assert all(name == criterion.name for name, criterion in CRITERIA.items())
    assert len({criterion.label for criterion in CRITERIA.values()}) == len(CRITERIA)


def test_all_architectures_of_the_largest_space_can_be_compared():
    predicted, true = random_errors(135_900, seed=0)
    found = evaluate(predicted, true)
    assert found["spearman"] == pytest.approx(np.corrcoef(true, predicted)[0, 1], abs=0.03)
    sample = np.random.default_rng(1).choice(135_900, 1500, replace=False)
    assert found["kendall"] == pytest.approx(plain_kendall_of_signs(predicted[sample], true[sample]), abs=0.03)


def plain_kendall_of_signs(a, b):
    a, b = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


# Undefined criteria -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_constant_prediction_is_reported(name):
    with refuses(InvalidInputError, 40, 0.9):
        evaluate(np.full(40, 0.9), np.linspace(0.1, 0.5, 40), [name], LABELS)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_constant_truth_is_reported(name):
    with refuses(InvalidInputError, 40, 0.06):
        evaluate(np.linspace(0.1, 0.5, 40), np.full(40, 0.06), [name], LABELS)


def test_a_truth_that_rounds_to_a_constant_affects_only_the_sparse_criterion():
    predicted, true = np.linspace(0.1, 0.5, 40), 0.06 + np.linspace(0, 4e-4, 40)
    assert evaluate(predicted, true, ["kendall"])["kendall"] == 1
    with refuses(InvalidInputError, 40, 0.06):
        evaluate(predicted, true)


def test_values_that_differ_only_by_rounding_errors_have_no_linear_correlation():
    predicted = np.full(5, 2.3)
    predicted[0] = np.nextafter(2.3, 3)
    with refuses(InvalidInputError, 5, 2.3):
        evaluate(predicted, np.arange(5.0), ["pearson"])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", ["spearman", "p@5", "regret"])
def test_non_finite_values_are_counted(bad, side, name):
    sides = [np.linspace(0.1, 0.5, 40), np.linspace(0.05, 0.1, 40)]
    sides[side][[7, 9]] = bad
    with refuses(InvalidInputError, "2 of 40", LABELS[side], 7):
        evaluate(*sides, [name], LABELS)


@pytest.mark.parametrize(
    ("predicted", "true", "values"),
    [
        ([0.1, 0.2], [0.1, 0.2], "2"),
        ([0.1], [0.1], "1"),
        ([], [], ""),
        ([0.1, 0.2], [0.1], "(2,) (1,)"),
        ([[0.1, 0.2]], [[0.1, 0.2]], "(1, 2)"),
    ],
)
def test_mismatched_arrays_are_refused(predicted, true, values):
    with refuses(InvalidInputError, *values.split()):
        evaluate(predicted, true)


def test_an_unknown_criterion_is_refused():
    with refuses(InvalidInputError, "spearmen", "spearman"):
        evaluate([1, 2, 3], [1, 2, 3], ["spearmen"])


# Scopes -------------------------------------------------------------------------------------------------------------


def test_scopes_contain_the_truly_best():
    true = np.random.default_rng(0).permutation(3702) / 10_000
    found = scopes(true)
    assert {name: int(mask.sum()) for name, mask in found.items()} == {"all": 3702, "top-1000": 1000, "top-10%": 370}
    assert true[found["top-1000"]].max() < true[~found["top-1000"]].min()


def test_ties_with_the_last_of_a_scope_are_included():
    found = scopes([0.05, 0.06, 0.06, 0.06, *np.full(6, 0.07), *np.full(10, 0.08)])
    assert found["top-10%"].nonzero()[0].tolist() == [0, 1, 2, 3]
    assert "top-1000" not in found, "it would repeat all"
    assert list(scopes(np.linspace(0, 1, 1001))) == ["all", "top-1000", "top-10%"]
    assert list(scopes(np.linspace(0, 1, 1000))) == ["all", "top-10%"]


def test_scopes_of_unknown_errors_are_refused():
    with refuses(InvalidInputError, "1 of 3"):
        scopes([0.1, np.nan, 0.2])


def test_the_page_defines_every_criterion_and_scope():
    page = (CHECKOUT / "docs" / "ranking_criteria.md").read_text()
    defined = set(re.findall(r"`([\w@.%-]+)`", page))
    ends = [f"{kind}@{k}" for kind in ("p", "br", "wr") for k in ("0.1", "20")]
    assert {*CORRELATIONS, *ends, "regret", "top-1000", *scopes([0.1, 0.2])} <= defined
    assert ", ".join(TOP_SHARES).replace(", 20", " or 20 %") in page.replace("\n", " ")
