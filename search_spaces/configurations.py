"""A choice-block space as ConfigSpace sees it: one categorical for every block's operation and every node's parents."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.cells import OPERATIONS
from nasbench1shot1.errors import InvalidInputError, unknown_name

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

    from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace


def configuration_space(space: "ChoiceBlockSpace") -> "ConfigurationSpace":
    """Categoricals `choice_block_{i}_op` and `choice_block_{i}_parents` ("0,2"); number n + 1 is the output."""
    from ConfigSpace import Categorical, ConfigurationSpace

    configurations = ConfigurationSpace(name=space.id)
    configurations.add(Categorical(_operation_key(block), OPERATIONS) for block in range(1, space.n_blocks + 1))
    configurations.add(Categorical(_parents_key(node), list(choices)) for node, choices in _parent_choices(space))
    return configurations


def from_configuration(space: "ChoiceBlockSpace", configuration: "Configuration | Mapping[str, Any]") -> Architecture:
    """The architecture of a configuration; raises InvalidInputError where a value is missing or unknown."""
    values = dict(configuration)
    operations = tuple(
        OPERATIONS.index(_chosen(values, _operation_key(block), OPERATIONS)) for block in range(1, space.n_blocks + 1)
    )
    parents = tuple(
        choices[_chosen(values, _parents_key(node), list(choices))] for node, choices in _parent_choices(space)
    )
    return Architecture(space.name, parents, operations)


def to_configuration(space: "ChoiceBlockSpace", arch: Architecture) -> "Configuration":
    """The configuration of an architecture of the space."""
    from ConfigSpace import Configuration

    values = {_operation_key(block): OPERATIONS[op] for block, op in enumerate(arch.operations, start=1)}
    values |= {_parents_key(node): _text(parents) for node, parents in enumerate(arch.parents, start=1)}
    return Configuration(configuration_space(space), values=values)


def _operation_key(block: int) -> str:
    return f"choice_block_{block}_op"


def _parents_key(node: int) -> str:
    return f"choice_block_{node}_parents"


def _parent_choices(space: "ChoiceBlockSpace") -> Iterator[tuple[int, dict[str, tuple[int, ...]]]]:
    """Every node with its choices of parents, by their text."""
    for node, k in enumerate(space.n_parents, start=1):
        yield node, {_text(parents): parents for parents in combinations(range(node), k)}


def _text(parents: tuple[int, ...]) -> str:
    return ",".join(map(str, parents))


def _chosen(values: Mapping[str, Any], key: str, choices: Sequence[str]) -> str:
    if key not in values:
        raise InvalidInputError(f"the configuration lacks '{key}': give one of {', '.join(choices)}")
    if (value := str(values[key])) not in choices:
        raise unknown_name(f"value of {key}", value, choices)
    return value
