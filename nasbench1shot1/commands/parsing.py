"""Parsing of a command's options by tyro. An error is one sentence; optional values have the form that users write.

`X | None` has the metavar and the choices of X in messages.
"""

import contextlib
import io
import re
from dataclasses import replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from nasbench1shot1.commands.help_screen import flags_for
from nasbench1shot1.ground.errors import InvalidInputError, shorten, unknown_name

NONE = "None"
"""The text for None on the command line."""
YES, NO = ("yes", "true"), ("no", "false")


def parse(options: Any, name: str, arguments: list[str], default: Any = None) -> Any:
    """Return the options as a dataclass; raises InvalidInputError with tyro's message as one sentence."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        try:
            defaults = {} if default is None else {"default": default}
            return tyro.cli(
                options, args=arguments, prog=f"nb1shot1 {name}", registry=with_optional_values(), **defaults
            )
        except SystemExit as stop:
            if not stop.code:
                raise
    said = _sentence(told.getvalue())
    if extra := re.fullmatch(r"Unrecognized options: (.*?)(?:, .*)?", said):
        said = _without_option(shorten(extra[1]), options, default)
    see = f"see nb1shot1 {name} --help)"
    lists_names = "(known: " in said and said.endswith(")")
    raise InvalidInputError(f"{said.removesuffix(')')}; {see}" if lists_names else f"{said} ({see}")


def _without_option(value: str, options: Any, default: Any) -> str:
    """Return the sentence about a value that does not follow an option, with the option that it may be meant for."""
    meant = next(flags_for(value, options, default), None)
    return f"unexpected argument '{value}'" + (f"; did you mean {meant} {value}?" if meant else "")


def _sentence(box: str) -> str:
    """Return tyro's boxed message about a bad value, coloured if standard output is a terminal, as one sentence."""
    from rich.text import Text

    text = " ".join(re.sub(r"[^\x20-\x7e]", " ", Text.from_ansi(box).plain).split())
    for value in (r"\['(.*?)'\]", "'(.*?)' "):
        if bad := re.search(rf"Error parsing (--[\w-]+): .*?{value}", text):
            return _wrong_type(bad[1], bad[2], text)
    if bad := re.search(r"invalid choice '(.*?)' for argument '(?:--)?([\w-]+)'. Expected one of \((.*?)\)", text):
        choices = set(re.findall(r"'(.*?)'", bad[3])) - {"None"}
        kind = {"over": "axis (--over)"}.get(bad[2], bad[2].replace("-", " "))
        return unknown_name(kind, bad[1], choices).for_command_line
    if bad := re.search(r"Missing value for argument '(--[\w-]+)'", text):
        return f"{bad[1]} needs a value"
    if missing := re.search(r"Missing from nb1shot1 [\w -]+: (.*?) \(required\)", text):
        name, _, text = missing[1].partition(" ")
        what = text.partition(". ")[0].removesuffix(".")
        return f"{name} is missing" if name.startswith("--") else f"an argument is missing: give {_lower(what)}"
    text = re.sub(r"-{5,}.*$|For full helptext.*$", "", text).strip()
    return text.removeprefix("Unrecognized options ")


def _wrong_type(option: str, value: str, text: str) -> str:
    """Return the sentence about a value of a wrong type; Python's error in `text` tells which type is expected."""
    kinds = {"literal for int()": "a whole number", "string to float": "a number", "neither yes nor no": "yes or no"}
    wanted = next((kind for words, kind in kinds.items() if words in text), None)
    return f"{option} must be {wanted}, not '{shorten(value)}'" if wanted else f"{option} cannot be '{shorten(value)}'"


def _lower(text: str) -> str:
    """Return a text with a small first letter."""
    return text[:1].lower() + text[1:]


def with_optional_values() -> ConstructorRegistry:
    """Return a registry for `tyro.cli` in which `X | None` has the metavar and the choices of X."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_optional)
    return registry


def _optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    if get_origin(info.type) not in (Union, UnionType) or NoneType not in get_args(info.type):
        return None
    kinds = [kind for kind in get_args(info.type) if kind is not NoneType]
    if len(kinds) > 1:
        return None
    if kinds[0] is bool:
        return _yes_or_no()
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kinds[0], info.markers))
    if not isinstance(spec, PrimitiveConstructorSpec) or spec.nargs != 1:
        return None
    return replace(
        spec,
        instance_from_str=lambda given: None if given == [NONE] else spec.instance_from_str(given),
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: [NONE] if value is None else spec.str_from_instance(value),
        choices=spec.choices and (*spec.choices, NONE),
    )


def _yes_or_no() -> PrimitiveConstructorSpec[Any]:
    """Return how `bool | None` is parsed: as yes or no, which help shows, or as another word of `YES` or `NO`."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="{yes,no}",
        instance_from_str=lambda given: None if given == [NONE] else _as_bool(given[0]),
        is_instance=lambda value: value is None or isinstance(value, bool),
        str_from_instance=lambda value: [NONE] if value is None else ["yes" if value else "no"],
    )


def _as_bool(word: str) -> bool:
    if word.lower() not in {*YES, *NO}:
        raise ValueError(f"'{word}' is neither yes nor no")
    return word.lower() in YES
