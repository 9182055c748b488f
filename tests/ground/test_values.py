"""Attributes that define an object, and copies of cached values."""

import copy
from functools import cached_property
from typing import Any

import numpy as np
import pandas
import pytest

from nasbench1shot1.ground.values import are_equal, copied_property, defining_attributes, independent


class Holder:
    def __init__(self) -> None:
        self.given, self.computed = 1, 0

    @cached_property
    def length(self) -> int:
        return 3

    @copied_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines."""
        self.computed += 1
        return [{"values": [1, 2], "array": np.zeros(2)}]


def test_cached_values_are_not_defining_attributes():
    holder = Holder()
    before = defining_attributes(holder)
    assert holder.length == 3 and holder.lines
    assert defining_attributes(holder) == {**before, "computed": 1} == {"given": 1, "computed": 1}


def test_every_read_of_a_copied_property_is_a_new_copy_of_one_value():
    holder = Holder()
    first = holder.lines
    first[0]["values"].append(3)
    first[0]["array"][:] = 1
    first.clear()
    assert holder.lines[0]["values"] == [1, 2] and not holder.lines[0]["array"].any()
    assert holder.computed == 1
    with pytest.raises(AttributeError, match="'lines' of Holder cannot be set"):
        holder.lines = []  # type: ignore[misc]
    assert copy.deepcopy(holder).lines[0]["values"] == [1, 2]
    assert Holder.lines.__doc__ == "The lines."


def test_copies_are_independent_inside_each_other_and_share_other_objects():
    shared = object()
    value = {
        "a": [[1.0, None], ({"b": "c"}, shared)],
        "frame": pandas.DataFrame({"x": [1]}),
        "text": "t",
        "n": np.int64(3),
    }
    copied = independent(value)
    assert copied["a"] == value["a"] and copied["frame"].equals(value["frame"]) and copied["n"] == 3
    assert copied["a"][1][1] is shared
    copied["a"][0].append(2)
    copied["a"][1][0]["b"] = "d"
    copied["frame"].loc[0, "x"] = 5
    assert value["a"] == [[1.0, None], ({"b": "c"}, shared)] and value["frame"].loc[0, "x"] == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(4), False),
        (np.arange(3), np.arange(3.0), False),
        ((1, 2), (1, 2), True),
        (1, True, False),
        ((np.arange(3),), (np.arange(3),), False),  # cannot be compared
        ({"a": (1,)}, {"a": (1,)}, True),
        ("a", "b", False),
    ],
)
def test_attributes_are_compared_by_type_and_value(first, second, expected):
    assert are_equal(first, second) is expected
    assert are_equal(first, first)
