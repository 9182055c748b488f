"""The drop-in for `nasbench.api`, against the trainings that a file was written from."""

import json
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from official_files import Training
from small_official import INCEPTION, small_file, small_trainings

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.cells import INPUT, OPERATIONS, OUTPUT, Cell
from nasbench1shot1.table import Table
from nasbench1shot1.table_import.importing import import_table

CONV3, CONV1, POOL = OPERATIONS
NAMES = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time")
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, real_cells: Path) -> Path:
    return small_file(tmp_path_factory.mktemp("official") / "small.tfrecord", real_cells)


@pytest.fixture(scope="module")
def trainings(real_cells: Path) -> dict[str, dict[int, list[Training]]]:
    """By hash and epochs, in the file's order."""
    by_hash: dict[str, dict[int, list[Training]]] = defaultdict(lambda: defaultdict(list))
    for training in small_trainings(real_cells):
        by_hash[training.graph.hash][int(training.epochs)].append(training)
    return by_hash


@pytest.fixture(scope="module")
def table(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("tables") / "small"
    import_table(file, folder, report=lambda line: None)
    return nb.load_table(folder)


@pytest.fixture
def nasbench(table: Table) -> api.NASBench:
    return api.NASBench(table, seed=0)


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
    """Equal, types included: numbers, lists, dictionaries in their order, arrays."""
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


# Answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("halfway", [False, True])
def test_every_query_gives_the_files_numbers_of_the_repeat_that_the_seed_draws(table, trainings, halfway) -> None:
    nasbench, draws = api.NASBench(table, seed=7), random.Random(7)
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


def test_all_metrics_of_every_hash_are_the_files(nasbench, trainings) -> None:
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


def test_hashes_come_in_the_files_order(nasbench, trainings) -> None:
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


def test_nobody_can_change_the_table(nasbench, trainings) -> None:
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


def test_a_cell_is_found_however_it_is_given(nasbench, trainings) -> None:
    """As a nested list, an array, with a vertex that pruning removes, as the published package's class would be."""
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


def test_valid_epochs_and_config_are_the_published_ones(nasbench) -> None:
    assert nasbench.valid_epochs == {4, 12, 36, 108}
    assert type(nasbench.valid_epochs) is set
    config = nasbench.config
    assert len(config) == 25
    assert (config["module_vertices"], config["max_edges"], config["available_ops"]) == (7, 9, list(OPERATIONS))
    assert (config["num_repeats"], config["train_epochs"], config["train_seconds"]) == (3, 108, 14400.0)
    config["available_ops"].clear()
    assert api.NASBench(nasbench.table).config["available_ops"] == list(OPERATIONS)


# Chance ---------------------------------------------------------------------------------------------------------


def drawn(nasbench: api.NASBench, n: int = 40) -> list[float]:
    return [nasbench.query(api.ModelSpec(*INCEPTION))["validation_accuracy"] for _ in range(n)]


def test_the_same_seed_draws_the_same_repeats_and_leaves_global_generators_alone(table) -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
    first = drawn(api.NASBench(table, seed=3))
    assert first == drawn(api.NASBench(table, seed=3)) == drawn(api.NASBench(table, seed=np.int64(3)))
    assert first != drawn(api.NASBench(table, seed=4))
    assert len(Counter(first)) == 3
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before  # noqa: NPY002


def test_without_a_seed_two_objects_differ(table) -> None:
    assert drawn(api.NASBench(table)) != drawn(api.NASBench(table))


def test_a_numpy_generator_can_be_the_source(table) -> None:
    first, second = (drawn(api.NASBench(table, seed=np.random.default_rng(1))) for _ in range(2))
    assert first == second
    assert len(Counter(first)) == 3


def test_a_copy_in_another_process_goes_on_alike(nasbench) -> None:
    drawn(nasbench, 5)
    copy = pickle.loads(pickle.dumps(nasbench))  # noqa: S301
    assert drawn(copy) == drawn(nasbench)
    assert copy.get_budget_counters() == nasbench.get_budget_counters()


# Errors ---------------------------------------------------------------------------------------------------------


def dense(n: int) -> list[list[int]]:
    return [[int(x < y) for y in range(n)] for x in range(n)]


def chain(n: int) -> list[list[int]]:
    return [[int(y == x + 1) for y in range(n)] for x in range(n)]


NOT_IN_THE_SPACE = {
    "no path": (([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [INPUT, CONV3, OUTPUT]), "no path leads"),
    "eight vertices": ((chain(8), [INPUT, *[CONV3] * 6, OUTPUT]), "8 vertices after pruning: at most 7"),
    "ten edges": ((dense(5), [INPUT, *[CONV3] * 3, OUTPUT]), "10 edges after pruning: at most 9"),
    "eleven vertices and many edges": ((dense(11), [INPUT, *[CONV3] * 9, OUTPUT]), "11 vertices"),
    "first op": ((CHAIN, [CONV3, CONV3, OUTPUT]), "the first op must be 'input'"),
    "last op": ((CHAIN, [INPUT, CONV3, POOL]), "the last 'output'"),
    "op": ((CHAIN, [INPUT, "conv5x5-bn-relu", OUTPUT]), "no op 'conv5x5-bn-relu': use those of"),
    "input inside": ((CHAIN, [INPUT, INPUT, OUTPUT]), "no op 'input'"),
    "a number as op": ((CHAIN, [INPUT, 1, OUTPUT]), "no op 1"),
    "a list as op": ((CHAIN, [INPUT, [CONV3], OUTPUT]), "no op"),
}


@pytest.mark.parametrize("case", NOT_IN_THE_SPACE)
def test_a_spec_outside_the_space_is_out_of_domain(nasbench, case) -> None:
    arguments, message = NOT_IN_THE_SPACE[case]
    spec = api.ModelSpec(*arguments)
    assert not nasbench.is_valid(spec)
    for ask in (nasbench.query, nasbench.get_metrics_from_spec):
        with pytest.raises(api.OutOfDomainError, match=message) as caught:
            ask(spec)
        assert not isinstance(caught.value, KeyError)
    assert nasbench.get_budget_counters() == (0.0, 0)


def test_pruning_comes_before_the_limits(nasbench) -> None:
    """Eleven vertices of which three are left, and a label that nobody knows among the others."""
    matrix = np.zeros((11, 11), int)
    matrix[0, 4] = matrix[4, 10] = matrix[0, 1] = matrix[1, 2] = matrix[5, 10] = 1
    spec = api.ModelSpec(matrix, [INPUT, "a", "b", "c", CONV1, *"defgh", OUTPUT])
    assert nasbench.is_valid(spec)
    assert nasbench.query(spec)["module_operations"] == [INPUT, CONV1, OUTPUT]


@pytest.mark.parametrize("epochs", [0, 5, 107, -4, "108", None, 108.5])
def test_an_unknown_budget_is_out_of_domain(nasbench, epochs) -> None:
    with pytest.raises(nb.OutOfDomainError, match=r"no budget of .* epochs: ask for one of \[4, 12, 36, 108\]"):
        nasbench.query(api.ModelSpec(*INCEPTION), epochs=epochs)


def test_a_cell_that_the_table_lacks_is_a_key_error_too(nasbench) -> None:
    spec = api.ModelSpec(chain(5), [INPUT, *[CONV3] * 3, OUTPUT])
    assert Cell(chain(5), spec.original_ops).is_valid
    assert not nasbench.is_valid(spec)
    hash_ = spec.hash_spec(OPERATIONS)
    for ask, given in ((nasbench.query, spec), (nasbench.get_metrics_from_spec, spec)):
        with pytest.raises(api.OutOfDomainError, match=f"has no cell {hash_}") as caught:
            ask(given)
        assert isinstance(caught.value, KeyError)
    for given in (hash_, "no hash", "", None, 3, hash_.upper()):
        with pytest.raises(KeyError) as error:
            nasbench.get_metrics_from_hash(given)
        assert isinstance(error.value, nb.OutOfDomainError)
        assert str(error.value) == error.value.args[0]  # a KeyError by itself would put it into quotes


def test_what_is_no_spec_or_no_seed_ends_in_one_sentence(nasbench, table) -> None:
    with pytest.raises(nb.InvalidInputError, match="is no model: give a ModelSpec"):
        nasbench.query("28cfc7874f6d200472e1a9dcd8650aa0")
    with pytest.raises(nb.InvalidInputError, match="seed cannot be \\[\\]: give a whole number"):
        api.NASBench(table, seed=[])


def test_the_limits_in_config_count(nasbench) -> None:
    inception = api.ModelSpec(*INCEPTION)
    nasbench.config["max_edges"] = 8
    with pytest.raises(api.OutOfDomainError, match="9 edges after pruning: at most 8"):
        nasbench.query(inception)
    nasbench.config.update(max_edges=9, module_vertices=6)
    assert not nasbench.is_valid(inception)
    nasbench.config.update(module_vertices=7, available_ops=[CONV1, CONV3])
    assert not nasbench.is_valid(inception)
    assert nasbench.is_valid(api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT]))
    nasbench.config.update(available_ops=list(OPERATIONS), num_repeats=1)
    first = nasbench.get_metrics_from_spec(inception)[1][108][0]["final_test_accuracy"]
    assert {nasbench.query(inception)["test_accuracy"] for _ in range(10)} == {first}


# A spec that is changed -----------------------------------------------------------------------------------------


def test_a_changed_spec_counts_as_it_is_now(nasbench) -> None:
    def found(spec: api.ModelSpec) -> list[str]:
        return nasbench.get_metrics_from_spec(spec)[0]["module_operations"]

    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    assert found(spec) == [INPUT, CONV3, OUTPUT]
    spec.ops[1] = POOL
    assert found(spec) == [INPUT, POOL, OUTPUT]
    spec.ops = [INPUT, CONV1, OUTPUT]
    assert found(spec) == [INPUT, CONV1, OUTPUT]
    spec.matrix, spec.ops = np.array([[0, 1], [0, 0]]), [INPUT, OUTPUT]
    assert found(spec) == [INPUT, OUTPUT]
    assert spec.original_ops == [INPUT, CONV3, OUTPUT]
    spec.matrix[0, 1] = 0  # not pruned again, so valid still, but known to nobody
    with pytest.raises(KeyError):
        found(spec)
    spec.valid_spec = False
    with pytest.raises(api.OutOfDomainError, match="no path leads"):
        found(spec)


def test_a_change_that_pruning_would_undo_is_not_looked_up_pruned(nasbench) -> None:
    spec = api.ModelSpec([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], [INPUT, CONV3, POOL, OUTPUT])
    spec.matrix[0, 1] = 0
    with pytest.raises(KeyError):
        nasbench.query(spec)


def test_a_spec_with_entries_that_are_no_edges_is_refused_when_it_is_looked_up(nasbench) -> None:
    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    spec.matrix[0, 1] = 2
    assert not nasbench.is_valid(spec)
    with pytest.raises(api.OutOfDomainError, match="only hold 0 and 1"):
        nasbench.query(spec)


# Opening --------------------------------------------------------------------------------------------------------


def test_a_file_is_imported_once_and_says_so_in_one_line(file, table, capsys) -> None:
    first = api.NASBench(str(file), seed=1)
    said = capsys.readouterr().err.splitlines()
    assert f"{file} is imported into" in said[0]
    assert "none of NAS-Bench-101's own files" in said[1]
    again = api.NASBench(file, seed=1)
    assert capsys.readouterr() == ("", "")
    assert drawn(first) == drawn(again) == drawn(api.NASBench(table, seed=1))


def test_a_path_that_is_not_there_ends_in_one_sentence(tmp_path) -> None:
    with pytest.raises(nb.InvalidInputError, match=r"nasbench\.tfrecord"):
        api.NASBench(tmp_path / "nasbench.tfrecord")


def test_estimates_leave_out_what_they_lack(estimates) -> None:
    spec = api.ModelSpec(CHAIN, [INPUT, CONV3, OUTPUT])
    assert not estimates.is_valid(spec)  # in NAS-Bench-101, but not in the table of the three spaces
    cell = nb.search_space("s1").sample(np.random.default_rng(0)).cell
    spec = api.ModelSpec(cell.matrix, list(cell.ops))
    data = estimates.query(spec)
    metrics = nb.load_table().query(cell)
    assert "train_accuracy" not in data
    assert data["validation_accuracy"] == metrics.validation_accuracy
    assert "test_accuracy" not in estimates.query(spec, epochs=36)
    assert estimates.get_budget_counters()[1] == 144
    with pytest.raises(api.OutOfDomainError, match="no half-way values"):
        estimates.query(spec, stop_halfway=True)
    assert estimates.get_budget_counters()[1] == 144
    assert set(estimates.get_metrics_from_spec(spec)[1][4][0]) == {"final_training_time", "final_validation_accuracy"}


def test_estimates_hashes_ascend(estimates) -> None:
    hashes = list(estimates.hash_iterator())
    assert len(hashes) == len(estimates.table) == 66_111
    assert hashes == sorted(hashes)


# Clients, as they are written for the published package ------------------------------------------------------------


class Client:
    """Random search and regularised evolution over cells of four vertices, all of which the file has."""

    def __init__(self, nasbench: api.NASBench, seed: int) -> None:
        self.nasbench, self.random = nasbench, random.Random(seed)

    def sampled(self) -> Iterator[api.ModelSpec]:
        while True:
            matrix = np.triu([[self.random.randint(0, 1) for _ in range(4)] for _ in range(4)], 1)
            ops = [INPUT, *(self.random.choice(self.nasbench.config["available_ops"]) for _ in range(2)), OUTPUT]
            spec = api.ModelSpec(matrix=matrix, ops=ops)
            if self.nasbench.is_valid(spec):
                yield spec

    def mutated(self, old: api.ModelSpec) -> api.ModelSpec:
        while True:
            matrix, ops = deepcopy(old.original_matrix), deepcopy(old.original_ops)
            x, y = sorted(self.random.sample(range(4), 2))
            matrix[x, y] = 1 - matrix[x, y]
            ops[self.random.randint(1, 2)] = self.random.choice(OPERATIONS)
            if self.nasbench.is_valid(spec := api.ModelSpec(matrix, ops)):
                return spec

    def random_search(self, budget: float) -> list[tuple[float, float, float]]:
        self.nasbench.reset_budget_counters()
        curve = []
        for spec in self.sampled():
            data = self.nasbench.query(spec)
            seconds, _ = self.nasbench.get_budget_counters()
            best = max([data["validation_accuracy"], *(point[1] for point in curve[-1:])])
            curve.append((seconds, best, data["test_accuracy"]))
            if seconds > budget:
                return curve
        raise AssertionError

    def evolution(self, budget: float, population_size: int = 10) -> list[float]:
        self.nasbench.reset_budget_counters()
        samples = self.sampled()
        population = [
            (self.nasbench.query(spec)["validation_accuracy"], next(self._age), spec)
            for spec, _ in zip(samples, range(population_size), strict=False)
        ]
        best = [max(population)[0]]
        while self.nasbench.get_budget_counters()[0] <= budget:
            parent = max(self.random.sample(population, 4))[2]
            child = self.mutated(parent)
            population.append((self.nasbench.query(child)["validation_accuracy"], next(self._age), child))
            population.pop(0)
            best.append(max(best[-1], population[-1][0]))
        return best

    _age = iter(range(10**9))


def test_random_search_and_evolution_run_and_repeat_themselves(table) -> None:
    walks = []
    for _ in range(2):
        client = Client(api.NASBench(table, seed=1), seed=2)
        walks.append((client.random_search(50_000.0), client.evolution(200_000.0)))
    assert walks[0] == walks[1]
    curve, best = walks[0]
    assert [point[1] for point in curve] == sorted(point[1] for point in curve)
    assert curve[-1][0] > 50_000.0 >= curve[-2][0]
    assert best == sorted(best)
    assert len(best) > 50
    top = max(
        t
        for of in client.nasbench.computed_statistics.values()
        for t in [r["final_validation_accuracy"] for r in of[108]]
    )
    assert best[-1] <= top


# Training from scratch -------------------------------------------------------------------------------------------


def test_evaluate_trains_and_answers_as_a_query_does(nasbench, tmp_path) -> None:
    nasbench.config.update(
        train_data_files=["cifar10-sample"],
        stem_filter_size=2,
        num_stacks=1,
        num_modules_per_stack=1,
        batch_size=100,
        train_epochs=1,
    )
    spec = api.ModelSpec([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [INPUT, POOL, OUTPUT])
    data = nasbench.evaluate(spec, tmp_path / "model")
    assert list(data) == list(nasbench.query(spec))
    assert data["module_operations"] == [INPUT, OUTPUT]
    assert all(0 <= data[name] <= 1 for name in NAMES[:3])
    metadata = json.loads((tmp_path / "model" / "metadata.json").read_text())
    assert metadata["trainable_params"] == data["trainable_parameters"]
    assert [one["epochs"] for one in metadata["evaluation_results"]] == [0, 0.5, 1]
    assert metadata["evaluation_results"][-1]["test_accuracy"] == data["test_accuracy"]
    with pytest.raises(nb.UserError):
        nasbench.evaluate(spec, tmp_path / "model")


def test_evaluate_refuses_settings_that_the_trainer_does_not_have(nasbench, tmp_path) -> None:
    nasbench.config["lr_decay_method"] = "STEPWISE"
    with pytest.raises(nb.InvalidInputError, match=r"config\['lr_decay_method'\] cannot be 'STEPWISE'"):
        nasbench.evaluate(api.ModelSpec(*INCEPTION), tmp_path / "model")
    assert not (tmp_path / "model").exists()
