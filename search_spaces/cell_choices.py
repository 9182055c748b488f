"""What spaces of NAS-Bench-101 cells share: membership, elementary changes, and configurations of ConfigSpace."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import values_by_name
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, unknown_name
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.encoding import OPERATIONS
from nasbench1shot1.search_spaces.independent_choices import with_another_entry
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace


def checked_member(space: SearchSpace, arch: Architecture) -> CellArchitecture:
    """Return the architecture itself if it is in the space; raises InvalidInputError like `SearchSpace.index`."""
    space.index(arch)
    assert isinstance(arch, CellArchitecture)  # index accepts no other
    return arch


# Elementary changes: another operation at one place, or another parent of a node -------------------------------------


Parents = tuple[int, ...]


@lru_cache(maxsize=1 << 10)
def parent_exchanges_of(node: int, parents: Parents) -> tuple[Parents, ...]:
    """Return the parents of a node after each exchange of one parent for another predecessor, k(node - k) of them."""
    return tuple(tuple(sorted({*parents, new} - {old})) for old in parents for new in range(node) if new not in parents)


def operation_changes(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture that differs in the operation of one block."""
    n_operations = len(OPERATIONS)
    return [
        CellArchitecture.unchecked(arch.space, arch.parents, with_another_entry(arch.operations, number, n_operations))
        for number in range(len(arch.operations) * (n_operations - 1))
    ]


def parent_exchanges(arch: CellArchitecture) -> list[CellArchitecture]:
    """Return every architecture in which one parent of one node is replaced by another."""
    return [
        with_parents(arch, node, exchanged)
        for node, parents in enumerate(arch.parents, start=1)
        for exchanged in parent_exchanges_of(node, parents)
    ]


def with_parents(arch: CellArchitecture, node: int, parents: Parents) -> CellArchitecture:
    """Return the architecture with other parents of one node."""
    changed = (*arch.parents[: node - 1], parents, *arch.parents[node:])
    return CellArchitecture.unchecked(arch.space, changed, arch.operations)


# Configurations: a categorical for the operation of each block, and for the parents of each node or every possible edge


class HasBlocks(Protocol):
    """The part of a space's interface that configurations of edges need."""

    @property
    def id(self) -> str:
        """Versioned name of the space."""

    @property
    def name(self) -> str:
        """Short name of the space."""

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks."""


class HasWirings(HasBlocks, Protocol):
    """The part of a choice-block space's interface that configurations need."""

    @property
    def n_parents(self) -> tuple[int, ...]:
        """Number of parents of every block and of the output."""


def configuration_space(space: HasWirings) -> "ConfigurationSpace":
    """Return categoricals `choice_block_{i}_op` and `choice_block_{i}_parents` ("0,2"); i = n + 1 is the output."""
    from ConfigSpace import Categorical, ConfigurationSpace

    configurations = ConfigurationSpace(name=space.id)
    add_operations(configurations, space)
    configurations.add(Categorical(_parents_key(node), list(choices)) for node, choices in _parent_choices(space))
    return configurations


def from_configuration(space: HasWirings, configuration: "Configuration | Mapping[str, Any]") -> CellArchitecture:
    """Return the architecture of a configuration; raises InvalidInputError if a name or value is missing or unknown."""
    nodes = range(1, space.n_blocks + 2)
    values = values_by_name(configuration, space.name, [*operation_keys(space), *map(_parents_key, nodes)])
    operations = operations_of(values, space)
    parents = tuple(
        choices[checked_choice(values, _parents_key(node), list(choices))] for node, choices in _parent_choices(space)
    )
    return CellArchitecture(space.name, parents, operations)


def to_configuration(space: HasWirings, arch: CellArchitecture) -> "Configuration":
    """Return the configuration of an architecture of the space."""
    from ConfigSpace import Configuration

    values = _operation_values(arch) | {
        _parents_key(node): _text(parents) for node, parents in enumerate(arch.parents, start=1)
    }
    return Configuration(configuration_space(space), values=values)


def edge_configuration_space(space: HasBlocks) -> "ConfigurationSpace":
    """Return the categoricals `choice_block_{i}_op`, and `edge_{x}_{y}` (0 or 1) for vertices x < y."""
    from ConfigSpace import Categorical, ConfigurationSpace

    configurations = ConfigurationSpace(name=space.id)
    add_operations(configurations, space)
    configurations.add(Categorical(key, [0, 1]) for key in _edge_keys(space))
    return configurations


def from_edges(space: HasBlocks, configuration: "Configuration | Mapping[str, Any]") -> CellArchitecture:
    """Return the architecture, possibly invalid, of a configuration of edges.

    Raises InvalidInputError if a name or value is missing or unknown.
    """
    values = values_by_name(configuration, space.name, [*operation_keys(space), *_edge_keys(space)])
    operations = operations_of(values, space)
    parents = tuple(
        tuple(x for x in range(y) if checked_choice(values, _edge_key(x, y), ("0", "1")) == "1")
        for y in range(1, space.n_blocks + 2)
    )
    return CellArchitecture(space.name, parents, operations)


def to_edges(space: HasBlocks, arch: CellArchitecture) -> "Configuration":
    """Return the configuration of an architecture of the space."""
    from ConfigSpace import Configuration

    values: dict[str, Any] = _operation_values(arch)
    for y, parents in enumerate(arch.parents, start=1):
        values |= {_edge_key(x, y): int(x in parents) for x in range(y)}
    return Configuration(edge_configuration_space(space), values=values)


def add_operations(configurations: "ConfigurationSpace", space: HasBlocks) -> None:
    """Add the categorical `choice_block_{i}_op` of every block."""
    from ConfigSpace import Categorical

    configurations.add(Categorical(key, OPERATIONS) for key in operation_keys(space))


def operations_of(values: Mapping[str, Any], space: HasBlocks) -> tuple[int, ...]:
    """Return the operations of a configuration; raises InvalidInputError if a value is missing or unknown."""
    operations = (checked_choice(values, key, OPERATIONS) for key in operation_keys(space))
    return tuple(OPERATIONS.index(operation) for operation in operations)


def operation_keys(space: HasBlocks) -> list[str]:
    """Return the names of the operations in configurations, block by block."""
    return [_operation_key(block) for block in range(1, space.n_blocks + 1)]


def _operation_values(arch: CellArchitecture) -> dict[str, Any]:
    return {_operation_key(block): OPERATIONS[op] for block, op in enumerate(arch.operations, start=1)}


def _edge_keys(space: HasBlocks) -> list[str]:
    return [_edge_key(x, y) for y in range(1, space.n_blocks + 2) for x in range(y)]


def _edge_key(x: int, y: int) -> str:
    return f"edge_{x}_{y}"


def _operation_key(block: int) -> str:
    return f"choice_block_{block}_op"


def _parents_key(node: int) -> str:
    return f"choice_block_{node}_parents"


def _parent_choices(space: HasWirings) -> Iterator[tuple[int, dict[str, tuple[int, ...]]]]:
    """Yield every node with its choices of parents, by their text."""
    for node, k in enumerate(space.n_parents, start=1):
        yield node, {_text(parents): parents for parents in combinations(range(node), k)}


def _text(parents: tuple[int, ...]) -> str:
    return ",".join(map(str, parents))


def checked_choice(values: Mapping[str, Any], key: str, choices: Sequence[str]) -> str:
    """Return the value of a hyperparameter; raises InvalidInputError if it is missing or not one of the choices."""
    if key not in values:
        raise InvalidInputError(f"the configuration lacks '{key}': give {alternatives(choices)}")
    if (value := str(values[key])) not in choices:
        raise unknown_name(f"value of {key}", value, choices)
    return value
