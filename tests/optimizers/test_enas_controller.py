"""ENAS's controller: exact probabilities, draws that follow them, and independence of the search space."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_controller import TINY, controller, every_decision, generator

import nasbench1shot1 as nb
from nasbench1shot1.optimizers.enas_controller import (
    Controller,
    ControllerSettings,
    architectures,
    averaged_draws,
    draw,
    successive_draws,
)
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.space import Choice

logits_and_picks = st.integers(1, 5).flatmap(
    lambda entries: st.tuples(
        st.lists(st.floats(-6, 6), min_size=entries, max_size=entries), st.integers(min_value=1, max_value=entries)
    )
)


@given(logits_and_picks)
def test_probabilities_of_all_orders_sum_to_one_and_give_the_total_entropy(drawn):
    values, picks = drawn
    orders = torch.tensor(list(permutations(range(len(values)), picks)))
    logits = torch.tensor(values, dtype=torch.float64).expand(len(orders), -1)
    log_probability, entropy = successive_draws(logits, orders)
    probability = log_probability.exp()
    assert probability.sum().item() == pytest.approx(1)
    # chain rule: the mean of the conditional entropies is the entropy of the sequence
    total = -(probability * log_probability).sum().item()
    assert (probability * entropy).sum().item() == pytest.approx(total, abs=1e-9)


def test_draws_without_replacement_in_a_worked_example():
    logits = torch.tensor([[0.0, math.log(2), math.log(3)]])  # 1 : 2 : 3
    log_probability, entropy = successive_draws(logits, torch.tensor([[2, 0]]))
    assert log_probability.exp().item() == pytest.approx(3 / 6 * 1 / 3)
    first = math.log(6) - (2 * math.log(2) + 3 * math.log(3)) / 6
    assert entropy.item() == pytest.approx(first + math.log(3) - 2 / 3 * math.log(2))
    averaged, one_entropy = averaged_draws(logits, torch.tensor([[2, 0]]))
    assert averaged.item() == pytest.approx((math.log(1 / 2) + math.log(1 / 6)) / 2)
    assert one_entropy.item() == pytest.approx(first)


def test_drawing_follows_the_probabilities():
    logits, count = torch.tensor([0.3, -1.0, 1.2, 0.0]), 40_000
    drawn = draw(logits.expand(count, -1), 2, generator(0))
    orders = torch.tensor(list(permutations(range(4), 2)))
    expected = successive_draws(logits.expand(len(orders), -1), orders)[0].exp() * count
    seen = (drawn[:, None] == orders).all(dim=2).sum(dim=0)
    assert seen.sum() == count
    assert (((seen - expected) ** 2) / expected).sum() < 31.3  # chi-squared, 11 degrees of freedom, p = 0.001


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_the_controllers_probabilities_of_all_decisions_sum_to_one(seed):
    decisions = every_decision(TINY)
    scored = controller(seed=seed).score(decisions)
    assert len(scored.architectures) == 3 * 2 * 3 * 6
    assert len(set(scored.architectures)) == 3 * 2 * 3 * 3 == len(TINY)
    probability = scored.log_probability.exp()
    assert probability.max() > 2 / len(probability)  # the case is not trivial
    assert probability.sum().item() == pytest.approx(1)
    mean_entropy = (probability * scored.entropy).sum().item()
    assert mean_entropy == pytest.approx(-(probability * scored.log_probability).sum().item())


def test_sampled_architectures_follow_their_probabilities():
    made, count = controller(operation_tanh_reduction=1.0, tanh_constant=0.7), 10_000
    scored = made.score(every_decision(TINY))
    expected = np.zeros(len(TINY))
    for arch, log_probability in zip(scored.architectures, scored.log_probability.tolist(), strict=True):
        expected[TINY.index(arch)] += math.exp(log_probability)
    with torch.no_grad():
        sampled = made.sample(generator(0), count).architectures
    seen = np.bincount([TINY.index(arch) for arch in sampled], minlength=len(TINY))
    assert (expected * count).min() > 5
    chi_squared = ((seen - expected * count) ** 2 / (expected * count)).sum()
    assert chi_squared < 90.6  # 53 degrees of freedom, p = 0.001


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_samples_are_in_the_space_and_score_agrees_with_sample(name):
    space = nb.search_space(name)
    made = controller(space)
    samples = made.sample(generator(3), 20)
    assert all(0 <= space.index(arch) < len(space) for arch in samples.architectures)
    assert len(set(samples.architectures)) > 1
    assert samples.log_probability.shape == samples.entropy.shape == (20,)
    again = made.score(samples.decisions)
    assert again.architectures == samples.architectures == architectures(space, samples.decisions)
    assert torch.equal(again.log_probability, samples.log_probability)
    assert torch.equal(again.entropy, samples.entropy)


@pytest.mark.parametrize("name", ["s1", "s2", "s3"])
def test_every_weight_gets_a_gradient(name):
    made = controller(nb.search_space(name))
    made.sample(generator(0), 8).log_probability.sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in made.parameters())
    made.zero_grad()
    made.sample(generator(0), 8).entropy.sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in made.parameters())


def test_equal_generators_give_equal_draws_without_the_global_generator():
    before = torch.get_rng_state()
    a, b = (Controller(TINY, ControllerSettings(), generator(5)) for _ in range(2))
    assert a.sample(generator(1), 30).architectures == b.sample(generator(1), 30).architectures
    assert a.sample(generator(1), 30).architectures != a.sample(generator(2), 30).architectures
    assert torch.equal(torch.get_rng_state(), before)


def test_the_state_can_be_restored():
    a, b = controller(seed=0), controller(seed=1)
    b.load_state_dict(a.state_dict())
    decisions = every_decision(TINY)
    assert torch.equal(a.score(decisions).log_probability, b.score(decisions).log_probability)


def operation_probabilities(made: Controller, block: int) -> list[float]:
    scored = made.score(every_decision(made.space))
    chosen = torch.tensor([arch.operations[block] for arch in scored.architectures])
    return [scored.log_probability.exp()[chosen == operation].sum().item() for operation in range(3)]


def test_the_controller_starts_almost_uniform_unless_biased():
    plain = Controller(TINY, ControllerSettings(), generator(0))
    assert operation_probabilities(plain, 0) == pytest.approx([1 / 3] * 3, abs=0.01)
    # the published code's: learned biases of 10 and fixed ones of ± 0.25, against conv1x1
    biased = ControllerSettings(operation_bias=(0.25, -0.25, 0.25), operation_bias_start=(10, 0, 10))
    favoured = math.exp(0.5 * math.tanh(10 / 5) + 0.25)
    total = 2 * favoured + math.exp(-0.25)
    expected = [favoured / total, math.exp(-0.25) / total, favoured / total]
    assert operation_probabilities(Controller(TINY, biased, generator(0)), 1) == pytest.approx(expected, abs=0.01)


def test_scores_are_bounded_more_tightly_for_operations_than_for_inputs():
    made = controller(tanh_constant=2.5, operation_tanh_reduction=5.0)
    with torch.no_grad():
        for layer in made.scores:
            layer.bias.copy_(torch.tensor([1e6] + [-1e6] * (layer.out_features - 1)))
    assert operation_probabilities(made, 0)[0] == pytest.approx(1 / (1 + 2 * math.exp(-1)))
    scored = made.score(every_decision(TINY))
    from_input = torch.tensor([arch.parents[1] == (0,) for arch in scored.architectures])
    assert scored.log_probability.exp()[from_input].sum().item() == pytest.approx(1 / (1 + math.exp(-5)))


class Edges(ChoiceBlockSpace):
    """A space with other choices: three edges in one matrix, one operation each, the first used twice."""

    operation_key = "edges"

    def __init__(self) -> None:
        super().__init__("edges", "edges-v1", (1, 1, 2))

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"edges": (2, 3), "output": (3,)}

    def choices(self) -> tuple[Choice, ...]:
        return (Choice("edges", 1, 3, 1), Choice("edges", 0, 3, 1), Choice("output", None, 3, 2))

    def discretise(self, mixing) -> nb.Architecture:
        assert {key: value.shape for key, value in mixing.items()} == self.mixing_shapes()
        operations = tuple(int(row.argmax()) for row in mixing["edges"])
        return nb.Architecture("edges", ((0,), (0,), tuple(np.flatnonzero(mixing["output"]).tolist())), operations)


def test_the_controller_works_on_any_space_with_choices():
    made = controller(Edges())
    decisions = every_decision(Edges())
    scored = made.score(decisions)
    assert len(scored.architectures) == 3 * 3 * 6
    assert scored.log_probability.exp().sum().item() == pytest.approx(1)
    for arch, second, first, output in zip(scored.architectures, *decisions, strict=True):
        assert arch.operations == (first.item(), second.item())
        assert arch.parents[2] == tuple(sorted(output.tolist()))
