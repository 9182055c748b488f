"""NAS-Bench-101 itself (Ying et al. 2019, section 2): every cell of at most seven vertices and nine edges."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.configurable import Encoding, checked_values
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    MAX_EDGES,
    MAX_VERTICES,
    OPERATIONS,
    VERTEX_BIT,
    Encodings,
    edge_bit,
)
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.search_spaces import cell_choices, edge_masks
from nasbench1shot1.search_spaces.cell_choices import checked_member, operation_changes
from nasbench1shot1.search_spaces.cell_encodings import ContinuousEncoding, EdgeIndexEncoding
from nasbench1shot1.search_spaces.distinct_cells import (
    DistinctCells,
    distinct_cells,
    lowest_numbers,
    numbers_by_hash,
)
from nasbench1shot1.search_spaces.edge_masks import RULES, n_edges, parents_of
from nasbench1shot1.search_spaces.independent_choices import with_another_entry
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.space import Numbers, SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace


N_OPERATIONS = len(OPERATIONS)


_NAMES = {MAX_VERTICES: "nb101", 6: "nb101-mini", 5: "nb101-5v"}
_TABLES = {"nb101-5v": "nb101-5v"}
"""The bundled tables that have all cells of a space."""
_EVERY = "all"


class NASBench101Space(SearchSpace):
    """All valid encodings of V vertices: a choice for every possible edge, and an operation for every block.

    The first vertex is the input, the last one is the output, and the others are choice blocks; any vertex may have no
    parents. An encoding is valid if it has a path from input to output and at most nine edges. The paper does not state
    which edges count: "pruned" counts the edges that are left after pruning, as `nasbench.api` does; "raw" counts all
    edges. NAS-Bench-101 has seven vertices, 21 possible edges and five operations: 373,754,169 and 139,359,042 of its
    509,607,936 encodings are valid. NAS-Bench-Mini (figure 8) has at most six vertices: 15 edges and
    four operations. nb101-5v has at most five vertices: its 2,532 cells are few enough for enumerations, and most of
    them have a measured test accuracy in a bundled table.

    Numbers follow the valid sets of edges, ascending as masks (`edge_masks`), and within each set the operations with
    the last block fastest. The three kinds of architectures:
        "loose_ends": every valid encoding;
        "no_loose_ends": one architecture for each distinct pruned labelled graph, 1,293,208 in NAS-Bench-101; vertices
            on a path come first, in order, and the others have no edges and operation 0;
        "unique": one architecture for each distinct cell: the one with the lowest number, 423,624 in NAS-Bench-101.

    The name depends only on the number of vertices. The numbers of architectures and the space's `id` also depend on
    the rule.
    """

    benchmark = BENCHMARK
    kinds = ("loose_ends", "no_loose_ends", "unique")
    sizes = "nasbench1shot1.experiments.counts:render_nasbench101"

    def __init__(self, rule: str = "pruned", n_vertices: int = MAX_VERTICES) -> None:
        """Choose which edges count and how many vertices an encoding has.

        Raises InvalidInputError unless the rule is "pruned" or "raw" and there are 3 to 7 vertices.
        """
        if rule not in RULES:
            raise unknown_name("rule of validity", rule, RULES)
        if n_vertices not in range(3, MAX_VERTICES + 1):
            raise InvalidInputError(f"an encoding cannot have {n_vertices} vertices: give 3 to {MAX_VERTICES}")
        self.rule, self.n_vertices = rule, n_vertices
        self.name = _NAMES.get(n_vertices, f"nb101-{n_vertices}-vertices")
        self.id = f"{self.name}-v1" if rule == "pruned" else f"{self.name}-raw-v1"

    @property
    def table(self) -> str | None:
        """Name of the table that has its cells; None: the value of $NB1SHOT1_TABLE, or else "embedded"."""
        return _TABLES.get(self.name)

    def __repr__(self) -> str:
        return f"NASBench101Space('{self.name}', rule='{self.rule}', {self.n_vertices} vertices)"

    @property
    def n_blocks(self) -> int:
        """Number of choice blocks: all vertices except input and output."""
        return self.n_vertices - 2

    # Numbers ---------------------------------------------------------------------------------------------------

    @cached_property
    def _masks(self) -> edge_masks.Masks:
        """The valid sets of edges, ascending; 6 MB for seven vertices."""
        masks = edge_masks.all_masks(self.n_vertices)
        return masks[edge_masks.is_valid(masks, self.rule, self.n_vertices)]

    @cached_property
    def _rank(self) -> NDArray[np.int32]:
        """The position of every mask in `_masks`, -1 for invalid masks; 8 MB for seven vertices."""
        rank = np.full(1 << n_edges(self.n_vertices), -1, np.int32)
        rank[self._masks] = np.arange(len(self._masks))
        return rank

    @cached_property
    def _labellings(self) -> list[tuple[int, ...]]:
        return list(product(range(N_OPERATIONS), repeat=self.n_blocks))

    @cached_property
    def _place_of_labelling(self) -> dict[tuple[int, ...], int]:
        return {operations: place for place, operations in enumerate(self._labellings)}

    def has_graph(self, mask: int) -> bool:
        """Return whether a set of edges (`edge_masks`) is valid."""
        return bool(self._rank.item(mask) >= 0)

    @cached_property
    def _length(self) -> int:
        return len(self._masks) * len(self._labellings)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> CellArchitecture:
        return self._architecture_at(self.checked_number(index))

    def _architecture_at(self, number: int) -> CellArchitecture:
        rank, labelling = divmod(number, len(self._labellings))
        return self._architecture(self._masks.item(rank), self._labellings[labelling])

    def index(self, arch: Architecture) -> int:
        """Return the number of an architecture.

        Raises:
            InvalidInputError: the architecture belongs to another space, has no path from input to output, or has too
                many edges.
        """
        self.check_architecture(arch)
        if not isinstance(arch, CellArchitecture) or arch.space != self.name or len(arch.operations) != self.n_blocks:
            raise InvalidInputError(
                f"'{arch}' is not in {self.name}, whose architectures all have {self.n_blocks} blocks"
            )
        rank = self._rank.item(arch.edges)
        if rank < 0:
            raise InvalidInputError(f"'{arch}' is not in {self.name}: {self._fault(arch)}")
        return rank * len(self._labellings) + self._place_of_labelling[arch.operations]

    def _fault(self, arch: CellArchitecture) -> str:
        if not arch.cell.ops:
            return "no path leads from its input to its output"
        edges = int(arch.cell.matrix.sum()) if self.rule == "pruned" else sum(map(len, arch.parents))
        left = " left after pruning" if self.rule == "pruned" else ""
        return f"it has {edges} edges{left}, but NAS-Bench-101 allows {MAX_EDGES}"

    def without_loose_ends(self, arch: Architecture) -> CellArchitecture:
        """Return the architecture of the kind "no_loose_ends" with the same live part; raises the errors of `index`."""
        return CellArchitecture.of_cell(checked_member(self, arch).cell, self.name, self.n_vertices)

    # Counting and iterating ------------------------------------------------------------------------------------

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return the number of architectures of a kind.

        Args:
            kind: "loose_ends", "no_loose_ends" or "unique".
            rule: for "loose_ends", which encodings count: valid under "pruned" or "raw", or "all". Default: the rule of
                the space.

        Raises:
            InvalidInputError: unknown kind or rule.
        """
        self.check_kind(kind)
        if rule is None:
            return len(self) if kind == "loose_ends" else len(self.numbers(kind))
        if kind != "loose_ends":
            raise InvalidInputError(f"'{kind}' has only one counting rule, not '{rule}': remove the rule")
        if rule not in [*RULES, _EVERY]:
            raise unknown_name(f"counting rule of '{kind}'", rule, [*RULES, _EVERY])
        if rule == _EVERY:
            return len(self._labellings) << n_edges(self.n_vertices)
        masks = edge_masks.all_masks(self.n_vertices)
        return int(edge_masks.is_valid(masks, rule, self.n_vertices).sum()) * len(self._labellings)

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind, ascending, (count(kind),)."""
        self.check_kind(kind)
        if kind == "loose_ends":
            return range(len(self))
        return (self._distinct if kind == "unique" else self._loose_end_free)[0]

    def encodings(self, kind: str = "unique") -> Encodings:
        """Return the pruned cells of "no_loose_ends" or "unique" as integers, in the order of `numbers`.

        Cells of "unique" are numbered canonically (`nasbench101.numbering`), 423,624 of them in half a second.
        """
        if kind == "loose_ends":
            raise InvalidInputError("'loose_ends' has too many cells to list: choose 'no_loose_ends' or 'unique'")
        self.check_kind(kind)
        return (self._distinct if kind == "unique" else self._loose_end_free)[1]

    def enumerate_cells(self) -> tuple[NDArray[np.int64], Encodings]:
        """Return the lowest number and the canonical encoding of every distinct cell, (C,) each."""
        return self._distinct

    @property
    def definition(self) -> str:
        """A string that determines the meaning of the numbers of architectures."""
        return self.rule if self.n_vertices == MAX_VERTICES else f"{self.rule}, {self.n_vertices} vertices"

    @cached_property
    def distinct_cells(self) -> DistinctCells:
        """The distinct cells with their hashes, from the cache, or for seven vertices in about half a minute."""
        return distinct_cells(self)

    @cached_property
    def _number_of_network(self) -> dict[str, int]:
        return numbers_by_hash(self.distinct_cells)

    @cached_property
    def _loose_end_free(self) -> tuple[NDArray[np.int64], Encodings]:
        """Numbers and encodings, ascending by number."""
        masks, graphs = edge_masks.pruned_graphs(self.n_vertices)
        n_inner = (graphs >> np.uint64(VERTEX_BIT)).astype(np.int64) - 2
        sizes = range(self.n_blocks + 1)
        parts = [_labelled(masks[n_inner == n], graphs[n_inner == n], n, self.n_blocks) for n in sizes]
        masks, labelling, codes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        numbers = self._rank[masks].astype(np.int64) * len(self._labellings) + labelling
        order = np.argsort(numbers)
        return _read_only(numbers[order], codes[order])

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.int64], Encodings]:
        """The lowest number of each distinct cell and its canonical encoding, ascending by number."""
        numbers, codes = self._loose_end_free
        return _read_only(*lowest_numbers(numbers, canonicalise(codes)))

    # Sampling --------------------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> CellArchitecture:
        """Draw an architecture uniformly from "loose_ends" (every valid encoding) or from "no_loose_ends".

        The distribution over "loose_ends" equals drawing 21 edges and five operations until they are valid, as the
        black-box methods of NAS-Bench-101 do.
        """
        check_rng(rng)
        if loose_ends:
            return self._architecture_at(int(rng.integers(self._length)))
        return self[int(rng.choice(self._loose_end_free[0]))]

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
                operations = with_another_entry(operations, number, N_OPERATIONS)
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
        operations = with_another_entry(arch.operations, number, N_OPERATIONS)
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
        return self.with_edges(sum(compress(self._flags, checked[self.n_blocks :])), checked[: self.n_blocks])

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
        return cell_choices.edge_configuration_space(self)

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> CellArchitecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is not valid."""
        return checked_member(self, cell_choices.from_edges(self, configuration))

    @property
    def named_encodings(self) -> Mapping[str, Encoding]:
        """The encodings of NAS-Bench-101's authors: "matrix", the space itself, "edge-index" and "continuous"."""
        return {"matrix": self, "edge-index": EdgeIndexEncoding(self), "continuous": ContinuousEncoding(self)}

    def with_edges(self, mask: int, operations: tuple[int, ...]) -> CellArchitecture:
        """Return the architecture with a set of edges (`edge_masks`); raises InvalidInputError if it is not valid."""
        arch = self._architecture(mask, operations)
        return arch if self.has_graph(mask) else checked_member(self, arch)

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        return cell_choices.to_edges(self, checked_member(self, arch))


def _labelled(
    masks: edge_masks.Masks, graphs: Encodings, n_inner: int, n_blocks: int
) -> tuple[edge_masks.Masks, NDArray[np.int64], Encodings]:
    """Return masks, labelling positions and encodings of all labellings of pruned graphs of one size."""
    labels = labellings(n_inner)
    places = np.arange(n_inner)
    labelling = labels @ N_OPERATIONS ** (n_blocks - 1 - places)
    bits = (labels << 2 * places).sum(axis=1).astype(np.uint64) << np.uint64(EDGE_BITS)
    return (
        np.repeat(masks, len(labels)),
        np.tile(labelling, len(masks)),
        (graphs[:, None] | bits).ravel(),
    )


def _read_only(numbers: NDArray[np.int64], codes: Encodings) -> tuple[NDArray[np.int64], Encodings]:
    numbers.flags.writeable = codes.flags.writeable = False
    return numbers, codes


SPACE = NASBench101Space()
"""NAS-Bench-101."""

MINI = NASBench101Space(n_vertices=6)
"""NAS-Bench-Mini."""

FIVE_VERTICES = NASBench101Space(n_vertices=5)
"""The cells of NAS-Bench-101 with at most five vertices."""
