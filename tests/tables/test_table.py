"""Tables of both kinds: a small one in the official shape, and the embedded one."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.commands.query import Query
from nasbench1shot1.evaluator import score
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, UserError
from nasbench1shot1.ground.files import PACKAGE_DATA, atomic_folder
from nasbench1shot1.nasbench101.cell import OPERATIONS, Cell
from nasbench1shot1.nasbench101.sources import TEST_MEANS, read_source
from nasbench1shot1.one_shot_search.captions import table_text
from nasbench1shot1.registry import search_space
from nasbench1shot1.tables.columns import standard
from nasbench1shot1.tables.description import CHECKSUM, Meta, content_sha256
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.tables.writing import write_table
from tests.helpers.refusals import refuses

EPOCHS, REPEATS = (4, 108), 3
CHAIN = np.eye(3, k=1, dtype=int)
CELLS = sorted((Cell(CHAIN, ["input", op, "output"]) for op in OPERATIONS), key=lambda cell: cell.hash)
CORRECT = np.array(
    [[[500, 600, 700], [9000, 9100, 9200]], [[1, 2, 3], [9000, 9200, 9100]], [[4, 5, 6], [8000, 8500, 8100]]]
)
"""Images answered right, of 9,984: cells × budgets × repeats. The first two cells tie in the mean at 108 epochs."""


def official_shape() -> tuple[Columns, Meta]:
    accuracy = (CORRECT / 9984).astype(np.float32)
    about: dict[str, Any] = {"epochs": list(EPOCHS), "fidelity": "measured", "images": 9984}
    columns: Columns = {
        "hash": np.array([list(bytes.fromhex(cell.hash)) for cell in CELLS], np.uint8),
        "cell": np.array([cell.encoding for cell in CELLS], np.uint64),
        "trainable_parameters": np.array([10, 20, 30], np.int32),
        "member_s1": np.array([1, 2], np.int32),
        "validation_accuracy": accuracy,
        "test_accuracy": accuracy[:, 1:],
        "training_time": np.arange(18, dtype=np.float32).reshape(3, 2, 3),
        "halfway_validation_accuracy": accuracy / 2,
    }
    meta: Meta = {
        "name": "tiny",
        "version": "2",
        "keyed_by": "nasbench101",
        "datasets": ["cifar10"],
        "epochs": list(EPOCHS),
        "repeats": REPEATS,
        "spaces": ["s1"],
        "columns": {
            "validation_accuracy": about,
            "test_accuracy": about | {"epochs": [108]},
            "training_time": about | {"images": None},
            "halfway_validation_accuracy": standard(
                "validation_accuracy", "cifar10", epochs=EPOCHS, moment="halfway"
            ).entry(),
        },
    }
    return columns, meta


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path / "tiny", *official_shape())
    return tmp_path / "tiny"


@pytest.fixture
def tiny(folder: Path) -> Table:
    return load_table(folder)


@pytest.fixture(scope="module")
def embedded() -> Table:
    return load_table(PACKAGE_DATA / "table")


@pytest.fixture(scope="module")
def sample(real_cells: Path) -> dict[str, Any]:
    with np.load(real_cells, allow_pickle=False) as arrays:
        return {**arrays, "text": [bytes(row).hex() for row in arrays["hash"]]}


# Queries of a table in the official shape


def test_the_mean_is_over_the_repeats(tiny: Table) -> None:
    found = tiny.query(CELLS[0])
    assert found.validation_accuracy == 9100 / 9984
    assert found.training_time == 4.0
    assert (found.trainable_parameters, found.hash, found.epochs) == (10, CELLS[0].hash, 108)
    assert found.table_id == tiny.id


def test_single_repeats_are_exact_fractions(tiny: Table) -> None:
    for k in range(REPEATS):
        found = tiny.query(CELLS, epochs=4, run=k)
        assert found.validation_accuracy.tolist() == [c / 9984 for c in CORRECT[:, 0, k]]
        assert found.measured_validation_accuracy.tolist() == found.validation_accuracy.tolist()


def test_run_all_adds_a_last_axis(tiny: Table) -> None:
    assert tiny.query(CELLS[1], run="all").validation_accuracy.tolist() == [9000 / 9984, 9200 / 9984, 9100 / 9984]
    found = tiny.query(CELLS, run="all")
    assert found.test_accuracy.shape == found.is_measured("test_accuracy").shape == (3, 3)
    assert np.isnan(found.train_accuracy).all() and found.train_accuracy.shape == (3, 3)
    assert found.flops.shape == (3,)  # a single value, whatever the repeat, even though this table lacks it
    assert np.ndim(tiny.query(CELLS[1], run="all").flops) == 0


def test_a_random_draw_takes_the_same_repeat_for_every_column(tiny: Table) -> None:
    found = tiny.query(CELLS * 200, run="random", rng=np.random.default_rng(0))
    rows = np.tile(np.arange(3), 200)
    repeat = found.training_time.astype(int) % 3
    assert found.validation_accuracy.tolist() == (CORRECT[rows, 1, repeat] / 9984).tolist()
    assert np.bincount(repeat).min() > 150
    again = tiny.query(CELLS * 200, run="random", rng=np.random.default_rng(0))
    assert again.training_time.tolist() == found.training_time.tolist()
    with pytest.raises(InvalidInputError, match="rng"):
        tiny.query(CELLS[0], run="random")


def test_rounding_of_halfway_values(tiny: Table) -> None:
    found = tiny.query(CELLS[0], halfway=True, run=0)
    assert found.validation_accuracy == pytest.approx(9000 / 9984 / 2)
    assert np.isnan(found.test_accuracy)


def test_queries_outside_the_table_are_refused(tiny: Table, embedded: Table) -> None:
    for ask in (lambda: tiny.query(CELLS[0], run=3), lambda: tiny.query(CELLS[0], run=-1)):
        with pytest.raises(OutOfDomainError, match="repeat"):
            ask()
    with pytest.raises(OutOfDomainError, match="use 4 or 108"):
        tiny.query(CELLS[0], epochs=36)
    with pytest.raises(OutOfDomainError, match="half-way"):
        embedded.query(embedded.hashes(0)[0], halfway=True)
    with pytest.raises(InvalidInputError, match="mean 'mean'"):
        tiny.query(CELLS[0], run="maen")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="mean 'test_accuracy'"):
        tiny.query(CELLS[0]).is_measured("test_acuracy")


def test_unknown_cells_are_named_in_the_error(tiny: Table) -> None:
    for unknown in ("0" * 32, "f" * 32):
        with pytest.raises(OutOfDomainError, match=unknown):
            tiny.query([CELLS[0].hash, unknown])
    for nonsense in ("abc", "G" * 32, 7):
        with pytest.raises(InvalidInputError, match="looked"):
            tiny.query([nonsense])  # type: ignore[list-item]


def test_a_table_contains_its_cells_and_refuses_what_cannot_be_looked_up(tiny: Table) -> None:
    assert CELLS[0] in tiny and CELLS[0].hash in tiny
    assert "0" * 32 not in tiny
    with pytest.raises(InvalidInputError, match="looked"):
        assert "abc" in tiny


def test_an_empty_sequence_gives_empty_answers(tiny: Table, embedded: Table) -> None:
    found = tiny.query([])
    assert found.validation_accuracy.shape == found.trainable_parameters.shape == (0,)
    assert found.is_measured("test_accuracy").shape == (0,)
    assert found.hash == ()
    assert tiny.query([], run="all").validation_accuracy.shape == (0, REPEATS)
    assert tiny.query([], run="random", rng=np.random.default_rng(0)).training_time.shape == (0,)
    assert tiny.rows([]).shape == tiny.regret([]).shape == tiny.regret([], reference="s1").shape == (0,)
    assert embedded.query([]).test_accuracy.shape == (0,)
    with pytest.raises(InvalidInputError, match="reference"):
        tiny.regret([], reference="s9")


def test_a_generator_is_accepted_as_a_sequence(tiny: Table) -> None:
    assert tiny.regret(cell for cell in CELLS).tolist() == tiny.regret(CELLS).tolist()
    found = tiny.query(cell.hash for cell in CELLS)
    assert found.hash == tuple(cell.hash for cell in CELLS)
    assert found.validation_accuracy.shape == (3,)


@pytest.mark.parametrize("run", [False, True, 0.0, 0.5, None, [0], np.array([0, 1]), b"mean"], ids=repr)
def test_invalid_repeats_are_refused(tiny: Table, run: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^run\b.*'mean'.*'random'.*'all'"):
        tiny.query(CELLS, run=run)


@pytest.mark.parametrize("epochs", [True, 108.5, "108", [108], np.array([4, 108])], ids=repr)
def test_invalid_epochs_are_refused(tiny: Table, epochs: Any) -> None:
    for ask in (tiny.query, tiny.regret):
        with pytest.raises(InvalidInputError, match=r"^epochs\b.*give 4.*\b108\b"):
            ask(CELLS, epochs=epochs)


@pytest.mark.parametrize("rows", [[10**9], [-1], "x", [1.5], None, [True], [[0], [0, 1]], 10**400], ids=str)
def test_what_is_not_a_row_is_refused(tiny: Table, rows: Any) -> None:
    for ask in (tiny.hashes, tiny.network, tiny.cell, tiny.seeds_of):
        with pytest.raises(InvalidInputError):
            ask(rows)
    assert tiny.hashes([]) == []


@pytest.mark.parametrize("code", ["x", 2.0, None, True, [1], -1, 2**70], ids=repr)
def test_what_is_not_an_encoding_is_refused(tiny: Table, code: Any) -> None:
    with pytest.raises(InvalidInputError, match="encoding"):
        tiny.row_of_encoding(code)


@pytest.mark.parametrize("halfway", [None, 1, "yes", np.array([True, False])], ids=repr)
def test_half_way_is_true_or_false(tiny: Table, halfway: Any) -> None:
    with pytest.raises(InvalidInputError):
        tiny.query(CELLS, halfway=halfway)


@pytest.mark.parametrize("nothing", [None, 3, 2.5, np.array(3)], ids=repr)
def test_arguments_that_are_neither_items_nor_sequences_are_refused(tiny: Table, nothing: Any) -> None:
    for ask in (tiny.query, tiny.regret, tiny.rows):
        with pytest.raises(InvalidInputError, match="looked"):
            ask(nothing)


@pytest.mark.parametrize("odd", [3, ["s1"], np.array(["s1", "s1"])], ids=repr)
def test_invalid_names_are_refused(tiny: Table, odd: Any) -> None:
    for ask in (
        lambda: tiny.regret(CELLS, reference=odd),
        lambda: tiny.regret(CELLS, split=odd),
        lambda: tiny.best(odd),
        lambda: tiny.members(odd),
        lambda: tiny.column(odd),
        lambda: tiny.query(CELLS).is_measured(odd),
    ):
        with pytest.raises(InvalidInputError, match="unknown"):
            ask()


def test_a_seed_is_refused_in_place_of_a_generator(tiny: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"^rng\b"):
        tiny.query(CELLS, run="random", rng=3)  # type: ignore[arg-type]


def test_numpy_integers_are_accepted(tiny: Table) -> None:
    found = tiny.query(CELLS, epochs=np.int64(4), run=np.uint8(2))  # type: ignore[arg-type]
    assert found.validation_accuracy.tolist() == [c / 9984 for c in CORRECT[:, 0, 2]]
    assert type(found.epochs) is int
    assert tiny.regret(CELLS, epochs=np.int32(108)).tolist() == tiny.regret(CELLS).tolist()  # type: ignore[arg-type]


def test_metrics_are_read_only(tiny: Table) -> None:
    for run in ("mean", "all"):
        found = tiny.query(CELLS, run=run)  # type: ignore[arg-type]
        for array in (found.validation_accuracy, found.trainable_parameters, found.is_measured("test_accuracy")):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


# Regret


def test_regret_is_relative_to_the_best_mean(tiny: Table) -> None:
    regret = tiny.regret(CELLS)
    assert regret[:2].tolist() == [0.0, 0.0]
    assert regret[2] == pytest.approx((9100 - 8200) / 9984)
    assert tiny.regret(CELLS[2], reference="s1") == regret[2]


def test_a_value_is_that_of_a_query() -> None:
    table = load_table("nb201")
    for given in ({}, {"budget": 200}, {"epochs": 200, "budget": 200}, {"epochs": 12}, {"budget": 12}):
        queried = table.query(0, dataset="cifar100", **given).test_accuracy
        assert table.value("test_accuracy", 0, dataset="cifar100", **given) == queried


def test_best_ties_go_to_the_lowest_hash(tiny: Table) -> None:
    assert tiny.best("nb101")[0] == CELLS[0]
    cell, metrics = tiny.best("s1", split="test")
    assert cell == CELLS[1]
    assert metrics.hash == CELLS[1].hash


def test_the_reference_is_the_space_of_the_architecture(embedded: Table) -> None:
    first = Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
    second = Architecture.parse("s3:0|1|1|0,1|0,1|0,5:conv3x3,conv1x1,maxpool3x3,conv3x3,conv3x3")
    assert embedded.regret([first, second]).tolist() == [
        embedded.regret(first, reference="s1"),
        embedded.regret(second, reference="s3"),
    ]
    assert embedded.regret(first.cell) == embedded.regret(first, reference="nb101") >= embedded.regret(first)


def test_an_architecture_outside_its_space_has_no_regret_there(embedded: Table) -> None:
    best = "0|0|0|0,1|2,4|0,5:" + ",".join(["conv3x3"] * 5)  # the best cell of s3, and better than all cells of s2
    arch, member = Architecture.parse(f"s2:{best}"), search_space("s2")[0]
    for items in (arch, str(arch), [member, arch]):
        with refuses(InvalidInputError, str(arch), "7,773", "s2"):
            embedded.regret(items)
    with refuses(InvalidInputError, str(arch), "7,773", "s2"):
        score(arch, embedded)
    assert embedded.regret(arch, "s2") < 0 <= embedded.regret(arch, "nb101")
    assert embedded.regret(f"s3:{best}") == embedded.regret(arch, "s3") == 0


def test_regret_is_never_nan(tiny: Table, embedded: Table) -> None:
    with pytest.raises(OutOfDomainError, match=r"accuracy.*36"):
        embedded.regret(embedded.hashes(5)[0], epochs=36)
    with pytest.raises(OutOfDomainError, match=r"accuracy.*\b4\b"):
        tiny.best("s1", "test", 4)
    with pytest.raises(InvalidInputError, match="mean 's1'"):
        tiny.regret(CELLS[0], reference="s11")
    with pytest.raises(InvalidInputError, match="split"):
        tiny.regret(CELLS[0], split="tset")  # type: ignore[arg-type]


# The embedded table


def test_the_embedded_table_has_its_rows(embedded: Table) -> None:
    assert len(embedded) == 66_111
    rows = {space: set(embedded.members(space).tolist()) for space in embedded.spaces}
    assert {space: len(of_space) for space, of_space in rows.items()} == {"s1": 2685, "s2": 7773, "s3": 55854}
    assert [len(rows[a] & rows[b]) for a, b in (("s1", "s2"), ("s1", "s3"), ("s2", "s3"))] == [0, 201, 0]
    assert len(set.union(*rows.values())) == 66_111


def test_embedded_cells_have_their_hash(embedded: Table) -> None:
    for row in range(0, len(embedded), 997):
        assert embedded.cell(row).hash == embedded.hashes(row)[0]
        assert embedded.rows(embedded.cell(row)) == row
    everywhere = embedded.hashes(np.arange(len(embedded)))
    assert everywhere == sorted(everywhere)
    assert np.array_equal(embedded.rows(everywhere), np.arange(len(embedded)))


def test_parameter_counts_of_the_embedded_table(embedded: Table, sample: dict[str, Any]) -> None:
    own = set(embedded.hashes(np.arange(len(embedded))))
    inside = [i for i, text in enumerate(sample["text"]) if text in own]
    found = embedded.query([sample["text"][i] for i in inside])
    assert len(inside) == 4270
    assert np.array_equal(found.trainable_parameters, sample["params"][inside])
    assert embedded.column("trainable_parameters").max() == 49_979_274
    seconds = embedded.column("measured_training_time")[embedded.rows(list(found.hash)), 0, 0]
    assert np.array_equal(seconds, sample["train_time_s_e108"][inside].astype(np.float32))


def test_every_measurement_is_kept_exactly(embedded: Table, sample: dict[str, Any]) -> None:
    own = set(embedded.hashes(np.arange(len(embedded))))
    inside = [i for i, text in enumerate(sample["text"]) if text in own]
    for e, epochs in enumerate((4, 12, 36, 108)):
        found = embedded.query([sample["text"][i] for i in inside], epochs)
        k = np.rint(sample["valid_acc"][inside, e] * 9984)
        assert np.array_equal(found.measured_validation_accuracy, k / 9984)
        assert found.is_measured("validation_accuracy").all()
        assert found.is_measured("training_time").all() == (epochs == 108)
        known = ~np.isnan(embedded.column("measured_validation_accuracy")[:, e])
        assert known.sum() == (4361 if epochs == 108 else 4270)  # 91 further cells have a repeat at 108 epochs only


def test_measured_test_accuracies_are_the_official_means(embedded: Table) -> None:
    arrays = read_source(TEST_MEANS)
    means = dict(zip([row.tobytes().hex() for row in arrays["hash"]], arrays["test_mean3"], strict=True))
    every = embedded.hashes(np.arange(len(embedded)))
    found = embedded.query(every)
    measured = found.is_measured("test_accuracy")
    assert measured.tolist() == [text in means for text in every]
    assert measured.sum() == 3001
    assert found.test_accuracy[measured].tolist() == [means[text] for text in every if text in means]
    assert np.array_equal(found.test_accuracy[measured], embedded.measured("test_accuracy")[measured, 0])


@pytest.mark.parametrize("read", [lambda found: found, lambda found: pickle.loads(pickle.dumps(found))])  # noqa: S301
def test_an_estimate_is_not_a_measurement_whatever_it_is_based_on(
    embedded: Table, read: Callable[[Metrics], Metrics]
) -> None:
    both = embedded.measured("test_accuracy")[:, 0], embedded.measured("validation_accuracy")[:, 0]
    row = int(np.isfinite(both).all(axis=0).argmax())
    texts = embedded.hashes([row, row + 1])
    found, one = read(embedded.query(texts)), read(embedded.query(texts[0]))
    assert one.is_measured("validation_accuracy") is one.is_measured("test_accuracy") is True
    assert one.is_measurement("test_accuracy") is one.is_measurement("trainable_parameters") is True
    assert one.is_measurement("validation_accuracy") is False
    assert found.is_measurement("validation_accuracy").tolist() == [False, False]
    assert np.array_equal(found.is_measurement("test_accuracy"), found.is_measured("test_accuracy"))
    with pytest.raises(InvalidInputError, match="test_acuracy"):
        one.is_measurement("test_acuracy")


@pytest.mark.parametrize(("space", "optimum"), [("s1", 0.942007), ("s2", 0.939670)])
def test_the_best_cells_are_the_published_optima(embedded: Table, space: str, optimum: float) -> None:
    _, metrics = embedded.best(space)
    assert metrics.test_accuracy == pytest.approx(optimum, abs=5e-7)
    assert metrics.source("test_accuracy") == "measured"


def test_values_are_nan_exactly_where_no_source_has_them(embedded: Table) -> None:
    every = embedded.hashes(np.arange(len(embedded)))
    for epochs in embedded.epochs:
        found = embedded.query(every, epochs)
        assert not np.isnan(found.validation_accuracy).any()
        assert not np.isnan(found.training_time).any()
        assert np.isnan(found.train_accuracy).all()
        assert np.isnan(found.test_accuracy).all() == (epochs != 108)
        assert np.isnan(found.test_accuracy).any() == (epochs != 108)


def test_embedded_values_are_plausible(embedded: Table) -> None:
    found = embedded.query(embedded.hashes(np.arange(len(embedded))))
    assert 0.940 < found.validation_accuracy.max() < 0.952
    assert 0.935 < found.test_accuracy.max() < 0.945
    good = found.validation_accuracy > 0.9
    gap = found.validation_accuracy[good] - found.test_accuracy[good]
    assert (gap > 0).all()
    assert 0.006 < np.median(gap) < 0.009
    assert (gap > 0.05).sum() < 20  # measured means that include a diverged training
    early = embedded.query(embedded.hashes(7)[0], epochs=36)
    assert embedded.query(embedded.hashes(7)[0]).training_time == pytest.approx(early.training_time * 3, rel=1e-6)


def test_the_single_repeat_of_the_embedded_table_is_its_estimate(embedded: Table) -> None:
    some = embedded.hashes([3, 1, 4])
    mean, zero = embedded.query(some), embedded.query(some, run=0)
    drawn = embedded.query(some, run="random", rng=np.random.default_rng(0))
    assert mean.validation_accuracy.tolist() == zero.validation_accuracy.tolist() == drawn.validation_accuracy.tolist()
    for run in (1, 2):
        with pytest.raises(OutOfDomainError, match="repeat"):
            embedded.query(some, run=run)


@pytest.mark.parametrize("split", ["test", "validation"])
@pytest.mark.parametrize("space", ["s1", "s2", "s3", "nb101"])
def test_regret_in_a_space_is_never_negative(embedded: Table, space: str, split: Any) -> None:
    regret = embedded.regret(embedded.hashes(embedded.members(space)), reference=space, split=split)
    assert regret.min() == 0.0
    assert embedded.mean_regret(space, split) == pytest.approx(regret.mean())
    cell, metrics = embedded.best(space, split=split)
    assert embedded.regret(cell, reference=space, split=split) == 0.0
    assert embedded.rows(metrics.hash) in embedded.members(space)


def test_one_and_many_agree(embedded: Table) -> None:
    texts = embedded.hashes(np.arange(0, 66_000, 6_001))
    many = embedded.query(texts, 108)
    for i, text in enumerate(texts):
        one = embedded.query(text, 108)
        for name in ("validation_accuracy", "test_accuracy", "training_time", "trainable_parameters", "hash"):
            assert getattr(one, name) == getattr(many, name)[i]
        assert one.is_measured("validation_accuracy") == many.is_measured("validation_accuracy")[i]
        assert isinstance(one.is_measured("training_time"), bool)
        assert embedded.regret(text) == embedded.regret(texts)[i]


def test_fidelity_meets_the_documented_values(embedded: Table) -> None:
    scores = embedded.info()["fidelity"]["validation_accuracy"]["108"]
    assert scores["cells"] == 4361
    assert scores["spearman"] >= 0.985
    assert scores["spearman_above_0.9"] >= 0.971
    tested = embedded.info()["fidelity"]["test_accuracy"]["108"]
    assert tested["cells"] == 3001
    assert tested["spearman"] >= 0.988
    assert tested["spearman_above_0.93"] >= 0.75
    assert tested["regret_of_best"] <= 0.004


def test_every_answer_states_its_fidelity(tiny: Table, embedded: Table) -> None:
    both = (
        "validation accuracy predicted, held-out Spearman 0.985; "
        "test accuracy measured or predicted, held-out Spearman 0.988"
    )
    some = embedded.hashes([0, 1])
    assert embedded.query(some).fidelity == embedded.fidelity() == embedded.best("s1")[1].fidelity == both
    assert embedded.query(some, epochs=36).fidelity == "validation accuracy predicted, held-out Spearman 0.966"
    assert tiny.query(CELLS).fidelity == tiny.fidelity(4) == ""
    with pytest.raises(OutOfDomainError, match=r"\b5\b"):
        tiny.fidelity(5)


@pytest.mark.parametrize("scores", [{}, {"validation_accuracy": 1}, {"validation_accuracy": {"108": {"spearman": ""}}}])
def test_estimates_without_scores_are_described_as_predicted(folder: Path, scores: dict[str, Any]) -> None:
    described = json.loads((folder / "meta.json").read_text()) | {"fidelity": scores}
    for validation, test, said in (
        ("measured", "estimated", "test accuracy predicted"),
        ("estimated", "estimated", "test accuracy predicted from it"),
        ("predicted", "predicted", "test accuracy predicted"),
    ):
        described["columns"]["validation_accuracy"]["fidelity"] = validation
        described["columns"]["test_accuracy"]["fidelity"] = test
        (folder / "meta.json").write_text(json.dumps(described | {CHECKSUM: content_sha256(described)}))
        assert load_table(folder).fidelity().endswith(said)


def test_query_distinguishes_measured_predicted_and_shrunk_values(
    embedded: Table, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sources(what: str, table: Path | None = None) -> tuple[dict[str, str], str]:
        Query(what, table=str(table or PACKAGE_DATA / "table")).run()
        screen = capsys.readouterr().out
        cut = [[part.strip() for part in line.split("│")] for line in screen.splitlines() if "│" in line]
        return {line[1]: line[3] for line in cut}, screen.splitlines()[-1]

    measured = ~np.isnan(embedded.column("measured_validation_accuracy")[:, -1, 0])
    drawn_in, said = sources(embedded.hashes(int(np.argmax(measured)))[0])
    assert drawn_in["validation_accuracy"] == drawn_in["training_time"] == "predicted, shrunk toward a measurement"
    tested = ~np.isnan(embedded.column("measured_test_accuracy")[:, 0, 0])
    assert sources(embedded.hashes(int(np.argmax(tested)))[0])[0]["test_accuracy"] == "measured"
    assert sources(embedded.hashes(int(np.argmin(tested)))[0])[0]["test_accuracy"] == "predicted"
    assert said == embedded.fidelity()
    assert sources(embedded.hashes(int(np.argmin(measured)))[0])[0]["validation_accuracy"] == "predicted"
    official, last = sources(CELLS[0].hash, folder)
    assert official["validation_accuracy"] == official["test_accuracy"] == "measured"
    assert (official["trainable_parameters"], official["train_accuracy"]) == ("exact", "not in this table")
    assert "predicted" not in last


def test_a_caption_states_the_fidelity(embedded: Table) -> None:
    frame = pandas.DataFrame({"test_measured": [False]})
    assert table_text([frame], embedded.id, embedded.fidelity()).endswith(embedded.fidelity())
    assert table_text([frame], embedded.id) == table_text([frame], embedded.id, "")


def test_files_are_small_and_complete(embedded: Table) -> None:
    embedded.verify()
    assert all(file.stat().st_size < 2_000_000 for file in (PACKAGE_DATA / "table").iterdir())
    json.dumps(embedded.info())


def test_columns_are_read_only(embedded: Table) -> None:
    with pytest.raises(ValueError, match="read-only"):
        embedded.column("validation_accuracy")[0] = 1
    with pytest.raises(InvalidInputError, match="mean 'test_accuracy'"):
        embedded.column("test_acuracy")


# Files


def test_the_environment_variable_selects_the_table(folder: Path, tiny: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NB1SHOT1_TABLE", str(folder))
    assert load_table().id == tiny.id
    assert load_table(PACKAGE_DATA / "table").name == "nb101-embedded"
    monkeypatch.delenv("NB1SHOT1_TABLE")
    assert load_table().name == "nb101-embedded"


def test_the_id_depends_on_the_content(tmp_path: Path, tiny: Table) -> None:
    columns, meta = official_shape()
    columns["trainable_parameters"] = columns["trainable_parameters"] + 1
    write_table(tmp_path / "other", columns, meta)
    assert tiny.id.startswith("tiny-v2-")
    assert len(tiny.id) == len("tiny-v2-") + 7
    assert load_table(tmp_path / "other").id != tiny.id


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [_cut, _flip, Path.unlink], ids=["truncated", "changed", "missing"])
def test_damaged_columns_are_refused(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder / "test_accuracy.npy")
    with pytest.raises(DamagedFileError, match=r"test_accuracy.*again"):
        load_table(folder)


def test_a_truncated_column_of_a_large_table_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench1shot1.tables.folder.CHECKED_AT_LOAD", 0)
    _flip(folder / "hash.npy")
    with pytest.raises(DamagedFileError, match="hash"):
        load_table(folder).verify()
    _cut(folder / "hash.npy")
    with pytest.raises(DamagedFileError, match="hash"):
        load_table(folder)


def test_wrong_descriptions_are_refused(folder: Path) -> None:
    described = json.loads((folder / "meta.json").read_text())
    for content, error in (
        ("{", DamagedFileError),
        (json.dumps(described | {"format": 99}), InvalidInputError),
        ("[]", InvalidInputError),
        (json.dumps({k: v for k, v in described.items() if k != "epochs"}), DamagedFileError),
        (json.dumps(described | {"rows": 4}), DamagedFileError),
        (json.dumps(described | {"columns": 7}), DamagedFileError),
        (json.dumps(described | {"columns": described["columns"] | {"test_accuracy": 7}}), DamagedFileError),
        (json.dumps(described | {"columns": {}}), DamagedFileError),
    ):
        (folder / "meta.json").write_text(content)
        with pytest.raises(error):
            load_table(folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 7),
        ("version", None),
        ("rows", "3"),
        ("rows", True),
        ("epochs", 108),
        ("epochs", ["a"]),
        ("epochs", []),
        ("epochs", [108, 4]),
        ("epochs", [4.0, 108.0]),
        ("repeats", 0),
        ("spaces", "s1"),
        ("spaces", [1]),
        ("fidelity", 3),
    ],
)
def test_impossible_descriptions_are_refused(folder: Path, field: str, value: object) -> None:
    described = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(described | {field: value}))
    with pytest.raises(DamagedFileError, match=rf"meta\.json .*{field}"):
        load_table(folder)


@pytest.mark.parametrize(
    "about", [{"epochs": 108}, {"epochs": ["a"]}, {"epochs": [36]}, {"images": "x"}, {"sha256": 1}]
)
def test_impossible_descriptions_of_a_column_are_refused(folder: Path, about: dict[str, object]) -> None:
    described = json.loads((folder / "meta.json").read_text())
    described["columns"]["training_time"] |= about
    (folder / "meta.json").write_text(json.dumps(described))
    with pytest.raises(DamagedFileError, match="training_time"):
        load_table(folder)


def test_a_space_without_rows_is_refused(folder: Path) -> None:
    described = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(described | {"spaces": ["s1", "s2"]}))
    with pytest.raises(DamagedFileError, match="member_s2"):
        load_table(folder)


def test_a_missing_table_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="table"):
        load_table(tmp_path)


def test_writing_replaces_tables_and_nothing_else(folder: Path) -> None:
    columns, meta = official_shape()
    write_table(folder, columns, meta | {"version": "3"})
    assert load_table(folder).version == "3"
    (folder / "meta.json").unlink()
    with pytest.raises(InvalidInputError, match="files"):
        write_table(folder, columns, meta)
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_a_failed_write_keeps_the_old_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = load_table(folder).id
    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UserError, match="space"):
        write_table(folder, *official_shape())
    assert load_table(folder).id == before
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


KILLED = """
import os, signal, sys, numpy as np
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_table import official_shape
from nasbench1shot1.tables.writing import write_table
saved, save = [], np.save
def save_or_die(*args, **kwargs):
    if len(saved) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    saved.append(save(*args, **kwargs))
np.save = save_or_die
write_table(Path(sys.argv[1]), *official_shape())
"""


def test_a_killed_write_leaves_no_partial_table(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(arguments, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    write_table(tmp_path / "killed", *official_shape())
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]


TWO_BUILDERS = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_table import official_shape
from nasbench1shot1.tables.writing import write_table
for _ in range(15):
    write_table(Path(sys.argv[1]), *official_shape())
"""


def test_two_concurrent_builders_both_succeed(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", TWO_BUILDERS, str(tmp_path / "both"), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    builders = [subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [builder.communicate()[1] for builder in builders] == ["", ""]
    load_table(tmp_path / "both").verify()
    assert [path.name for path in tmp_path.iterdir()] == ["both"]


def test_a_builder_does_not_delete_another_builders_files(folder: Path) -> None:
    with atomic_folder(folder) as beside:
        (beside / "column").write_text("of the first")
        write_table(folder, official_shape()[0], official_shape()[1] | {"version": "3"})
        assert load_table(folder).version == "3"
        assert (beside / "column").read_text() == "of the first"
    assert [path.name for path in folder.iterdir()] == ["column"]
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_an_interrupted_swap_keeps_the_old_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.suffix == ".part":
            raise KeyboardInterrupt
        return rename(self, target)

    before = load_table(folder).id
    monkeypatch.setattr("nasbench1shot1.ground.folder_swap._try_exchange", lambda new, folder: False)  # atomically
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_table(folder, *official_shape())
    assert load_table(folder).id == before
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_a_table_in_the_working_directory_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new table is another folder: a shell would stay in the old one, which is deleted."""
    monkeypatch.chdir(folder)
    before = load_table(folder).version
    with pytest.raises(InvalidInputError, match="current folder"):
        write_table(Path(), official_shape()[0], official_shape()[1] | {"version": "3"})
    assert Path.cwd().samefile(folder) and load_table(folder).version == before
    monkeypatch.chdir(folder.parent)
    write_table(Path(folder.name), official_shape()[0], official_shape()[1] | {"version": "3"})
    assert load_table(folder).version == "3"


def test_a_copied_table_is_equal(tmp_path: Path, embedded: Table) -> None:
    shutil.copytree(PACKAGE_DATA / "table", tmp_path / "copy")
    assert load_table(tmp_path / "copy").id == embedded.id


def test_a_table_is_pickled_as_its_path(
    tmp_path: Path, tiny: Table, embedded: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for table in (tiny, embedded, load_table("tiny")):
        sent = pickle.dumps(table)
        monkeypatch.chdir(PACKAGE_DATA)
        assert len(sent) < 1000
        again = pickle.loads(sent)  # noqa: S301  our own bytes
        assert (again.id, len(again)) == (table.id, len(table))
        assert again.regret(again.hashes(0)) == table.regret(table.hashes(0))
