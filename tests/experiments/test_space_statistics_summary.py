"""Replacement of non-finite numbers in the JSON summary of statistics."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench1shot1.commands.statistics import _without_nan
from nasbench1shot1.ground.files import write_json

FINITE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def nested(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(leaves, lambda of: st.lists(of) | st.dictionaries(st.text(), of))


@given(nested(FINITE))
def test_finite_numbers_are_unchanged(value: object) -> None:
    assert _without_nan(value) == value


@given(nested(FINITE | st.floats()))
def test_nested_values_can_be_written_and_only_non_finite_numbers_become_null(value: object) -> None:
    written = json.dumps(_without_nan(value), allow_nan=False)
    loose = json.dumps(value)
    assert json.loads(written) == json.loads(loose, parse_constant=lambda _: None)


def test_numpy_numbers_tuples_and_infinities_are_converted() -> None:
    value = {"r": np.float64("nan"), "top": (0.5, -math.inf), "rows": [{"x": math.inf}], "what": "nan"}
    assert _without_nan(value) == {"r": None, "top": [0.5, None], "rows": [{"x": None}], "what": "nan"}
    assert value["top"] == (0.5, -math.inf), "the given value is unchanged"


def test_non_finite_numbers_are_refused_unless_replaced(tmp_path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "summary.json", {"r": math.nan})
    assert list(tmp_path.iterdir()) == []
    write_json(tmp_path / "summary.json", _without_nan({"r": math.nan}))
    assert json.loads((tmp_path / "summary.json").read_text()) == {"r": None}
