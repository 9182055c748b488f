"""The true errors that summaries, screens and plots show: one rule for lists of truths and for frames."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

Place = tuple[int, str]
"""A budget in epochs, and a split: "validation" or "test"."""
ALL = "all"
"""The scope of all architectures."""


def headline_place(places: Iterable[Place]) -> Place:
    """Return the largest budget, on test if available, else on validation."""
    return max(places, key=lambda place: (place[0], place[1] == "test"))


def rows_at(frame: "pandas.DataFrame", place: Place) -> "pandas.DataFrame":
    """Return the rows of a frame with columns `budget` and `split` at one place."""
    return frame[(frame["budget"] == place[0]) & (frame["split"] == place[1])]


def places(frame: "pandas.DataFrame") -> list[Place]:
    """Return the distinct places of a frame with columns `budget` and `split`, ascending by budget."""
    return sorted({(int(budget), str(split)) for budget, split in zip(frame["budget"], frame["split"], strict=True)})


def place_per_budget(frame: "pandas.DataFrame") -> list[Place]:
    """Return `headline_place` of every budget in a frame, ascending by budget."""
    return [headline_place(group) for _, group in groupby(places(frame), key=itemgetter(0))]


def rows_of_all(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """Return the rows of correlations.csv over all architectures, not only those that the table measured."""
    rows = frame[frame["scope"] == ALL]
    return rows.drop_duplicates(["epoch", "budget", "split", "criterion"])  # rows of all architectures come first
