"""The steps from real measurements to the embedded table."""

import shutil
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.commands.table import Build
from nasbench1shot1.ground.errors import DamagedFileError, UserError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell
from nasbench1shot1.nasbench101.embedded_table import EMBEDDED, FIVE_VERTICES, Contents, build
from nasbench1shot1.nasbench101.encoding import Encodings, from_arrays, to_arrays
from nasbench1shot1.nasbench101.estimates.estimation import Settings, Targets, fit_network, fit_trees, folds_by_hash
from nasbench1shot1.nasbench101.features import CellArrays, features, path_counts, trainable_parameters, vertex_channels
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.nasbench101.sample import sample_columns
from nasbench1shot1.nasbench101.sources import SAMPLE, TEST_MEANS, cells_of, read_source
from nasbench1shot1.tables.folder import open_folder
from nasbench1shot1.tables.table import Table, load_table

TINY = Settings(folds=2, trees=5, epochs=1)


@pytest.fixture(scope="module")
def encodings() -> Encodings:
    """The cells of the real sample."""
    return cells_of(read_source(SAMPLE))[1]


def _arrays(matrix: list[list[int]], operations: list[int]) -> CellArrays:
    n = len(matrix)
    adjacency = np.zeros((1, 7, 7), np.int64)
    adjacency[0, :n, :n] = matrix
    padded = np.array([operations + [-1] * (5 - len(operations))])
    return CellArrays.from_encodings(from_arrays(adjacency, padded, np.array([n])))


def test_parameter_counts_of_every_real_row_agree(encodings: Encodings) -> None:
    counted = trainable_parameters(CellArrays.from_encodings(encodings))
    assert np.array_equal(counted, read_source(SAMPLE)["params"])


def test_extreme_parameter_counts() -> None:
    # Fewest: one narrow vertex reads the input, and four poolings read it. Most: full width everywhere.
    narrow = [[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0], *[[0] * 6 + [1]] * 4, [0] * 7]
    wide = [[0, 1, 1, 1, 0, 0, 1], *[[int(y == x + 1) for y in range(7)] for x in range(1, 7)]]
    assert trainable_parameters(_arrays(narrow, [2] * 5)).item() == 227_274
    assert trainable_parameters(_arrays(wide, [0] * 5)).item() == 49_979_274


def test_channels_are_divided_and_the_first_vertices_take_the_remainder() -> None:
    three = [[0, 1, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0] * 5]
    assert vertex_channels(_arrays(three, [0, 1, 2]), 128).tolist() == [[0, 43, 43, 42, 0, 0, 128]]


def test_the_sample_is_numbered_canonically(encodings: Encodings) -> None:
    assert np.array_equal(canonicalise(encodings), encodings)


def _renumbered(codes: Encodings, rng: np.random.Generator) -> Encodings:
    """The cells with vertices in a random topological order."""
    adjacency, operations, n_vertices = to_arrays(codes)
    orders = list(permutations(range(1, 6)))
    for i in range(len(codes)):
        for _ in range(50):
            order = [0, *orders[rng.integers(len(orders))], 6]
            moved = adjacency[i][np.ix_(order, order)]
            if n_vertices[i] == 7 and not np.tril(moved).any():
                adjacency[i], operations[i] = moved, operations[i][[v - 1 for v in order[1:-1]]]
                break
    return from_arrays(adjacency, operations, n_vertices)


def test_canonical_form_and_features_do_not_depend_on_the_numbering(encodings: Encodings) -> None:
    codes = encodings[:300]
    moved = _renumbered(codes, np.random.default_rng(0))
    assert (moved != codes).sum() > 50
    assert np.array_equal(canonicalise(moved), codes)
    of_given, names = features(CellArrays.from_encodings(codes))
    of_moved, _ = features(CellArrays.from_encodings(moved))
    same = np.isclose(of_given, of_moved).all(axis=0)
    # Which of the vertices that feed the output is one channel wider depends on the numbering: hence `canonicalise`.
    by_width = ("walk_", "width_", "square_", "sum_", "max_", "out_", "projected", "multiply_adds", "log_parameters")
    assert {
        name for name, equal in zip(names, same, strict=True) if not equal and not name.startswith(by_width)
    } == set()


def test_paths_are_counted_with_multiplicity() -> None:
    diamond = [[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0] * 5]
    counts = {ops: int(n.item()) for ops, n in path_counts(_arrays(diamond, [0, 0, 2])).items() if n.item()}
    assert counts == {(0, 2): 2}


def test_folds_depend_only_on_the_hash() -> None:
    hashes = cells_of(read_source(SAMPLE))[0]
    folds = folds_by_hash(hashes, 10)
    expected = [int(bytes(row[:4]).hex(), 16) % 10 for row in hashes.view(np.uint8).reshape(-1, 16)]
    assert folds.tolist() == expected


def test_a_damaged_source_is_named(tmp_path: Path) -> None:
    (tmp_path / "nb101_partial_val.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(DamagedFileError, match="nb101_partial_val"):
        sample_columns(tmp_path)


# Regression -------------------------------------------------------------------------------------------------------


def test_targets_of_a_group_share_their_measurements() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)).astype(np.float32)
    y = 0.1 * np.stack([x[:, 0], x[:, 0] + 0.5], axis=1)  # the Huber loss's threshold is 0.1
    y[:300, 1] = np.nan
    y[300:, 0] = np.nan
    for targets in (Targets(((0, 1),), (1.0, 2.0)), Targets(((0,), (1,)), (1.0, 1.0))):
        found = fit_trees(x, y, x, targets, 100, 1)
        assert np.corrcoef(found[:, 0], x[:, 0])[0, 1] > 0.95
        assert 0.02 < np.mean(found[:, 1] - found[:, 0]) < 0.06


def test_missing_targets_do_not_change_the_fit_of_a_network() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 4)).astype(np.float32)
    y = np.stack([x[:, 0], 2 * x[:, 1]], axis=1)
    y[::2, 1] = np.nan
    found = fit_network(x, y, x, 30, 1)
    assert np.corrcoef(found[:, 0], x[:, 0])[0, 1] > 0.95
    assert np.corrcoef(found[:, 1], x[:, 1])[0, 1] > 0.95
    assert np.array_equal(found, fit_network(x, y, x, 30, 1))


# Building ---------------------------------------------------------------------------------------------------------


def _cut(source: str, rows: np.ndarray, folder: Path) -> None:
    arrays = read_source(source)
    np.savez(folder / source, **{name: of if name == "epochs" else of[rows] for name, of in arrays.items()})


@pytest.fixture
def few_cells() -> dict[str, list[Cell]]:
    """The first 40 cells of the sample, 20 cells with a test accuracy, and 6 straight cells."""
    measured = [Cell.from_encoding(int(code)) for code in cells_of(read_source(SAMPLE))[1][:40]]
    tested = [Cell.from_encoding(int(code)) for code in cells_of(read_source(TEST_MEANS))[1][:20]]
    assert len({cell.hash for cell in measured + tested}) == 59  # one is in both
    straight = [
        Cell(np.eye(n, k=1, dtype=int), ["input", *[op] * (n - 2), "output"]) for n in (3, 4) for op in OPERATIONS
    ]
    known = {cell.hash: cell for cell in measured[20:] + tested + straight}
    return {"s1": measured[:30], "s3": list(known.values())}


@pytest.fixture
def few_sources(tmp_path: Path) -> Path:
    """The sources with the first 1,500 cells of the sample and 400 test means, 200 of them of the same cells."""
    folder = tmp_path / "sources"
    shutil.copytree(PACKAGE_DATA / "sources", folder)
    sample, tested = (cells_of(read_source(name))[0] for name in (SAMPLE, TEST_MEANS))
    both = np.flatnonzero(np.isin(sample, tested))[:200]
    _cut(SAMPLE, np.unique(np.concatenate([np.arange(1500), both])), folder)
    _cut(TEST_MEANS, np.flatnonzero(np.isin(tested, sample[both]) | (np.arange(len(tested)) < 200)), folder)
    return folder


def test_a_missing_extra_is_named(
    few_cells: dict[str, list[Cell]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench1shot1.ground.plugins.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"\[table\]"):
        build(few_cells, tmp_path / "out", EMBEDDED, TINY)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("out", ["file", "file/table", "full", "/proc/nowhere/table"])
def test_an_impossible_target_is_refused_before_building(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("it went to work")

    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("")
    monkeypatch.setattr("nasbench1shot1.nasbench101.embedded_table.read_measurements", work)
    monkeypatch.setattr("nasbench1shot1.registry.search_space", work)
    for start in (lambda: build({}, tmp_path / out, EMBEDDED, TINY), Build(tmp_path / out).run):
        with pytest.raises(UserError, match="another"):
            start()


def test_building_is_deterministic_and_reports_its_steps(
    few_cells: dict[str, list[Cell]], few_sources: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    metas = [
        build(few_cells, tmp_path / name, EMBEDDED, TINY, lines.append, "2026-01-01", few_sources)
        for name in ("a", "b")
    ]
    assert metas[0] == metas[1]
    assert metas[0]["rows"] == 65
    assert metas[0]["fidelity"]["validation_accuracy"]["108"]["cells"] >= 40
    assert metas[0]["fidelity"]["test_accuracy"]["108"]["cells"] >= 20
    assert lines[1:3] == ["fold 1 of 2", "fold 2 of 2"]
    table = Table(open_folder(tmp_path / "a"))
    assert (len(table.members("s1")), len(table.members("s3"))) == (30, len(few_cells["s3"]))
    measured = table.query(few_cells["s3"][:20]).is_measured("validation_accuracy")
    assert measured.all()


@pytest.mark.parametrize("contents", [EMBEDDED, FIVE_VERTICES])
def test_measured_values_are_used_as_they_are_and_marked(
    contents: Contents, few_cells: dict[str, list[Cell]], few_sources: Path, tmp_path: Path
) -> None:
    build(few_cells, tmp_path / "table", contents, TINY, sources=few_sources)
    table = Table(open_folder(tmp_path / "table"))
    means = read_source(TEST_MEANS)
    of_hash = dict(zip([row.tobytes().hex() for row in means["hash"][:20]], means["test_mean3"], strict=False))
    for cell in few_cells["s3"]:
        found = table.query(cell)
        assert found.is_measured("test_accuracy") == (cell.hash in of_hash)
        assert found.source("test_accuracy") == ("measured" if cell.hash in of_hash else "predicted")
        if cell.hash in of_hash:
            assert found.test_accuracy == of_hash[cell.hash]
    sampled = table.query(few_cells["s1"])
    assert (sampled.validation_accuracy == sampled.measured_validation_accuracy).all() == contents.uses_single_repeats
    assert sampled.is_measured("validation_accuracy").all()


def test_measured_means_may_contain_a_diverged_training() -> None:
    """The numbers of cells in docs/table.md whose measured mean is more than 5 points below the estimate."""
    for name, cells, outliers in (("embedded", 3001, 17), ("nb101-5v", 2251, 10)):
        table = load_table(name)
        measured = table.column("measured_test_accuracy").ravel()
        gaps = table.values("validation_accuracy", 108).mean(axis=1) - measured
        assert (np.isfinite(measured).sum(), (gaps > 0.05).sum()) == (cells, outliers)
