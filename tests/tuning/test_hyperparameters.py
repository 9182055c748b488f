"""Each hyperparameter of the bundled configuration spaces affects the training."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from tiny_search import tiny_state
from tiny_studies import tiny_study, trial

from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.tuning.config_spaces import bundled_names, config_space
from nasbench1shot1.tuning.evaluation import trial_job
from nasbench1shot1.tuning.options import study_options
from nasbench1shot1.tuning.record import Study

BASE: dict[str, Any] = {
    "weight_decay": 3e-4,
    "cutout_probability": 0.5,
    "learning_rate": 0.025,
    "architecture_learning_rate": 3e-4,
    "architecture_weight_decay": 1e-3,
    "momentum": 0.9,
    "cutout_length": 16,
    "batch_size": 16,
    "grad_clip": 5,
}
OTHER: dict[str, Any] = {
    "weight_decay": 1e-3,
    "cutout_probability": 1.0,
    "learning_rate": 0.1,
    "architecture_learning_rate": 1e-2,
    "architecture_weight_decay": 1e-1,
    "momentum": 0.5,
    "cutout_length": 4,
    "batch_size": 32,
    "grad_clip": 1,
}

State = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("studies") / "cs3"
    return tiny_study(folder, optimizer="darts", config_space="cs3", images_per_half=128, batch_size=None, cells=3)


@pytest.fixture(scope="module")
def base(study: Study) -> tuple[State, State]:
    return trained(study, BASE)


def trained(study: Study, configuration: dict[str, Any]) -> tuple[State, State]:
    """Make two steps of the search of a trial; return the weights and Λ.

    The steps are those of the second epoch: in the first, the probability of cutout is 0.
    """
    options = dict(trial_job(study, trial(configuration, epochs=2)).options)
    state = tiny_state(**options)
    with cpu_threads(options["threads"]):
        for _ in islice(training_steps(state, 2), 2):
            pass
    return state.net.state_dict(), state.method.parameters


def differ(a: State, b: State) -> bool:
    return any(not torch.equal(a[key], b[key]) for key in a)


def test_all_hyperparameters_of_cs3_are_tested(study: Study):
    assert set(study.config_space) == set(OTHER) == set(BASE)


@pytest.mark.parametrize("name", OTHER)
def test_a_hyperparameter_changes_the_training(study, base, name):
    weights, parameters = trained(study, {**BASE, name: OTHER[name]})
    assert differ(weights, base[0])  # hyperparameters of Λ act through the mixing weights of the second step
    assert differ(parameters, base[1]) or not name.startswith("architecture_")


def test_equal_hyperparameters_give_identical_results(study, base):
    weights, parameters = trained(study, dict(BASE))
    assert not differ(weights, base[0])
    assert not differ(parameters, base[1])


def ranges(name: str) -> Iterator[tuple[Any, ...]]:
    fixed = study_options({"scale": "quick", "images_per_half": 200}).fixed
    for hyperparameter in config_space(name, fixed).values():
        yield hyperparameter.name, hyperparameter.lower, hyperparameter.upper, hyperparameter.log


def test_ranges_equal_the_published_ones():
    cs1 = {("weight_decay", 1e-5, 1e-3, True), ("cutout_probability", 0, 1, False)}
    cs2 = cs1 | {("learning_rate", 1e-3, 1, True)}
    cs3 = cs2 | {
        ("architecture_learning_rate", 1e-5, 1e-2, True),
        ("architecture_weight_decay", 1e-4, 1e-1, True),
        ("momentum", 0, 0.99, False),
        ("cutout_length", 2, 32, True),
        ("batch_size", 16, 128, False),
        ("grad_clip", 1, 9, False),
    }
    assert bundled_names() == ["cs1", "cs2", "cs3"]
    assert [set(ranges(name)) for name in bundled_names()] == [cs1, cs2, cs3]
