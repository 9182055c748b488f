"""The errors that a user's input can cause: each carries one sentence that says what to do."""

import difflib
from collections.abc import Iterable
from pathlib import Path


class UserError(Exception):
    """An error whose message is meant for the user; the command line prints it alone, without a traceback."""


class InvalidInputError(UserError, ValueError):
    """An argument, option or architecture that does not fit what it was given to."""


class OutOfDomainError(UserError):
    """A question that the table in use cannot answer: an unknown cell, budget, repeat or reference."""


class RunStoppedError(KeyboardInterrupt):
    """Ctrl-C during a run; what was recorded stays in `folder`, from which `resume` continues."""

    def __init__(self, folder: Path, command: str) -> None:
        super().__init__(f"stopped; continue with: nb1shot1 {command} --resume {folder}")
        self.folder = folder


SearchStoppedError = TrainingStoppedError = RunStoppedError
"""The names under which each kind of run raised it before."""


class DamagedFileError(UserError):
    """A file whose content is not what it should be."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InvalidInputError:
    """An error for a name that is not known (nor need be text); it suggests the closest that is."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return InvalidInputError(f"unknown {kind} '{name}'{hint} (known: {', '.join(known)})")
