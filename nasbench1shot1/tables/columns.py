"""Columns of accuracies or times: their storage, and the look-up of one or many values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, unknown_name

Rows = NDArray[np.int64]
Run = Literal["mean", "random", "all"] | int
Repeat = Run | Rows
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MetricColumn:
    """Values of R rows at several budgets, with K repeats each.

    Attributes:
        stored: (R, budgets, K). Unsigned integers are the numbers of correctly classified images. Floats are the values
            or, if `images` is given, quotients that were rounded to float32.
        epochs: the budgets, ascending.
        images: number of images on which each accuracy was measured, if known.
        rounded: whether values are rounded to float32, because the source's accuracies are (TensorFlow's are).
        name: name of the column, for error messages.
    """

    stored: NDArray[Any]
    epochs: tuple[int, ...]
    images: int | None = None
    rounded: bool = False
    name: str = "of accuracies"

    @classmethod
    def from_description(cls, stored: NDArray[Any], about: dict[str, Any], name: str = name) -> "MetricColumn":
        """Return a column, given its description in `meta.json`."""
        rounded = about.get("rounded") == "float32"
        return cls(stored, tuple(about.get("epochs", ())), about.get("images"), rounded, name)

    @cached_property
    def _counts(self) -> bool:
        return self.stored.dtype.kind == "u"

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
        """
        if epochs not in self.epochs:
            shape = (*rows.shape, self.stored.shape[2]) if is_run(repeat, "all") else rows.shape
            return np.full(shape, np.nan)
        stored = self.stored[rows, self.epochs.index(epochs)]
        if self._counts and self.rounded:
            return _pick(self._quotients_of(stored), repeat)
        numbers = np.asarray(stored, np.float64)
        if not self.images:
            return _pick(numbers, repeat)
        return _pick(numbers if self._counts else np.rint(numbers * self.images), repeat) / self.images

    def value(self, row: int, epochs: int, repeat: Literal["mean"] | int) -> float:
        """Return one value, equal to the result of `values`, ten times as fast."""
        budget = self._budgets.get(epochs)
        if budget is None:
            return float("nan")
        if repeat == "mean":
            numbers = [self._number(self.stored.item(row, budget, k)) for k in range(self.stored.shape[2])]
            known = [number for number in numbers if number == number]  # not NaN
            return self._finished(sum(known) / len(known)) if known else float("nan")
        number: float = self.stored.item(row, budget, repeat)
        return number / self._divisor if self._divisor else self._finished(self._number(number))

    @cached_property
    def _budgets(self) -> dict[int, int]:
        return {epochs: place for place, epochs in enumerate(self.epochs)}

    @cached_property
    def _divisor(self) -> int | None:
        """The divisor that turns a stored number into a value; None if a division is not sufficient."""
        if self._counts:
            return None if self.rounded else self.images
        return None if self.images else 1

    def _number(self, stored: float) -> float:
        """Return the number to be averaged: a count if quotients are exact, else the value."""
        if self._counts:
            return self._quotient_of(int(stored)) if self.rounded else stored
        return float(np.rint(stored * self.images)) if self.images else stored

    def _quotient_of(self, count: int) -> float:
        try:
            return self._quotient_list[count]
        except IndexError:
            raise self._too_many() from None

    def _quotients_of(self, counts: NDArray[np.unsignedinteger]) -> Floats:
        try:
            quotients: Floats = self._quotients[counts]
            return quotients
        except IndexError:
            raise self._too_many() from None

    def _too_many(self) -> DamagedFileError:
        return DamagedFileError(
            f"column {self.name} of the table counts more than {self.images:,} images: build or import the table again"
        )

    def _finished(self, number: float) -> float:
        return number / self.images if self.images and not self.rounded else number


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
    """Select or average the repeats, which are the last axis."""
    if isinstance(repeat, np.ndarray):
        return np.take_along_axis(values, repeat[..., None], axis=-1)[..., 0]
    if isinstance(repeat, str):
        return np.asarray(_mean(values)) if repeat == "mean" else values
    return np.asarray(values[..., repeat])


def _mean(values: Floats) -> Floats:
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
    seeds: tuple[int, ...] = (),
    trained: Callable[[], NDArray[np.bool_]] | None = None,
) -> Repeat:
    """Check `run` of `Table.query`; convert "random" to a random repeat per item, and a seed to its repeat.

    `trained` returns which repeats each item has, (*shape, repeats), if some may lack repeats; only these are drawn.
    """
    if isinstance(run, str):
        if run not in ("mean", "random", "all"):
            raise unknown_name("run", run, ("mean", "random", "all"))
        return _draw_repeats(repeats, shape, rng, trained) if run == "random" else run
    number = whole_number("run", run, "'mean', 'random', 'all' or the number of a repeat")
    if number in seeds:
        return seeds.index(number)
    if not 0 <= number < repeats:
        raise OutOfDomainError(f"the table {table} has no repeat {number}: it has {repeats}, numbered from 0")
    return number


def whole_number(name: str, value: Any, wanted: str) -> int:
    """Return a Python or numpy integer as an int; raises InvalidInputError for anything else."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidInputError(f"{name} cannot be {value!r}: give {wanted}")
    return int(value)


def _draw_repeats(
    repeats: int,
    shape: tuple[int, ...],
    rng: np.random.Generator | None,
    trained: Callable[[], NDArray[np.bool_]] | None,
) -> Repeat:
    if rng is None:
        raise InvalidInputError("run='random' draws a repeat: give rng, such as rng=numpy.random.default_rng(0)")
    check_rng(rng)
    drawn = rng.integers(repeats, size=shape) if trained is None else _draw_among(trained(), rng)
    return np.asarray(drawn, np.int64) if shape else int(drawn)


def _draw_among(trained: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one of each item's repeats (..., K); 0 for an item without any."""
    drawn = rng.integers(np.maximum(trained.sum(axis=-1), 1))
    first_trained = np.argsort(~trained, axis=-1, kind="stable")
    return np.take_along_axis(first_trained, np.asarray(drawn)[..., None], axis=-1)[..., 0]
