"""All numberings of a cell, and the first in NAS-Bench-101's order, compared with all permutations."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell
from nasbench1shot1.nasbench101.encoding import Encodings, encode_all, from_arrays, to_arrays
from nasbench1shot1.nasbench101.numbering import canonicalise, numberings

# Blocks 1 and 2 can be swapped: two numberings of one cell.
FORK = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
FORKS = [
    Cell(FORK, ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]),
    Cell(FORK, ["input", "maxpool3x3", "conv3x3-bn-relu", "output"]),
]


@pytest.fixture(scope="module")
def embedded() -> Encodings:
    """Cells of the embedded table, in canonical numbering."""
    codes: Encodings = np.load(PACKAGE_DATA / "table" / "cell.npy")
    return codes


def renumbered(cell: Cell) -> list[Cell]:
    """The cell under every permutation that keeps its edges ascending."""
    inner = range(1, len(cell.ops) - 1)
    orders = [[0, *order, len(cell.ops) - 1] for order in permutations(inner)]
    return [
        Cell(cell.matrix[np.ix_(order, order)], [cell.ops[v] for v in order])
        for order in orders
        if not np.tril(cell.matrix[np.ix_(order, order)]).any()
    ]


def first_met(cell: Cell) -> tuple[int, tuple[int, ...]]:
    """Sort key of NAS-Bench-101's enumeration: edge mask column by column, then operations."""
    columns = [int(cell.matrix[x, y]) for y in range(len(cell.ops)) for x in range(y)]
    edges = sum(bit << place for place, bit in enumerate(columns))
    return edges, tuple(OPERATIONS.index(op) for op in cell.ops[1:-1])


def test_canonical_numbering_has_the_smallest_operations() -> None:
    assert canonicalise(encode_all(FORKS)).tolist() == [FORKS[0].encoding] * 2


def test_both_numberings_of_a_cell_are_found() -> None:
    every, positions = numberings(encode_all(FORKS[1:]))
    assert every.tolist() == sorted(cell.encoding for cell in FORKS)
    assert positions.tolist() == [0, 0]


def test_empty_input_has_no_numberings() -> None:
    none = np.empty(0, np.uint64)
    assert canonicalise(none).tolist() == []
    every, positions = numberings(none)
    assert len(every) == len(positions) == 0
    assert [every.dtype.name, positions.dtype.name] == ["uint64", "int64"]


def test_a_duplicate_cell_is_found_at_its_first_position() -> None:
    for order in ([0, 1, 0], [1, 0, 0]):
        every, positions = numberings(encode_all([FORKS[i] for i in order]))
        assert every.tolist() == sorted(cell.encoding for cell in FORKS)
        assert positions.tolist() == [0, 0]


@given(st.integers(2, 7), st.integers(0, 2**21 - 1), st.lists(st.sampled_from(OPERATIONS), min_size=5, max_size=5))
def test_both_numberings_agree_with_all_permutations(n: int, edges: int, inner: list[str]) -> None:
    matrix = [[int(x < y and edges >> x + y * (y - 1) // 2 & 1) for y in range(n)] for x in range(n)]
    cell = Cell(matrix, ["input", *inner[: n - 2], "output"])
    if not cell.is_valid:
        return
    cells = renumbered(cell)
    codes = encode_all([cell])
    assert canonicalise(codes).tolist() == [min(cells, key=first_met).encoding]
    every, positions = numberings(codes)
    assert every.tolist() == sorted({other.encoding for other in cells})
    assert set(positions.tolist()) == {0}
    assert {Cell.from_encoding(code).hash for code in every.tolist()} == {cell.hash}


def test_cells_of_all_sizes_can_be_mixed(embedded: Encodings) -> None:
    rng = np.random.default_rng(0)
    every, positions = numberings(embedded)
    assert (np.diff(every.astype(np.int64)) > 0).all()
    assert np.unique(positions).tolist() == list(range(len(embedded)))
    shuffled = rng.permutation(len(every))
    assert np.array_equal(canonicalise(every[shuffled]), embedded[positions[shuffled]])
    for i in rng.integers(len(every), size=100):
        assert Cell.from_encoding(int(every[i])).hash == Cell.from_encoding(int(embedded[positions[i]])).hash


def test_the_input_is_not_modified(embedded: Encodings) -> None:
    codes = embedded[:1000].copy()
    canonicalise(codes)
    numberings(codes)
    assert np.array_equal(codes, embedded[:1000])


# Encodings ------------------------------------------------------------------------------------------------------------

CHAIN = Cell([[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["input", "maxpool3x3", "output"])
# Blocks 1 and 2 can be swapped: two numberings of one cell.


def test_the_encoding_has_the_documented_bits() -> None:
    assert CHAIN.encoding == 3 << 31 | 2 << 21 | 0b111


def test_decode_inverts_encode() -> None:
    for cell in (CHAIN, *FORKS):
        again = Cell.from_encoding(cell.encoding)
        assert np.array_equal(again.matrix, cell.matrix)
        assert again.ops == cell.ops


def test_arrays_round_trip() -> None:
    codes = encode_all([CHAIN, *FORKS])
    adjacency, operations, n_vertices = to_arrays(codes)
    assert operations.tolist() == [[2, -1, -1, -1, -1], [0, 2, -1, -1, -1], [2, 0, -1, -1, -1]]
    assert n_vertices.tolist() == [3, 4, 4]
    assert np.array_equal(adjacency[1, :4, :4], FORK)
    assert np.array_equal(from_arrays(adjacency, operations, n_vertices), codes)


@given(st.integers(2, 7), st.integers(0, 2**21 - 1), st.lists(st.sampled_from(OPERATIONS), min_size=5, max_size=5))
def test_any_valid_cell_round_trips(n: int, edges: int, inner: list[str]) -> None:
    matrix = [[int(x < y and edges >> x + y * (y - 1) // 2 & 1) for y in range(n)] for x in range(n)]
    cell = Cell(matrix, ["input", *inner[: n - 2], "output"])
    if cell.is_valid:
        codes = encode_all([cell])
        assert Cell.from_encoding(int(codes[0])).ops == cell.ops
        assert np.array_equal(Cell.from_encoding(int(codes[0])).matrix, cell.matrix)
        assert Cell.from_encoding(int(codes[0])).hash == cell.hash
