"""Clients written for the published package run on the drop-in; training from scratch."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import pytest
from conftest import CHECKOUT
from small_official import INCEPTION, small_file

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.nasbench101.cell import INPUT, OPERATIONS, OUTPUT

# Random search and evolution -------------------------------------------------------------------------------------


class Client:
    """Random search and regularised evolution over cells of four vertices, which the file contains."""

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


def test_random_search_and_evolution_are_reproducible(official_table) -> None:
    walks = []
    for _ in range(2):
        client = Client(api.NASBench(official_table, seed=1), seed=2)
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


def test_evaluate_trains_and_answers_like_query(nasbench, tmp_path) -> None:
    nasbench.config.update(
        train_data_files=["cifar10-sample"],
        stem_filter_size=2,
        num_stacks=1,
        num_modules_per_stack=1,
        batch_size=100,
        train_epochs=1,
    )
    spec = api.ModelSpec([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [INPUT, OPERATIONS[2], OUTPUT])
    data = nasbench.evaluate(spec, tmp_path / "model")
    assert list(data) == list(nasbench.query(spec))
    assert data["module_operations"] == [INPUT, OUTPUT]
    assert all(0 <= data[name] <= 1 for name in ("train_accuracy", "validation_accuracy", "test_accuracy"))
    metadata = json.loads((tmp_path / "model" / "metadata.json").read_text())
    assert metadata["trainable_params"] == data["trainable_parameters"]
    assert [one["epochs"] for one in metadata["evaluation_results"]] == [0, 0.5, 1]
    assert metadata["evaluation_results"][-1]["test_accuracy"] == data["test_accuracy"]
    with pytest.raises(nb.UserError):
        nasbench.evaluate(spec, tmp_path / "model")


def test_evaluate_refuses_settings_unknown_to_the_trainer(nasbench, tmp_path) -> None:
    nasbench.config["lr_decay_method"] = "STEPWISE"
    with pytest.raises(nb.InvalidInputError, match=r"config\['lr_decay_method'\].*'STEPWISE'"):
        nasbench.evaluate(api.ModelSpec(*INCEPTION), tmp_path / "model")
    assert not (tmp_path / "model").exists()


# The page ---------------------------------------------------------------------------------------------------------


def test_the_example_of_the_page_runs_on_a_full_file(real_cells, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    small_file(tmp_path / "nasbench_full.tfrecord", real_cells)
    page = (CHECKOUT / "docs" / "api.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/api.md", "exec"), names)
    assert names["nasbench"].get_budget_counters()[1] == 108
    assert "NOT" in capsys.readouterr().err


def test_the_page_quotes_the_benchmark() -> None:
    page = " ".join((CHECKOUT / "docs" / "api.md").read_text().split())
    [file] = re.findall(r"benchmarks/results/[\w-]+\.json", page)
    result = json.loads((CHECKOUT / file).read_text())
    measured = result["comparison"]
    quoted = [
        f"commit {result['peer']}",
        f"{measured['file']['records']:,} records",
        f"{measured['answers_compared']:,} queries",
        f"{measured['file']['models']:,} cells",
        f"{measured['validity_compared']:,} random specs",
        f"{measured['spec_and_query']['lists']['ratio']} (from nested lists)",
        f"{measured['spec_and_query']['arrays']['ratio']} (from arrays)",
        f"query of an existing spec {measured['query_of_a_spec_that_is_there']['ratio']}",
        f"all metrics of a hash {measured['get_metrics_from_hash']['ratio']}",
        f"opening {measured['opening']['ratio']}",
    ]
    assert [words for words in quoted if words not in page] == []
