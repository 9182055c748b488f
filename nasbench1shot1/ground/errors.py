"""Errors for users, whose messages are one sentence that states what is wrong and what to do."""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

LONGEST_VALUE, LONGEST_WORD, LONGEST_MESSAGE = 100, 500, 4_000
"""Maximum number of characters of a value, a word (such as a path) and a message in an error."""
SHORTEST_BEGINNING = 3
"""Minimum number of letters from which a name is suggested that begins with them."""
OTHER_WORDS = {"gpu": "cuda", "wd": "weight-decay", "arch-learning-rate": "architecture-learning-rate"}
"""Names of options in other programs, and this package's names for them."""

_SWITCHES = ("hessian_eigenvalue", "overwrite", "predicted")
"""Options that messages advise to enable; in Python, their value is True."""

_NO_VALUES = (
    "and applies as can cannot continues does has is lists may must needs of only or requires runs to was with would"
)
"""Words that can follow an option in messages and are not its value."""

_KEPT = r"`[^`]*`|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|\bnb1shot1 [^,;:()]*"
"""A quoted text, or a command."""

_VALUE = rf"'[^']*'|(?!(?:{'|'.join(_NO_VALUES.split())})(?:[\s,;:)]|$))[\w./~+-](?:[^\s,;()]|,(?=\S))*(?<![:.])"
"""A value in quotes, or one word."""

_OPTION = re.compile(rf"(?P<kept>{_KEPT})|(?<![\w-])--(?P<name>[a-z][\w-]*)(?: (?!--)(?P<value>{_VALUE}))?")


class UserError(Exception):
    """An error with a message for the user; the command line prints only the message, without a traceback.

    The message is one line of bounded length for any values in it: control characters and bytes that are not UTF-8 are
    escaped, and the middle of a word with more than 500 characters is omitted.

    Messages name options as the command line does (`--epochs 3`); `str(error)` names them as Python does (`epochs=3`).
    An error that quotes another error must quote its `for_command_line`.
    """

    def __init__(self, message: object = "") -> None:
        line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(message))
        words = re.sub(r"\S+", lambda word: shorten(word[0], LONGEST_WORD), line)
        super().__init__(shorten(words, LONGEST_MESSAGE))

    @property
    def for_command_line(self) -> str:
        """The message with options as the command line writes them."""
        return str(self.args[0])

    def __str__(self) -> str:
        return for_python(self.for_command_line)


class InvalidInputError(UserError, ValueError):
    """An argument, option or architecture is invalid."""


class OutOfDomainError(UserError):
    """The table in use lacks an answer: the cell, budget, repeat or reference is unknown."""


class RunStoppedError(KeyboardInterrupt):
    """The user pressed Ctrl-C during a run; the record is kept in `folder`, from which `resume` continues."""

    def __init__(self, folder: Path, command: str) -> None:
        """`command` is the whole command line that resumes the run (`runs.next_command`)."""
        super().__init__(f"stopped; continue with: {command}")
        self.folder = folder


class DivergedError(UserError):
    """A loss, a weight or an architecture parameter became infinite or NaN; depends on the run's options."""


class DamagedFileError(UserError):
    """A file is missing or its content is invalid."""


def for_python(message: str) -> str:
    """Rewrite the options in a message as Python's arguments.

    `--epochs 3` becomes `epochs=3`, `--scale quick` becomes `scale="quick"`, and `--out` becomes `out=`, but
    `--epochs must be …` becomes `epochs must be …`. Quoted text and commands, which begin with "nb1shot1", do not
    change.
    """
    return _OPTION.sub(_as_argument, message)


def _as_argument(found: re.Match[str]) -> str:
    if found["kept"]:
        return found["kept"]
    name, value = found["name"].replace("-", "_"), found["value"]
    if value is not None:
        separator = "," if found.string.startswith(" --", found.end()) else ""  # of the next argument
        return f"{name}={value if _is_literal(value) else _quote(value)}{separator}"
    if found.string.startswith((" must ", " may "), found.end()):  # a sentence about the argument's value
        return name
    return f"{name}=True" if name in _SWITCHES else f"{name}="


def _is_literal(value: str) -> bool:
    """Return whether a value is a number or a constant."""
    try:
        float(value)
    except ValueError:
        return value in ("None", "True", "False")
    return True


def _quote(value: str) -> str:
    text = value[1:-1] if value.startswith("'") else value
    return f"'{text}'" if '"' in text else f'"{text}"'


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InvalidInputError:
    """Return the error for an unknown name, which need not be a string.

    The message suggests the closest known name, if any, and lists all known names. If it suggests an option, it does
    not list all options, but refers to `--help` if the name is written as on the command line.
    """
    known, shown = sorted(known), shorten(str(name))
    close = _suggestions(shown, known)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    listed = f" (known: {', '.join(known)})"
    if close and kind == "option":
        listed = " (--help lists all)" if shown.startswith("--") else ""
    return InvalidInputError(f"unknown {kind} '{shown}'{hint}{listed}")


def _suggestions(shown: str, known: Sequence[str]) -> list[str]:
    """Return the known names that were probably meant, by a synonym, initials, beginning or similar spelling."""
    asked, bare = _hyphenated(shown), {_hyphenated(name): name for name in known}
    for is_meant in (
        lambda name: name == OTHER_WORDS.get(asked),
        lambda name: _initials(name) == asked,
        lambda name: len(asked) >= SHORTEST_BEGINNING and name.startswith(asked),
    ):
        if found := sorted(filter(is_meant, bare), key=len):
            return [bare[name] for name in found]
    cutoff = 0.55 if shown.startswith("--") else 0.5  # "s4" is close to "s1", but "--cell" is not close to "--help"
    return [bare[name] for name in difflib.get_close_matches(asked, bare, n=1, cutoff=cutoff)]


def _hyphenated(name: str) -> str:
    """Return "learning-rate" for "--learning-rate" and for "learning_rate"."""
    return name.lstrip("-").replace("_", "-")


def _initials(name: str) -> str:
    """Return the initials of a name, such as "lr" for "learning-rate"; an empty string for a single word."""
    words = name.split("-")
    return "".join(word[:1] for word in words) if len(words) > 1 else ""


def alternatives(names: Iterable[object]) -> str:
    """Return names as a choice: "a", "a or b", "a, b or c"."""
    *others, last = map(str, names)
    return f"{', '.join(others)} or {last}" if others else last


def shorten(text: str, max_length: int = LONGEST_VALUE) -> str:
    """Return a text for a message; only its two ends if it has more than `max_length` (at least 60) characters."""
    half = max_length // 2 - 15
    return text if len(text) <= max_length else f"{text[:half]}[…{len(text) - 2 * half:,} characters…]{text[-half:]}"
