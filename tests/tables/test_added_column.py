"""`Table.with_column`, and the messages for mistakes in columns and descriptions."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.tables.columns import RESERVED, STANDARD, Column
from nasbench1shot1.tables.from_frame import KEYS
from nasbench1shot1.tables.metrics import _OTHERS

LATENCY = Column(metric="latency_edgegpu", quantity="latency", unit="ms", direction="lower", device="Jetson TX2")
ENERGY = Column(metric="energy", quantity="energy", dataset="cifar10", unit="mJ", direction="lower", epochs=(12, 200))
MILLISECONDS = np.random.default_rng(0).random(15_625)
FIFTH = "|nor_conv_1x1~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|none~1|avg_pool_3x3~2|"
"""The official string of architecture 5."""
GIVEN = [[1.0, 2.0], [3.0, 5.0]]
"""Energy of one architecture: budget, repeat."""


@pytest.fixture(scope="module")
def nb201() -> nb.Table:
    return nb.load_table("nb201")


@pytest.fixture(scope="module")
def known(nb201: nb.Table) -> nb.Table:
    """The table with a latency of all architectures, and an energy of two."""
    energies = {nb.search_space("nb201")[6111]: GIVEN, FIFTH: [[9.0, 8.0], [7.0, np.nan]]}
    return nb201.with_column(LATENCY, MILLISECONDS, method="one run").with_column(ENERGY, energies, name="costs")


def test_a_new_column_is_added_in_memory_and_saved(nb201: nb.Table, known: nb.Table, tmp_path: Path) -> None:
    assert (nb201.with_column(LATENCY, MILLISECONDS).name, known.name) == ("nb201-with-latency_edgegpu", "costs")
    assert known.metrics == (*nb201.metrics, "latency_edgegpu", "energy")
    assert len(nb201.metrics) == 38 and known.spaces == nb201.spaces
    known.save(tmp_path / "costs")
    opened = nb.load_table(tmp_path / "costs")
    opened.verify()
    assert opened.id == known.id
    for table in (known, opened):
        assert table.query(5, dataset="cifar100").latency_edgegpu == MILLISECONDS[5]
        np.testing.assert_array_equal(
            table.query([6111, 0], 12, "all", dataset="cifar10").energy, [[1, 2], [np.nan] * 2]
        )
        assert table.query(6111, dataset="cifar10").test_accuracy == nb201.query(6111, dataset="cifar10").test_accuracy


def test_the_description_of_the_new_table_is_right(nb201: nb.Table, known: nb.Table) -> None:
    about = known.info()
    assert (about["id"], about["folder"], about["name"]) == (known.id, "memory", "costs")
    assert "meta_sha256" not in about
    assert about["based_on"] == {"id": nb201.with_column(LATENCY, MILLISECONDS, method="one run").id}
    assert about["columns"]["cifar100.latency_edgegpu"] == LATENCY.entry(dataset="cifar100", method="one run")
    assert about["bytes"] > nb201.info()["bytes"]


def test_a_column_of_a_part_of_a_space_keeps_the_space() -> None:
    table = nb.load_table("nb101-sample").covering(nb.search_space("s1"), present=True)
    row = int(table.members("s1")[0])
    cheap = table.with_column(LATENCY, {table.hashes(row)[0]: 2.5})
    assert cheap.partial_note == table.partial_note
    assert cheap.query(table.network(row)).latency_edgegpu == 2.5
    assert (cheap.about("latency_edgegpu").dataset, cheap.id[:36]) == (
        "cifar10",
        "nb101-sample-with-latency_edgegpu-v1",
    )


def test_a_series_is_a_mapping_from_its_index(nb201: nb.Table) -> None:
    space = nb.search_space("nb201")
    latencies = {space[6111]: 2.5, space[5]: 7.0, space[0]: 3.0}
    indices: list[list[Any]] = [[str(arch) for arch in latencies], list(latencies), [6111, 5, 0]]
    for index in indices:
        table = nb201.with_column(LATENCY, pandas.Series(list(latencies.values()), index=index))
        assert table.values("latency_edgegpu")[[6111, 5, 0], 0].tolist() == [2.5, 7.0, 3.0]
        assert np.isfinite(table.values("latency_edgegpu")).sum() == 3
    whole = nb201.with_column(LATENCY, pandas.Series(MILLISECONDS))
    assert whole.values("latency_edgegpu")[:, 0].tolist() == MILLISECONDS.tolist()
    with refuses(nb.InvalidInputError, "latency_edgegpu", "twice"):
        nb201.with_column(LATENCY, pandas.Series([1.0, 2.0], index=[5, 5]))
    with refuses(nb.InvalidInputError, "'fast'"):
        nb201.with_column(LATENCY, pandas.Series([1.0], index=["fast"]))


def test_integers_of_numpy_describe_a_column_as_those_of_python() -> None:
    budgets = np.array([12, 200])
    for epochs in (budgets, tuple(budgets), budgets.tolist()):
        column = replace(ENERGY, epochs=epochs, means=epochs[:1])
        assert column == replace(ENERGY, means=(12,))
        assert {type(one) for one in (*column.epochs, *column.means)} == {int}
    curve = replace(LATENCY, moment=np.int64(12))
    assert curve == replace(LATENCY, moment=12) and type(curve.moment) is int
    assert json.loads(json.dumps(curve.entry()))["moment"] == 12


def test_changes_to_descriptions_do_not_change_the_table(known: nb.Table) -> None:
    before = known.description
    given = known.description
    table = nb.Table.from_columns(known.columns(), given)
    about, attributes = table.info(), table.to_frame().attrs
    for changed in (given, about, *attributes.values()):
        changed["datasets"].append("x")
        changed["epochs"].clear()
    about["columns"]["cifar10.energy"]["epochs"].append(7)
    assert table.description == before


def without(table: nb.Table, column: str) -> nb.Table:
    """The table without one of its columns."""
    columns, description = table.columns(), table.description
    del columns[column], description["columns"][column]
    return nb.Table.from_columns(columns, description)


def test_measurements_are_added_beside_estimates() -> None:
    embedded = without(nb.load_table("embedded"), "measured_test_accuracy")
    measured = Column(metric="test_accuracy", quantity="accuracy", split="test", unit="fraction", epochs=(108,))
    table = embedded.with_column(measured, {embedded.hashes(3)[0]: [[0.9]]})
    answer = table.query(embedded.hashes([3, 4]))
    assert answer.is_measured("test_accuracy").tolist() == [True, False]
    assert answer.test_accuracy.tolist() == embedded.query(embedded.hashes([3, 4])).test_accuracy.tolist()


def test_a_metric_may_have_the_name_of_a_column_that_is_not_a_metric() -> None:
    table = nb.load_table("nb101-sample")
    for metric in ("order", "orders", "cell", "member_s1"):
        added = table.with_column(replace(LATENCY, metric=metric), {table.cell(5): 2.5})
        assert added.query(table.cell(5))[metric] == 2.5


# Repeats --------------------------------------------------------------------------------------------------------------


def test_a_column_has_its_own_repeats(known: nb.Table) -> None:
    def energy(run: Any, **more: Any) -> Any:
        return known.query(6111, run=run, dataset="cifar10", **more).energy

    assert (known.repeats, energy("all").tolist()) == (4, [3.0, 5.0])
    assert [energy(run) for run in ("mean", 0, 1)] == [4, 3, 5]
    assert energy("random", rng=np.random.default_rng(0)) == 3, "the only training with an accuracy"
    assert known.query([5, 6111], run="mean", dataset="cifar10").energy.tolist() == [7, 4]
    assert np.isnan(energy(2))
    with pytest.raises(nb.OutOfDomainError, match=r"seed 4.*111, 777, 888 or 999"):
        energy(4)


def test_a_repeat_that_a_column_lacks_is_nan(known: nb.Table) -> None:
    one, many = (known.query(x, run=1, dataset="cifar10") for x in (6111, [6111, 5]))
    assert np.isnan([one.test_accuracy, *many.test_accuracy]).all()
    assert np.isnan(known.value("test_accuracy", 5, 200, 1, dataset="cifar10"))
    assert np.isnan(known.reader("test_accuracy", "cifar10")(5, 200, 1))
    assert one.latency_edgegpu == MILLISECONDS[6111], "one value applies to all repeats"


def test_a_further_accuracy_does_not_change_the_draws_of_other_metrics(nb201: nb.Table) -> None:
    robust = Column(metric="robust_accuracy", quantity="accuracy", dataset="cifar10-valid", epochs=(200,))
    attacked = nb201.with_column(robust, np.full((15_625, 1, 6), 0.5))  # six attacks; up to four seeds
    assert (nb201.seeds_of(5, 200, "cifar10-valid"), attacked.trained_repeats(5, 200, "cifar10-valid")) == (
        (777, 888, 999),
        (1, 2, 3),
    )
    one, other = (
        table.query([5] * 50, 200, "random", np.random.default_rng(0), dataset="cifar10-valid")
        for table in (nb201, attacked)
    )
    np.testing.assert_array_equal(one.validation_accuracy, other.validation_accuracy)
    assert set(other.robust_accuracy) == {0.5}


# Best and regret ------------------------------------------------------------------------------------------------------


def test_a_metric_that_is_equal_on_all_data_sets_needs_no_data_set(known: nb.Table) -> None:
    network, answer = known.best("nb201", metric="latency_edgegpu")
    assert answer.latency_edgegpu == MILLISECONDS.min()
    assert known.regret(network, metric="latency_edgegpu") == 0
    assert known.values("latency_edgegpu")[:, 0].tolist() == MILLISECONDS.tolist()
    assert known.mean_regret("nb201", metric="latency_edgegpu") == pytest.approx(
        MILLISECONDS.mean() - MILLISECONDS.min()
    )
    for metric in ("trainable_parameters", "energy", None):
        with pytest.raises(nb.InvalidInputError, match="trainings"):
            known.best("nb201", metric=metric)


def test_the_best_of_the_networks_with_a_value_is_the_reference_present(known: nb.Table) -> None:
    with pytest.raises(nb.OutOfDomainError, match=r"\b2\b.*15,625 networks.*reference=.present"):
        known.best("nb201", metric="energy", dataset="cifar10")
    network, answer = known.best("present", metric="energy", dataset="cifar10")
    assert (known.row_of(network), answer.energy) == (6111, 4)
    assert known.regret([5, 6111], "present", metric="energy", dataset="cifar10").tolist() == [3, 0]
    assert known.mean_regret("present", metric="energy", dataset="cifar10") == 1.5


def test_a_metric_of_another_data_set_is_refused_in_one_sentence(known: nb.Table) -> None:
    answer = known.query(5, dataset="cifar10-valid")
    sentence = f"the table {known.id} has energy only on cifar10 at the end of trainings"
    for ask in (
        lambda: known.best("nb201", metric="energy", dataset="cifar10-valid"),
        lambda: known.about("energy", "cifar10-valid"),
        lambda: answer["energy"],
    ):
        with pytest.raises(nb.OutOfDomainError, match=sentence):
            ask()
    with pytest.raises(AttributeError, match=sentence):
        _ = answer.energy


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"direction": "smaller"}, "direction='smaller'.*'higher'.*'lower'"),
        ({"dataset": "cifar11"}, "mean 'cifar10'"),
        ({"dataset": "cifar10", "epochs": (13,)}, r"epochs=\[13\].*\[12, 200\]"),
        ({"metric": "latency/gpu"}, "metric='latency/gpu'.*_"),
        ({"metric": "hash"}, "metric='hash'"),
        ({"epochs": (12,)}, "dataset='cifar10-valid'.*'cifar10'"),
        ({"metric": "flops"}, "flops.*cifar10-valid"),
    ],
)
def test_a_wrong_description_is_refused(nb201: nb.Table, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(nb.InvalidInputError, match=sentence):
        nb201.with_column(replace(LATENCY, **change), MILLISECONDS)


def test_metrics_cannot_have_the_name_of_another_attribute(nb201: nb.Table) -> None:
    answer = nb201.query(0, dataset="cifar10")
    attributes = {name for name in (*dir(type(answer)), *vars(answer), *_OTHERS) if not name.startswith("_")}
    assert attributes - set(STANDARD) | set(KEYS) == RESERVED
    for metric in KEYS:
        with refuses(nb.InvalidInputError, f"metric='{metric}'"):
            nb201.with_column(replace(LATENCY, metric=metric), MILLISECONDS)


@pytest.mark.parametrize("fact", [date(2020, 1, 1), np.int64(3), {1}, Path("x"), np.nan, [np.inf]], ids=repr)
def test_facts_that_cannot_be_written_are_refused(nb201: nb.Table, fact: Any) -> None:
    with refuses(nb.InvalidInputError, "description", "list", options=""):
        nb201.with_column(LATENCY, MILLISECONDS, when=fact)
    with refuses(nb.InvalidInputError, "description", "list", options=""):
        nb.Table.from_columns(nb201.columns(), {**nb201.description, "note": fact})


def test_later_changes_of_facts_have_no_effect(nb201: nb.Table) -> None:
    sources = ["mine"]
    table = nb201.with_column(LATENCY, MILLISECONDS, sources=sources)
    sources.append("yours")
    assert table.info()["columns"]["cifar10.latency_edgegpu"]["sources"] == ["mine"]


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        (LATENCY, MILLISECONDS[:5], r"\(5,\).*\(15625,\)"),
        (ENERGY, np.ones((15_625, 2)), r"\(15625, 2, repeats\).*\b12\b"),
        (ENERGY, {0: GIVEN, 1: [[1], [2]]}, r"\(2, 1\).*\(2, 2\).*NaN"),
        (LATENCY, {}, "values"),
        (LATENCY, {0: "fast"}, "numbers"),
        (LATENCY, {5: 1.0, FIFTH: 2.0}, "twice"),
        (LATENCY, {5: np.inf}, "infinite"),
        (replace(LATENCY, unit="fraction"), {5: 0.5, 6: 93.4}, r"93\.4.*\b0\b.*\b1\b"),
        (replace(ENERGY, unit="fraction"), {5: [[0.5, 0], [-0.25, 1]]}, r"-0\.25.*\b0\b.*\b1\b"),
        (replace(LATENCY, unit="fraction"), np.full(15_625, 93), r"\b93\b.*\b0\b.*\b1\b"),
    ],
)
def test_wrong_values_are_refused(nb201: nb.Table, column: Column, values: Any, sentence: str) -> None:
    with pytest.raises(nb.InvalidInputError, match=sentence) as refused:
        nb201.with_column(column, values)
    assert "reinstall" not in str(refused.value)


def test_a_table_is_created_again_from_its_columns_and_its_description(known: nb.Table, nb201: nb.Table) -> None:
    assert nb.Table.from_columns(known.columns(), known.description).id == known.id
    embedded = nb.load_table("embedded")
    assert nb.Table.from_columns(embedded.columns(), embedded.description).id == embedded.id
    about = nb201.info()
    with pytest.raises(nb.InvalidInputError, match=r"\['nb201'\]"):
        nb.Table.from_columns(nb201.columns(), about)
    again = nb.Table.from_columns(nb201.columns(), {**about, "spaces": list(about["spaces"]), "name": "mine"}).info()
    assert again["id"].startswith("mine-v2-") and again["folder"] == "memory"


@pytest.mark.parametrize(
    ("value", "sentence"), [(93.4, r"93\.4.*\b0\b.*\b1\b"), (np.inf, "infinite"), (-np.inf, "infinite")]
)
def test_impossible_values_are_refused(value: float, sentence: str) -> None:
    table = nb.load_table("nb101-5v")
    columns = table.columns()
    accuracies = columns["test_accuracy"].astype(np.float64)
    accuracies[:3, 0, 0] = 0, 1, np.nan
    assert nb.Table.from_columns({**columns, "test_accuracy": accuracies.copy()}, table.description)
    accuracies[7] = value
    with pytest.raises(nb.InvalidInputError, match=f"test_accuracy.*{sentence}"):
        nb.Table.from_columns({**columns, "test_accuracy": accuracies}, table.description)


def test_a_column_without_a_description_is_refused(nb201: nb.Table) -> None:
    with pytest.raises(nb.InvalidInputError, match=r"meta\['columns'\]"):
        nb.Table.from_columns({**nb201.columns(), "latency": MILLISECONDS}, nb201.description)


def test_table_info_shows_the_description_and_the_gaps(
    known: nb.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    known.save(tmp_path / "costs")
    main(["table", "info", "--table", str(tmp_path / "costs")])
    shown = capsys.readouterr().out
    assert "measured; ms; lower is better; on Jetson TX2; on all data sets" in shown
    assert "mJ; lower is better; 2 repeats at 12 epochs; 1 to 2 repeats at 200 epochs; 2 of 15,625 rows; on " in shown
    assert "means over repeats at 12 epochs; on cifar10-valid" in shown
    assert "modelled; ms; lower is better; on FPGA; on cifar10-valid, cifar10, cifar100" in shown
    assert "on Pixel 3; Almost all of the 291 architectures below 1.07 ms" in shown
    assert shown.count("│ flops ") == 1 and "exact; lower is better; on all data sets" in shown
    assert "flops@cifar10=" in shown and "member_nb201" in shown
