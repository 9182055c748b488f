"""The distinct cells of a space: an oracle, real hashes, and a cache that never changes the result."""

from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
from numpy.typing import NDArray

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench101.architecture import live_blocks
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.search_spaces import distinct_cells as module
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.distinct_cells import DistinctCells, distinct_cells
from nasbench1shot1.search_spaces.wirings import encodings, labellings, pruned_matrix


def space_named(name: str) -> ChoiceBlockSpace:
    space = nb.search_space(name)
    assert isinstance(space, ChoiceBlockSpace)
    return space


@pytest.fixture(scope="module")
def s1_cells() -> DistinctCells:
    return space_named("s1").distinct_cells


def hexadecimal(hashes: NDArray[np.uint8]) -> list[str]:
    return [bytes(row).hex() for row in hashes]


# The enumerated cells --------------------------------------------------------------------------------------------


def test_s1_agrees_with_hashing_every_encoding(s1_cells: DistinctCells) -> None:
    """Hash all 14,580 encodings; the first without loose ends represents equal cells."""
    space = space_named("s1")
    of_every_encoding = [arch.cell.hash for arch in space.architectures("loose_ends")]
    first: dict[str, int] = {}
    for number in np.asarray(space.numbers("no_loose_ends")).tolist():
        first.setdefault(of_every_encoding[number], number)
    assert set(first) == set(of_every_encoding)
    assert list(first.values()) == s1_cells.indices.tolist()
    assert list(first) == hexadecimal(s1_cells.hashes)
    assert space.count_architectures(list(first)).tolist() == [of_every_encoding.count(found) for found in first]


@pytest.mark.parametrize("name", ["s2", "s3"])
def test_the_encodings_of_all_cells_are_the_whole_space(name: str) -> None:
    space = space_named(name)
    hashes = hexadecimal(space.distinct_cells.hashes)
    counts = space.count_architectures(hashes)
    assert len(set(hashes)) == len(counts) and counts.min() >= 1 and counts.sum() == len(space)
    drawn = [space.sample(np.random.default_rng(seed)).network_id for seed in range(400)]
    expected = counts @ counts / len(space)  # a draw has a cell with probability count / len(space)
    of_drawn = space.count_architectures(drawn)
    assert of_drawn.mean() == pytest.approx(expected, abs=4 * of_drawn.std() / 20)


def test_only_cells_of_the_space_have_encodings() -> None:
    with pytest.raises(InvalidInputError, match="s1 has no network '0000'"):
        space_named("s1").count_architectures(["0000"])


@pytest.mark.parametrize("n_parents", [(1, 2, 2), (1, 1, 2, 2), (1, 2, 1, 3)])
def test_small_spaces_agree_with_isomorphism_by_networkx(n_parents: tuple[int, ...]) -> None:
    space = ChoiceBlockSpace("small", "small-v1", n_parents)
    classes: dict[object, list[networkx.DiGraph[int]]] = {}
    for arch in space.architectures("loose_ends"):
        graph = arch.cell.to_networkx()
        candidates = classes.setdefault(coarse(graph), [])
        if not any(networkx.is_isomorphic(graph, other, node_match=lambda a, b: a == b) for other in candidates):
            candidates.append(graph)
    assert space.count("unique") == sum(map(len, classes.values()))


def coarse(graph: "networkx.DiGraph[int]") -> object:
    """An invariant of isomorphic graphs, so that few pairs need to be compared."""
    return tuple(sorted((graph.nodes[v]["op"], graph.in_degree(v), graph.out_degree(v)) for v in graph))


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_hashes_match_their_architectures_and_nasbench101(name: str) -> None:
    space = space_named(name)
    cells = space.distinct_cells
    assert cells.hashes.shape == (len(cells.indices), 16)
    assert len(np.unique(cells.hashes, axis=0)) == len(cells.hashes)
    assert all(a < b for a, b in pairwise(cells.indices.tolist()))
    for i in np.random.default_rng(0).choice(len(cells.indices), 500, replace=False):
        cell = space[int(cells.indices[i])].cell
        assert cell.hash == bytes(cells.hashes[i]).hex()
        assert cell.is_valid


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_every_wiring_prunes_to_a_cell_within_the_limits(name: str) -> None:
    space = space_named(name)
    for wiring in space.wirings:
        matrix = pruned_matrix(wiring)
        cell = Cell(matrix, ["input", *["maxpool3x3"] * len(live_blocks(wiring)), "output"])
        assert cell.is_valid
        assert cell.matrix.shape == matrix.shape  # already pruned


def test_the_real_sample_contains_the_expected_share_of_hashes(real_cells: Path) -> None:
    """The sample contains about 6.5 % of the cells of each space (see its README), and no wrong hash."""
    with np.load(real_cells, allow_pickle=False) as real:
        known = {bytes(row) for row in real["hash"]}
    for name in ("s1", "s2", "s3"):
        hashes = space_named(name).distinct_cells.hashes
        assert 0.055 < np.mean([bytes(row) in known for row in hashes]) < 0.075


def test_hashes_distinguish_the_same_cells_as_canonical_encodings() -> None:
    space = space_named("s3")
    for wiring in space.wirings[::400]:
        codes = encodings(wiring, labellings(len(live_blocks(wiring))))
        hashes = hexadecimal(module.hashes_of(codes))
        numbered = canonicalise(codes).tolist()
        assert hashes == [Cell.from_encoding(int(code)).hash for code in codes]
        assert len(set(numbered)) == len(set(hashes)) == len(set(zip(numbered, hashes, strict=True)))


def test_hashes_do_not_depend_on_order_or_mixed_sizes() -> None:
    codes = np.concatenate([space_named(name).enumerate_cells()[1][::150] for name in ("s1", "s2", "s3")])
    np.random.default_rng(0).shuffle(codes)
    assert hexadecimal(module.hashes_of(codes)) == [Cell.from_encoding(int(code)).hash for code in codes]
    assert module.hashes_of(codes[:0]).shape == (0, 16)


def test_encodings_of_a_wiring_equal_the_encodings_of_its_architectures() -> None:
    space = space_named("s2")
    for i in space.loose_end_free_wirings[::10]:
        labels = labellings(len(live_blocks(space.wirings[i])))
        numbers = space.numbers_of_live_labels(i, labels)
        assert encodings(space.wirings[i], labels).tolist() == [space[int(n)].cell.encoding for n in numbers]


# The cache -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path))
    return tmp_path / "spaces" / "nb101-s1-v1.npz"


@pytest.fixture
def enumerations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The enumerated spaces, in order."""
    done: list[str] = []
    enumerate_space = module._enumerate

    def counted(space: ChoiceBlockSpace) -> DistinctCells:
        done.append(space.name)
        return enumerate_space(space)

    monkeypatch.setattr(module, "_enumerate", counted)
    return done


def assert_same(found: DistinctCells, expected: DistinctCells) -> None:
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.indices.dtype == expected.indices.dtype
    assert found.hashes.tolist() == expected.hashes.tolist()
    assert found.hashes.dtype == expected.hashes.dtype


def test_cells_are_enumerated_once_then_read_from_the_cache(
    cache: Path, enumerations: list[str], s1_cells: DistinctCells
) -> None:
    for _ in range(3):
        assert_same(distinct_cells(space_named("s1")), s1_cells)
    assert enumerations == ["s1"]
    assert cache.is_file()
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]  # no partial file next to it


@pytest.mark.parametrize("damage", ["empty", "random", "truncated", "one bit", "text", "npy", "folder"])
def test_a_damaged_cache_is_rebuilt(damage: str, cache: Path, enumerations: list[str], s1_cells: DistinctCells) -> None:
    distinct_cells(space_named("s1"))
    whole = cache.read_bytes()
    if damage == "folder":
        cache.unlink()
        cache.mkdir()
    elif damage == "npy":
        with cache.open("wb") as file:
            np.save(file, np.arange(3))
    else:
        cache.write_bytes(damaged(whole, damage))
    assert_same(distinct_cells(space_named("s1")), s1_cells)
    assert enumerations == ["s1", "s1"]
    if damage != "folder":
        assert cache.read_bytes() == whole
        distinct_cells(space_named("s1"))
        assert enumerations == ["s1", "s1"]


def damaged(whole: bytes, damage: str) -> bytes:
    middle = len(whole) // 2
    return {
        "empty": b"",
        "random": np.random.default_rng(0).bytes(len(whole)),
        "truncated": whole[:middle],
        "one bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "text": b"not an archive\n",
    }[damage]


@pytest.mark.parametrize(
    "change",
    [
        {"checksum": "0" * 64},
        {"checksum": ["0", "1"]},
        {"indices": np.arange(5)},
        {"hashes": np.zeros((2685, 16), np.uint8)},
        {"hashes": None},
    ],
)
def test_a_readable_cache_with_wrong_content_is_rebuilt(
    change: dict[str, object], cache: Path, enumerations: list[str], s1_cells: DistinctCells
) -> None:
    distinct_cells(space_named("s1"))
    with np.load(cache) as stored:
        content = dict(stored) | change
    np.savez(cache, **{key: np.asarray(value) for key, value in content.items() if value is not None})
    assert_same(distinct_cells(space_named("s1")), s1_cells)
    assert enumerations == ["s1", "s1"]


def test_a_space_does_not_read_the_cache_of_another_space_with_its_id(
    cache: Path, enumerations: list[str], s1_cells: DistinctCells
) -> None:
    other = ChoiceBlockSpace("other", "nb101-s1-v1", (1, 2, 2))
    assert len(distinct_cells(other).indices) == len({arch.cell.hash for arch in other.architectures("loose_ends")})
    assert_same(distinct_cells(space_named("s1")), s1_cells)
    assert enumerations == ["other", "s1"]


@pytest.mark.parametrize("obstacle", ["read-only folder", "file in the folder's place", "full disk"])
def test_an_unwritable_cache_does_not_change_results(
    obstacle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s1_cells: DistinctCells
) -> None:
    folder = tmp_path / "data"
    if obstacle == "file in the folder's place":
        folder.write_text("in the way")
    else:
        folder.mkdir(mode=0o500)
    if obstacle == "full disk":
        monkeypatch.setattr(np, "savez", raise_disk_full)
    monkeypatch.setenv("NB1SHOT1_DATA", str(folder))
    assert_same(distinct_cells(space_named("s1")), s1_cells)


def raise_disk_full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_cells_in_memory_are_read_only(s1_cells: DistinctCells) -> None:
    for array in (s1_cells.indices, s1_cells.hashes, np.asarray(space_named("s1").numbers("no_loose_ends"))):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
