"""Importing files in NAS-Bench-101's format: values are restored bit for bit and faults are named."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import official_files as official
import pytest
from official_files import Training
from refusals import missing, refuses

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101 import official_files as official_nasbench101
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.official_files import METRICS
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import Table, load_table

CELLS = 40


@pytest.fixture(scope="module")
def trainings(real_cells: Path) -> list[Training]:
    """Real cells with made-up values, in the order of the official files: by cell, budget, repeat."""
    return official.made_up(official.graphs_of(real_cells, slice(0, CELLS)))


@pytest.fixture(scope="module")
def imported(trainings: list[Training], tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("imported")
    import_table(official.write_file(folder / "made_up.tfrecord", trainings), folder / "table")
    return load_table(folder / "table")


def expected(trainings: list[Training], halfway: bool = False) -> dict[tuple[str, int], np.ndarray]:
    """(repeats, 4) by hash and budget, in the file's order of repeats."""
    found: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    for training in trainings:
        key = training.graph.hash, int(training.epochs)
        found.setdefault(key, []).append(training.halfway if halfway else training.final)
    return {key: np.array(values) for key, values in found.items()}


def assert_holds(table: Table, trainings: list[Training]) -> None:
    """Every value of every training is in the table, bit for bit and in its order."""
    for halfway in (False, True):
        for (hash_, epochs), values in expected(trainings, halfway).items():
            metrics = table.query(hash_, epochs=epochs, run="all", halfway=halfway)
            for name, column in zip(METRICS, values.T, strict=True):
                np.testing.assert_array_equal(getattr(metrics, name), column, strict=True)


def test_every_double_of_the_file_is_restored(imported: Table, trainings: list[Training]) -> None:
    assert_holds(imported, trainings)
    assert (len(imported), imported.epochs, imported.repeats) == (CELLS, official.EPOCHS, 3)
    for training in trainings[:: 4 * 3]:
        metrics = imported.query(training.graph.hash)
        assert metrics.trainable_parameters == training.graph.parameters
        assert metrics.is_measured("test_accuracy")
        assert metrics.fidelity == ""
        assert imported.cell(int(imported.rows(training.graph.hash))).hash == training.graph.hash


def test_values_are_found_under_any_numbering_of_the_cell(imported: Table, trainings: list[Training]) -> None:
    found = 0
    for graph in {training.graph.hash: training.graph for training in trainings}.values():
        ops = graph.operations.split(",")
        n = len(ops)
        matrix = np.array([int(digit) for digit in graph.adjacency]).reshape(n, n)
        for v in range(1, n - 2):
            if not matrix[v, v + 1]:  # then the two vertices can be swapped
                order = [*range(v), v + 1, v, *range(v + 2, n)]
                other = Cell(matrix[order][:, order], [ops[i] for i in order])
                assert imported.query(other).training_time == imported.query(graph.hash).training_time
                found += 1
    assert found > 20


def test_the_table_records_its_source(imported: Table, trainings: list[Training]) -> None:
    info = imported.info()
    file = Path(info["folder"]).parent / "made_up.tfrecord"
    assert imported.id.startswith("made_up-v1-")
    assert info["source"] | {"key": ""} == {
        "file": "made_up.tfrecord",
        "size": file.stat().st_size,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "known": False,
        "records": len(trainings),
        "key": "",
    }
    accuracy = info["columns"]["validation_accuracy"]
    assert (accuracy["fidelity"], accuracy["images"], accuracy["rounded"]) == ("measured", 9984, "float32")
    assert imported.column("validation_accuracy").dtype == np.uint16
    assert imported.column("training_time").dtype == np.float32
    assert info["columns"]["halfway_test_accuracy"]["method"] == "second evaluation, after epoch " + (
        "2 of 4, 6 of 12, 18 of 36, 54 of 108"
    )
    assert info["columns"]["hash"]["fidelity"] == "exact"


def test_rows_do_not_depend_on_the_order_of_records(trainings: list[Training], tmp_path: Path) -> None:
    shuffled = [trainings[i] for i in np.random.default_rng(1).permutation(len(trainings))]
    import_table(official.write_file(tmp_path / "a.tfrecord", shuffled), tmp_path / "a")
    table = load_table(tmp_path / "a")
    assert_holds(table, shuffled)
    named = list(dict.fromkeys(training.graph.hash for training in shuffled))
    assert table.hashes(table.column("order")) == named
    ascending = sorted(trainings, key=lambda training: training.graph.hash)
    import_table(official.write_file(tmp_path / "b.tfrecord", ascending), tmp_path / "b")
    with pytest.raises(InvalidInputError, match="order"):
        load_table(tmp_path / "b").column("order")


def test_a_file_of_one_budget_one_repeat_and_one_cell_is_imported(trainings: list[Training], tmp_path: Path) -> None:
    import_table(official.write_file(tmp_path / "a.tfrecord", trainings[:1]), tmp_path / "a")
    table = load_table(tmp_path / "a")
    assert (len(table), table.epochs, table.repeats) == (1, (4,), 1)
    assert_holds(table, trainings[:1])


@pytest.mark.parametrize(
    ("name", "cells", "epochs", "repeats", "as_text"),
    [
        ("4v", 91, official.EPOCHS, 3, False),
        pytest.param("4v", 91, official.EPOCHS, 3, True, id="4v-strings"),
        ("5v", 2532, (4,), 1, False),
    ],
)
def test_ec_nas_files_can_be_imported(
    name: str, cells: int, epochs: tuple[int, ...], repeats: int, as_text: bool, shared: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    trainings = official.retrained(shared / f"ecnas_{name}_retrained.npz", as_text)
    import_table(official.write_file(tmp_path / "energy.tfrecord", trainings), tmp_path / "table")
    table = load_table(tmp_path / "table")
    assert (len(table), table.epochs, table.repeats, table.spaces) == (cells, epochs, repeats, ())
    assert_holds(table, trainings)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("energy.tfrecord is not one of NAS-Bench-101's official files (SHA-256 ")
    not_half = "energy.tfrecord: at 4, 12, 36, 108 epochs, half-way values are not from the middle of the training"
    assert said[1:] == ([not_half] if name == "4v" else [])


def test_a_space_is_listed_if_all_its_cells_are_present(tmp_path: Path) -> None:
    embedded = load_table(PACKAGE_DATA / "table")
    rows = np.unique(np.concatenate([embedded.members("s1"), np.arange(200)]))
    graphs = []
    for row, hash_ in zip(rows, embedded.hashes(rows), strict=True):
        cell = embedded.cell(int(row))
        bits = "".join(map(str, np.asarray(cell.matrix).ravel()))
        parameters = int(embedded.column("trainable_parameters")[row])
        graphs.append(official.Graph(hash_, bits, ",".join(cell.ops), parameters))
    file = official.write_file(tmp_path / "s1.tfrecord", official.made_up(graphs, (108,), 1))
    assert import_table(file, tmp_path / "s1")["spaces"] == ["s1"]
    table = load_table(tmp_path / "s1")
    assert table.hashes(table.members("s1")) == embedded.hashes(embedded.members("s1"))
    lacking = [graph for graph in graphs if graph.hash != table.hashes(table.members("s1"))[17]]
    file = official.write_file(tmp_path / "less.tfrecord", official.made_up(lacking, (108,), 1))
    assert import_table(file, tmp_path / "less")["spaces"] == []


# Known files ----------------------------------------------------------------------------------------------------


def test_a_known_file_is_confirmed_without_a_warning(
    trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = official.write_file(tmp_path / "renamed.tfrecord", trainings[:12])
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(official_nasbench101, "FULL", replace(official_nasbench101.FULL, sha256=digest))
    said: list[str] = []
    meta = import_table(file, tmp_path / "table", report=said.append)
    assert (said, meta["name"], meta["source"]["known"]) == ([], "nasbench_full", True)


def test_an_unknown_file_with_an_official_name_gives_a_warning(trainings: list[Training], tmp_path: Path) -> None:
    said: list[str] = []
    file = official.write_file(tmp_path / "nasbench_full.tfrecord", trainings[:12])
    meta = import_table(file, tmp_path / "table", report=said.append)
    assert len(said) == 1 and not missing(said[0], "nasbench_full.tfrecord", "SHA-256", "3d64db8180fb")
    assert meta["source"]["known"] is False


def test_the_published_digests_are_known() -> None:
    assert {file.file: file.sha256[:8] for file in (official_nasbench101.ONLY108, official_nasbench101.FULL)} == {
        "nasbench_only108.tfrecord": "4c39c393",
        "nasbench_full.tfrecord": "3d64db81",
    }


# Faulty records ---------------------------------------------------------------------------------------------------


def other_graph(training: Training, **parts: object) -> Training:
    return replace(training, graph=replace(training.graph, **parts))  # type: ignore[arg-type]


SQUARE = "0110000100010000"
CHAIN = "input,conv3x3-bn-relu,conv3x3-bn-relu,output"
WRONG: dict[str, tuple[Callable[[Training], Training], str]] = {
    "NaN": (lambda t: t.changed(2, validation=float("nan")), "final validation accuracy of nan, which must be a frac"),
    "above one": (lambda t: t.changed(1, test=1.0001), "half-way test accuracy of 1.0001, which must be a fraction"),
    "percent": (lambda t: t.changed(2, train=99.5), "final train accuracy of 99.5"),
    "below zero": (lambda t: t.changed(2, test=-0.1), "final test accuracy of -0.1"),
    "time": (lambda t: t.changed(2, seconds=-1.0), "final training time of -1.0 seconds"),
    "endless": (lambda t: t.changed(1, seconds=float("inf")), "half-way training time of inf seconds"),
    "two evaluations": (lambda t: replace(t, evaluations=t.evaluations[:2]), "has 2 evaluations, not three"),
    "budget": (lambda t: replace(t, epochs=50), "has a budget other than 4, 12, 36, 108: if that is right, list"),
    "half epoch": (lambda t: replace(t, epochs="4.0"), "has '4.0' epochs, which is not a whole number"),
    "operation": (
        lambda t: other_graph(t, adjacency=SQUARE, operations=CHAIN.replace("conv3x3", "conv5x5", 1)),
        "operations 'input,conv5x5-bn-relu,conv3x3-bn-relu,output': they must be input, some of conv3x3-bn-relu",
    ),
    "no input": (lambda t: other_graph(t, operations=CHAIN.replace("input", "in")), "has the operations 'in,"),
    "not square": (lambda t: other_graph(t, adjacency=SQUARE[:-1]), "which is not a square of digits 0 and 1"),
    "not digits": (lambda t: other_graph(t, adjacency="01x1" * 4), "which is not a square of digits 0 and 1"),
    "eight vertices": (lambda t: other_graph(t, adjacency="0" * 64), "has 8 vertices, but NAS-Bench-101's cells have"),
    "one vertex": (lambda t: other_graph(t, adjacency="0"), "has 1 vertices"),
    "edges": (
        lambda t: other_graph(t, adjacency="".join(("0" * (i + 1) + "1" * 7)[:5] for i in range(5))),
        "has 10 edges, but NAS-Bench-101's cells have at most 9",
    ),
    "not upper": (lambda t: other_graph(t, adjacency="0110" "0001" "0101" "0000"), "not strictly upper triangular"),
    "loop": (lambda t: other_graph(t, adjacency="0110" "0101" "0001" "0000"), "not strictly upper triangular"),
    "not pruned": (lambda t: other_graph(t, adjacency="0101" "0001" "0001" "0000"), "which is not pruned"),
    "no path": (lambda t: other_graph(t, adjacency="0110" "0000" "0000" "0000"), "which is not pruned"),
    "labels": (
        lambda t: other_graph(t, adjacency=SQUARE, operations="input,maxpool3x3,output"),
        "has a matrix of 4 vertices but 3 operations (input,maxpool3x3,output)",
    ),
    "hash": (lambda t: other_graph(t, hash="5e"), "has a hash that is not 32 hexadecimal digits"),
    "capitals": (lambda t: other_graph(t, hash=t.graph.hash.upper()), "has a hash that is not 32 hexadecimal digits"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_record_is_named_by_its_place_and_hash(fault: str, trainings: list[Training], tmp_path: Path) -> None:
    change, sentence = WRONG[fault]
    wrong = change(trainings[12])
    offset = len(b"".join(official.frame(official.payload(training)) for training in trainings[:12]))
    file = official.write_file(tmp_path / "a.tfrecord", [*trainings[:12], wrong, *trainings[13:]])
    with pytest.raises(InvalidInputError) as caught:
        import_table(file, tmp_path / "table")
    message = str(caught.value)
    assert message.startswith(f"a.tfrecord: the record at byte {offset:,} ")
    assert f"hash {wrong.graph.hash}" in message
    assert sentence in message
    assert "\n" not in message
    assert list(tmp_path.iterdir()) == [file]


def _broken_rows(row: list[object]) -> dict[str, tuple[bytes, str]]:
    """The content of a record, and what its error names."""
    text = json.dumps(row)
    metrics = str(row[4])
    return {
        "no JSON": (b"hello", "JSON"),
        "no UTF-8": (b'["\xff"]', "JSON"),
        "deep": (b"[" * 100_000, "JSON"),
        "no list": (b"5", "five"),
        "four": (json.dumps(row[:4]).encode(), "five"),
        "more": (text.encode() + b"[]", "JSON"),
        "hash": (json.dumps([[1], *row[1:]]).encode(), "[1]"),
        "matrix": (json.dumps([*row[:2], 7, *row[3:]]).encode(), "its adjacency"),
        "operations": (json.dumps([*row[:3], None, row[4]]).encode(), "its operations"),
        "epochs": (json.dumps([row[0], True, *row[2:]]).encode(), "True"),
        "no metrics": (json.dumps([*row[:4], {}]).encode(), "its metrics"),
        "no base64": (json.dumps([*row[:4], metrics[:41]]).encode(), "base64"),
        "no protobuf": (json.dumps([*row[:4], "/////w=="]).encode(), "protobuf"),
        "empty": (json.dumps([*row[:4], ""]).encode(), "0 evaluations"),
        "padded": (b"", "JSON"),
    }


ROW = ["0" * 32, 4, SQUARE, CHAIN, ""]


@pytest.mark.parametrize("fault", _broken_rows(ROW))
def test_a_payload_of_another_kind_is_refused(fault: str, trainings: list[Training], tmp_path: Path) -> None:
    row = json.loads(official.payload(trainings[0]))
    content, named = _broken_rows(row)[fault]
    file = official.write_payloads(tmp_path / "a.tfrecord", [content])
    with refuses(InvalidInputError, "a.tfrecord", "byte 0", named):
        import_table(file, tmp_path / "table")


def test_white_space_around_a_row_is_ignored(trainings: list[Training], tmp_path: Path) -> None:
    payloads = [b" " + official.payload(training) + b"\n" for training in trainings[:12]]
    import_table(official.write_payloads(tmp_path / "a.tfrecord", payloads), tmp_path / "table")
    assert_holds(load_table(tmp_path / "table"), trainings[:12])


@pytest.mark.parametrize("field", [1, 2, 3, 4, 5])
def test_a_missing_number_is_not_read_as_zero(
    field: int, trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = official.double
    monkeypatch.setattr(official, "double", lambda number, value: b"" if number == field else real(number, value))
    file = official.write_file(tmp_path / "a.tfrecord", trainings[:12])
    if field == 1:  # the epoch of an evaluation is not needed
        import_table(file, tmp_path / "table")
        return
    with pytest.raises(InvalidInputError, match="nan"):
        import_table(file, tmp_path / "table")


def test_missing_parameters_are_named(
    trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = official.metrics(trainings[0])
    without = content.replace(official.varint(2 << 3) + official.varint(trainings[0].graph.parameters), b"")
    assert len(without) < len(content)
    monkeypatch.setattr(official, "metrics", lambda training: without)
    with pytest.raises(InvalidInputError, match="-1 trainable"):
        import_table(official.write_file(tmp_path / "a.tfrecord", trainings[:1]), tmp_path / "table")


# Faults of the complete file --------------------------------------------------------------------------------------


def refused(trainings: list[Training], tmp_path: Path, *values: object) -> str:
    file = official.write_file(tmp_path / "a.tfrecord", trainings)
    with refuses(InvalidInputError, "a.tfrecord", *values) as caught:
        import_table(file, tmp_path / "table", report=lambda line: None)
    assert list(tmp_path.iterdir()) == [file]
    return str(caught.value)


def test_a_missing_repeat_is_named(trainings: list[Training], tmp_path: Path) -> None:
    refused([*trainings[:13], *trainings[14:]], tmp_path, trainings[13].graph.hash, 2, 4, 3)


def test_an_extra_repeat_is_named(trainings: list[Training], tmp_path: Path) -> None:
    refused([*trainings, trainings[20].changed(2, seconds=77.0)], tmp_path, trainings[20].graph.hash, 4, 36, 3)


def test_a_duplicate_record_is_named(trainings: list[Training], tmp_path: Path) -> None:
    for twice in ([*trainings, trainings[20]], [*trainings[:19], trainings[20], *trainings[20:]]):
        refused(twice, tmp_path, trainings[20].graph.hash, 36, "twice")
    everywhere = [again for training in trainings[:24] for again in (training, training)]
    refused(everywhere, tmp_path, "twice")


def test_a_cell_without_a_budget_is_named(trainings: list[Training], tmp_path: Path) -> None:
    hash_ = trainings[0].graph.hash
    refused([t for t in trainings if (t.graph.hash, t.epochs) != (hash_, 36)], tmp_path, hash_, 36)


def test_one_hash_with_two_graphs_or_parameter_counts_is_refused(trainings: list[Training], tmp_path: Path) -> None:
    graph = trainings[12].graph
    wrong = other_graph(trainings[1], adjacency=graph.adjacency, operations=graph.operations)
    refused([trainings[0], wrong], tmp_path, trainings[0].graph.hash, 4, "graph")
    wrong = other_graph(trainings[1], parameters=5)
    refused([trainings[0], wrong], tmp_path, trainings[0].graph.hash, 4, "parameters")


def test_two_hashes_of_one_cell_are_refused(
    trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "0" * 31 + "1"
    renamed = [other_graph(training, hash=other) for training in trainings[:12]]
    refused([*trainings, *renamed], tmp_path, other, trainings[0].graph.hash, "graph")
    monkeypatch.setattr("nasbench1shot1.nasbench101.keys.first_wrong_hash", lambda *rest: None)
    assert "graph" not in refused([*trainings, *renamed], tmp_path, other, trainings[0].graph.hash)


def test_hashes_of_a_large_file_are_sampled(
    trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(official_nasbench101, "_SAMPLE", 20)
    first = min(training.graph.hash for training in trainings)
    wrong = [other_graph(t, hash="0" * 32) if t.graph.hash == first else t for t in trainings]
    refused(wrong, tmp_path, "graph")


def test_only_the_given_budgets_are_allowed(trainings: list[Training], tmp_path: Path) -> None:
    short = [replace(training, epochs=50) for training in trainings if training.epochs == 4]
    file = official.write_file(tmp_path / "a.tfrecord", short)
    assert import_table(file, tmp_path / "table", epochs=[50, 200])["epochs"] == [50]
    with pytest.raises(InvalidInputError, match="4, 12"):
        import_table(file, tmp_path / "table", epochs=[4, 12])
    for impossible in ([0], [50, -1], [4.5]):
        with pytest.raises(InvalidInputError, match=r"^epochs\b"):
            import_table(file, tmp_path / "table", epochs=impossible)  # type: ignore[arg-type]


def test_impossible_targets_and_sources_are_refused(trainings: list[Training], tmp_path: Path) -> None:
    file = official.write_file(tmp_path / "a.tfrecord", trainings[:12])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    read: list[str] = []
    with pytest.raises(InvalidInputError, match="files"):
        import_table(file, tmp_path / "full", progress=lambda doing, fraction: read.append(doing))
    assert read == [], "the target is looked at before the file"
    with pytest.raises(UserError, match="write"):
        import_table(file, "/proc/nothing/table")
    for path in (tmp_path / "none.tfrecord", tmp_path):
        with pytest.raises(InvalidInputError, match="only108"):
            import_table(path, tmp_path / "table")


def test_an_import_replaces_a_table_only_when_complete(trainings: list[Training], tmp_path: Path) -> None:
    import_table(official.write_file(tmp_path / "a.tfrecord", trainings[:12]), tmp_path / "table")
    before = load_table(tmp_path / "table").id
    cut = official.write_file(tmp_path / "cut.tfrecord", trainings)
    cut.write_bytes(cut.read_bytes()[:-5])
    with pytest.raises(DamagedFileError, match="truncated"):
        import_table(cut, tmp_path / "table")
    assert load_table(tmp_path / "table").id == before
    import_table(official.write_file(tmp_path / "b.tfrecord", trainings), tmp_path / "table")
    assert len(load_table(tmp_path / "table")) == CELLS


def test_progress_goes_from_zero_to_the_total(
    trainings: list[Training], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench1shot1.nasbench101.tfrecords._BLOCK", 4096)
    said: list[tuple[str, float | None]] = []
    file = official.write_file(tmp_path / "a.tfrecord", trainings)
    import_table(file, tmp_path / "table", progress=lambda *step: said.append(step))
    fractions = [fraction for doing, fraction in said if doing == "reading"]
    assert fractions == [min(4096 * (i + 1) / file.stat().st_size, 1) for i in range(len(fractions))]
    assert fractions[-1] == 1
    assert sum(fraction is None for _, fraction in said) == 2
