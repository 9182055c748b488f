"""Identities and values of configurations, as plain Python values."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError

Scalar = int | float | str | bool | None
"""Value of a hyperparameter, or of a field of a record."""
ConfigurationId = tuple[int, int, int]
"""hpbandster's identity of a configuration: bracket, stage that drew it, number within the stage."""


def format_id(identity: ConfigurationId) -> str:
    """Return a configuration's identity as text: "0-0-3"."""
    return "-".join(map(str, identity))


def parse_id(text: str) -> ConfigurationId:
    """Return the identity that `format_id` wrote; raises ValueError for other text."""
    bracket, stage, number = map(int, text.split("-"))
    return bracket, stage, number


def as_python(value: Any) -> Any:
    """Return a numpy scalar as a Python scalar, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def to_python_scalars(values: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a mapping with Python scalars instead of numpy scalars, to be sent between processes.

    Pyro cannot send a numpy scalar; hpbandster waits forever for a result that contains one.

    Raises:
        InvalidInputError: a value is not a scalar, or is infinite or NaN.
    """
    return {str(name): _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: Any) -> Scalar:
    scalar: Scalar = as_python(value)
    if scalar is not None and not isinstance(scalar, (bool, int, float, str)):
        raise InvalidInputError(f"'{name}' is of type {type(value).__name__}: give a number, a string, or None")
    if isinstance(scalar, float) and not math.isfinite(scalar):
        raise InvalidInputError(f"'{name}' is {scalar}: give a finite number, or None")
    return scalar
