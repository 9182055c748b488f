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
from nasbench1shot1.nasbench101.embedded_table import build
from nasbench1shot1.nasbench101.encoding import Encodings, from_arrays, to_arrays
from nasbench1shot1.nasbench101.estimation import (
    Settings,
    Shrinkage,
    fit_error_curve,
    fit_shrinkages,
    folds_by_hash,
    pooled_noise,
    validation_test_pairs,
)
from nasbench1shot1.nasbench101.features import CellArrays, features, path_counts, trainable_parameters, vertex_channels
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.nasbench101.sample import OFFICIAL_PAIRS, RETRAINED, SAMPLE, Sample, read_sample, read_source
from nasbench1shot1.tables.folder import open_folder
from nasbench1shot1.tables.table import Table

TINY = Settings(folds=2, trees=5, epochs=1)


@pytest.fixture(scope="module")
def sample() -> Sample:
    return read_sample()


def _arrays(matrix: list[list[int]], operations: list[int]) -> CellArrays:
    n = len(matrix)
    adjacency = np.zeros((1, 7, 7), np.int64)
    adjacency[0, :n, :n] = matrix
    padded = np.array([operations + [-1] * (5 - len(operations))])
    return CellArrays.from_encodings(from_arrays(adjacency, padded, np.array([n])))


def test_bundled_sources_equal_the_shared_ones(shared: Path) -> None:
    for copy in sorted((PACKAGE_DATA / "sources").glob("*.npz")):
        assert copy.read_bytes() == (shared / copy.name).read_bytes()


def test_parameter_counts_of_every_real_row_agree(sample: Sample) -> None:
    counted = trainable_parameters(CellArrays.from_encodings(sample.encodings))
    assert np.array_equal(counted, sample.parameters)


def test_extreme_parameter_counts() -> None:
    # Fewest: one narrow vertex reads the input, and four poolings read it. Most: full width everywhere.
    narrow = [[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0], *[[0] * 6 + [1]] * 4, [0] * 7]
    wide = [[0, 1, 1, 1, 0, 0, 1], *[[int(y == x + 1) for y in range(7)] for x in range(1, 7)]]
    assert trainable_parameters(_arrays(narrow, [2] * 5)).item() == 227_274
    assert trainable_parameters(_arrays(wide, [0] * 5)).item() == 49_979_274


def test_channels_are_divided_and_the_first_vertices_take_the_remainder() -> None:
    three = [[0, 1, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0] * 5]
    assert vertex_channels(_arrays(three, [0, 1, 2]), 128).tolist() == [[0, 43, 43, 42, 0, 0, 128]]


def test_the_sample_is_numbered_canonically(sample: Sample) -> None:
    assert np.array_equal(canonicalise(sample.encodings), sample.encodings)


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


def test_canonical_form_and_features_do_not_depend_on_the_numbering(sample: Sample) -> None:
    codes = sample.encodings[:300]
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


def test_folds_depend_only_on_the_hash(sample: Sample) -> None:
    folds = folds_by_hash(sample.hashes, 10)
    expected = [int(bytes(row[:4]).hex(), 16) % 10 for row in sample.hashes.view(np.uint8).reshape(-1, 16)]
    assert folds.tolist() == expected


def test_noise_of_repeats_is_recovered() -> None:
    repeats = np.random.default_rng(0).normal(0, 0.3, (4000, 3)) + np.arange(4000)[:, None]
    assert pooled_noise(repeats) == pytest.approx(0.3, rel=0.05)


def test_the_weight_is_the_share_of_variance_common_to_trainings_of_a_cell() -> None:
    rng = np.random.default_rng(0)
    own, luck = rng.normal(0, 0.03, (20_000, 1)), rng.normal(0, 0.04, (20_000, 2))
    repeats = rng.normal(0, 0.02, (4000, 3))
    for shrinkage in fit_shrinkages(own + luck, [repeats, repeats]):
        assert shrinkage.weight == pytest.approx(9 / 25, abs=0.03)
        assert shrinkage.sd == pytest.approx(0.05, rel=0.03)
        assert shrinkage.weight_by_repeats == pytest.approx(21 / 25, abs=0.03)


def test_the_better_neighbour_determines_the_weight() -> None:
    rng = np.random.default_rng(0)
    independent, own = rng.normal(0, 1, (5000, 1)), rng.normal(0, 1, (5000, 1))
    residuals = np.hstack([independent, own + rng.normal(0, 1, (5000, 1)), own + rng.normal(0, 1, (5000, 1))])
    found = fit_shrinkages(residuals, [rng.normal(0, 1, (50, 3))] * 3)
    assert [shrinkage.weight for shrinkage in found] == pytest.approx([0, 0.5, 0.5], abs=0.05)


def test_a_diverged_repeat_hardly_changes_the_estimate() -> None:
    predicted = np.zeros(2)
    drawn = Shrinkage(weight=0.4, sd=0.05).shrink(predicted, np.array([0.1, 2.0]))
    assert drawn == pytest.approx([0.04, 0.4 * 3 * 0.05])


def test_test_error_rises_with_validation_error(sample: Sample) -> None:
    validation, test = validation_test_pairs(sample)
    curve = fit_error_curve(validation, test)
    error = np.linspace(0.04, 0.95, 2000)
    assert (np.diff(curve(error)) > 0).all()
    gap = curve(np.array([0.06, 0.08, 0.12])) - [0.06, 0.08, 0.12]
    assert gap == pytest.approx([0.0064, 0.0062, 0.004], abs=0.0012)
    with pytest.raises(ValueError, match="increase"):
        fit_error_curve(validation, 0.05 / validation)


def test_a_damaged_source_is_named(tmp_path: Path) -> None:
    (tmp_path / "nb101_partial_val.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(DamagedFileError, match="nb101_partial_val"):
        read_sample(tmp_path)


@pytest.mark.parametrize("name", [RETRAINED, OFFICIAL_PAIRS])
def test_a_source_with_a_missing_array_is_named(name: str, tmp_path: Path) -> None:
    arrays = read_source(name)
    np.savez(tmp_path / name, **{key: values for key, values in arrays.items() if key != "test_acc"})
    with pytest.raises(DamagedFileError, match=rf"{name} .*test_acc"):
        read_source(name, tmp_path)


@pytest.fixture
def few_cells(sample: Sample) -> dict[str, list[Cell]]:
    measured = [Cell.from_encoding(int(code)) for code in sample.encodings[:40]]
    straight = [
        Cell(np.eye(n, k=1, dtype=int), ["input", *[op] * (n - 2), "output"]) for n in (3, 4) for op in OPERATIONS
    ]
    return {"s1": measured[:30], "s3": measured[20:] + straight}


@pytest.fixture
def few_sources(tmp_path: Path) -> Path:
    """The sources with the first 1,500 cells of the sample."""
    folder = tmp_path / "sources"
    shutil.copytree(PACKAGE_DATA / "sources", folder)
    with np.load(folder / SAMPLE, allow_pickle=False) as arrays:
        cut = {name: values if name == "epochs" else values[:1500] for name, values in arrays.items()}
    np.savez(folder / SAMPLE, **cut)
    return folder


def test_a_missing_extra_is_named(
    few_cells: dict[str, list[Cell]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench1shot1.nasbench101.embedded_table.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"\[table\]"):
        build(few_cells, tmp_path / "out", TINY)
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
    monkeypatch.setattr("nasbench1shot1.nasbench101.embedded_table.read_sample", work)
    monkeypatch.setattr("nasbench1shot1.registry.search_space", work)
    for start in (lambda: build({}, tmp_path / out, TINY), Build(tmp_path / out).run):
        with pytest.raises(UserError, match="another"):
            start()


def test_building_is_deterministic_and_reports_its_steps(
    few_cells: dict[str, list[Cell]], few_sources: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    metas = [build(few_cells, tmp_path / name, TINY, lines.append, "2026-01-01", few_sources) for name in ("a", "b")]
    assert metas[0] == metas[1]
    assert metas[0]["rows"] == 46
    assert metas[0]["fidelity"]["validation_accuracy"]["108"]["cells"] == 40
    assert lines[1:3] == ["fold 1 of 2", "fold 2 of 2"]
    table = Table(open_folder(tmp_path / "a"))
    assert (len(table.members("s1")), len(table.members("s3"))) == (30, 26)
    measured = table.query(few_cells["s3"]).is_measured("validation_accuracy")
    assert measured.tolist() == [True] * 20 + [False] * 6
