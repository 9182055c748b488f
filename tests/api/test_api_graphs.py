"""`ModelSpec` and the graph utilities of the drop-in, against definitions, networkx and golden values."""

import pickle
import sys
from collections.abc import Sequence
from copy import deepcopy
from itertools import permutations
from types import ModuleType
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from small_official import INCEPTION

import nasbench1shot1 as nb
from nasbench1shot1.api import graph_util, model_spec
from nasbench1shot1.api.model_spec import ModelSpec
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT, Cell

CONV3, CONV1, POOL = OPERATIONS


@st.composite
def cells(draw: st.DrawFn, most: int = 10) -> tuple[list[list[int]], list[str]]:
    """A strictly upper triangular matrix and NAS-Bench-101's labels, nothing pruned."""
    n = draw(st.integers(2, most))
    bits = draw(st.integers(0, 2 ** (n * (n - 1) // 2) - 1))
    matrix = [[int(x < y and bits >> x + y * (y - 1) // 2 & 1) for y in range(n)] for x in range(n)]
    inner = draw(st.lists(st.sampled_from(OPERATIONS), min_size=n - 2, max_size=n - 2))
    return matrix, [INPUT, *inner, OUTPUT]


@st.composite
def graphs(draw: st.DrawFn, most: int = 5, labels: int = 3) -> tuple[np.ndarray, list[int]]:
    """Any directed graph with integer labels, loops and cycles included."""
    n = draw(st.integers(1, most))
    bits = draw(st.integers(0, 2 ** (n * n) - 1))
    matrix = np.array([[bits >> n * x + y & 1 for y in range(n)] for x in range(n)])
    return matrix, draw(st.lists(st.integers(0, labels), min_size=n, max_size=n))


# ModelSpec ------------------------------------------------------------------------------------------------------


def on_a_path(matrix: Sequence[Sequence[int]]) -> list[int]:
    """Vertices on a path from the first to the last, by networkx."""
    graph = networkx.from_numpy_array(np.array(matrix), create_using=networkx.DiGraph)
    last = len(matrix) - 1
    if not networkx.has_path(graph, 0, last):
        return []
    return sorted((networkx.descendants(graph, 0) | {0}) & (networkx.ancestors(graph, last) | {last}))


@given(cells())
def test_pruning_agrees_with_networkx_and_with_a_cell(cell: tuple[list[list[int]], list[str]]) -> None:
    matrix, ops = cell
    kept, spec, same = on_a_path(matrix), ModelSpec(matrix, ops), Cell(matrix, ops)
    assert spec.valid_spec == bool(kept)
    if not kept:
        assert (spec.matrix, spec.ops, spec.encoding) == (None, None, 0)
        return
    assert spec.matrix.tolist() == [[matrix[x][y] for y in kept] for x in kept] == same.matrix.tolist()
    assert spec.ops == [ops[v] for v in kept] == list(same.ops)
    assert spec.hash_spec(OPERATIONS) == same.hash
    assert spec.original_matrix.tolist() == matrix
    assert spec.original_ops == ops


@given(cells(), st.booleans())
def test_the_encoding_is_computed_from_the_pruned_cell(
    cell: tuple[list[list[int]], list[str]], looked_at: bool
) -> None:
    """The encoding is current whether or not arrays were accessed before."""
    matrix, ops = cell
    spec, same = ModelSpec(np.array(matrix), ops), Cell(matrix, ops)
    if looked_at:
        assert (spec.matrix is None) == (not same.ops)
    assert spec.encoding == (same.encoding if 2 <= len(same.ops) <= 7 else 0)


@given(cells(7), st.data())
def test_a_changed_matrix_has_a_new_encoding(cell, data) -> None:
    matrix, ops = cell
    spec = ModelSpec(matrix, ops)
    if spec.matrix is None:
        return
    x, y = sorted(data.draw(st.lists(st.integers(0, len(spec.ops) - 1), min_size=2, max_size=2, unique=True)))
    spec.matrix[x, y] = 1 - spec.matrix[x, y]
    now = Cell(spec.matrix, spec.ops)
    assert spec.encoding == (now.encoding if len(now.ops) == len(spec.ops) else 0)


def test_labels_may_be_anything() -> None:
    dead = [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    for labels in ([1, 2, 3, 4], ["a", "b", "c", "d"], [None, (1,), [2], {}]):
        spec = ModelSpec(dead, labels)
        assert spec.ops == [labels[0], labels[2], labels[3]]
        assert spec.encoding == 0
    with pytest.raises(nb.InvalidInputError, match=r"\[2\].*\['a'\]"):
        spec.hash_spec(["a"])


def test_arguments_are_copied_and_types_kept() -> None:
    matrix, ops = deepcopy(INCEPTION[0]), list(INCEPTION[1])
    array = np.array(matrix, np.int8)
    listed, given_array = ModelSpec(matrix, ops, "channels_first"), ModelSpec(array, ops)
    matrix[0][1], array[0, 1], ops[1] = 0, 0, POOL
    for spec in (listed, given_array):
        assert spec.original_matrix.tolist() == spec.matrix.tolist() == INCEPTION[0]
        assert spec.original_ops == spec.ops == INCEPTION[1]
        assert spec.original_matrix is not spec.matrix
    assert (listed.matrix.dtype, given_array.matrix.dtype) == (np.int64, np.int8)
    assert (listed.data_format, given_array.data_format) == ("channels_first", "channels_last")
    spec.original_matrix[:] = 0
    spec.original_ops.clear()
    assert spec.matrix.tolist() == INCEPTION[0]
    assert spec.ops == INCEPTION[1]


@pytest.mark.parametrize("copied", [deepcopy, lambda spec: pickle.loads(pickle.dumps(spec))])  # noqa: S301
def test_specs_can_be_copied_and_pickled(copied) -> None:
    spec = ModelSpec(*INCEPTION)
    assert copied(spec).encoding == spec.encoding != 0
    spec.ops[1] = POOL
    assert copied(spec).ops == spec.ops
    assert copied(spec).encoding == spec.encoding


def test_the_hash_of_the_published_example() -> None:
    """The hash as the published package computes it."""
    assert ModelSpec(*INCEPTION).hash_spec(list(OPERATIONS)) == "28cfc7874f6d200472e1a9dcd8650aa0"


WRONG = {
    "not square": (([[0, 1]], [INPUT, OUTPUT]), r"has shape \(1, 2\), but there are 2 labels"),
    "a row": (([0, 1], [INPUT, OUTPUT]), r"has shape \(2,\), but there are 2 labels"),
    "nothing": (([], []), r"has shape \(0,\), but there are 0 labels"),
    "three axes": (([[[0], [1]], [[0], [0]]], [INPUT, OUTPUT]), r"has shape \(2, 2, 1\), but there are 2 labels"),
    "ragged": (([[0, 1], [0]], [INPUT, OUTPUT]), "not a rectangle of numbers"),
    "too few ops": (([[0, 1], [0, 0]], [INPUT]), "but there are 1 labels: give V × V"),
    "too many ops": (([[0, 1], [0, 0]], [INPUT, CONV3, OUTPUT]), "but there are 3 labels"),
    "a loop": (([[0, 1], [0, 1]], [INPUT, OUTPUT]), "upper triangular"),
    "backwards": (([[0, 1], [1, 0]], [INPUT, OUTPUT]), "upper triangular"),
    "backwards, large": ((np.eye(9, k=-1), [INPUT] * 9), "upper triangular"),
    "two": (([[0, 2], [0, 0]], [INPUT, OUTPUT]), r"\b0 and 1$"),
    "minus one": (([[0, -1], [0, 0]], [INPUT, OUTPUT]), r"\b0 and 1$"),
    "a half": ((np.array([[0, 0.5], [0, 0]]), [INPUT, OUTPUT]), r"\b0 and 1$"),
    "257": ((np.array([[0, 257], [0, 0]]), [INPUT, OUTPUT]), r"\b0 and 1$"),
    "no number": ((np.array([[0, np.nan], [0, 0]]), [INPUT, OUTPUT]), r"\b0 and 1$"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_malformed_matrix_raises_value_error(case) -> None:
    arguments, message = WRONG[case]
    with pytest.raises(nb.InvalidInputError, match=message) as caught:
        ModelSpec(*arguments)
    assert isinstance(caught.value, ValueError)


def test_a_spec_without_a_path_has_no_hash_and_no_picture(monkeypatch) -> None:
    spec = ModelSpec([[0, 0], [0, 0]], [INPUT, OUTPUT])
    assert not spec.valid_spec
    with pytest.raises(nb.InvalidInputError, match="hash"):
        spec.hash_spec(OPERATIONS)
    monkeypatch.setitem(sys.modules, "graphviz", drawing())
    with pytest.raises(nb.InvalidInputError, match="draw"):
        spec.visualize()


def drawing() -> ModuleType:
    """Replacement for graphviz, which is not installed for tests."""
    module = ModuleType("graphviz")

    class Digraph:
        def __init__(self) -> None:
            self.nodes: list[tuple[str, str]] = []
            self.edges: list[tuple[str, str]] = []

        def node(self, name: str, label: str) -> None:
            self.nodes.append((name, label))

        def edge(self, tail: str, head: str) -> None:
            self.edges.append((tail, head))

    module.Digraph = Digraph
    return module


def test_a_drawing_has_the_pruned_graph(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", drawing())
    spec = ModelSpec([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], ["x", 1, 2, "y"])
    graph = spec.visualize()
    assert graph.nodes == [("0", "input"), ("1", "2"), ("2", "output")]
    assert graph.edges == [("0", "1"), ("1", "2")]


def test_without_graphviz_drawing_is_refused_in_one_sentence(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(nb.UserError, match="graphviz"):
        ModelSpec(*INCEPTION).visualize()


def test_is_upper_triangular() -> None:
    assert model_spec.is_upper_triangular(np.array([[0]]))
    assert model_spec.is_upper_triangular([[0, 5], [0, 0]])
    assert not model_spec.is_upper_triangular([[1, 0], [0, 0]])
    assert not model_spec.is_upper_triangular([[0, 0], [1, 0]])


# Graph utilities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bits, edges",
    [
        (0, []),
        (1, [(0, 1)]),
        (0b101101, [(0, 1), (1, 2), (0, 3), (2, 3)]),
        (1 << 6, [(0, 4)]),
        (1 << 20, [(5, 6)]),
        (1 << 66 | 1 << 21, [(0, 7), (0, 12)]),  # 12 · 11 / 2 = 66: more bits than a machine word
        (2**10 - 1, [(x, y) for y in range(5) for x in range(y)]),
    ],
)
def test_edges_are_decoded_from_a_number(bits: int, edges: list[tuple[int, int]]) -> None:
    matrix = np.fromfunction(graph_util.gen_is_edge_fn(bits), (13, 13), dtype=np.int8)
    assert list(map(tuple, np.argwhere(matrix).tolist())) == sorted(edges)
    assert set(np.unique(matrix).tolist()) <= {0, 1}


def test_one_edge_is_decoded_from_a_number() -> None:
    is_edge = graph_util.gen_is_edge_fn(0b100)
    assert (is_edge(1, 2), is_edge(0, 2), is_edge(2, 1), is_edge(1, 1)) == (1, 0, 0, 0)


@given(cells())
def test_a_full_dag_is_unchanged_by_pruning(cell) -> None:
    matrix, _ = cell
    assert graph_util.is_full_dag(np.array(matrix)) == (len(on_a_path(matrix)) == len(matrix))
    assert graph_util.num_edges(np.array(matrix)) == sum(map(sum, matrix))


@given(graphs(most=8), st.data())
def test_permuting_a_graph_moves_edges_and_labels(graph, data) -> None:
    matrix, labels = graph
    permutation = data.draw(st.permutations(range(len(labels))))
    permuted, moved = graph_util.permute_graph(matrix, labels, permutation)
    for x, to in enumerate(permutation):
        assert moved[to] == labels[x]
        for y, other in enumerate(permutation):
            assert permuted[to, other] == matrix[x, y]
    back, again = graph_util.permute_graph(permuted, moved, np.argsort(permutation).tolist())
    assert np.array_equal(back, matrix)
    assert again == labels
    assert graph_util.hash_module(permuted, moved) == graph_util.hash_module(matrix, labels)
    assert graph_util.is_isomorphic((matrix, labels), (permuted, moved))


@given(graphs(most=4, labels=1), graphs(most=4, labels=1))
def test_isomorphism_agrees_with_trying_all_permutations(one, other) -> None:
    (matrix, labels), (second, names) = one, other
    found = len(labels) == len(names) and any(
        np.array_equal(matrix[np.ix_(order, order)], second) and [labels[v] for v in order] == names
        for order in permutations(range(len(labels)))
    )
    assert graph_util.is_isomorphic(one, other) == found
    if found:
        assert graph_util.hash_module(matrix, labels) == graph_util.hash_module(second, names)


@given(cells(5), cells(5))
def test_small_cells_have_equal_hashes_if_and_only_if_they_are_isomorphic(one, other) -> None:
    labelled = [(np.array(matrix), list(range(0, len(ops), 2)) + [0] * (len(ops) // 2)) for matrix, ops in (one, other)]
    hashes = {graph_util.hash_module(*graph) for graph in labelled}
    assert graph_util.is_isomorphic(*labelled) == (len(hashes) == 1)


def test_two_non_isomorphic_graphs_with_equal_hashes() -> None:
    """Two 4-cycles, or one 8-cycle, between input and output; not in NAS-Bench-101."""

    def between(pairs: list[tuple[int, int]]) -> np.ndarray:
        matrix = np.zeros((10, 10), int)
        matrix[0, 1:5] = matrix[5:9, 9] = 1
        for x, y in pairs:
            matrix[x, y] = 1
        return matrix

    labels = [-1, *[1] * 4, *[2] * 4, -2]
    squares = between([(1, 5), (1, 6), (2, 5), (2, 6), (3, 7), (3, 8), (4, 7), (4, 8)])
    ring = between([(1, 5), (1, 6), (2, 6), (2, 7), (3, 7), (3, 8), (4, 8), (4, 5)])
    assert graph_util.hash_module(squares, labels) == graph_util.hash_module(ring, labels)
    assert not graph_util.is_isomorphic((squares, labels), (ring, labels))


@pytest.mark.parametrize(
    "call, values",
    [
        (lambda: graph_util.hash_module([[0, 1], [0, 0]], [1]), "(2, 2) 1"),
        (lambda: graph_util.hash_module([[0, 3], [0, 0]], [1, 2]), "adjacency 0 1"),
        (lambda: graph_util.hash_module([[0, 1], [0]], [1, 2]), "rectangle"),
        (lambda: graph_util.permute_graph([[0, 1], [0, 0]], [1, 2], [0, 2]), "permutation 1"),
        (lambda: graph_util.permute_graph([[0, 1], [0, 0]], [1, 2], [0]), "permutation 1"),
        (lambda: graph_util.is_isomorphic(([[0]], [1]), ([[0, 1]], [1])), "(1, 2) 1"),
    ],
)
def test_mismatched_arguments_are_refused_in_one_sentence(call: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        call()


NO_LABELS = [None, 5, object(), float("nan"), type, [np.array([1, 2]), "x", "y"], np.zeros((3, 3))]


@pytest.mark.parametrize("labels", NO_LABELS, ids=lambda labels: str(labels)[:12])
def test_wrong_types_of_labels_are_refused(labels: Any) -> None:
    matrix = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    with pytest.raises(InvalidInputError):
        model_spec.ModelSpec(matrix, labels)
    with pytest.raises(InvalidInputError):
        model_spec.ModelSpec(matrix, ["input", "x", "output"]).hash_spec(labels)


@pytest.mark.parametrize("matrix", [None, 5, "abc", {}, [[1, 2], [3]], object(), float("nan"), {1: 2}])
def test_wrong_types_of_matrices_are_refused(matrix: Any) -> None:
    with pytest.raises(InvalidInputError):
        model_spec.ModelSpec(matrix, ["input", "x", "output"])
    with pytest.raises(InvalidInputError):
        model_spec.is_upper_triangular(matrix)
