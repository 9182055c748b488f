"""Every built-in optimizer, and mixtures of their components, pass the bundled conformance suite.

The suite detects faulty optimizers.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from ending_methods import EvolvesAtTheEnd, PerturbsAtTheEnd

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.conformance.optimizer import OptimizerConformance
from nasbench1shot1.conformance.optimizer_steps import OptimizerStepsConformance
from nasbench1shot1.conformance.tiny_search import random_images, tiny_search, tiny_state
from nasbench1shot1.optimizer import Mixing, OneShotOptimizer, SearchStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.optimizers.random_ws import RandomWS
from nasbench1shot1.registry import BUILT_IN
from nasbench1shot1.supernet import to_tensors
from nasbench1shot1.weight_sharing.shared_weights import SharedWeights

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
}
MIXTURES: dict[str, dict[str, Any]] = {
    "single paths, second order": {"optimizer": "gdas", "relaxation": "single-path", "update": "second-order"},
    "GDAS as published: a draw for each cell": {"optimizer": "gdas", "preset": "original"},
    "GDAS on partial channels": {"optimizer": "gdas", "partial_channels": 4, "channels": 8},
    "ENAS as published": {"optimizer": "enas", "preset": "original", **OPTIONS["enas"]},
}


def test_every_built_in_optimizer_is_tested():
    assert set(OPTIONS) == set(BUILT_IN["optimizers"])


class TestBuiltIn(OptimizerConformance):
    @pytest.fixture(params=OPTIONS)
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def options(self, optimizer: str) -> dict[str, Any]:
        return {"cells": 1, **OPTIONS[optimizer]}  # mixtures have two


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
        swapped = (step.architecture_batch, step.weight_batch)
        super().architecture_step(
            SearchStep(step.loss, step.loss_at, step.weights, *swapped, weight_optimizer=step.weight_optimizer)
        )


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
        (TwiceTheWeights, "test_mixing_weights_sum_to_what_they_should"),
        (TimesZero, "test_only_the_weights_that_a_pass_computes_move"),
        (LearnsFromTheWeightHalf, "test_the_weight_half_teaches_lambda_nothing"),
        (LearnsFromTheWeightHalf, "test_what_lambda_learns_it_learns_from_the_architecture_half"),
        (LearnsNothing, "test_what_lambda_learns_it_learns_from_the_architecture_half"),
        (LeavesGradients, "test_weight_steps_leave_lambda_alone_and_its_own_steps_the_weights"),
        (ChangesLambdaInWeightSteps, "test_weight_steps_leave_lambda_alone_and_its_own_steps_the_weights"),
        (ChangesLambdaInWeightSteps, "test_while_the_weights_warm_up_it_learns_nothing"),
        (DrawsFromTheGlobalGenerator, "test_all_that_it_draws_comes_from_its_generators"),
        (ForgetsItsMoments, "test_a_fresh_one_that_takes_up_its_state_goes_on_alike"),
        (AcceptsIncompleteState, "test_a_state_that_lacks_something_is_refused"),
        (CannotUndoItsEnd, "test_its_state_undoes_the_end_of_a_search"),
        (ScoresMoreThanAnnounced, "test_it_scores_images_of_the_architecture_half_and_no_more_than_it_announces"),
        (ScoresOnTheWeightHalf, "test_it_scores_images_of_the_architecture_half_and_no_more_than_it_announces"),
    ],
)
def test_the_suite_detects_the_fault(tmp_path, broken, test):
    base = {"images": str(random_images(tmp_path)), "space": "s1"}

    def run(optimizer: str) -> None:
        given = {**base, "optimizer": optimizer, **(SELECTION if issubclass(broken, RandomWS) else {})}
        values = {"given": given, "state": tiny_state(given), "learning_rate": 0.025}
        method = getattr(OptimizerStepsConformance(), test)
        method(**{name: values[name] for name in inspect.signature(method).parameters})

    run("random-ws" if issubclass(broken, RandomWS) else "darts")
    with pytest.raises((AssertionError, pytest.fail.Exception)):  # the second: the expected exception was not raised
        run(f"{__name__}:{broken.__name__}")


def test_the_suite_detects_state_lost_on_resuming(tmp_path):
    searched = {
        "images": str(random_images(tmp_path)),
        "space": "s1",
        "optimizer": f"{__name__}:{ForgetsItsMoments.__name__}",
    }
    unbroken = tiny_search(tmp_path / "unbroken", searched)
    with pytest.raises(AssertionError, match=r"'line 2', 'Λ"):
        OptimizerConformance().test_killed_again_and_again_and_resumed_is_the_unbroken_run(unbroken, searched, tmp_path)
