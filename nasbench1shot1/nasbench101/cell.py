"""Cells of NAS-Bench-101: pruned labelled graphs, identified by a graph-invariant MD5."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import md5
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.encoding import INPUT as INPUT
from nasbench1shot1.nasbench101.encoding import MAX_EDGES as MAX_EDGES
from nasbench1shot1.nasbench101.encoding import MAX_VERTICES as MAX_VERTICES
from nasbench1shot1.nasbench101.encoding import OPERATIONS as OPERATIONS
from nasbench1shot1.nasbench101.encoding import OUTPUT as OUTPUT
from nasbench1shot1.nasbench101.encoding import decode_graph, encode_graph, path_vertices

if TYPE_CHECKING:
    import networkx

LABELS = ("3×3 conv", "1×1 conv", "3×3 max-pool")
"""Names of the operations in pictures, in the order of `OPERATIONS`."""


def as_square_array(matrix: ArrayLike, n_labels: int) -> NDArray[Any]:
    """Return a copy of a matrix as a (V, V) array of the same type; raises InvalidInputError unless V = n_labels."""
    try:
        given = np.array(matrix)
    except ValueError as error:
        raise InvalidInputError(f"the adjacency matrix is not a rectangle of numbers ({error})") from error
    if given.shape != (n_labels, n_labels):
        raise InvalidInputError(
            f"the adjacency matrix has shape {given.shape}, but there are {n_labels} labels: give V × V entries and V "
            "labels"
        )
    return given


def check_bits(adjacency: NDArray[Any]) -> None:
    """Raise InvalidInputError for an entry that is neither 0 nor 1, and for complex numbers."""
    if adjacency.dtype.kind == "c" or not ((adjacency == 0) | (adjacency == 1)).all():
        raise InvalidInputError("the adjacency matrix may only contain 0 and 1")


def check_ascending(adjacency: NDArray[Any]) -> None:
    """Raise InvalidInputError for an edge from a vertex to itself or to a lower vertex."""
    if np.tril(adjacency).any():
        raise InvalidInputError(
            "the adjacency matrix must be strictly upper triangular: order the vertices so that each edge leads to a "
            "later one"
        )


_INPUT_LABEL, _OUTPUT_LABEL = -1, -2


class Cell:
    """A pruned cell of NAS-Bench-101. Cells are equal if and only if they have the same hash.

    Cells without a hash, which cannot be in NAS-Bench-101, are equal if matrix and labels are equal.

    Vertices that are not on a path from input to output are removed, as in NAS-Bench-101 (section 2.1 of its paper;
    `ModelSpec` in its code). Without such a path, no vertex is left: `matrix` is 0 × 0 and `is_valid` is false.

    Args:
        matrix: (V, V) adjacency of 0 and 1, strictly upper triangular; row → column; vertex 0 is the input,
            vertex V - 1 the output.
        ops: V labels: "input", one of `OPERATIONS` for every inner vertex (also for removed ones), "output".

    Raises:
        InvalidInputError: the matrix or the labels are malformed, or an operation is unknown.
    """

    def __init__(self, matrix: ArrayLike, ops: Sequence[str]) -> None:
        _check_operations(ops)
        rows: Any = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
        if not _is_plain(rows, len(ops)):
            given = as_square_array(matrix, len(ops))
            check_bits(given)
            check_ascending(given)
            rows = given.astype(np.int8).tolist()
        self.__dict__["_given"] = [row[:] for row in rows], tuple(ops)

    @classmethod
    def from_encoding(cls, code: int) -> "Cell":
        """Return the cell of an encoding (`nasbench101.encoding`), with the vertices in the order of the encoding."""
        cell = object.__new__(cls)
        cell.__dict__["encoding"] = code
        return cell

    def __getstate__(self) -> dict[str, Any]:
        """Return only what determines the cell: pickles do not depend on what was computed before."""
        return {"_given": self._given}

    @cached_property
    def _given(self) -> tuple[list[list[int]], tuple[str, ...]]:
        """Rows and labels before pruning."""
        matrix, ops = decode_graph(self.encoding)
        return matrix, tuple(ops)

    @cached_property
    def encoding(self) -> int:
        """The pruned cell as one integer (`nasbench101.encoding`).

        Isomorphic cells whose vertices are numbered differently have different encodings.

        Raises InvalidInputError if the cell has no encoding: it has no path from input to output, more than 7 vertices,
        or labels that NAS-Bench-101 does not have.
        """
        matrix, ops = self._given
        _check_ends(ops)
        return encode_graph(matrix, ops)

    @cached_property
    def _kept_vertices(self) -> list[int]:
        return path_vertices(self._given[0])

    @cached_property
    def matrix(self) -> NDArray[np.int8]:
        """(V, V) adjacency matrix of the pruned cell; read-only."""
        rows, kept = self._given[0], self._kept_vertices
        pruned = np.array([[rows[x][y] for y in kept] for x in kept], np.int8).reshape(len(kept), len(kept))
        pruned.flags.writeable = False
        return pruned

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """The V labels of the pruned cell."""
        return tuple(self._given[1][v] for v in self._kept_vertices)

    @cached_property
    def is_valid(self) -> bool:
        """Whether the cell is in NAS-Bench-101: a path, at most 7 vertices and 9 edges, input and output."""
        return bool(
            2 <= len(self.ops) <= MAX_VERTICES
            and self.matrix.sum() <= MAX_EDGES
            and (self.ops[0], self.ops[-1]) == (INPUT, OUTPUT)
        )

    @cached_property
    def hash(self) -> str:
        """The MD5 that identifies this cell in NAS-Bench-101 (32 hexadecimal digits).

        Raises InvalidInputError if there is no path from input to output, or if the first label is not "input" or the
        last is not "output".
        """
        if not self.ops:
            raise InvalidInputError("the cell has no path from input to output, so it has no hash: connect the two")
        _check_ends(self.ops)
        return graph_hash(self.matrix, self._labels())

    def to_networkx(self) -> "networkx.DiGraph[int]":
        """Return the cell as a directed graph; the attribute `op` of every node is its label."""
        import networkx

        graph = networkx.from_numpy_array(self.matrix, create_using=networkx.DiGraph)
        networkx.set_node_attributes(graph, dict(enumerate(self.ops)), "op")
        return graph

    def drawn_graph(self) -> "networkx.DiGraph[int]":
        """Return the labelled graph that `nb.draw_cell` draws (`Architecture.drawn_graph`)."""
        edges = ((int(source), int(target)) for source, target in zip(*self.matrix.nonzero(), strict=True))
        return drawn_graph([OPERATIONS.index(op) for op in self.ops[1:-1]] if self.ops else None, edges)

    def _labels(self) -> list[int]:
        return [_INPUT_LABEL, *(OPERATIONS.index(op) for op in self.ops[1:-1]), _OUTPUT_LABEL]

    @cached_property
    def _identity(self) -> object:
        try:
            return self.hash
        except InvalidInputError:  # comparing two objects must not raise
            return self.matrix.tobytes(), self.ops

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Cell) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Cell({self.matrix.tolist()}, {list(self.ops)})"


def drawn_graph(operations: Sequence[int] | None, edges: Iterable[tuple[int, int]]) -> "networkx.DiGraph[int]":
    """Return a graph as `Architecture.drawn_graph` describes it.

    Args:
        operations: the operations of the inner vertices; None for a graph without vertices.
        edges: the edges as (source, target).
    """
    import networkx

    graph: networkx.DiGraph[int] = networkx.DiGraph(node_characters=max(map(len, LABELS)), edge_characters=0)
    if operations is not None:
        graph.add_node(0, label="input", operation=None)
        graph.add_nodes_from((v, {"label": LABELS[op], "operation": op}) for v, op in enumerate(operations, start=1))
        graph.add_node(len(operations) + 1, label="output", operation=None)
    graph.add_edges_from(edges, label="", chosen=True, weight=0.0)
    return graph


def graph_hash(matrix: NDArray[Any], labels: Sequence[int]) -> str:
    """Return the hash of a labelled graph, which does not depend on its numbering; identical to NAS-Bench-101's.

    Every vertex starts from (out-degree, in-degree, label). Once for each vertex of the graph, all values are updated
    with the sorted values of their predecessors and successors (Ying 2019; NAS-Bench-101, supplement S1).

    Args:
        matrix: (V, V) adjacency of a pruned cell.
        labels: V integers: -1 input, the index in `OPERATIONS`, -2 output.
    """
    return _hash(*_neighbours(matrix), labels)


def graph_hashes(matrix: NDArray[Any], labels: Sequence[Sequence[int]]) -> list[str]:
    """Return `graph_hash` of a (V, V) matrix for many labellings: each has the V - 2 operations of the inner vertices.

    Computing each step for all labellings at once is twice as fast as one labelling after the other.
    """
    if not labels:
        return []
    before, after = _neighbours(matrix)
    many = len(labels)
    of_vertex = [[_INPUT_LABEL] * many, *zip(*labels, strict=True), [_OUTPUT_LABEL] * many]
    values = []
    for v, of_labellings in enumerate(of_vertex):
        first = {label: _first_value(len(after[v]), len(before[v]), label) for label in set(of_labellings)}
        values.append([first[label] for label in of_labellings])
    for _ in before:
        values = [
            [
                _md5(f"{i}|{o}|{own}")
                for i, o, own in zip(
                    _join_values(values, before[v]), _join_values(values, after[v]), mine, strict=False
                )
            ]
            for v, mine in enumerate(values)
        ]
    return [_md5(str(sorted(of_graph))) for of_graph in zip(*values, strict=True)]


def _join_values(values: list[list[str]], vertices: list[int]) -> Iterable[str]:
    """Return, for every labelling, the sorted and concatenated values of some vertices."""
    columns = [values[v] for v in vertices]
    if not columns:
        return repeat("")  # without end
    if len(columns) == 1:
        return columns[0]
    if len(columns) == 2:
        return [x + y if x < y else y + x for x, y in zip(*columns, strict=True)]
    return ["".join(sorted(several)) for several in zip(*columns, strict=True)]


def _neighbours(matrix: NDArray[Any]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the predecessors and the successors of every vertex."""
    rows = np.asarray(matrix).tolist()
    before = [[u for u, row in enumerate(rows) if row[v]] for v in range(len(rows))]
    after = [[w for w, edge in enumerate(row) if edge] for row in rows]
    return before, after


def _hash(before: list[list[int]], after: list[list[int]], labels: Sequence[int]) -> str:
    vertices = list(zip(before, after, range(len(labels)), strict=True))
    values = [_first_value(len(outward), len(inward), labels[v]) for inward, outward, v in vertices]
    for _ in vertices:
        values = [
            _md5(
                f"{values[inward[0]] if len(inward) == 1 else ''.join(sorted([values[u] for u in inward]))}|"
                f"{values[outward[0]] if len(outward) == 1 else ''.join(sorted([values[w] for w in outward]))}|"
                f"{values[v]}"
            )
            for inward, outward, v in vertices
        ]
    return _md5(str(sorted(values)))


def _first_value(out_degree: int, in_degree: int, label: int) -> str:
    """Return the initial hash of a vertex, before the first iteration."""
    return _md5(str((out_degree, in_degree, label)))


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _check_operations(ops: Any) -> None:
    """Raise InvalidInputError unless `ops` is a list of labels whose inner ones are operations of NAS-Bench-101."""
    is_list = ops.ndim == 1 if isinstance(ops, np.ndarray) else isinstance(ops, Sequence) and not isinstance(ops, str)
    if not is_list:
        raise InvalidInputError(f"{ops!r} is not a list of labels: give '{INPUT}', operations, '{OUTPUT}'")
    for op in ops[1:-1]:
        if op not in OPERATIONS:
            raise InvalidInputError(f"unknown operation '{op}': NAS-Bench-101 has {', '.join(OPERATIONS)}")


def _check_ends(ops: Sequence[Any]) -> None:
    """Raise InvalidInputError unless the first label is "input" and the last is "output"."""
    if not ops or ops[0] != INPUT or ops[-1] != OUTPUT:
        raise InvalidInputError(f"the first label must be '{INPUT}' and the last '{OUTPUT}', not {list(ops)}")


def _is_plain(rows: Any, n_labels: int) -> bool:
    """Return whether this is the usual input: n × n lists, with 0 and 1 above the diagonal and 0 elsewhere."""
    if type(rows) is not list or len(rows) != n_labels or not rows:
        return False
    if not all(type(row) is list and len(row) == n_labels for row in rows):
        return False
    try:
        return max(bytes(chain.from_iterable(rows))) <= 1 and not any(any(row[: x + 1]) for x, row in enumerate(rows))
    except (TypeError, ValueError):  # not integers, or integers that do not fit into a byte
        return False
