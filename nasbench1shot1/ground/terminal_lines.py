"""Lines of text that fit the width of a terminal. In a pipe or a file, every line stays whole, so scripts can parse it.

Text that is meant to be copied is never broken: words (so architectures and paths without spaces), text in quotes, and
commands with their options.
"""

import re
import shutil
import textwrap
from typing import IO, Final

_OPTION: Final = r"--[\w-]+ \S+"
_COMMAND: Final = rf"\S*nb1shot1(?: (?:table|data))? [a-z-]+(?: (?:{_OPTION}|\S*[^\sa-z,;)]\S*))*"
_INSTALLATION: Final = r"pip install \S+"
_UNBROKEN: Final = re.compile(rf"(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|{_COMMAND}|{_OPTION}|{_INSTALLATION}")
_HELD: Final = "\0"
"""Stands for a space at which a line must not be broken."""
NARROWEST: Final = 10


def print_line(text: str, stream: IO[str]) -> None:
    """Print text to a stream, wrapped if the stream is a terminal."""
    print(wrap_for(text, stream), file=stream, flush=True)


def wrap_for(text: str, stream: IO[str]) -> str:
    """Return text whose lines fit the terminal that `stream` writes to; the unchanged text if it is not a terminal."""
    return wrap_text(text, shutil.get_terminal_size().columns) if stream.isatty() else text


def wrap_text(text: str, width: int) -> str:
    """Return text with its lines broken at words, where they are wider than `width` columns; the rest is indented."""
    return "\n".join(line if len(line) <= width else _wrapped_line(line, width) for line in text.split("\n"))


def _wrapped_line(line: str, width: int) -> str:
    held = _UNBROKEN.sub(lambda found: found[0].replace(" ", _HELD), line)
    wrapper = textwrap.TextWrapper(
        width=max(width, NARROWEST), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(held).replace(_HELD, " ")
