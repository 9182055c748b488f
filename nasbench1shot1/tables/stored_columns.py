"""The values of columns of metrics: their storage, the look-up of one or many of them, and the choice of repeats."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import check_rng, whole_number
from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    OutOfDomainError,
    alternatives,
    unknown_name,
)

Rows = NDArray[np.int64]
Run = Literal["mean", "random", "all"] | int
Repeat = Run | Rows
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PlainColumn:
    """One value for each of R rows, whatever the budget and the repeat.

    Attributes:
        stored: (R,) integers or floats.
    """

    stored: NDArray[Any]

    def values(self, rows: Rows, epochs: int, repeat: Repeat) -> NDArray[Any]:
        """Return the values of rows as int64 or float64; "all" adds a last axis of one repeat."""
        values = np.asarray(self.stored[rows], np.int64 if self.stored.dtype.kind in "iu" else np.float64)
        return values[..., None] if is_run(repeat, "all") else values

    def value(self, row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
        """Return one value."""
        found: float = self.stored.item(row)
        return found


@dataclass(frozen=True)
class MetricColumn:
    """Values of R rows at several budgets, with K repeats each, such as accuracies.

    K may differ between columns. If other columns have more repeats, this column's values of these repeats are NaN.

    Attributes:
        stored: (R, budgets, K). Unsigned integers are the numbers of correctly classified images. Floats are the values
            or, if `images` is given, quotients that were rounded to float32.
        epochs: the budgets, ascending.
        images: number of images on which each accuracy was measured, if known.
        rounded: whether the quotients of image counts are rounded to float32, because the source's accuracies are
            (TensorFlow's are).
        name: name of the column, for error messages.
        means: the budgets at which the column has means over repeats, the first of its K values: the values of single
            repeats are NaN, because they are unknown.
        is_same_for_repeats: whether the only stored value (K = 1) applies to every repeat.
    """

    stored: NDArray[Any]
    epochs: tuple[int, ...]
    images: int | None = None
    rounded: bool = False
    name: str = "of accuracies"
    means: tuple[int, ...] = ()
    is_same_for_repeats: bool = False

    @cached_property
    def _counts(self) -> bool:
        return self.stored.dtype.kind == "u"

    @cached_property
    def _largest(self) -> float:
        """The largest number that may be stored: all images, if image counts are stored."""
        return self.images if self._counts and self.images else math.inf

    @cached_property
    def _quotients(self) -> Floats:
        """The accuracy for every possible image count."""
        quotients = np.arange((self.images or 0) + 1) / (self.images or 1)
        return quotients.astype(np.float32).astype(np.float64) if self.rounded else quotients

    @cached_property
    def _quotient_list(self) -> list[float]:
        quotients: list[float] = self._quotients.tolist()
        return quotients

    def values(self, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return the values of rows as float64; NaN if the column does not have the budget.

        Exact quotients are averaged as image counts, so that equal sums give equal means.

        Args:
            rows: row numbers of any shape.
            epochs: the budget.
            repeat: "mean", "all" (adds a last axis), the number of a repeat, or one such number per row.

        Raises DamagedFileError for a count of more than all images.
        """
        if not isinstance(repeat, str) and self.is_same_for_repeats:
            repeat = 0
        if epochs not in self.epochs or (not isinstance(repeat, str) and epochs in self.means):
            shape = (*rows.shape, self.stored.shape[2]) if is_run(repeat, "all") else rows.shape
            return np.full(shape, np.nan)
        return _pick(self._numbers(self.stored[rows, self.epochs.index(epochs)]), repeat) / self._denominator

    def value(self, row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
        """Return one value, equal to the result of `values`, ten times as fast; raises the same error."""
        budget = self._budgets.get(epochs)
        if budget is None:
            return float("nan")
        if repeat == "mean" or self.is_same_for_repeats:
            numbers = [self._number(self.stored.item(row, budget, k)) for k in range(self.stored.shape[2])]
            known = [number for number in numbers if number == number]  # not NaN
            return sum(known) / len(known) / self._denominator if known else float("nan")
        if epochs in self.means:
            return float("nan")
        try:
            number: float = self.stored.item(row, budget, repeat)
        except IndexError:
            if row < len(self.stored):
                return float("nan")  # a repeat that only other columns have
            raise
        divisor = self._divisor
        if divisor and number <= self._largest:
            return number / divisor
        return self._number(number) / self._denominator

    @cached_property
    def _budgets(self) -> dict[int, int]:
        return {epochs: place for place, epochs in enumerate(self.epochs)}

    @cached_property
    def _divisor(self) -> int | None:
        """The divisor that turns a stored number into a value; None if a division is not sufficient."""
        if self._counts:
            return None if self.rounded else self.images
        return None if self.images else 1

    @cached_property
    def _denominator(self) -> int:
        """The divisor that turns averaged numbers into values: the number of images if the numbers are image counts."""
        return self.images if self.images and not (self._counts and self.rounded) else 1

    @property
    def known_epochs(self) -> tuple[int, ...]:
        """The budgets, or the epochs of learning curves, at which any row has a value, ascending."""
        known: NDArray[np.bool_] = np.asarray(self._known.any(axis=(0, 2)))
        return tuple(epochs for epochs, is_known in zip(self.epochs, known, strict=True) if is_known)

    @property
    def _known(self) -> NDArray[np.bool_]:
        """Which stored numbers are values, (R, budgets, K)."""
        return np.ones(self.stored.shape, bool) if self._counts else ~np.isnan(self.stored)

    def _number(self, stored: float) -> float:
        """Return the number to be averaged: a count if quotients are exact, else the value."""
        if self._counts:
            if stored > self._largest:
                raise self._too_many()
            return self._quotient_list[int(stored)] if self.rounded else stored
        return float(np.rint(stored * self.images)) if self.images else stored

    def _numbers(self, stored: NDArray[Any]) -> Floats:
        """Return `_number` of an array."""
        if self._counts:
            if (stored > self._largest).any():
                raise self._too_many()
            return np.asarray(self._quotients[stored] if self.rounded else stored, np.float64)
        numbers = np.asarray(stored, np.float64)
        return np.asarray(np.rint(numbers * self.images)) if self.images else numbers

    def _too_many(self) -> DamagedFileError:
        return DamagedFileError(
            f"column {self.name} of the table counts more than {self.images:,} images: build or import the table again"
        )


@dataclass(frozen=True)
class CurveColumn(MetricColumn):
    """Values of R rows after every epoch of the trainings of N epochs, of the K repeats that were trained so long.

    Attributes:
        stored: (R, N, K). Of unsigned integers, the largest of the type stands for a missing value.
        repeats: the numbers of the K repeats in the table.
    """

    repeats: tuple[int, ...] = (0,)

    def values(self, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return the values of rows as float64; NaN if the trainings have no such epoch."""
        width = max(self.repeats) + 1
        if epochs not in self._budgets:
            return np.full((*rows.shape, width) if is_run(repeat, "all") else rows.shape, np.nan)
        numbers = np.full((*rows.shape, width), np.nan)
        numbers[..., list(self.repeats)] = self._numbers(self.stored[rows, epochs - 1])
        return _pick(numbers, repeat) / self._denominator

    def value(self, row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
        """Return one value, equal to the result of `values`."""
        return float(self.values(np.asarray(row), epochs, repeat))

    def _numbers(self, stored: NDArray[Any]) -> Floats:
        if not self._counts:
            return super()._numbers(stored)
        is_missing = stored == self._missing
        return np.where(is_missing, np.nan, super()._numbers(np.where(is_missing, stored.dtype.type(0), stored)))

    @property
    def _known(self) -> NDArray[np.bool_]:
        return self.stored != self._missing if self._counts else super()._known

    @cached_property
    def _missing(self) -> int:
        return int(np.iinfo(self.stored.dtype).max)


@dataclass(frozen=True)
class EvenColumn:
    """Values within the trainings of N epochs of a metric to which every epoch adds the same amount.

    Attributes:
        ends: the column of the values at the end.
        budget: N.
    """

    ends: MetricColumn
    budget: int

    @property
    def means(self) -> tuple[int, ...]:
        """The epochs at which the column has means over repeats."""
        return tuple(range(1, self.budget + 1)) if self.budget in self.ends.means else ()

    def values(self, rows: Rows, epochs: int, repeat: Repeat) -> Floats:
        """Return `ends.values` of the budget, times the share of its epochs."""
        return self.ends.values(rows, self.budget, repeat) * (epochs / self.budget)

    def value(self, row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
        """Return one value, equal to the result of `values`."""
        return self.ends.value(row, self.budget, repeat) * (epochs / self.budget)


StoredColumn = PlainColumn | MetricColumn | EvenColumn


def stored_column(stored: NDArray[Any], entry: Mapping[str, Any], name: str) -> PlainColumn | MetricColumn:
    """Return a column, given its entry in `meta.json` and its name."""
    epochs, budget = tuple(entry.get("epochs", ())), entry.get("moment")
    means, is_same = tuple(entry.get("means", ())), bool(entry.get("is_same_for_repeats"))
    storage = entry.get("images"), entry.get("rounded") == "float32", name, means, is_same
    if isinstance(budget, int):
        return CurveColumn(stored, tuple(range(1, budget + 1)), *storage, tuple(entry["repeats"]))
    return MetricColumn(stored, epochs, *storage) if epochs else PlainColumn(stored)


def to_counts(accuracies: Floats, images: int) -> Floats | None:
    """Convert accuracies to numbers of correctly classified images; NaN stays NaN.

    If a source computed an accuracy as a mean over batches, it has a rounding error; up to 0.01 images are tolerated.

    Returns:
        Whole numbers as float64; None if an accuracy is not a quotient with the denominator `images`.
    """
    counts = accuracies * images
    whole = np.rint(counts)
    return None if np.nanmax(np.abs(counts - whole), initial=0) > 0.01 else whole


def stored_counts(counts: Floats, images: int) -> NDArray[Any]:
    """Return counts in the form that `MetricColumn` stores: unsigned integers, or rounded quotients if some are NaN."""
    if np.isnan(counts).any():
        return (counts / images).astype(np.float32)
    return counts.astype(np.uint16 if images < 2**16 else np.uint32)


def is_run(repeat: Repeat, name: str) -> bool:
    """Return whether `repeat` is the string `name` rather than an array of repeats."""
    return isinstance(repeat, str) and repeat == name


def _pick(values: Floats, repeat: Repeat) -> Floats:
    """Select or average the repeats, which are the last axis; NaN for a repeat beyond the last."""
    if isinstance(repeat, str):
        return np.asarray(mean_of_known(values)) if repeat == "mean" else values
    repeats = values.shape[-1]
    if isinstance(repeat, np.ndarray):
        picked = np.take_along_axis(values, np.minimum(repeat, repeats - 1)[..., None], axis=-1)[..., 0]
        return np.where(repeat < repeats, picked, np.nan)
    return np.asarray(values[..., repeat]) if repeat < repeats else np.full(values.shape[:-1], np.nan)


def mean_of_known(values: Floats) -> Floats:
    """Return the means over the repeats that have a value; NaN without any.

    Values are added one after another, as for a single row, so that both results are bit-identical.
    """
    there = ~np.isnan(values)
    total, counted = np.zeros(values.shape[:-1]), there.sum(axis=-1)
    for repeat in range(values.shape[-1]):
        total = np.where(there[..., repeat], total + values[..., repeat], total)
    mean: Floats = np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)
    return mean


def choose_repeat(
    table: str,
    repeats: int,
    run: Run,
    shape: tuple[int, ...],
    rng: np.random.Generator | None,
    seeds: tuple[int, ...],
    trained: Callable[[], NDArray[np.bool_]],
) -> Repeat:
    """Check `run` of `Table.query`; convert "random" to a random repeat per item, and a seed to its repeat.

    A number that is not a seed is the position of a repeat. It is refused if a seed is also the position of another
    repeat, as for the seeds 1, 2 and 3.

    `trained` returns which repeats each item has, (*shape, repeats); only these are drawn.
    """
    if isinstance(run, str):
        if run not in ("mean", "random", "all"):
            raise unknown_name("run", run, ("mean", "random", "all"))
        return _draw_repeats(repeats, shape, rng, trained) if run == "random" else run
    number = whole_number("run", run, "'mean', 'random', 'all' or the number of a repeat")
    if number in seeds:
        return seeds.index(number)
    is_ambiguous = any(place != seed < repeats for place, seed in enumerate(seeds))  # numbers that are other seeds
    if not 0 <= number < repeats or is_ambiguous:
        if seeds:
            raise OutOfDomainError(f"the table {table} has no seed {number}: choose {alternatives(seeds)}")
        known = "0, its only repeat" if repeats == 1 else f"0 to {repeats - 1}"
        raise OutOfDomainError(f"the table {table} has no repeat {number}: choose {known}")
    return number


def _draw_repeats(
    repeats: int,
    shape: tuple[int, ...],
    rng: np.random.Generator | None,
    trained: Callable[[], NDArray[np.bool_]],
) -> Repeat:
    if rng is None:
        raise InvalidInputError("run='random' draws a repeat: give rng, such as rng=numpy.random.default_rng(0)")
    check_rng(rng)
    drawn = _draw_among(trained(), rng) if repeats > 1 else np.zeros(shape, np.int64)
    return np.asarray(drawn, np.int64) if shape else int(drawn)


def _draw_among(trained: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one of each item's repeats (..., K); 0 for an item without any."""
    drawn = rng.integers(np.maximum(trained.sum(axis=-1), 1))
    first_trained = np.argsort(~trained, axis=-1, kind="stable")
    return np.take_along_axis(first_trained, np.asarray(drawn)[..., None], axis=-1)[..., 0]
