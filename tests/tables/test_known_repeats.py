"""Columns that do not have the value of every repeat: means over repeats, and one value for all repeats."""

import pickle
from typing import Any

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.columns import Column, standard

SEEDS = [111, 777, 888]
ACCURACY = standard("validation_accuracy", "cifar10", epochs=(12, 200), means=(12,))
"""At 12 epochs a mean, at 200 epochs single repeats."""
ACCURACIES = np.array([[[0.5, np.nan, np.nan], [np.nan, 0.6, 0.7]], [[0.4, np.nan, np.nan], [0.8, np.nan, np.nan]]])
TESTS = np.array([[[0.9], [0.8]], [[0.7], [0.6]]])
"""Single repeats of seed 111 at 12 epochs, means at 200 epochs."""
SECONDS = np.array([[[10.0], [20.0]], [[30.0], [40.0]]])


def described(**changed: Any) -> nb.Table:
    """A table of two architectures; `changed` has other facts of its columns' entries, by column."""
    columns = {
        "validation_accuracy": (ACCURACY, ACCURACIES),
        "test_accuracy": (standard("test_accuracy", "cifar10", epochs=(12, 200), means=(200,)), TESTS),
        "training_time": (
            standard("training_time", "cifar10", epochs=(12, 200), is_same_for_repeats=True),
            SECONDS,
        ),
        "latency_phone": (
            Column(metric="latency_phone", quantity="latency", dataset="cifar10", also_of=("cifar100",), unit="ms"),
            np.array([1.0, 2.0]),
        ),
    }
    meta = {
        "name": "two",
        "version": "1",
        "keyed_by": "nasbench201",
        "datasets": ["cifar10", "cifar100", "ImageNet16-120"],
        "epochs": [12, 200],
        "repeats": 3,
        "seeds": SEEDS,
        "spaces": [],
        "columns": {name: about.entry(**changed.get(name, {})) for name, (about, _) in columns.items()},
    }
    values = {name: values for name, (_, values) in columns.items()}
    return nb.Table.from_columns({"index": np.arange(2, dtype=np.uint16), **values}, meta)


@pytest.fixture(scope="module")
def table() -> nb.Table:
    return described()


def query(table: nb.Table, x: Any, epochs: int, run: Any) -> Any:
    return table.query(x, epochs, run, np.random.default_rng(0), dataset="cifar10")


@pytest.mark.parametrize("x", [0, [0, 1]])
def test_a_mean_is_the_value_of_no_single_repeat(table: nb.Table, x: Any) -> None:
    first = np.asarray(x)
    for run, known in ((0, False), (777, False), ("mean", True), ("random", True)):
        found = query(table, x, 12, run).validation_accuracy
        assert np.array_equal(found, ACCURACIES[first, 0, 0] if known else np.full(first.shape, np.nan), equal_nan=True)
    assert np.array_equal(query(table, x, 12, "all").validation_accuracy, ACCURACIES[first, 0], equal_nan=True)


def test_the_reason_for_a_missing_value_is_stated(table: nb.Table) -> None:
    found = query(table, 0, 12, 777)
    assert found.source("validation_accuracy") == "only known as a mean over repeats"
    assert pickle.loads(pickle.dumps(found)).source("validation_accuracy") == found.source("validation_accuracy")  # noqa: S301
    assert query(table, 1, 200, 777).source("validation_accuracy") == "unknown for this repeat"


def test_single_and_batched_lookups_agree(table: nb.Table) -> None:
    for epochs in (12, 200):
        for run in ("mean", 0, 1, 2):
            together = query(table, [0, 1], epochs, run)
            for metric in ("validation_accuracy", "test_accuracy", "training_time", "latency_phone"):
                alone = [query(table, row, epochs, run)[metric] for row in (0, 1)]
                np.testing.assert_array_equal(together[metric], alone)
                read = [table.reader(metric, "cifar10")(row, epochs, run) for row in (0, 1)]
                np.testing.assert_array_equal(read, alone)


def test_a_draw_is_among_single_repeats_and_has_means_of_the_other_metrics(table: nb.Table) -> None:
    found = query(table, [0] * 50, 200, "random")
    assert set(found.validation_accuracy) == {0.6, 0.7}
    assert set(found.test_accuracy) == {0.8} and set(found.training_time) == {20.0}
    assert set(query(table, [1] * 50, 200, "random").validation_accuracy) == {0.8}
    assert [table.seeds_of(row, 200, "cifar10") for row in (0, 1)] == [(777, 888), (111,)]
    assert table.seeds_of(0, 12, "cifar10") == (111,)  # of the test accuracy


def test_one_value_applies_to_all_repeats(table: nb.Table) -> None:
    for run in ("mean", 0, 1, 2, 888):
        assert query(table, 1, 200, run).training_time == 40
        assert query(table, [0, 1], 12, run).training_time.tolist() == [10, 30]


def test_data_sets_share_a_column(table: nb.Table) -> None:
    for dataset in ("cifar10", "cifar100"):
        assert table.query([0, 1], dataset=dataset).latency_phone.tolist() == [1, 2]
        assert table.about("latency_phone", dataset).dataset == dataset
    with pytest.raises(nb.OutOfDomainError, match=r"ImageNet16-120.*cifar10 or cifar100"):
        table.query(0, dataset="ImageNet16-120")["latency_phone"]


def test_numbers_of_repeats(table: nb.Table) -> None:
    found = [table.repeats_of(metric, epochs, "cifar10") for metric in table.metrics for epochs in (12, 200)]
    assert found == [(1, 1), (1, 2), *[(1, 1)] * 6]
    assert table.repeats_of("train_accuracy", 12, "cifar10") == (0, 0)


def test_descriptions_survive_a_table_on_disk(table: nb.Table, tmp_path: Any) -> None:
    table.save(tmp_path / "two")
    opened = nb.load_table(tmp_path / "two")
    assert opened.description == table.description and opened.has_means
    assert opened.about("validation_accuracy", "cifar10") == ACCURACY


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"validation_accuracy": {"means": [36]}}, "means=.36.*12, 200"),
        ({"test_accuracy": {"epochs": [12], "means": [200]}}, "means at 200 epochs"),
        ({"validation_accuracy": {"is_same_for_repeats": True}}, r"\(2, 2, 1\).*same for all repeats"),
        ({"training_time": {"is_same_for_repeats": "yes"}}, "is_same_for_repeats"),
        ({"latency_phone": {"also_of": ["svhn"]}}, "also_of.*svhn"),
        ({"latency_phone": {"also_of": ["cifar10"]}}, "latency_phone and latency_phone alike"),
        ({"latency_phone": {"caveat": ""}}, "caveat"),
    ],
)
def test_impossible_descriptions_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        described(**changed)
