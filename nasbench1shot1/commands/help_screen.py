"""The help of a command, from its dataclass: options in groups, with their forms, texts and defaults."""

import argparse
import ast
import inspect
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from itertools import chain, combinations, pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from nasbench1shot1.ground.errors import flag
from nasbench1shot1.registry import listed_names
from nasbench1shot1.runs.options import Names

OWN = "own"
"""Placeholder in a command's `GROUPS` for the optimizer's options: the fields of the record with this name."""
TEXT_COLUMN = 26
"""The column in which texts begin; a longer option is on a separate line."""
POSITIONAL, SUPPRESSED = (get_args(marked[int])[1] for marked in (tyro.conf.Positional, tyro.conf.Suppress))
FORMS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH", bool: "{yes,no}"}
DEFAULT = " Default: "
"""In a field's docstring, begins a default in words, for fields whose default value is None."""


@dataclass(frozen=True)
class OptionHelp:
    """The help of one option.

    Attributes:
        name: name of the field.
        record: the dataclass of the field.
        flags: how the option is given, as ("--compile", "--no-compile"); empty for an argument without a flag.
        form: how values are written, as "INT"; None if the option does not take a value.
        text: what the option sets; ends with the default in parentheses.
        is_required: whether the option has no default.
    """

    name: str
    record: type
    flags: tuple[str, ...]
    form: str | None
    text: str
    is_required: bool


def help_screen(name: str, command: Any, default: Any, variants: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the help of a command.

    Args:
        name: name of the command.
        command: the command's dataclass. Its attribute `GROUPS`, if it has one, maps headings to names of options; all
            other options are in the last group.
        default: an instance with the defaults; None: the defaults of the fields.
        variants: defaults that differ in other settings: for the words for a setting, values by name of the option.
    """
    options = list(option_helps(command, default, variants))
    needed = [option for option in options if option.is_required or not option.flags]
    words = [word for option in needed for word in (*option.flags, option.form) if word]
    parser = argparse.ArgumentParser(
        usage=" ".join(["nb1shot1", name, *words, *(["[OPTIONS]"] if len(options) > len(needed) else [])]),
        description=_wrap(inspect.getdoc(get_origin(command) or command) or ""),
        formatter_class=_Layout,
        add_help=False,
    )
    for heading, members in _group_options(options, command, getattr(default, OWN, None)):
        group = parser.add_argument_group(heading)
        for option in members:
            _add(group, option)
    return parser.format_help()


def _wrap(text: str) -> str:
    """Return the paragraphs of a text in lines that fit the terminal; an example of a command stays in one line."""
    width = shutil.get_terminal_size().columns
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(
        f"  {part}" if part.startswith("nb1shot1 ") else textwrap.fill(part, width, break_on_hyphens=False)
        for part in parts
    )


def _group_options(options: Sequence[OptionHelp], command: Any, own: Any) -> Iterator[tuple[str, Iterable[OptionHelp]]]:
    """Yield headings and options: arguments without a flag, then the groups that the command declares."""
    groups: Mapping[str, Sequence[str]] = getattr(get_origin(command) or command, "GROUPS", {"Options": ()})
    named: dict[str, list[OptionHelp]] = {}
    for option in options:
        name = OWN if option.record is type(own) else option.name
        named.setdefault(name if option.flags else "", []).append(option)
    yield "Arguments", named.pop("", [])
    *_, last = groups
    for heading, names in groups.items():
        members = [option for name in names for option in named.pop(name, [])]
        yield heading, [*members, *chain(*named.values())] if heading == last else members


def _add(group: Any, option: OptionHelp) -> None:
    text = option.text.replace("%", "%%")
    if option.flags and option.form is None:
        group.add_argument(*option.flags, action="store_true", help=text)
    else:
        group.add_argument(*(option.flags or (option.name,)), metavar=option.form, help=text)


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Breaks lines only between words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=TEXT_COLUMN)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def option_helps(command: Any, default: Any, variants: Mapping[str, Mapping[str, Any]]) -> Iterator[OptionHelp]:
    """Yield the help of every option of a command, including the options of nested records, in order of declaration.

    Args:
        command: the command's dataclass.
        default: an instance with the defaults; None: the defaults of the fields.
        variants: defaults that differ in other settings: for the words for a setting, values by name of the option.
    """
    texts: dict[type, dict[str, str]] = {}
    for holder, name, hint, value in _options(command, default):
        if holder not in texts:
            texts[holder] = _docstrings(holder)
        others = {words: values.get(name, value) for words, values in variants.items()}
        differing = {words: other for words, other in others.items() if other != value}
        yield _option_help(name, holder, hint, texts[holder].get(name, ""), value, differing)


def flags_for(value: str, command: Any, default: Any) -> Iterator[str]:
    """Yield the options of a command that list a value among their names or choices; arguments as in `option_helps`."""
    for _, name, hint, _ in _options(command, default):
        known, kind = _names(_extras(hint)), _without_extras(hint)
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if value in (listed_names(known.group) if known else choices):
            yield flag(name)


def option_names(command: Any, default: Any) -> Iterator[str]:
    """Yield the fields of a command's options that are given by a flag; arguments as in `option_helps`."""
    for _, name, hint, _ in _options(command, default):
        if POSITIONAL not in _extras(hint):
            yield name


def _options(command: Any, default: Any) -> Iterator[tuple[type, str, Any, Any]]:
    """Yield record, name, type and default of every option of a command; arguments as in `option_helps`."""
    holder = command if default is None else type(default)
    hints = get_type_hints(holder, include_extras=True)
    for field in fields(holder):
        hint = hints[field.name]
        is_selected = bool(_names(_extras(hint)))  # in `default`, by the command line
        value = _default(field) if default is None or is_selected else getattr(default, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _options(type(value), value)
        elif SUPPRESSED not in _extras(hint):
            yield holder, field.name, hint, value


def _option_help(
    name: str, record: type, hint: Any, docstring: str, value: Any, others: Mapping[str, Any]
) -> OptionHelp:
    extras, kind = _extras(hint), _without_extras(hint)
    flags = () if POSITIONAL in extras else (flag(name),)
    if kind is bool and (value is True or others):
        flags = (*flags, flag(f"no_{name}"))  # the flag itself may be the default
    form = None if kind is bool else _form(kind, extras)
    return OptionHelp(name, record, flags, form, _text(docstring, extras, value, others), value is MISSING)


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _docstrings(record: type) -> dict[str, str]:
    """Return the docstrings of a record's fields, also of its base classes; empty without source code."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(record.__mro__)):
        try:
            module = ast.parse(inspect.getsource(sys.modules[base.__module__]))
        except (OSError, TypeError, KeyError):
            continue
        for name, body in _classes(module):
            if name == base.__qualname__:  # several optimizers of a module may each have a class `Hyperparameters`
                found |= dict(_documented(body))
    return found


def _classes(node: ast.AST, path: str = "") -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the qualified name and the body of every class, in the order of the source code."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name, body=body):
                yield path + name, body
                yield from _classes(child, f"{path}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _classes(child, f"{path}{name}.<locals>.")
            case _:
                yield from _classes(child, path)


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, after in pairwise(body):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


def _extras(hint: Any) -> tuple[Any, ...]:
    """Return the annotations of a type, also in `Annotated[X, ...] | None`."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(extra for kind in get_args(hint) for extra in _extras(kind))
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


def _without_extras(hint: Any) -> Any:
    """Return a type without annotations, and without None."""
    if get_origin(hint) is Annotated:
        return _without_extras(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        kinds = [_without_extras(kind) for kind in get_args(hint) if kind is not NoneType]
        if kinds == [bool]:
            return Literal["yes", "no"]
        return kinds[0] if len(kinds) == 1 else hint
    return hint


def _form(kind: Any, extras: tuple[Any, ...]) -> str:
    for extra in extras:
        if form := getattr(extra, "metavar", None):
            return str(form)
    if _names(extras):
        return "NAME"
    if get_origin(kind) is Literal:
        return f"{{{','.join(map(str, get_args(kind)))}}}"
    if get_origin(kind) is tuple:
        return f"{_form(get_args(kind)[0], ())} …"
    return FORMS.get(kind, "TEXT")


def _text(docstring: str, extras: tuple[Any, ...], value: Any, others: Mapping[str, Any]) -> str:
    """Return what an option sets, and its default, also in other settings."""
    text, _, words = f" {docstring}".partition(DEFAULT)
    return f"{_with_names(text, extras)} {_hint(extras) or _default_in_words(value, words, others)}".strip()


def _with_names(text: str, extras: tuple[Any, ...]) -> str:
    """Insert the known names after the first sentence of a text."""
    if not (known := _names(extras)):
        return text.strip()
    first, _, rest = text.strip().partition(". ")
    own = f", or {known.own}" if known.own else ""
    return f"{first.removesuffix('.')}: {', '.join(listed_names(known.group))}{own}. {rest}".strip()


def _names(extras: tuple[Any, ...]) -> Names | None:
    return next((extra for extra in extras if isinstance(extra, Names)), None)


def _hint(extras: tuple[Any, ...]) -> str:
    return next((hint for extra in extras if (hint := getattr(extra, "help_behavior_hint", None))), "")


def _default_in_words(value: Any, words: str, others: Mapping[str, Any]) -> str:
    if value is MISSING:
        return "(required)"
    if value is False and not others:
        return ""  # the usual default of a flag
    usual = words.removesuffix(".") if value is None else _format_default(value)
    parts = [
        usual or ("none" if others else ""),
        *(f"{where}: {_format_default(other)}" for where, other in others.items()),
    ]
    shown = "; ".join(filter(None, parts))
    return f"(default: {shown})" if shown else ""


def _format_default(value: Any) -> str:
    """Return a default as a user writes it: 1e-6 instead of 1e-06."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}".replace("e+0", "e").replace("e-0", "e-")
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


Setting = tuple[str, str]
"""The name and the value of an option on which defaults depend."""


def default_variants(
    defaults: Callable[[Mapping[str, str]], Mapping[str, Any]], settings: Iterable[Setting]
) -> dict[str, dict[str, Any]]:
    """Return the defaults that differ in other settings.

    Args:
        defaults: returns the defaults of all options under given settings, by name.
        settings: settings to try alone and in pairs.

    Returns:
        For each setting as on the command line, as "--scale quick", the differing defaults by name. A pair of settings
        only has defaults that neither of the two has alone.
    """
    usual, alone = defaults({}), {setting: defaults(dict([setting])) for setting in settings}
    alone = {setting: values for setting, values in alone.items() if values != usual}
    found = {_written(setting): _differing(values, usual) for setting, values in alone.items()}
    for pair in combinations(alone, 2):
        if pair[0][0] != pair[1][0]:
            values = _differing(defaults(dict(pair)), usual, *(alone[setting] for setting in pair))
            found[_written(*pair)] = values
    return found


def _differing(values: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in [other[name] for other in others]}


def _written(*settings: Setting) -> str:
    return " ".join(f"{flag(name)} {value}" for name, value in settings)
