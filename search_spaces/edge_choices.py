"""Mutations and configurations of spaces in which every possible edge is present or absent."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.encoding import OPERATIONS, edge_bit
from nasbench1shot1.search_spaces import configurations
from nasbench1shot1.search_spaces.edge_masks import n_edges, parents_of
from nasbench1shot1.search_spaces.membership import checked_member
from nasbench1shot1.search_spaces.neighbourhood import operation_changes, with_another_operation
from nasbench1shot1.space import SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_OPERATIONS = len(OPERATIONS)


class EdgeChoices(SearchSpace):
    """The part of `NASBench101Space` that mutates encodings and converts their choices.

    Attributes:
        n_vertices: number of vertices of an encoding, including input and output.
    """

    benchmark = BENCHMARK
    n_vertices: int

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks: all vertices except input and output."""
        return self.n_vertices - 2

    @abstractmethod
    def has_graph(self, mask: int) -> bool:
        """Return whether a set of edges (`edge_masks`) is valid."""

    # Mutation --------------------------------------------------------------------------------------------------

    def neighbours(self, arch: Architecture) -> list[CellArchitecture]:
        """Return all valid encodings at edit distance one: first changed operations, then added or removed edges."""
        arch = checked_member(self, arch)
        flipped = (arch.edges ^ 1 << bit for bit in range(n_edges(self.n_vertices)))
        graphs = [self._architecture(mask, arch.operations) for mask in flipped if self.has_graph(mask)]
        return operation_changes(arch) + graphs

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> CellArchitecture:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError as `index` does.

        A change that results in an invalid encoding is redrawn.
        """
        check_rng(rng)
        arch, n_changes = checked_member(self, arch), self.n_blocks * (N_OPERATIONS - 1)
        n_moves = n_changes + n_edges(self.n_vertices)
        while (number := int(rng.random() * n_moves)) >= n_changes:
            if self.has_graph(flipped := arch.edges ^ 1 << number - n_changes):
                return self._architecture(flipped, arch.operations)
        return self._with_another_operation(arch, number)

    def published_mutate(self, arch: Architecture, rng: np.random.Generator) -> CellArchitecture:
        """Draw a child as in the regularized evolution in the companion code of NAS-Bench-101's authors.

        It draws one choice among edges and operations, 26 in NAS-Bench-101, and changes its value: an edge is flipped,
        an operation is replaced by one of the other two. An operation change is therefore half as likely as in `mutate`
        (automl/nas_benchmarks, 1b09906, `run_regularized_evolution.py`, `mutate_arch`). That code also keeps invalid
        children in the population, with an error of 1 and no cost; here, a change that results in an invalid encoding
        is redrawn. Raises InvalidInputError like `index`.
        """
        check_rng(rng)
        arch, n_blocks, n_choices = self._member(arch), self.n_blocks, self._n_choices
        while (choice := int(rng.random() * n_choices)) >= n_blocks:
            if self.has_graph(flipped := arch.edges ^ 1 << choice - n_blocks):
                return self._architecture(flipped, arch.operations)
        number = choice * (N_OPERATIONS - 1) + int(rng.random() * (N_OPERATIONS - 1))
        return self._with_another_operation(arch, number)

    def mutate_each(self, arch: Architecture, probability: float, rng: np.random.Generator) -> CellArchitecture | None:
        """Change every choice independently, as in `SearchSpace.mutate_each`, without converting to integers."""
        check_rng(rng)
        arch, n_blocks = self._member(arch), self.n_blocks
        mask, operations = arch.edges, arch.operations
        draws = rng.random(self._n_choices).tolist()
        changed = [place for place, draw in enumerate(draws) if draw < probability]
        if not changed:
            return arch
        for place in changed:
            if place >= n_blocks:
                mask ^= 1 << place - n_blocks
            else:  # the draw also selects one of the two other operations
                number = place * (N_OPERATIONS - 1) + int(draws[place] / probability * (N_OPERATIONS - 1))
                operations = with_another_operation(operations, number, N_OPERATIONS)
        return self._architecture(mask, operations) if self.has_graph(mask) else None

    def _member(self, arch: Architecture) -> CellArchitecture:
        """Return an architecture of this space; raises InvalidInputError as `index` does, but is faster."""
        if not isinstance(arch, CellArchitecture) or arch.space != self.name or len(arch.operations) != self.n_blocks:
            return checked_member(self, arch)
        return arch if self.has_graph(arch.edges) else checked_member(self, arch)

    @cached_property
    def _n_choices(self) -> int:
        return self.n_blocks + n_edges(self.n_vertices)

    def _architecture(self, mask: int, operations: tuple[int, ...]) -> CellArchitecture:
        return CellArchitecture.unchecked(self.name, parents_of(mask, self.n_vertices), operations, mask)

    def _with_another_operation(self, arch: CellArchitecture, number: int) -> CellArchitecture:
        operations = with_another_operation(arch.operations, number, N_OPERATIONS)
        return CellArchitecture.unchecked(self.name, arch.parents, operations, arch.edges)

    # Integers --------------------------------------------------------------------------------------------------

    def variables(self) -> tuple[int, ...]:
        """Return the number of values of each choice: 3 for each block's operation, then 2 for each possible edge."""
        return self._variables

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the operation of each block, and for each possible edge 1 if it is present, else 0.

        Edges x → y ascend by x, then by y. Raises InvalidInputError as `index` does.
        """
        arch = checked_member(self, arch)
        return (*arch.operations, *[arch.edges >> bit & 1 for bit in self._bits])

    def from_values(self, values: Sequence[int]) -> CellArchitecture:
        """Return the architecture with these values; inverse of `values_of`.

        Raises InvalidInputError if there is not one integer for each of `variables()`, a value does not exist, or the
        encoding is not valid.
        """
        checked = checked_values(self.name, values, self._variables)
        mask = sum(compress(self._flags, checked[self.n_blocks :]))
        arch = self._architecture(mask, checked[: self.n_blocks])
        return arch if self.has_graph(mask) else checked_member(self, arch)

    @cached_property
    def _variables(self) -> tuple[int, ...]:
        return (N_OPERATIONS,) * self.n_blocks + (2,) * n_edges(self.n_vertices)

    @cached_property
    def _bits(self) -> list[int]:
        """The bit of every possible edge, in the order of the hyperparameters."""
        return [edge_bit(x, y) for x in range(self.n_vertices) for y in range(x + 1, self.n_vertices)]

    @cached_property
    def _flags(self) -> list[int]:
        return [1 << bit for bit in self._bits]

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return categoricals `edge_{x}_{y}` (0 or 1) and `choice_block_{i}_op`; some configurations are invalid."""
        return configurations.edge_configuration_space(self)

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is not valid."""
        return checked_member(self, configurations.from_edges(self, configuration))

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        return configurations.to_edges(self, checked_member(self, arch))
