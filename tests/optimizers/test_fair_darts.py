"""FairDARTS starts at equal sigmoids, so that noise does not decide about an operation without a gradient."""

from typing import Any

import torch
from tiny_search import generator

import nasbench1shot1 as nb
from nasbench1shot1.optimizers.fair_darts import FairDARTS, FairDARTSHyperparameters


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
