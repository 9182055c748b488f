"""Paths as users give them: on the command line, in environment variables, as arguments in Python."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from nasbench1shot1.errors import InvalidInputError, shortened


def as_path(value: str | os.PathLike[str], option: str) -> Path:
    """Return the path that an option, argument or environment variable names, with a leading ~ expanded.

    The path need not exist. `exists`, `is_file` and `is_dir` of the result do not raise.

    Args:
        value: what the user gave.
        option: its name in the caller's words, for the message: "--out", "NB1SHOT1_DATA", "table".

    Raises:
        InvalidInputError: `value` is not text, is empty, contains NUL or bytes that are not UTF-8, starts with the
            home folder of an unknown user, is longer than the file system allows, or is or is in a folder that this
            user may not search.
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
            f"{option} '{shortened(str(value), 200)}' is not a usable path ({_reason(error)}): give another"
        ) from error
    return path


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it is not UTF-8"
    if isinstance(error, RuntimeError):  # pathlib's, of ~nosuchuser/x
        return "there is no such user's home folder"
    return getattr(error, "strerror", None) or str(error)
