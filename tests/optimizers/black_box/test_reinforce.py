"""REINFORCE compared with its formulas: gradient, baseline, Adam and learned policies."""

from typing import Any

import numpy as np
import pytest
import torch
from black_box_tables import BUDGETS, S1, smooth_table

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.optimizers.black_box.reinforce import REINFORCE, REINFORCEHyperparameters

NB201 = nb.search_space("nb201")


def reinforce(space: nb.SearchSpace = NB201, **options: Any) -> REINFORCE:
    return REINFORCE(space, REINFORCEHyperparameters(**options), 108, BUDGETS, np.random.default_rng(0))


@pytest.mark.parametrize("update", ["sgd", "adam"])
def test_steps_agree_with_pytorch(update: str) -> None:
    made = reinforce(update=update, learning_rate=0.05, baseline_momentum=0.9)
    logits = torch.zeros(6, 5, dtype=torch.float64, requires_grad=True)
    steps = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[update]([logits], lr=0.05)
    numerator = denominator = 0.0
    for number, error in enumerate([0.3, 0.2, 0.6, 0.1, 0.15]):
        arch = NB201[1_000 * number]
        made.tell(Query(arch, 12), error, 1.0)
        numerator, denominator = 0.9 * numerator + (1 - 0.9) * (1 - error), 0.9 * denominator + (1 - 0.9)
        log_probabilities = torch.log_softmax(logits, dim=1)[range(6), list(NB201.values_of(arch))]
        loss = -log_probabilities.sum() * ((1 - error) - numerator / denominator)
        steps.zero_grad()
        loss.backward()
        steps.step()
        np.testing.assert_allclose(made.logits, logits.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_choices_of_different_sizes_never_take_invalid_values() -> None:
    made = reinforce(S1, learning_rate=5.0)
    levels = np.array(S1.variables())
    assert len(set(levels)) > 1
    for number in range(200):
        query = made.ask()
        made.tell(query, 0.5 + 0.4 * np.sin(number), 1.0)
        assert (np.array(S1.values_of(query.architecture)) < levels).all()
    np.testing.assert_allclose(made.probabilities().sum(axis=1), 1)
    assert (made.probabilities()[~made.allowed] == 0).all()


def test_draws_follow_the_policy() -> None:
    made = reinforce()
    made.logits[0] = np.log([0.5, 0.2, 0.1, 0.1, 0.1])
    made._probabilities = made.probabilities()
    drawn = np.array([NB201.values_of(made.ask().architecture) for _ in range(4_000)])
    first = np.bincount(drawn[:, 0], minlength=5) / 4_000
    np.testing.assert_allclose(first, [0.5, 0.2, 0.1, 0.1, 0.1], atol=0.03)
    np.testing.assert_allclose(np.bincount(drawn[:, 5], minlength=5) / 4_000, [0.2] * 5, atol=0.03)


def test_the_policy_learns_the_optimum() -> None:
    repeats = Repeats(black_box_options({"optimizer": "reinforce", "space": "s1", "evaluations": 400}), smooth_table())
    errors: list[float] = []
    method = REINFORCE(S1, REINFORCEHyperparameters(), 108, BUDGETS, np.random.default_rng(0))
    for _ in range(400):
        query = method.ask()
        error = 1 - repeats.table.query(query.architecture).validation_accuracy
        errors.append(error)
        method.tell(query, error, 1.0)
    assert np.mean(errors[-50:]) < np.mean(errors[:50]) - 0.05


def test_invalid_samples_of_nb101_are_redrawn() -> None:
    made = reinforce(nb.search_space("nb101"))
    space = nb.search_space("nb101")
    for _ in range(30):
        arch = made.ask().architecture
        assert space[space.index(arch)] == arch
