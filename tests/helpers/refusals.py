"""Errors checked by their type and by the options and values that their messages name, not by their wording.

tests/messages.txt has the sentences themselves.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import CompletedProcess
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def missing(text: str, *values: object) -> list[str]:
    """The values that a text does not contain; a 7 is neither in "17" nor in "x7"."""

    def bounded(value: str) -> str:
        before, after = (r"\b" if re.match(r"\w", end) else "" for end in (value[:1], value[-1:]))
        return before + re.escape(value) + after

    return [value for value in map(str, values) if not re.search(bounded(value), text)]


@contextmanager
def refuses(kind: type[E], *values: object, options: str | None = None) -> Iterator[pytest.ExceptionInfo[E]]:
    """Check that the block raises an error of this type, in one line with these values and exactly these options.

    `options` are separated by spaces, in the order of the message; "" means that the message names none.
    """
    with pytest.raises(kind) as caught:
        yield caught
    message = str(caught.value)
    assert not missing(message, *values) and "\n" not in message, message
    assert options is None or " ".join(vars(caught.value)["options"]) == options, message


@contextmanager
def exits(capsys: pytest.CaptureFixture[str], *values: object) -> Iterator[None]:
    """Check that a command ends with exit code 2 and prints only an error, in one line with these values."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        yield
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1), said
    assert not missing(said.err, *values), said.err


def fails(ended: CompletedProcess[str], *values: object) -> None:
    """Check that a command in a process of its own ended with exit code 2 and printed only an error, as in `exits`."""
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert not missing(ended.stderr, *values), ended.stderr
