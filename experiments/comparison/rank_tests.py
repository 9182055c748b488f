"""Rank tests of methods: Mann–Whitney, Wilcoxon's signed ranks, ridits, Holm's correction and effect sizes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST = 5
"""Minimum number of runs on each side of a test; with fewer runs, even the smallest p-value is inconclusive."""
FEWEST_PAIRS = 6
"""Minimum number of matched runs of a signed-rank test; with five, the smallest p-value is 0.0625."""
MOST_EXACT = 50
"""Largest number of runs of each method, or of their differences other than zero, for which p-values are exact."""
DECIMALS = 12
"""Decimals of the differences of matched runs, as multiples of the largest regret; the rest are rounding errors."""
STEPS = 2**16
"""Ridits are rounded to multiples of 1 / STEPS in tests against a known distribution."""
ROUNDING = 1e-12
"""An upper bound on rounding errors of tail probabilities in these tests, which are not reported as smaller values."""
SIGNIFICANT = 0.05
"""p-values from this one on are called not significant."""
COLUMNS = ("moment", "first", "second", "n_first", "n_second", "u", "p", "p_holm", "a12", "effect")
PAIR = ("moment", "first", "second")
PAIRED_COLUMNS = (*PAIR, "pairs", "w", "p_paired", "p_paired_holm", "rank_biserial", "wins", "ties", "losses")
EFFECTS = ((0.71, "large"), (0.64, "medium"), (0.56, "small"), (0.0, "negligible"))
"""Minimum A12 (or 1 − A12) for each effect size (Vargha and Delaney, 2000, section 5)."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A known distribution of regrets, such as the one of random sampling from a table.

    Attributes:
        values: the regrets, (M,), in any order; equal ones may occur several times.
        probabilities: their probabilities, (M,), which sum to 1.
    """

    values: Floats
    probabilities: Floats

    @property
    def mean(self) -> float:
        """The expected regret."""
        return float(self.values @ self.probabilities)

    @property
    def std(self) -> float:
        """The standard deviation of the regret."""
        return float(np.sqrt((self.values - self.mean) ** 2 @ self.probabilities))

    @cached_property
    def _ascending(self) -> tuple[Floats, Floats]:
        """The regrets in ascending order, (M,), and the probabilities of all before each one and in total, (M + 1,)."""
        order = np.argsort(self.values)
        return self.values[order], np.concatenate([[0.0], np.cumsum(self.probabilities[order])])

    def ridits(self, regrets: Floats) -> Floats:
        """Return P(Y < x) + P(Y = x) / 2 for each regret x, where Y has this distribution (Bross, 1958)."""
        values, before = self._ascending
        below, up_to = (before[np.searchsorted(values, regrets, side)] for side in ("left", "right"))
        found: Floats = (below + up_to) / 2
        return found

    def sums(self, n: int) -> Floats:
        """Return the probabilities of all sums of the rounded ridits of n regrets drawn from here, (n STEPS + 1,)."""
        from scipy.fft import irfft, next_fast_len, rfft

        one = np.bincount(_steps(self.ridits(self.values)), weights=self.probabilities, minlength=STEPS + 1)
        length = n * STEPS + 1
        size = next_fast_len(length, real=True)  # type: ignore[no-untyped-call]
        found: Floats = irfft(rfft(one, size) ** n, size)[:length]
        return found


def _steps(ridits: Floats) -> Ints:
    return np.rint(STEPS * ridits).astype(np.int64)


def rank_tests(
    samples: Mapping[str, Floats],
    moment: str,
    involving: Collection[str] | None = None,
    distributions: Mapping[str, Distribution] | None = None,
) -> pandas.DataFrame:
    """Compare the regrets of all pairs of methods with a two-sided Mann–Whitney U test.

    A method is compared with a known distribution by the sum of its ridits. Under the null hypothesis that its regrets
    are drawn from the distribution, their ridits have the mean 1/2. The p-value is twice the smaller tail of the exact
    distribution of the sum, with ties (Bross: How to Use Ridit Analysis, 1958, who uses the normal approximation). This
    test is the limit of the U test against a growing sample of the distribution.

    Args:
        samples: regrets of the runs of each method, by label; NaN for a run without a result, which does not count.
            Methods with fewer than `FEWEST` runs are omitted.
        moment: the measure that the samples are values of, such as "final".
        involving: labels; only pairs with at least one of them are tested. Default: all pairs.
        distributions: known distributions by label. Each method (of `involving`, if given) is compared with each of
            them.

    Returns:
        A data frame with one row per pair and the columns `COLUMNS`. `u` is the U statistic of the first method, `p`
        the p-value, and `p_holm` the p-value with Holm's correction for the number of pairs. `a12` is the probability
        that a run of the first method has a lower regret than a run of the second (ties count half; Vargha and Delaney,
        2000). `effect` is the effect size in words. For a known distribution, `n_second` is 0, and `u` is the sum of
        the ridits.
    """
    known = {label: values[~np.isnan(values)] for label, values in samples.items()}
    enough = {label: values for label, values in known.items() if len(values) >= FEWEST}
    wanted = set(enough if involving is None else involving)
    pairs = [pair for pair in combinations(enough, 2) if wanted.intersection(pair)]
    rows = [_test(moment, first, second, enough) for first, second in pairs]
    tested = {label: values for label, values in enough.items() if label in wanted}
    for label, distribution in (distributions or {}).items():
        sums = {n: distribution.sums(n) for n in {len(values) for values in tested.values()}}
        for method, values in tested.items():
            ridits = distribution.ridits(values)
            a12 = 1 - float(ridits.mean())
            p = _tails(sums[len(values)], int(_steps(ridits).sum()))
            rows.append((moment, method, label, len(values), 0, float(ridits.sum()), p, a12, effect_size(a12)))
    frame = pandas.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    frame.insert(COLUMNS.index("p_holm"), "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _test(moment: str, first: str, second: str, samples: Mapping[str, Floats]) -> tuple[object, ...]:
    a, b = samples[first], samples[second]
    u, p = _mann_whitney(a, b)
    a12 = 1 - u / (len(a) * len(b))  # U counts the pairs in which the first regret is higher
    return moment, first, second, len(a), len(b), u, p, a12, effect_size(a12)


def _tails(probabilities: Floats, found: int) -> float:
    """Return the two-sided p-value: twice the probability of values up to `found`, or from it on, at most 1."""
    tail = min(probabilities[: found + 1].sum(), probabilities[found:].sum())
    return min(1.0, 2 * max(float(tail), ROUNDING))


def _mann_whitney(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the U statistic of `a` and the two-sided p-value; the p-value is 1 if all values are equal.

    The p-value is exact for at most `MOST_EXACT` values on each side, even if some are equal, as final regrets of
    searches often are. With more values, scipy computes the p-value, by the normal approximation unless one side
    has at most eight values and all values differ.
    """
    from scipy.stats import mannwhitneyu  # type: ignore[attr-defined]

    different = np.unique(np.concatenate([a, b])).size
    if different == 1:
        return len(a) * len(b) / 2, 1.0
    is_exact, is_tied = max(len(a), len(b)) <= MOST_EXACT, different < len(a) + len(b)
    if is_exact and is_tied:
        return _exact_mann_whitney(a, b)
    found = mannwhitneyu(a, b, method="exact" if is_exact else "auto")
    return float(found.statistic), float(found.pvalue)


def _exact_mann_whitney(a: Floats, b: Floats) -> tuple[float, float]:
    """Return statistic and p-value from the distribution over all assignments of the ranks to both sides."""
    from scipy.stats import rankdata

    ranks = np.round(2 * rankdata(np.concatenate([a, b]))).astype(int)  # twice the ranks, which can be halves
    ascending = np.sort(ranks)
    ways = np.zeros((len(a) + 1, int(ascending[len(b) :].sum()) + 1))  # by number and sum of the ranks
    ways[0, 0] = 1
    for rank, reached in zip(ascending, np.minimum(np.cumsum(ascending) + 1, ways.shape[1]), strict=True):
        ways[1:, rank:reached] += ways[:-1, : reached - rank].copy()
    found = int(ranks[: len(a)].sum())
    tail = min(ways[-1, : found + 1].sum(), ways[-1, found:].sum())
    return found / 2 - len(a) * (len(a) + 1) / 2, min(1.0, float(2 * tail / ways[-1].sum()))


def paired_tests(samples: Mapping[str, Floats], keys: Mapping[str, Sequence[str]], moment: str) -> pandas.DataFrame:
    """Compare the regrets of all pairs of methods seed by seed, with a two-sided Wilcoxon signed-rank test.

    Args:
        samples: as in `rank_tests`; NaN for a run without a result, which is not compared with any other run.
        keys: for each method, the keys of its runs (`Trace.key`). Two methods are matched if their keys are equal.
        moment: as in `rank_tests`.

    Returns:
        A data frame with a row for each row of `rank_tests`, and the columns `PAIRED_COLUMNS`. `pairs` is the number of
        matched runs with results, 0 if the methods do not match. `w` is the statistic, and `p_paired_holm` the p-value
        with Holm's correction for the number of tests. `rank_biserial` is the matched-pairs rank-biserial correlation
        (`rank_biserial`). All are NaN for fewer than `FEWEST_PAIRS` matched runs. `wins`, `ties` and `losses` count the
        matched runs in which the first method has a lower, an equal or a higher regret. Without a match, they count all
        pairs of runs.
    """
    enough = {label: values for label, values in samples.items() if np.isfinite(values).sum() >= FEWEST}
    rows = []
    for first, second in combinations(enough, 2):
        a, b = enough[first], enough[second]
        matched = match(keys[first], keys[second])
        difference = _differences(a[matched[0]], b[matched[1]]) if matched else _differences(a[:, None], b[None, :])
        found = (np.nan, np.nan, np.nan)
        if matched and len(difference) >= FEWEST_PAIRS:
            found = (*signed_rank(difference), rank_biserial(difference))
        counts = [int(of.sum()) for of in (difference < 0, difference == 0, difference > 0)]
        rows.append((moment, first, second, len(difference) if matched else 0, *found, *counts))
    frame = pandas.DataFrame(rows, columns=[name for name in PAIRED_COLUMNS if name != "p_paired_holm"])
    frame.insert(PAIRED_COLUMNS.index("p_paired_holm"), "p_paired_holm", holm(frame["p_paired"].to_numpy(np.float64)))
    return frame


def match(first: Sequence[str], second: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Return the positions of matched runs in both sequences; None unless both have the same keys, each once."""
    places = {key: place for place, key in enumerate(second)}
    if "" in first or len(places) < len(second) or sorted(first) != sorted(second):
        return None
    return list(range(len(first))), [places[key] for key in first]


def _differences(a: Floats, b: Floats) -> Floats:
    """Return the known differences a - b as multiples of the largest regret, without rounding errors."""
    difference = (a - b).ravel()
    largest = float(max(np.nanmax(np.abs(a)), np.nanmax(np.abs(b)))) or 1.0
    return np.round(difference[~np.isnan(difference)] / largest, DECIMALS)


def signed_rank(difference: Floats) -> tuple[float, float]:
    """Return Wilcoxon's signed-rank statistic and the two-sided p-value; the p-value is 1 if all values are zero.

    Differences of zero are dropped (Wilcoxon, 1945). The p-value is exact for at most `MOST_EXACT` other differences,
    even if some have equal sizes. For more, scipy computes it by the normal approximation.
    """
    from scipy.stats import wilcoxon

    other = difference[difference != 0]
    if not len(other):
        return 0.0, 1.0
    if len(other) <= MOST_EXACT:
        return _exact_signed_rank(other)
    found = wilcoxon(other, alternative="two-sided")
    return float(found.statistic), float(found.pvalue)


def rank_biserial(difference: Floats) -> float:
    """Return the matched-pairs rank-biserial correlation (Kerby: The Simple Difference Formula, 2014).

    From the sum of the ranks of all negative differences, the sum of the ranks of all positive ones is subtracted, and
    the result is divided by the sum of all ranks. It is 1 if all differences are negative, so that the first method has
    the lower regrets, and 0 if all are zero.
    """
    from scipy.stats import rankdata

    other = difference[difference != 0]
    if not len(other):
        return 0.0
    ranks = rankdata(np.abs(other))
    return float((ranks * -np.sign(other)).sum() / ranks.sum())


def _exact_signed_rank(difference: Floats) -> tuple[float, float]:
    """Return statistic and p-value of at most `MOST_EXACT` differences, from the distribution over all their signs."""
    from scipy.stats import rankdata

    ranks = np.round(2 * rankdata(np.abs(difference))).astype(int)  # twice the ranks, which can be halves
    ways = np.ones(1)  # by sum of the ranks, over all signs
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    positive = int(ranks[difference > 0].sum())
    smaller = min(positive, int(ranks.sum()) - positive)
    return smaller / 2, min(1.0, float(2 * ways[: smaller + 1].sum() / ways.sum()))


def effect_size(a12: float) -> str:
    """Return an effect size in words: negligible, small, medium or large."""
    return next(word for smallest, word in EFFECTS if max(a12, 1 - a12) >= smallest)


def describe_effect(first: str, second: str, a12: float) -> str:
    """Return the meaning of an A12 as a sentence without a full stop."""
    better, worse, share = (first, second, a12) if a12 >= 0.5 else (second, first, 1 - a12)
    if share == 0.5:
        return f"{first} and {second} are equally likely to be better"
    of_pairs = f"{100 * share:.0f} %" if share == 1 or share < 0.995 else "more than 99 %"
    return f"{better} is better than {worse} in {of_pairs} of all pairs of searches: a {effect_size(a12)} effect"


def holm(p: Sequence[float] | Floats) -> Floats:
    """Return p-values with Holm's correction (Holm, 1979), in the order given; NaN stays, and does not count."""
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = len(known) - np.arange(len(known))
    adjusted = np.full_like(values, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted
