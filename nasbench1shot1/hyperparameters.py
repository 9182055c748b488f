"""The options that belong to one optimizer, one-shot or black-box: their declaration, checks and look-up."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from inspect import get_annotations
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, option, unknown_name
from nasbench1shot1.runs.folder import COMMON, OWN
from nasbench1shot1.runs.options import check_ranges, has_simple_type, option_names, options_to_record, plain_types

MOST_NAMED = 4
"""Number of optimizers that a message lists."""


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The options of one optimizer. Subclasses declare fields, each with a default and a docstring.

    The fields become options of runs with this optimizer: arguments of `nb.search` or `nb.black_box`, options on the
    command line, and entries of config.json. A field must not have the name of a common option
    (`one_shot_search.options.SearchConfig` or `black_box_search.options.BlackBoxConfig`) or a reserved name (`RESERVED`
    in the module `options` of either package).
    """

    def check(self) -> None:
        """Raise InvalidInputError for values that contradict each other or are outside the ranges of their fields.

        A field's annotation declares its range: `population: Annotated[int, Range(2)] = 20` (`runs.options.Range`).
        """
        check_ranges(self)


@dataclass(frozen=True)
class RunOptions:
    """The options of one run of an optimizer, in two records.

    Attributes:
        common: the options that all runs of this kind share.
        own: the optimizer's own options.
        method: the class of the optimizer.
    """

    common: Any
    own: Hyperparameters
    method: Any

    def sections(self) -> dict[str, dict[str, Any]]:
        """Return both records, keyed by section of config.json."""
        return {COMMON: options_to_record(self.common), OWN: options_to_record(self.own)}

    @property
    def threads(self) -> int | None:
        """Number of CPU threads; None if the kind of run does not compute with PyTorch."""
        return getattr(self.common, "threads", None)

    @property
    def device(self) -> str:
        """Resolved device."""
        return getattr(self.common, "device", "cpu")

    def as_dict(self) -> dict[str, Any]:
        """Return all options in one flat dictionary, keyed by name."""
        return {**options_to_record(self.common), **options_to_record(self.own)}

    def used(self) -> dict[str, Any]:
        """Return the options that the method uses, keyed by name. A new run accepts all of them (`check_used`)."""
        unused = self.method.unused_options(self.own)
        return {name: value for name, value in self.as_dict().items() if name not in unused}


def options_of(record: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that are fields of a record."""
    known = option_names(record)
    return {name: value for name, value in options.items() if name in known}


def changed_options(given: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that are not among the recorded ones, or have another value there."""
    return {name: value for name, value in given.items() if name not in kept or kept[name] != value}


def check_used(options: RunOptions, given: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Raise InvalidInputError if an option is given that the method does not use (`unused_options`).

    Args:
        options: the resolved options.
        given: the given options by name; None counts as not given.
        usual: defaults that replace the fields' own defaults. They are accepted as values of unused options.
    """
    for name, reason in options.method.unused_options(options.own).items():
        record = options.common if hasattr(options.common, name) else options.own
        value = getattr(record, name)
        if given.get(name) is not None and value != usual.get(name, getattr(type(record), name)):
            raise InvalidInputError(f"{option(name, value)} has no effect here, because {reason}: remove it")


@dataclass(frozen=True)
class Methods:
    """All optimizers of one kind, one-shot or black-box.

    Attributes:
        names: returns the registered names of the optimizers.
        find: returns the class of an optimizer by name.
        common: the record of the options that all runs of this kind share.
        reserved: names that an optimizer's own options must not have.
    """

    names: Callable[[], Iterable[str]]
    find: Callable[[str], Any]
    common: type
    reserved: frozenset[str]

    def check_options(self, method: Any, given: Iterable[str]) -> None:
        """Raise InvalidInputError for an option that only other optimizers have. The message names them."""
        mine = {*option_names(self.common), *option_names(method.Hyperparameters)}
        for name in given:
            if name not in mine and (holders := self._holders(name)):
                raise InvalidInputError(
                    f"{option(name)} does not apply to {self._registered_name(method)}: remove it (only "
                    f"{_listed(holders)} {'have' if len(holders) > 1 else 'has'} it)"
                )

    def check_known(self, method: Any, given: Iterable[str]) -> None:
        """Raise InvalidInputError for an option that is neither a common option nor an option of the method."""
        self.check_options(method, given := list(given))
        known = (*option_names(self.common), *option_names(method.Hyperparameters))
        if unknown := [name for name in given if name not in known]:
            raise unknown_name("option", unknown[0], known)

    def check_method(self, method: Any, defaults: Iterable[str]) -> None:
        """Check an optimizer's declaration of its own options.

        Args:
            method: the class.
            defaults: names of all options for which the class declares a default.

        Raises:
            InvalidInputError: the options are not declared in a dataclass; an own option has a common or reserved name,
                lacks a default, or does not have a simple type; or a default does not name an option.
        """
        own = method.Hyperparameters
        if not (isinstance(own, type) and issubclass(own, Hyperparameters)):
            raise InvalidInputError(
                f"{method.__name__}.Hyperparameters must be a subclass of "
                "nasbench1shot1.hyperparameters.Hyperparameters"
            )
        common, hints = set(option_names(self.common)), plain_types(own)
        for each in own.__mro__:
            declared = get_annotations(each) if issubclass(each, Hyperparameters) else {}
            if declared and "__dataclass_fields__" not in vars(each):
                raise InvalidInputError(
                    f"'{next(iter(declared))}' of {each.__qualname__} has no effect, because the class is not a "
                    "dataclass: write @dataclass(frozen=True, kw_only=True) above it"
                )
        for field in fields(own):
            self._check_own(method.__name__, field.name, common)
            if not has_simple_type(hints[field.name]):
                raise InvalidInputError(
                    f"the option '{field.name}' of {method.__name__} has an unsupported type: use int, "
                    "float, bool, str or a Literal of strings, each optionally | None"
                )
            if MISSING is field.default is field.default_factory:
                raise InvalidInputError(f"the option '{field.name}' of {method.__name__} has no default: give it one")
        for name in defaults:
            if name not in (known := common | set(option_names(own))):
                raise unknown_name(f"option among the defaults of {method.__name__}:", name, known)

    def _check_own(self, method: str, name: str, common: set[str]) -> None:
        if name in common | self.reserved:
            why = "is a common option" if name in common else "is reserved for the command or the record"
            raise InvalidInputError(f"{method} has an option '{name}', but this name {why}: rename the option")

    def _registered_name(self, method: Any) -> str:
        """Return the registered name of an optimizer, or the name of its class if it is not registered."""
        for name in self.names():
            with suppress(InvalidInputError):  # another package's that cannot be imported
                if self.find(name) is method:
                    return name
        return str(method.__name__)

    def _holders(self, option: str) -> list[str]:
        """Return the names of the registered optimizers that have an option, including optimizers of other packages."""
        found = []
        for name in self.names():
            with suppress(InvalidInputError):  # another package's that cannot be imported
                if option in option_names(self.find(name).Hyperparameters):
                    found.append(name)
        return found


def _listed(names: list[str]) -> str:
    """Return names as an enumeration; of a long list, only the first names and the number of the others."""
    if len(names) > MOST_NAMED + 1:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} other optimizers"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
