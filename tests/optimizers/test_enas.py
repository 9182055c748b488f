"""ENAS: the controller's training and images, and published quirks as switches of the preset."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_controller import TINY, controller, every_decision, generator
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import DivergedError
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizers.enas import ENAS, ENASHyperparameters, controller_settings, reinforce_loss
from nasbench1shot1.space import Choice

MAX_POOL = 2


class Judge:
    """Replacement for shared weights: more max-pooling is better."""

    batch_size = 8

    def __init__(self) -> None:
        self.asked: list[tuple[int, torch.Tensor]] = []

    def rows(self, images: int, drawn: torch.Generator) -> torch.Tensor:
        return 100 + torch.randperm(40, generator=drawn)[:images]

    def errors(self, architectures, rows=None) -> np.ndarray:
        self.asked.append((len(architectures), rows))
        return np.array([1 - np.mean(np.equal(arch.operations, MAX_POOL)) for arch in architectures])


def enas(seed: int = 0, space=TINY, **hyperparameters) -> ENAS:
    return ENAS(space, ENASHyperparameters(**hyperparameters), generator(seed), torch.device("cpu"))


def probabilities(method: ENAS) -> torch.Tensor:
    with torch.no_grad():
        return method.controller.score(every_decision(TINY)).log_probability.exp()


@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_the_expected_gradient_of_the_loss_is_that_of_reward_and_entropy(baseline):
    made, weight = controller(), 0.3
    scored = made.score(every_decision(TINY))
    probability = scored.log_probability.exp()
    rewards = torch.rand(len(probability), dtype=torch.float64, generator=generator(1))
    entropy = -(probability * scored.log_probability).sum()
    exact = torch.autograd.grad(-(probability * rewards).sum() - weight * entropy, list(made.parameters()))

    def weighted(i: int) -> torch.Tensor:
        one = made.score([picks[i : i + 1] for picks in every_decision(TINY)])
        return probability[i].item() * reinforce_loss(one, rewards[i : i + 1], baseline, weight)

    expected = torch.autograd.grad(sum(weighted(i) for i in range(len(probability))), list(made.parameters()))
    for ours, right in zip(expected, exact, strict=True):
        assert torch.allclose(ours, right, rtol=1e-6, atol=1e-9)
        assert right.abs().max() > 1e-4


def test_the_controller_learns_from_one_batch_of_the_architecture_half_per_step():
    method, judge = enas(controller_steps=200, controller_learning_rate=0.03), Judge()
    scored = method.controller.score(every_decision(TINY)).architectures
    rewards = torch.tensor(1 - judge.errors(scored), dtype=torch.float32)
    before = (probabilities(method) * rewards).sum().item()
    judge.asked.clear()
    method.end_epoch(judge)
    after = (probabilities(method) * rewards).sum().item()
    assert before == pytest.approx(1 / 3, abs=0.01)
    assert after > 0.5  # the tanh bounds the probability of an operation by 0.576
    assert method.baseline == pytest.approx(100 * after, abs=15)  # percent
    assert [count for count, _ in judge.asked] == [1] * 200
    assert all(len(rows) == judge.batch_size and rows.min() >= 100 for _, rows in judge.asked)


def test_the_baseline_starts_at_the_first_reward_or_at_zero_as_published():
    for from_zero, expected in ((False, 75), (True, 0.25 * 75)):
        method = enas(
            controller_baseline_from_zero=from_zero, controller_baseline_decay=0.75, controller_entropy_weight=0.0
        )
        samples = method.controller.sample(generator(0))
        method.reinforce([(samples, 0.75)], method.baseline)
        assert method.baseline == pytest.approx(expected)
        method.reinforce([(method.controller.sample(generator(0)), 0.0)], method.baseline)
        assert method.baseline == pytest.approx(0.75 * expected)


def test_the_first_step_has_no_advantage_over_the_baseline():
    method = enas(controller_entropy_weight=0.0)
    before = probabilities(method)
    method.reinforce([(method.controller.sample(generator(0)), 0.9)], method.baseline)
    assert torch.equal(probabilities(method), before)


def test_training_and_selection_use_draws_of_the_current_controller():
    method, judge = enas(candidates=30, controller_steps=150, controller_learning_rate=0.05), Judge()
    method.begin_epoch(1, 2, generator(1))
    early = [method.mixing().path for _ in range(100)]
    assert len(set(early)) > 25
    method.end_epoch(judge)
    judge.asked.clear()
    method.choose(judge)
    late = [method.mixing().path for _ in range(100)]
    pooled = [np.mean([np.equal(arch.operations, MAX_POOL).mean() for arch in drawn]) for drawn in (early, late)]
    assert pooled[0] < 0.45
    assert pooled[1] > pooled[0] + 0.1  # no architecture drawn in advance by the earlier controller
    assert method.architecture().operations == (MAX_POOL, MAX_POOL)
    assert judge.asked[0][0] <= 30
    assert method.evaluation_mixing().path == method.architecture()
    assert TINY.discretise(method.parameters) == method.architecture()


def test_a_restored_state_continues_bit_for_bit():
    method, judge = enas(controller_steps=10), Judge()
    method.begin_epoch(1, 2, generator(1))
    method.mixing()
    method.end_epoch(judge)
    method.choose(judge)
    other = enas(seed=9, controller_steps=10)
    other.begin_epoch(1, 2, generator(5))
    other.mixing()  # architectures drawn in advance must be discarded
    state = method.state_dict()
    other.load_state_dict(state)
    assert other.architecture() == method.architecture()
    for each in (method, other):
        each.begin_epoch(2, 2, generator(2))
        assert each.mixing().path == enas_draw(state)
        each.end_epoch(Judge())
    assert torch.equal(probabilities(other), probabilities(method))
    assert other.baseline == method.baseline


def enas_draw(state) -> nb.Architecture:
    """The first draw of epoch 2 by a controller in this saved state, which later steps must not change."""
    third = enas(seed=3)
    third.load_state_dict(state)
    third.begin_epoch(2, 2, generator(2))
    return third.mixing().path


def test_the_presets_select_the_published_quirks():
    options = search_options({"optimizer": "enas"})
    corrected, common = options.own, options.common
    assert (common.batch_size, common.weight_decay, common.grad_clip, common.epochs) == (64, 1e-4, 0.25, 50)
    assert (corrected.candidates, corrected.controller_steps) == (100, 300)
    assert (corrected.controller_reward_scale, corrected.controller_entropy_weight) == (100, 1e-4)
    assert not corrected.controller_average_parents
    original = search_options({"optimizer": "enas", "preset": "original"}).own
    assert (original.controller_entropy_weight, original.controller_operation_bias) == (1e-6, 0.25)
    assert original.controller_average_parents
    assert original.controller_baseline_from_zero
    assert (original.candidates, original.candidate_batches, original.finalists) == (1000, 1, 5)
    settings = controller_settings(TINY, original)
    assert settings.operation_bias == (0.25, -0.25, 0.25)
    assert settings.operation_bias_start == (10, 0, 10)
    assert search_options({"optimizer": "enas", "scale": "quick"}).own.controller_steps == 30


def test_the_published_preset_searches_widths_without_operations_and_parents(tmp_path):
    sizes = {"channels": 64, "cells": 3, "image_side": 4, "images_per_half": 20, "batch_size": 10, "epochs": 1}
    few = {"candidates": 3, "candidate_batches": 1, "finalists": 2, "controller_steps": 2}
    run = search(tmp_path / "run", optimizer="enas", preset="original", space="nats-size", **sizes, **few)
    assert run.is_finished
    assert (run.config["controller_operation_bias"], run.config["controller_average_parents"]) == (0.0, False)


class FourOperations(type(TINY)):
    def choices(self) -> tuple[Choice, ...]:
        return tuple(replace(choice, entries=4) for choice in super().choices())


def test_an_operation_bias_needs_its_operations():
    space = FourOperations("four", "four-v1", n_parents=(1, 1, 2))
    assert controller_settings(space, ENASHyperparameters()).operation_bias == ()
    with pytest.raises(nb.InvalidInputError, match=r"four.*0"):
        controller_settings(space, ENASHyperparameters(controller_operation_bias=0.25))


@pytest.mark.parametrize("name", ["nb201", "nats-size"])
def test_averaging_over_parents_needs_a_choice_of_several_parents(name):
    with refuses(nb.InvalidInputError, name, options="controller_average_parents"):
        enas(space=nb.search_space(name), controller_average_parents=True)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("controller_steps", -1, "controller_steps.*least 0.*-1"),
        ("controller_learning_rate", float("nan"), "controller_learning_rate.*least 0"),
        ("controller_baseline_decay", 1.5, "^controller_baseline_decay .*0 and 1"),
        ("controller_temperature", 0.0, "controller_temperature.*than 0"),
        ("controller_hidden", 0, "controller_hidden.*least 1"),
        ("finalists", 101, "finalists=101 cannot.*candidates=100"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(option, value, message):
    with pytest.raises(nb.InvalidInputError, match=message):
        ENASHyperparameters(**{option: value}).check()


def test_a_diverged_controller_is_reported_in_one_sentence():
    method = enas(controller_steps=0)
    with torch.no_grad():
        method.controller.embedding.weight[0, 0] = torch.nan
    with pytest.raises(DivergedError, match="controller_learning_rate="):
        method.end_epoch(Judge())
