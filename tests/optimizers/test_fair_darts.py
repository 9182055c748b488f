"""FairDARTS starts at equal sigmoids, so that noise does not decide about an operation without a gradient."""

from typing import Any

import numpy as np
import pytest
import torch
from tiny_search import generator

import nasbench1shot1 as nb
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.optimizers.fair_darts import FairDARTS, FairDARTSHyperparameters
from nasbench1shot1.probability import most_probable, preferred_within


def made(space: str, **options: Any) -> FairDARTS:
    return FairDARTS(nb.search_space(space), FairDARTSHyperparameters(**options), generator(0), torch.device("cpu"))


def test_operations_start_at_a_half_and_edges_with_noise():
    method = made("s1")
    assert not method.parameters["operations"].any()
    assert method.parameters["input_edges/3"].all()
    assert (method.mixing().weights["operations"] == 0.5).all()


def test_steps_do_not_move_an_operation_without_a_gradient():
    method, drawn = made("nb201"), generator(1)
    for _ in range(20):
        gradient = torch.randn(6, 5, generator=drawn)
        gradient[:, 0] = 0  # none adds zeros to the sum, whatever its weight
        method.descend(method._with_term((gradient,)))
    moved = method.parameters["operations"] != 0
    assert moved[:, 1:].all()
    assert not moved[:, 0].any()


def test_the_threshold_applies_to_the_mixing_weights():
    """With a temperature of 4, Λ = 2 gives the mixing weight σ(0.5) = 0.62."""
    method = made("nb201", operation_threshold=0.85, temperature_max=4.0, temperature_min=4.0)
    method.parameters["operations"].data.zero_()[:, 1] = 2.0
    assert method.architecture().operations == (0,) * 6
    method.parameters["operations"].data[:, 1] = 8.0
    assert method.architecture().operations == (1,) * 6


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_with_a_threshold_the_most_probable_network_is_the_chosen_one(temperature):
    method = made("nb201", operation_threshold=0.85, temperature_max=temperature, temperature_min=temperature)
    drawn, space, chosen = generator(0), nb.search_space("nb201"), set()
    for _ in range(20):
        method.parameters["operations"].data.normal_(0, 1.5 * temperature, generator=drawn)
        found, _ = next(most_probable(space, method.preferences()))
        assert found == method.architecture()
        chosen.update(found.operations)
    assert chosen == {0, 1, 2, 3, 4}


def test_with_a_threshold_an_operation_is_exchanged_for_none_within_bounds():
    """Without it, the unused Λ of none would decide."""
    method, space = made("nb201", operation_threshold=0.85), nb.search_space("nb201")
    values = method.parameters["operations"].data.fill_(-9.0)
    values[:, 3], values[0, 3], values[0, 1] = 3.0, 2.0, 1.0
    cost = Cost("convolutions", 5, lambda arch: arch.operations.count(3), lambda: np.zeros(0))
    bounded = Constraint([cost], "convolutions ≤ 5")
    assert method.architecture().operations == (3,) * 6
    found = preferred_within(bounded, method.architecture(), space, method.preferences())
    assert found.operations == (0, 3, 3, 3, 3, 3)
    assert preferred_within(bounded, method.architecture(), space, method.parameters).operations == (1, 3, 3, 3, 3, 3)


def test_without_a_threshold_the_preferences_are_lambda():
    method = made("nb201")
    assert method.preferences()["operations"] is method.parameters["operations"]
