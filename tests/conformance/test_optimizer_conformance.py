"""Every built-in optimizer, and mixtures of their components, pass the bundled conformance suite.

The suite detects faulty optimizers.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from ending_methods import EvolvesAtTheEnd, PerturbsAtTheEnd
from tiny_search import UNLIKE

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.conformance import optimizer as suite
from nasbench1shot1.conformance.optimizer import OptimizerConformance, OptimizerStepsConformance
from nasbench1shot1.conformance.tiny_search import random_images, tiny_search, tiny_state
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Mixing, OneShotOptimizer, SearchStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.random_ws import RandomWS
from nasbench1shot1.space import Choice
from nasbench1shot1.supernets.supernet import to_tensors
from nasbench1shot1.supernets.weight_sharing import SharedWeights

SELECTION = {"candidates": 6, "candidate_batches": 1, "finalists": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    "darts": {},
    "darts-second-order": {},
    "gdas": {},
    "pc-darts": {"channels": 8},
    "snas": {},
    "random-ws": SELECTION,
    "enas": {**SELECTION, "controller_steps": 3},
    "setn": SELECTION,
    **{name: {} for name in ("beta-darts", "drnas", "gaea", "fair-darts", "rf-darts", "sdarts-rs", "sdarts-adv")},
    "darts-minus": {},
    "idarts": {"weight_steps": 1},
    "oles": {"window": 1, "threshold": 0.0},
    "sgas": {"decision_start": 1, "batch_increase": 3},
    "drnas-progressive": {"channels": 4, "warm_start_epochs": 0},
    "lambda-darts": {"cells": 2},
    "darts-pt": {"selection_epochs": 1},
    "is-darts": {"shrink_steps": 1, "shrink_interval": 1},
    "spos": {**SELECTION, "generations": 2, "population": 4, "crossovers": 1, "mutations": 1},
}
MIXTURES: dict[str, dict[str, Any]] = {
    "single paths, second order": {"optimizer": "gdas", "relaxation": "single-path", "update": "second-order"},
    "GDAS as published: a draw for each cell": {"optimizer": "gdas", "preset": "original"},
    "GDAS on partial channels": {"optimizer": "gdas", "partial_channels": 4, "channels": 8},
    "ENAS as published": {"optimizer": "enas", "preset": "original", **OPTIONS["enas"]},
}


class BuiltIn:
    """What built-in methods do otherwise than the suite expects by default."""

    @pytest.fixture(autouse=True)
    def name_method(self, optimizer: str) -> None:
        self.name = optimizer

    @pytest.fixture(autouse=True)
    def kill_similar_methods_once(self, optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Kill only searches with methods of different kinds at all moments; the others restore their state once."""
        if optimizer not in UNLIKE:
            monkeypatch.setattr(suite, "KILLS", suite.KILLS[-1:])

    def expected_sum(self, choice: Choice, mixing: Mixing) -> float | None:
        """Any sum of FairDARTS's operations, and of what IS-DARTS has not excluded."""
        if (self.name == "fair-darts" and choice.key == "operations") or self.name == "is-darts":
            return None
        return float(choice.picks) if mixing.path is not None else 1.0

    def has_warm_up(self, state: SearchState) -> bool:
        return self.name not in ("random-ws", "spos", "is-darts", "drnas-progressive")

    def decides_on(self, state: SearchState) -> Literal["architecture", "weights"]:
        return "weights" if self.name == "is-darts" else "architecture"


class TestBuiltIn(BuiltIn, OptimizerConformance):
    test_same_seed_gives_identical_runs = None  # resumed searches, of several processes, equal uninterrupted ones

    @pytest.fixture(params=OPTIONS)
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def options(self, optimizer: str) -> dict[str, Any]:
        return {"cells": 1, **OPTIONS[optimizer]}  # mixtures have two

    @pytest.fixture
    def space(self) -> str:
        return "s3"  # has choices of all kinds; test_optimizers_on_nasbench201.py has the other kind of supernet


class TestMixtures(OptimizerStepsConformance):
    @pytest.fixture(params=MIXTURES)
    def mixture(self, request: pytest.FixtureRequest) -> dict[str, Any]:
        return MIXTURES[request.param]

    @pytest.fixture
    def optimizer(self, mixture: dict[str, Any]) -> str:
        return str(mixture["optimizer"])

    @pytest.fixture
    def options(self, mixture: dict[str, Any]) -> dict[str, Any]:
        return mixture

    @pytest.fixture
    def space(self) -> str:
        return "s3"


class TestEndings(OptimizerStepsConformance):
    """Methods that do not choose the final architecture by argmax alone."""

    @pytest.fixture(params=[EvolvesAtTheEnd, PerturbsAtTheEnd])
    def optimizer(self, request: pytest.FixtureRequest) -> type[OneShotOptimizer]:
        method: type[OneShotOptimizer] = request.param
        return method

    def has_warm_up(self, state: SearchState) -> bool:
        return not isinstance(state.method, RandomWS)

    @pytest.fixture
    def options(self, optimizer: type[OneShotOptimizer]) -> dict[str, Any]:
        return SELECTION if issubclass(optimizer, RandomWS) else {}

    @pytest.fixture
    def space(self) -> str:
        return "s3"


# Faulty optimizers, each with the test of the suite that detects it. --------------------------------------------------


class TwiceTheWeights(DARTS):
    def mixing(self) -> Mixing:
        mixing = super().mixing()
        return mixing.with_tensors(iter([2 * tensor for tensor in mixing.tensors()]))


class TimesZero(RandomWS):
    """Computes all operations, most of them times zero: momentum and weight decay change unsampled weights."""

    def mixing(self) -> Mixing:
        return Mixing(to_tensors(self.space.one_hot(self.sample())))


class LearnsFromTheWeightHalf(DARTS):
    def architecture_step(self, step: SearchStep) -> None:
        swapped = {"weight_batch": step.architecture_batch, "architecture_batch": step.weight_batch}
        super().architecture_step(replace(step, **swapped))


class LearnsNothing(DARTS):
    def architecture_step(self, step: SearchStep) -> None:
        pass


class LeavesGradients(DARTS):
    def architecture_step(self, step: SearchStep) -> None:
        step.loss(self.mixing(), step.architecture_batch).backward()
        self.adam.step()


class ChangesLambdaInWeightSteps(DARTS):
    def mixing(self) -> Mixing:
        with torch.no_grad():
            self.parameters["operations"] += 0.1
        return super().mixing()


class DrawsFromTheGlobalGenerator(DARTS):
    def mixing(self) -> Mixing:
        torch.randn(1)
        return super().mixing()


class ForgetsItsMoments(DARTS):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "adam": self.adam.state_dict()})


class AcceptsIncompleteState(RandomWS):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**self.state_dict(), **state})


class ScoresMoreThanAnnounced(RandomWS):
    def choose(self, shared: SharedWeights) -> None:
        for _ in range(3):
            super().choose(shared)


class ScoresOnTheWeightHalf(RandomWS):
    def end_epoch(self, shared: SharedWeights) -> None:
        rows = torch.from_numpy(shared._split.weights)
        self.chosen = min((self.sample() for _ in range(3)), key=lambda arch: shared.errors([arch], rows)[0])


class CannotUndoItsEnd(RandomWS):
    """Continues with its final architecture although its state was restored."""

    has_ended = False

    def end_search(self, shared: SharedWeights) -> None:
        self.has_ended = True

    def sample(self) -> Architecture:
        return self.chosen if self.has_ended else super().sample()


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (TwiceTheWeights, "test_mixing_weights_have_expected_sum"),
        (TimesZero, "test_weight_step_changes_only_computed_weights"),
        (LearnsFromTheWeightHalf, "test_lambda_does_not_depend_on_weight_half"),
        (LearnsFromTheWeightHalf, "test_lambda_depends_on_architecture_half"),
        (LearnsNothing, "test_lambda_depends_on_architecture_half"),
        (LeavesGradients, "test_weight_steps_keep_lambda_and_architecture_steps_keep_weights"),
        (ChangesLambdaInWeightSteps, "test_weight_steps_keep_lambda_and_architecture_steps_keep_weights"),
        (ChangesLambdaInWeightSteps, "test_lambda_does_not_change_during_warm_up"),
        (DrawsFromTheGlobalGenerator, "test_random_numbers_come_from_given_generators"),
        (ForgetsItsMoments, "test_loaded_state_continues_identically"),
        (AcceptsIncompleteState, "test_incomplete_state_is_rejected"),
        (CannotUndoItsEnd, "test_finished_search_continues_from_saved_state"),
        (ScoresMoreThanAnnounced, "test_scores_at_most_announced_images_of_architecture_half"),
        (ScoresOnTheWeightHalf, "test_scores_at_most_announced_images_of_architecture_half"),
    ],
)
def test_the_suite_detects_the_fault(tmp_path, broken, test):
    base = {"images": str(random_images(tmp_path)), "space": "s1"}

    def run(optimizer: str) -> None:
        run_options = {**base, "optimizer": optimizer, **(SELECTION if issubclass(broken, RandomWS) else {})}
        values = {"run_options": run_options, "state": tiny_state(run_options), "learning_rate": 0.025}
        method = getattr(OptimizerStepsConformance(), test)
        method(**{name: values[name] for name in inspect.signature(method).parameters})

    run("random-ws" if issubclass(broken, RandomWS) else "darts")
    with pytest.raises((AssertionError, pytest.fail.Exception)):  # the second: the expected exception was not raised
        run(f"{__name__}:{broken.__name__}")


def test_the_suite_detects_state_lost_on_resuming(tmp_path):
    options = {
        "images": str(random_images(tmp_path)),
        "space": "s1",
        "optimizer": f"{__name__}:{ForgetsItsMoments.__name__}",
    }
    uninterrupted = tiny_search(tmp_path / "uninterrupted", options)
    with pytest.raises(AssertionError, match=r"'line 2', 'Λ"):
        OptimizerConformance().test_killed_and_resumed_search_equals_uninterrupted_search(
            uninterrupted, options, tmp_path
        )
