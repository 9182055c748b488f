"""Architectures as configurations of ConfigSpace, and as tuples of integers, one for each categorical choice."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, quoted_option, shorten, unknown_name

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace


class Encoding(ABC):
    """Architectures as configurations: the choices of a space, by name and value."""

    @abstractmethod
    def configuration_space(self) -> "ConfigurationSpace":
        """Return the choices as a ConfigSpace space."""

    @abstractmethod
    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """Return the architecture of a configuration.

        Raises InvalidInputError if `configuration` is not a mapping, if a name or value is missing or unknown, or if
        the architecture is not in the space.
        """


class Configurable(Encoding):
    """The part of a search space that black-box optimizers use: its choices, by name and value or by number.

    Subclasses define three methods that convert configurations. `variables`, `values_of` and `from_values` follow from
    them; a space overrides all three if it can convert integers faster.

    Attributes:
        name: short name of the space, for messages.
    """

    name: str

    @property
    def named_encodings(self) -> Mapping[str, Encoding]:
        """The encodings of a space that has several, by name. Default: none."""
        return {}

    def encoding(self, name: str | None = None) -> Encoding:
        """Return an encoding by name; by default, the space itself.

        Raises InvalidInputError if the space has no such encoding.
        """
        if name is None:
            return self
        if not self.named_encodings:
            raise InvalidInputError(f"{self.name} has only one encoding: remove {quoted_option('encoding', name)}")
        if name not in self.named_encodings:
            raise unknown_name("encoding", name, self.named_encodings)
        return self.named_encodings[name]

    @abstractmethod
    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; inverse of `from_configuration`."""

    def variables(self) -> tuple[int, ...]:
        """Return the number of values of each choice, in the order of the hyperparameters of `configuration_space()`.

        Raises InvalidInputError if a hyperparameter is not categorical or depends on another.
        """
        return tuple(len(values) for values in self._values_of_choices.values())

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the index of an architecture's value for each of `variables()`.

        Raises InvalidInputError if the architecture is not in the space.
        """
        configuration = self.to_configuration(arch)
        return tuple(values.index(configuration[name]) for name, values in self._values_of_choices.items())

    def from_values(self, values: Sequence[int]) -> Architecture:
        """Return the architecture with these values; inverse of `values_of`.

        Raises InvalidInputError if there is not one integer for each of `variables()`, a value does not exist, or the
        architecture is not in the space.
        """
        checked = checked_values(self.name, values, self.variables())
        choices = self._values_of_choices.items()
        return self.from_configuration({name: of[value] for (name, of), value in zip(choices, checked, strict=True)})

    @cached_property
    def _values_of_choices(self) -> dict[str, tuple[Any, ...]]:
        return categorical_values(self.name, self.configuration_space())


def values_by_name(
    configuration: "Configuration | Mapping[str, Any]", name: str, known: Iterable[str]
) -> dict[str, Any]:
    """Return the values of a configuration by the names of its hyperparameters.

    Args:
        configuration: the configuration.
        name: the name of the search space, for messages.
        known: the names of all hyperparameters.

    Raises InvalidInputError if it is neither a configuration nor a mapping, or has an unknown name.
    """
    try:
        values = dict(configuration)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{shorten(repr(configuration))} is not a configuration: give one of space.configuration_space(), or a "
            "mapping from parameter names to values"
        ) from error
    names = set(known)
    for key in values:
        if key not in names:
            raise unknown_name(f"parameter of {name}", key, names)
    return values


def categorical_values(name: str, space: "ConfigurationSpace") -> dict[str, tuple[Any, ...]]:
    """Return the values of each hyperparameter; raises InvalidInputError if one is not categorical or is conditional.

    `name` is the name of the search space, for messages.
    """
    found = {key: _values(hyperparameter) for key, hyperparameter in space.items()}
    unfit = [key for key, values in found.items() if not values or key in space.conditional_hyperparameters]
    if unfit:
        raise InvalidInputError(
            f"'{unfit[0]}' of {name} is conditional or not categorical, so architectures of {name} are not tuples of "
            "integers: override variables, values_of and from_values"
        )
    return found


def values_of_hyperparameters(space: "ConfigurationSpace") -> dict[str, dict[str, Any] | None]:
    """Return the values of each hyperparameter by their texts; None for a hyperparameter that is not categorical."""
    return {key: {str(value): value for value in _values(of)} or None for key, of in space.items()}


def _values(hyperparameter: Any) -> tuple[Any, ...]:
    """Return all values of a categorical, ordinal or constant hyperparameter; none for other kinds."""
    from ConfigSpace import Constant

    if isinstance(hyperparameter, Constant):
        return (hyperparameter.value,)
    return tuple(getattr(hyperparameter, "choices", getattr(hyperparameter, "sequence", ())))


def checked_values(name: str, values: Iterable[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return values as Python integers; raises InvalidInputError unless each is at least 0 and less than its size.

    `name` is the name of the search space, for messages.
    """
    try:
        integers = tuple(map(operator.index, values))
    except TypeError as error:
        raise InvalidInputError(
            f"the values of an architecture of {name} are {len(sizes)} integers, not {values!r}"
        ) from error
    if len(integers) != len(sizes):
        raise InvalidInputError(
            f"{name} has {len(sizes)} choices, but {len(integers)} values were given: give one for each choice"
        )
    if min(integers) < 0 or not all(map(operator.lt, integers, sizes)):
        place = next(i for i, (value, size) in enumerate(zip(integers, sizes, strict=True)) if not 0 <= value < size)
        raise InvalidInputError(
            f"choice {place} of {name} has no value {integers[place]}: give 0 to {sizes[place] - 1}"
        )
    return integers
