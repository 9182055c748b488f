"""TAS, FBNetV2 and TuNAS: warm-up, sampled pairs, REINFORCE, and costs in losses and rewards."""

from collections import Counter

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_search import generator, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nats_size.cost import all_flops, flops
from nasbench1shot1.nats_size.numbering import all_widths
from nasbench1shot1.one_shot_search.loop import train_epoch
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizer import Batch, SearchStep
from nasbench1shot1.optimizers.components.expectation import Expectation
from nasbench1shot1.optimizers.components.moving_average import MovingAverage
from nasbench1shot1.optimizers.components.relaxation import draw_pairs, interpolation
from nasbench1shot1.optimizers.widths import used_samples
from nasbench1shot1.phases import phase_at

SPACE = nb.search_space("nats-size")
HALF = 137_000_000.0
FLOPS = Cost("flops", HALF, lambda arch: flops(arch.widths), lambda: all_flops(all_widths()).astype(float))
ROWS = (0, 0, 1, 2, 3, 4)


def method(name: str, seed: int = 0, **options):
    """A method whose Λ is spread out."""
    kind = registry.optimizer(name)
    own = search_options(
        {"optimizer": name, "space": "nats-size", "device": "cpu", "max_parameters": 1e6, **options}
    ).own
    made = kind(SPACE, own, generator(seed), torch.device("cpu"))
    with torch.no_grad():
        made.parameters["widths"].normal_(0, 1, generator=generator(seed))
    made.begin_epoch(10, 10, generator(seed))
    return made


def reward_step(accuracies: list[float]) -> SearchStep:
    """Steps of Λ whose passes have the given accuracies on 20 images, one after the other."""

    def logits(mixing, images) -> torch.Tensor:
        correct = round(20 * accuracies.pop(0))
        return torch.nn.functional.one_hot((torch.arange(20) >= correct).long(), 2).float()

    batch = Batch(torch.zeros(20, 3, 4, 4), torch.zeros(20, dtype=torch.long))
    return SearchStep(None, logits, None, {}, {}, batch, batch, None)


# Warm-up --------------------------------------------------------------------------------------------------------------


def test_the_warm_up_widens_random_layers_less_and_less_often():
    made = method("tas", warm_up_ratio=0.5)
    shares = []
    for epoch in range(1, 11):
        made.begin_epoch(epoch, 10, generator(epoch))
        shares.append(made.full_share)
    assert shares[:5] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])
    assert shares[5:] == [None] * 5


@pytest.mark.parametrize("name", ["tas", "fbnetv2", "tunas"])
def test_random_widths_have_the_published_frequencies(name):
    made = method(name, warm_up_ratio=0.5)
    made.begin_epoch(4, 10, generator(1))
    drawn = Counter(position for _ in range(800) for position in made.mixing().path.positions)
    wanted = [0.6 / 8] * 7 + [0.4 + 0.6 / 8]
    assert [drawn[position] / 4000 for position in range(8)] == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize(
    ("ratio", "warm_start_epochs", "lengths"),
    [(0.5, 0, [5, 5]), (0.3, 0, [3, 7]), (0.31, 0, [4, 6]), (0.5, 7, [7, 3]), (0.0, 0, [10]), (0.0, 2, [2, 8])],
)
def test_lambda_does_not_change_in_the_phase_with_random_widths(ratio, warm_start_epochs, lengths):
    made = method("tunas", warm_up_ratio=ratio)
    phases = made.phases(10, warm_start_epochs)
    assert [phase.epochs for phase in phases] == lengths
    assert [phase.moves_parameters for phase in phases] == [False, True][-len(lengths) :]
    for epoch in range(1, 11):
        made.begin_epoch(epoch, 10, generator(epoch))
        assert made.full_share is None or not phase_at(phases, epoch)[0].moves_parameters


def test_the_warm_up_leaves_lambda_and_the_baseline_as_they_are():
    sizes = {"channels": 64, "cells": 3, "image_side": 4, "images_per_half": 20, "batch_size": 10}
    state = tiny_state(optimizer="tunas", space="nats-size", epochs=2, warm_up_ratio=0.5, **sizes)
    before = state.method.parameters["widths"].detach().clone()
    for epoch, is_equal in ((1, True), (2, False)):
        train_epoch(state, epoch, SilentReporter())
        assert torch.equal(state.method.parameters["widths"], before) is is_equal
        assert (state.method.baseline.denominator == 0) is is_equal


def test_original_draws_a_width_for_each_of_six_layers():
    for name in ("tas", "fbnetv2", "tunas"):
        made = method(name, preset="original", warm_up_ratio=0.5)
        for epoch in (4, 10):
            made.begin_epoch(epoch, 10, generator(epoch))
            mixing = made.mixing()
            assert isinstance(mixing.weights, tuple) and len(mixing.weights) == len(ROWS) == made.draws
            assert mixing.path is None
            stem, cell = (mixing.weights[layer]["widths"][0] for layer in (0, 1))
            assert not torch.equal(stem, cell) or epoch == 4


@pytest.mark.parametrize("name", ["tas", "fbnetv2", "tunas"])
def test_noisy_evaluations_during_the_warm_up_use_its_random_widths_as_published(name):
    """The published supernet masks layers at random in every pass of a warm-up epoch, also in evaluation."""
    made = method(name, preset="original", warm_up_ratio=0.5)
    made.begin_epoch(1, 10, generator(1))  # every layer has the largest width with probability 1
    for weights in made.evaluation_mixing().weights:
        assert torch.equal(weights["widths"][:, -1], torch.ones(5))
    made.begin_epoch(10, 10, generator(10))
    assert not torch.equal(made.evaluation_mixing().weights[0]["widths"][:, -1], torch.ones(5))


# Sampled pairs --------------------------------------------------------------------------------------------------------


def test_pairs_are_drawn_without_replacement_from_the_softmax():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    drawn = draw_pairs(logits.expand(4000, 2, 3), generator(0))
    assert (drawn[..., 0] != drawn[..., 1]).all()
    first = np.bincount(drawn[:, 0, 0].numpy(), minlength=3) / 4000
    assert first == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    assert draw_pairs(logits[:1], None).tolist() == [[0, 1]]


def test_only_sampled_widths_have_weights_and_gradients():
    parameters = {"widths": torch.randn(5, 8, generator=generator(3), dtype=torch.float64).requires_grad_()}
    mixing = interpolation(SPACE, parameters, 0.7, generator(0))
    weights = mixing.weights["widths"]
    (gradient,) = torch.autograd.grad((weights * torch.arange(8)).sum(), [parameters["widths"]])
    for row, pair in enumerate(mixing.operations):
        others = [position for position in range(8) if position not in pair]
        assert weights[row].sum().item() == pytest.approx(1)
        assert not weights[row, others].any() and not gradient[row, others].any()
        assert gradient[row, list(pair)].abs().min() > 0


# REINFORCE ------------------------------------------------------------------------------------------------------------


def test_the_baseline_excludes_the_current_reward_only_under_corrected():
    for preset, scale in (("corrected", 1), ("original", 100)):
        made = method("tunas", preset=preset)
        rewards = [0.5 * scale, 0.7 * scale]
        first, second = (made.advantage(reward) for reward in rewards)
        average = (0.95 * 0.05 * rewards[0] + 0.05 * rewards[1]) / (0.95 * 0.05 + 0.05)
        assert first == pytest.approx(0.0)
        assert second == pytest.approx(rewards[1] - (rewards[0] if preset == "corrected" else average))


@pytest.mark.parametrize("preset", ["corrected", "original"])
def test_better_architectures_become_more_probable(preset):
    made = method("tunas", preset=preset)
    made.architecture_step(reward_step([0.5]))
    positions = made._draw()
    made._draw = lambda: positions
    before = float(made.log_probability(positions).detach())
    made.architecture_step(reward_step([0.9]))
    better = float(made.log_probability(positions).detach())
    made.architecture_step(reward_step([0.1]))
    assert before < better


def test_log_probabilities_count_every_draw_once():
    assert used_samples(ROWS, 1) == [(0, row) for row in range(5)]
    assert used_samples(ROWS, 6) == list(enumerate(ROWS))
    made = method("tunas", preset="original")
    logarithms = made.parameters["widths"].detach().log_softmax(dim=-1)
    positions = made._draw()
    wanted = sum(logarithms[row, positions[layer, row]] for layer, row in enumerate(ROWS))
    assert float(made.log_probability(positions).detach()) == pytest.approx(float(wanted))


def test_the_moving_average_continues_from_its_state():
    average = MovingAverage(0.9)
    assert average.value(3.0) == 3.0
    for value in (1.0, 5.0, 2.0):
        average.update(value)
    other = MovingAverage(0.9)
    other.restore(average.state())
    assert other.value(0.0) == average.value(0.0) == pytest.approx((0.81 + 4.5 + 2) / (0.81 + 0.9 + 1))


# Costs ----------------------------------------------------------------------------------------------------------------


def test_the_expected_cost_is_exact():
    parameters = torch.randn(5, 8, generator=generator(5), dtype=torch.float64)
    shares = parameters.softmax(dim=-1).numpy()
    positions = all_widths() // 8 - 1
    probabilities = np.prod([shares[row, positions[:, row]] for row in range(5)], axis=0)
    assert probabilities.sum() == pytest.approx(1)
    wanted = (probabilities * FLOPS.by_number).sum()
    assert float(Expectation(SPACE, FLOPS.by_number)({"widths": parameters})) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("position", "sign"), [(7, 1), (0, -1), (4, 0)])
def test_the_penalty_of_tas_pulls_costs_towards_the_bound(position, sign):
    """+ log E above the bound, - log E below the bound minus the tolerance, and nothing in between."""
    made = method("tas", cost_tolerance=0.2)
    made.constrain(Constraint([FLOPS], "flops"))
    with torch.no_grad():
        made.parameters["widths"][:, position] += 6
    leaf = made.parameters["widths"].detach().double().requires_grad_()
    Expectation(SPACE, FLOPS.by_number)({"widths": leaf}).log().backward()
    found = made._penalty_gradient(FLOPS, *made._expectations)
    torch.testing.assert_close(found.double(), sign * 2.0 * leaf.grad, rtol=1e-4, atol=1e-7)
    made.adam.step = lambda: None
    gradients = []
    made.adam.zero_grad = lambda: gradients.append(made.parameters["widths"].grad.clone())
    made.descend(made._with_costs((torch.ones(5, 8),)))
    torch.testing.assert_close(gradients[0], 1 + found)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"relaxation": "sigmoid"}, "relaxation cost_weight"),
        ({"relaxation": "dirichlet", "temperature_max": 1.0, "temperature_min": 1.0}, "relaxation cost_weight"),
        ({"relaxation": "gumbel", "rule": "exponentiated-gradient"}, "cost_weight rule"),
    ],
)
def test_only_a_search_with_bounds_refuses_what_the_penalty_of_tas_does_not_support(options, named):
    made = method("tas", **options)  # with the default weight, which has no effect without bounds
    with refuses(InvalidInputError, "0", options=named):
        made.constrain(Constraint([FLOPS], "flops"))
    free = method("tas", cost_weight=0.0, **options)
    free.constrain(Constraint([FLOPS], "flops"))
    assert free.hyperparameters.cost_weight == 0 and made.hyperparameters.cost_weight == 2


def test_the_reward_of_tunas_depends_on_the_cost():
    made = method("tunas", cost_weight=0.3)
    made.constrain(Constraint([FLOPS], "flops"))
    for arch in (SPACE[0], SPACE[4711], SPACE[32767]):
        wanted = 0.3 * abs(flops(arch.widths) / HALF - 1)
        assert made.cost_penalty(torch.tensor([arch.positions])) == pytest.approx(wanted)
    assert method("tunas").cost_penalty(torch.tensor([SPACE[0].positions])) == 0
    unknown = Cost("latency", 5.0, lambda arch: float("nan"), lambda: np.full(len(SPACE), np.nan))
    partial = method("tunas", cost_weight=0.3)
    partial.constrain(Constraint([FLOPS, unknown], "flops"))
    assert partial.cost_penalty(torch.tensor([SPACE[4711].positions])) == pytest.approx(
        0.3 * abs(flops(SPACE[4711].widths) / HALF - 1)
    )
    published = method("tunas", preset="original")
    drawn = published._draw()
    layers = [int(drawn[layer, row]) for layer, row in list(enumerate(ROWS))[1:]]
    assert published.drawn_architecture(drawn).positions == tuple(layers)


def test_rejection_draws_only_within_bounds_and_corrects_the_probability():
    made = method("tunas", rejection=True)
    made.constrain(Constraint([FLOPS], "flops"))
    drawn = [made._draw() for _ in range(50)]
    assert all(flops(made.drawn_architecture(positions).widths) <= HALF for positions in drawn)
    probability = Expectation(SPACE, FLOPS.by_number <= HALF)({"widths": made.parameters["widths"].detach()})
    free = method("tunas")
    difference = free.log_probability(drawn[0]) - made.log_probability(drawn[0])
    assert float(difference.detach()) == pytest.approx(float(probability.log()), rel=1e-4)
    assert made.cost_penalty(drawn[0]) == 0
    assert flops(made.sample().widths) <= HALF
    with refuses(InvalidInputError, options="rejection draws"):
        search_options({"optimizer": "tunas", "space": "nats-size", "rejection": True, "draws": 6, "device": "cpu"})


@pytest.mark.parametrize("name", ["tas", "fbnetv2", "tunas"])
def test_the_evaluated_architecture_is_within_the_bounds(name):
    made = method(name)
    with torch.no_grad():
        made.parameters["widths"][:, -1] += 3
    assert made.architecture().widths == (64,) * 5
    made.constrain(Constraint([FLOPS], "flops"))
    assert flops(made.architecture().widths) <= HALF
    assert made.evaluation_mixing().path == made.architecture()


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alias", "name"), [("mask-gumbel", "fbnetv2"), ("mask-rl", "tunas")])
def test_published_names_are_aliases(alias, name):
    options = search_options({"optimizer": alias, "space": "nats-size", "device": "cpu"})
    assert options.common.optimizer == name
    assert options.method is registry.optimizer(alias) is registry.optimizer(name)
    assert alias not in registry.names("optimizers")
