"""Output to a terminal, a pipe or a file: lines that fit the width, and faults of standard output.

In a pipe or a file, every line stays whole, so scripts can parse it. Text that is meant to be copied is never broken,
even if it is wider than the terminal: words (so architectures and paths without spaces), text in quotes without
apostrophes, commands with their options, sizes, and percentages.

Commands and screens print through `nasbench1shot1.ground.text`, which builds on this module.
"""

import codecs
import errno
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final, TextIO

from nasbench1shot1.ground.errors import UserError, shorten

_OPTION: Final = r"--[\w-]+ \S+"
_COMMAND: Final = rf"\S*nb1shot1(?: (?:table|data))? [a-z-]+(?: (?:{_OPTION}|\S*[^\sa-z,;)]\S*))*"
_INSTALLATION: Final = r"pip install \S+"
_QUANTITY: Final = r"\d+ × \d+|\d %"
_UNBROKEN: Final = re.compile(rf"(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|{_COMMAND}|{_OPTION}|{_INSTALLATION}|{_QUANTITY}")
"""Text at whose spaces a terminal's line is not broken: it recognizes commands, options and quoted text, which users
copy, and quantities. It only formats lines, and does not interpret or change sentences."""
_HELD: Final = "\0"
"""Stands for a space at which a line must not be broken."""
NARROWEST: Final = 10
FALLBACK: Final = 80
NOT_WRITTEN = 2
READER_LEFT = 1  # the same exit code as rich's
_IN_ASCII = {
    "–": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "·": ".",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "Λ": "Lambda",
}
_OF_A_STREAM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def print_line(text: str, stream: IO[str] | None) -> None:
    """Print text to a stream (None: standard output), wrapped if the stream is a terminal."""
    width = terminal_width(stream)
    print(text if width is None else wrap_text(text, width), file=stream, flush=True)


def terminal_width(stream: IO[str] | None) -> int | None:
    """Return the width in columns of the terminal that `stream` writes to; None if it is not a terminal.

    A positive `COLUMNS` in the environment overrides the terminal's own width.
    """
    is_terminal = getattr(stream, "isatty", None)
    if stream is None or is_terminal is None or not is_terminal():
        return None
    if os.environ.get("COLUMNS", "").isdecimal() and int(os.environ["COLUMNS"]) > 0:
        return int(os.environ["COLUMNS"])
    try:
        own = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):  # it has no file descriptor, or cannot tell its size
        own = 0
    return own or FALLBACK


def wrap_text(text: str, width: int) -> str:
    """Return plain text whose lines are broken at words, where they are wider than `width` characters (at least 10).

    The rest of a broken line is indented by two spaces.
    """
    return "\n".join(line if len(line) <= width else _wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    held = _UNBROKEN.sub(lambda found: found[0].replace(" ", _HELD), line)
    wrapper = textwrap.TextWrapper(
        width=max(width, NARROWEST), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(held).replace(_HELD, " ")


@contextmanager
def guarded_output() -> Iterator[None]:
    """Run a command's body so that any fault of a standard stream or file prints one sentence without a traceback.

    Exits with 1 if the reader of a pipe has closed it, and with 2 if output or a file cannot be written or read.
    A closed stream is replaced by the null device. Characters that the encoding lacks are written in ASCII.
    """
    _open_closed_streams()
    _degrade(sys.stdout)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        sys.exit(READER_LEFT)
    except OSError as error:
        if (sentence := _sentence(error)) is None:
            raise
        _silence(sys.stdout)  # otherwise, Python writes the remaining output when it ends, and fails again
        print_error(sentence)
        sys.exit(NOT_WRITTEN)


def print_error(sentence: str) -> None:
    """Print a line to standard error, if possible; wrapped on a terminal."""
    try:
        print_line(f"nb1shot1: {sentence}", sys.stderr)
    except OSError:
        _silence(sys.stderr)


def _sentence(error: OSError) -> str | None:
    """Return the message for an otherwise unhandled error; None if it is a fault of the program."""
    why = error.strerror or error
    if error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
        return str(
            UserError(f"cannot use '{shorten(name, 200)}' ({why}): check the path, its permissions and the disk")
        )
    if error.errno in _OF_A_STREAM:  # files are written by files.atomic_write, whose errors name the file
        return f"cannot write the output ({why}): redirect it to another place"
    return None


def _open_closed_streams() -> None:
    """Replace closed streams by the null device; otherwise, the next opened file would get the stream's descriptor."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def _degrade(stream: TextIO) -> None:
    codecs.register_error("nb1shot1", _encode_ascii)
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="nb1shot1")


def _encode_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    escaped = (_IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in characters)
    return "".join(escaped), error.end


def _silence(stream: TextIO) -> None:
    with suppress(OSError, ValueError):  # a stream of a test may have no descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
