"""The options of a command, from its dataclass: names, types, defaults and texts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import docstring_parser

from nasbench1shot1.ground.errors import flag
from nasbench1shot1.registry import listed_names
from nasbench1shot1.runs.options import Names, annotated_types

T = TypeVar("T")
_POSITIONAL, _HIDDEN = "positional", "hidden"
Positional = Annotated[T, _POSITIONAL]
"""The type of a field that is given without a flag."""
Hidden = Annotated[T, _HIDDEN]
"""The type of a field that cannot be given."""
YES_NO = Literal["yes", "no"]
"""The type of an option whose field is `bool | None`."""


@dataclass(frozen=True)
class Option:
    """An option of a command, or an argument that is given without a flag.

    Attributes:
        name: name of the field.
        record: the dataclass of the field.
        kind: type of its values, without annotations and None; of its elements, if it takes several.
        is_optional: whether the value may be None.
        takes_several: whether it takes several values.
        extras: annotations of the field's type.
        default: the default; `dataclasses.MISSING` if the option is required.
    """

    name: str
    record: type
    kind: Any
    is_optional: bool
    takes_several: bool
    extras: tuple[Any, ...]
    default: Any

    @property
    def flag(self) -> str | None:
        """The option on the command line; None for an argument without a flag."""
        return None if _POSITIONAL in self.extras else flag(self.name)

    @property
    def help(self) -> str:
        """The field's docstring, in one line."""
        return _docstrings(self.record).get(self.name, "")

    @property
    def names(self) -> Names | None:
        """Which registered names the option takes."""
        return next((extra for extra in self.extras if isinstance(extra, Names)), None)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that the option takes; empty if they are not listed."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    def lists(self, value: str) -> bool:
        """Return whether a value is among the option's registered names or choices, or is the name of a table."""
        if self.name == "table":  # help does not list tables, which are many
            from nasbench1shot1.tables.names import available_tables

            return value in available_tables()
        return value in (listed_names(self.names.group) if self.names else self.choices)


@dataclass(frozen=True)
class Asked:
    """What a command line asks for before its options are known, because some of them select others.

    Attributes:
        options: the selecting options that are given, by name.
        other_words: all other words of the command line.
    """

    options: Mapping[str, Any]
    other_words: Sequence[str]


def command_options(command: Any, default: Any) -> Iterator[Option]:
    """Yield the options of a command, including the options of nested records, in order of declaration.

    Args:
        command: the command's dataclass.
        default: an instance with the defaults; None: the defaults of the fields.
    """
    holder = command if default is None else type(default)
    hints = annotated_types(holder)
    for field in fields(holder):
        hint = hints[field.name]
        kind, extras = _kind(hint), _extras(hint)
        option = Option(
            name=field.name,
            record=holder,
            kind=get_args(kind)[0] if get_origin(kind) is tuple else kind,
            is_optional=NoneType in get_args(get_args(hint)[0] if get_origin(hint) is Annotated else hint),
            takes_several=get_origin(kind) is tuple,
            extras=extras,
            default=_default(field) if default is None else getattr(default, field.name),
        )
        if is_dataclass(option.default) and not isinstance(option.default, type):
            yield from command_options(type(option.default), option.default)
        elif is_dataclass(kind):  # of a command without defaults
            yield from command_options(kind, None)
        elif _HIDDEN not in extras:  # the default of an option that selects others is not the selected value
            yield replace(option, default=_default(field)) if option.names else option


def with_given(record: Any, given: Mapping[str, Any]) -> Any:
    """Return a command with the given options, also in nested records.

    `record` is an instance; or a class whose own defaults hold for the options that are not given.
    """
    changed = {}
    for field in fields(record):
        value = getattr(record, field.name, None)
        if is_dataclass(value) and not isinstance(value, type):
            changed[field.name] = with_given(value, given)
        elif field.name in given:
            changed[field.name] = given[field.name]
    return record(**changed) if isinstance(record, type) else replace(record, **changed)


def named_options(named: Collection[str], *records: Any) -> dict[str, Any]:
    """Return the options of records that a command line names, with their values.

    Args:
        named: the names of all options that the command line names.
        records: dataclasses of options.
    """
    return {name: value for record in records for name, value in vars(record).items() if name in named}


@cache
def _docstrings(record: type) -> dict[str, str]:
    """Return the docstrings of a record's fields, also of its base classes; empty without source code."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(record.__mro__)):
        with suppress(OSError, TypeError):
            documented = docstring_parser.parse_from_object(base).params
            found |= {of.arg_name: " ".join((of.description or "").split()) for of in documented}
    return found


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _extras(hint: Any) -> tuple[Any, ...]:
    """Return the annotations of a type, also in `Annotated[X, ...] | None`."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(extra for kind in get_args(hint) for extra in _extras(kind))
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


def _kind(hint: Any) -> Any:
    """Return a type without annotations, and without None."""
    if get_origin(hint) is Annotated:
        return _kind(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        kinds = [_kind(kind) for kind in get_args(hint) if kind is not NoneType]
        if kinds == [bool]:
            return YES_NO
        return kinds[0] if len(kinds) == 1 else hint
    return hint
