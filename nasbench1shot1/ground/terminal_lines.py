"""Lines of text that fit the width of a terminal. In a pipe or a file, every line stays whole, so scripts can parse it.

Text that is meant to be copied is never broken, even if it is wider than the terminal: words (so architectures and
paths without spaces), text in quotes without apostrophes, commands with their options, sizes, and percentages.

Commands and screens print through `nasbench1shot1.wording`, which builds on this module.
"""

import os
import re
import textwrap
from typing import IO, Final

_OPTION: Final = r"--[\w-]+ \S+"
_COMMAND: Final = rf"\S*nb1shot1(?: (?:table|data))? [a-z-]+(?: (?:{_OPTION}|\S*[^\sa-z,;)]\S*))*"
_INSTALLATION: Final = r"pip install \S+"
_QUANTITY: Final = r"\d+ × \d+|\d %"
_UNBROKEN: Final = re.compile(rf"(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|{_COMMAND}|{_OPTION}|{_INSTALLATION}|{_QUANTITY}")
_HELD: Final = "\0"
"""Stands for a space at which a line must not be broken."""
NARROWEST: Final = 10
FALLBACK: Final = 80


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
