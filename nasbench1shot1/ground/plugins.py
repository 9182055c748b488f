"""What other packages provide: objects by name, and features that need a package.

Names of objects are built-in names, entry points of installed packages, and "module:attribute" references.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from inspect import Signature, isfunction, ismethod, signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, UserError, alternatives, quote, unknown_name

PACKAGE = __name__.partition(".")[0]
IMPORT_ADVICE = "install it, run the command in its folder, set PYTHONPATH, or correct its name"
"""What to do about a module that cannot be imported, for messages."""


def imported(reference: str) -> Any:
    """Return the object that "module:attribute" refers to; raises ImportError, AttributeError or ValueError."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def imported_module(module: str) -> ModuleType:
    """Import a module that a user named.

    Raises the errors of the import, and UserError if the module calls `sys.exit()` or has a syntax error.
    """
    try:
        return import_module(module)
    except SyntaxError as error:
        where = f"{error.filename}, line {error.lineno}"  # perhaps another module, which this one imports
        raise UserError(f"importing '{module}' fails, because of a syntax error in {where} ({error.msg})") from error
    except SystemExit as stop:
        raise UserError(
            f"the module '{module}' exits Python when it is imported: put the code that only a script should run under "
            'if __name__ == "__main__":'
        ) from stop


@lru_cache(maxsize=256)
def check_overrides(own: type) -> None:
    """Raise InvalidInputError unless a class overrides public methods and properties of this package by their kind.

    A method must accept all arguments with which this package may call it. A property must stay a property, or become a
    plain value: a method in its place would count as true wherever the property is read.
    """
    for base in own.__mro__:
        if base.__module__.startswith(f"{PACKAGE}."):
            for name, given in vars(base).items():
                if not name.startswith("_") and (found := getattr(own, name)) is not getattr(base, name):
                    _check_override(f"{own.__name__}.{name}", found, given, getattr(base, name))


def _check_override(name: str, found: Any, given: Any, based_on: Any) -> None:
    """Raise InvalidInputError unless an attribute is of the kind of the attribute that it overrides."""
    if isinstance(given, property):
        if isfunction(found) or ismethod(found):
            raise InvalidInputError(f"{name} must be a property, not a method: put @property before its definition")
    elif isinstance(given, FunctionType | classmethod | staticmethod):
        if not callable(found):
            raise InvalidInputError(f"{name} must be a method, not an object of type {type(found).__name__}")
        _check_signature(name, signature(found), signature(based_on))


def _check_signature(name: str, own: Signature, base: Signature) -> None:
    """Raise InvalidInputError unless a method accepts the arguments of the method that it overrides."""
    by_name = {key: key for key, parameter in base.parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    try:
        own.bind(*(key for key in base.parameters if key not in by_name), **by_name)
    except TypeError as error:
        takes, wanted = ("(" + ", ".join(each.parameters) + ")" for each in (own, base))
        raise InvalidInputError(f"{name}() must accept the arguments {wanted}, not {takes}") from error


def require_package(package: str, what: str, extra: str = "", install: str = "") -> None:
    """Raise UserError if a package is not installed.

    Args:
        package: the import name of the package.
        what: the feature that needs it.
        extra: the extra of this package that installs it.
        install: how to install it, if no extra does.
    """
    if find_spec(package) is None:
        advice = f"in a checkout, run pip install -c constraints.txt '.[{extra}]'" if extra else install
        raise UserError(f"{what} needs {package}: {advice}")


@dataclass(frozen=True)
class Group:
    """A group of named objects, each of which is imported only when it is used.

    Attributes:
        kind: the noun for one of its objects, for messages, such as "search space".
        entry_points: the entry-point group through which other packages add objects, as `name = module:attribute`.
        built_in: the references of this package's own objects, by name.
        advice: what else a name may be, for the error about an unknown name.
        base: a reference to the base class of the objects, if they are classes.
        aliases: other names of built-in objects, which are not listed, such as names in published code.
    """

    kind: str
    entry_points: str
    built_in: Mapping[str, str]
    advice: str = ""
    base: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return all registered names, built-in names first."""
        return list(self._references())

    def is_built_in(self, name: object) -> bool:
        """Return whether a name is built in, without listing the installed packages, which takes 10 ms."""
        return name in [*self.built_in, *self.aliases]  # a list, because `name` may not be hashable

    def listed_name(self, name: Any) -> Any:
        """Return the listed name of which a name is an alias; any other value is returned unchanged."""
        return self.aliases[name] if name in list(self.aliases) else name

    def load(self, name: str, listed: Callable[[], Iterable[str]] | None = None) -> Any:
        """Return the object with a registered name, or the object that "module:attribute" refers to.

        Args:
            name: the name.
            listed: returns the names that the error for an unknown name lists. Default: all registered names.

        Raises InvalidInputError for an unknown name (the message suggests the closest one), or if an import fails.
        """
        name = self.listed_name(name)
        is_reference = isinstance(name, str) and ":" in name
        known = self.built_in if is_reference or self.is_built_in(name) else self._references()
        if name not in list(known) and not is_reference:
            raise InvalidInputError(
                f"{quote(unknown_name(self.kind, name, listed() if listed else known))}{self.advice}"
            )
        module, _, attribute = (name if is_reference else known[name]).partition(":")
        advice = IMPORT_ADVICE
        try:
            holder = imported_module(module)
            advice = "correct its name"
            if not hasattr(holder, attribute) and (classes := self._classes_of(holder)):
                advice = f"choose {alternatives(classes)}"
            elif module in sys.stdlib_module_names:  # such as random, which hides a user's random.py or is hidden by it
                advice = f"'{module}' is a module of Python: give your module another name"
            return getattr(holder, attribute)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            if "." in attribute:  # such as f.<locals>.Mine, a class that a function defines
                raise InvalidInputError(
                    f"the {self.kind} '{name}' cannot be found by its name, which a run records: define it at the top "
                    "level of a module or script"
                ) from error
            if module == "__main__":
                raise InvalidInputError(
                    f"the {self.kind} '{name}' belongs to the script or notebook that started this run: resume, report "
                    "or compare the run from there"
                ) from error
            if is_reference and (not module or module.startswith(".") or "/" in module or module.endswith(".py")):
                raise InvalidInputError(
                    f"the {self.kind} '{name}' must begin with a module's name, not with a path: give "
                    f"{Path(module).stem.lstrip('.') or 'module'}:{attribute}, and run the command in the module's "
                    "folder or set PYTHONPATH"
                ) from error
            raise InvalidInputError(f"the {self.kind} '{name}' cannot be imported ({error}): {advice}") from error

    def _classes_of(self, module: ModuleType) -> list[str]:
        """Return the names of the classes of this kind that a module defines."""
        if self.base is None:
            return []
        base, classes = imported(self.base), {name: of for name, of in vars(module).items() if isinstance(of, type)}
        return [name for name, of in classes.items() if issubclass(of, base) and of.__module__ == module.__name__]

    def _references(self) -> dict[str, str]:
        plugins = _installed(self.entry_points, tuple(map(_state, sys.path)))
        return {**self.built_in, **{name: value for name, value in plugins.items() if name not in self.built_in}}


@lru_cache(maxsize=32)
def _installed(group: str, path: tuple[tuple[int, int, int] | None, ...]) -> dict[str, str]:
    """Return the entry points of a group, from the metadata of all installed packages, which takes 10 ms to read.

    Args:
        group: the name of the group.
        path: `_state` of the folders of `sys.path`, which changes if a package is installed.
    """
    from importlib.metadata import entry_points  # slow to import, and only needed for names that are not built in

    return {entry.name: entry.value for entry in entry_points(group=group)}


def _state(folder: str) -> tuple[int, int, int] | None:
    """Return device, inode and time of the last change of a folder or archive of modules; None if it does not exist."""
    try:
        found = Path(folder).stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
