"""The arrays of a table's columns, filled in from the rows of a data frame."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import InvalidInputError, alternatives
from nasbench1shot1.tables.columns import Column, Floats
from nasbench1shot1.tables.formats import compact
from nasbench1shot1.tables.frame_keys import OF_MEANS, Trainings, cell_error
from nasbench1shot1.tables.frame_metrics import NewColumn
from nasbench1shot1.tables.stored_columns import stored_counts, to_counts
from nasbench1shot1.tables.to_frame import REPEAT, SEED

_Places = NDArray[np.int64]
_STORAGE = ("images", "rounded")
_LARGE, _SPARSE = 2**24, 1000
"""Number of places above which an array is refused that has more than so many places for each value."""


class FrameArrays:
    """Fills in arrays, and remembers which budgets and repeats they have.

    Args:
        trainings: the keys of the frame's rows.
        seeds: the seeds of the table that the frame comes from; some may be missing in the frame.
    """

    def __init__(self, trainings: Trainings, seeds: Sequence[int]) -> None:
        self._of, self._n_rows = trainings, len(next(iter(trainings.identity.values())))
        self.seeds = sorted({*seeds, *trainings.seeds}) if trainings.seeds else []
        numbers = np.searchsorted(self.seeds, trainings.seeds)
        self._repeat = trainings.repeat
        if self.seeds:
            self._repeat = np.where(trainings.repeat == OF_MEANS, OF_MEANS, numbers[trainings.repeat])
        self.repeats, self.budgets = 1, set[int]()

    def column(self, new: NewColumn, values: Floats, is_whole: bool) -> tuple[NDArray[Any], dict[str, Any]] | None:
        """Return the array and the entry of a column; None if it has no value.

        Args:
            new: the column.
            values: its numbers, (N,), as in the frame.
            is_whole: whether the frame has them as integers.

        Raises InvalidInputError, which names row and column, for contradictory values.
        """
        places = np.flatnonzero(self._of.are_on(new.datasets) & ~np.isnan(values))
        if not len(places) and not new.may_be_empty:
            return None
        if not self._has_budgets(new, values, places):
            array = self._per_network(new, values, places, is_whole)
            return _stored(new, array), new.about.entry(**new.facts)
        if new.about.also_of:
            keys = np.stack([self._of.rows[places], self._of.epochs[places], self._repeat[places]])
            trainings = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
            _check_agreement(new, trainings, values, places, "of the same network, budget and repeat")
        if isinstance(new.about.moment, int):
            return self._curves(new, values, places)
        epochs = self._epochs_of(new, places)
        self.budgets |= set(epochs)
        means: tuple[int, ...] = ()
        if new.about.is_same_for_repeats:
            array = self._per_budget(new, values, places, epochs)
        else:
            means = self._means(new, places)
            array = self._per_repeat(new, values, places, epochs)
        stored, storage = _stored_with_images(new, array)
        facts = {**new.facts, **_known(new, epochs, array)}
        return stored, _entry(replace(new.about, epochs=epochs, means=means), facts, storage)

    def _has_budgets(self, new: NewColumn, values: Floats, places: _Places) -> bool:
        """Return whether a column has a value for each training.

        If its description leaves this open, its values decide: it has one value for each network only if all rows of
        each network agree. A missing value differs from all other values of its network.
        """
        if new.has_budgets is not None:
            return new.has_budgets
        is_known = self._of.are_on(new.datasets) & np.isin(self._of.rows, self._of.rows[places])
        return _conflict(self._of.rows[is_known], values[is_known]) is not None

    def _epochs_of(self, new: NewColumn, places: _Places) -> tuple[int, ...]:
        epochs = self._of.epochs[places]
        if not new.about.epochs:
            return tuple(np.unique(epochs).tolist())
        if (strange := ~np.isin(epochs, new.about.epochs)).any():
            at = int(np.argmax(strange))
            raise cell_error(
                int(places[at]),
                new.source,
                f"there is a value at {epochs[at]} epochs, but the column is only described for "
                f"{alternatives(new.about.epochs)} epochs: correct one of them",
            )
        return tuple(budget for budget in new.about.epochs if budget in new.empty or budget in epochs)

    def _means(self, new: NewColumn, places: _Places) -> tuple[int, ...]:
        """Return the budgets at which a column has means; raises InvalidInputError if it has single repeats, too."""
        is_mean, epochs = self._repeat[places] == OF_MEANS, self._of.epochs[places]
        means = np.unique(epochs[is_mean])
        if (mixed := ~is_mean & np.isin(epochs, means)).any():
            at = int(np.argmax(mixed))
            raise cell_error(
                int(places[at]),
                new.source,
                f"there is a value of a single repeat at {epochs[at]} epochs, where other rows have means over "
                "repeats: keep only repeats, or only means",
            )
        return tuple(means.tolist())

    # Arrays ----------------------------------------------------------------------------------------------------

    def _per_network(self, new: NewColumn, values: Floats, places: _Places, is_whole: bool) -> NDArray[Any]:
        """Return one value for each row of the table, (R,); integers if the frame has integers for all rows, and
        percents did not become fractions."""
        rows = self._of.rows[places]
        _check_agreement(new, rows, values, places, "of the same network")
        array = np.full(self._n_rows, np.nan)
        array[rows] = values[places]
        is_exact = is_whole and bool(((np.abs(array) <= 2**53) & (array == np.floor(array))).all())  # false for NaN
        return array.astype(np.int64) if is_exact else array

    def _per_budget(self, new: NewColumn, values: Floats, places: _Places, epochs: tuple[int, ...]) -> Floats:
        """Return one value for each row and budget, (R, e, 1), which all repeats share."""
        rows, at = self._of.rows[places], np.searchsorted(epochs, self._of.epochs[places])
        _check_agreement(new, rows * len(epochs) + at, values, places, "of the same network and budget")
        array = np.full((self._n_rows, len(epochs), 1), np.nan)
        array[rows, at, 0] = values[places]
        return array

    def _per_repeat(self, new: NewColumn, values: Floats, places: _Places, epochs: tuple[int, ...]) -> Floats:
        """Return the values of all repeats, (R, e, K); means are in the first place."""
        repeats = np.maximum(self._repeat[places], 0)
        count = max(int(repeats.max(initial=0)) + 1, new.repeats or 1)
        self.repeats = max(self.repeats, count)
        array = self._empty(new, (self._n_rows, len(epochs), count), len(places))
        array[self._of.rows[places], np.searchsorted(epochs, self._of.epochs[places]), repeats] = values[places]
        return array

    def _empty(self, new: NewColumn, shape: tuple[int, int, int], count: int) -> Floats:
        """Return an array of NaN; raises InvalidInputError if it would be large, and almost empty."""
        places = math.prod(shape)
        if places > max(_LARGE, _SPARSE * count):
            networks, epochs, repeats = shape
            advice = f"count the repeats of each network from 0 in the column '{REPEAT}'"
            advice += f" instead of '{SEED}'" if self.seeds else ""
            if isinstance(new.about.moment, int):
                advice = f"correct its name, or {advice}"
            raise InvalidInputError(
                f"the column '{new.source}' has {count:,} values, but would need {places:,} places ({networks:,} "
                f"networks × {epochs:,} epochs × {repeats:,} repeats): {advice}"
            )
        return np.full(shape, np.nan)

    def _curves(self, new: NewColumn, values: Floats, places: _Places) -> tuple[NDArray[Any], dict[str, Any]]:
        """Return learning curves (R, N, K) of the repeats that have some, and the entry of the column."""
        budget, repeats, epochs = int(new.about.moment), np.unique(self._repeat[places]), self._of.epochs[places]
        if (late := epochs > budget).any():
            raise cell_error(
                int(places[np.argmax(late)]), new.source, f"the trainings have only {budget} epochs: correct the epochs"
            )
        if OF_MEANS in repeats:
            mean = int(places[np.argmax(self._repeat[places] == OF_MEANS)])
            raise cell_error(
                mean, new.source, "a learning curve belongs to a single repeat: give the number of the repeat"
            )
        repeats = (
            np.array(new.facts.get("repeats", repeats))
            if set(repeats) <= set(new.facts.get("repeats", ()))
            else repeats
        )
        self.budgets.add(budget)
        self.repeats = max(self.repeats, int(repeats.max(initial=0)) + 1)
        array = self._empty(new, (self._n_rows, budget, len(repeats)), len(places))
        array[self._of.rows[places], epochs - 1, np.searchsorted(repeats, self._repeat[places])] = values[places]
        stored, storage = _stored_with_images(new, array)
        return stored, _entry(new.about, {**new.facts, "repeats": repeats.tolist()}, storage)


def _entry(about: Column, facts: Mapping[str, Any], storage: Mapping[str, Any]) -> dict[str, Any]:
    return about.entry(**{name: said for name, said in facts.items() if name not in _STORAGE}, **storage)


def _known(new: NewColumn, epochs: tuple[int, ...], array: Floats) -> dict[str, Any]:
    """Return the number of networks with a value at each budget, if the description has it."""
    if "known" not in new.facts:
        return {}
    counts = np.isfinite(array).any(axis=2).sum(axis=0).tolist()
    return {"known": {str(budget): count for budget, count in zip(epochs, counts, strict=True)}}


def _conflict(groups: _Places, values: Floats) -> tuple[int, int] | None:
    """Return the positions of two different values of a group; None if all values of each group agree.

    NaN differs from every value.
    """
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    differs = values != values[first[place]]
    if not differs.any():
        return None
    later = int(np.argmax(differs))
    return int(first[place[later]]), later


def _check_agreement(new: NewColumn, groups: _Places, values: Floats, places: _Places, of: str) -> None:
    """Raise InvalidInputError if two rows of a group have different values of a column with one value for each."""
    if (pair := _conflict(groups, values[places])) is None:
        return
    one, other = (int(places[at]) for at in pair)
    raise cell_error(
        other,
        new.source,
        f"'{values[other]:.12g}' differs from '{values[one]:.12g}' in row {one + 1} {of}, which has one value of "
        f"{new.about.words}: correct one of them",
    )


# Storage --------------------------------------------------------------------------------------------------------------


def _stored(new: NewColumn, array: NDArray[Any]) -> NDArray[Any]:
    """Return values as the described type if that is exact, else in as few bytes as possible."""
    is_whole = array.dtype.kind in "iu"
    if new.dtype is not None and (np.dtype(new.dtype).kind == "f" or not np.isnan(array).any()):
        with np.errstate(all="ignore"):
            cast = array.astype(new.dtype)
        if np.array_equal(cast.astype(array.dtype), array, equal_nan=True):
            return cast
    return array if is_whole else compact(array)[0]


def _stored_with_images(new: NewColumn, array: Floats) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return values and the facts of their storage: counts of images if the description has their number."""
    images: int = new.facts.get("images", 0)
    counts = to_counts(array, images) if images else None
    if counts is None:
        return _stored(new, array), {}
    dtype, gaps = np.dtype(new.dtype or "uint16"), np.isnan(counts)
    facts = {name: new.facts[name] for name in _STORAGE if name in new.facts}
    if dtype.kind == "u" and (isinstance(new.about.moment, int) or not gaps.any()):
        return np.where(gaps, np.iinfo(dtype).max, counts).astype(dtype), facts
    if "rounded" in facts:  # only counts are rounded when they are read
        return _stored(new, array), {}
    return (stored_counts(counts, images) if dtype.kind == "u" else (counts / images).astype(dtype)), facts
