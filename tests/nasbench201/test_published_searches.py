"""Searches of nb201 under the preset original: they run, continue after a kill, and refuse what has no meaning."""

from typing import Any

import pytest
import torch
from refusals import refuses
from tiny_search import tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.optimizer import OptimizerConformance, OptimizerStepsConformance
from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.one_shot_search.loop import train_epoch
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.enas_controller import Controller, ControllerSettings
from nasbench1shot1.supernets.passes import WithUnsampledTerms

FEW = {"candidates": 3, "candidate_batches": 1}
CONTROLLER = {"controller_steps": 2, "controller_architectures": 2, "final_candidates": 4}
METHODS: dict[str, dict[str, Any]] = {
    "darts": {}, "darts-second-order": {}, "gdas": {}, "setn": FEW, "random-ws": FEW, "enas": {**FEW, **CONTROLLER},
}  # fmt: skip
PUBLISHED = {"space": "nb201", "preset": "original"}


class TestPublishedSearches(OptimizerConformance):
    @pytest.fixture(params=["gdas", "enas"])
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def options(self, optimizer: str) -> dict[str, Any]:
        return {"cells": 1, "preset": "original", **METHODS[optimizer]}

    @pytest.fixture
    def space(self) -> str:
        return "nb201"

    @pytest.fixture
    def searched_space(self) -> str:
        return "nb201"


KEPT = ("test_killed_and_resumed_search_equals_uninterrupted_search", "test_loaded_state_continues_identically")
for name in (*vars(OptimizerConformance), *vars(OptimizerStepsConformance)):
    if name.startswith("test_") and name not in KEPT:
        setattr(TestPublishedSearches, name, None)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_runs_and_continues_from_its_state(method):
    options = {"optimizer": method, "batch_size": 20, **PUBLISHED, **METHODS[method]}
    states = [tiny_state(**options) for _ in range(2)]
    whole, resumed = states
    for state in states:
        train_epoch(state, 1, SilentReporter())
    saved = whole.net.state_dict(), whole.weight_optimizer.state_dict(), whole.method.state_dict()
    third = tiny_state(**options)
    third.net.load_state_dict(saved[0])
    third.weight_optimizer.load_state_dict(saved[1])
    third.method.load_state_dict(saved[2])
    for state in (resumed, third):
        train_epoch(state, 2, SilentReporter())
        state.method.choose(state.shared_weights(2))
        state.method.end_search(state.shared_weights(2))
        assert state.method.architecture() in state.net.space
    assert resumed.method.architecture() == third.method.architecture()
    for one, other in zip(resumed.net.state_dict().values(), third.net.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    for key, value in resumed.method.parameters.items():
        assert torch.equal(value, third.method.parameters[key])


def test_candidates_on_images_of_their_own_use_the_half_in_turn(monkeypatch):
    state = tiny_state(optimizer="random-ws", space="nb201", own_images=True, candidates=5, candidate_batches=1)
    shared, seen = state.shared_weights(1), []
    real = shared.errors
    monkeypatch.setattr(shared, "errors", lambda given, rows: seen.append((len(given), rows)) or real(given, rows))
    state.method.begin_epoch(1, 4, torch.Generator().manual_seed(0))
    state.method.choose(shared)
    assert [count for count, _ in seen] == [1] * 5
    assert sorted(torch.cat([rows for _, rows in seen[:2]]).tolist()) == sorted(state.split.architecture.tolist())
    assert not torch.equal(seen[0][1], seen[2][1])


@pytest.mark.parametrize("method", ["enas", "random-ws", "setn"])
def test_the_final_selection_has_its_own_number_of_candidates(method, monkeypatch):
    state, counts = tiny_state(optimizer=method, **PUBLISHED, **{**METHODS[method], "final_candidates": 4}), []
    real = state.method.choose_among
    monkeypatch.setattr(state.method, "choose_among", lambda n, shared: counts.append(n) or real(n, shared))
    state.method.choose(state.shared_weights(1))
    state.method.end_search(state.shared_weights(1))
    assert counts == [3, 4]
    ((architectures, images),) = state.method.scorings_at_end(20, 40)
    assert (architectures, images) == (4, 20)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"optimizer": "gdas", "space": "s1", "unsampled_terms": True}, ["unsampled_terms", "s1"]),
        (
            {"optimizer": "gdas", "space": "nb201", "unsampled_terms": True, "relaxation": "softmax"},
            ["unsampled_terms"],
        ),
        ({"optimizer": "enas", "space": "s1", "controller": "nasbench201"}, ["controller", "s1"]),
        ({"optimizer": "enas", "space": "nb201", "controller_beta1": 1}, ["controller_beta1"]),
        ({"optimizer": "darts", "space": "nb201", "own_images": True}, ["own_images"]),
    ],
)
def test_switches_without_meaning_are_refused(tmp_path, options, named):
    with refuses(nb.InvalidInputError, *named):
        nb.search(out=tmp_path / "run", scale="quick", images_per_half=40, batch_size=20, **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("draws", [1, 2])
def test_training_passes_of_gdas_have_terms_of_unsampled_operations_and_evaluation_has_none(draws):
    state = tiny_state(optimizer="gdas", space="nb201", preset="original", channels=4, cells=3, draws=draws)
    method, found = state.method, {}
    for kind, mixing in (("training", method.mixing()), ("evaluation", method.evaluation_mixing())):
        each = (
            [mixing] if draws == 1 else [Mixing(*both) for both in zip(mixing.weights, mixing.operations, strict=True)]
        )
        kinds = {isinstance(operation, WithUnsampledTerms) for of in each for operation in of.operations}
        values = [[int(operation) for operation in of.operations] for of in each]
        assert values == [of.weights["operations"].argmax(dim=-1).tolist() for of in each]
        found[kind] = kinds
    assert found == {"training": {True}, "evaluation": {False}}


def test_a_shared_controller_has_the_published_number_of_parameters():
    space = nb.search_space("nb201")
    made = Controller(space, ControllerSettings(hidden=32, layers=2, shared=True), torch.Generator().manual_seed(0))
    assert sum(weight.numel() for weight in made.parameters()) == 6 * 32 + 2 * (2 * 128 * 32 + 2 * 128) + 5 * 32 + 5
    bounds = {name: weight.abs().max().item() for name, weight in made.named_parameters()}
    for name, bound in bounds.items():
        usual = "bias" in name or name.startswith("upper")
        assert 0.5 * (32**-0.5 if usual else 0.1) < bound <= (32**-0.5 if usual else 0.1)
