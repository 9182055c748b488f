"""Criteria that measure how well predicted values rank architectures by true errors, and their confidence intervals.

The criteria are explained in docs/ranking_criteria.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.experiments.rank_correlation import Floats, kendall, pearson, spearman, varies
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.bootstrap import CONFIDENCE, draw_resamples, percentile_interval
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.text import counted

Ints = NDArray[np.int64]
TOP_SHARES = {"0.1": 1, "0.5": 5, "1": 10, "5": 50, "10": 100, "20": 200}
"""K of the top-K criteria: percent, as in the names of criteria, mapped to per mille."""
SPARSE_DECIMALS = 3
"""Decimals to which `sparse-kendall` rounds true errors, which are fractions: 0.1 percentage points."""
FEWEST = 3
"""Minimum number of architectures for a correlation; with two, every correlation is 1 or -1."""
LABELS = ("predicted values", "true errors")
MORE_IMAGES = "evaluate on more images, or use weights of another epoch"
ADVICE = (MORE_IMAGES, "give architectures whose true errors differ")
"""Advice in error messages if all predicted values, or all true errors, are equal."""
MOST_RESAMPLES, FEWEST_RESAMPLES, SORTED_VALUES = 1000, 100, 4_000_000


@dataclass(frozen=True, eq=False)
class Comparison:
    """Predicted values and true errors of the same architectures; smaller is better in both.

    Args:
        predicted: (A,) float64, such as one-shot errors (fractions) or one-shot losses (nats).
        true: (A,) float64, true errors as fractions.
        labels: names of predicted values and true errors in error messages.
        advice: advice in error messages if one of the two sides is constant.

    Raises:
        InvalidInputError: the lengths differ, there are no architectures, or a value is NaN or infinite.
    """

    predicted: Floats
    true: Floats
    labels: tuple[str, str] = LABELS
    advice: tuple[str, str] = ADVICE

    def __post_init__(self) -> None:
        """Check both sides."""
        if self.predicted.ndim != 1 or self.predicted.shape != self.true.shape:
            raise InvalidInputError(
                f"{self.labels[0]} of shape {self.predicted.shape} cannot be compared with {self.labels[1]} of shape "
                f"{self.true.shape}: give one value of each per architecture"
            )
        if not len(self):
            raise InvalidInputError("there are no architectures to compare: give at least one")
        for values, label in zip((self.predicted, self.true), self.labels, strict=True):
            check_finite(values, label)

    def __len__(self) -> int:
        """Return the number of architectures."""
        return len(self.predicted)

    @cached_property
    def true_ranks(self) -> Ints:
        """(A,): 1 + the number of architectures with a strictly smaller true error; equal errors share a rank."""
        return np.searchsorted(np.sort(self.true), self.true, side="left").astype(np.int64) + 1

    @cached_property
    def sorted_by_prediction(self) -> tuple[Floats, Ints]:
        """(A,) ascending predicted values and their true ranks, which ascend within equal predicted values."""
        order = np.lexsort((self.true_ranks, self.predicted))
        return self.predicted[order], self.true_ranks[order]

    def top(self, k: int) -> "TopK":
        """Return the `k` architectures with the smallest predicted values."""
        if k not in self._top:
            predicted, ranks = self.sorted_by_prediction
            first, last = (bisect(predicted, predicted[k - 1]) for bisect in (bisect_left, bisect_right))
            self._top[k] = TopK(k, ranks[:first], ranks[first:last])
        return self._top[k]

    @cached_property
    def _top(self) -> "dict[int, TopK]":
        return {}


def _comparison(
    predicted: ArrayLike, true: ArrayLike, labels: tuple[str, str], advice: tuple[str, str] = ADVICE
) -> Comparison:
    return Comparison(np.asarray(predicted, np.float64), np.asarray(true, np.float64), labels, advice)


@dataclass(frozen=True, eq=False)
class TopK:
    """The `k` architectures predicted best; ties for the last places are broken at random, all orders equally likely.

    Args:
        k: number of architectures, at least 1.
        certain: (C,) true ranks of the architectures that belong to the top in every order of ties, with C < k.
        tied: (T,) ascending true ranks of the architectures that tie for the remaining places, with C + T ≥ k.
    """

    k: int
    certain: Ints
    tied: Ints

    def precision(self) -> float:
        """Return the expected fraction of the `k` architectures whose true rank is at most `k`."""
        drawn = (self.k - len(self.certain)) / len(self.tied)
        hits = np.count_nonzero(self.certain <= self.k) + drawn * np.count_nonzero(self.tied <= self.k)
        return float(hits) / self.k

    def best_rank(self) -> float:
        """Return the expected best true rank, 1 to A."""
        return self._expected_minimum(self.certain, self.tied)

    def worst_rank(self) -> float:
        """Return the expected worst true rank, 1 to A."""
        return -self._expected_minimum(-self.certain, -self.tied[::-1])

    def _expected_minimum(self, certain: Ints, tied: Ints) -> float:
        """Return the expected minimum of `certain` and of `k - C` of the ascending `tied`, without replacement."""
        places, earlier = self.k - len(certain), np.arange(len(tied) - 1)
        none_earlier = np.cumprod(np.maximum(len(tied) - places - earlier, 0) / (len(tied) - earlier))
        values = np.minimum(tied, certain.min(initial=np.iinfo(np.int64).max))
        return float(values[0] + none_earlier @ np.diff(values))


@dataclass(frozen=True)
class Criterion:
    """A criterion that measures how well predicted values rank architectures.

    Args:
        name: the name in files, such as "spearman" or "p@5".
        label: the label of plot axes.
        limits: the smallest and the largest possible value.
        measure: function that computes the value.
    """

    name: str
    label: str
    limits: tuple[float, float]
    measure: Callable[[Comparison], float]

    def __call__(self, predicted: ArrayLike, true: ArrayLike) -> float:
        """Return the criterion of (A,) predicted values and (A,) true errors; raises the errors of `evaluate`."""
        return self.measure(_comparison(predicted, true, LABELS))


def check_finite(values: Floats, label: str) -> None:
    """Check that values can be ranked.

    Raises:
        InvalidInputError: a value is NaN or infinite.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InvalidInputError(
            f"{len(bad):,} of {len(values):,} {label} are NaN or infinite (the first at index {bad[0]}), so they "
            "cannot be ranked: leave these architectures out"
        )


def _correlation(
    coefficient: Callable[[Floats, Floats], float], comparison: Comparison, decimals: int | None = None
) -> float:
    """Return a correlation coefficient; the true errors are rounded to `decimals` first, if given."""
    predicted, true = comparison.predicted, comparison.true
    if len(comparison) < FEWEST:
        raise InvalidInputError(
            f"a correlation of {counted(len(comparison), 'architecture')} is undefined: give at least {FEWEST}"
        )
    true, rounded = (true, "") if decimals is None else (np.round(true, decimals), "rounded ")
    value = coefficient(predicted, true)
    if np.isnan(value):
        raise _undefined(predicted, true, (comparison.labels[0], rounded + comparison.labels[1]), comparison.advice)
    return value


def _undefined(predicted: Floats, true: Floats, labels: tuple[str, str], advice: tuple[str, str]) -> InvalidInputError:
    # If both sides vary, only Pearson's r can be undefined, because of the side with the smaller relative variation.
    spread = [float(np.ptp(side)) / float(np.abs(side).max() or 1) for side in (predicted, true)]
    side, name, what = (predicted, labels[0], advice[0]) if spread[0] <= spread[1] else (true, labels[1], advice[1])
    extent = "" if not varies(side) else " up to rounding"
    return InvalidInputError(
        f"all {len(side):,} {name} are equal{extent} ({side[0]:.6g}), so their correlation is undefined: {what}"
    )


def top_size(per_mille: int, architectures: int) -> int:
    """Return the number of architectures in a top share: rounded down as by Ning et al., but at least 1."""
    return max(1, architectures * per_mille // 1000)


def _top_share(measure: Callable[[TopK, int], float], per_mille: int, comparison: Comparison) -> float:
    """Return a measure of a top share, which receives the share and the number of all architectures."""
    architectures = len(comparison)
    return measure(comparison.top(top_size(per_mille, architectures)), architectures)


def _regret(comparison: Comparison) -> float:
    chosen = comparison.predicted == comparison.predicted.min()
    best = comparison.true.min()
    return float((comparison.true[chosen] - best).mean())


def _all_criteria() -> list[Criterion]:
    correlations = {
        "spearman": ("Spearman's ρ", partial(_correlation, spearman)),
        "kendall": ("Kendall's τ-b", partial(_correlation, kendall)),
        "pearson": ("Pearson's r", partial(_correlation, pearson)),
        "sparse-kendall": (
            "Kendall's τ-b, true errors rounded to 0.1 %",
            partial(_correlation, kendall, decimals=SPARSE_DECIMALS),
        ),
    }
    top_k: dict[str, tuple[str, Callable[[TopK, int], float]]] = {
        "p": ("precision at top {} %", lambda top, _: top.precision()),
        "br": ("best true rank in predicted top {} %, as a share of all", lambda top, n: top.best_rank() / n),
        "wr": ("worst true rank in predicted top {} %, as a share of all", lambda top, n: top.worst_rank() / n),
    }
    return [
        *(Criterion(name, label, (-1.0, 1.0), measure) for name, (label, measure) in correlations.items()),
        *(
            Criterion(f"{name}@{percent}", label.format(percent), (0.0, 1.0), partial(_top_share, measure, per_mille))
            for name, (label, measure) in top_k.items()
            for percent, per_mille in TOP_SHARES.items()
        ),
        Criterion("regret", "regret of the architecture predicted best", (0.0, float("inf")), _regret),
    ]


CRITERIA: dict[str, Criterion] = {criterion.name: criterion for criterion in _all_criteria()}
"""All criteria by name, in the order of files and pictures."""


def evaluate(
    predicted: ArrayLike,
    true: ArrayLike,
    criteria: Iterable[str] = tuple(CRITERIA),
    labels: tuple[str, str] = LABELS,
    advice: tuple[str, str] = ADVICE,
) -> dict[str, float]:
    """Return the values of criteria for one ranking; all criteria share one sort.

    Args:
        predicted: (A,) predicted values, smaller is better, such as one-shot errors (fractions) or losses (nats).
        true: (A,) true errors as fractions.
        criteria: names from `CRITERIA`. Default: all criteria.
        labels: names of predicted and true values in error messages, such as ("one-shot errors", "true errors").
        advice: advice in error messages if all predicted values, or all true values, are equal.

    Returns:
        The value of each criterion, in the given order.

    Raises:
        InvalidInputError: a value is NaN or infinite, lengths differ, a name is unknown, or a requested correlation is
            undefined because one side is constant or fewer than 3 architectures are given.
    """
    comparison, names = _comparison(predicted, true, labels, advice), list(criteria)
    for name in names:
        if name not in CRITERIA:
            raise unknown_name("criterion", name, CRITERIA)
    return {name: CRITERIA[name].measure(comparison) for name in names}


def scopes(true: ArrayLike) -> dict[str, NDArray[np.bool_]]:
    """Return the groups of architectures in which criteria are computed.

    Args:
        true: (A,) true errors as fractions.

    Returns:
        (A,) masks: "all"; "top-1000", the 1,000 smallest true errors; "top-10%", the smallest 10 % (at least 1). A top
        that would be all architectures is left out.
        Architectures that tie with the last architecture of a group belong to the group, which may then be larger.

    Raises:
        InvalidInputError: a true error is NaN or infinite, or there are none.
    """
    comparison = _comparison(true, true, (LABELS[1], LABELS[1]))
    largest = {"all": len(comparison), "top-1000": 1000, "top-10%": top_size(100, len(comparison))}
    return {n: comparison.true_ranks <= k for n, k in largest.items() if n == "all" or k < len(comparison)}


# Bootstrap confidence intervals over architectures --------------------------------------------------------------------


def default_resamples(architectures: int) -> int:
    """Return the default number of resamples: 1,000 for up to 4,000 architectures, fewer for more, at least 100.

    With 100 resamples, the standard error of an end of a 95 % interval is 0.27 standard errors of the criterion.
    """
    return int(np.clip(SORTED_VALUES // max(1, architectures), FEWEST_RESAMPLES, MOST_RESAMPLES))


def bootstrap(
    predicted: ArrayLike,
    true: ArrayLike,
    criteria: Iterable[str],
    rng: np.random.Generator,
    resamples: int | None = None,
    level: float = CONFIDENCE,
    groups: ArrayLike | None = None,
    labels: tuple[str, str] = LABELS,
) -> dict[str, tuple[float, float]]:
    """Return percentile bootstrap intervals of criteria (Efron and Tibshirani 1993, chapter 13).

    Every resample draws A architectures with replacement and is used for all criteria. The intervals do not depend on
    the order of the architectures. If a correlation is undefined in a resample, for example because all draws are
    equal, it counts as -1 for the lower end and as 1 for the upper end.

    Args:
        predicted: (A,) predicted values, smaller is better.
        true: (A,) true errors as fractions.
        criteria: names from `CRITERIA`.
        rng: draws the resamples; equal generators give equal intervals.
        resamples: number of resamples. Default: `default_resamples(A)`.
        level: confidence level, between 0 and 1.
        groups: (A,) integers from 0; architectures of one group are drawn together. Architectures with equal cells
            should be a group, because they share one true error. Default: every architecture is drawn separately.
        labels: names of predicted and true values in error messages.

    Returns:
        The lower and the upper end of each criterion's interval.

    Raises:
        InvalidInputError: `rng`, `resamples`, `level` or `groups` is invalid, or `evaluate` raises for all
            architectures.
    """
    check_rng(rng)
    if not 0 < level < 1:
        raise InvalidInputError(f"level cannot be {level!r}: give a number between 0 and 1")
    if resamples is not None and resamples < 1:
        raise InvalidInputError(f"resamples cannot be {resamples}: give a positive number")
    chosen = [CRITERIA[name] for name in evaluate(predicted, true, criteria, labels)]
    predicted, true = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    order = np.lexsort((true, predicted))
    members = np.arange(len(true)) if groups is None else _checked_groups(groups, len(true))[order]
    draws = _resampled_rows(members, rng, resamples or default_resamples(len(true)))
    values = np.array([_measured(chosen, predicted[rows], true[rows]) for rows in (order[draw] for draw in draws)])
    limits = np.reshape([criterion.limits for criterion in chosen], (-1, 2)).T
    worst, best = (np.where(np.isnan(values), of, values) for of in limits)
    tail = (1 - level) / 2
    low, high = percentile_interval(worst, tail)[0], percentile_interval(best, tail)[1]
    return {criterion.name: (float(low[i]), float(high[i])) for i, criterion in enumerate(chosen)}


def _checked_groups(groups: ArrayLike, architectures: int) -> Ints:
    members = np.asarray(groups)
    if members.shape != (architectures,) or not np.issubdtype(members.dtype, np.integer) or members.min() < 0:
        raise InvalidInputError(f"groups must be {architectures:,} integers from 0, one for each architecture")
    return np.unique(members, return_inverse=True)[1].astype(np.int64)


def _resampled_rows(members: Ints, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
    """Yield the ascending row numbers of each resample; rows of a group that is drawn twice appear twice."""
    groups = int(members.max()) + 1
    for drawn in draw_resamples(groups, resamples, rng):
        times = np.bincount(drawn, minlength=groups)
        yield np.repeat(np.arange(len(members)), times[members])


def _measured(criteria: Sequence[Criterion], predicted: NDArray[np.float64], true: NDArray[np.float64]) -> list[float]:
    comparison = Comparison(predicted, true)
    return [_value_or_nan(criterion, comparison) for criterion in criteria]


def _value_or_nan(criterion: Criterion, comparison: Comparison) -> float:
    try:
        return criterion.measure(comparison)
    except InvalidInputError:  # undefined in this resample
        return float("nan")
