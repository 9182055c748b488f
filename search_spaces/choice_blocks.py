"""Sub-spaces of NAS-Bench-101 that consist of choice blocks, such as the three spaces of NAS-Bench-1Shot1."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, check_space_id, check_space_name
from nasbench1shot1.configurable import checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.architecture import SHORT_NAMES, CellArchitecture, live_blocks
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.encoding import OPERATIONS, Encodings
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.search_spaces import cell_choices, wirings
from nasbench1shot1.search_spaces.cell_choices import (
    Parents,
    checked_member,
    operation_changes,
    parent_exchanges,
    parent_exchanges_of,
    with_parents,
)
from nasbench1shot1.search_spaces.distinct_cells import (
    DistinctCells,
    distinct_cells,
    lowest_numbers,
    numbers_by_hash,
)
from nasbench1shot1.search_spaces.independent_choices import with_another_entry
from nasbench1shot1.search_spaces.wirings import (
    Wiring,
    all_wirings,
    canonical_wiring,
    checked_parents,
    counting_rules,
    encodings,
)
from nasbench1shot1.space import Choice, Numbers, OneShotSpace, Weights

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace


N_OPERATIONS = len(OPERATIONS)


class ChoiceBlockSpace(OneShotSpace):
    """All cells in which block j (and the output) takes a fixed number of its predecessors as parents.

    Nodes are numbered 0 (input), 1…n (choice blocks), n + 1 (output); block j may read nodes 0…j - 1, the output
    every other node (NAS-Bench-1Shot1, section 3). A number counts wirings in lexicographic order and, within a
    wiring, operations with the last block fastest.

    The three kinds of architectures:
        "loose_ends": every choice of parents and operations, 3ⁿ for each wiring;
        "no_loose_ends": one architecture for each distinct live part in place; dead blocks, which have no path to the
            output, take the lowest-indexed parents and operation 0;
        "unique": one architecture for each distinct cell: the one with the lowest number.
    """

    benchmark = BENCHMARK
    kinds = ("loose_ends", "no_loose_ends", "unique")
    sizes = "nasbench1shot1.experiments.counts:render_choice_blocks"

    def __init__(
        self,
        name: str,
        id: str,
        n_parents: tuple[int, ...],
        paper_counts: Mapping[str, int] | None = None,
        paper_loose_end_rule: str = "encodings",
    ) -> None:
        """Describe a space.

        Args:
            name: short name, the first part of an architecture's text.
            id: versioned name.
            n_parents: number of parents of block 1, …, block n and the output; NAS-Bench-101 allows at most 5 blocks
                and 9 parents in total.
            paper_counts: the counts in the paper, by kind.
            paper_loose_end_rule: the rule with which the paper counted "loose_ends".

        Raises:
            InvalidInputError: the name has characters other than letters, digits, _ and -, or the id has others than
                these and dots; `n_parents` are not whole numbers; a node cannot have that many parents; or a limit is
                exceeded.
        """
        check_space_name(name)
        check_space_id(id)
        self.name, self.id, self.n_parents = name, id, checked_parents(n_parents)
        self._paper_counts = dict(paper_counts or {})
        self.paper_loose_end_rule = paper_loose_end_rule

    def __repr__(self) -> str:
        return f"ChoiceBlockSpace('{self.name}', id='{self.id}', n_parents={self.n_parents})"

    @property
    def paper_counts(self) -> dict[str, int]:
        """A copy of the numbers of architectures in the paper, by kind as in `count`; empty if the paper has none."""
        return dict(self._paper_counts)

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks."""
        return len(self.n_parents) - 1

    # Numbers ---------------------------------------------------------------------------------------------------

    @cached_property
    def wirings(self) -> tuple[Wiring, ...]:
        """All wirings, in lexicographic order (180, 360, 5,400 for s1, s2, s3)."""
        return all_wirings(self.n_parents)

    @cached_property
    def loose_end_free_wirings(self) -> tuple[int, ...]:
        """Position in `wirings` of the canonical wiring of every live part (66, 190, 876 for s1, s2, s3)."""
        return tuple(i for i, wiring in enumerate(self.wirings) if canonical_wiring(wiring) == wiring)

    @cached_property
    def _wiring_index(self) -> dict[Wiring, int]:
        return {wiring: i for i, wiring in enumerate(self.wirings)}

    @cached_property
    def _operation_choices(self) -> list[tuple[int, ...]]:
        return list(product(range(N_OPERATIONS), repeat=self.n_blocks))

    @cached_property
    def _operation_index(self) -> dict[tuple[int, ...], int]:
        return {operations: i for i, operations in enumerate(self._operation_choices)}

    def __len__(self) -> int:
        return len(self.wirings) * len(self._operation_choices)

    def __getitem__(self, index: int) -> CellArchitecture:
        wiring, operations = divmod(self.checked_number(index), len(self._operation_choices))
        return CellArchitecture.unchecked(self.name, self.wirings[wiring], self._operation_choices[operations])

    def index(self, arch: Architecture) -> int:
        """Return the number of an architecture.

        Raises:
            InvalidInputError: the architecture belongs to another space, or a node has the wrong number of parents.
        """
        self.check_architecture(arch)
        if isinstance(arch, CellArchitecture) and arch.space == self.name:
            wiring = self._wiring_index.get(arch.parents)
            operations = self._operation_index.get(arch.operations)
            if wiring is not None and operations is not None:
                return wiring * len(self._operation_choices) + operations
        numbers = ", ".join(map(str, self.n_parents))
        raise InvalidInputError(
            f"'{arch}' is not in {self.name}, whose {self.n_blocks} blocks and output take {numbers} parents"
        )

    def without_loose_ends(self, arch: Architecture) -> CellArchitecture:
        """Return the architecture of the kind "no_loose_ends" with the same live part; raises the errors of `index`."""
        arch = checked_member(self, arch)
        operations = tuple(op if block in arch.live_blocks else 0 for block, op in enumerate(arch.operations, start=1))
        return CellArchitecture.unchecked(self.name, canonical_wiring(arch.parents), operations)

    def numbers_of_live_labels(self, wiring_index: int, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers (L,) of the architectures with a wiring and given operations of its live blocks.

        Dead blocks take operation 0. `wiring_index` is the position in `wirings`; `labels` are (L, number of live
        blocks).
        """
        live = np.array(live_blocks(self.wirings[wiring_index]), np.int64)
        numbers: NDArray[np.int64] = labels @ N_OPERATIONS ** (self.n_blocks - live)
        return wiring_index * len(self._operation_choices) + numbers

    # Counting and iterating ------------------------------------------------------------------------------------

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind, by one of the rules behind the paper's Table 1.

        Args:
            kind: "loose_ends", "no_loose_ends" or "unique".
            rule: "paper" returns the counts in Table 1. "loose_ends" also has "encodings" (all choices) and
                "read-blocks" (operations count only for blocks that some node reads); the paper used "read-blocks"
                for s1 and s3, and "encodings" for s2. Its "no_loose_ends" of s2 and s3 is too high, because it counts
                operations of dead blocks that another dead block reads. Default: the number that `architectures`
                yields.

        Raises:
            InvalidInputError: unknown kind or rule.
        """
        self.check_kind(kind)
        rules = counting_rules(self, kind)
        if rule not in list(rules):
            raise unknown_name(f"counting rule of '{kind}'", rule, [name for name in rules if name])
        return rules[rule]()

    def architectures(self, kind: str) -> Iterator[CellArchitecture]:
        """Iterate over all `count(kind)` architectures of a kind, ascending by number."""
        wirings, operations = np.divmod(self.numbers(kind), len(self._operation_choices))  # at once: 3 times as fast
        pairs = zip(wirings.tolist(), operations.tolist(), strict=True)
        return (CellArchitecture.unchecked(self.name, self.wirings[w], self._operation_choices[o]) for w, o in pairs)

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind, ascending, (count(kind),)."""
        self.check_kind(kind)
        if kind == "unique":
            return self.distinct_cells.indices
        return self._loose_end_free if kind == "no_loose_ends" else range(len(self))

    @cached_property
    def distinct_cells(self) -> DistinctCells:
        """The distinct cells with their hashes (2,685, 7,773, 55,854 for s1, s2, s3), enumerated or from the cache."""
        return distinct_cells(self)

    @cached_property
    def _number_of_network(self) -> dict[str, int]:
        return numbers_by_hash(self.distinct_cells)

    def enumerate_cells(self) -> tuple[NDArray[np.int64], Encodings]:
        """Return lowest numbers without loose ends and canonical encodings of all distinct cells, (C,) each."""
        return lowest_numbers(self._live_numbers, self._live_codes)

    def count_architectures(self, networks: Sequence[str]) -> NDArray[np.int64]:
        """Return how many architectures of the kind "loose_ends" have each cell, (N,), given N hashes.

        Raises InvalidInputError if the space has no such cell.
        """
        known = self._architectures_per_network
        if unknown := [network for network in networks if network not in known]:
            raise InvalidInputError(f"{self.name} has no network '{unknown[0]}': give the hash of one of its cells")
        return np.array([known[network] for network in networks], np.int64)

    @cached_property
    def _architectures_per_network(self) -> dict[str, int]:
        """The number of architectures by hash of their cell.

        It counts all parents and operations of dead blocks, and all architectures whose live parts are isomorphic.
        """
        n_wirings = Counter(map(canonical_wiring, self.wirings))
        counts = [
            np.full(len(labels), n_wirings[self.wirings[i]] * N_OPERATIONS ** (self.n_blocks - labels.shape[1]))
            for i, labels in self._labelled_wirings
        ]
        live_codes = self._live_codes
        codes, places = np.unique(live_codes, return_inverse=True)
        of_code = np.zeros(len(codes), np.int64)
        np.add.at(of_code, places, np.concatenate(counts))
        _, of_networks = lowest_numbers(self._live_numbers, live_codes)  # in the order of `distinct_cells`
        of_cell = of_code[np.searchsorted(codes, of_networks)]
        return dict(zip(self._number_of_network, of_cell.tolist(), strict=True))

    @property
    def definition(self) -> str:
        """A string that determines the meaning of the numbers of architectures."""
        return repr(self.n_parents)

    @cached_property
    def _loose_end_free(self) -> NDArray[np.int64]:
        numbers = np.sort(self._live_numbers)
        numbers.flags.writeable = False
        return numbers

    @property
    def _live_numbers(self) -> NDArray[np.int64]:
        return np.concatenate([self.numbers_of_live_labels(i, labels) for i, labels in self._labelled_wirings])

    @property
    def _live_codes(self) -> Encodings:
        """The canonical encodings of the architectures in `_live_numbers`, in their order."""
        return canonicalise(
            np.concatenate([encodings(self.wirings[i], labels) for i, labels in self._labelled_wirings])
        )

    @property
    def _labelled_wirings(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Every wiring without loose ends, with all labellings of its live blocks."""
        return ((i, wirings.labellings(len(live_blocks(self.wirings[i])))) for i in self.loose_end_free_wirings)

    # Sampling --------------------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> CellArchitecture:
        """Draw an architecture uniformly from "loose_ends" (every encoding) or from "no_loose_ends"."""
        check_rng(rng)
        if loose_ends:
            return self[int(rng.integers(len(self)))]
        return self[int(rng.choice(self._loose_end_free))]

    # Mixing weights --------------------------------------------------------------------------------------------

    def mixing_key(self, node: int) -> str | None:
        """Return the key of the mixing weights of a node's inputs; None if the node takes all predecessors."""
        if node > self.n_blocks:
            return "output_edges"
        return None if self.n_parents[node - 1] == node else f"input_edges/{node}"

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return `input_edges/j`: (j,) for blocks with a choice, `operations`: (n, 3), `output_edges`: (n + 1,).

        The three are α, β and γ of NAS-Bench-1Shot1, section 3; entry i of an edge vector belongs to node i.
        """
        edges = {key: (node,) for node in range(1, self.n_blocks + 1) if (key := self.mixing_key(node))}
        return {**edges, "operations": (self.n_blocks, N_OPERATIONS), "output_edges": (self.n_blocks + 1,)}

    def choices(self) -> tuple[Choice, ...]:
        """Return inputs of block 1, its operation, inputs of block 2, …, inputs of the output."""
        return tuple(choice for _, choice in self._choices_of_nodes())

    def _choices_of_nodes(self) -> Iterator[tuple[int, Choice]]:
        """Yield (node, decision) for every decision; the node is the vertex to which the decision belongs."""
        for node, picks in enumerate(self.n_parents, start=1):
            if key := self.mixing_key(node):
                yield node, Choice(key, None, node, picks)
            if node <= self.n_blocks:
                yield node, Choice(self.operation_key, node - 1, N_OPERATIONS, 1)

    def describe_entries(self, choice: Choice, entries: Sequence[int]) -> str:
        """Return words such as "operation of block 2: conv1x1" or "inputs of the output: input, block 3"."""
        node = next(node for node, other in self._choices_of_nodes() if other == choice)
        name = "the output" if node > self.n_blocks else f"block {node}"
        if choice.key == self.operation_key:
            return f"operation of {name}: {', '.join(SHORT_NAMES[entry] for entry in entries)}"
        return f"inputs of {name}: {', '.join(f'block {entry}' if entry else 'input' for entry in entries)}"

    def live_choices(self, arch: Architecture) -> tuple[Choice, ...]:
        """Return the decisions of the blocks with a path to the output, and of the output's inputs."""
        live = {*checked_member(self, arch).live_blocks, len(self.n_parents)}
        return tuple(choice for node, choice in self._choices_of_nodes() if node in live)

    def discretise(self, mixing: Weights) -> CellArchitecture:
        """Select argmax operations and top-k parents (NAS-Bench-1Shot1, section 3.2); ties go to the lowest index.

        Args:
            mixing: arrays or tensors of `mixing_shapes()`; weights or raw parameters, because only their order
                matters.

        Raises:
            InvalidInputError: keys or shapes are wrong, or a value is NaN.
        """
        arrays = self.checked_mixing(mixing)
        parents = tuple(
            _largest(arrays[key], k) if (key := self.mixing_key(node)) else tuple(range(node))
            for node, k in enumerate(self.n_parents, start=1)
        )
        operations = tuple(int(op) for op in arrays["operations"].argmax(axis=1))
        return CellArchitecture(self.name, parents, operations)

    def numbers_of_picks(self) -> NDArray[np.int64]:
        """Return the number of the architecture of every combination of decisions, as in `OneShotSpace`."""
        nodes = range(1, self.n_blocks + 2)
        wirings = [math.comb(node, parents) for node, parents in zip(nodes, self.n_parents, strict=True)]
        numbers = np.arange(len(self)).reshape(*wirings, *[N_OPERATIONS] * self.n_blocks)  # the order of `index`
        axes = {self.mixing_key(node): axis for axis, node in enumerate(nodes)}
        order = [axes[choice.key] if choice.row is None else len(wirings) + choice.row for choice in self.choices()]
        without_choice = [axis for axis in range(numbers.ndim) if axis not in order]
        return numbers.transpose([*order, *without_choice]).reshape([numbers.shape[axis] for axis in order])

    def one_hot(self, arch: Architecture) -> dict[str, NDArray[np.float32]]:
        """Return mixing weights that compute exactly this architecture: 1 for chosen entries, 0 for all others."""
        arch = checked_member(self, arch)
        weights = {key: np.zeros(shape, np.float32) for key, shape in self.mixing_shapes().items()}
        for node, parents in enumerate(arch.parents, start=1):
            if key := self.mixing_key(node):
                weights[key][list(parents)] = 1
        weights["operations"][range(self.n_blocks), arch.operations] = 1
        return weights

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
        operations = with_another_entry(arch.operations, number, N_OPERATIONS)
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
        return cell_choices.configuration_space(self)

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> CellArchitecture:
        """Return the architecture of a configuration of `configuration_space()`, or of a mapping with its keys."""
        return cell_choices.from_configuration(self, configuration)

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        return cell_choices.to_configuration(self, checked_member(self, arch))


def _largest(weights: NDArray[np.float64], k: int) -> tuple[int, ...]:
    """Return the indices of the k largest values, ascending; ties go to the lowest index."""
    return tuple(sorted(np.argsort(-weights, kind="stable")[:k].tolist()))
