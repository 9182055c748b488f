"""Scripts of nats_bench and nas_201_api users run with only the import line changed."""

import warnings
from typing import Any

import numpy as np
import pytest

from nasbench1shot1.nasbench201.architecture import OPERATIONS

STRUCTURE = """
import random
from copy import deepcopy

class Structure:
    def __init__(self, nodes):
        self.nodes = nodes

    def tostr(self):
        return "+".join("|" + "|".join(f"{op}~{source}" for op, source in node) + "|" for node in self.nodes)

def random_structure(op_names):
    return Structure([[(random.choice(op_names), source) for source in range(node)] for node in range(1, 4)])

def mutated(parent, op_names):
    child = deepcopy(parent)
    node = random.randrange(len(child.nodes))
    edge = random.randrange(len(child.nodes[node]))
    operation, source = child.nodes[node][edge]
    child.nodes[node][edge] = (random.choice([op for op in op_names if op != operation]), source)
    return child
"""

RANDOM_SEARCH = """
from nats_bench import create

api = create(None, "tss", fast_mode=True, verbose=False)
api.reset_time()
random.seed(SEED)
best_arch, best_accuracy, times, history, current_best = None, -1, [], [], []
while len(times) == 0 or times[-1] < BUDGET:
    arch = random_structure(OP_NAMES)
    accuracy, _, _, total_cost = api.simulate_train_eval(arch, DATASET, hp="12")
    times.append(total_cost)
    history.append(arch)
    if best_arch is None or best_accuracy < accuracy:
        best_accuracy, best_arch = accuracy, arch
    current_best.append(api.query_index_by_arch(best_arch))
text = api.query_info_str_by_arch(best_arch, "200")
test_accuracy = api.get_more_info(best_arch, DATASET, hp="200", is_random=False)["test-accuracy"]
"""

EVOLUTION = """
import collections
from nats_bench import create

api = create(None, "tss", fast_mode=True, verbose=False)
random.seed(SEED)
population, history, times, current_best = collections.deque(), [], [], []

def evaluated(arch):
    accuracy, _, _, total_cost = api.simulate_train_eval(arch, DATASET, hp="12" if PROXY else api.full_train_epochs)
    population.append((accuracy, arch))
    history.append((accuracy, arch))
    current_best.append(api.query_index_by_arch(max(history, key=lambda x: x[0])[1]))
    times.append(total_cost)

api.reset_time()
while len(population) < 10:
    evaluated(random_structure(OP_NAMES))
while times[-1] < BUDGET:
    sample = [random.choice(list(population)) for _ in range(3)]
    evaluated(mutated(max(sample, key=lambda each: each[0])[1], OP_NAMES))
    population.popleft()
best_accuracy, best_arch = max(history, key=lambda x: x[0])
text = api.query_info_str_by_arch(best_arch, "200")
test_accuracy = api.get_more_info(best_arch, DATASET, hp="200", is_random=False)["test-accuracy"]
"""

README_OF_NATS_BENCH = """
from nats_bench import create

api = create(None, "tss", fast_mode=True, verbose=True)
architecture = api.arch(12)
info = api.get_more_info(1234, "cifar10")
costs = api.get_cost_info(12, "cifar10")
validation_accuracy, latency, time_cost, total = api.simulate_train_eval(1224, dataset="cifar10", hp="12")
config = api.get_net_config(12, "cifar10")
api.clear_params(12)
"""

README_OF_NAS_BENCH_201 = """
from nas_201_api import NASBench201API as API

api = API(None, verbose=False)
strings = [arch_str for i, arch_str in enumerate(api)]
api.show(1)
info = api.query_meta_info_by_index(1)
train = info.get_metrics("cifar10-valid", "x-valid", None, False)
costs = info.get_comput_costs("cifar100")
index = api.query_index_by_arch(strings[301])
config = api.get_net_config(123, "cifar10")
last = api.get_more_info(112, "cifar10", None, hp="200", is_random=True)
other = api.get_more_info(112, "ImageNet16-120", None, hp="200", is_random=True)

def train_and_eval(arch):
    arch_index = api.query_index_by_arch(arch)
    info = api.get_more_info(arch_index, "cifar10-valid", iepoch=None, hp="12", is_random=True)
    return info["valid-accuracy"], info["train-all-time"] + info["valid-per-time"]

accuracy, seconds = train_and_eval(strings[301])
text = api.query_by_arch(strings[301], "200")
"""


def run(script: str, **names: Any) -> dict[str, Any]:
    """Run a script with the published import replaced by this package."""
    changed = script.replace("from nats_bench ", "from nasbench1shot1.api.nats_bench ")
    changed = changed.replace("from nas_201_api ", "from nasbench1shot1.api.nas_201_api ")
    assert changed != script
    namespace: dict[str, Any] = {"OP_NAMES": list(OPERATIONS), **names}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the table nb201.* does not have complete trainings")
        exec(compile(changed, "script", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100", "ImageNet16-120"])
@pytest.mark.parametrize("script", [RANDOM_SEARCH, EVOLUTION])
def test_search_scripts_run_unchanged(script: str, dataset: str) -> None:
    names = {"SEED": 1, "BUDGET": 20_000, "DATASET": dataset, "PROXY": True}
    done = run(STRUCTURE + script, **names)
    times, history, api = done["times"], done["history"], done["api"]
    assert times[-1] == api.used_time >= 20_000 > times[-2]
    assert (np.diff(times) > 0).all()
    assert len(history) == len(times) == len(done["current_best"]) > 9
    validation = "cifar10-valid" if dataset == "cifar10" else dataset
    trained = [api.get_more_info(index, validation)["valid-accuracy"] for index in done["current_best"]]
    assert trained == sorted(trained)
    assert trained[-1] == done["best_accuracy"]
    assert done["best_arch"].tostr() in done["text"]
    best = api.table.query(done["current_best"][-1], dataset=dataset)
    assert done["test_accuracy"] == pytest.approx(100 * best.test_accuracy, rel=1e-10)
    again = run(STRUCTURE + script, **names)
    assert again["current_best"] == done["current_best"]  # random.seed in the script makes it reproducible


def test_an_evolution_script_without_a_proxy() -> None:
    done = run(STRUCTURE + EVOLUTION, SEED=2, BUDGET=100_000, DATASET="cifar10", PROXY=False)
    best = done["api"].get_more_info(done["best_arch"], "cifar10-valid", hp=200)
    assert done["best_accuracy"] == best["valid-accuracy"]


def test_readme_of_nats_bench(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(README_OF_NATS_BENCH)
    assert done["architecture"] == done["config"]["arch_str"] == done["api"][12]
    assert 0 < done["info"]["test-accuracy"] < 100
    assert done["costs"]["flops"] > 7
    assert 0.005 < done["latency"] < 0.05
    assert done["total"] == done["time_cost"] > 0
    assert 0 < done["validation_accuracy"] < 100
    assert "answers from the table nb201-v2" in capsys.readouterr().out


def test_readme_of_nas_bench_201(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(README_OF_NAS_BENCH_201)
    assert done["index"] == 301
    assert " 200 epochs " in capsys.readouterr().out
    assert done["train"]["accuracy"] == done["api"].get_more_info(1, "cifar10-valid")["valid-accuracy"]
    assert done["last"]["test-accuracy"] > done["other"]["test-accuracy"]
    assert done["accuracy"] > 0
    assert done["seconds"] > 0
    assert done["text"].startswith(done["strings"][301])
