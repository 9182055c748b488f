"""Rank tests and effect sizes of all pairs of methods: which method has lower regrets?"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas

from nasbench1shot1.experiments.comparison.entries import Floats

FEWEST = 5
"""Minimum number of runs on each side of a test; with fewer runs, even the smallest p-value is inconclusive."""
SIGNIFICANT = 0.05
"""p-values from this one on are called not significant."""
COLUMNS = ("moment", "first", "second", "n_first", "n_second", "u", "p", "p_holm", "a12", "effect")
EFFECTS = ((0.71, "large"), (0.64, "medium"), (0.56, "small"), (0.0, "negligible"))
"""Minimum A12 (or 1 − A12) for each effect size (Vargha and Delaney, 2000, section 5)."""


def rank_tests(samples: Mapping[str, Floats], moment: str) -> pandas.DataFrame:
    """Compare the regrets of all pairs of methods with a two-sided Mann–Whitney U test.

    Args:
        samples: regrets of the runs of each method, by label. Methods with fewer than `FEWEST` runs are omitted.
        moment: point in time of the regrets, such as "end".

    Returns:
        A data frame with one row per pair and the columns `COLUMNS`. `u` is the U statistic of the first method, `p`
        the p-value, and `p_holm` the p-value with Holm's correction for the number of pairs. `a12` is the probability
        that a run of the first method has a lower regret than a run of the second (ties count half; Vargha and Delaney,
        2000). `effect_size` is the effect size in words.
    """
    enough = {label: values for label, values in samples.items() if len(values) >= FEWEST}
    rows = [_test(moment, first, second, enough) for first, second in combinations(enough, 2)]
    frame = pandas.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    frame.insert(COLUMNS.index("p_holm"), "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _test(moment: str, first: str, second: str, samples: Mapping[str, Floats]) -> tuple[object, ...]:
    a, b = samples[first], samples[second]
    u, p = _mann_whitney(a, b)
    a12 = 1 - u / (len(a) * len(b))  # U counts the pairs in which the first regret is higher
    return moment, first, second, len(a), len(b), u, p, a12, effect_size(a12)


def _mann_whitney(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the U statistic of `a` and the two-sided p-value; the p-value is 1 if all values are equal."""
    from scipy.stats import mannwhitneyu  # type: ignore[attr-defined]

    if np.ptp(np.concatenate([a, b])) == 0:
        return len(a) * len(b) / 2, 1.0
    found = mannwhitneyu(a, b, alternative="two-sided")
    return float(found.statistic), float(found.pvalue)


def effect_size(a12: float) -> str:
    """Return an effect size in words: negligible, small, medium or large."""
    return next(word for smallest, word in EFFECTS if max(a12, 1 - a12) >= smallest)


def describe_effect(first: str, second: str, a12: float) -> str:
    """Return the meaning of an A12 as a sentence without a full stop."""
    better, worse, share = (first, second, a12) if a12 >= 0.5 else (second, first, 1 - a12)
    if share == 0.5:
        return f"{first} and {second} are equally likely to be better"
    return f"{better} is better than {worse} in {100 * share:.0f} % of pairs: a {effect_size(a12)} effect"


def holm(p: Sequence[float] | Floats) -> Floats:
    """Return p-values with Holm's correction (Holm, 1979), in the order given."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted
