"""Compact storage of a column is lossless for its reader."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench1shot1.nasbench101.sample import IMAGES
from nasbench1shot1.tables.columns import stored_column
from nasbench1shot1.tables.formats import compact

doubles = st.floats(width=64, allow_nan=True, allow_infinity=True, allow_subnormal=True)
singles = st.floats(width=32)
fractions = st.integers(0, IMAGES).map(lambda count: count / IMAGES)
rounded = fractions.map(lambda fraction: float(np.float32(fraction)))


def bits(values: Any) -> list[int]:
    return np.asarray(values, np.float64).reshape(-1).view(np.uint64).tolist()


def read_back(stored: Any, about: dict[str, Any]) -> np.ndarray:
    column = stored_column(stored[:, None, None], about | {"epochs": [4]}, "validation_accuracy")
    return column.values(np.arange(len(stored)), 4, 0)


@pytest.mark.parametrize("images", [IMAGES, None])
@given(values=st.lists(st.one_of(doubles, singles, fractions, rounded), min_size=1))
def test_any_array_is_restored_bit_for_bit(images: int | None, values: list[float]) -> None:
    assert bits(read_back(*compact(np.array(values), images))) == bits(values)


@given(st.lists(fractions, min_size=1))
def test_quotients_are_stored_as_counts(values: list[float]) -> None:
    stored, about = compact(np.array(values), IMAGES)
    assert stored.dtype == np.uint16
    assert about["images"] == IMAGES
    assert bits(read_back(stored, about)) == bits(values)


@given(st.lists(rounded, min_size=1))
def test_float32_quotients_are_stored_as_marked_counts(values: list[float]) -> None:
    stored, about = compact(np.array([*values, float(np.float32(1 / 3))]), IMAGES)
    assert (stored.dtype, about) == (np.uint16, {"images": IMAGES, "rounded": "float32"})
    assert bits(read_back(stored, about)[:-1]) == bits(values)


def test_every_count_is_restored() -> None:
    every = np.arange(IMAGES + 1) / IMAGES
    for values in (every, every.astype(np.float32).astype(np.float64)):
        stored, about = compact(values, IMAGES)
        assert stored.tolist() == list(range(IMAGES + 1))
        assert bits(read_back(stored, about)) == bits(values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.5, 1 / 3], np.uint16),
        ([0.5, float(np.float32(1 / 3))], np.uint16),
        ([0.5, 1 / 10_000], np.float64),
        ([0.5, float(np.float32(1 / 10_000))], np.float32),
        ([1 / 7, float(np.float32(1 / 13))], np.float64),
        ([-0.0], np.float32),
        ([1.0, 2.0], np.float32),
        ([float("nan")], np.float32),
        ([1e300], np.float64),
    ],
)
def test_the_smallest_storage_is_chosen(values: list[float], kind: type) -> None:
    stored, _ = compact(np.array(values), IMAGES)
    assert stored.dtype == kind


def test_seconds_are_not_stored_as_counts_of_images() -> None:
    stored, about = compact(np.array([0.0, 0.5, 1.0]))
    assert (stored.dtype, about) == (np.float32, {})
