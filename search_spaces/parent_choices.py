"""Mutations and configurations of spaces whose nodes have a fixed number of parents."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.search_spaces import configurations
from nasbench1shot1.search_spaces.membership import checked_member
from nasbench1shot1.search_spaces.neighbourhood import (
    Parents,
    operation_changes,
    parent_exchanges,
    parent_exchanges_of,
    with_another_operation,
    with_parents,
)
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_OPERATIONS = len(OPERATIONS)


class ParentChoices(OneShotSpace):
    """The part of `ChoiceBlockSpace` that mutates architectures and converts their choices.

    Attributes:
        n_parents: number of parents of block 1, …, block n and the output.
    """

    benchmark = BENCHMARK
    n_parents: tuple[int, ...]

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks."""
        return len(self.n_parents) - 1

    # Mutation --------------------------------------------------------------------------------------------------

    def neighbours(self, arch: Architecture) -> list[CellArchitecture]:
        """Return all architectures that differ in one operation, then all that differ in one parent of a node."""
        arch = checked_member(self, arch)
        return operation_changes(arch) + parent_exchanges(arch)

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> CellArchitecture:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError as `index` does."""
        check_rng(rng)
        arch, n_changes = checked_member(self, arch), self.n_blocks * (N_OPERATIONS - 1)
        number = int(rng.random() * (n_changes + len(self._exchanges)))
        if number < n_changes:
            return self._with_another_operation(arch, number)
        node, exchange = self._exchanges[number - n_changes]
        return with_parents(arch, node, parent_exchanges_of(node, arch.parents[node - 1])[exchange])

    def published_mutate(self, arch: Architecture, rng: np.random.Generator) -> CellArchitecture:
        """Draw a child as in NAS-Bench-1Shot1's published regularized evolution.

        One of three mutations is drawn, each with probability 1/3: the child equals its parent; one parent of a random
        node is replaced by another predecessor; or the operation of a random block changes. The node is drawn from all
        nodes with a choice of parents, including the output (automl/nasbench-1shot1, master cb0f0ec,
        `run_regularized_evolution.py`, `mutate_arch`). Raises InvalidInputError like `index`.
        """
        check_rng(rng)
        arch = checked_member(self, arch)
        mutation = int(rng.random() * 3)
        if mutation == 1 and self._nodes_with_choice:
            node = self._nodes_with_choice[int(rng.random() * len(self._nodes_with_choice))]
            exchanges = parent_exchanges_of(node, arch.parents[node - 1])
            return with_parents(arch, node, exchanges[int(rng.random() * len(exchanges))])
        if mutation == 2:
            return self._with_another_operation(arch, int(rng.random() * self.n_blocks * (N_OPERATIONS - 1)))
        return arch

    def _with_another_operation(self, arch: CellArchitecture, number: int) -> CellArchitecture:
        operations = with_another_operation(arch.operations, number, N_OPERATIONS)
        return CellArchitecture.unchecked(self.name, arch.parents, operations)

    @cached_property
    def _exchanges(self) -> list[tuple[int, int]]:
        """Node and number of every exchange of a parent, in the order of `parent_exchanges`."""
        return [(node, i) for node, k in enumerate(self.n_parents, start=1) for i in range(k * (node - k))]

    @cached_property
    def _nodes_with_choice(self) -> list[int]:
        return [node for node, k in enumerate(self.n_parents, start=1) if k < node]

    # Integers --------------------------------------------------------------------------------------------------

    def variables(self) -> tuple[int, ...]:
        """Return the number of operations and of parent sets, block by block; the last are the output's parents."""
        return self._variables

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the choices of an architecture as integers; raises InvalidInputError as `index` does.

        The parents of a node are numbered in lexicographic order.
        """
        arch = checked_member(self, arch)
        places = [of_node[parents] for of_node, parents in zip(self._place_of_parents, arch.parents, strict=True)]
        values = [0] * (2 * len(places) - 1)
        values[::2], values[1::2] = [*arch.operations, places.pop()], places
        return tuple(values)

    def from_values(self, values: Sequence[int]) -> CellArchitecture:
        """Return the architecture with these values; inverse of `values_of`.

        Raises InvalidInputError if there is not one integer for each of `variables()`, or a value does not exist.
        """
        checked = checked_values(self.name, values, self._variables)
        places = (*checked[1::2], checked[-1])
        parents = tuple([sets[place] for sets, place in zip(self._parent_sets, places, strict=True)])
        return CellArchitecture.unchecked(self.name, parents, checked[:-1:2])

    @cached_property
    def _variables(self) -> tuple[int, ...]:
        *of_blocks, of_output = map(len, self._parent_sets)
        return (*(size for of_block in of_blocks for size in (N_OPERATIONS, of_block)), of_output)

    @cached_property
    def _parent_sets(self) -> list[list[Parents]]:
        """All choices of parents of every node, in lexicographic order."""
        return [list(combinations(range(node), k)) for node, k in enumerate(self.n_parents, start=1)]

    @cached_property
    def _place_of_parents(self) -> list[dict[Parents, int]]:
        return [{parents: place for place, parents in enumerate(sets)} for sets in self._parent_sets]

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return categoricals `choice_block_{i}_op` and `choice_block_{i}_parents` ("0,2"); i = n + 1 is the output."""
        return configurations.configuration_space(self)

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> CellArchitecture:
        """Return the architecture of a configuration of `configuration_space()`, or of a mapping with its keys."""
        return configurations.from_configuration(self, configuration)

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        return configurations.to_configuration(self, checked_member(self, arch))
