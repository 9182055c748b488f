"""The interface of search spaces, and of spaces that one-shot methods can search."""

import operator
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.benchmark import CELL_FEATURES, Benchmark, CellFeature, Reference
from nasbench1shot1.configurable import Configurable
from nasbench1shot1.ground.arguments import check_rng, is_integer
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.values import are_equal, defining_attributes

Weights = Mapping[str, Any]
"""Mixing weights or raw architecture parameters: a tensor or array for every key of `mixing_shapes()`."""

_DEFAULTS = ("table", "cell", "cell_features", "skeleton", "split", "layer_rows", "search_defaults", "scale_defaults")
"""Attributes with defaults that a space may replace."""
_MOST_ENUMERATED = 2_000_000
"""Largest number of networks whose identifiers are listed in memory."""
Numbers = NDArray[np.int64] | range
"""Ascending numbers of architectures."""


@dataclass(frozen=True)
class Choice:
    """One decision of an architecture: a choice among the entries of one vector of mixing weights.

    Attributes:
        key: the tensor of mixing weights, a key of `mixing_shapes()`.
        row: the row of the vector in that tensor; None if the tensor is the vector.
        entries: number of entries to choose from.
        picks: number of entries that an architecture takes, without repetition.
    """

    key: str
    row: int | None
    entries: int
    picks: int

    def __str__(self) -> str:
        """Return its name in records and messages, such as "operations[0]"."""
        return self.key if self.row is None else f"{self.key}[{self.row}]"

    def of(self, weights: Weights) -> Any:
        """Return a view of the vector (…, entries) of this choice in arrays or tensors by key."""
        value = weights[self.key]
        return value if self.row is None else value[..., self.row, :]


class Place(NamedTuple):
    """A place in the sequence of layers of a supernet: the stem, a cell, a reduction between stages, or the head.

    Attributes:
        kind: "stem", "cell", "reduction" or "head".
        number: the number of a cell, from 0; for a reduction, the number of the next cell; 0 for the stem and the head.
        stage: the stage of a cell, from 0; for the stem and a reduction, the stage that follows; for the head, the last
            stage.
        in_channels, out_channels: numbers of channels before and after the place.
        channels: the width of the stage. A cell may be wider: it may concatenate several blocks of this width.
        stride: 2 if the image is halved.
        side: height and width of the image before the place, in pixels.
    """

    kind: Literal["stem", "cell", "reduction", "head"]
    number: int
    stage: int
    in_channels: int
    out_channels: int
    channels: int
    stride: int
    side: int


A = TypeVar("A", bound=Architecture, covariant=True)


class _Numbered(Protocol[A]):
    """A space whose architectures have the form A."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> A: ...


class SearchSpace(Configurable):
    """A finite set of architectures. `Configurable` has the methods that convert configurations and integers.

    Architectures are numbered densely: `space[i]` and `space.index(arch)` are inverse for 0 ≤ i < len(space).

    Two spaces are equal if they have the same class and equal attributes, such as a space and its copy in another
    process. What a space has enumerated is not compared, and is not part of pickles and copies.

    Attributes:
        name: short name, such as "s1"; the first part of an architecture's text.
        id: versioned name, such as "nb101-s1-v1"; it must change whenever the contents of the space change.
        kinds: kinds of architectures that the space can count and iterate. The first kind contains all architectures,
            "unique" contains one for each distinct cell or network.
        benchmark: the record of the benchmark to which its architectures belong. Optimizers may have other defaults for
            each benchmark (`family_defaults` of their classes).
        kind_descriptions: what each kind contains, for `nb1shot1 space`.
        sizes_caption: the caption under these counts, such as how they compare with published ones.
        sizes: the function that shows the counts of spaces of this kind on the screen (`experiments.counts`).
    """

    name: str
    id: str
    kinds: tuple[str, ...]
    kind_descriptions: Mapping[str, str] = {}
    sizes_caption: str | None = None
    sizes: Reference = "nasbench1shot1.experiments.counts:render_kinds"
    benchmark: Benchmark

    @cached_property
    def table(self) -> str | None:
        """Name of the table that has its networks. None: the value of $NB1SHOT1_TABLE, or else "embedded"."""
        return self.benchmark.table

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of all architectures, including those with loose ends."""

    @abstractmethod
    def __getitem__(self, index: int) -> Architecture:
        """Return the architecture with a number.

        Raises IndexError for a number outside 0 … len - 1, TypeError if it is not an integer.
        """

    @abstractmethod
    def index(self, arch: Architecture) -> int:
        """Return the number of an architecture; raises InvalidInputError if it is not in this space."""

    def __iter__(self: "_Numbered[A]") -> Iterator[A]:
        """Iterate over all architectures by number; `architectures` iterates over one kind."""
        return map(self.__getitem__, range(len(self)))

    def __contains__(self, arch: object) -> bool:
        """Return whether something is an architecture of this space, without enumerating the space."""
        if not isinstance(arch, Architecture):
            return False
        try:
            self.index(arch)
        except InvalidInputError:
            return False
        return True

    @abstractmethod
    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind.

        Without `rule`, this is the number that `architectures(kind)` yields. Raises InvalidInputError for an unknown
        kind or rule.
        """

    @abstractmethod
    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind, ascending, (count(kind),); a range for all architectures.

        Raises InvalidInputError for an unknown kind.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}', id='{self.id}')"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SearchSpace) or type(self) is not type(other):
            return NotImplemented
        if self.id != other.id:
            return False
        own, others = self.__getstate__(), other.__getstate__()
        return own.keys() == others.keys() and all(are_equal(value, others[name]) for name, value in own.items())

    def __hash__(self) -> int:
        return hash(self.id)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without enumerations, which are large and computed again when they are needed."""
        return {**defining_attributes(self), **self._replaced_defaults()}

    def _replaced_defaults(self) -> dict[str, Any]:
        """Return the attributes with defaults that the space itself, rather than its class, has replaced."""
        own = vars(self)
        defaults = {
            name: of for name in _DEFAULTS if isinstance(of := getattr(type(self), name, None), cached_property)
        }
        return {name: own[name] for name, of in defaults.items() if name in own and own[name] != of.func(self)}

    def architectures(self, kind: str) -> Iterator[Architecture]:
        """Iterate over all architectures of a kind, by number; raises InvalidInputError for an unknown kind."""
        numbers = self.numbers(kind)
        return (self[number] for number in numbers)

    def with_network(self, network_id: str) -> Architecture:
        """Return the architecture of the kind "unique" with a network identifier (`Architecture.network_id`).

        The first call enumerates the networks of the space, except in a space that stores their identifiers.

        Raises InvalidInputError if the space has no such network.
        """
        number = self._number_of_network.get(network_id) if isinstance(network_id, str) else None
        if number is None:
            raise InvalidInputError(f"{self.name} has no network '{network_id}': give one of its architectures")
        return self[number]

    @cached_property
    def _number_of_network(self) -> Mapping[str, int]:
        numbers = self.numbers("unique" if "unique" in self.kinds else self.kinds[0])
        if len(numbers) > _MOST_ENUMERATED:
            raise InvalidInputError(
                f"{self.name} has {len(numbers):,} networks, too many to list their identifiers: give "
                "architectures or their texts"
            )
        return {self[int(number)].network_id: int(number) for number in numbers}

    @abstractmethod
    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Architecture:
        """Draw an architecture uniformly, from all architectures or only from architectures without loose ends.

        In spaces without the kind "no_loose_ends", architectures do not have loose ends.
        """

    def sample_distinct(self, rng: np.random.Generator) -> Architecture:
        """Draw an architecture of the kind "unique" uniformly: all distinct cells or networks are equally likely.

        `sample`, in contrast, favours cells that many architectures share.
        """
        check_rng(rng)
        return self[int(rng.choice(self.numbers("unique")))]

    @abstractmethod
    def neighbours(self, arch: Architecture) -> Sequence[Architecture]:
        """Return all architectures that differ by one elementary change."""

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> Architecture:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError like `index`."""
        check_rng(rng)
        neighbours = self.neighbours(arch)
        return neighbours[int(rng.integers(len(neighbours)))]

    def published_mutate(self, arch: Architecture, rng: np.random.Generator) -> Architecture:
        """Draw a child as in the benchmark's published regularized evolution; by default one of the neighbours.

        A child may equal its parent if the published mutation allows it. Raises InvalidInputError if `arch` is not in
        the space.
        """
        return self.mutate(arch, rng)

    def mutate_each(self, arch: Architecture, probability: float, rng: np.random.Generator) -> Architecture | None:
        """Change every choice (`variables`) independently with a probability, each to a uniform other value.

        The result can equal `arch`. Returns None if the result is not in the space: draw again then. Raises
        InvalidInputError if `arch` is not in the space.
        """
        check_rng(rng)
        levels, values = self.variables(), self.values_of(arch)
        draws = rng.random(len(levels)).tolist()
        child = [_mutate_value(v, n, draw, probability) for v, n, draw in zip(values, levels, draws, strict=True)]
        try:
            return self.from_values(child)
        except InvalidInputError:
            return None

    def without_loose_ends(self, arch: Architecture) -> Architecture:
        """Return the architecture of the kind "no_loose_ends" with the same live part.

        In spaces without this kind, this is the architecture itself; spaces with this kind override the method. Raises
        InvalidInputError if the architecture is not in the space.
        """
        self.index(arch)
        return arch

    def check_kind(self, kind: str) -> None:
        """Raise InvalidInputError if the kind is not one of `kinds`."""
        if kind not in self.kinds:
            raise unknown_name("kind of architectures", kind, self.kinds)

    @staticmethod
    def check_architecture(arch: Architecture) -> None:
        """Raise InvalidInputError if a value is not an `Architecture`."""
        if not isinstance(arch, Architecture):
            raise InvalidInputError(f"{arch!r} is not an Architecture: convert text with Architecture.parse")

    def checked_number(self, index: int) -> int:
        """Return a number as a Python integer; raises the errors of `__getitem__`."""
        number = operator.index(index)
        if not 0 <= number < len(self):
            raise IndexError(f"{self.name} has architectures 0 to {len(self) - 1}, not {number}")
        return number


def _are_entries(operation: int | tuple[int, ...], entries: int) -> bool:
    """Return whether an operation is the number of an entry, or a tuple of different ones."""
    several = operation if isinstance(operation, tuple) else (operation,)
    exist = all(is_integer(one) and 0 <= one < entries for one in several)
    return exist and 0 < len(several) == len(set(several))


def _mutate_value(value: int, levels: int, draw: float, probability: float) -> int:
    """Return a uniform other value, determined by `draw`, if `draw` is below `probability`, else `value`."""
    if draw >= probability or levels == 1:
        return value
    other = int(draw / probability * (levels - 1))
    return other + (other >= value)


class OneShotSpace(SearchSpace):
    """A search space with a continuous relaxation, so that one-shot methods can search it with a supernet.

    By default, the parts of its supernets and the defaults of searches come from its benchmark. A subclass may replace
    each of them by a class attribute, such as `cell = "my_module:MyCell"`.

    Attributes:
        operation_key: the key of the mixing weights that choose operations. Each row belongs to one decision; a single
            path computes one operation for each row.
        zero_operation: the entry of the operation whose output is zero, so that an edge with it vanishes, such as
            `none` of NAS-Bench-201; None if there is none.
    """

    operation_key: str = "operations"
    zero_operation: int | None = None

    @cached_property
    def cell(self) -> Reference | None:
        """The cell of its supernets as "module:Class" (`supernets.supernet.SupernetCell` is the interface)."""
        return self.benchmark.cell

    @cached_property
    def cell_features(self) -> tuple[CellFeature, ...]:
        """What the cells of the space can do besides computing mixtures and paths (`benchmark.CELL_FEATURES`).

        Default: the features of the benchmark's cells, or none if the space names a cell of its own. Without
        "masked-operations" or "masked-edges", cells compute excluded operations or edges with the weight 0, instead of
        leaving them out (`Mixing.allowed`, `Mixing.allowed_edges`).
        """
        return self.benchmark.cell_features if self.cell == self.benchmark.cell else ()

    def check_cells(self, feature: CellFeature, user: str) -> None:
        """Raise InvalidInputError if the cells of the space lack a feature that `user`, such as a method, needs."""
        if feature not in self.cell_features:
            raise InvalidInputError(
                f"{user} needs cells that {CELL_FEATURES[feature]}, but the cells of {self.name} do not: choose "
                "another space or optimizer"
            )

    @cached_property
    def skeleton(self) -> Reference | None:
        """The layers around the cells as "module:Class" (`supernets.places.Skeleton` is the interface)."""
        return self.benchmark.skeleton

    @cached_property
    def split(self) -> str | None:
        """The scheme that splits the images of a search (`images.splits`); None: the preset's scheme."""
        return self.benchmark.split

    @cached_property
    def layer_rows(self) -> Sequence[int]:
        """The row of `operation_key` that decides about each mixed layer of the supernet, in the layers' order.

        Methods for widths need it if the layers use several samples in turn. By default, each row decides about one
        layer.
        """
        return range(self.mixing_shapes()[self.operation_key][0])

    @cached_property
    def search_defaults(self) -> Mapping[str, Any]:
        """Defaults of common options that differ for searches on this space."""
        return MappingProxyType(self.benchmark.search_defaults)

    @cached_property
    def scale_defaults(self) -> Mapping[str, Mapping[str, Any]]:
        """Defaults of common options that differ for searches on this space at a scale, by its name."""
        defaults = self.benchmark.scale_defaults
        return MappingProxyType({scale: MappingProxyType(of_scale) for scale, of_scale in defaults.items()})

    @abstractmethod
    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the names and shapes of the mixing weights, in the order in which they are stored."""

    @abstractmethod
    def choices(self) -> tuple[Choice, ...]:
        """Return all decisions of an architecture, in the order in which a controller makes them: node by node.

        An architecture takes exactly `picks` entries of each decision; `one_hot` marks them. A loose end has no path to
        the output, so only later decisions can make a decision part of one (`without_loose_ends`).
        """

    @abstractmethod
    def discretise(self, mixing: Weights) -> Architecture:
        """Return the architecture that mixing weights (or raw architecture parameters) prefer."""

    @abstractmethod
    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """Return the mixing weights that compute exactly this architecture."""

    def count_architectures(self, networks: Sequence[str]) -> NDArray[np.int64]:
        """Return how many architectures have each network, (N,), given N identifiers (`Architecture.network_id`).

        The probability that an architecture drawn uniformly has a given network is proportional to this number, as is
        the probability that random mixing weights prefer one with this network. By default, all numbers are 1, as in
        benchmarks that trained every architecture. May raise InvalidInputError if the space has no such network.
        """
        return np.ones(len(networks), np.int64)

    def is_mixed(self, place: Place) -> bool:
        """Return whether mixing weights reach a place of the supernet; by default, they reach all cells."""
        return place.kind == "cell"

    def weights_at(self, place: Place, mixing: Weights) -> Weights:
        """Return the part of mixing weights that reaches a place for which `is_mixed` is true; by default, all."""
        return mixing

    @property
    def has_equal_cells(self) -> bool:
        """Whether the same mixing weights reach all places of the supernet."""
        return type(self).weights_at is OneShotSpace.weights_at

    def operations_at(
        self, place: Place, operations: Sequence[int | tuple[int, ...]]
    ) -> Sequence[int | tuple[int, ...]]:
        """Return the part of sampled operations that reaches a place for which `is_mixed` is true; by default, all."""
        return operations

    def check_operations(self, operations: Sequence[int | tuple[int, ...]]) -> None:
        """Raise InvalidInputError unless every row of `operation_key` has an entry, or a tuple of different entries."""
        rows, *entries = self.mixing_shapes().get(self.operation_key, (0,))
        if not entries:
            raise InvalidInputError(f"{self.name} has no operations to sample: leave out operations")
        is_complete = isinstance(operations, Sequence) and len(operations) == rows
        if not is_complete or not all(_are_entries(operation, entries[0]) for operation in operations):
            raise InvalidInputError(
                f"operations={operations!r} is not valid: give {rows} numbers from 0 to {entries[0] - 1}, or tuples of "
                "different numbers"
            )

    def check_edges(self, edges: Mapping[str, Sequence[int]]) -> None:
        """Raise InvalidInputError unless cells can leave out edges, and every key has different entries of a choice."""
        self.check_cells("masked-edges", "edges=")
        if not isinstance(edges, Mapping):
            raise InvalidInputError(f"edges={edges!r} is not valid: give a mapping from choices to entries")
        entries = {choice.key: choice.entries for choice in self.choices() if choice.key != self.operation_key}
        for key, taken in edges.items():
            are_several = isinstance(taken, Collection)
            if key not in entries or not are_several or not _are_entries(tuple(taken), entries[key]):
                known = ", ".join(f"{name} (0 to {number - 1})" for name, number in entries.items())
                raise InvalidInputError(
                    f"edges={{{key!r}: {taken!r}}} is not valid: give different entries of {known or 'no choice'}"
                )

    def describe_entries(self, choice: Choice, entries: Sequence[int]) -> str:
        """Return entries of one of `choices()` in words, for screens; by default, their numbers."""
        return f"{choice}: {', '.join(map(str, entries))}"

    def live_choices(self, arch: Architecture) -> tuple[Choice, ...]:
        """Return the decisions that affect the network of an architecture; by default, all decisions."""
        return self.choices()

    def from_picks(self, picks: Sequence[Sequence[int]]) -> Architecture:
        """Return the architecture that takes the given entries of each decision, in the order of `choices()`."""
        indicators = {key: np.zeros(shape, np.float32) for key, shape in self.mixing_shapes().items()}
        for choice, taken in zip(self.choices(), picks, strict=True):
            vector = choice.of(indicators)
            vector[list(taken)] = 1
        return self.discretise(indicators)

    def numbers_of_picks(self) -> NDArray[np.int64]:
        """Return the number of the architecture of every combination of decisions, as an array with one axis each.

        Axis i counts the entries that decision i of `choices()` can take, in the order of `itertools.combinations`.
        """
        picks = [list(combinations(range(choice.entries), choice.picks)) for choice in self.choices()]
        numbers = (self.index(self.from_picks(taken)) for taken in product(*picks))
        return np.fromiter(numbers, np.int64).reshape([len(of_choice) for of_choice in picks])

    def checked_mixing(self, mixing: Weights) -> dict[str, NDArray[np.float64]]:
        """Return mixing weights, or raw architecture parameters, as arrays with the expected keys and shapes.

        Args:
            mixing: the values by key.

        Raises:
            InvalidInputError: a key is missing or unknown, a shape is wrong, or a value is not a number.
        """
        what, shapes = "architecture parameters", self.mixing_shapes()
        check_keys(f"{what} of {self.name}", mixing, shapes)
        arrays = {key: _numbers(f"{what} '{key}'", mixing[key]) for key in shapes}
        for key, array in arrays.items():
            if array.shape != shapes[key]:
                raise InvalidInputError(f"{what} '{key}' have shape {array.shape}, but {self.name} needs {shapes[key]}")
            if np.isnan(array).any():
                raise InvalidInputError(f"{what} '{key}' contain NaN: the search that produced them diverged")
        return arrays


def as_one_shot(space: Any) -> OneShotSpace:
    """Return the space itself if it has the relaxation that supernets and one-shot optimizers need.

    Raises InvalidInputError if it does not; `registry.one_shot` also names the registered spaces that have one.
    """
    if isinstance(space, OneShotSpace):
        return space
    if isinstance(space, str):
        raise InvalidInputError(f"'{space}' is a name: give nb.search_space('{space}')")
    raise no_relaxation_error(space, "give an nb.OneShotSpace")


def no_relaxation_error(space: SearchSpace, advice: str) -> InvalidInputError:
    """Return the error for a space that one-shot methods cannot search; `advice` states what to do instead."""
    name = getattr(space, "name", repr(space))
    return InvalidInputError(f"{name} has no mixing weights, which a supernet and a one-shot search need: {advice}")


def check_keys(what: str, mixing: Weights, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise InvalidInputError unless mixing weights (a mapping or an nn.ParameterDict) have the keys of `shapes`."""
    given = set(mixing.keys()) if hasattr(mixing, "keys") else {f"a {type(mixing).__name__}"}
    if given != set(shapes):
        listed = ", ".join(sorted(map(str, given))) or "none"
        raise InvalidInputError(f"{what} must have the keys {', '.join(shapes)}, but have {listed}")


def as_array(values: Any) -> NDArray[np.float64]:
    """Return a tensor (on any device, with or without gradient) or an array-like value as float64.

    Does not import torch. Raises TypeError for complex numbers, dates and texts.
    """
    if hasattr(values, "detach"):
        if values.is_complex():
            raise TypeError(f"their type is {values.dtype}")
        values = values.detach().cpu().double().numpy()
    array = np.asarray(values)
    if array.dtype.kind in "cmMSU":
        raise TypeError(f"their type is {array.dtype.name}")
    return array.astype(np.float64, copy=False)


def _numbers(what: str, values: Any) -> NDArray[np.float64]:
    try:
        return as_array(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{what} are not an array of numbers ({error})") from error
