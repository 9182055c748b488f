"""Row lookup by hash and by encoding in any numbering, single and batched; tables by name."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.encoding import encode_all, encode_architecture, encode_architectures, encode_graph
from nasbench1shot1.nasbench101.numbering import numberings
from nasbench1shot1.tables.columns import STANDARD as METRICS
from nasbench1shot1.tables.folder import open_folder
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table, load_table


@pytest.fixture(scope="module")
def embedded() -> Table:
    return load_table(PACKAGE_DATA / "table")


def drawn(space: str, n: int = 300) -> list[nb.Architecture]:
    rng = np.random.default_rng(0)
    return [nb.search_space(space).sample(rng) for _ in range(n)]


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_encodings_of_architectures_equal_the_encodings_of_their_cells(space: str) -> None:
    archs = drawn(space)
    codes = [arch.cell.encoding for arch in archs]
    assert [encode_architecture(arch) for arch in archs] == codes
    assert encode_architectures(archs).tolist() == encode_all(arch.cell for arch in archs).tolist() == codes


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
def test_every_query_form_finds_the_row_of_the_hash(embedded: Table, space: str) -> None:
    archs = drawn(space)
    expected = embedded.rows([arch.cell.hash for arch in archs]).tolist()
    assert embedded.hashes(expected) == [arch.cell.hash for arch in archs]
    assert embedded.rows(archs).tolist() == expected
    assert [embedded.row_of(arch) for arch in archs] == expected
    assert [embedded.row_of(arch.cell) for arch in archs] == expected
    assert [embedded.row_of(arch.cell.hash) for arch in archs] == expected
    mixed = [item for arch in archs for item in (arch, arch.cell, arch.cell.hash)]
    assert embedded.rows(mixed).tolist() == np.repeat(expected, 3).tolist()


def test_architectures_of_several_spaces_in_one_query(embedded: Table) -> None:
    archs = [*drawn("s1", 20), *drawn("s3", 20)]
    assert embedded.rows(archs).tolist() == [embedded.row_of(arch.cell.hash) for arch in archs]


def test_every_numbering_of_every_cell_is_found(embedded: Table) -> None:
    cells = np.asarray(embedded.column("cell"))
    codes, rows = numberings(cells)
    assert embedded.column("encoding").tolist() == codes.tolist()
    assert embedded.column("encoding_row").tolist() == rows.tolist()
    assert embedded.row_of_encoding(int(codes[-1])) == rows[-1]


def test_an_unknown_cell_is_named_by_its_hash(embedded: Table) -> None:
    chain = nb.Cell(np.eye(2, k=1, dtype=int), ["input", "output"])
    full = nb.Cell([[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["input", "conv3x3-bn-relu", "output"])
    unknown = next(cell for cell in (chain, full) if cell.hash not in set(embedded.hashes(np.arange(len(embedded)))))
    for ask in (unknown, unknown.hash, [unknown], [unknown.hash]):
        with pytest.raises(OutOfDomainError, match=unknown.hash):
            embedded.query(ask)
    # input to output: in none of the spaces
    arch = nb.Architecture("s1", ((0,), (0, 1), (0, 1), (0, 1), (0,)), (0, 0, 0, 0))
    for ask in (arch, [arch, arch]):
        with pytest.raises(OutOfDomainError, match=chain.hash):
            embedded.query(ask)


@pytest.mark.parametrize(
    "matrix, ops",
    [
        ([[0, 0], [0, 0]], ["input", "output"]),
        (np.eye(8, k=1, dtype=int).tolist(), ["input", *["conv3x3-bn-relu"] * 6, "output"]),
        (np.eye(3, k=1, dtype=int).tolist(), ["input", "conv5x5", "output"]),
    ],
)
def test_graphs_without_an_encoding_are_refused(embedded: Table, matrix: list[list[int]], ops: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        encode_graph(matrix, ops)
    with pytest.raises((InvalidInputError, OutOfDomainError)):
        embedded.query(nb.Cell(matrix, ops))


def test_first_and_last_label_must_be_input_and_output() -> None:
    with pytest.raises(InvalidInputError, match="label"):
        _ = nb.Cell(np.eye(3, k=1, dtype=int), ["conv3x3-bn-relu"] * 3).encoding


def test_a_cell_keeps_its_given_matrix_and_labels() -> None:
    rows = np.eye(3, k=1, dtype=int).tolist()
    cell = nb.Cell(rows, ["input", "maxpool3x3", "output"])
    rows[0][1] = 0
    assert cell.encoding == nb.Cell(np.eye(3, k=1, dtype=int), ["input", "maxpool3x3", "output"]).encoding
    assert nb.Cell.from_encoding(cell.encoding) == cell
    for again in (pickle.loads(pickle.dumps(cell)), copy.deepcopy(cell)):  # noqa: S301  our own
        assert again == cell and np.array_equal(again.matrix, cell.matrix)
        assert not again.matrix.flags.writeable


def test_single_values_agree_with_query(embedded: Table) -> None:
    for row in (0, 777, len(embedded) - 1):
        for epochs in embedded.epochs:
            found = embedded.query(embedded.hashes(row)[0], epochs)
            for metric in METRICS:
                np.testing.assert_equal(embedded.value(metric, row, epochs), getattr(found, metric))


def test_measurements_exclude_estimates(embedded: Table) -> None:
    for epochs in embedded.epochs:
        measured = embedded.measured("validation_accuracy", epochs)
        assert measured.shape == (len(embedded), 1)
        stored = embedded.column("measured_validation_accuracy")[:, embedded.epochs.index(epochs)]
        assert np.array_equal(np.isnan(measured), np.isnan(stored))
        assert (~np.isnan(measured)).sum() in (4270, 4361)
    assert (~np.isnan(embedded.measured("test_accuracy"))).sum() == 3001
    with pytest.raises(InvalidInputError, match="test_accuracy"):
        embedded.measured("test_acuracy")
    with pytest.raises(OutOfDomainError, match="108"):
        embedded.measured("validation_accuracy", 107)


def test_an_official_table_returns_all_its_measurements(measured_table: Table) -> None:
    every = measured_table.query(measured_table.hashes(np.arange(len(measured_table))), run="all")
    assert measured_table.measured("test_accuracy").tolist() == every.test_accuracy.tolist()


def test_a_table_in_memory_equals_the_table_in_its_folder(tmp_path: Path, measured_table: Table) -> None:
    folder = open_folder(measured_table._place)  # type: ignore[arg-type]
    there = Table.from_columns({n: np.array(c) for n, c in folder.columns.items()}, folder.meta)
    assert there.id == measured_table.id
    assert there.info()["folder"] == "memory"
    there.verify()
    again = pickle.loads(pickle.dumps(there))  # noqa: S301  our own
    arch = drawn("s1", 1)[0]
    assert again.query(arch).test_accuracy == measured_table.query(arch).test_accuracy
    there.save(tmp_path / "saved")
    assert load_table(tmp_path / "saved").id == measured_table.id


def test_columns_and_description_must_fit(measured_table: Table) -> None:
    folder = open_folder(measured_table._place)  # type: ignore[arg-type]
    columns = {n: np.array(c) for n, c in folder.columns.items()}
    with pytest.raises(InvalidInputError, match="test_accuracy"):
        Table.from_columns(columns | {"test_accuracy": columns["test_accuracy"][:5]}, folder.meta)
    with pytest.raises(InvalidInputError, match="repeats"):
        Table.from_columns(columns, folder.meta | {"repeats": 0})


def test_an_answer_is_shown_in_one_line_with_its_sources(embedded: Table) -> None:
    good = Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    found = embedded.query(good)
    assert repr(found) == (
        f"Metrics('{found.hash}', 108 epochs on cifar10: "
        f"validation_accuracy {found.validation_accuracy:.4f} (predicted), "
        f"test_accuracy {found.test_accuracy:.4f} (predicted), training_time {found.training_time:,.0f} s (predicted), "
        f"trainable_parameters {found.trainable_parameters:,}; {embedded.id})"
    )
    times = np.sort(embedded.query([good, other := nb.search_space("s1")[0]]).training_time)
    assert f"training_time {times[0]:,.0f} to {times[1]:,.0f} s (predicted)" in repr(embedded.query([good, other]))


def test_a_measured_answer_is_shown_as_measured(measured_table: Table) -> None:
    shown = repr(measured_table.query(measured_table.hashes(np.arange(3)), run="all"))
    assert shown.startswith("Metrics(3 networks, 108 epochs on cifar10: ") and "(measured)" in shown
    assert "predicted" not in shown


def test_the_text_of_an_architecture_is_looked_up_like_the_architecture(embedded: Table) -> None:
    archs = drawn("s2", 3)
    texts = list(map(str, archs))
    assert texts[0] in embedded and embedded.query(texts[0]).hash == archs[0].network_id
    assert embedded.query([texts[0], archs[1].network_id, archs[2]]).hash == embedded.query(archs).hash
    assert embedded.regret(texts[0]) == embedded.regret(archs[0]) != embedded.regret(archs[0].network_id)
    assert nb.score(texts[0], embedded) == nb.score(archs[0], embedded)
    for text, said in (("s1:0|0,1|0,2", "s1:0|0,1|0,2"), (texts[0].replace("conv3x3", "conv9x9"), "conv9x9")):
        with pytest.raises(InvalidInputError, match=re.escape(said)):
            embedded.query(text)


def test_an_unknown_metric_is_reported_with_the_metrics_of_the_table(embedded: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"known: [^)]*test_accuracy") as caught:
        embedded.about("latency_pixel3")
    assert "flops" not in str(caught.value) and "loss" not in str(caught.value)


def test_an_answer_survives_pickling(measured_table: Table) -> None:
    for ask in (drawn("s1", 1)[0], drawn("s1", 3)):
        metrics = measured_table.query(ask, run="all")
        again = pickle.loads(pickle.dumps(metrics))  # noqa: S301  our own
        assert repr(again) == repr(metrics)
        for name in METRICS:
            np.testing.assert_array_equal(getattr(again, name), getattr(metrics, name))
            np.testing.assert_array_equal(again.is_measured(name), metrics.is_measured(name))


def copies(metrics: Metrics) -> list[Metrics]:
    once = pickle.loads(pickle.dumps(metrics))  # noqa: S301  our own
    return [once, pickle.loads(pickle.dumps(once)), copy.deepcopy(metrics)]  # noqa: S301


def test_the_arrays_of_a_copied_answer_are_read_only(embedded: Table) -> None:
    for again in copies(embedded.query(embedded.hashes([0, 1]), run="all")):
        for values in (again.test_accuracy, again.trainable_parameters, again.is_measured("test_accuracy")):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 0


def test_a_copied_answer_explains_what_is_missing_like_the_answer() -> None:
    table = load_table("nb201")
    lacking, elsewhere = table.query(9, run=111, dataset="cifar100"), table.query(9, dataset="ImageNet16-120")
    for metrics in (lacking, *copies(lacking)):
        assert metrics.source("validation_accuracy") == "unknown for this repeat"
        assert metrics.source("flops") == "exact"
    for metrics in (elsewhere, *copies(elsewhere)):
        with refuses(OutOfDomainError, "latency_fpga", "ImageNet16-120", table.id, "cifar100"):
            metrics["latency_fpga"]
        with refuses(AttributeError, "latency_fpga", "ImageNet16-120", table.id, "cifar100"):
            _ = metrics.latency_fpga
        with refuses(InvalidInputError, "latency_fpgas"):
            metrics.is_measured("latency_fpgas")


def test_tables_are_opened_by_name(tmp_path: Path, measured_table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert load_table("embedded").id == load_table(PACKAGE_DATA / "table").id
    measured_table.save(tmp_path / "tables" / "mine")
    assert load_table("mine").id == measured_table.id
    with pytest.raises(InvalidInputError, match=r"embedded.*nb101-sample.*nb201.*mine"):
        load_table("another")
    monkeypatch.setenv("NB1SHOT1_TABLE", "mine")
    assert load_table().id == measured_table.id


def test_missing_encodings_have_row_minus_one(embedded: Table) -> None:
    codes, rows = numberings(np.asarray(embedded.column("cell"))[:50])
    wanted = np.concatenate([codes, np.array([0, 2**34], np.uint64)])
    assert embedded.rows_of_encodings(wanted).tolist() == [*rows.tolist(), -1, -1]


def test_values_come_from_the_table_and_measurements_are_real(embedded: Table, measured_table: Table) -> None:
    values = embedded.values("validation_accuracy", 36)
    assert values[:, 0].tolist() == [embedded.value("validation_accuracy", row, 36) for row in range(len(embedded))]
    assert np.isnan(embedded.values("test_accuracy", 36)).all()
    assert not embedded.is_measured("validation_accuracy")
    assert measured_table.is_measured("validation_accuracy")
    assert measured_table.values("test_accuracy").tolist() == measured_table.measured("test_accuracy").tolist()
    with pytest.raises(InvalidInputError):
        embedded.values("accuracy")


def test_a_path_is_opened_as_a_folder_whatever_its_name(
    tmp_path: Path, measured_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_table.save(tmp_path / "embedded")
    monkeypatch.chdir(tmp_path)
    assert load_table(Path("embedded")).id == load_table("./embedded").id == measured_table.id
    assert load_table("embedded").name == "nb101-embedded"


@pytest.mark.parametrize("named", ["folder", "name"])
def test_errors_mention_the_variable_only_if_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    table = tmp_path if named == "folder" else "nowhere"
    with pytest.raises(nb.InvalidInputError, match="table") as caught:
        nb.load_table(table)
    assert "NB1SHOT1_TABLE" not in str(caught.value)
    monkeypatch.setenv("NB1SHOT1_TABLE", str(table))
    with pytest.raises(nb.InvalidInputError, match="NB1SHOT1_TABLE"):
        nb.load_table()


def test_a_missing_value_is_missing_from_the_budget_or_from_the_table():
    table = nb.load_table()
    full, short = (table.query(table.hashes(np.arange(1))[0], epochs=epochs) for epochs in (108, 12))
    assert (full.source("test_accuracy"), short.source("test_accuracy")) == ("predicted", "not at 12 epochs")
    assert full.source("train_accuracy") == short.source("train_accuracy") == "not in this table"
