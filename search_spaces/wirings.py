"""Wirings: the parents of every node of a choice-block cell, without operations.

A wiring is a tuple of the ascending parents of block 1, …, block n and the output.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.arguments import is_integer
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.encoding import MAX_EDGES, MAX_VERTICES, OPERATIONS, Encodings, from_arrays
from nasbench1shot1.space import Numbers

Wiring = tuple[tuple[int, ...], ...]


def checked_parents(n_parents: Any) -> tuple[int, ...]:
    """Return the numbers of parents of nodes as Python integers.

    Raises InvalidInputError unless a cell of NAS-Bench-101 can have such nodes.
    """
    if not isinstance(n_parents, Sequence | np.ndarray) or not all(map(is_integer, n_parents)):
        raise InvalidInputError(f"n_parents={n_parents!r}: give a tuple of whole numbers, such as (1, 2, 2, 2, 2)")
    found = tuple(map(int, n_parents))
    if not all(1 <= k <= node for node, k in enumerate(found, start=1)):
        raise InvalidInputError(f"n_parents={found}: node j must take between 1 and j parents")
    if not (2 <= len(found) < MAX_VERTICES and sum(found) <= MAX_EDGES):
        raise InvalidInputError(
            f"n_parents={found}: NAS-Bench-101 has 1 to {MAX_VERTICES - 2} blocks and at most {MAX_EDGES} edges"
        )
    return found


def all_wirings(n_parents: tuple[int, ...]) -> tuple[Wiring, ...]:
    """Return every wiring in which node j takes n_parents[j - 1] of its j predecessors, in lexicographic order."""
    return tuple(product(*(combinations(range(node), k) for node, k in enumerate(n_parents, start=1))))


def read_blocks(wiring: Wiring) -> set[int]:
    """Return the blocks that are a parent of some node, live or dead."""
    return {parent for parents in wiring for parent in parents} - {0}


def canonical_wiring(wiring: Wiring) -> Wiring:
    """Return the wiring with an equal live part in which dead blocks take their lowest-indexed parents."""
    live = {*live_blocks(wiring), len(wiring)}
    return tuple(
        parents if node in live else tuple(range(len(parents))) for node, parents in enumerate(wiring, start=1)
    )


def pruned_matrix(wiring: Wiring) -> NDArray[np.int8]:
    """Return the adjacency matrix of input, live blocks and output, renumbered without gaps."""
    kept = [0, *live_blocks(wiring), len(wiring)]
    matrix = np.zeros((len(kept), len(kept)), np.int8)
    for column, node in enumerate(kept[1:], start=1):
        for parent in wiring[node - 1]:
            matrix[kept.index(parent), column] = 1
    return matrix


def labellings(n_blocks: int) -> NDArray[np.int64]:
    """Return all operation choices of n blocks, (3 ** n, n), last block fastest."""
    choices = list(product(range(len(OPERATIONS)), repeat=n_blocks))
    return np.array(choices, np.int64).reshape(len(choices), n_blocks)


def encodings(wiring: Wiring, labels: NDArray[np.int64]) -> Encodings:
    """Return the encodings (`nasbench101.encoding`) of a wiring with given operations of its live blocks.

    Args:
        wiring: any wiring.
        labels: (L, number of live blocks) operations, 0 to 2.

    Returns:
        (L,) encodings, with the blocks in their order in the wiring.
    """
    matrix = pruned_matrix(wiring)
    n_vertices = np.full(len(labels), len(matrix))
    adjacency = np.zeros((len(labels), MAX_VERTICES, MAX_VERTICES), np.int8)
    adjacency[:, : len(matrix), : len(matrix)] = matrix
    operations = np.pad(labels, ((0, 0), (0, MAX_VERTICES - 2 - labels.shape[1])))
    return from_arrays(adjacency, operations, n_vertices)


# The rules for counting the architectures of a choice-block space; the paper's Table 1 uses several -------------------


class Countable(Protocol):
    """The part of a `ChoiceBlockSpace`'s interface that counting needs."""

    paper_loose_end_rule: str

    @property
    def wirings(self) -> Sequence[Wiring]:
        """All wirings."""

    @property
    def loose_end_free_wirings(self) -> Sequence[int]:
        """The positions of the wirings without loose ends."""

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind."""

    def __len__(self) -> int: ...


def counting_rules(space: Countable, kind: str) -> dict[str | None, Callable[[], int]]:
    """Return the ways to count a kind of architectures, by the names that `ChoiceBlockSpace.count` documents."""
    if kind == "unique":
        return dict.fromkeys((None, "paper"), lambda: len(space.numbers(kind)))
    if kind == "no_loose_ends":
        return {
            None: lambda: len(space.numbers(kind)),
            "paper": lambda: _with_read_blocks(space, space.loose_end_free_wirings),
        }
    rules: dict[str | None, Callable[[], int]] = {
        "encodings": lambda: len(space),
        "read-blocks": lambda: _with_read_blocks(space, range(len(space.wirings))),
    }
    return {None: rules["encodings"], **rules, "paper": rules[space.paper_loose_end_rule]}


def _with_read_blocks(space: Countable, wirings: Iterable[int]) -> int:
    """Count the operation choices of some wirings, only for blocks that a live or dead node reads."""
    return sum(len(OPERATIONS) ** len(read_blocks(space.wirings[i])) for i in wirings)
