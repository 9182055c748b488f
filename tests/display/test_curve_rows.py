"""Assignment of a figure's curves to rows."""

import pytest

from nasbench1shot1.display.colours import curve_rows


@pytest.mark.parametrize(
    ("panels", "rows"),
    [
        ([], [[]]),
        (["abcde"], ["abcde"]),
        (["abcde", "cdefg"], ["abcdefg"]),  # no panel has six
        (["abcdef"], ["abc", "def"]),
        (["abcdefghi", "a"], ["abcde", "fghi"]),
        (["abcdefghijk"], ["abcd", "efgh", "ijk"]),
    ],
)
def test_no_panel_has_more_than_five_curves(panels, rows):
    assert curve_rows(panels) == [list(row) for row in rows]


def test_methods_are_split_into_rows_by_kind_if_a_panel_is_full():
    kinds = dict.fromkeys("abc", "one") | dict.fromkeys("vwxyz", "other")
    assert curve_rows(["abcvw", "xyz"], kinds) == [list("abcvwxyz")]
    assert curve_rows(["abcvwxyz"], kinds) == [list("abc"), list("vwxyz")]
    assert curve_rows(["avbwcx", "yz"], kinds) == [list("abc"), list("vwxyz")]
