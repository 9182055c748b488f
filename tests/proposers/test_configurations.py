"""Identities and values of configurations as plain values."""

import numpy as np
import pytest

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers.configurations import parse_id, to_python_scalars


@pytest.mark.parametrize("value", [np.nan, np.inf, np.float32("nan"), [1], np.zeros(2)])
def test_values_that_json_cannot_represent_are_refused_by_name(value):
    with pytest.raises(InvalidInputError, match="'rate' is"):
        to_python_scalars({"rate": value})


@pytest.mark.parametrize("text", ["", "1-2", "1-2-3-4", "a-b-c"])
def test_an_invalid_identity_is_refused(text):
    with pytest.raises(ValueError):
        parse_id(text)
