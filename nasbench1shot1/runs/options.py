"""Options as typed records: dataclasses whose fields declare name, type, range, default and help in one place.

A field's type is `int`, `float`, `bool`, `str` or a `Literal` of strings, optionally `| None`. `Annotated` adds the
range of a number, as in `epochs: Annotated[int, Range(1)] = 50`.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, asdict, dataclass, fields, replace
from enum import Enum, auto
from functools import cache
from numbers import Real
from operator import index
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    alternatives,
    option,
    quote,
    switch,
    unknown_name,
    value_of,
)
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.runs.folder import COMMON

T = TypeVar("T")
F = TypeVar("F", str, str | None)
LARGEST = 2**63 - 1
MOST_EPOCHS = 10**6
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
_OBJECTS = {
    "space": "the name of a search space, or an nb.SearchSpace",
    "table": "the name or folder of a table, or an nb.Table",
    "optimizer": "the name or the class of an optimizer",
}
"""Options that take a name or, in Python, an object."""


@dataclass(frozen=True)
class Range:
    """The range of a number.

    Attributes:
        least: the smallest value.
        most: the largest value.
        above: the value that the number must exceed, for ranges without a smallest value.
        below: the value that the number must not reach, for ranges without a largest value.
    """

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def check(self, name: str, value: float) -> None:
        """Raise InvalidInputError for a number that is out of the range, infinite or NaN."""
        if self.least <= value <= self.most and self.above < value < self.below and abs(value) != math.inf:
            return
        finite = "a finite number, " if abs(value) == min(self.most, self.below) == math.inf else ""
        raise InvalidInputError(f"{value_of(name)} must be {finite}{self.describe()}, not {value}")

    def describe(self) -> str:
        """Return the range in words, such as "between 1 and 10"."""
        if self.above > -math.inf:
            return f"more than {self.above:,}"
        if self.below < math.inf:
            return f"at least {self.least:,} and less than {self.below:,}"
        if self.most == math.inf:
            return f"at least {self.least:,}"
        if self.most == RATE.most:  # a limit of float32, not of the method
            return f"at least {self.least:,} and at most {self.most:g}"
        return f"between {self.least:,} and {self.most:,}"


RATE = Range(0, 1e38)
"""The range of learning rates and weight decays, which PyTorch's optimizers convert to float32."""


@dataclass(frozen=True)
class Form:
    """How help writes the values of an option whose type does not show it.

    Attributes:
        metavar: the form, such as "{auto,cpu,cuda,cuda:N}".
        default: how help writes the default, with parentheses, if the field's default does not show it.
        repeats: whether the option may be given several times; its values are then joined by commas.
    """

    metavar: str
    default: str = ""
    repeats: bool = False


class IfGiven:
    """Marks an option that config.json has only if it is given; its default is None, which changes nothing."""


IF_GIVEN = IfGiven()


class OfLength(Enum):
    """Marks an option whose default depends on the length of a search (`scales.fitted`)."""

    EPOCHS = auto()
    """A number of epochs: its share of all epochs is equal at all scales."""
    STEP = auto()
    """A step size: its product with the number of steps is equal at all scales."""


@dataclass(frozen=True)
class OnlyWith:
    """Marks an option that has an effect only with some values of another option of the run.

    A given value without an effect is refused, unless it equals the default (`check_effects`).

    Attributes:
        name: the other option, or a property of the record of options.
        values: its values with which the option has an effect.
        above: used without `values`: the other option must be greater than this number.
    """

    name: str
    values: tuple[Any, ...] = ()
    above: float = 0.0

    def allows(self, other: Any) -> bool:
        """Return whether the option has an effect with a value of the other option."""
        return other in self.values if self.values else other is not None and other > self.above

    @property
    def condition(self) -> str:
        """The condition in a message, such as `--update implicit` or `--alignment above 0`."""
        if not self.values:
            return f"{option(self.name)} above {self.above:g}"
        first, *others = [value for value in self.values if value is not None]
        return alternatives([switch(self.name) if first is True else option(self.name, first), *others])

    @property
    def advice(self) -> str:
        """What to do so that the option has an effect."""
        return f"add {switch(self.name)}" if self.values == (True,) else f"change {value_of(self.name)}"


class OnlyWithBounds(OnlyWith):
    """Marks an option that has an effect only in searches with bounds on costs."""

    def __init__(self) -> None:
        super().__init__("bounds")

    def allows(self, other: Any) -> bool:
        """Return whether there are bounds."""
        return other is not None

    @property
    def condition(self) -> str:
        """The condition in a message."""
        return "a bound on costs"

    @property
    def advice(self) -> str:
        """What to do so that the option has an effect."""
        return f"add {option('max_parameters')}, {option('max_flops')} or {option('max')}"


TableName = Annotated[str, Form("NAME|FOLDER")]
"""The type of the option `table`: a bundled or imported table, or the folder of a table."""
Mark = Annotated[tuple[str, ...], Form("NAME|ARCHITECTURE …")]
"""The type of the option `mark`: names of a benchmark's reference points, or networks, that a picture marks."""
Images = Annotated[str, Form("NAME|FILE")]
"""The type of the option `images`: an image set by name, or an .npz file."""
Seeds = Annotated[str, Form("SEEDS")]
"""The type of the option `seeds` on the command line."""


@dataclass(frozen=True)
class Names:
    """The names that an option takes; help lists the names that are registered when it is shown.

    Attributes:
        group: a group of the registry, "one_shot_spaces", or "module:attribute" for the names that an object contains.
        own: how a user names an object of their own, such as "module:Class"; empty if that is not possible.
    """

    group: str
    own: str = ""


def option_names(record: Any) -> tuple[str, ...]:
    """Return the names of a record's fields, in order."""
    return tuple(field.name for field in fields(record))


def plain_types(record: type) -> Mapping[str, Any]:
    """Return the types of a record's fields, without their annotations."""
    return _evaluated(record, False)


def annotated_types(record: type) -> Mapping[str, Any]:
    """Return the types of a record's fields, with their annotations."""
    return _evaluated(record, True)


@cache
def _evaluated(record: type, include_extras: bool) -> Mapping[str, Any]:
    """Return the types of a record's fields; evaluating annotations takes a millisecond, so it is done only once."""
    return MappingProxyType(get_type_hints(record, include_extras=include_extras))


def typed_options(record: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert named options to the types of a record's fields; numpy scalars and paths are accepted.

    Raises:
        InvalidInputError: an option is unknown (the closest known one is suggested), or a value has a wrong type or is
            not among a field's choices.
    """
    known, types = option_names(record), _evaluated(record, False)
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    ranges = {name: _ranges(hint) for name, hint in annotated_types(record).items()}
    return {name: _typed(name, value, types[name], ranges[name]) for name, value in options.items()}


def make_options(record: type[T], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> T:
    """Return a record of the given options; `defaults` replace the fields' own defaults.

    Args:
        record: the dataclass of the options.
        given: options by name; None means that an option is not given.
        defaults: defaults of a scale or a method for options that are not given; names of other records are ignored.

    Raises:
        InvalidInputError: as for `typed_options`.
    """
    own = {name: value for name, value in defaults.items() if name in option_names(record)}
    typed = typed_options(record, given)
    return record(**{**own, **{name: value for name, value in typed.items() if value is not None}})


def check_ranges(record: Any) -> None:
    """Raise InvalidInputError for the first number of a record that is out of its field's range."""
    for name, hint in annotated_types(type(record)).items():
        value = getattr(record, name)
        if value is not None:
            for range_ in _ranges(hint):
                range_.check(name, value)


def _ranges(hint: Any) -> list[Range]:
    """Return the ranges of a field with an annotated type."""
    return [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Range)]


def check_effects(
    records: Iterable[Any], given: Mapping[str, Any], usual: Mapping[str, Any], varied: Collection[str] = ()
) -> None:
    """Raise InvalidInputError for a given option that has no effect, because of the value of another one (`OnlyWith`).

    Args:
        records: the resolved records of options.
        given: the given options by name; None counts as not given.
        usual: defaults that replace the fields' own defaults. Both are accepted as values of options without effect:
            `reset_without_effect` replaces the former by the latter.
        varied: options whose value other runs of a study vary. An option that depends on them is not refused.
    """
    records = list(records)
    for record in records:
        for field, needed in _without_effect(record, records, varied):
            name, value = field.name, getattr(record, field.name)
            if given.get(name) is not None and value not in (usual.get(name, field.default), field.default):
                hints = annotated_types(type(record))
                raise InvalidInputError(
                    f"{_written(value, name, hints)} has an effect only with {needed.condition}: remove it, "
                    f"or {needed.advice}"
                )


def names_without_effect(record: Any, records: Iterable[Any], varied: Collection[str] = ()) -> frozenset[str]:
    """Return the names of a record's options that another option of one of the `records` disables; see `OnlyWith`.

    `varied` names options whose value is not final, which disable nothing.
    """
    return frozenset(field.name for field, _ in _without_effect(record, list(records), varied))


def reset_without_effect(record: T, records: Iterable[Any], varied: Collection[str] = ()) -> T:
    """Return a record in which options without an effect have their field's own default.

    Such values are defaults of a method, a space or a preset. Arguments are as in `names_without_effect`.
    """
    disabled = names_without_effect(record, records, varied)
    own = {field.name: field.default for field in fields(record) if field.name in disabled}  # type: ignore[arg-type]
    return replace(record, **own)  # type: ignore[type-var]


def _without_effect(
    record: Any, records: Sequence[Any], varied: Collection[str]
) -> Iterator[tuple[Field[Any], OnlyWith]]:
    """Yield the options of a record that have no effect, with the reason; the records have the other options."""
    hints = annotated_types(type(record))
    for field in fields(record):
        for needed in (extra for extra in _annotations(hints[field.name]) if isinstance(extra, OnlyWith)):
            other = next(getattr(of, needed.name) for of in records if hasattr(of, needed.name))
            if needed.name not in varied and not needed.allows(other):
                yield field, needed


def _written(value: Any, name: str, hints: Mapping[str, Any]) -> str:
    """Return how a message names an option with its value; flags of the command line have no value."""
    return switch(name) if _alternatives(hints[name]) == (bool,) and value is True else option(name, value)


def has_simple_type(hint: Any) -> bool:
    """Return whether an option can have a type: a number, a bool, a string, a choice of strings, or None."""
    return all(kind in (*_WORDS, NoneType) or get_origin(kind) is Literal for kind in _alternatives(hint))


def options_to_record(options: Any) -> dict[str, Any]:
    """Return the fields of a record of options for config.json, without `IF_GIVEN` ones that are not given."""
    optional, values = _names_if_given(type(options)), asdict(options)
    return {name: value for name, value in values.items() if value is not None or name not in optional}


class OptionRecord:
    """Base class of the options of a kind of run that are one dataclass, and one section of config.json."""

    def as_dict(self) -> dict[str, Any]:
        """Return all options by name, for JSON."""
        return options_to_record(self)

    def sections(self) -> dict[str, dict[str, Any]]:
        """Return the options by section of config.json."""
        return {COMMON: self.as_dict()}


def _names_if_given(record: type) -> set[str]:
    hints = annotated_types(record)
    return {name for name, hint in hints.items() if any(isinstance(of, IfGiven) for of in _annotations(hint))}


def names_of_length(record: type) -> dict[str, OfLength]:
    """Return the mark of every option of a record that is marked with `OfLength`, by name."""
    hints = annotated_types(record)
    return {name: of for name, hint in hints.items() for of in _annotations(hint) if isinstance(of, OfLength)}


def _annotations(hint: Any) -> tuple[Any, ...]:
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


OF_PICTURES = ("style", "spread")
"""Options of pictures that records of earlier versions lack; their defaults apply."""


def switch_names(record: type) -> set[str]:
    """Return the names of the options of a record that the command line takes without a value, `--x` or `--no-x`."""
    return {name for name, hint in _evaluated(record, False).items() if hint is bool}


def recorded_options(record: type[T], recorded: Mapping[str, Any], where: Path) -> T:
    """Read the options that a run's config.json records.

    Args:
        record: the dataclass of the options.
        recorded: a value for each field; other keys are ignored.
        where: the file, for messages.

    Raises:
        DamagedFileError: an option is missing, has a wrong type, or is out of its range.
    """
    known = {name: recorded[name] for name in option_names(record) if name in recorded}
    optional = {*OF_PICTURES, *_names_if_given(record)}
    if missing := [name for name in option_names(record) if name not in known and name not in optional]:
        raise DamagedFileError(f"{where} lacks '{missing[0]}': restore it, or start a new run")
    try:
        options = record(**typed_options(record, known))
        check_ranges(options)
    except InvalidInputError as error:
        raise DamagedFileError(f"{where} is damaged ({quote(error)}): restore it, or start a new run") from error
    return options


def check_unchanged(
    folder: Path, recorded: Mapping[str, Any], given: Mapping[str, Any], may_grow: Iterable[str]
) -> None:
    """Raise InvalidInputError if an option given on resuming differs from the recorded option.

    Args:
        folder: the folder of the run.
        recorded: the options of the run.
        given: the given options, typed.
        may_grow: names of the options that may exceed the recorded value.
    """
    for name, value in given.items():
        if name in may_grow and value is not None:
            if value < recorded[name]:
                raise InvalidInputError(
                    f"'{folder}' was started with {option(name, recorded[name])}: {value_of(name)} may only increase, "
                    f"not fall to {value}"
                )
        elif value != recorded.get(name):
            grows = "".join(f" (only {value_of(other)} may increase)" for other in may_grow)
            before = recorded.get(name)
            started = f"without {option(name)}" if before is None else f"with {option(name, before)}"
            raise InvalidInputError(
                f"'{folder}' was started {started}, not {'with ' if before is None else ''}{value}: a run keeps its "
                f"options{grows}; start a new run for others"
            )


def check_range(name: str, value: Any, least: float, most: float = math.inf) -> None:
    """Raise InvalidInputError for a number that is out of range, infinite or NaN, or not a number; None passes."""
    if value is not None and (isinstance(value, bool) or not issubclass(type(value), Real)):
        raise InvalidInputError(f"{value_of(name)} must be a number, not {value!r}")
    if value is not None:
        Range(least, most).check(name, value)


def checked_seeds(seeds: Any) -> tuple[int, ...]:
    """Return one or more random seeds, in the given order.

    Raises InvalidInputError unless they are distinct whole numbers from 0.
    """
    given: Any = seeds
    found: tuple[int, ...] = ()
    with suppress(TypeError):
        given = seeds if isinstance(seeds, str) else list(seeds)  # perhaps a generator, or an array
        found = tuple(index(seed) for seed in given if not isinstance(seed, bool))
    if not found or len(set(found)) < len(given) or min(found) < 0:
        raise InvalidInputError(
            f"{value_of('seeds')} must be a list of distinct whole numbers from 0, such as [0, 1], not {given!r}"
        )
    return found


def check_learning_rates(first: float, least: float) -> None:
    """Raise InvalidInputError if a schedule from an initial to a minimum learning rate would increase."""
    if least > first:
        raise InvalidInputError(
            f"{option('learning_rate', first)} is less than {option('learning_rate_min', least)}: raise "
            f"{option('learning_rate')} or lower {option('learning_rate_min')}"
        )


def absolute_file(value: F, option: str = "images", suffix: str | None = ".npz") -> F:
    """Return a file's absolute path, so that a run can be resumed from anywhere; a name stays a name.

    Args:
        value: a name, or the path of a file.
        option: name of the option.
        suffix: the extension of these files, or None for any. A word without this extension is a name, even if a file
            in the current folder has the same name.
    """
    if value is None:
        return value
    path = as_path(value, option, is_option=True)
    is_name = path.name == str(value) and (path.suffix != suffix if suffix else not path.suffix)
    return value if is_name or not path.is_file() else str(path.absolute())


def required(value: "T | None") -> "T":
    """Return a value that resolving a configuration has filled in."""
    assert value is not None
    return value


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types that a value may have."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _check_size(name: str, value: Any, ranges: Sequence[Range]) -> None:
    """Refuse integers that floats and files cannot hold, and text that files cannot hold."""
    if isinstance(value, int) and abs(value) > LARGEST:
        passed = [range_.describe() for range_ in ranges if not range_.least <= value <= range_.most]
        limit, size = passed[0] if passed else f"at most {LARGEST}", "larger" if value < 0 else "smaller"
        raise InvalidInputError(f"{value_of(name)} must be {limit}: give a {size} number")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"{value_of(name)} must be text in UTF-8, not {value!r}") from error


def _typed(name: str, value: Any, hint: Any, ranges: Sequence[Range]) -> Any:
    import numpy as np  # help does not need it

    allowed = _alternatives(hint)
    value = value.item() if isinstance(value, np.generic) else value
    value = str(value) if isinstance(value, Path) else value
    if value is None and NoneType in allowed:
        return value
    _check_size(name, value, ranges)
    if choices := [choice for kind in allowed if get_origin(kind) is Literal for choice in get_args(kind)]:
        if value not in choices:
            raise unknown_name(name.replace("_", " "), value, choices)
        return value
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) not in allowed:
        kind = next(kind for kind in allowed if kind is not NoneType)
        raise InvalidInputError(f"{value_of(name)} must be {_OBJECTS.get(name, _WORDS[kind])}, not {value!r}")
    return value
