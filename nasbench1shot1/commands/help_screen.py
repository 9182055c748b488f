"""The help of a command, from its dataclass: options in groups, with their forms, texts and defaults."""

import argparse
import inspect
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from itertools import chain, combinations
from pathlib import Path
from typing import Any, get_origin

from nasbench1shot1.commands.options import Option, command_options
from nasbench1shot1.ground.errors import flag
from nasbench1shot1.ground.text import typed
from nasbench1shot1.registry import listed_names
from nasbench1shot1.runs.options import Form

OWN = "own"
"""Placeholder in a command's `GROUPS` for the optimizer's options: the fields of the record with this name."""
TEXT_COLUMN = 26
"""The column in which texts begin; a longer option is on a separate line."""
FORMS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}
DEFAULT = " Default: "
"""In a field's docstring, begins a default in words, for fields whose default value is None."""
Variants = Mapping[str, Mapping[str, Any]]
"""Defaults that differ in other settings: for the words for a setting, values by name of the option."""


def help_screen(name: str, command: Any, default: Any, variants: Variants) -> str:
    """Return the help of a command.

    Args:
        name: name of the command.
        command: the command's dataclass. Its attribute `GROUPS`, if it has one, maps headings to names of options; all
            other options are in the last group.
        default: an instance with the defaults; None: the defaults of the fields.
        variants: defaults that differ in other settings.
    """
    options = list(command_options(command, default))
    needed = [option for option in options if option.default is MISSING or not option.flag]
    words = [word for option in needed for word in (option.flag, _form(option)) if word]
    parser = argparse.ArgumentParser(
        usage=" ".join(["nb1shot1", name, *words, *(["[OPTIONS]"] if len(options) > len(needed) else [])]),
        description=_wrap(inspect.getdoc(get_origin(command) or command) or ""),
        formatter_class=_Layout,
        add_help=False,
    )
    for heading, members in _group_options(options, command, getattr(default, OWN, None)):
        group = parser.add_argument_group(heading)
        for option in members:
            _add(group, option, variants)
    return parser.format_help()


def _wrap(text: str) -> str:
    """Return the paragraphs of a text in lines that fit the terminal; an example of a command stays in one line."""
    width = shutil.get_terminal_size().columns
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(
        f"  {part}" if part.startswith("nb1shot1 ") else textwrap.fill(part, width, break_on_hyphens=False)
        for part in parts
    )


def _group_options(options: Sequence[Option], command: Any, own: Any) -> Iterator[tuple[str, Iterable[Option]]]:
    """Yield headings and options: arguments without a flag, then the groups that the command declares."""
    groups: Mapping[str, Sequence[str]] = getattr(get_origin(command) or command, "GROUPS", {"Options": ()})
    named: dict[str, list[Option]] = {}
    for option in options:
        name = OWN if option.record is type(own) else option.name
        named.setdefault(name if option.flag else "", []).append(option)
    yield "Arguments", named.pop("", [])
    *_, last = groups
    for heading, names in groups.items():
        members = [option for name in names for option in named.pop(name, [])]
        yield heading, [*members, *chain(*named.values())] if heading == last else members


def _add(group: Any, option: Option, variants: Variants) -> None:
    """Add an option to a group of an `argparse.ArgumentParser`."""
    others = {words: values[option.name] for words, values in variants.items() if option.name in values}
    others = {words: value for words, value in others.items() if value != option.default}
    text = help_text(option, others).replace("%", "%%")
    if option.kind is bool:  # with --no-x if the flag itself may be the default
        negative = [flag(f"no_{option.name}")] if option.default is True or others else []
        group.add_argument(*filter(None, (option.flag, *negative)), action="store_true", help=text)
    else:
        group.add_argument(option.flag or option.name, metavar=_form(option), help=text)


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Breaks lines only between words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=TEXT_COLUMN)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def _form(option: Option) -> str:
    """Return how values are written, such as "INT"; empty for a flag without a value."""
    if form := next((extra.metavar for extra in option.extras if isinstance(extra, Form)), ""):
        return form
    if option.kind is bool:
        return ""
    if option.names:
        return "NAME"
    form = f"{{{','.join(option.choices)}}}" if option.choices else FORMS.get(option.kind, "TEXT")
    return f"{form} …" if option.takes_several else form


def help_text(option: Option, others: Mapping[str, Any]) -> str:
    """Return what an option sets, and its default; `others` are the defaults in other settings."""
    text, _, words = f" {option.help}".partition(DEFAULT)
    if option.names:  # after the first sentence
        first, _, rest = text.strip().partition(". ")
        own = f", or {option.names.own}" if option.names.own else ""
        text = f"{first.removesuffix('.')}: {', '.join(listed_names(option.names.group))}{own}. {rest}"
    hint = next((extra.default for extra in option.extras if isinstance(extra, Form) and extra.default), "")
    return f"{text.strip()} {hint or _default_in_words(option.default, words, others)}".strip()


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
    if isinstance(value, float):
        return f"{value:g}".replace("e+0", "e").replace("e-0", "e-")
    return " ".join(map(str, value)) if isinstance(value, tuple) else typed(value)


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
