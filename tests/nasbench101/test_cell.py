"""Cells: pruning, validity, and NAS-Bench-101's hash."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from refusals import refuses

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT, Cell, graph_hash, graph_hashes

CONV3, CONV1, POOL = OPERATIONS
LABELS = {INPUT: -1, CONV3: 0, CONV1: 1, POOL: 2, OUTPUT: -2}


def cell(edges: Sequence[tuple[int, int]], *operations: str) -> Cell:
    matrix = np.zeros((len(operations) + 2, len(operations) + 2), int)
    for edge in edges:
        matrix[edge] = 1
    return Cell(matrix, [INPUT, *operations, OUTPUT])


def test_hashes_of_the_real_sample_are_reproduced(real_cells: Path) -> None:
    """Checks every fourth cell; `test_every_real_hash_is_found_at_its_rank` has all of them."""
    with np.load(real_cells, allow_pickle=False) as real:
        expected = [bytes(row).hex() for row in real["hash"][::4]]
        sizes, matrices, ops = (real[name][::4] for name in ("n_vertices", "adjacency", "ops"))
    names = {label: name for name, label in LABELS.items()}
    cells = [
        Cell(matrix[:size, :size], [names[op] for op in labels[:size]])
        for size, matrix, labels in zip(sizes.tolist(), matrices, ops.tolist(), strict=True)
    ]
    assert len(cells) == 6751
    assert [one.hash for one in cells] == expected
    assert all(one.is_valid for one in cells)
    assert [len(one.ops) for one in cells] == sizes.tolist()  # stored cells are already pruned


# Pruning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, pruned",
    [
        # a block without successors
        (cell([(0, 1), (0, 2), (2, 3)], CONV3, POOL), cell([(0, 1), (1, 2)], POOL)),
        # a block without inputs
        (cell([(0, 2), (1, 3), (2, 3)], CONV3, POOL), cell([(0, 1), (1, 2)], POOL)),
        # a chain of dead blocks
        (cell([(0, 1), (1, 2), (2, 3), (0, 4)], CONV3, CONV3, POOL), cell([(0, 1)])),
        # an isolated block
        (cell([(0, 1), (1, 4), (2, 3)], CONV1, POOL, POOL), cell([(0, 1), (1, 2)], CONV1)),
        # nothing to prune
        (cell([(0, 1), (1, 2), (0, 2)], CONV1), cell([(0, 1), (1, 2), (0, 2)], CONV1)),
    ],
)
def test_vertices_off_every_path_are_removed(given: Cell, pruned: Cell) -> None:
    assert given.matrix.tolist() == pruned.matrix.tolist()
    assert given.ops == pruned.ops
    assert given == pruned
    assert hash(given) == hash(pruned)


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(1, 2), (2, 3)], [(0, 1), (2, 3)]])
def test_pruning_a_graph_without_a_path_leaves_nothing(edges: list[tuple[int, int]]) -> None:
    empty = cell(edges, CONV3, POOL)
    assert empty.matrix.shape == (0, 0)
    assert empty.ops == ()
    assert not empty.is_valid
    with pytest.raises(InvalidInputError, match="output"):
        _ = empty.hash
    assert empty == cell([], CONV1)
    assert empty != cell([(0, 1)])


def test_a_dummy_vertex_before_the_output_changes_nothing() -> None:
    """The published code pads 6 × 6 to 7 × 7 with an empty row and column at index 5, labelled conv1x1."""
    six = cell([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)], CONV3, POOL, CONV1, CONV3)
    seven = cell([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 6), (4, 6)], CONV3, POOL, CONV1, CONV3, CONV1)
    assert seven == six
    assert len(seven.ops) == 6


# Validity --------------------------------------------------------------------------------------------------------


def test_the_limits_of_nasbench101_are_enforced() -> None:
    nine = [(i, j) for i in range(5) for j in range(i + 1, 5)][:9]
    ten = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    chain = [(i, i + 1) for i in range(7)]
    assert cell(nine, *[CONV3] * 3).is_valid
    assert not cell(ten, *[CONV3] * 3).is_valid
    assert cell(chain[:6], *[CONV3] * 5).is_valid
    assert not cell(chain, *[CONV3] * 6).is_valid
    assert cell([(0, 1)]).is_valid


def test_edges_are_counted_after_pruning() -> None:
    dead = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    assert len(dead) == 10
    assert cell([*dead, (0, 5)], *[POOL] * 4).is_valid


@pytest.mark.parametrize("foreign", ["conv5x5", 3, None])
def test_unknown_operations_are_refused(foreign) -> None:
    known = "conv3x3-bn-relu, conv1x1-bn-relu, maxpool3x3"
    with pytest.raises(InvalidInputError, match=f"'{foreign}'.*{known}"):
        cell([(0, 1), (1, 2)], foreign)
    assert cell([(0, 1), (1, 2)], CONV3) != "conv5x5"


def test_input_and_output_must_have_their_labels() -> None:
    chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    valid = Cell(chain, [INPUT, CONV3, OUTPUT])
    for ends in ((OUTPUT, INPUT), ("foo", "bar"), (None, None)):
        wrong = Cell(chain, [ends[0], CONV3, ends[1]])
        assert not wrong.is_valid
        assert wrong != valid
        with refuses(InvalidInputError, INPUT, OUTPUT, str(list(wrong.ops))):
            _ = wrong.hash


@pytest.mark.parametrize(
    "matrix, ops, values",
    [
        ([[0, 1], [0, 0]], [INPUT, CONV3, OUTPUT], "(2, 2) 3"),
        ([[0, 1, 1]], [INPUT, CONV3, OUTPUT], "(1, 3) 3"),
        ([[0, 1], [0]], [INPUT, OUTPUT], "rectangle"),
        ([[0, 2], [0, 0]], [INPUT, OUTPUT], "0 1"),
        ([[0, np.nan], [0, 0]], [INPUT, OUTPUT], "0 1"),
        ([[0, 0.5], [0, 0]], [INPUT, OUTPUT], "0 1"),
        ([[0, 1 + 0j], [0, 0]], [INPUT, OUTPUT], "0 1"),
        ([["0", "1"], ["0", "0"]], [INPUT, OUTPUT], "0 1"),
        ([[0, 1], [1, 0]], [INPUT, OUTPUT], "triangular"),
        ([[1, 1], [0, 0]], [INPUT, OUTPUT], "triangular"),
    ],
)
def test_malformed_matrices_are_refused(matrix: list[list[float]], ops: list[str], values: str) -> None:
    with refuses(InvalidInputError, *values.split()):
        Cell(matrix, ops)


def test_booleans_floats_and_nested_lists_are_accepted_as_matrices() -> None:
    given = np.triu(np.ones((3, 3)), 1)
    assert Cell(given, [INPUT, POOL, OUTPUT]) == Cell(given.astype(bool), [INPUT, POOL, OUTPUT])
    assert Cell(given, [INPUT, POOL, OUTPUT]) == Cell(given.tolist(), [INPUT, POOL, OUTPUT])


@pytest.mark.parametrize("size", [0, 1])
def test_a_single_vertex_is_not_a_cell(size: int) -> None:
    lone = Cell(np.zeros((size, size)), [INPUT] * size)
    assert not lone.is_valid
    with pytest.raises(InvalidInputError):
        _ = lone.hash


def test_a_cell_copies_its_matrix_and_makes_it_read_only() -> None:
    given = np.array([[0, 1], [0, 0]], np.int8)
    kept = Cell(given, [INPUT, OUTPUT])
    given[0, 1] = 0
    assert kept.matrix[0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        kept.matrix[0, 1] = 0


# The hash under renumbering --------------------------------------------------------------------------------------


@st.composite
def labelled_graphs(draw: st.DrawFn) -> tuple[NDArray[np.int8], list[str]]:
    size = draw(st.integers(2, 7))
    bits = draw(st.lists(st.integers(0, 1), min_size=size * (size - 1) // 2, max_size=size * (size - 1) // 2))
    matrix = np.zeros((size, size), np.int8)
    matrix[np.triu_indices(size, 1)] = bits
    operations = draw(st.lists(st.sampled_from(OPERATIONS), min_size=size - 2, max_size=size - 2))
    return matrix, [INPUT, *operations, OUTPUT]


@given(labelled_graphs(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_hash_is_the_same_under_every_valid_renumbering(
    graph: tuple[NDArray[np.int8], list[str]], random: Random
) -> None:
    matrix, ops = graph
    order, inner = [0], list(range(1, len(ops) - 1))
    while inner:
        ready = [v for v in inner if not any(matrix[u, v] for u in inner)]
        inner.remove(chosen := random.choice(ready))
        order.append(chosen)
    order.append(len(ops) - 1)
    renumbered = Cell(matrix[np.ix_(order, order)], [ops[v] for v in order])
    assert renumbered == Cell(matrix, ops)
    assert renumbered.is_valid == Cell(matrix, ops).is_valid


@given(labelled_graphs(), labelled_graphs())
@settings(max_examples=200)
def test_cells_are_equal_if_and_only_if_networkx_finds_them_isomorphic(
    one: tuple[NDArray[np.int8], list[str]], other: tuple[NDArray[np.int8], list[str]]
) -> None:
    first, second = Cell(*one), Cell(*other)
    same = networkx.is_isomorphic(first.to_networkx(), second.to_networkx(), node_match=lambda a, b: a == b)
    assert (first == second) == same


@given(labelled_graphs())
@settings(max_examples=200)
def test_pruning_agrees_with_networkx(graph: tuple[NDArray[np.int8], list[str]]) -> None:
    matrix, ops = graph
    whole = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    last = len(ops) - 1
    on_a_path = ({0} | networkx.descendants(whole, 0)) & ({last} | networkx.ancestors(whole, last))
    kept = sorted(on_a_path) if networkx.has_path(whole, 0, last) else []
    assert Cell(matrix, ops).matrix.tolist() == matrix[np.ix_(kept, kept)].tolist()
    assert Cell(matrix, ops).ops == tuple(ops[v] for v in kept)


def test_changing_one_operation_changes_the_hash() -> None:
    edges = [(0, 1), (1, 2), (0, 2)]
    assert len({cell(edges, op).hash for op in OPERATIONS}) == 3


def test_batched_hashes_equal_single_hashes() -> None:
    matrix = cell([(0, 1), (0, 2), (1, 2), (2, 3)], CONV3, CONV3).matrix
    inner = [(a, b) for a in range(3) for b in range(3)]
    assert graph_hashes(matrix, inner) == [graph_hash(matrix, [-1, *labels, -2]) for labels in inner]


def test_the_networkx_graph_has_edges_and_labels() -> None:
    graph = cell([(0, 1), (1, 2)], POOL).to_networkx()
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    assert [graph.nodes[v]["op"] for v in graph] == [INPUT, POOL, OUTPUT]


@pytest.mark.parametrize("ops", [np.array([[INPUT, CONV3, OUTPUT]] * 3), np.array(INPUT), INPUT, 3])
def test_labels_must_be_a_list(ops: Any) -> None:
    with pytest.raises(InvalidInputError, match="labels"):
        Cell([[0, 1, 0], [0, 0, 1], [0, 0, 0]], ops)


def test_labels_of_pruned_vertices_must_be_known() -> None:
    with pytest.raises(InvalidInputError, match="'conv'"):
        Cell([[0, 0, 1], [0, 0, 0], [0, 0, 0]], [INPUT, "conv", OUTPUT])
