"""Encodings that prune to cells: counts, lists, random walks and distances, compared with brute force."""

from itertools import product

import numpy as np
import pytest
from refusals import refuses
from space_statistics_tables import all_cells, operation_counts, retrained_table, small_table, synthetic_table

from nasbench1shot1.experiments.space_statistics.locality import autocorrelation, shifted_correlations, walk
from nasbench1shot1.experiments.space_statistics.pruning import graphs
from nasbench1shot1.experiments.space_statistics.top_cells import (
    copies,
    encodings,
    isomorphic_copies,
    nearest_distances,
    top_volume,
)
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT, Cell
from nasbench1shot1.nasbench101.encoding import EDGE_BITS, edge_bit
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.wirings import labellings
from nasbench1shot1.tables.table import load_table


def unpruned(matrix: int, labels: list[int], vertices: int) -> tuple[list[list[int]], list[str]]:
    """Matrix and operations of an encoding."""
    rows = [[int(x < y and matrix >> edge_bit(x, y) & 1) for y in range(vertices)] for x in range(vertices)]
    return rows, [INPUT, *(OPERATIONS[op] for op in labels), OUTPUT]


def all_encodings(vertices: int) -> tuple[np.ndarray, np.ndarray]:
    space, labels = graphs(vertices), labellings(vertices - 2)
    return np.repeat(np.arange(len(space.edges)), len(labels)), np.tile(labels, (len(space.edges), 1))


def test_pruning_agrees_with_a_cell():
    rng = np.random.default_rng(0)
    for vertices in (2, 3, 4, 7):
        space = graphs(vertices)
        matrices = np.arange(len(space.edges)) if vertices < 5 else rng.integers(len(space.edges), size=400)
        labels = rng.integers(3, size=(len(matrices), vertices - 2))
        for matrix, ops in zip(matrices.tolist(), labels.tolist(), strict=True):
            rows, names = unpruned(matrix, ops, vertices)
            cell = Cell(rows, names)
            assert space.n_vertices[matrix] == len(cell.ops)
            assert space.n_edges[matrix] == cell.matrix.sum()
            assert space.raw_edges[matrix] == np.sum(rows)
            assert space.valid()[matrix] == cell.is_valid
            if cell.ops:
                assert space.cells(np.array([matrix]), np.array([ops]))[0] == cell.encoding


def test_the_number_of_valid_encodings_agrees_with_published_figures():
    space = graphs(7)
    assert int(space.valid().sum()) * 3**5 == 373_754_169
    assert int(space.valid("raw").sum()) * 3**5 == 139_359_042
    with refuses(InvalidInputError, "'prune'", "'pruned'"):
        space.valid("prune")


@pytest.mark.parametrize("vertices", [2, 3, 4, 5])
def test_counts_of_copies_agree_with_brute_force(vertices):
    space, codes = graphs(vertices), all_cells(vertices)
    matrices, labels = all_encodings(vertices)
    for rule in ("pruned", "raw"):
        valid = space.valid(rule)[matrices]
        listed = canonicalise(space.cells(matrices[valid], labels[valid]))
        found, counted = np.unique(listed, return_counts=True)
        expected = dict(zip(found.tolist(), counted.tolist(), strict=True))
        ours = copies(codes, space, rule)
        assert {code: n for code, n in zip(codes.tolist(), ours.tolist(), strict=True) if n} == expected


def test_copies_of_the_whole_space_sum_to_all_encodings():
    codes = all_cells(7)
    assert len(codes) == 423_624
    assert copies(codes, graphs(7)).sum() == 373_754_169
    assert copies(codes, graphs(7), "raw").sum() == 139_359_042


def test_listed_encodings_prune_to_the_cells():
    for vertices, step in ((4, 7), (7, 40_000)):
        space, codes = graphs(vertices), all_cells(vertices)[90::step] if vertices == 7 else all_cells(4)[::step]
        codes = codes[copies(codes, space) < 20_000]
        matrices, labels = encodings(codes, space)
        assert len(matrices) == copies(codes, space).sum()
        assert len(np.unique(np.column_stack([matrices, labels]), axis=0)) == len(matrices)
        assert set(canonicalise(space.cells(matrices, labels)).tolist()) == set(canonicalise(codes).tolist())


def test_cells_with_few_vertices_have_too_many_encodings_to_list():
    with refuses(OutOfDomainError, "214,593,543"):
        encodings(all_cells(4), graphs(7))


def test_copies_of_the_best_cell_and_of_cells_within_two_standard_errors():
    codes = all_cells(5)
    accuracy = np.full((len(codes), 3), 0.5)
    accuracy[700] = [0.90, 0.91, 0.92]  # mean 0.91, standard error 0.01 / √3 = 0.00577
    accuracy[800] = 0.8986  # within two of them
    accuracy[900] = 0.8984  # not within
    table = synthetic_table(codes, {"test_accuracy": accuracy})
    frame = isomorphic_copies(table)
    assert frame["hash"].tolist() == table.hashes([700, 800])
    assert frame["copies"].tolist() == copies(codes[[700, 800]], graphs(5)).tolist()
    assert frame.attrs["encodings"] == 2**10 * 3**3
    assert frame["cumulative_share"].iloc[-1] == frame.attrs["copies"] / frame.attrs["encodings"]
    assert "within 2 standard errors of its mean over 3 repeats" in frame.attrs["notes"][0]
    larger = isomorphic_copies(table, vertices=7)
    assert larger["copies"].tolist() == copies(codes[[700, 800]], graphs(7)).tolist()
    assert len(isomorphic_copies(table, top=5)) == 5
    for wrong in ({"top": 0}, {"vertices": 4}, {"vertices": 8}, {"rule": "row"}):
        with pytest.raises(InvalidInputError):
            isomorphic_copies(table, **wrong)


def test_without_repeats_the_top_twelve_are_used_with_ties_broken_by_row():
    table = small_table(lambda codes: np.where(np.arange(len(codes)) < 20, 0.9, 0.5))
    assert isomorphic_copies(table, "validation")["hash"].tolist() == table.hashes(np.arange(12))


def exact_shares(n_edges: int, n_labels: int) -> np.ndarray:
    """P(distance ≤ d) to a single encoding: Binomial(edges, 1/2) + Binomial(labels, 2/3)."""
    spread = np.array([1.0])
    for p in [1 / 2] * n_edges + [2 / 3] * n_labels:
        spread = np.convolve(spread, [1 - p, p])
    return spread.cumsum()


def chain(length: int) -> Cell:
    n = length + 1
    return Cell(np.eye(n, k=1, dtype=int), [INPUT, *[OPERATIONS[0]] * (n - 2), OUTPUT])


def test_the_volume_near_a_cell_with_one_encoding_agrees_with_a_convolution():
    codes = np.concatenate([all_cells(4), [np.uint64(chain(6).encoding)]])
    table = synthetic_table(codes, {"test_accuracy": np.linspace(0.1, 0.9, len(codes))})
    frame = top_volume(table, np.random.default_rng(0), top=1)
    exact = exact_shares(21, 5)[: len(frame)]
    assert frame.attrs["copies"] == 1
    assert (np.abs(frame["share"] - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-12).all()
    again = top_volume(table, np.random.default_rng(0), top=1)
    assert again.equals(frame)


def test_the_volume_in_a_small_space_is_exact():
    table = small_table(lambda codes: np.arange(len(codes)) / 1000, vertices=4, split="test")
    frame = top_volume(table, np.random.default_rng(0), top=2)
    matrices, labels = all_encodings(4)
    tops = encodings(table.column("cell")[-2:], graphs(4))
    expected = [
        min(bin(m ^ t).count("1") + int(np.sum(a != b)) for t, b in zip(*tops, strict=True))
        for m, a in zip(matrices.tolist(), labels, strict=True)
    ]
    assert nearest_distances((matrices, labels), tops, graphs(4)).tolist() == expected
    assert frame["share"].tolist() == pytest.approx((np.cumsum(np.bincount(expected)) / 576).tolist())
    assert (frame["error"] == 0).all()
    assert "576" in frame.attrs["notes"][0]
    with refuses(InvalidInputError, "samples", 0):
        top_volume(table, np.random.default_rng(0), samples=0)


def test_each_step_of_a_walk_is_one_edit_and_stays_valid():
    space = graphs(7)
    matrices, labels = walk(space, 5000, np.random.default_rng(3))
    flipped = np.array([bin(step).count("1") for step in (matrices[1:] ^ matrices[:-1]).tolist()])
    changed = (labels[1:] != labels[:-1]).sum(axis=1)
    assert (flipped + changed == 1).all()
    assert space.valid()[matrices].all()
    assert 0.1 < changed.mean() < 0.35  # 5 of 26 choices, slightly more because some flips are rejected
    assert len(np.unique(matrices)) > 1000


def test_a_walk_visits_encodings_with_its_stationary_distribution():
    """An encoding is visited in proportion to the number of its valid edits."""
    space = graphs(3)
    matrices, labels = walk(space, 60_000, np.random.default_rng(0))
    valid = [(m, (op,)) for m, op in product(np.flatnonzero(space.valid()).tolist(), range(3))]
    degree = [sum(bin(a ^ b).count("1") + 2 * (x != y) == 1 for b, y in valid) + 2 * 0.5 for a, x in valid]
    visits = [int(((matrices == m) & (labels[:, 0] == ops[0])).sum()) for m, ops in valid]
    assert np.allclose(np.array(visits) / 60_001, np.array(degree) / sum(degree), atol=0.012)


def test_autocorrelation_of_a_known_series():
    assert shifted_correlations(np.array([0.0, 1.0] * 50), 4) == pytest.approx([1, -1, 1, -1, 1])
    assert np.isnan(shifted_correlations(np.ones(50), 2)).all()
    rng = np.random.default_rng(0)
    series = np.zeros(200_000)
    for i, noise in enumerate(rng.normal(size=len(series) - 1), start=1):
        series[i] = 0.8 * series[i - 1] + noise
    assert shifted_correlations(series, 6) == pytest.approx(0.8 ** np.arange(7), abs=0.02)


def exact_autocorrelation(space: ChoiceBlockSpace, value: np.ndarray, shifts: int) -> np.ndarray:
    """Autocorrelation of the stationary walk, computed from its transition matrix."""
    moves = np.zeros((len(space), len(space)))
    for i in range(len(space)):
        for neighbour in space.neighbours(space[i]):
            moves[i, space.index(neighbour)] += 1
    stationary = moves.sum(axis=1) / moves.sum()
    moves /= moves.sum(axis=1, keepdims=True)
    centred = value - stationary @ value
    out, ahead = [], centred.copy()
    for _ in range(shifts + 1):
        out.append(stationary @ (centred * ahead))
        ahead = moves @ ahead
    return np.array(out) / out[0]


def test_autocorrelation_in_a_choice_block_space_agrees_with_its_transition_matrix():
    space = ChoiceBlockSpace("tiny", "tiny-v1", (1, 2, 2))
    table = small_table(lambda codes: 0.5 + 0.1 * operation_counts(codes)[:, 0], vertices=4, split="test")
    frame = autocorrelation(table, np.random.default_rng(0), space, steps=40_000, shifts=8)
    codes = np.array([space[i].cell.encoding for i in range(len(space))], np.uint64)
    value = table.measured("test_accuracy")[table.rows_of_encodings(codes), 0]
    assert frame["autocorrelation"].to_numpy() == pytest.approx(exact_autocorrelation(space, value, 8), abs=0.03)
    assert frame["distance"].tolist() == np.sqrt(np.arange(9)).tolist()


def test_autocorrelation_of_real_measurements_decreases_with_the_shift():
    frame = autocorrelation(retrained_table(), np.random.default_rng(0), steps=50_000, shifts=20)
    found = frame["autocorrelation"]
    assert found[0] == pytest.approx(1)
    assert 0.5 < found[1] < 0.7
    assert (found.diff()[1:8] < 0).all()
    assert abs(found[20]) < 0.05
    assert "which visited 91 cells" in frame.attrs["notes"][0]
    assert frame.attrs["where"] == "encodings of 4 vertices"


def test_a_walk_is_refused_if_cells_are_missing_from_the_table():
    rng = np.random.default_rng(0)
    with refuses(OutOfDomainError, "27,001", "423,624"):
        autocorrelation(load_table("nb101-sample"), rng, split="validation")
    with refuses(OutOfDomainError, "6.9 %", "s1", options="predicted"):
        autocorrelation(load_table(), rng, "s1", split="validation")
    with refuses(OutOfDomainError, "66,111", "423,624"):
        autocorrelation(load_table(), rng, predicted=True)
    with refuses(InvalidInputError, 20):
        autocorrelation(retrained_table(), rng, steps=20, shifts=20)
    frame, again, other = (
        autocorrelation(load_table(), np.random.default_rng(seed), "s1", steps=500, shifts=3, predicted=True)
        for seed in (0, 0, 1)
    )
    assert frame.attrs["predicted"]
    assert frame.equals(again)
    assert not frame.equals(other)
    holed = retrained_table().measured("test_accuracy").mean(axis=1)
    holed[17] = np.nan
    table = synthetic_table(retrained_table().column("cell"), {"test_accuracy": holed})
    with refuses(OutOfDomainError, 90, 91, 4):
        autocorrelation(table, rng)


def test_edge_masks_fit_their_bits():
    assert len(graphs(7).edges) == 1 << EDGE_BITS
