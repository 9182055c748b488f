"""The four verdicts on a claim, and the rules by which values decide between them.

A rule decides one *part* of a claim, such as one pair of methods on one space. The verdict on the claim combines its
parts. What a run can decide depends on its *level*:

- "paper": the paper's setting, or all architectures of the paper's benchmark. It can confirm and refute.
- "ranking": below the paper's setting, but large enough to rank methods (docs/scales.md). It can confirm and refute
  orderings, but not numbers.
- "sample": a uniform sample of the benchmark's architectures. It can confirm, but not refute.
- "below": anything smaller, or another space or protocol than the paper's. It decides nothing.

Predicted values decide nothing, either. Runs with an option that the paper does not state can confirm, but not refute,
because the claim may hold with another value of the option. Runs that observe means over seeds, where the published
runs observed single trainings, can also confirm, but not refute.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.bootstrap import TAIL
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL, difference_interval, mean_interval

Floats = NDArray[np.float64]
Verdict = Literal["reproduced", "not reproduced", "undecided at this scale", "needs full scale"]
REPRODUCED: Verdict = "reproduced"
NOT_REPRODUCED: Verdict = "not reproduced"
UNDECIDED: Verdict = "undecided at this scale"
NEEDS_FULL_SCALE: Verdict = "needs full scale"
VERDICTS: tuple[Verdict, ...] = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NEEDS_FULL_SCALE)
Level = Literal["paper", "ranking", "sample", "below"]
LEVELS: tuple[Level, ...] = ("paper", "ranking", "sample", "below")
"""All levels, the most decisive first."""
FEWEST_SEEDS, FEWEST_SEARCHES = 10, 100
"""Smallest number of one-shot searches, and of black-box searches, that decide anything."""
NORMAL = 1.96
"""Half the width of a 95 % interval in standard errors."""


class Interval(NamedTuple):
    """A value with its 95 % confidence interval. Both ends are NaN if the value is exact or has no interval.

    With `is_range`, the ends are the smallest and the largest value, because there are too few for an interval
    (`ground.intervals.FEWEST_FOR_INTERVAL`).
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    is_range: bool = False

    @property
    def in_percent(self) -> "Interval":
        """The interval of a fraction in percent."""
        return Interval(100 * self.value, 100 * self.low, 100 * self.high, self.is_range)

    @property
    def is_exact(self) -> bool:
        """Whether there is no interval."""
        return math.isnan(self.low)


@dataclass(frozen=True)
class Strength:
    """What the evidence of a part can decide.

    Attributes:
        level: how close the setting is to the paper's.
        n: number of runs, searches or architectures: the smallest of the compared groups.
        fewest: smallest number that decides anything.
        predicted: whether some of the values are predicted; if so, they decide nothing.
        only_confirms: whether the values depend on an option that the paper does not state, or on less noisy
            observations than the published ones.
    """

    level: Level
    n: int
    fewest: int
    predicted: bool = False
    only_confirms: bool = False

    @property
    def confirms(self) -> bool:
        """Whether the evidence can confirm an ordering."""
        return self.n >= self.fewest and self.level != "below" and not self.predicted

    @property
    def refutes(self) -> bool:
        """Whether the evidence can refute an ordering."""
        return self.confirms and self.level != "sample" and not self.only_confirms

    @property
    def unlimited(self) -> "Strength":
        """The strength of equal evidence that could also refute."""
        return replace(self, level="paper" if self.level == "sample" else self.level, only_confirms=False)


# Rules ----------------------------------------------------------------------------------------------------------------


def of_ordering(difference: Interval, strength: Strength) -> Verdict:
    """Return the verdict on "A is better than B".

    Args:
        difference: by how much A is better than B; the claim says that it is positive.
        strength: what the evidence can decide.
    """
    low, high = (difference.value,) * 2 if difference.is_exact else (difference.low, difference.high)
    if low > 0 and strength.confirms:
        return REPRODUCED
    if high < 0 and strength.refutes:
        return NOT_REPRODUCED
    return UNDECIDED


def of_number(value: Interval, published: float, tolerance: float, strength: Strength, error: float = 0.0) -> Verdict:
    """Return the verdict on a published number.

    Args:
        value: our value; its interval has the published number in its middle if both are equal. NaN, such as a mean
            with an undefined correlation, decides nothing.
        published: the published number.
        tolerance: half a unit of the last printed digit, or what "about" allows.
        strength: what the evidence can decide; below the paper's setting, only a sample can confirm.
        error: the standard error of the published number, if it is a mean over runs.
    """
    if math.isnan(value.value) or not strength.confirms or strength.level == "ranking":
        return UNDECIDED
    if is_equal(value, published, tolerance, error):
        return REPRODUCED
    return NOT_REPRODUCED if strength.refutes else UNDECIDED


def is_equal(value: Interval, published: float, tolerance: float, error: float = 0.0) -> bool:
    """Return whether a published number agrees with a value; arguments as in `of_number`.

    Both have an error, so the difference is compared with the root of the sum of their squared half-widths.
    """
    difference = published - value.value
    own = 0.0 if value.is_exact else (value.high - value.value if difference > 0 else value.value - value.low)
    return abs(difference) <= math.hypot(own, NORMAL * error) + tolerance + 1e-12


def of_range(low: Interval, high: Interval, published: tuple[float, float], strength: Strength) -> Verdict:
    """Return the verdict on "all values lie between two numbers", from our smallest and largest value."""
    if not strength.confirms or strength.level == "ranking":
        return UNDECIDED
    if low.value >= published[0] and high.value <= published[1]:
        return REPRODUCED
    outside = low.high < published[0] or high.low > published[1]
    return NOT_REPRODUCED if outside and strength.refutes else UNDECIDED


def of_share(hits: int, strength: Strength) -> Verdict:
    """Return the verdict on "(nearly) all runs end alike", from how many of the runs do.

    The claim is reproduced if the exact 95 % interval of the share (Clopper and Pearson 1934) is above one half, and
    not reproduced if it is below. As for numbers, runs below the paper's setting decide nothing.
    """
    if strength.level == "ranking":
        return UNDECIDED
    share = share_of(hits, strength.n)
    return of_ordering(Interval(share.value - 0.5, share.low - 0.5, share.high - 0.5), strength)


def decided(rule: Callable[[Strength], Verdict], strength: Strength) -> dict[str, Any]:
    """Return two fields of a row: the verdict, and whether the part disagrees with evidence that can only confirm it.

    Args:
        rule: returns the verdict by strength.
        strength: what the evidence can decide.
    """
    verdict = rule(strength)
    return {"verdict": verdict, "disagrees": verdict == UNDECIDED and rule(strength.unlimited) == NOT_REPRODUCED}


def combined(parts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim from those on its parts: one refuted part refutes it, and all must confirm it."""
    if NOT_REPRODUCED in parts:
        return NOT_REPRODUCED
    return REPRODUCED if parts and set(parts) == {REPRODUCED} else UNDECIDED


# Values with intervals ------------------------------------------------------------------------------------------------


def share_of(hits: int, n: int) -> Interval:
    """Return a share with its exact 95 % interval (Clopper and Pearson 1934)."""
    from scipy.stats import beta  # type: ignore[attr-defined]

    low = float(beta.ppf(TAIL, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - TAIL, hits + 1, n - hits)) if hits < n else 1.0
    return Interval(hits / n, low, high)


def mean_of(values: Floats) -> Interval:
    """Return a mean with Student's 95 % interval, or with the range of few values; one value has neither."""
    value = float(values.mean())
    if len(values) < 2:
        return Interval(value)
    if len(values) < FEWEST_FOR_INTERVAL:
        return Interval(value, float(values.min()), float(values.max()), is_range=True)
    low, high = mean_interval(values)
    return Interval(value, float(low), float(high))


def difference_of(a: Floats, b: Floats) -> Interval:
    """Return mean(b) - mean(a) of independent groups with Welch's 95 % interval.

    If one of the groups has few values, the ends are the range of the differences of their values.
    """
    value = float(b.mean() - a.mean())
    if min(len(a), len(b)) < 2:
        return Interval(value)
    if min(len(a), len(b)) < FEWEST_FOR_INTERVAL:
        return Interval(value, float(b.min() - a.max()), float(b.max() - a.min()), is_range=True)
    return Interval(value, *difference_interval(a, b))
