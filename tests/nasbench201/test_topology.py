"""Published topology strings (papers.md 9.6): known counts and classes of the complete data."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.numbering import all_operations, index_of
from nasbench1shot1.nasbench201.topology import representatives, unique_string

ALL_SKIP = (1,) * 6
six_operations = st.tuples(*[st.integers(0, 4)] * 6)


@pytest.mark.parametrize("zero_rule, count", [(False, 12_751), (True, 6_466)])
def test_golden_counts(zero_rule: bool, count: int) -> None:
    lowest = representatives(zero_rule)
    assert lowest.shape == (15_625,)
    assert len(np.unique(lowest)) == count
    assert (lowest <= np.arange(15_625)).all()
    assert np.array_equal(lowest[lowest], lowest)
    with pytest.raises(ValueError, match="read-only"):
        lowest[0] = 0


def test_classes_agree_with_the_data(shared: Path) -> None:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        classes = data["iso_class"]
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    assert np.array_equal(representatives(True), first[inverse])


def test_classes_without_the_zero_rule_are_not_a_refinement() -> None:
    """Two orders of terms: of the second architecture's equal terms, a string that holds "#" is sorted otherwise."""
    without, under = representatives(False), representatives(True)
    assert int((under[without] != under).sum()) == 109
    pair = (1, 0, 1, 1, 4, 1), (1, 1, 1, 0, 4, 1)
    assert {unique_string(operations, zero_rule=False) for operations in pair} == {"(0)@avg_pool_3x3+(0)@none+0+0"}
    assert [unique_string(operations, zero_rule=True) for operations in pair] == [
        "#+0+(0)@avg_pool_3x3+0",
        "#+(0)@avg_pool_3x3+0+0",
    ]


@pytest.mark.parametrize(
    "operations, without, with_rule",
    [
        (ALL_SKIP, "0+0+0+0", "0+0+0+0"),
        ((0,) * 6, "(((0)@none)@none+(0)@none)@none+((0)@none)@none+(0)@none", "#+#+#"),
        ((3, 0, 1, 1, 0, 1), "((0)@nor_conv_3x3)@none+(0)@none+(0)@nor_conv_3x3+0", "#+#+(0)@nor_conv_3x3+0"),
        ((0, 1, 3, 1, 3, 1), "((0)@none)@nor_conv_3x3+((0)@none)@nor_conv_3x3+0+0", "#+#+0+0"),
        ((1, 0, 2, 0, 0, 1), "(0)@none+(0)@none+(0)@none+(0)@nor_conv_1x1", "#+#+#+(0)@nor_conv_1x1"),
    ],
)
def test_strings_of_worked_examples(operations: tuple[int, ...], without: str, with_rule: str) -> None:
    assert unique_string(operations, zero_rule=False) == without
    assert unique_string(operations, zero_rule=True) == with_rule


@given(six_operations, st.booleans())
def test_equal_strings_have_one_representative(operations: tuple[int, ...], zero_rule: bool) -> None:
    lowest = int(representatives(zero_rule)[index_of(operations)])
    assert unique_string(all_operations()[lowest], zero_rule) == unique_string(operations, zero_rule)


def test_operations_that_are_not_a_cell_are_refused() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"6 operations.*\b3\b"):
        unique_string((0, 0, 0), zero_rule=True)
