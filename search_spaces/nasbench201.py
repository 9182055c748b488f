"""NAS-Bench-201's topology space (Dong and Yang 2020, section 2.1): an operation for each edge of a four-node cell."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import values_by_name
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import (
    EDGE_NAMES,
    EDGES,
    N_NODES,
    NODE_NAMES,
    NONE,
    OPERATIONS,
    SPACE_NAME,
    EdgeArchitecture,
)
from nasbench1shot1.nasbench201.benchmark import BENCHMARK
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of_valid
from nasbench1shot1.nasbench201.topology import unique_indices
from nasbench1shot1.search_spaces.cell_choices import checked_choice
from nasbench1shot1.search_spaces.independent_choices import IndependentChoices, with_another_entry
from nasbench1shot1.space import Choice, Numbers

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_EDGES, N_OPERATIONS = len(EDGES), len(OPERATIONS)
_ZERO_RULE = {"unique_skip_connect": False, "unique": True}


class NASBench201Space(IndependentChoices[EdgeArchitecture]):
    """All 15,625 choices of an operation for each of six edges; also known as the topology space of NATS-Bench.

    Numbers are the official indices: `space[i]` is architecture i of NAS-Bench-201. The three kinds of architectures:
        "all": every architecture; NAS-Bench-201 trained each of them, including isomorphic ones;
        "unique_skip_connect": one architecture for each topology if skip connections are simplified, 12,751;
        "unique": one architecture for each topology if zeroized edges are also simplified, 6,466.

    The last two kinds have the lowest official index of each class of `nasbench201.topology`. Loose ends are not
    distinguished. The entries of a choice are `OPERATIONS`; "none" can be chosen.
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
    n_choices, n_entries = N_EDGES, N_OPERATIONS
    zero_operation = NONE

    def __repr__(self) -> str:
        return f"NASBench201Space('{self.name}', {len(self):,} architectures)"

    def describe_entries(self, choice: Choice, entries: Sequence[int]) -> str:
        """Return words such as "edge from input to 2: nor_conv_3x3", with the names of nodes in pictures."""
        target, source = (NODE_NAMES[node] for node in EDGES[choice.row or 0])
        return f"edge from {source} to {target}: {', '.join(OPERATIONS[entry] for entry in entries)}"

    # Numbers ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return N_ARCHITECTURES

    def __getitem__(self, index: int) -> EdgeArchitecture:
        return self._at(tuple(all_operations()[self.checked_number(index)].tolist()))

    def numbers_of_picks(self) -> NDArray[np.int64]:
        """Return the official index of every combination of operations, as in `OneShotSpace`."""
        numbers = np.empty((N_OPERATIONS,) * len(EDGES), np.int64)
        numbers[tuple(all_operations().T)] = np.arange(len(self))
        return numbers

    def index(self, arch: Architecture) -> int:
        """Return the official index of an architecture; raises InvalidInputError if it belongs to another space."""
        return index_of_valid(self._positions(arch))

    def _at(self, positions: tuple[int, ...]) -> EdgeArchitecture:
        return EdgeArchitecture.unchecked(self.name, positions)

    def _positions(self, arch: Architecture) -> tuple[int, ...]:
        self.check_architecture(arch)
        if isinstance(arch, EdgeArchitecture) and arch.space == self.name:
            return arch.operations
        raise InvalidInputError(
            f"'{arch}' is not in {self.name}, whose architectures are written {self.name}:|operation~source|+…"
        )

    # Counting --------------------------------------------------------------------------------------------------

    def numbers(self, kind: str) -> Numbers:
        """Return the official indices of all architectures of a kind, ascending, (count(kind),)."""
        self.check_kind(kind)
        return unique_indices(_ZERO_RULE[kind]) if kind in _ZERO_RULE else range(len(self))

    # Moving ----------------------------------------------------------------------------------------------------

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
        return self._at(with_another_entry(self._positions(arch), number, N_OPERATIONS))

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return a categorical for each edge, named as in NAS-Bench-201's BOHB: `1<-0`, `2<-0`, …, `3<-2`."""
        from ConfigSpace import Categorical, ConfigurationSpace

        configurations = ConfigurationSpace(name=self.id)
        configurations.add(Categorical(edge, OPERATIONS) for edge in EDGE_NAMES)
        return configurations

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> EdgeArchitecture:
        """Return the architecture of a configuration of `configuration_space()`, or of a mapping with its keys.

        Raises InvalidInputError if a name or value is missing or unknown.
        """
        values = values_by_name(configuration, self.name, EDGE_NAMES)
        return self._at(tuple(OPERATIONS.index(checked_choice(values, edge, OPERATIONS)) for edge in EDGE_NAMES))

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        from ConfigSpace import Configuration

        names = (OPERATIONS[operation] for operation in self._positions(arch))
        return Configuration(self.configuration_space(), values=dict(zip(EDGE_NAMES, names, strict=True)))


SPACE = NASBench201Space()
