"""Bootstrap confidence intervals of criteria over architectures (docs/ranking_criteria.md)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.experiments.correlation.criteria import CRITERIA, LABELS, Comparison, Criterion, Ints, evaluate
from nasbench1shot1.ground.errors import InvalidInputError

MOST_RESAMPLES, FEWEST_RESAMPLES, SORTED_VALUES = 1000, 100, 4_000_000


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
    level: float = 0.95,
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
        InvalidInputError: `resamples`, `level` or `groups` is invalid, or `evaluate` raises for all architectures.
    """
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
    tail = (1 - level) / 2
    return {
        criterion.name: (_quantile(column, tail, criterion.limits[0]), _quantile(column, 1 - tail, criterion.limits[1]))
        for criterion, column in zip(chosen, values.T, strict=True)
    }


def _checked_groups(groups: ArrayLike, architectures: int) -> Ints:
    members = np.asarray(groups)
    if members.shape != (architectures,) or not np.issubdtype(members.dtype, np.integer) or members.min() < 0:
        raise InvalidInputError(f"groups must be {architectures:,} integers from 0, one for each architecture")
    return np.unique(members, return_inverse=True)[1].astype(np.int64)


def _resampled_rows(members: Ints, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
    """Yield the ascending row numbers of each resample; rows of a group that is drawn twice appear twice."""
    groups = int(members.max()) + 1
    for _ in range(resamples):
        times = np.bincount(rng.integers(groups, size=groups), minlength=groups)
        yield np.repeat(np.arange(len(members)), times[members])


def _measured(criteria: Sequence[Criterion], predicted: NDArray[np.float64], true: NDArray[np.float64]) -> list[float]:
    comparison = Comparison(predicted, true)
    return [_value_or_nan(criterion, comparison) for criterion in criteria]


def _value_or_nan(criterion: Criterion, comparison: Comparison) -> float:
    try:
        return criterion.measure(comparison)
    except InvalidInputError:  # undefined in this resample
        return float("nan")


def _quantile(values: NDArray[np.float64], share: float, if_undefined: float) -> float:
    return float(np.quantile(np.where(np.isnan(values), if_undefined, values), share))
