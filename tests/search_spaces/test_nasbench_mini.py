"""NAS-Bench-Mini compared with an independent enumeration, and as a reference of tables."""

from collections import defaultdict
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from space_statistics_tables import small_table, synthetic_table

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_space import CellSpaceConformance, SearchSpaceConformance
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.search_spaces.nasbench101 import SPACE as NB101
from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space
from nasbench1shot1.space import SearchSpace

Graph = tuple[tuple[tuple[int, int], ...], int]
"""Ascending edges, and number of vertices."""

BY_VERTICES = {2: 1, 3: 6, 4: 84, 5: 2441, 6: 62_010}


class TestConformance(SearchSpaceConformance, CellSpaceConformance):
    @pytest.fixture
    def space(self) -> SearchSpace:
        return nb.search_space("nb101-mini")


@pytest.fixture(scope="module")
def space() -> NASBench101Space:
    found = nb.search_space("nb101-mini-v1")
    assert isinstance(found, NASBench101Space)
    return found


# Counts ----------------------------------------------------------------------------------------------------------


def pruned(edges: list[tuple[int, int]], output: int) -> Graph | None:
    """The renumbered graph of the vertices on a path; None if there is no path or more than nine edges remain."""
    after, before = {0}, {output}
    for _ in range(output):
        after |= {y for x, y in edges if x in after}
        before |= {x for x, y in edges if y in before}
    if output not in after:
        return None
    kept = sorted(after & before)
    left = tuple(sorted((kept.index(x), kept.index(y)) for x, y in edges if x in kept and y in kept))
    return (left, len(kept)) if len(left) <= 9 else None


def count_cells(graphs: set[Graph]) -> dict[int, int]:
    """Count labelled graphs up to isomorphism by Burnside's lemma: orbits of labellings under renumberings.

    Graphs fall into classes of isomorphic ones; a class has as many cells as its automorphisms have orbits of labels.
    """
    cells: dict[int, int] = defaultdict(int)
    seen: set[Graph] = set()
    for edges, size in sorted(graphs):
        if (edges, size) in seen:
            continue
        fixed, n_automorphisms = 0, 0
        for inner in permutations(range(1, size - 1)):
            place = (0, *inner, size - 1)
            moved = tuple(sorted((place[x], place[y]) for x, y in edges))
            seen.add((moved, size))
            if moved == edges:
                n_automorphisms += 1
                fixed += 3 ** n_cycles(place)
        cells[size] += fixed // n_automorphisms
    return dict(cells)


def n_cycles(place: tuple[int, ...]) -> int:
    """Count the cycles of a permutation, except those of the first and the last element."""
    left, cycles = set(range(1, len(place) - 1)), 0
    while left:
        cycles, at = cycles + 1, left.pop()
        while (at := place[at]) in left:
            left.remove(at)
    return cycles


def test_counts_agree_with_an_enumeration_of_all_graphs(space: NASBench101Space) -> None:
    possible = [(x, y) for y in range(6) for x in range(y)]
    found = [
        pruned([edge for edge, there in zip(possible, bits, strict=True) if there], 5)
        for bits in product((0, 1), repeat=15)
    ]
    valid = [graph for graph in found if graph is not None]
    assert len(found) * 3**4 == space.count("loose_ends", "all") == 2_654_208
    assert len(valid) * 3**4 == space.count("loose_ends") == len(space) == 2_198_502
    assert sum(3 ** (size - 2) for _, size in set(valid)) == space.count("no_loose_ends") == 128_509
    assert count_cells(set(valid)) == BY_VERTICES
    assert sum(BY_VERTICES.values()) == space.count("unique") == 64_542


def test_raw_edges_are_counted() -> None:
    raw = NASBench101Space("raw", 6)
    assert (raw.name, raw.id, len(raw)) == ("nb101-mini", "nb101-mini-raw-v1", 1_948_860)
    assert raw.count("unique") == 64_542


def test_cells_are_the_cells_of_nb101_with_at_most_six_vertices(space: NASBench101Space) -> None:
    codes = NB101.encodings()
    assert np.array_equal(np.sort(space.encodings()), np.sort(codes[codes >> np.uint64(31) <= 6]))
    sizes, counts = np.unique(space.encodings() >> np.uint64(31), return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == BY_VERTICES


def test_every_real_hash_of_six_vertices_is_included(space: NASBench101Space, real_cells: Path) -> None:
    with np.load(real_cells, allow_pickle=False) as real:
        hashes = {bytes(row) for row in real["hash"]}
    mini = {bytes(row) for row in space.distinct_cells.hashes}
    assert len(mini) == 64_542
    sample = nb.load_table("nb101-sample")
    assert {bytes.fromhex(name) for name in sample.hashes(sample.members("nb101-mini"))} == hashes & mini


def test_indices_ascend_as_in_nb101(space: NASBench101Space) -> None:
    assert str(space[0]) == "nb101-mini:||||0:conv3x3,conv3x3,conv3x3,conv3x3"
    assert str(space[81]) == "nb101-mini:0||||0:conv3x3,conv3x3,conv3x3,conv3x3"


@pytest.mark.parametrize("n_vertices", [3, 4, 5])
def test_smaller_spaces_have_the_smaller_cells(n_vertices: int) -> None:
    smaller = NASBench101Space(n_vertices=n_vertices)
    assert smaller.name == ("nb101-5v" if n_vertices == 5 else f"nb101-{n_vertices}-vertices")
    assert smaller.count("unique") == sum(count for size, count in BY_VERTICES.items() if size <= n_vertices)
    assert len({arch.network_id for arch in smaller.architectures("unique")}) == smaller.count("unique")


@pytest.mark.parametrize("n_vertices", [2, 8, "6"])
def test_other_numbers_of_vertices_are_refused(n_vertices: Any) -> None:
    with pytest.raises(nb.InvalidInputError, match=f"{n_vertices} vertices.*3 to 7"):
        NASBench101Space(n_vertices=n_vertices)


# In tables -------------------------------------------------------------------------------------------------------


def test_the_embedded_table_contains_part_of_mini(space: NASBench101Space) -> None:
    table = nb.load_table()
    members = table.members("nb101-mini")
    assert members.tolist() == [row for row in range(len(table)) if len(table.cell(row).ops) <= 6]
    assert "nb101-mini" not in table.spaces
    cell, metrics = table.best("nb101-mini", "test")
    assert len(cell.ops) <= 6
    accuracies = table.query(table.hashes(members)).test_accuracy
    assert metrics.test_accuracy == accuracies.max() == accuracies[np.searchsorted(members, table.row_of(cell))]


def test_regret_of_mini_architectures_is_relative_to_mini(space: NASBench101Space) -> None:
    table, s1 = nb.load_table(), nb.search_space("s1")[4321]
    assert isinstance(s1, CellArchitecture)
    arch = nb.Architecture("nb101-mini", s1.parents, s1.operations)
    assert space[space.index(arch)] == arch
    assert table.regret(arch, "nb101-mini") == table.regret(s1, "nb101-mini")
    with pytest.raises(nb.OutOfDomainError, match=r"lacks 47,463 of .*reference=.nb101-mini"):
        table.regret(arch)
    assert table.regret(table.best("nb101-mini", "test")[0], "nb101-mini") == 0


def test_a_table_of_only_larger_cells_has_no_best_of_mini() -> None:
    codes = NB101.encodings()
    larger = codes[codes >> np.uint64(31) == 7][:5]
    table = synthetic_table(larger, {"test_accuracy": np.linspace(0.9, 0.94, 5)})
    assert table.members("nb101-mini").tolist() == []
    assert len(table.members("nb101")) == 5
    with pytest.raises(nb.OutOfDomainError, match="nb101-mini"):
        table.best("nb101-mini", "test")


def test_a_table_of_all_small_cells_has_the_best_of_mini() -> None:
    table = small_table(lambda codes: np.linspace(0, 0.9, len(codes)), vertices=7, split="test")
    assert len(table.members("nb101-mini")) == 64_542
    accuracies = table.values("test_accuracy")[table.members("nb101-mini"), 0]
    assert table.best("nb101-mini", "test")[1].test_accuracy == accuracies.max()
    assert table.best("nb101", "test")[1].test_accuracy > accuracies.max()


def test_tables_of_nasbench201_do_not_contain_mini() -> None:
    with pytest.raises(nb.InvalidInputError, match="'nb101-mini'"):
        nb.load_table("nb201").members("nb101-mini")
