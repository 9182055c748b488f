"""Wirings: which predecessors every node of a choice-block cell takes, operations aside.

A wiring is a tuple with the ascending parents of block 1, …, block n and the output.
"""

from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

Wiring = tuple[tuple[int, ...], ...]


def all_wirings(n_parents: tuple[int, ...]) -> list[Wiring]:
    """Every wiring in which node j takes n_parents[j - 1] of its j predecessors, in lexicographic order."""
    return list(product(*(combinations(range(node), k) for node, k in enumerate(n_parents, start=1))))


def read_blocks(wiring: Wiring) -> set[int]:
    """The blocks that some node takes as a parent, be that node live or dead."""
    return {parent for parents in wiring for parent in parents} - {0}


def live_blocks(wiring: Wiring) -> tuple[int, ...]:
    """The blocks from which the output is reached, ascending; the others are loose ends.

    Going up always leads to the input, as every node takes at least one parent.
    """
    live = {len(wiring)}
    for node in range(len(wiring), 0, -1):
        if node in live:
            live.update(wiring[node - 1])
    return tuple(sorted(live - {0, len(wiring)}))


def canonical(wiring: Wiring) -> Wiring:
    """The wiring with the same live part in which dead blocks take their lowest-indexed parents."""
    live = {*live_blocks(wiring), len(wiring)}
    return tuple(
        parents if node in live else tuple(range(len(parents))) for node, parents in enumerate(wiring, start=1)
    )


def pruned_matrix(wiring: Wiring) -> NDArray[np.int8]:
    """The adjacency of input, live blocks and output, renumbered without gaps."""
    kept = [0, *live_blocks(wiring), len(wiring)]
    matrix = np.zeros((len(kept), len(kept)), np.int8)
    for column, node in enumerate(kept[1:], start=1):
        for parent in wiring[node - 1]:
            matrix[kept.index(parent), column] = 1
    return matrix


def labellings(n_blocks: int, n_operations: int = 3) -> NDArray[np.int64]:
    """All operation choices of n blocks, (n_operations ** n, n), last block fastest."""
    choices = list(product(range(n_operations), repeat=n_blocks))
    return np.array(choices, np.int64).reshape(len(choices), n_blocks)


def canonical_codes(matrix: NDArray[np.int8], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each labelling of a pruned cell: equal for two cells if and only if they are isomorphic.

    It is the smallest (adjacency, labels) over all renumberings of the inner vertices that keep the matrix upper
    triangular. NAS-Bench-101 (section 2.1) tells cells apart by an iterative hash instead, which is slower here.

    Args:
        matrix: (V, V) adjacency of a pruned cell, V ≤ 7.
        labels: (L, V - 2) operations of the inner vertices, 0 to 2.

    Returns:
        (L,) codes; cells of different sizes never share one.
    """
    size = len(matrix)
    bits = 1 << np.arange(size * (size - 1) // 2, dtype=np.int64)
    upper = np.triu_indices(size, 1)
    renumbered: dict[int, list[tuple[int, ...]]] = {}
    for inner in permutations(range(1, size - 1)):
        order = [0, *inner, size - 1]
        candidate = matrix[np.ix_(order, order)]
        if not np.tril(candidate).any():
            renumbered.setdefault(int(candidate[upper] @ bits), []).append(tuple(v - 1 for v in inner))
    smallest = min(renumbered)
    radix = 3 ** np.arange(size - 2, dtype=np.int64)
    labelled = np.min([labels[:, order] @ radix for order in renumbered[smallest]], axis=0)
    code: NDArray[np.int64] = ((size << 21) + smallest) * 3**5 + labelled
    return code
