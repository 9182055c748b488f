"""NAS-Bench-101 itself (Ying et al. 2019, section 2): every cell of at most seven vertices and nine edges."""

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_EDGES, OPERATIONS, VERTEX_BIT, Encodings
from nasbench1shot1.nasbench101.numbering import canonical
from nasbench1shot1.search_spaces import configurations, edge_masks
from nasbench1shot1.search_spaces.distinct_cells import DistinctCells, distinct_cells, lowest_of_each
from nasbench1shot1.search_spaces.edge_masks import RULES, mask_of, parents_of
from nasbench1shot1.search_spaces.membership import member
from nasbench1shot1.search_spaces.neighbourhood import operation_changes
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.space import Numbers, SearchSpace

if TYPE_CHECKING:
    from ConfigSpace import Configuration, ConfigurationSpace

N_BLOCKS = 5
N_LABELLINGS: int = len(OPERATIONS) ** N_BLOCKS
_EVERY = "all"


class NASBench101Space(SearchSpace):
    """All valid encodings: 21 possible edges among seven vertices, and five operations.

    Vertex 0 is the input, 1 to 5 are choice blocks, 6 is the output; any vertex may have no parents. An encoding
    is valid if it has a path from input to output and at most nine edges. The paper does not say which edges count:
    "pruned" counts the edges that are left after pruning, as `nasbench.api` does; "raw" counts all edges. Of the
    509,607,936 encodings, 373,754,169 and 139,359,042 are valid.

    Numbers follow the valid sets of edges, ascending as masks of 21 bits (`edge_masks`), and within each set the
    operations with the last block fastest. The three kinds of architectures:
        "loose_ends": every valid encoding;
        "no_loose_ends": one architecture for each distinct pruned labelled graph, 1,293,208: vertices on a path first,
            in their order, the others without edges and with operation 0;
        "unique": one architecture for each distinct cell: the one with the lowest number, 423,624.

    Architectures under both rules belong to "nb101"; the numbers differ, and so does `id`.
    """

    name = "nb101"
    kinds = ("loose_ends", "no_loose_ends", "unique")

    def __init__(self, rule: str = "pruned") -> None:
        """Choose which edges count; raises InvalidInputError unless the rule is "pruned" or "raw"."""
        if rule not in RULES:
            raise unknown_name("rule of validity", rule, RULES)
        self.rule = rule
        self.id = "nb101-v1" if rule == "pruned" else "nb101-raw-v1"

    def __repr__(self) -> str:
        return f"NASBench101Space('{self.rule}')"

    # Numbers ---------------------------------------------------------------------------------------------------

    @cached_property
    def _masks(self) -> edge_masks.Masks:
        """The valid sets of edges, ascending, 6 MB."""
        masks = edge_masks.all_masks()
        return masks[edge_masks.is_valid(masks, self.rule)]

    @cached_property
    def _rank(self) -> NDArray[np.int32]:
        """The position of every mask in `_masks`, -1 for invalid masks, 8 MB."""
        rank = np.full(edge_masks.N_MASKS, -1, np.int32)
        rank[self._masks] = np.arange(len(self._masks))
        return rank

    @cached_property
    def _labellings(self) -> list[tuple[int, ...]]:
        return list(product(range(len(OPERATIONS)), repeat=N_BLOCKS))

    def __len__(self) -> int:
        return len(self._masks) * N_LABELLINGS

    def __getitem__(self, index: int) -> CellArchitecture:
        rank, labelling = divmod(self.checked_number(index), N_LABELLINGS)
        return CellArchitecture.unchecked(self.name, parents_of(int(self._masks[rank])), self._labellings[labelling])

    def index(self, arch: Architecture) -> int:
        """Return the number of an architecture.

        Raises:
            InvalidInputError: the architecture belongs to another space, has no path from input to output, or has too
                many edges.
        """
        self.check_architecture(arch)
        if not isinstance(arch, CellArchitecture) or arch.space != self.name or len(arch.operations) != N_BLOCKS:
            raise InvalidInputError(f"'{arch}' is not in {self.name}, whose architectures all have {N_BLOCKS} blocks")
        rank = int(self._rank[mask_of(arch.parents)])
        if rank < 0:
            raise InvalidInputError(f"'{arch}' is not in {self.name}: {self._fault(arch)}")
        labelling = 0
        for operation in arch.operations:
            labelling = labelling * len(OPERATIONS) + operation
        return rank * N_LABELLINGS + labelling

    def _fault(self, arch: CellArchitecture) -> str:
        if not arch.cell.ops:
            return "no path leads from its input to its output"
        edges = int(arch.cell.matrix.sum()) if self.rule == "pruned" else sum(map(len, arch.parents))
        left = " left after pruning" if self.rule == "pruned" else ""
        return f"it has {edges} edges{left}, where NAS-Bench-101 allows {MAX_EDGES}"

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
            raise InvalidInputError(f"'{kind}' is counted in one way only, not by '{rule}': leave out the rule")
        if rule not in [*RULES, _EVERY]:
            raise unknown_name(f"rule of counting '{kind}'", rule, [*RULES, _EVERY])
        if rule == _EVERY:
            return edge_masks.N_MASKS * N_LABELLINGS
        return int(edge_masks.is_valid(edge_masks.all_masks(), rule).sum()) * N_LABELLINGS

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind, ascending, (count(kind),)."""
        self.check_kind(kind)
        if kind == "loose_ends":
            return range(len(self))
        return (self._distinct if kind == "unique" else self._loose_end_free)[0]

    def encodings(self, kind: str = "unique") -> Encodings:
        """Return the pruned cells of "no_loose_ends" or "unique" as integers, in the order of `numbers`.

        Cells of "unique" are numbered canonically (`nasbench101.numbering`): 423,624 in half a second.
        """
        if kind == "loose_ends":
            raise InvalidInputError(
                "the cells of 'loose_ends' are too many to list: choose 'no_loose_ends' or 'unique'"
            )
        self.check_kind(kind)
        return (self._distinct if kind == "unique" else self._loose_end_free)[1]

    def enumerate_cells(self) -> tuple[NDArray[np.int64], Encodings]:
        """Return the lowest number and the canonical encoding of every distinct cell, (423624,) each."""
        return self._distinct

    @property
    def definition(self) -> str:
        """A string that determines the meaning of the numbers of architectures."""
        return self.rule

    @cached_property
    def distinct_cells(self) -> DistinctCells:
        """The 423,624 distinct cells with their hashes, from the cache or in about half a minute."""
        return distinct_cells(self)

    @cached_property
    def _loose_end_free(self) -> tuple[NDArray[np.int64], Encodings]:
        """Numbers and encodings, ascending by number."""
        masks, graphs = edge_masks.pruned_graphs()
        n_inner = (graphs >> np.uint64(VERTEX_BIT)).astype(np.int64) - 2
        parts = [_labelled(masks[n_inner == n], graphs[n_inner == n], n) for n in range(N_BLOCKS + 1)]
        masks, labelling, codes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        numbers = self._rank[masks].astype(np.int64) * N_LABELLINGS + labelling
        order = np.argsort(numbers)
        return _read_only(numbers[order], codes[order])

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.int64], Encodings]:
        """The lowest number of each distinct cell and its canonical encoding, ascending by number."""
        numbers, codes = self._loose_end_free
        return _read_only(*lowest_of_each(numbers, canonical(codes)))

    # Sampling and moving ---------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Architecture:
        """Draw an architecture uniformly from "loose_ends" (every valid encoding) or from "no_loose_ends".

        The distribution over "loose_ends" equals drawing 21 edges and five operations until they are valid, as the
        black-box methods of NAS-Bench-101 do.
        """
        if loose_ends:
            return self[int(rng.integers(len(self)))]
        return self[int(rng.choice(self._loose_end_free[0]))]

    def neighbours(self, arch: Architecture) -> list[CellArchitecture]:
        """Return all valid encodings at edit distance one: first changed operations, then added or removed edges."""
        arch = member(self, arch)
        mask = mask_of(arch.parents)
        flipped = [mask ^ 1 << bit for bit in range(EDGE_BITS)]
        return operation_changes(arch) + [
            CellArchitecture.unchecked(self.name, parents_of(other), arch.operations)
            for other in flipped
            if self._rank[other] >= 0
        ]

    # ConfigSpace -----------------------------------------------------------------------------------------------

    def configuration_space(self) -> "ConfigurationSpace":
        """Return categoricals `edge_{x}_{y}` (0 or 1) and `choice_block_{i}_op`; some configurations are invalid."""
        return configurations.edge_configuration_space(self)

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> Architecture:
        """Return the architecture of a configuration; raises InvalidInputError if it is not valid."""
        return member(self, configurations.from_edges(self, configuration))

    def to_configuration(self, arch: Architecture) -> "Configuration":
        """Return the configuration of an architecture; raises InvalidInputError if it is not in this space."""
        return configurations.to_edges(self, member(self, arch))


def _labelled(
    masks: edge_masks.Masks, graphs: Encodings, n_inner: int
) -> tuple[edge_masks.Masks, NDArray[np.int64], Encodings]:
    """Return masks, labelling positions and encodings of all labellings of pruned graphs of one size."""
    labels = labellings(n_inner)
    places = np.arange(n_inner)
    labelling = labels @ len(OPERATIONS) ** (N_BLOCKS - 1 - places)
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
