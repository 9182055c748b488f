"""Encoding of a record's graph, given as strings of bits and operations, as the integer that tables store."""

from math import isqrt

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.encoding import (
    EDGE_BITS,
    INPUT,
    MAX_EDGES,
    MAX_VERTICES,
    OPERATIONS,
    OUTPUT,
    VERTEX_BIT,
    encode_graph,
    path_vertices,
)

_EDGES = (1 << EDGE_BITS) - 1


class GraphEncoder:
    """Encodes graphs with the file's numbering; caches the few thousand distinct matrices and labellings.

    Millions of records share them, so a record takes only two look-ups.
    """

    def __init__(self) -> None:
        self._edges, self._labels = dict[str, int](), dict[str, int]()

    def encode(self, adjacency: str, operations: str) -> int:
        """Return the encoding of a cell (`nasbench101.encoding`).

        Args:
            adjacency: V × V digits 0 and 1, row after row.
            operations: V labels, separated by commas.

        Raises:
            InvalidInputError: the graph is not in NAS-Bench-101, or is not pruned. The message is phrased to follow
                the name of the record.
        """
        edges = self._edges.get(adjacency)
        if edges is None:
            edges = self._edges[adjacency] = _edges_of(adjacency)
        labels = self._labels.get(operations)
        if labels is None:
            labels = self._labels[operations] = _labels_of(operations)
        if (edges ^ labels) >> VERTEX_BIT:
            raise InvalidInputError(
                f"has a matrix of {edges >> VERTEX_BIT} vertices but {labels >> VERTEX_BIT} operations ({operations})"
            )
        return edges | labels


def _edges_of(adjacency: str) -> int:
    """Return the encoding's bits for the number of vertices and the edges."""
    n = isqrt(len(adjacency))
    if n * n != len(adjacency) or not set(adjacency) <= {"0", "1"}:
        raise InvalidInputError(f"has '{adjacency[:60]}' for a matrix, which is not a square of digits 0 and 1")
    _check_size(n)
    matrix = [[digit == "1" for digit in adjacency[x * n : x * n + n]] for x in range(n)]
    if any(matrix[x][y] for x in range(n) for y in range(x + 1)):
        raise InvalidInputError(f"has the matrix {adjacency}, which is not strictly upper triangular")
    if (found := adjacency.count("1")) > MAX_EDGES:
        raise InvalidInputError(f"has {found} edges, but NAS-Bench-101's cells have at most {MAX_EDGES}")
    if len(path_vertices(matrix)) != n:
        raise InvalidInputError(f"has the matrix {adjacency}, which is not pruned: a vertex is not on any path")
    return encode_graph(matrix, [OPERATIONS[0]] * n)


def _labels_of(operations: str) -> int:
    """Return the encoding's bits for the number of vertices and the operations, from a chain without its edges."""
    labels = operations.split(",")
    n = len(labels)
    _check_size(n)
    unknown = [label for label in labels[1:-1] if label not in OPERATIONS]
    if unknown or (labels[0], labels[-1]) != (INPUT, OUTPUT):
        raise InvalidInputError(
            f"has the operations '{operations[:200]}': they must be {INPUT}, some of {', '.join(OPERATIONS)}, {OUTPUT}"
        )
    chain = [[y == x + 1 for y in range(n)] for x in range(n)]
    return encode_graph(chain, labels) & ~_EDGES


def _check_size(n: int) -> None:
    if not 2 <= n <= MAX_VERTICES:
        raise InvalidInputError(f"has {n} vertices, but NAS-Bench-101's cells have 2 to {MAX_VERTICES}")
