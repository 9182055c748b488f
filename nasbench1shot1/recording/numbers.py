"""The numbers that a loop gives its recorder with an epoch."""

import math
from collections.abc import Iterable, Mapping
from typing import SupportsFloat

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.recording.record import FIELDS

FRACTIONS = ("train_error", "one_shot_validation_error")
PROVIDED = ("train_loss", *FRACTIONS, "hessian_eigenvalue")
"""Fields of a line that the loop may provide; the recorder fills in all others."""


def split_numbers(
    numbers: Mapping[str, SupportsFloat | None],
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Return the values of `PROVIDED`, None where not given, and the loop's own numbers.

    Args:
        numbers: numbers by name; tensors and NumPy scalars are converted.

    Raises InvalidInputError if a number is infinite or NaN, a fraction is not between 0 and 1, or a name is taken.
    """
    values = {name: _finite(name, value) for name, value in numbers.items()}
    own = {name: value for name, value in values.items() if name not in PROVIDED}
    if taken := own.keys() & FIELDS.keys():
        raise InvalidInputError(f"{min(taken)} is a field that the recorder fills in: choose another name")
    return {name: values.get(name) for name in PROVIDED}, own


def check_column_names(own: Iterable[str], taken: Iterable[str]) -> None:
    """Raise InvalidInputError if one of the loop's own numbers has the name of another column of `run.metrics`."""
    if found := set(own) & {*taken, "seed"}:
        raise InvalidInputError(f"{min(found)} is already a column of records: choose another name")


def checked_seconds(seconds: SupportsFloat) -> float:
    """Return a duration as a float; raises InvalidInputError if it is not a finite number of at least 0."""
    number = finite_number("seconds", seconds)
    if number < 0:
        raise InvalidInputError(f"seconds must be at least 0, not {number:g}")
    return number


def finite_number(name: str, value: SupportsFloat) -> float:
    """Return a value as a float; raises InvalidInputError if it is not a finite number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        number = float(getattr(value, "detach", lambda: value)())  # PyTorch warns about tensors with a gradient
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} must be a number, not {value!r}") from error
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} is {number}: give a finite number (perhaps the loop has diverged)")
    return number


def _finite(name: str, value: SupportsFloat | None) -> float | None:
    if value is None:
        return None
    number = finite_number(name, value)
    if name in FRACTIONS and not 0 <= number <= 1:
        raise InvalidInputError(f"{name} must be a fraction between 0 and 1, not {number:g}")
    return number
