"""Paths from users: on the command line, in environment variables, and as arguments in Python."""

import errno
import os
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, shorten

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = TypeVar("Command", bound="DataclassInstance")


def as_path(value: str | os.PathLike[str], option: str) -> Path:
    """Return the path that an option, argument or environment variable names, with a leading ~ expanded.

    The path need not exist. `exists`, `is_file` and `is_dir` of the result do not raise.

    Args:
        value: the user's value.
        option: name of the option, argument or variable for the message, such as "--out", "NB1SHOT1_DATA" or "table".

    Raises:
        InvalidInputError: `value` is not text, is empty, contains NUL or bytes that are not UTF-8, starts with the
            home folder of an unknown user, is longer than the file system allows, or is a folder, or in a folder, that
            this user may not search.
    """
    try:
        text = os.fspath(value)
        text.encode()  # paths are recorded in JSON and printed, both in UTF-8
        if not text:
            raise ValueError("it is empty")
        path = Path(text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        if path.is_dir() and not os.access(path, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise InvalidInputError(
            f"{option} {_shown(value)} is not a usable path ({_reason(error)}): give another"
        ) from error
    return path


def convert_paths(command: Command) -> Command:
    """Return a command's options after converting every path, also in nested records, with `as_path`.

    Raises InvalidInputError like `as_path`, with the option as it is written on the command line.
    """
    changed: dict[str, Any] = {}
    for field in fields(command):
        value = getattr(command, field.name)
        if isinstance(value, Path):
            changed[field.name] = as_path(value, "--" + field.name.replace("_", "-"))
        elif is_dataclass(value) and not isinstance(value, type):
            changed[field.name] = convert_paths(value)
    return replace(command, **changed) if changed else command


def _shown(value: object) -> str:
    """Return a user's value for a message; only text and paths are in quotes."""
    shown = shorten(str(value), 200)
    return f"'{shown}'" if isinstance(value, str | os.PathLike) else shown


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it is not UTF-8"
    if isinstance(error, RuntimeError):  # pathlib's error for ~nosuchuser/x
        return "there is no such user's home folder"
    return getattr(error, "strerror", None) or str(error)
