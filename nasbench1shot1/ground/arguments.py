"""Checks of arguments in Python calls: whole numbers, random generators, and options that are not given by keyword."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from nasbench1shot1.ground.errors import InvalidInputError, shorten

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def check_rng(rng: object) -> None:
    """Raise InvalidInputError for anything but a numpy Generator, such as a seed."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInputError(
            "rng must be a numpy Generator, such as numpy.random.default_rng(0), not " + shorten(repr(rng))
        )


def is_integer(value: Any) -> bool:
    """Return whether a value is a Python or numpy integer; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole_number(name: str, value: Any, wanted: str) -> int:
    """Return a Python or numpy integer as an int; raises InvalidInputError for anything else."""
    if type(value) is int:
        return value
    if not is_integer(value):
        raise InvalidInputError(f"{name} cannot be {value!r}: give {wanted}")
    return int(value)


def positive_number(name: str, value: Any, most: int | None = None) -> int:
    """Return an integer of at least 1, Python's or numpy's, as an int.

    Raises InvalidInputError for anything else, and for a number above `most`.
    """
    if not is_integer(value) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1, not {value!r}")
    if most is not None and value > most:
        raise InvalidInputError(f"{name} must be at most {most:,}, not {value:,}: give a smaller number")
    return int(value)


def check_torch_generator(generator: object) -> None:
    """Raise InvalidInputError for anything but a torch.Generator, such as a seed."""
    import torch

    if not isinstance(generator, torch.Generator):
        raise InvalidInputError(
            "generator must be a torch.Generator, such as torch.Generator().manual_seed(0), not "
            + shorten(repr(generator))
        )


def options_by_keyword(example: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Let a function with one positional parameter refuse further positional arguments in a sentence.

    Args:
        example: a correct call, for the message.
    """

    def decorated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if len(args) > 1:
                raise InvalidInputError(
                    f"nb.{function.__name__} takes one positional argument: give all others by keyword, as in "
                    f"`{example}`"
                )
            return function(*args, **kwargs)

        return checked

    return decorated
