"""The full NAS-Bench-101 space: known counts, real hashes, canonical form and MD5, both readings of "valid"."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_space import CellSpaceConformance, SearchSpaceConformance
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import Encodings, edge_bits, encode_all
from nasbench1shot1.nasbench101.numbering import canonicalise, numberings
from nasbench1shot1.search_spaces import edge_masks
from nasbench1shot1.search_spaces.distinct_cells import DistinctCells
from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space
from nasbench1shot1.space import SearchSpace

VALID = {"pruned": 373_754_169, "raw": 139_359_042}
PATHLESS = "nb101:0|1||0||3:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"
TEN_EDGES = "nb101:0|0,1|0,1|2|3,4|0,5:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"
TEN_EDGES_ONE_DEAD = "nb101:0|0,1|0,1,2|0,3|1|4:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"

masks = st.integers(0, 2**21 - 1)


@pytest.fixture(scope="module")
def space() -> NASBench101Space:
    found = nb.search_space("nb101")
    assert isinstance(found, NASBench101Space)
    return found


@pytest.fixture(scope="module")
def cells(space: NASBench101Space) -> DistinctCells:
    """Hash all cells once per test session, which takes half a minute."""
    return space.distinct_cells


@pytest.fixture(scope="module")
def codes(space: NASBench101Space) -> Encodings:
    return space.encodings()


class TestConformance(SearchSpaceConformance, CellSpaceConformance):
    @pytest.fixture
    def space(self) -> SearchSpace:
        return nb.search_space("nb101")


# Counts ----------------------------------------------------------------------------------------------------------


def test_golden_counts(space: NASBench101Space) -> None:
    assert nb.search_space("nb101-v1") is space
    assert {rule: space.count("loose_ends", rule) for rule in VALID} == VALID
    assert space.count("loose_ends", "all") == 509_607_936 == 2**21 * 3**5
    assert space.count("loose_ends") == len(space) == VALID["pruned"]
    assert space.count("no_loose_ends") == 1_293_208
    assert space.count("unique") == 423_624


def test_cells_by_vertices(codes: Encodings) -> None:
    sizes, counts = np.unique(codes >> np.uint64(31), return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {
        **{2: 1, 3: 6, 4: 84, 5: 2441, 6: 62_010, 7: 359_082}
    }
    assert counts[:-1].sum() == 64_542


def test_pruned_graphs_by_vertices() -> None:
    """papers.md N16."""
    found, graphs = edge_masks.pruned_graphs()
    assert np.bincount((graphs >> np.uint64(31)).astype(np.int64)).tolist() == [0, 0, 1, 2, 10, 121, 1545, 4793]
    for mask, graph in zip(found[::50].tolist(), graphs[::50].tolist(), strict=True):
        assert nb.Architecture("nb101", edge_masks.parents_of(mask), (0,) * 5).cell.encoding == graph


def test_architectures_without_loose_ends_are_all_numberings_of_all_cells(
    space: NASBench101Space, codes: Encodings
) -> None:
    every, positions = numberings(codes)
    assert len(every) == 1_293_208
    listed = space.encodings("no_loose_ends")
    assert np.array_equal(np.sort(listed), every)
    assert np.array_equal(canonicalise(listed), codes[positions[np.searchsorted(every, listed)]])


@pytest.mark.parametrize("kind", ["no_loose_ends", "unique"])
def test_encodings_agree_with_the_architectures(space: NASBench101Space, kind: str) -> None:
    numbers, listed = np.asarray(space.numbers(kind)), space.encodings(kind)
    for i in np.random.default_rng(0).integers(len(numbers), size=500):
        arch = space[int(numbers[i])]
        live = len(arch.cell.ops) - 2
        assert arch.cell.encoding == listed[i]
        assert arch.parents[live:-1] == ((),) * (5 - live)
        assert arch.operations[live:] == (0,) * (5 - live)
    for array in (numbers, listed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_distinct_architectures_have_the_lowest_number(space: NASBench101Space, codes: Encodings) -> None:
    rng, numbers = np.random.default_rng(0), np.asarray(space.numbers("unique"))
    drawn = [space.sample(rng) for _ in range(2000)]
    of_drawn = canonicalise(np.array([arch.cell.encoding for arch in drawn], np.uint64))
    order = np.argsort(codes)
    lowest = numbers[order[np.searchsorted(codes, of_drawn, sorter=order)]]
    assert (lowest <= [space.index(arch) for arch in drawn]).all()
    assert [space[int(n)].cell.encoding for n in lowest] == of_drawn.tolist()


@pytest.mark.parametrize("rule", ["pruned", "raw"])
def test_every_architecture_has_a_form_without_loose_ends(rule: str) -> None:
    space, rng = NASBench101Space(rule, n_vertices=6), np.random.default_rng(0)
    archs = [space.sample(rng) for _ in range(300)]
    found = [space.without_loose_ends(arch) for arch in archs]
    assert np.isin([space.index(arch) for arch in found], space.numbers("no_loose_ends")).all()
    assert encode_all([arch.cell for arch in found]).tolist() == [arch.cell.encoding for arch in archs]


# Hashes ----------------------------------------------------------------------------------------------------------


def test_canonical_form_and_md5_agree_on_the_whole_space(
    space: NASBench101Space, cells: DistinctCells, codes: Encodings
) -> None:
    assert len(np.unique(codes)) == len(np.unique(cells.hashes.view("S16"))) == len(codes) == 423_624
    assert np.array_equal(canonicalise(codes), codes)
    assert np.array_equal(cells.indices, np.asarray(space.numbers("unique")))


def test_hashes_are_equal_if_and_only_if_encodings_are(
    space: NASBench101Space, cells: DistinctCells, codes: Encodings
) -> None:
    """For random numberings, and for all numberings of some cells."""
    rng = np.random.default_rng(0)
    some = rng.choice(space.encodings("no_loose_ends"), 2000)
    isomorphic, _ = numberings(rng.choice(codes, 500))
    given_codes = np.concatenate([some, isomorphic])
    hashes = [Cell.from_encoding(int(code)).hash for code in given_codes]
    first_met = canonicalise(given_codes).tolist()
    pairs = set(zip(first_met, hashes, strict=True))
    assert len(pairs) == len(set(first_met)) == len(set(hashes))
    listed = dict(zip(codes.tolist(), (bytes(row).hex() for row in cells.hashes), strict=True))
    assert all(listed[code] == hash_ for code, hash_ in pairs)


def test_every_real_hash_is_found_at_its_rank(cells: DistinctCells, real_cells: Path) -> None:
    """The rank among all hashes of the published table, which only the same 423,624 cells give."""
    with np.load(real_cells, allow_pickle=False) as real:
        hashes, ranks = [bytes(row) for row in real["hash"]], real["hash_rank"]
    rank = {hash_: i for i, hash_ in enumerate(sorted(bytes(row) for row in cells.hashes))}
    assert len(hashes) == 27_001
    assert [rank[hash_] for hash_ in hashes] == ranks.tolist()


def test_cells_are_read_back_from_the_cache(cells: DistinctCells, temporary_data_folder: Path) -> None:
    again = NASBench101Space()
    assert (temporary_data_folder / "spaces" / "nb101-v1.npz").is_file()
    assert np.array_equal(again.distinct_cells.indices, cells.indices)
    assert np.array_equal(again.distinct_cells.hashes, cells.hashes)
    assert "_masks" not in vars(again)  # nothing was enumerated


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured differently on other systems")
def test_enumeration_takes_less_than_500_megabytes() -> None:
    """Measured by the high-water mark of the process, because `ru_maxrss` includes the parent process."""
    code = (
        "import nasbench1shot1 as nb; assert nb.search_space('nb101').count('unique') == 423624;"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 500_000


# Validity --------------------------------------------------------------------------------------------------------


def naive_live(mask: int) -> set[int]:
    edges = [(x, y) for y in range(7) for x in range(y) if mask >> x + y * (y - 1) // 2 & 1]
    after, before = {0}, {6}
    for _ in range(7):
        after |= {y for x, y in edges if x in after}
        before |= {x for x, y in edges if y in before}
    return after & before if 6 in after else set()


@given(st.lists(masks, min_size=1, max_size=50))
def test_masks_agree_with_brute_force(some: list[int]) -> None:
    array = np.array(some, np.int32)
    live = edge_masks.live_vertices(array)
    assert [{v for v in range(7) if bits >> v & 1} for bits in live.tolist()] == [naive_live(mask) for mask in some]
    assert edge_masks.count_edges(array).tolist() == [mask.bit_count() for mask in some]
    for mask, raw, pruned in zip(
        some, edge_masks.is_valid(array, "raw"), edge_masks.is_valid(array, "pruned"), strict=True
    ):
        arch = nb.Architecture("nb101", edge_masks.parents_of(mask), (0,) * 5)
        assert edge_bits(arch.parents) == mask
        assert pruned == arch.cell.is_valid
        assert raw == (bool(naive_live(mask)) and mask.bit_count() <= 9)


@pytest.mark.parametrize("rule", list(VALID))
@given(st.integers(0, 2**40))
def test_index_and_getitem_are_inverse(rule: str, number: int) -> None:
    space = SPACES[rule]
    arch = space[number % len(space)]
    assert space.index(arch) == number % len(space)
    assert nb.Architecture(arch.space, arch.parents, arch.operations) == arch == nb.Architecture.parse(str(arch))
    assert SPACES["pruned"].index(arch) >= number % len(space)  # raw validity implies pruned validity


SPACES = {rule: NASBench101Space(rule) for rule in VALID}


def test_the_two_readings_have_distinct_ids() -> None:
    assert {rule: space.id for rule, space in SPACES.items()} == {"pruned": "nb101-v1", "raw": "nb101-raw-v1"}
    assert {len(space) for space in SPACES.values()} == set(VALID.values())
    assert SPACES["raw"].count("unique") == 423_624
    assert np.array_equal(SPACES["raw"].encodings(), SPACES["pruned"].encodings())


def test_indices_ascend_by_mask_then_operations_with_the_last_block_fastest(space: NASBench101Space) -> None:
    assert str(space[0]) == "nb101:|||||0:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"
    assert str(space[1]) == "nb101:|||||0:conv3x3,conv3x3,conv3x3,conv3x3,conv1x1"
    assert str(space[243]) == "nb101:0|||||0:conv3x3,conv3x3,conv3x3,conv3x3,conv3x3"
    ascending = [edge_bits(space[i * 243].parents) for i in range(0, len(space) // 243, 10_000)]
    assert ascending == sorted(set(ascending))


@pytest.mark.parametrize(
    "call, values",
    [
        (lambda s: s.index(nb.Architecture.parse(PATHLESS)), "nb101 path"),
        (lambda s: s.index(nb.Architecture.parse(TEN_EDGES)), "10 pruning"),
        (lambda s: SPACES["raw"].index(nb.Architecture.parse(TEN_EDGES_ONE_DEAD)), "10 edges"),
        (lambda s: s.neighbours(nb.Architecture.parse(PATHLESS)), "nb101 path"),
        (lambda s: s.index(nb.search_space("s3")[0]), "nb101 5 blocks"),
        (lambda s: s.index(nb.Architecture("nb101", ((0,), (1,)), (0,))), "nb101 5 blocks"),
        (lambda s: s.index("nb101"), "'nb101' Architecture.parse"),
        (lambda s: s.count("loose_ends", "paper"), "'loose_ends' 'paper'"),
        (lambda s: s.count("unique", "raw"), "'unique' 'raw'"),
        (lambda s: s.encodings("loose_ends"), "'no_loose_ends' 'unique'"),
        (lambda s: s.encodings("uniqe"), "uniqe unique"),
        (lambda s: NASBench101Space("prunned"), "prunned pruned"),
        (lambda s: s.from_configuration({}), "choice_block_1_op conv3x3-bn-relu"),
        (lambda s: s.from_configuration(dict(s.to_configuration(s[0])) | {"edge_0_1": 2}), "edge_0_1 2"),
    ],
)
def test_mismatched_arguments_are_reported_in_one_sentence(space: NASBench101Space, call: Any, values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        call(space)


def test_edges_of_dead_vertices_count_only_under_the_raw_reading(space: NASBench101Space) -> None:
    arch = nb.Architecture.parse(TEN_EDGES_ONE_DEAD)
    assert space[space.index(arch)] == arch
    assert arch.cell.is_valid


# Sampling and neighbours -----------------------------------------------------------------------------------------


def by_edges(space: SearchSpace, rng: np.random.Generator, draws: int) -> list[int]:
    counted = Counter(sum(map(len, space.sample(rng).parents)) for _ in range(draws))
    return [counted[n] for n in range(22)]


@pytest.mark.parametrize("rule", list(VALID))
def test_samples_are_uniform_over_valid_encodings(rule: str) -> None:
    """Test the number of edges, whose distribution over all masks is known."""
    from scipy.stats import chisquare

    every = edge_masks.all_masks()
    expected = np.bincount(edge_masks.count_edges(every[edge_masks.is_valid(every, rule)]), minlength=22)
    drawn = np.array(by_edges(SPACES[rule], np.random.default_rng(0), 20_000))
    assert drawn[expected == 0].sum() == 0
    often = expected * 20_000 / expected.sum() >= 5
    grouped = np.append(drawn[often], drawn[~often].sum()), np.append(expected[often], expected[~often].sum())
    assert chisquare(grouped[0], grouped[1] * drawn.sum() / expected.sum()).pvalue > 0.001


def test_sampling_equals_rejection_sampling() -> None:
    """Operations are equally frequent, and edges as frequent as with rejection sampling."""
    from scipy.stats import chi2_contingency, chisquare

    rng, space = np.random.default_rng(0), SPACES["pruned"]
    drawn = [space.sample(rng) for _ in range(6000)]
    for block in range(5):
        counted = Counter(arch.operations[block] for arch in drawn)
        assert chisquare([counted[op] for op in range(3)]).pvalue > 0.001
    tried = [
        nb.Architecture("nb101", edge_masks.parents_of(int(mask)), (0,) * 5) for mask in rng.integers(2**21, size=8000)
    ]
    kept = [arch for arch in tried if arch.cell.is_valid]
    assert len(kept) / len(tried) == pytest.approx(VALID["pruned"] / 509_607_936, abs=0.02)
    for y in range(1, 7):
        for x in range(y):
            table = [[sum(x in arch.parents[y - 1] for arch in archs), len(archs)] for archs in (drawn, kept)]
            assert chi2_contingency([[here, n - here] for here, n in table]).pvalue > 0.0005


def test_distinct_samples_are_uniform_over_sizes(space: NASBench101Space) -> None:
    from scipy.stats import chisquare

    rng = np.random.default_rng(1)
    sizes = Counter(len(space.sample_distinct(rng).cell.ops) for _ in range(3000))
    observed = [sizes[7], sizes[6], sum(sizes[n] for n in (2, 3, 4, 5))]
    expected = np.array([359_082, 62_010, 2532]) / 423_624 * 3000
    assert chisquare(observed, expected).pvalue > 0.001


@pytest.mark.parametrize("rule", list(VALID))
def test_neighbours_are_all_valid_encodings_at_edit_distance_one(rule: str) -> None:
    space, rng = SPACES[rule], np.random.default_rng(2)
    for arch in (space.sample(rng) for _ in range(20)):
        neighbours = space.neighbours(arch)
        relabelled = [other for other in neighbours if other.parents == arch.parents]
        assert neighbours[:10] == relabelled
        assert all(
            sum(a != b for a, b in zip(other.operations, arch.operations, strict=True)) == 1 for other in relabelled
        )
        mask = edge_bits(arch.parents)
        expected = [other for other in (mask ^ 1 << bit for bit in range(21)) if valid(other, rule)]
        assert [edge_bits(other.parents) for other in neighbours[10:]] == expected
        assert {other.operations for other in neighbours[10:]} <= {arch.operations}
        moved = (space.mutate(arch, rng), space.published_mutate(arch, rng), space.mutate_each(arch, 0.1, rng) or arch)
        for other in (arch, *neighbours, *moved):
            assert other.edges == edge_bits(other.parents)
        for other in neighbours:
            assert space[space.index(other)] == other


def valid(mask: int, rule: str) -> bool:
    cell = nb.Architecture("nb101", edge_masks.parents_of(mask), (0,) * 5).cell
    return cell.is_valid and (rule == "pruned" or mask.bit_count() <= 9)


def test_configurations_contain_every_edge_and_operation(space: NASBench101Space) -> None:
    arch = nb.Architecture.parse("nb101:0||1|0,3||0,4:conv3x3,conv1x1,maxpool3x3,conv1x1,conv3x3")
    configuration = dict(space.to_configuration(arch))
    edges = {key for key, value in configuration.items() if key.startswith("edge_") and value == 1}
    assert edges == {"edge_0_1", "edge_1_3", "edge_0_4", "edge_3_4", "edge_0_6", "edge_4_6"}
    assert [configuration[f"choice_block_{i}_op"] for i in range(1, 6)] == [
        "conv3x3-bn-relu",
        "conv1x1-bn-relu",
        "maxpool3x3",
        "conv1x1-bn-relu",
        "conv3x3-bn-relu",
    ]
    assert len(configuration) == 26
    without_path = configuration | {"edge_0_6": 0, "edge_4_6": 0}
    with pytest.raises(nb.InvalidInputError, match="output"):
        space.from_configuration(without_path)


# In the rest of the package --------------------------------------------------------------------------------------


def test_errors_about_a_missing_relaxation_name_the_spaces_that_have_one(
    space: NASBench101Space, tmp_path: Path
) -> None:
    with refuses(nb.InvalidInputError, "nb101", "nb.OneShotSpace"):
        nb.Supernet(space)
    with refuses(nb.InvalidInputError, "nb101", "s1", "s2", "s3", "nb201"):
        nb.search("darts", space="nb101", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not isinstance(space, nb.OneShotSpace)
    assert isinstance(nb.search_space("s1"), nb.OneShotSpace)


def test_architectures_of_nb101_are_looked_up_like_any_other(space: NASBench101Space) -> None:
    table, small = nb.load_table(), nb.search_space("s1")[4321]
    position = np.flatnonzero(space.encodings() == canonicalise(np.array([small.cell.encoding], np.uint64))).item()
    arch = space[int(np.asarray(space.numbers("unique"))[position])]
    assert arch.cell == small.cell
    assert table.query(arch).hash == table.query(small).hash
    assert nb.score(arch, table).cell_hash == small.cell.hash
