"""The real sample as a table: every measurement exactly, and no other values."""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest

import nasbench1shot1
import nasbench1shot1 as nb
from nasbench1shot1.ground.files import PACKAGE_DATA, read_npz
from nasbench1shot1.nasbench101.sample import sample_columns
from nasbench1shot1.tables.table import Table

SAMPLE = PACKAGE_DATA / "sources" / "nb101_partial_val.npz"


@pytest.fixture(scope="module")
def table() -> Table:
    return Table.from_columns(*sample_columns())


def test_every_value_equals_the_source_bit_for_bit(table):
    with np.load(SAMPLE, allow_pickle=False) as source:
        assert [bytes(row).hex() for row in source["hash"]] == table.hashes(np.arange(len(table)))
        for i, epochs in enumerate((4, 12, 36, 108)):
            stored = table.measured("validation_accuracy", epochs)[:, 0]
            assert np.array_equal(stored.view(np.uint64), source["valid_acc"][:, i].view(np.uint64))
        assert np.array_equal(table.measured("training_time")[:, 0], source["train_time_s_e108"])
        assert np.array_equal(table.column("trainable_parameters"), source["params"])


def test_medians_equal_known_values(table):
    medians = [np.median(table.measured("validation_accuracy", epochs)) for epochs in (4, 12, 36, 108)]
    assert np.round(medians, 3).tolist() == [0.234, 0.553, 0.867, 0.916]
    assert table.measured("validation_accuracy").max() == pytest.approx(0.9491, abs=5e-5)


def test_rows_are_sorted_by_the_hashes_of_their_cells(table):
    hashes = table.hashes(np.arange(len(table)))
    assert len(table) == 27_001
    assert hashes == sorted(set(hashes))
    for row in range(0, len(table), 997):
        assert table.cell(row).hash == hashes[row]


def test_unmeasured_values_are_missing(table):
    assert (table.name, table.repeats, table.spaces) == ("nb101-sample", 1, ())
    for metric in ("test_accuracy", "train_accuracy"):
        assert not table.is_measured(metric)
        assert np.isnan(table.values(metric)).all()
    assert np.isnan(table.values("training_time", 36)).all()
    metrics = table.query("00005c142e6f48ac74fdcf73e3439874")
    assert (metrics.validation_accuracy, metrics.training_time) == (
        pytest.approx(0.93049, abs=5e-6),
        pytest.approx(1768.98, abs=0.01),
    )
    assert metrics.is_measured("validation_accuracy")
    assert metrics.fidelity == ""
    with pytest.raises(nb.OutOfDomainError, match="repeat 1"):
        table.query("00005c142e6f48ac74fdcf73e3439874", run=1)


def test_opening_by_name_always_gives_the_same_table(table, monkeypatch):
    assert nb.load_table("nb101-sample").id == table.id
    monkeypatch.setenv("NB1SHOT1_TABLE", "nb101-sample")
    assert nb.load_table().id == table.id


def test_a_saved_and_reopened_table_gives_equal_answers(table, tmp_path):
    table.save(tmp_path / "sample")
    opened = nb.load_table(tmp_path / "sample")
    assert opened.id == table.id
    assert np.array_equal(opened.measured("validation_accuracy", 12), table.measured("validation_accuracy", 12))


def test_a_damaged_source_is_named(tmp_path):
    shutil.copy(SAMPLE, tmp_path / SAMPLE.name)
    whole = SAMPLE.read_bytes()
    (tmp_path / SAMPLE.name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(nb.DamagedFileError, match="reinstall"):
        sample_columns(tmp_path)


# Layers ---------------------------------------------------------------------------------------------------------------

PACKAGE = Path(nasbench1shot1.__file__).parent
BELOW = {"architecture", "benchmark", "choices", "configurable", "constraint", "ground", "runs", "space", "tables"}


def imported(file: Path) -> set[str]:
    """Parts of this package that a file imports anywhere."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("nasbench1shot1.")}


def test_tables_import_no_benchmark() -> None:
    against = {file.name: imported(file) - BELOW for file in (PACKAGE / "tables").glob("*.py")}
    assert {name: found for name, found in against.items() if found} == {}


def test_a_space_that_is_not_complete_in_the_table_is_not_a_reference() -> None:
    sample = nb.load_table("nb101-sample")
    with pytest.raises(nb.InvalidInputError, match=r"'s1'.*nb101.*'nb101'"):
        sample.best("s1")


def test_a_sample_with_a_missing_array_is_refused(tmp_path: Path, real_cells: Path) -> None:
    arrays = read_npz(real_cells)
    np.savez(tmp_path / real_cells.name, **{name: array for name, array in arrays.items() if name != "params"})
    with pytest.raises(nb.DamagedFileError, match="reinstall"):
        sample_columns(tmp_path)
