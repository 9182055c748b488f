"""NAS-Bench-201's topology space (Dong and Yang 2020, section 2.1): an operation for each edge of a four-node cell."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import EDGE_NAMES, EDGES, N_NODES, OPERATIONS, SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.benchmark import BENCHMARK
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of_valid
from nasbench1shot1.nasbench201.topology import unique_indices
from nasbench1shot1.search_spaces.cell_choices import checked_choice, with_another_operation
from nasbench1shot1.space import Choice, Numbers, OneShotSpace, Weights

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_EDGES, N_OPERATIONS = len(EDGES), len(OPERATIONS)
_N_CHANGES = N_EDGES * (N_OPERATIONS - 1)
_ZERO_RULE = {"unique_skip_connect": False, "unique": True}


class NASBench201Space(OneShotSpace):
    """All 15,625 choices of an operation for each of six edges; also known as the topology space of NATS-Bench.

    Numbers are the official indices: `space[i]` is architecture i of NAS-Bench-201. The three kinds of architectures:
        "all": every architecture; NAS-Bench-201 trained each of them, including isomorphic ones;
        "unique_skip_connect": one architecture for each topology if skip connections are simplified, 12,751;
        "unique": one architecture for each topology if zeroized edges are also simplified, 6,466.

    The last two kinds have the lowest official index of each class of `nasbench201.topology`. Loose ends are not
    distinguished.
    """

    name = SPACE_NAME
    id = "nb201-v1"
    kinds = ("all", *_ZERO_RULE)
    kind_descriptions: Mapping[str, str] = {
        "all": "an operation for every edge",
        "unique_skip_connect": "topologies; skip connections simplified",
        "unique": "topologies; zeroized edges simplified, too",
    }
    sizes_caption = "NAS-Bench-201; Dong and Yang 2020 report the same numbers"
    benchmark = BENCHMARK

    def __repr__(self) -> str:
        return f"NASBench201Space('{self.name}', {len(self):,} architectures)"

    # Numbers ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return N_ARCHITECTURES

    def __getitem__(self, index: int) -> EdgeArchitecture:
        return self._architecture(tuple(all_operations()[self.checked_number(index)].tolist()))

    def index(self, arch: Architecture) -> int:
        """Return the official index of an architecture; raises InvalidInputError if it belongs to another space."""
        return index_of_valid(self._operations(arch))

    def _architecture(self, operations: tuple[int, ...]) -> EdgeArchitecture:
        return EdgeArchitecture.unchecked(self.name, operations)

    def _operations(self, arch: Architecture) -> tuple[int, ...]:
        self.check_architecture(arch)
        if isinstance(arch, EdgeArchitecture) and arch.space == self.name:
            return arch.operations
        raise InvalidInputError(
            f"'{arch}' is not in {self.name}, whose architectures are written {self.name}:|operation~source|+…"
        )

    # Counting --------------------------------------------------------------------------------------------------

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind: 15,625, 12,751 or 6,466.

        Raises InvalidInputError for an unknown kind, or for any rule: each kind is counted in one way only.
        """
        self.check_kind(kind)
        if rule is not None:
            raise InvalidInputError(f"'{kind}' has only one rule of counting, not '{rule}': remove the rule")
        return len(self.numbers(kind))

    def numbers(self, kind: str) -> Numbers:
        """Return the official indices of all architectures of a kind, ascending, (count(kind),)."""
        self.check_kind(kind)
        return unique_indices(_ZERO_RULE[kind]) if kind in _ZERO_RULE else range(len(self))

    # Sampling and moving ---------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> EdgeArchitecture:
        """Draw an architecture uniformly from "all"; `loose_ends` has no effect."""
        check_rng(rng)
        return self[int(rng.integers(len(self)))]

    def neighbours(self, arch: Architecture) -> list[EdgeArchitecture]:
        """Return the 24 architectures that differ in the operation of one edge, edge by edge."""
        now = self._operations(arch)
        return [self._architecture(with_another_operation(now, number, N_OPERATIONS)) for number in range(_N_CHANGES)]

    def mutate(self, arch: Architecture, rng: np.random.Generator) -> EdgeArchitecture:
        """Draw one of the neighbours of an architecture uniformly; raises InvalidInputError as `index` does."""
        check_rng(rng)
        number = int(rng.random() * _N_CHANGES)
        return self._architecture(with_another_operation(self._operations(arch), number, N_OPERATIONS))

    def published_mutate(self, arch: Architecture, rng: np.random.Generator) -> EdgeArchitecture:
        """Draw a child as in NAS-Bench-201's published regularized evolution.

        It draws one of the three nodes with inputs, then one of the node's edges, then another operation of that edge.
        The edge 1<-0 therefore changes three times as often as 3<-0 (D-X-Y/AutoDL-Projects, f46486e,
        `exps/NAS-Bench-201-algos/R_EA.py`, `mutate_arch_func`). Raises InvalidInputError as `index` does.
        """
        check_rng(rng)
        node = 1 + int(rng.random() * (N_NODES - 1))
        edge = node * (node - 1) // 2 + int(rng.random() * node)
        number = edge * (N_OPERATIONS - 1) + int(rng.random() * (N_OPERATIONS - 1))
        return self._architecture(with_another_operation(self._operations(arch), number, N_OPERATIONS))

    # Mixing weights --------------------------------------------------------------------------------------------

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return `operations`: (6, 5), a row for each edge and a column for each operation."""
        return {self.operation_key: (N_EDGES, N_OPERATIONS)}

    def choices(self) -> tuple[Choice, ...]:
        """Return the choice of an operation for each edge, node by node."""
        return tuple(Choice(self.operation_key, edge, N_OPERATIONS, 1) for edge in range(N_EDGES))

    def discretise(self, mixing: Weights) -> EdgeArchitecture:
        """Select the best operation of each edge; ties go to the lowest index. "none" can be selected.

        Args:
            mixing: an array or tensor of `mixing_shapes()`; weights or raw parameters, because only their order
                matters.

        Raises:
            InvalidInputError: keys or shapes are wrong, or a value is NaN.
        """
        return self._architecture(tuple(self.checked_mixing(mixing)[self.operation_key].argmax(axis=1).tolist()))

    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """Return mixing weights that compute exactly this architecture: 1 for chosen operations, 0 for all others."""
        return {self.operation_key: np.eye(N_OPERATIONS, dtype=np.float32)[list(self._operations(arch))]}

    # Integers --------------------------------------------------------------------------------------------------

    def variables(self) -> tuple[int, ...]:
        """Return the number of operations of each of the six edges."""
        return (N_OPERATIONS,) * N_EDGES

    def values_of(self, arch: Architecture) -> tuple[int, ...]:
        """Return the operation of each edge; raises InvalidInputError if the architecture is not in this space."""
        return self._operations(arch)

    def from_values(self, values: Sequence[int]) -> EdgeArchitecture:
        """Return the architecture with these operations; inverse of `values_of`.

        Raises InvalidInputError if there are not six integers, or an operation does not exist.
        """
        return self._architecture(checked_values(self.name, values, self.variables()))

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return a categorical for each edge, named as in NAS-Bench-201's BOHB: `1<-0`, `2<-0`, …, `3<-2`."""
        from ConfigSpace import Categorical, ConfigurationSpace

        configurations = ConfigurationSpace(name=self.id)
        configurations.add(Categorical(edge, OPERATIONS) for edge in EDGE_NAMES)
        return configurations

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> EdgeArchitecture:
        """Return the architecture of a configuration of `configuration_space()`, or of a mapping with its keys.

        Raises InvalidInputError if a value is missing or unknown.
        """
        values = dict(configuration)
        return self._architecture(
            tuple(OPERATIONS.index(checked_choice(values, edge, OPERATIONS)) for edge in EDGE_NAMES)
        )

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        from ConfigSpace import Configuration

        names = (OPERATIONS[operation] for operation in self._operations(arch))
        return Configuration(self.configuration_space(), values=dict(zip(EDGE_NAMES, names, strict=True)))


SPACE = NASBench201Space()
