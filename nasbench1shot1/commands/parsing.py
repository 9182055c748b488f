"""Parsing of a command line by cyclopts; an error is one sentence."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NoReturn

import cyclopts
from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnknownOptionError

from nasbench1shot1.commands.options import YES_NO, Asked, Option
from nasbench1shot1.ground.errors import InvalidInputError, UserError, shorten, unknown_name
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.runs.options import Form

NONE = "None"
"""The text for None on the command line."""
_TRUTH = {"yes": True, "true": True, "no": False, "false": False}
_WORDS = {int: "a whole number", float: "a number", YES_NO: "yes or no"}
_KINDS = {"over": "axis (--over)", "gpus": "GPU", "dataset": "data set"}
"""What messages call the values of an option, where its name does not say it."""
_NUMBERS = re.compile(r"\d+([-,]\d+)+")
"""Several whole numbers, as in "0-5" and "1,3,8"."""


def parse(
    name: str, options: Sequence[Option], words: Iterable[str], explain: Callable[[str], object] = lambda _: None
) -> dict[str, Any]:
    """Return the given options of a command by name, typed.

    Args:
        name: name of the command, for messages.
        options: the options of the command.
        words: the command line after the command.
        explain: called with the name of an option that the command lacks; may raise an error that tells more about it.

    Raises:
        InvalidInputError: an option or argument is unknown, is missing, lacks a value, or has a wrong value.
    """
    given, others = _bound(name, options, words, explain)
    if others:
        _refuse_unknown(name, options, others[0], explain)
    for option in options:
        if option.default is MISSING and option.name not in given:
            what = option.help.partition(". ")[0].removesuffix(".")
            said = f"{option.flag} is missing" if option.flag else f"an argument is missing: give {_lower(what)}"
            raise _refusal(name, said)
    flags = {option.name: option.flag for option in options}
    return {
        key: as_path(value, key, is_option=flags[key] is not None) if isinstance(value, Path) else value
        for key, value in given.items()
    }


def parse_some(name: str, options: Sequence[Option], words: Iterable[str]) -> Asked:
    """Return the given ones of some options of a command, all of which have a flag, and all other words."""
    return Asked(*_bound(name, options, words, lambda _: None))


def _bound(
    name: str, options: Sequence[Option], words: Iterable[str], explain: Callable[[str], object]
) -> tuple[dict[str, Any], list[str]]:
    """Return the given options by name, and the words that do not belong to an option."""
    try:
        _, bound, others, _ = _app(name, options).parse_known_args(list(words))
    except UnknownOptionError as error:
        _refuse_unknown(name, options, error.token.keyword or error.token.value, explain)
    except MissingArgumentError as error:
        raise _refusal(name, f"{error.argument.name if error.argument else 'an option'} needs a value") from None
    except CycloptsError as error:
        if isinstance(error.__cause__, UserError):  # of `_value`
            raise error.__cause__ from None
        error.verbose = False
        raise _refusal(name, str(error)) from error
    given: dict[str, Any] = bound.arguments
    if empty := [option for option in options if option.flag and given.get(option.name) == ()]:
        raise _refusal(name, f"{empty[0].flag} needs a value")
    return given, others


def _app(name: str, options: Sequence[Option]) -> cyclopts.App:
    """Return a parser of one command, whose function has a parameter for each option."""

    def command(**_: Any) -> None:
        pass

    parameters = sorted((_parameter(name, option, options) for option in options), key=lambda parameter: parameter.kind)
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = cyclopts.App(name=name, help_flags=(), version_flags=())
    app.default(command)
    return app


def _parameter(name: str, option: Option, options: Sequence[Option]) -> Parameter:
    if option.flag and option.kind is bool:
        return Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=bool)
    how = cyclopts.Parameter(
        converter=partial(_values, name, option, next((x.flag for x in options if x.name == f"{option.name}s"), None)),
        allow_repeating=True,
        consume_multiple=option.takes_several,
        negative="",
    )
    if option.flag:
        hint = tuple[str, ...] if option.takes_several or _repeats(option) else str
        return Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, how])
    if option.takes_several:
        return Parameter(option.name, Parameter.VAR_POSITIONAL, annotation=Annotated[str, how])
    return Parameter(option.name, Parameter.POSITIONAL_ONLY, default=None, annotation=Annotated[str, how])


def _repeats(option: Option) -> bool:
    """Return whether an option may be given several times, so that its values are joined."""
    return any(isinstance(extra, Form) and extra.repeats for extra in option.extras)


def _values(name: str, option: Option, plural: str | None, _: Any, tokens: Sequence[cyclopts.Token]) -> Any:
    """Convert what was given for an option; each of several arguments without a flag is converted alone."""
    values = tuple(_value(name, option, plural, token.value) for token in tokens)
    if _repeats(option):
        return ",".join(values)
    return values if option.takes_several and option.flag else values[-1]


def _value(name: str, option: Option, plural: str | None, text: str) -> Any:
    """Convert a text; `plural` is the flag of an option for several values, such as "--seeds" for "--seed"."""
    if text == "":  # such as "$FOLDER" with FOLDER unset; as a path, it would mean the current folder
        raise InvalidInputError(f"{option.flag or 'an argument'} is '', an empty string: give a value, or remove it")
    if option.is_optional and text == NONE:
        return None
    if option.kind is YES_NO and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if option.kind is not YES_NO and option.choices:
        if text in option.choices:
            return text
        kind = _KINDS.get(option.name, option.name.replace("_", " "))
        raise unknown_name(kind, text, option.choices, more=f"; see {_help(name)}")
    with suppress(ValueError, TypeError):
        return option.kind(text)
    meant = f"; did you mean {plural} {shorten(text)}?" if plural and _NUMBERS.fullmatch(text) else ""
    raise _refusal(name, f"{option.flag} must be {_WORDS[option.kind]}, not '{shorten(text)}'{meant}")


def _refuse_unknown(name: str, options: Sequence[Option], word: str, explain: Callable[[str], object]) -> NoReturn:
    """Raise the error for an unknown option, or for a value that does not follow an option but may be meant for one."""
    flags = [option.flag for option in options if option.flag]
    if word.startswith("--"):
        word = word.partition("=")[0]
        if word in flags:
            raise _refusal(name, f"'{word}' follows --, after which all words are arguments: give options before it")
        explain(word.removeprefix("--").removeprefix("no-").replace("-", "_"))
        raise unknown_name("option", word, ["--help", *flags])
    meant = next((option.flag for option in options if option.lists(word)), None)
    shown = shorten(word)
    raise _refusal(name, f"unexpected argument '{shown}'" + (f"; did you mean {meant} {shown}?" if meant else ""))


def _refusal(name: str, said: str) -> InvalidInputError:
    """Return the error with a sentence, which refers to the command's help."""
    return InvalidInputError(f"{said} (see {_help(name)})")


def _help(name: str) -> str:
    return f"nb1shot1 {name} --help"


def _lower(text: str) -> str:
    """Return a text with a small first letter."""
    return text[:1].lower() + text[1:]
