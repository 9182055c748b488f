"""Utilities on labelled graphs, with the calls of `nasbench.lib.graph_util`.

Graphs need be neither acyclic nor ordered here; adjacency is 0 or 1, entry [x, y] being the edge from x to y.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.nasbench101 import adjacency
from nasbench1shot1.nasbench101.cell import graph_hash
from nasbench1shot1.nasbench101.encoding import edge_bit

if TYPE_CHECKING:
    import networkx

LabelledGraph = tuple[ArrayLike, Sequence[Any]]


def gen_is_edge_fn(bits: int) -> Callable[..., Any]:
    """A vectorised function (x, y) → 1 where a number's bits have the edge from x to y, else 0.

    Edges are counted column by column above the diagonal, from the lowest bit: 0→1, 0→2, 1→2, 0→3, … So the same
    number gives the same edges for any number of vertices. Made for `np.fromfunction(fn, (V, V), dtype=np.int8)`.
    """

    def is_edge(x: int, y: int) -> int:
        return int(x < y and bits >> edge_bit(x, y) & 1)

    return np.vectorize(is_edge, otypes=[np.int64])


def is_full_dag(matrix: ArrayLike) -> bool:
    """Whether every vertex but the last of a (V, V) upper triangular matrix has a successor, every other but the
    first a predecessor: then all lie on a path from the first to the last."""
    edges = np.asarray(matrix) != 0
    return bool(edges[:-1].any(axis=1).all() and edges[:, 1:].any(axis=0).all())


def num_edges(matrix: ArrayLike) -> int:
    """The number of edges of a (V, V) matrix."""
    return int(np.sum(matrix))


def hash_module(matrix: ArrayLike, labeling: Sequence[int]) -> str:
    """NAS-Bench-101's MD5 of a graph with integer labels, the same for every numbering of its vertices.

    Args:
        matrix: (V, V) adjacency of 0 and 1; any directed graph.
        labeling: V integers; for a cell -1 input, the index of the operation, -2 output.

    Raises:
        InvalidInputError: the matrix is not square, has other entries, or there are not V labels.
    """
    return graph_hash(_adjacency(matrix, len(labeling)), [int(label) for label in labeling])


def permute_graph(
    graph: ArrayLike, label: Sequence[Any], permutation: Sequence[int]
) -> tuple[NDArray[np.bool_], list[Any]]:
    """Renumber a graph: vertex v of the old one is vertex permutation[v] of the new one.

    Args:
        graph: (V, V) adjacency of 0 and 1.
        label: V labels.
        permutation: the numbers 0 … V - 1 in some order.

    Returns:
        (V, V) adjacency of booleans and the list of labels.

    Raises:
        InvalidInputError: the three do not fit, or the last is not a permutation.
    """
    given = _adjacency(graph, len(label))
    if sorted(permutation) != list(range(len(label))):
        raise InvalidInputError(f"{list(permutation)} is not a permutation of 0 … {len(label) - 1}")
    old = np.argsort(np.asarray(permutation, np.int64))
    return given[np.ix_(old, old)] != 0, [label[v] for v in old.tolist()]


def is_isomorphic(graph1: LabelledGraph, graph2: LabelledGraph) -> bool:
    """Whether two pairs (matrix, labels) are one labelled graph, numbered differently. Graphs of any size may differ.

    Exact, by VF2, where `hash_module` has collisions for some graphs that NAS-Bench-101 does not contain.

    Raises InvalidInputError where a matrix is not square, has other entries than 0 and 1, or lacks labels.
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
    """The matrix, if it fits the labels and holds 0 and 1 alone."""
    given = adjacency.square(matrix, n_labels)
    adjacency.check_bits(given)
    return given.astype(np.int8)
