"""A model as users of `nasbench.api` describe it: adjacency and labels, pruned."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.api.graph_util import hash_module
from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.nasbench101.cell import as_square_array, check_ascending, check_bits
from nasbench1shot1.nasbench101.encoding import INPUT, OUTPUT, encode_graph, path_vertices

_SMALL = 7
"""Largest number of vertices for which a matrix is checked as one integer."""


class ModelSpec:
    """A graph of operations, pruned as in NAS-Bench-101: only vertices on a path from the first to the last remain.

    The arguments are copied. Attributes are computed when first read; they may then be assigned or modified.
    `NASBench` uses their values at the time of a query.

    Args:
        matrix: (V, V) strictly upper triangular adjacency, a nested list or an array; row → column.
        ops: V labels of any kind; in NAS-Bench-101, "input", then the operations, then "output".
        data_format: "channels_last" or "channels_first"; stored, but without effect on queries.

    Attributes:
        original_matrix, original_ops: the arguments, as an array and a list.
        matrix, ops: the pruned graph; None if no path leads from the first to the last vertex.
        valid_spec: whether there is such a path.

    Raises:
        InvalidInputError: (a ValueError) the matrix is not square, is not strictly upper triangular or has entries
            other than 0 and 1, the numbers of labels and vertices differ, or the labels are not a sequence.
    """

    def __init__(self, matrix: ArrayLike, ops: Sequence[Any], data_format: str = "channels_last") -> None:
        self._given: Any
        self._rows: list[list[Any]]
        self._labels = _checked_labels(ops, "ops")
        if isinstance(matrix, list) and _is_plain_list(matrix, len(self._labels)):
            self._given = self._rows = [row[:] for row in matrix]
        else:
            self._given = _checked_matrix(matrix, len(self._labels))
            self._rows = self._given.tolist()
        self.data_format = data_format

    @cached_property
    def original_matrix(self) -> NDArray[Any]:
        """The (V, V) matrix before pruning."""
        return np.array(self._given)

    @cached_property
    def original_ops(self) -> list[Any]:
        """The V labels before pruning."""
        return self._labels[:]

    @cached_property
    def matrix(self) -> NDArray[Any] | None:
        """The adjacency after pruning, with the data type of the argument."""
        kept = self._kept_vertices
        return np.array(self._given)[np.ix_(kept, kept)] if kept else None

    @cached_property
    def ops(self) -> list[Any] | None:
        """The labels after pruning."""
        return [self._labels[v] for v in self._kept_vertices] or None

    @cached_property
    def valid_spec(self) -> bool:
        """Whether a path leads from the first to the last vertex."""
        return bool(self._kept_vertices)

    @cached_property
    def _kept_vertices(self) -> list[int]:
        return path_vertices(self._rows)

    @cached_property
    def _given_encoding(self) -> int:
        """The encoding of the arguments; 0 if they have none."""
        if not self._labels or self._labels[0] != INPUT or self._labels[-1] != OUTPUT:
            return 0
        try:
            return encode_graph(self._rows, self._labels)
        except InvalidInputError:
            return 0

    @property
    def encoding(self) -> int:
        """The model as one integer (`nasbench1shot1.nasbench101.encoding`); 0 if it has none.

        A model has an encoding if its labels are NAS-Bench-101's and it has at most 7 vertices after pruning.
        """
        own = self.__dict__
        if "matrix" in own or "ops" in own or not own.get("valid_spec", True):
            return encoding_of(self)
        return self._given_encoding

    def hash_spec(self, canonical_ops: Sequence[Any]) -> str:
        """Return NAS-Bench-101's MD5 of the pruned graph; it does not depend on the order of the vertices.

        Args:
            canonical_ops: the operations in the order of their indices: `config["available_ops"]`.

        Raises:
            InvalidInputError: (a ValueError) an operation is not in `canonical_ops`, or no path leads from the first
                to the last vertex.
        """
        if self.matrix is None or self.ops is None:
            raise InvalidInputError("the spec has no path from input to output, so it has no hash: connect the two")
        known = _checked_labels(canonical_ops, "canonical_ops")
        if unknown := [op for op in self.ops[1:-1] if op not in known]:
            raise InvalidInputError(f"operation {unknown[0]!r} is not one of {known}")
        return hash_module(self.matrix, [-1, *(known.index(op) for op in self.ops[1:-1]), -2])

    def visualize(self) -> Any:
        """Return the pruned graph as a `graphviz.Digraph`, which notebooks draw.

        Raises:
            UserError: the package graphviz is not installed.
            InvalidInputError: no path leads from the first to the last vertex, so there is nothing to draw.
        """
        try:
            graphviz = import_module("graphviz")
        except ImportError as error:
            raise UserError("drawing a spec needs the package graphviz: pip install graphviz") from error
        if self.matrix is None or self.ops is None:
            raise InvalidInputError("the spec has no path from input to output, so there is nothing to draw")
        graph, last = graphviz.Digraph(), len(self.ops) - 1
        for vertex, label in enumerate([INPUT, *self.ops[1:-1], OUTPUT]):
            graph.node(str(vertex), str(label))
        for x, y in np.argwhere(self.matrix[:last]).tolist():
            graph.edge(str(x), str(y))
        return graph


def is_upper_triangular(matrix: ArrayLike) -> bool:
    """Return whether a matrix is 0 on and below its diagonal; raises InvalidInputError for anything but a matrix."""
    try:
        given = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        given = np.empty(0)
    if given.ndim != 2:
        raise InvalidInputError(f"{matrix!r} is not a matrix: give V × V entries")
    return not np.tril(given).any()


def encoding_of(spec: Any) -> int:
    """Return the encoding of a spec, also of another package's, from its current attributes; 0 if it has none.

    A modified spec is not pruned again: it has no encoding if pruning would remove something.
    """
    if not spec.valid_spec or spec.matrix is None or spec.ops is None:
        return 0
    matrix, ops = np.asarray(spec.matrix), spec.ops
    if matrix.shape != (len(ops), len(ops)) or not _is_small(matrix) or ops[0] != INPUT or ops[-1] != OUTPUT:
        return 0
    try:
        rows = matrix.tolist()
        return encode_graph(rows, ops) if len(path_vertices(rows)) == len(ops) else 0
    except InvalidInputError:
        return 0


def _is_small(matrix: NDArray[Any]) -> bool:
    """Return whether a square array has at most 7 rows, is strictly upper triangular and contains only 0 and 1."""
    return len(matrix) <= _SMALL and _is_triangle_of_bits(matrix.ravel().tolist(), len(matrix))


def _is_plain_list(matrix: list[Any], n: int) -> bool:
    """Do the check of `_is_small` on n lists of n entries in a microsecond; False if the slower check is needed."""
    if len(matrix) != n or not 0 < n <= _SMALL:
        return False
    for row in matrix:
        if type(row) is not list or len(row) != n:
            return False
    return _is_triangle_of_bits(chain.from_iterable(matrix), n)


def _is_triangle_of_bits(entries: Any, n: int) -> bool:
    """Return whether n × n entries are the integers 0 or 1, and 0 on and below the diagonal."""
    try:
        return int.from_bytes(bytes(entries), "little") & _forbidden(n) == 0
    except (TypeError, ValueError):  # not integers, or integers that do not fit into a byte
        return False


@lru_cache
def _forbidden(n: int) -> int:
    """Return the bits of n × n bytes that are never set in a strictly upper triangular matrix of 0 and 1."""
    return int.from_bytes(bytes(0xFE if x < y else 0xFF for x in range(n) for y in range(n)), "little")


def _checked_labels(labels: Any, name: str) -> list[Any]:
    """Return labels as a new list; raises InvalidInputError unless they are a sequence of single values."""
    try:
        found = [*labels]
    except TypeError as error:
        raise InvalidInputError(f"{name} must be a list of labels, not {labels!r}") from error
    if any(isinstance(label, np.ndarray) and label.ndim for label in found):  # equal to nothing, and not unequal
        raise InvalidInputError(f"{name} must be a list of labels, not of arrays")
    return found


def _checked_matrix(matrix: ArrayLike, n_labels: int) -> NDArray[Any]:
    """Return the matrix as a new array; raises InvalidInputError if it cannot be a spec's."""
    given = as_square_array(matrix, n_labels)
    if not _is_small(given):
        check_bits(given)
        check_ascending(given)
    return given
