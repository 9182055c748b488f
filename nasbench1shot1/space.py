"""What every search space offers, whatever its choices are made of."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError, unknown_name

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

Weights = Mapping[str, Any]
"""Mixing weights or raw architecture parameters: a tensor or array for every key of `mixing_shapes()`."""

Numbers = NDArray[np.int64] | range
"""Ascending numbers of architectures."""


@dataclass(frozen=True)
class Choice:
    """One decision of an architecture: which entries of one vector of mixing weights it takes.

    Attributes:
        key: the tensor of mixing weights, a key of `mixing_shapes()`.
        row: the vector's row in that tensor; None where the tensor is the vector.
        entries: how many there are to choose from.
        picks: how many are taken, without repetition.
    """

    key: str
    row: int | None
    entries: int
    picks: int


class SearchSpace(ABC):
    """A finite set of architectures.

    Architectures are numbered densely: `space[i]` and `space.index(arch)` are inverse for 0 ≤ i < len(space).

    Attributes:
        name: short name, "s1"; the first part of an architecture's text.
        id: versioned name, "nb101-s1-v1"; a change of what the space contains needs a new one.
        kinds: which kinds of architectures it can count and iterate: the first is all of them, "unique" one for each
            distinct cell or network.
    """

    name: str
    id: str
    kinds: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int:
        """How many architectures there are, loose ends and all."""

    @abstractmethod
    def __getitem__(self, index: int) -> Architecture:
        """The architecture of that number; raises IndexError outside 0 … len - 1, TypeError for no integer."""

    @abstractmethod
    def index(self, arch: Architecture) -> int:
        """The number of an architecture; raises InvalidInputError if it is not in this space."""

    @abstractmethod
    def count(self, kind: str, rule: str | None = None) -> int:
        """How many architectures of a kind there are, by another rule of counting if one is named.

        Without a rule, `architectures(kind)` yields exactly so many. Raises InvalidInputError for an unknown
        kind or rule.
        """

    @abstractmethod
    def numbers(self, kind: str) -> Numbers:
        """The numbers of all architectures of a kind, ascending, (count(kind),); a range where they are all.

        Raises InvalidInputError for an unknown kind.
        """

    def architectures(self, kind: str) -> Iterator[Architecture]:
        """All architectures of a kind, ascending by number; raises InvalidInputError for an unknown kind."""
        numbers = self.numbers(kind)
        return (self[number] for number in numbers)

    @abstractmethod
    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Architecture:
        """One architecture, uniformly, from all or from those without loose ends."""

    def sample_distinct(self, rng: np.random.Generator) -> Architecture:
        """One architecture of the kind "unique", uniformly: every distinct cell is as likely as every other.

        `sample` instead favours cells that many architectures stand for.
        """
        return self[int(rng.choice(self.numbers("unique")))]

    @abstractmethod
    def neighbours(self, arch: Architecture) -> list[Architecture]:
        """All architectures one elementary change away."""

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> Architecture:
        """One of the neighbours, uniformly."""
        neighbours = self.neighbours(arch)
        return neighbours[int(rng.integers(len(neighbours)))]

    @abstractmethod
    def configuration_space(self) -> "ConfigurationSpace":
        """The space's choices as a ConfigSpace space."""

    @abstractmethod
    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """The architecture of a configuration; raises InvalidInputError where a value is missing or unknown.

        Where not every configuration is an architecture of the space, one that is not raises it too.
        """

    @abstractmethod
    def to_configuration(self, arch: Architecture) -> "Configuration":
        """The configuration of an architecture; inverse of `from_configuration`."""

    def without_loose_ends(self, arch: Architecture) -> Architecture:
        """Return the architecture of the kind "no_loose_ends" with the same live part.

        In spaces without this kind, that is the architecture itself. Raises InvalidInputError if it is not in the
        space.
        """
        self.index(arch)
        return arch

    def check_kind(self, kind: str) -> None:
        """Raise InvalidInputError if this space knows no such kind of architectures."""
        if kind not in self.kinds:
            raise unknown_name("kind of architectures", kind, self.kinds)

    @staticmethod
    def check_architecture(arch: Architecture) -> None:
        """Raise InvalidInputError for what is no `Architecture` at all."""
        if not isinstance(arch, Architecture):
            raise InvalidInputError(f"{arch!r} is not an Architecture: read a text with Architecture.parse")

    def checked_number(self, index: int) -> int:
        """A number as Python's integer; raises what `__getitem__` raises."""
        number = operator.index(index)
        if not 0 <= number < len(self):
            raise IndexError(f"{self.name} has architectures 0 to {len(self) - 1}, not {number}")
        return number


class OneShotSpace(SearchSpace):
    """A search space with the continuous relaxation that a supernet of it is given: what one-shot methods search.

    Attributes:
        cell_kind: the supernet's cell for it: a key of `supernet.CELLS`, or a class of one's own as "module:Class"
            (`supernet.SupernetCell` says what it needs).
        operation_key: the key of the mixing weights, one row for each place in the cell, that choose one operation of
            each row; what a single path computes.
    """

    cell_kind: str
    operation_key: str = "operations"

    @abstractmethod
    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the mixing weights, in the order in which they are stored."""

    @abstractmethod
    def choices(self) -> tuple[Choice, ...]:
        """Every decision of an architecture, in the order in which a controller makes them: node by node.

        An architecture takes exactly `picks` entries of each; `one_hot` marks them.
        """

    @abstractmethod
    def discretise(self, mixing: Weights) -> Architecture:
        """The architecture that mixing weights (or raw architecture parameters) prefer."""

    @abstractmethod
    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """The mixing weights that compute exactly this architecture."""

    def checked_mixing(self, mixing: Weights) -> dict[str, NDArray[np.float64]]:
        """Mixing weights as arrays of the expected keys and shapes.

        Raises:
            InvalidInputError: a key is missing or too many, a shape is another, a value is not a number.
        """
        shapes = self.mixing_shapes()
        check_keys(self.name, mixing, shapes)
        arrays = {key: _numbers(key, mixing[key]) for key in shapes}
        for key, array in arrays.items():
            if array.shape != shapes[key]:
                raise InvalidInputError(
                    f"mixing weights '{key}' have shape {array.shape}, but {self.name} needs {shapes[key]}"
                )
            if np.isnan(array).any():
                raise InvalidInputError(f"mixing weights '{key}' hold NaN: the search that made them has diverged")
        return arrays


def as_one_shot(space: SearchSpace) -> OneShotSpace:
    """Return the space itself if it has the relaxation that supernets and one-shot optimizers need.

    Raises InvalidInputError if it does not; `registry.one_shot` also names the registered spaces that have one.
    """
    if isinstance(space, OneShotSpace):
        return space
    raise without_relaxation(space, "give an nb.OneShotSpace")


def without_relaxation(space: SearchSpace, advice: str) -> InvalidInputError:
    """Return the error for a space that no one-shot method can search; `advice` says what to do instead."""
    name = getattr(space, "name", repr(space))
    return InvalidInputError(f"{name} has no mixing weights, which a supernet and a one-shot search need: {advice}")


def check_keys(of: str, mixing: Weights, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise InvalidInputError unless mixing weights (a mapping or an nn.ParameterDict) have the keys of `shapes`."""
    given = set(mixing.keys()) if hasattr(mixing, "keys") else {f"a {type(mixing).__name__}"}
    if given != set(shapes):
        listed = ", ".join(sorted(map(str, given))) or "none"
        raise InvalidInputError(f"mixing weights of {of} have the keys {', '.join(shapes)}, not {listed}")


def as_array(values: Any) -> NDArray[np.float64]:
    """A tensor (on any device, with or without gradient) or anything array-like as float64, torch not imported."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)


def _numbers(key: str, values: Any) -> NDArray[np.float64]:
    try:
        return as_array(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"mixing weights '{key}' are not an array of numbers ({error})") from error
