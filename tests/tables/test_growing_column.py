"""Columns that are built row by row in temporary files."""

from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.tables.growing_column import GrowingColumn
from nasbench1shot1.tables.stored_columns import CurveColumn


def grown(rows: dict[int, np.ndarray], n: int, folder: Path, images: int | None = None) -> GrowingColumn:
    column = GrowingColumn((3,), folder, images)
    for row, values in rows.items():
        column.append(row, values)
    column.finish(n)
    return column


def test_accuracies_are_stored_as_counts_and_gaps_stay_unknown(tmp_path: Path) -> None:
    first = grown({0: np.array([0.5, 0.25, np.nan]), 2: np.array([0.0, 1.0, 0.75])}, 4, tmp_path, images=4)
    second = grown({1: np.array([0.25, 0.25, 0.25])}, 4, tmp_path, images=4)
    stored, facts = GrowingColumn.stack([first, second], 4)
    assert (stored.dtype, stored.shape, facts) == (np.uint16, (4, 3, 2), {"images": 4})
    assert list(tmp_path.iterdir()) == []  # the files have no name
    column = CurveColumn(stored, (1, 2, 3), images=4, repeats=(0, 2))
    nan = np.nan
    expected = [[0.5, nan, nan], [nan, nan, 0.25], [0.0, nan, nan], [nan] * 3]
    np.testing.assert_array_equal(column.values(np.arange(4), 1, "all"), expected)
    np.testing.assert_array_equal(column.values(np.arange(4), 2, "mean"), [0.25, 0.25, 1.0, nan])
    np.testing.assert_array_equal(column.values(np.arange(4), 3, 0), [nan, nan, 0.75, nan])
    np.testing.assert_array_equal(column.values(np.arange(4), 3, np.array([0, 2, 0, 2])), [nan, 0.25, 0.75, nan])
    assert np.isnan(column.values(np.arange(4), 4, "mean")).all()
    assert column.value(2, 2, 0) == 1.0
    assert np.isnan(column.value(0, 1, 1))


def test_other_accuracies_become_quotients(tmp_path: Path) -> None:
    counted = grown({0: np.array([0.5, 0.25, np.nan])}, 2, tmp_path, images=4)
    other = grown({0: np.array([0.5, 0.75, np.nan]), 1: np.array([0.1, 0.2, 0.3])}, 2, tmp_path, images=4)
    stored, facts = GrowingColumn.stack([counted, other], 2)
    assert (stored.dtype, facts) == (np.float32, {})
    expected = [[[0.5, 0.5], [0.25, 0.75], [np.nan, np.nan]], [[np.nan, 0.1], [np.nan, 0.2], [np.nan, 0.3]]]
    np.testing.assert_allclose(stored, expected, rtol=1e-6)


def test_unknown_values_can_be_replaced(tmp_path: Path) -> None:
    column = grown({1: np.array([1.0, 2.0, 3.0])}, 3, tmp_path)
    stored, _ = GrowingColumn.stack([column], 3, lambda rows: np.full((rows.stop - rows.start, 3, 1), 7.0))
    np.testing.assert_array_equal(stored[..., 0], [[7, 7, 7], [1, 2, 3], [7, 7, 7]])


def test_counts_beyond_16_bits(tmp_path: Path) -> None:
    column = grown({0: np.array([1.0, 0.5, np.nan])}, 1, tmp_path, images=100_000)
    stored, _ = GrowingColumn.stack([column], 1)
    assert stored.dtype == np.uint32
    values = CurveColumn(stored, (1, 2, 3), images=100_000).values(np.zeros(1, int), 2, 0)
    assert values == pytest.approx(0.5)
