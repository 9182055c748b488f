"""Utilities for labelled graphs, with the same calls as `nasbench.lib.graph_util`.

Graphs may have cycles and any order of vertices. Adjacency is 0 or 1; entry [x, y] is the edge from x to y.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.cell import as_square_array, check_bits, graph_hash
from nasbench1shot1.nasbench101.encoding import edge_bit

if TYPE_CHECKING:
    import networkx

LabelledGraph = tuple[ArrayLike, Sequence[Any]]


def gen_is_edge_fn(bits: int) -> Callable[..., Any]:
    """Return a vectorised function (x, y) that is 1 if `bits` contains the edge from x to y, else 0.

    Edges are numbered column by column above the diagonal, from the lowest bit: 0→1, 0→2, 1→2, 0→3, … So a number
    means the same edges for any number of vertices. Use it with `np.fromfunction(fn, (V, V), dtype=np.int8)`.
    """

    def is_edge(x: int, y: int) -> int:
        return int(x < y and bits >> edge_bit(x, y) & 1)

    return np.vectorize(is_edge, otypes=[np.int64])


def is_full_dag(matrix: ArrayLike) -> bool:
    """Return whether all vertices of a (V, V) upper triangular matrix lie on a path from the first to the last.

    They do if every vertex except the last has a successor and every vertex except the first has a predecessor.
    """
    edges = np.asarray(matrix) != 0
    return bool(edges[:-1].any(axis=1).all() and edges[:, 1:].any(axis=0).all())


def num_edges(matrix: ArrayLike) -> int:
    """Return the number of edges of a (V, V) matrix."""
    return int(np.sum(matrix))


def hash_module(matrix: ArrayLike, labeling: Sequence[int]) -> str:
    """Return NAS-Bench-101's MD5 of a graph with integer labels; it does not depend on the order of the vertices.

    Args:
        matrix: (V, V) adjacency of 0 and 1; any directed graph.
        labeling: V integers. In a cell: -1 for the input, -2 for the output, otherwise the operation's index.

    Raises:
        InvalidInputError: the matrix is not square or has other entries, or the number of labels is not V.
    """
    return graph_hash(_adjacency(matrix, len(labeling)), [int(label) for label in labeling])


def permute_graph(
    graph: ArrayLike, label: Sequence[Any], permutation: Sequence[int]
) -> tuple[NDArray[np.bool_], list[Any]]:
    """Renumber the vertices of a graph: the old vertex v becomes the new vertex permutation[v].

    Args:
        graph: (V, V) adjacency of 0 and 1.
        label: V labels.
        permutation: the numbers 0 … V - 1 in any order.

    Returns:
        (V, V) boolean adjacency and the list of labels.

    Raises:
        InvalidInputError: the sizes do not match, or `permutation` is not a permutation.
    """
    given = _adjacency(graph, len(label))
    if sorted(permutation) != list(range(len(label))):
        raise InvalidInputError(f"{list(permutation)} is not a permutation of 0 … {len(label) - 1}")
    old = np.argsort(np.asarray(permutation, np.int64))
    return given[np.ix_(old, old)] != 0, [label[v] for v in old.tolist()]


def is_isomorphic(graph1: LabelledGraph, graph2: LabelledGraph) -> bool:
    """Return whether two labelled graphs, each a pair (matrix, labels), are isomorphic; their sizes may differ.

    The result is exact (VF2), whereas `hash_module` has collisions for some graphs outside NAS-Bench-101.

    Raises InvalidInputError if a matrix is not square, has entries other than 0 and 1, or lacks labels.
    """
    import networkx

    def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return bool(one["label"] == other["label"])

    return bool(networkx.is_isomorphic(_networkx(*graph1), _networkx(*graph2), node_match=same))


def _networkx(matrix: ArrayLike, labels: Sequence[Any]) -> "networkx.DiGraph[int]":
    import networkx

    graph = networkx.from_numpy_array(_adjacency(matrix, len(labels)), create_using=networkx.DiGraph)
    networkx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def _adjacency(matrix: ArrayLike, n_labels: int) -> NDArray[np.int8]:
    """Return the matrix after checking that its size matches the labels and its entries are 0 or 1."""
    given = as_square_array(matrix, n_labels)
    check_bits(given)
    return given.astype(np.int8)
