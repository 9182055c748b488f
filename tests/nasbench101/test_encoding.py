import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell
from nasbench1shot1.nasbench101.encoding import encode_all, from_arrays, to_arrays

CHAIN = Cell([[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["input", "maxpool3x3", "output"])
# Blocks 1 and 2 can be swapped: two numberings of one cell.
FORK = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
FORKS = [
    Cell(FORK, ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]),
    Cell(FORK, ["input", "maxpool3x3", "conv3x3-bn-relu", "output"]),
]


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
