"""Errors for users, whose messages are one sentence that states what is wrong and what to do."""

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LONGEST_VALUE, LONGEST_WORD, LONGEST_MESSAGE = 100, 500, 4_000
"""Maximum number of characters of a value, a word (such as a path) and a message in an error."""
SHORTEST_BEGINNING = 3
"""Minimum number of letters from which a name is suggested that begins with them."""
MOST_SUGGESTIONS = 3
"""Maximum number of names that an error suggests for an unknown name."""
OTHER_WORDS = {
    "gpu": "cuda",
    "wd": "weight-decay",
    "arch-learning-rate": "architecture-learning-rate",
    "rea": "regularized-evolution",
}
"""Names in other programs and papers, and this package's names for the same things."""

_BEGIN, _OR, _END = "\ue000", "\ue001", "\ue002"
"""Characters for private use, around names of options, a text for the command line and a text for Python."""
_EITHER = re.compile(_BEGIN + _OR.join([f"([^{_BEGIN}-{_END}]*)"] * 3) + _END)
_NOT_GIVEN = object()


class UserError(Exception):
    """An error with a message for the user; the command line prints only the message, without a traceback.

    The message is one line of bounded length for any values in it: control characters and bytes that are not UTF-8 are
    escaped, and the middle of a word with more than 500 characters is omitted.

    Messages name options through `option`, `quoted_option`, `value_of` and `switch`. `for_command_line` shows
    `--epochs 3` where `str(error)` shows `epochs=3`. A message that contains another error, as in
    `f"the file is damaged ({quote(error)})"`, also names that error's options in both ways.

    Attributes:
        options: names of the options in the message, such as ("epochs",), in their order.
    """

    def __init__(self, message: object = "") -> None:
        plain, *others = _EITHER.split(str(message))
        parts = list(zip(others[::4], others[1::4], others[2::4], others[3::4], strict=True))
        super().__init__(_escape(plain) + "".join(_named(*parts_of) + _escape(after) for *parts_of, after in parts))
        self.options = tuple(dict.fromkeys(name for names, *_ in parts for name in names.split()))

    @property
    def for_command_line(self) -> str:
        """The message with options as the command line writes them."""
        return _bounded(_EITHER.sub(r"\2", self.args[0]))

    def __str__(self) -> str:
        return _bounded(_EITHER.sub(r"\3", self.args[0]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


def option(name: str, value: object = _NOT_GIVEN) -> str:
    """Return how a message names an option, `--epochs` or `epochs=`; with a value, `--epochs 3` or `epochs=3`."""
    return _named(name, flag(name), f"{_argument(name)}=") if value is _NOT_GIVEN else options({name: value})


def options(values: Mapping[str, object]) -> str:
    """Return how a message names several options with values: `--resume x --workers 2`, or `resume="x", workers=2`."""
    return _named(" ".join(values), _in_shell(values), _in_python(values))


def command(name: str, values: Mapping[str, object]) -> str:
    """Return how a message names a command: `nb1shot1 tune --resume x`, or its options in Python: `resume="x"`."""
    return _named(" ".join(values), f"nb1shot1 {name} {_in_shell(values)}", _in_python(values))


def quoted_option(name: str, value: object) -> str:
    """Return how a message repeats an option with a user's text, `--images 'many'` or `images="many"`."""
    return _named(name, f"{flag(name)} '{value}'", f"{_argument(name)}={_in_quotes(str(value))}")


def value_of(name: str) -> str:
    """Return how a message names an option's value, `--epochs` or `epochs`, as in "epochs must be at least 1"."""
    return _named(name, flag(name), _argument(name))


def switch(name: str) -> str:
    """Return how a message names an option that is given without a value, `--overwrite` or `overwrite=True`."""
    return _named(name, flag(name), f"{_argument(name)}=True")


def quote(error: UserError) -> str:
    """Return an error's message for use in the message of another error, perhaps in another process.

    The text keeps the placeholders of options, so that the other error names them for its caller. `str(error)` would
    always name them as in Python.
    """
    return str(error.args[0])


def flag(name: str) -> str:
    """Write an option as the command line does, for help and screens; messages of errors use `option`."""
    return "--" + name.replace("_", "-")


def _in_shell(values: Mapping[str, object]) -> str:
    words = {True: "yes", False: "no"}
    given = {name: words[value] if isinstance(value, bool) else value for name, value in values.items()}
    return " ".join(f"{flag(name)} {shell_word(value)}" for name, value in given.items())


def shell_word(value: object) -> str:
    """Quote a value for a shell. A path that begins with a dash becomes ./-x, so that it is not read as an option."""
    is_option = isinstance(value, Path) and str(value).startswith("-")
    return shlex.quote(f"./{value}" if is_option else str(value))


def _in_python(values: Mapping[str, object]) -> str:
    return ", ".join(f"{_argument(name)}={_literal(value)}" for name, value in values.items())


def _argument(name: str) -> str:
    return name.replace("-", "_")


def either(for_command_line: str, for_python: str) -> str:
    """Return a text of a message that differs between the command line and Python, such as a command and a call."""
    return _named("", for_command_line, for_python)


def _named(names: str, for_command_line: str, for_python: str) -> str:
    parts = (names.replace("-", "_"), for_command_line, for_python)
    return f"{_BEGIN}{_OR.join(map(_escape, parts))}{_END}"


def _escape(text: str) -> str:
    """Escape the characters of a text that cannot be printed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _bounded(message: str) -> str:
    return shorten(re.sub(r"\S+", lambda word: shorten(word[0], LONGEST_WORD), message), LONGEST_MESSAGE)


class InvalidInputError(UserError, ValueError):
    """An argument, option or architecture is invalid."""


class UnknownOptionError(InvalidInputError):
    """There is no option of this name."""


class OutOfDomainError(UserError):
    """The table in use lacks an answer: the cell, budget, repeat or reference is unknown."""


class RunStoppedError(KeyboardInterrupt):
    """The user pressed Ctrl-C during a run, whose record is kept.

    The message names the arguments that resume the run in Python: `stopped; continue with resume="runs/a"`.

    Attributes:
        folder: the folder of the run.
        command: what resumes the run on the command line, without the name of the program: `search --resume runs/a`.
    """

    def __init__(self, folder: Path, command: str, values: Mapping[str, object]) -> None:
        """`command` is the name of a command, and `values` are the options that resume the run with it."""
        super().__init__(f"stopped; continue with {_in_python(values)}")
        self.folder, self.command = folder, f"{command} {_in_shell(values)}"


class DivergedError(UserError):
    """A loss, a weight or an architecture parameter became infinite or NaN; depends on the run's options."""


class DamagedFileError(UserError):
    """A file is missing or its content is invalid."""


def _is_literal(value: str) -> bool:
    """Return whether a value is a number or a constant."""
    try:
        float(value)
    except ValueError:
        return value in ("None", "True", "False")
    return True


def _literal(value: object) -> str:
    """Write a value as Python does; texts and paths are in quotes, even if they consist of digits."""
    text = str(value)
    return text if _is_literal(text) and not isinstance(value, str | Path) else _in_quotes(text)


def _in_quotes(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


def unknown_name(kind: str, name: object, known: Iterable[str], more: str = "") -> InvalidInputError:
    """Return the error for an unknown name, which need not be a string.

    The message suggests the closest known names, if any, and lists all known names. If it suggests an option, it does
    not list all options, but refers to `--help` if the name is written as on the command line. `more` follows the list.
    """
    known, shown = sorted(known), shorten(str(name))
    hint = suggestion(shown, known)
    listed = f" (known: {', '.join(known)}{more})"
    if hint and kind == "option":
        listed = " (--help lists all)" if shown.startswith("--") else ""
    error = UnknownOptionError if kind == "option" else InvalidInputError
    return error(f"unknown {kind} '{shown}'{hint}{listed}")


def suggestion(shown: str, known: Sequence[str]) -> str:
    """Return the closest known names, as in "; did you mean 'darts'?", for a message; empty if no name is close."""
    close = _suggestions(shown, known)
    meant = alternatives(f"'{one}'" for one in close) if close else ""
    return f"; did you mean {meant}?" if close else ""


def _suggestions(shown: str, known: Sequence[str]) -> list[str]:
    """Return the names that were probably meant: by a synonym, initials, a beginning, the same letters in another
    order, or a similar spelling.

    Several names are returned if they are equally similar; of equally similar spellings, none if there are more than
    `MOST_SUGGESTIONS`.
    """
    asked, bare = _hyphenated(shown).lower(), {_hyphenated(name).lower(): name for name in known}
    for is_meant in (
        lambda name: name == OTHER_WORDS.get(asked),
        lambda name: asked and _initials(name) == asked,
        lambda name: len(asked) >= SHORTEST_BEGINNING and name.startswith(asked),
        lambda name: sorted(name) == sorted(asked),
    ):
        if found := list(filter(is_meant, bare)):
            shortest = [bare[name] for name in found if len(name) == min(map(len, found))]
            return shortest[:MOST_SUGGESTIONS]
    cutoff = 0.55 if shown.startswith("--") else 0.5  # "s4" is close to "s1", but "--cell" is not close to "--help"
    close = difflib.get_close_matches(asked, bare, n=len(bare) or 1, cutoff=cutoff)
    likeness = [_likeness(asked, name) for name in close]
    closest = sorted(bare[name] for name, found in zip(close, likeness, strict=True) if found == max(likeness))
    return closest if len(closest) <= MOST_SUGGESTIONS else []


def _likeness(asked: str, name: str) -> tuple[float, int]:
    """Return how similar two names are, and the number of letters in the longest part that they share."""
    matcher = difflib.SequenceMatcher(None, name, asked)
    return matcher.ratio(), matcher.find_longest_match().size


def _hyphenated(name: str) -> str:
    """Return "learning-rate" for "--learning-rate" and for "learning_rate"."""
    return name.lstrip("-").replace("_", "-")


def _initials(name: str) -> str:
    """Return the initials of a name, such as "lr" for "learning-rate"; an empty string for a single word."""
    words = name.split("-")
    return "".join(word[:1] for word in words) if len(words) > 1 else ""


def in_words(names: Iterable[object], conjunction: str = "and") -> str:
    """Return at least one name as a list: "a", "a and b", "a, b and c"."""
    *others, last = map(str, names)
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def alternatives(names: Iterable[object]) -> str:
    """Return names as a choice: "a", "a or b", "a, b or c"."""
    return in_words(names, "or")


def shorten(text: str, max_length: int = LONGEST_VALUE) -> str:
    """Return a text for a message; only its two ends if it has more than `max_length` (at least 60) characters."""
    half = max_length // 2 - 15
    return text if len(text) <= max_length else f"{text[:half]}[…{len(text) - 2 * half:,} characters…]{text[-half:]}"
