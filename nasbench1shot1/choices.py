"""The choices of a search space as outside optimizers see them: names that are identifiers, values that are strings.

Some optimizers call a function with one keyword argument for each parameter, so a name such as "1<-0" does not work.
ConfigSpace returns values as numpy strings, which other libraries refuse.
"""

import keyword
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import categorical_values, checked_values
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, shorten, unknown_name
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

CACHED = 2**16
"""Number of architectures that `Choices` keeps by their numbers; building one again takes about 10 µs."""


_NUMBER = re.compile("[0-9]{1,19}")  # a hash of a cell can consist of 32 decimal digits


class Proposal(NamedTuple):
    """What an optimizer proposed.

    Attributes:
        architecture: the architecture; None if each value is valid, but their combination is not in the space.
        values: the index of each choice; None if the architecture itself was given.
    """

    architecture: Architecture | None
    values: tuple[int, ...] | None


class Choices:
    """The choices of a search space, by name, and the architectures that they describe.

    Args:
        space: the search space; all its hyperparameters must be categorical, ordinal or constant, without conditions.

    Attributes:
        space: the search space.
        original_names: the names of the space's own `configuration_space()`, by identifier.

    Raises:
        InvalidInputError: a hyperparameter is conditional or not categorical.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self._original = space.configuration_space()
        known = categorical_values(space.name, self._original)
        self.original_names = dict(zip(identifiers(known), known, strict=True))
        self.by_name: dict[str, tuple[str, ...]] = {
            name: tuple(map(str, known[original])) for name, original in self.original_names.items()
        }
        self._indices = {name: _indices(self.by_name[name], known[of]) for name, of in self.original_names.items()}
        self._sizes = tuple(map(len, self.by_name.values()))
        self._architecture = lru_cache(CACHED)(self._build)
        self._members = dict[Architecture, Architecture]()  # architectures that were found in the space

    @cached_property
    def configuration_space(self) -> "ConfigurationSpace":
        """The choices as a ConfigSpace space: ordinal where the space's own choice is ordinal, else categorical."""
        from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, OrdinalHyperparameter

        space = ConfigurationSpace(name=self.space.name)
        for name, original in self.original_names.items():
            is_ordinal = isinstance(self._original[original], OrdinalHyperparameter)
            kind: Any = OrdinalHyperparameter if is_ordinal else CategoricalHyperparameter
            space.add(kind(name, list(self.by_name[name])))
        return space

    def read(self, x: Any) -> Proposal:
        """Return the architecture of what an optimizer proposed.

        Args:
            x: what `architecture` reads; a ConfigSpace configuration or another mapping from names to choices; or a
                vector of indices, one for each choice.

        Raises:
            InvalidInputError: a name, choice or index is missing or unknown, or the architecture is not in the space.
        """
        if isinstance(x, Architecture | str | int | np.integer):
            return Proposal(self.architecture(x), None)
        if getattr(x, "config_space", x) is self.__dict__.get("configuration_space", self):
            vector = x.get_array()  # faster than values by name
            values = tuple([int(vector[place]) for place in self._places])
        else:
            values = self._values_of_mapping(x) if isinstance(x, Mapping) else self._values_of_vector(x)
        return Proposal(self._architecture(values), values)

    def architecture(self, x: Any) -> Architecture:
        """Return the architecture that a value means; values and errors are as for `architecture_in`."""
        if not isinstance(x, Architecture):
            return architecture_in(self.space, x)
        if (found := self._members.get(x)) is None:
            found = self._members[x] = architecture_in(self.space, x)
        return found

    @cached_property
    def _places(self) -> list[int]:
        """The place of each choice in the vector of a configuration of `configuration_space`."""
        return [self.configuration_space.index_of[name] for name in self.by_name]

    def indices(self, x: Any) -> tuple[int, ...]:
        """Return the index of each choice of an architecture; values and errors are as for `architecture`."""
        return self.space.values_of(self.architecture(x))

    def configuration(self, x: Any) -> dict[str, str]:
        """Return the choices of an architecture by name; values and errors are as for `architecture`."""
        return {
            name: choices[value] for (name, choices), value in zip(self.by_name.items(), self.indices(x), strict=True)
        }

    def _build(self, values: tuple[int, ...]) -> Architecture | None:
        try:
            return self.space.from_values(values)
        except InvalidInputError:  # the values are checked, so their combination is not in the space
            return None

    def _values_of_mapping(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        try:
            if len(given) == len(self._indices):
                return tuple([of[given[name]] for name, of in self._indices.items()])
        except (KeyError, TypeError):
            pass
        by_original = {original: name for name, original in self.original_names.items()}
        renamed = {by_original.get(name, name): value for name, value in given.items()}
        for name in renamed:
            if name not in self._indices:
                raise unknown_name(f"parameter of {self.space.name}", name, self._indices)
        return tuple([self._index(name, renamed) for name in self._indices])

    def _index(self, name: str, given: Mapping[str, Any]) -> int:
        """Return the index of a choice; raises InvalidInputError if it is missing or unknown."""
        if name not in given:
            raise InvalidInputError(
                f"the configuration of {self.space.name} lacks '{name}': give {alternatives(self.by_name[name])}"
            )
        try:
            return self._indices[name][given[name]]
        except (KeyError, TypeError):
            raise InvalidInputError(
                f"{name}={shorten(repr(given[name]))} is not a choice of {self.space.name}: use "
                f"{alternatives(self.by_name[name])}"
            ) from None

    def _values_of_vector(self, given: Any) -> tuple[int, ...]:
        if not isinstance(given, tuple | list | np.ndarray) or (isinstance(given, np.ndarray) and given.ndim != 1):
            raise InvalidInputError(
                f"{shorten(repr(given))} does not describe an architecture of {self.space.name}: give an "
                "nb.Architecture, its text or number, a configuration, or a vector of choice indices"
            )
        return checked_values(self.space.name, given, self._sizes)


def architecture_in(space: SearchSpace, x: Any) -> Architecture:
    """Return the architecture of a space that a value means.

    Args:
        space: the space.
        x: an architecture; its text; its network's identifier, such as the hash of a cell or a benchmark's own string;
            or its number in the space, also as a text. An architecture of another space means the one with the same
            network.

    Raises:
        InvalidInputError: the value means no architecture of the space.
    """
    number = as_number(x)
    if number is not None and 0 <= number < len(space):
        return space[number]
    if number is None and isinstance(x, str | Architecture):
        return _named(space, x)
    example = space[0]
    raise InvalidInputError(
        f"'{shorten(str(x))}' is not an architecture of {space.name}: give its text, such as '{example}', its "
        f"network's identifier, such as '{example.network_id}', or its number, 0 to {len(space) - 1}"
    )


def _named(space: SearchSpace, x: str | Architecture) -> Architecture:
    if isinstance(x, Architecture):
        arch = x
    else:
        try:
            arch = space.benchmark.load("architecture").parse(x)
        except InvalidInputError:
            try:
                return space.with_network(x.strip())
            except InvalidInputError:
                if _shape(x.strip()) == _shape(space[0].network_id):
                    raise
            raise
    if arch.space != space.name:
        with suppress(InvalidInputError):
            return space.with_network(arch.network_id)
    space.index(arch)
    return arch


def _shape(text: str) -> str:
    """Return a text with 0 for each hexadecimal digit: equal for two hashes."""
    return re.sub("[0-9a-fA-F]", "0", text)


def as_number(value: Any) -> int | None:
    """Return a value that is a whole number, or the text of one; None for any other value."""
    if isinstance(value, str):
        return int(value) if _NUMBER.fullmatch(value.strip()) else None
    is_whole = isinstance(value, int | float | np.number) and not isinstance(value, bool) and value == np.floor(value)
    return int(value) if is_whole and abs(value) < 2**63 else None


def as_float(value: Any) -> float:
    """Return a number, or the text of one, as a float.

    Unlike `float`, it rejects `1_000` and non-ASCII digits: in a file, they are probably mistakes. An integer that is
    too large becomes infinite, as its text does.

    Raises TypeError or ValueError if the value is not a number.
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):
        raise ValueError(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def snap(epochs: Any, budgets: Sequence[int]) -> int:
    """Return the largest budget that is at most a number of epochs, or else the smallest budget.

    Args:
        epochs: the number of epochs, which may be a fraction.
        budgets: the budgets, ascending.

    Raises:
        InvalidInputError: `epochs` is not a number, or not positive.
    """
    is_number = isinstance(epochs, int | float | np.integer | np.floating) and not isinstance(epochs, bool)
    if not is_number or not epochs > 0:
        raise InvalidInputError(
            f"epochs cannot be {shorten(repr(epochs))}: give a positive number, such as {budgets[-1]}"
        )
    return max((budget for budget in budgets if budget <= epochs), default=budgets[0])


def identifiers(names: Mapping[str, Any]) -> list[str]:
    """Return a distinct Python identifier for each name, the name itself where possible, such as "choice_1_0"."""
    found: list[str] = []
    for name in names:
        if name.isidentifier() and not keyword.iskeyword(name):
            found.append(name)
            continue
        words = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        found.append(words if words.isidentifier() and not keyword.iskeyword(words) else f"choice_{words}")
    taken: set[str] = set()
    for place, name in enumerate(found):
        one, number = name, 1
        while one in taken:
            number += 1
            one = f"{name}_{number}"
        taken.add(one)
        found[place] = one
    return found


def _indices(texts: Sequence[str], values: Sequence[Any]) -> dict[Any, int]:
    """Return the index of each choice by its text and by the value of the space's own hyperparameter."""
    return {**{value: index for index, value in enumerate(values)}, **{text: i for i, text in enumerate(texts)}}
