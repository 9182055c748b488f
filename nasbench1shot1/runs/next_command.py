"""The commands that messages and screens advise to run next."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import UserError, command, flag, options, shell_word
from nasbench1shot1.runs.folder import SEEDS, read_description, read_object

_IMPORTED = ("optimizer", "space")
"""The options that can name an object of a module."""


def named_modules(options: Mapping[str, Any]) -> str | None:
    """Return the modules of the options given as "module:object", separated by commas; None if there are none.

    The value is one for `allow_module`, with which another process may import the modules. The script or notebook
    (`__main__`) is left out, because another process cannot import it.
    """
    references = [str(options.get(name) or "").partition(":") for name in _IMPORTED]
    modules = dict.fromkeys(module for module, colon, _ in references if colon and module != "__main__")
    return ",".join(modules) or None


def resume_options(folder: Path, **others: object) -> dict[str, object]:
    """Return the options that resume a run: `resume`, `others`, and the `allow_module` that it needs."""
    modules = modules_of(folder)
    return {"resume": folder, **others, **({"allow_module": modules} if modules else {})}


def resume_advice(folder: Path, **others: object) -> str:
    """Return how a message names the options that resume a run, as in `resume_options`."""
    return options(resume_options(folder, **others))


def resume_command(name: str, folder: Path) -> str:
    """Return how a message names the command that resumes a run; in Python, the options that resume it."""
    return command(name, resume_options(folder))


def command_for(name: str, folder: Path) -> str:
    """Return the command that reads a run, with the `--allow-module` that it needs, for a screen."""
    return " ".join(filter(None, ("nb1shot1", name, shell_word(folder), _permission(modules_of(folder)))))


def import_advice(name: str, reference: str) -> str:
    """Return a sentence for a page: how the command that writes it can import an optimizer or a space.

    Args:
        name: the command, such as "report".
        reference: a "module:object", or a name that another package registers.
    """
    module, colon, _ = reference.partition(":")
    if module == "__main__":
        return "Only Python code in that script or notebook can use it."
    return f"To import it, add {_permission(module)} to nb1shot1 {name}." if colon else "Install its package first."


def _permission(modules: str | None) -> str:
    return f"{flag('allow_module')} {shell_word(modules)}" if modules else ""


def modules_of(folder: Path) -> str | None:
    """Return the modules that a run, or a group of runs, names; None if it names none."""
    with suppress(UserError, OSError, AttributeError, KeyError):  # a command that lacks it explains what to add
        is_group = (folder / SEEDS).is_file()
        recorded = read_object(folder / SEEDS)["options"] if is_group else read_description(folder)[1]
        return named_modules(recorded)
    return None
