"""The best cells of a table, and all encodings that prune to one of them."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.experiments.space_statistics.pruning import N_OPERATIONS, Graphs, Integers, checked_rule
from nasbench1shot1.experiments.space_statistics.values import Values, check_counts
from nasbench1shot1.ground.errors import OutOfDomainError
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, MAX_EDGES, VERTEX_BIT, Encodings, to_arrays
from nasbench1shot1.nasbench101.numbering import numberings

WITHOUT_REPEATS = 12
"""Default number of top cells without a standard error: the number that NAS-Bench-101 found with one."""
_MOST = 2_000_000


def top_rows(values: Values, top: int | None) -> tuple[NDArray[np.int64], str]:
    """Return the rows of the best cells, best first, with ties by row, and a description of the selection.

    Args:
        values: the values of a table.
        top: number of cells. Default: the best cell and all whose mean is within two of its standard errors
            (NAS-Bench-101, section 4.3), or the 12 best if there are no repeats from which to estimate this error.
    """
    order = values.rows[np.argsort(-values.mean[values.rows], kind="stable")]
    repeats = values.repeats.shape[1]
    if top is None and repeats > 1:
        error = float(values.repeats[order[0]].std(ddof=1)) / np.sqrt(repeats)
        within = values.mean[order] >= values.mean[order[0]] - 2 * error
        return order[within], f"the best cell, and all within 2 standard errors of its mean over {repeats} repeats"
    count = WITHOUT_REPEATS if top is None else top
    check_counts(top=count)
    return order[:count], f"the {min(count, len(order))} best cells"


def copies(codes: Encodings, graphs: Graphs, rule: str = "pruned") -> NDArray[np.int64]:
    """Count the encodings of V vertices that prune to each cell (isomorphic copies), exactly and without listing them.

    For a cell with k inner vertices, the count is a product of three factors: its number of numberings; 3^(V - 2 - k)
    for the labels of dead vertices; and the number of ways to place its vertices and to add edges from and to dead
    vertices that stay dead. Whether they stay dead depends on the positions of the live vertices, not on the edges
    between them. The last factor is therefore the number of matrices with k live vertices divided by the number of
    graphs that they prune to.

    Args:
        codes: (N,) encodings of distinct valid cells, with any numbering.
        graphs: the graphs of V vertices.
        rule: "pruned": at most nine edges in the cell; "raw": at most nine edges including edges of dead vertices.

    Returns:
        (N,) counts; the sum over all 423,624 cells is 373,754,169, or 139,359,042 for "raw".
    """
    n_numberings = np.bincount(numberings(codes)[1], minlength=len(codes))
    extra = graphs.raw_edges.astype(np.int64) - graphs.n_edges
    ways = np.zeros((graphs.vertices + 1, EDGE_BITS + 1), np.int64)  # by vertices of the cell and additional edges
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
    """Return all encodings of V vertices that prune to one of the given cells.

    Args:
        codes: (N,) encodings of valid cells, with any numbering.
        graphs: the graphs of V vertices.

    Returns:
        (M,) edges as bits and (M, V - 2) operations.

    Raises OutOfDomainError if there are more than two million.
    """
    if (count := int(copies(codes, graphs).sum())) > _MOST:
        raise OutOfDomainError(f"the top cells have {count:,} encodings, more than can be compared: select fewer cells")
    matrices, labels = zip(*_placements(numberings(codes)[0], graphs), strict=True)
    return np.concatenate(matrices), np.concatenate(labels)


def _placements(found: Encodings, graphs: Graphs) -> Iterator[tuple[Integers, Integers]]:
    """Yield matrices and labels for every numbering and every placement of its vertices."""
    _, operations, n_vertices = to_arrays(found)
    edges = (found & np.uint64((1 << EDGE_BITS) - 1)).astype(np.int64)
    for i in range(len(found)):
        matrices = np.flatnonzero((graphs.edges == edges[i]) & (graphs.n_vertices == n_vertices[i]))
        for live in np.unique(graphs.live[matrices]):
            placed = matrices[graphs.live[matrices] == live]
            labels = _labellings(int(live), operations[i], graphs.inner)
            yield np.repeat(placed, len(labels)), np.tile(labels, (len(placed), 1))


def _labellings(live: int, operations: Integers, inner: int) -> Integers:
    """Return all labellings of the inner vertices: the given operations for live vertices, any for dead vertices."""
    of_live = iter(operations.tolist())
    choices = [(next(of_live),) if live >> v & 1 else range(N_OPERATIONS) for v in range(inner)]
    return np.array(list(product(*choices)), np.int64).reshape(-1, inner)
