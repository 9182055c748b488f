"""What all configurations share: named options, checked and brought into the types of a dataclass's fields."""

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from nasbench1shot1.errors import InvalidInputError, unknown_name

T = TypeVar("T")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def typed_options(config: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the fields of a configuration want them; numpy's scalars and paths are taken, too.

    Raises:
        InvalidInputError: an unknown option (the closest known one is suggested) or a value of a wrong type.
    """
    known = option_names(config)
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    types = get_type_hints(config)
    return {name: _typed(name, value, types[name]) for name, value in options.items()}


def option_names(config: Any) -> tuple[str, ...]:
    """The fields of a configuration, in order."""
    return tuple(field.name for field in fields(config))


def has_simple_type(wanted: Any) -> bool:
    """Whether a field's type is one that an option can be brought into: a number, a truth value, a text, or None."""
    allowed = get_args(wanted) or (wanted,)
    return get_origin(wanted) in (None, Union, UnionType) and all(kind in (*_WORDS, NoneType) for kind in allowed)


def _typed(name: str, value: Any, wanted: Any) -> Any:
    allowed = get_args(wanted) or (wanted,)
    value = value.item() if isinstance(value, np.generic) else value
    value = str(value) if isinstance(value, Path) else value
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) not in allowed:
        kind = next(kind for kind in allowed if kind is not NoneType)
        raise InvalidInputError(f"{flag(name)} must be {_WORDS[kind]}, not {value!r}")
    return value


def flag(name: str) -> str:
    """An option as the command line writes it."""
    return "--" + name.replace("_", "-")


def check_range(name: str, value: Any, least: float, most: float = math.inf) -> None:
    """Raise InvalidInputError for a number that is not in range or not finite; None is not looked at."""
    if value is None:
        return
    if not least <= value <= most or math.isinf(value):
        bound = f"at least {least}" if most == math.inf else f"between {least} and {most}"
        raise InvalidInputError(f"{flag(name)} must be {bound}, not {value}")


def absolute_file(images: str | None) -> str | None:
    """An image file's absolute path, so that a run can be resumed from anywhere; a name stays a name."""
    path = Path(images or "").expanduser()
    return str(path.absolute()) if path.is_file() else images


def given(value: "T | None") -> "T":
    """A value that a configuration's `resolved` has filled in."""
    assert value is not None
    return value
