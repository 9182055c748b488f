"""Conversion of a NASBench object (published or ours) to a table."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from official_files import Training
from small_official import small_trainings

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.nasbench101.official_files import METRICS


def published(trainings: list[Training]) -> SimpleNamespace:
    """Imitate the published object with these trainings."""
    fixed: dict[str, Any] = {}
    computed: dict[str, Any] = {}
    for training in trainings:
        graph, operations = training.graph, training.graph.operations.split(",")
        bits = np.array([int(digit) for digit in graph.adjacency], np.int8)
        fixed[graph.hash] = {
            "module_adjacency": bits.reshape(len(operations), -1),
            "module_operations": operations,
            "trainable_parameters": graph.parameters,
        }
        values = {}
        for when, numbers in (("halfway_", training.halfway), ("final_", training.final)):
            values |= {when + name: value for name, value in zip(METRICS, numbers, strict=True)}
        computed.setdefault(graph.hash, {}).setdefault(training.epochs, []).append(values)
    epochs = {int(training.epochs) for training in trainings}
    return SimpleNamespace(fixed_statistics=fixed, computed_statistics=computed, valid_epochs=epochs)


@pytest.fixture(scope="module")
def trainings(real_cells: Path) -> list[Training]:
    return small_trainings(real_cells)


def assert_same_columns(one: nb.Table, other: nb.Table) -> None:
    names = ["hash", "cell", "order", "trainable_parameters", "encoding", "encoding_row"]
    names += [prefix + metric for prefix in ("", "halfway_") for metric in METRICS]
    for name in names:
        assert one.column(name).dtype == other.column(name).dtype
        assert np.array_equal(one.column(name), other.column(name))
    assert (one.epochs, one.repeats, one.spaces) == (other.epochs, other.repeats, other.spaces)


def test_a_published_object_gives_the_same_table_as_its_file(trainings, official_table) -> None:
    assert_same_columns(nb.table_from_nasbench(published(trainings)), official_table)


def test_our_own_object_round_trips_bit_for_bit(official_table) -> None:
    before = api.NASBench(official_table, seed=1)
    after = api.NASBench(nb.table_from_nasbench(before), seed=1)
    assert_same_columns(after.table, official_table)
    assert list(after.hash_iterator()) == list(before.hash_iterator())
    for hash_ in before.hash_iterator():
        (fixed, computed), (again, recomputed) = (one.get_metrics_from_hash(hash_) for one in (before, after))
        assert computed == recomputed
        assert np.array_equal(fixed.pop("module_adjacency"), again.pop("module_adjacency"))
        assert fixed == again


def test_answers_are_measurements_and_the_table_can_be_saved(trainings, tmp_path) -> None:
    table = nb.table_from_nasbench(published(trainings))
    first = trainings[0]
    answer = table.query(first.graph.hash, first.epochs, run=0)
    assert (answer.validation_accuracy, answer.test_accuracy, answer.train_accuracy) == first.final[:3]
    assert answer.training_time == first.final[3]
    assert answer.is_measured("test_accuracy")
    assert table.fidelity() == ""
    table.save(tmp_path / "kept")
    assert_same_columns(nb.load_table(tmp_path / "kept"), table)


def test_numpy_numbers_and_lists_are_accepted(trainings, official_table) -> None:
    obj = published(trainings)
    for of_cell in obj.fixed_statistics.values():
        of_cell["module_adjacency"] = of_cell["module_adjacency"].astype(bool).tolist()
        of_cell["trainable_parameters"] = np.int32(of_cell["trainable_parameters"])
    assert_same_columns(nb.table_from_nasbench(obj), official_table)


class Damaged(Mapping[str, Any]):
    """A mapping that raises KeyError for one key of another mapping."""

    def __init__(self, whole: Mapping[str, Any], without: str) -> None:
        self._kept = {key: value for key, value in whole.items() if key != without}

    def __getitem__(self, key: str) -> Any:
        return self._kept[key]

    def __iter__(self) -> Any:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@pytest.mark.parametrize("nothing", [None, 5, "nasbench.tfrecord", {"fixed_statistics": {}}, SimpleNamespace()])
def test_other_objects_are_refused_in_one_sentence(nothing: Any) -> None:
    with pytest.raises(nb.InvalidInputError, match="NASBench"):
        nb.table_from_nasbench(nothing)


def test_incomplete_objects_are_refused_in_one_sentence(trainings) -> None:
    whole, hash_ = published(trainings), trainings[0].graph.hash
    without = SimpleNamespace(**{**vars(whole), "computed_statistics": Damaged(whole.computed_statistics, hash_)})
    with pytest.raises(nb.InvalidInputError, match=hash_):
        nb.table_from_nasbench(without)
    del whole.fixed_statistics[hash_]["trainable_parameters"]
    with pytest.raises(nb.InvalidInputError, match=f"{hash_}.*trainable_parameters"):
        nb.table_from_nasbench(whole)
    whole = published(trainings)
    whole.computed_statistics[hash_][36].pop()
    with pytest.raises(nb.InvalidInputError, match=hash_):
        nb.table_from_nasbench(whole)


@pytest.mark.filterwarnings("ignore:the table .* holds estimates")
def test_estimates_are_not_accepted_as_measurements() -> None:
    with pytest.raises(nb.InvalidInputError, match="attribute"):
        nb.table_from_nasbench(api.NASBench(nb.load_table()))


@pytest.mark.parametrize(("key", "value"), [("final_validation_accuracy", 7.0), ("final_training_time", float("nan"))])
def test_impossible_values_are_refused(trainings: list[Training], key: str, value: float) -> None:
    theirs = published(trainings)
    one = next(iter(theirs.computed_statistics))
    next(iter(theirs.computed_statistics[one].values()))[0][key] = value
    with pytest.raises(nb.InvalidInputError, match=one):
        nb.table_from_nasbench(theirs)
