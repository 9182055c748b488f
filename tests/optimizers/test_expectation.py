"""Expectations of costs under Λ, against sums over all architectures, and the term that uses them."""

from itertools import combinations, product
from math import exp

import numpy as np
import pytest
import torch
from small_supernets import SPACES
from tiny_search import SMALL_SPACE, generator

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.cost import edge_parameter_count
from nasbench1shot1.optimizers.expectation import Expectation
from nasbench1shot1.probability import log_probability_of_picks
from nasbench1shot1.space import OneShotSpace


def spread(space, seed: int = 0) -> dict[str, torch.Tensor]:
    drawn = generator(seed)
    return {
        key: torch.randn(shape, generator=drawn, dtype=torch.float64).requires_grad_()
        for key, shape in space.mixing_shapes().items()
    }


def brute_force(space, parameters, values) -> float:
    """Σ p(architecture) · value over all combinations of picks, with the probabilities of `nb.probability`."""
    arrays = {key: value.detach().numpy() for key, value in parameters.items()}
    vectors = [arrays[c.key] if c.row is None else arrays[c.key][c.row] for c in space.choices()]
    total = weight = 0.0
    for picks in product(*(combinations(range(c.entries), c.picks) for c in space.choices())):
        logarithms = (log_probability_of_picks(v, taken) for v, taken in zip(vectors, picks, strict=True))
        probability, value = exp(sum(logarithms)), values[space.index(space.from_picks(picks))]
        if np.isfinite(value):
            total, weight = total + probability * value, weight + probability
    return total / weight


@pytest.mark.parametrize("known", [1.0, 0.8])
def test_an_expectation_equals_the_sum_over_all_architectures(known):
    rng, parameters = np.random.default_rng(1), spread(SMALL_SPACE)
    values = np.where(rng.random(len(SMALL_SPACE)) < known, rng.random(len(SMALL_SPACE)), np.nan)
    expected = Expectation(SMALL_SPACE, values)(parameters).item()
    assert expected == pytest.approx(brute_force(SMALL_SPACE, parameters, values), rel=1e-12)


def test_the_expected_parameters_of_nb201_follow_from_their_formula():
    """73,306 + 28,000 n1 + 243,040 n3 (`nasbench201.cost`): expected numbers of convolutions are sums over edges."""
    space = nb.search_space("nb201")
    parameters, values = spread(space), [edge_parameter_count(arch.operations) for arch in space.architectures("all")]
    shares = parameters["operations"].softmax(dim=-1).sum(dim=0)
    wanted = 73_306 + 28_000 * shares[2] + 243_040 * shares[3]
    assert Expectation(space, np.array(values))(parameters).item() == pytest.approx(wanted.item(), rel=1e-12)


def test_its_gradient_is_exact():
    values, parameters = np.random.default_rng(1).random(len(SMALL_SPACE)), spread(SMALL_SPACE)
    expected = Expectation(SMALL_SPACE, values)
    keys = list(parameters)
    assert torch.autograd.gradcheck(
        lambda *tensors: expected(dict(zip(keys, tensors, strict=True))), list(parameters.values())
    )


@pytest.mark.parametrize("name", SPACES)
def test_numbers_of_picks_agree_with_the_general_way(name):
    space = nb.search_space(name)
    numbers = space.numbers_of_picks()
    assert np.array_equal(np.sort(numbers, axis=None), np.arange(len(space)))
    picks = [list(combinations(range(c.entries), c.picks)) for c in space.choices()]
    rng = np.random.default_rng(0)
    for _ in range(100):
        at = tuple(int(rng.integers(n)) for n in numbers.shape)
        taken = [of_choice[i] for of_choice, i in zip(picks, at, strict=True)]
        assert numbers[at] == space.index(space.from_picks(taken))
    if len(space) < 20_000:
        assert np.array_equal(numbers, OneShotSpace.numbers_of_picks(space))
