"""The best cells of a table, and every encoding that prunes to one of them."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.errors import OutOfDomainError
from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, checked_rule
from nasbench1shot1.experiments.space_statistics.values import Values, check_counts
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_EDGES, VERTEX_BIT, Encodings, to_arrays
from nasbench1shot1.nasbench101.numbering import numberings

WITHOUT_REPEATS = 12
"""How many cells are called the top where there is no standard error: as many as NAS-Bench-101 found with one."""
_MOST = 2_000_000


def top_rows(values: Values, top: int | None) -> tuple[NDArray[np.int64], str]:
    """The rows of the best cells, best first, ties to the lowest row; and in words which they are.

    Args:
        values: of a table.
        top: how many; if not given, the best and all whose mean is within two of its standard errors
            (NAS-Bench-101, section 4.3), or the 12 best where there are no repeats to tell that error from.
    """
    order = values.rows[np.argsort(-values.mean[values.rows], kind="stable")]
    repeats = values.repeats.shape[1]
    if top is None and repeats > 1:
        error = float(values.repeats[order[0]].std(ddof=1)) / np.sqrt(repeats)
        within = values.mean[order] >= values.mean[order[0]] - 2 * error
        return order[within], f"the best cell and those within 2 standard errors of its mean over {repeats} repeats"
    count = WITHOUT_REPEATS if top is None else top
    check_counts(top=count)
    return order[:count], f"the {min(count, len(order))} best cells"


def copies(codes: Encodings, graphs: Graphs, rule: str = "pruned") -> NDArray[np.int64]:
    """How many encodings of V vertices prune to each cell: isomorphic copies, counted exactly without listing them.

    A cell with k inner vertices has as many encodings as it has numberings, times 3^(V - 2 - k) for the labels of dead
    vertices, times the ways to place its vertices and to draw edges from and to dead ones that stay dead. Whether they
    do depends on where the live vertices stand, not on the edges between these; so that last factor is the number of
    matrices with k live vertices divided by the number of graphs that these prune to.

    Args:
        codes: (N,) distinct valid cells, numbered in any way.
        graphs: of V vertices.
        rule: "pruned": nine edges at most in the cell; "raw": nine at most, including edges of dead vertices.

    Returns:
        (N,); over all 423,624 cells they add up to 373,754,169, or 139,359,042 for "raw".
    """
    n_numberings = np.bincount(numberings(codes)[1], minlength=len(codes))
    extra = graphs.raw_edges.astype(np.int64) - graphs.n_edges
    ways = np.zeros((graphs.vertices + 1, EDGE_BITS + 1), np.int64)  # by vertices of the cell and further edges
    np.add.at(ways, (graphs.n_vertices, extra), 1)
    for n in range(2, graphs.vertices + 1):
        ways[n] //= len(np.unique(graphs.edges[graphs.n_vertices == n]))
    allowed = ways.cumsum(axis=1)
    n_vertices = (codes >> np.uint64(VERTEX_BIT)).astype(np.int64)
    n_edges = to_arrays(codes)[0].sum(axis=(1, 2))
    most = MAX_EDGES - n_edges if checked_rule(rule) == "raw" else np.full(len(codes), EDGE_BITS)
    dead_labels = N_OPERATIONS ** (graphs.vertices - n_vertices)
    return np.asarray(n_numberings * dead_labels * allowed[n_vertices, most], np.int64)


def encodings(codes: Encodings, graphs: Graphs) -> tuple[Integers, Integers]:
    """Every encoding of V vertices that prunes to one of some cells.

    Args:
        codes: (N,) valid cells, numbered in any way.
        graphs: of V vertices.

    Returns:
        (M,) edges as bits and (M, V - 2) operations.

    Raises OutOfDomainError where there are more than two million.
    """
    if (count := int(copies(codes, graphs).sum())) > _MOST:
        raise OutOfDomainError(
            f"the top cells have {count:,} encodings, more than can be compared: ask for fewer cells"
        )
    matrices, labels = zip(*_of_each(numberings(codes)[0], graphs), strict=True)
    return np.concatenate(matrices), np.concatenate(labels)


def _of_each(found: Encodings, graphs: Graphs) -> Iterator[tuple[Integers, Integers]]:
    """For every numbering and every place of its vertices the matrices and labels."""
    _, operations, n_vertices = to_arrays(found)
    edges = (found & np.uint64((1 << EDGE_BITS) - 1)).astype(np.int64)
    for i in range(len(found)):
        matrices = np.flatnonzero((graphs.edges == edges[i]) & (graphs.n_vertices == n_vertices[i]))
        for live in np.unique(graphs.live[matrices]):
            placed = matrices[graphs.live[matrices] == live]
            labels = _labellings(int(live), operations[i], graphs.inner)
            yield np.repeat(placed, len(labels)), np.tile(labels, (len(placed), 1))


def _labellings(live: int, operations: Integers, inner: int) -> Integers:
    """Labels of all inner vertices: a live one's operation, every operation for a dead one."""
    of_live = iter(operations.tolist())
    choices = [(next(of_live),) if live >> v & 1 else range(N_OPERATIONS) for v in range(inner)]
    return np.array(list(product(*choices)), np.int64).reshape(-1, inner)
