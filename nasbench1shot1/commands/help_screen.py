"""The help of a command: its options in groups, laid out by argparse for the width of the terminal."""

import argparse
import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, get_origin

from nasbench1shot1.commands.option_help import OptionHelp, option_helps

OWN = "own"
"""Placeholder in a command's `GROUPS` for the optimizer's options: the fields of the record with this name."""
TEXT_COLUMN = 26
"""The column in which texts begin; a longer option is on a separate line."""


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Breaks lines only between words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=TEXT_COLUMN)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


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
