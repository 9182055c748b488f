"""The drop-in for `nasbench.api`, compared with the trainings written to its file."""

import pickle
import random
from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from official_files import Training
from refusals import missing
from small_official import INCEPTION, small_file, small_trainings

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT

CONV3, CONV1, POOL = OPERATIONS
NAMES = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, real_cells: Path) -> Path:
    return small_file(tmp_path_factory.mktemp("official") / "small.tfrecord", real_cells)


@pytest.fixture(scope="module")
def trainings(real_cells: Path) -> dict[str, dict[int, list[Training]]]:
    """Trainings by hash and epochs, in the order of the file."""
    by_hash: dict[str, dict[int, list[Training]]] = defaultdict(lambda: defaultdict(list))
    for training in small_trainings(real_cells):
        by_hash[training.graph.hash][int(training.epochs)].append(training)
    return by_hash


@pytest.fixture
def estimates() -> api.NASBench:
    with pytest.warns(UserWarning, match="estimates: validation accuracy predicted") as warned:
        nasbench = api.NASBench(nb.load_table())
    assert len(warned) == 1
    return nasbench


def spec_of(training: Training) -> api.ModelSpec:
    n = training.graph.operations.count(",") + 1
    bits = [int(digit) for digit in training.graph.adjacency]
    return api.ModelSpec([bits[n * v : n * (v + 1)] for v in range(n)], training.graph.operations.split(","))


def is_same(one: Any, other: Any) -> bool:
    """Assert equal values and types of numbers, lists, arrays and ordered dictionaries."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return type(other) is dict and list(one) == list(other) and all(is_same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return type(other) is list and len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other


def fixed(training: Training) -> dict[str, Any]:
    operations = training.graph.operations.split(",")
    bits = np.array([int(digit) for digit in training.graph.adjacency], np.int8)
    return {
        "module_adjacency": bits.reshape(len(operations), -1),
        "module_operations": operations,
        "trainable_parameters": training.graph.parameters,
    }


def metrics(training: Training, halfway: bool, prefix: str = "") -> dict[str, float]:
    values = dict(zip(NAMES, training.halfway if halfway else training.final, strict=True))
    order = ("training_time", "train_accuracy", "validation_accuracy", "test_accuracy")
    return {prefix + name: values[name] for name in order}


# Answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("halfway", [False, True])
def test_queries_return_the_values_of_the_repeat_drawn_by_the_seed(official_table, trainings, halfway) -> None:
    nasbench, draws = api.NASBench(official_table, seed=7), random.Random(7)
    seconds, epochs_spent = 0.0, 0
    for of_cell in trainings.values():
        for epochs, repeats in of_cell.items():
            training = repeats[draws.randint(0, 2)]
            answer = nasbench.query(spec_of(training), epochs=epochs, stop_halfway=halfway)
            assert is_same(answer, fixed(training) | metrics(training, halfway))
            seconds += answer["training_time"]
            epochs_spent += epochs // 2 if halfway else epochs
    assert nasbench.get_budget_counters() == (seconds, epochs_spent)
    assert (nasbench.training_time_spent, nasbench.total_epochs_spent) == (seconds, epochs_spent)
    nasbench.reset_budget_counters()
    assert nasbench.get_budget_counters() == (0.0, 0)


def test_all_metrics_of_every_hash_equal_the_file(nasbench, trainings) -> None:
    for hash_, of_cell in trainings.items():
        about, computed = nasbench.get_metrics_from_hash(hash_)
        first = of_cell[4][0]
        assert is_same(about, fixed(first))
        expected = {
            epochs: [metrics(t, True, "halfway_") | metrics(t, False, "final_") for t in repeats]
            for epochs, repeats in of_cell.items()
        }
        assert is_same(computed, expected)
        again = nasbench.get_metrics_from_spec(spec_of(first))
        assert is_same(list(again), [about, computed])
    assert nasbench.get_budget_counters() == (0.0, 0)


def test_hashes_have_the_order_of_the_file(nasbench, trainings) -> None:
    assert list(nasbench.hash_iterator()) == list(trainings)
    assert len(nasbench.hash_iterator()) == len(trainings)
    assert list(trainings) != sorted(trainings)


def test_statistics_are_read_only_mappings(nasbench, trainings) -> None:
    hash_ = next(iter(trainings))
    assert list(nasbench.fixed_statistics) == list(trainings)
    assert hash_ in nasbench.computed_statistics
    assert "0" * 32 not in nasbench.fixed_statistics
    assert 5 not in nasbench.fixed_statistics
    assert is_same(nasbench.fixed_statistics[hash_], nasbench.get_metrics_from_hash(hash_)[0])
    assert is_same(nasbench.computed_statistics[hash_], nasbench.get_metrics_from_hash(hash_)[1])
    assert len(nasbench.computed_statistics.items()) == len(trainings)
    with pytest.raises(TypeError):
        nasbench.fixed_statistics[hash_] = {}
    assert nasbench.history == {}


def test_returned_values_cannot_change_the_table(nasbench, trainings) -> None:
    spec = spec_of(next(iter(trainings.values()))[4][0])
    before = deepcopy(nasbench.get_metrics_from_spec(spec))
    data, (about, computed) = nasbench.query(spec), nasbench.get_metrics_from_spec(spec)
    for matrix in (data["module_adjacency"], about["module_adjacency"], spec.matrix):
        matrix[:] = 0
    data["module_operations"].clear()
    about["module_operations"].append("other")
    computed[108].pop()
    computed[4][0].clear()
    hash_ = next(iter(trainings))
    assert is_same(list(before), list(nasbench.get_metrics_from_hash(hash_)))


def test_a_cell_is_found_in_every_form(nasbench, trainings) -> None:
    """Forms of one cell: nested list, array, with a prunable vertex, and like the published class."""
    matrix, ops = INCEPTION
    wanted = nasbench.get_metrics_from_spec(api.ModelSpec(matrix, ops))
    smaller, labels = [[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], [INPUT, POOL, CONV1, OUTPUT]
    pruned = nasbench.get_metrics_from_spec(api.ModelSpec(CHAIN, [INPUT, CONV1, OUTPUT]))
    assert is_same(list(nasbench.get_metrics_from_spec(api.ModelSpec(smaller, labels))), list(pruned))
    for form in (np.int64, np.int8, bool, float):
        given = np.array(matrix, form)
        assert is_same(list(nasbench.get_metrics_from_spec(api.ModelSpec(given, ops))), list(wanted))
    tuples = tuple(map(tuple, matrix))
    assert is_same(list(nasbench.get_metrics_from_spec(api.ModelSpec(tuples, tuple(ops)))), list(wanted))

    class PublishedSpec:
        def __init__(self) -> None:
            self.matrix, self.ops, self.valid_spec = np.array(matrix), ops, True

        def hash_spec(self, canonical_ops: list[str]) -> str:
            raise AssertionError("a hash is not needed")

    assert is_same(list(nasbench.get_metrics_from_spec(PublishedSpec())), list(wanted))


def test_valid_epochs_and_config_equal_published_values(nasbench) -> None:
    assert nasbench.valid_epochs == {4, 12, 36, 108}
    assert type(nasbench.valid_epochs) is set
    config = nasbench.config
    assert len(config) == 25
    assert (config["module_vertices"], config["max_edges"], config["available_ops"]) == (7, 9, list(OPERATIONS))
    assert (config["num_repeats"], config["train_epochs"], config["train_seconds"]) == (3, 108, 14400.0)
    config["available_ops"].clear()
    assert api.NASBench(nasbench.table).config["available_ops"] == list(OPERATIONS)


# Chance ----------------------------------------------------------------------------------------------------------


def drawn(nasbench: api.NASBench, n: int = 40) -> list[float]:
    return [nasbench.query(api.ModelSpec(*INCEPTION))["validation_accuracy"] for _ in range(n)]


def test_equal_seeds_draw_equal_repeats_without_global_generators(official_table) -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
    first = drawn(api.NASBench(official_table, seed=3))
    assert first == drawn(api.NASBench(official_table, seed=3)) == drawn(api.NASBench(official_table, seed=np.int64(3)))
    assert first != drawn(api.NASBench(official_table, seed=4))
    assert len(Counter(first)) == 3
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before  # noqa: NPY002


def test_two_objects_without_seeds_differ(official_table) -> None:
    assert drawn(api.NASBench(official_table)) != drawn(api.NASBench(official_table))


def test_a_numpy_generator_can_be_given_as_the_seed(official_table) -> None:
    first, second = (drawn(api.NASBench(official_table, seed=np.random.default_rng(1))) for _ in range(2))
    assert first == second
    assert len(Counter(first)) == 3


def test_a_pickled_copy_continues_with_the_same_draws(nasbench) -> None:
    drawn(nasbench, 5)
    whole = nasbench.get_metrics_from_spec(api.ModelSpec(*INCEPTION))
    copy = pickle.loads(pickle.dumps(nasbench))  # noqa: S301
    assert drawn(copy) == drawn(nasbench)
    assert copy.get_budget_counters() == nasbench.get_budget_counters()
    assert is_same(list(copy.get_metrics_from_spec(api.ModelSpec(*INCEPTION))), list(whole))


# Opening ---------------------------------------------------------------------------------------------------------


def test_a_file_is_imported_once_with_a_one_line_notice(file, official_table, capsys) -> None:
    first = api.NASBench(str(file), seed=1)
    said = capsys.readouterr().err.splitlines()
    assert not missing(said[0], file) and not missing(said[1], "NAS-Bench-101's")
    again = api.NASBench(file, seed=1)
    assert capsys.readouterr() == ("", "")
    assert drawn(first) == drawn(again) == drawn(api.NASBench(official_table, seed=1))


def test_a_missing_path_is_reported_in_one_sentence(tmp_path) -> None:
    with pytest.raises(nb.InvalidInputError, match=r"nasbench\.tfrecord"):
        api.NASBench(tmp_path / "nasbench.tfrecord")


def test_estimates_omit_missing_values(estimates) -> None:
    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    assert not estimates.is_valid(spec)  # in NAS-Bench-101, but not in the bundled table of the three spaces
    cell = nb.search_space("s1").sample(np.random.default_rng(0)).cell
    spec = api.ModelSpec(cell.matrix, list(cell.ops))
    data = estimates.query(spec)
    metrics = nb.load_table().query(cell)
    assert "train_accuracy" not in data
    assert data["validation_accuracy"] == metrics.validation_accuracy
    assert "test_accuracy" not in estimates.query(spec, epochs=36)
    assert estimates.get_budget_counters()[1] == 144
    with pytest.raises(api.OutOfDomainError, match="half-way"):
        estimates.query(spec, stop_halfway=True)
    assert estimates.get_budget_counters()[1] == 144
    assert set(estimates.get_metrics_from_spec(spec)[1][4][0]) == {"final_training_time", "final_validation_accuracy"}


def test_hashes_of_estimates_are_sorted(estimates) -> None:
    hashes = list(estimates.hash_iterator())
    assert len(hashes) == len(estimates.table) == 66_111
    assert hashes == sorted(hashes)
