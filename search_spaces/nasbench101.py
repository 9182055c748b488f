"""NAS-Bench-101 itself (Ying et al. 2019, section 2): every cell of at most seven vertices and nine edges."""

from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    MAX_EDGES,
    MAX_VERTICES,
    VERTEX_BIT,
    Encodings,
)
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.search_spaces import edge_masks
from nasbench1shot1.search_spaces.distinct_cells import DistinctCells, distinct_cells, lowest_numbers
from nasbench1shot1.search_spaces.edge_choices import N_OPERATIONS, EdgeChoices
from nasbench1shot1.search_spaces.edge_masks import RULES, n_edges
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.space import Numbers

_NAMES = {MAX_VERTICES: "nb101", 6: "nb101-mini"}
_EVERY = "all"


class NASBench101Space(EdgeChoices):
    """All valid encodings of V vertices: a choice for every possible edge, and an operation for every block.

    The first vertex is the input, the last one is the output, and the others are choice blocks; any vertex may have no
    parents. An encoding is valid if it has a path from input to output and at most nine edges. The paper does not state
    which edges count: "pruned" counts the edges that are left after pruning, as `nasbench.api` does; "raw" counts all
    edges. NAS-Bench-101 has seven vertices, 21 possible edges and five operations: 373,754,169 and 139,359,042 of its
    509,607,936 encodings are valid. NAS-Bench-Mini (figure 8) has at most six vertices: 15 edges and
    four operations.

    Numbers follow the valid sets of edges, ascending as masks (`edge_masks`), and within each set the operations with
    the last block fastest. The three kinds of architectures:
        "loose_ends": every valid encoding;
        "no_loose_ends": one architecture for each distinct pruned labelled graph, 1,293,208 in NAS-Bench-101; vertices
            on a path come first, in order, and the others have no edges and operation 0;
        "unique": one architecture for each distinct cell: the one with the lowest number, 423,624 in NAS-Bench-101.

    The name depends only on the number of vertices. The numbers of architectures and the space's `id` also depend on
    the rule.
    """

    kinds = ("loose_ends", "no_loose_ends", "unique")

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

    def __repr__(self) -> str:
        return f"NASBench101Space('{self.name}', rule='{self.rule}', {self.n_vertices} vertices)"

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
            raise InvalidInputError(f"'{kind}' has only one rule of counting, not '{rule}': remove the rule")
        if rule not in [*RULES, _EVERY]:
            raise unknown_name(f"rule of counting '{kind}'", rule, [*RULES, _EVERY])
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

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> Architecture:
        """Draw an architecture uniformly from "loose_ends" (every valid encoding) or from "no_loose_ends".

        The distribution over "loose_ends" equals drawing 21 edges and five operations until they are valid, as the
        black-box methods of NAS-Bench-101 do.
        """
        check_rng(rng)
        if loose_ends:
            return self._architecture_at(int(rng.integers(self._length)))
        return self[int(rng.choice(self._loose_end_free[0]))]


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
