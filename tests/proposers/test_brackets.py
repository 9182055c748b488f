"""Hyperband's plan compared with hpbandster."""

import numpy as np
import pytest
from hpbandster.optimizers.bohb import BOHB
from hpbandster.optimizers.randomsearch import RandomSearch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers.brackets import Brackets


def hpbandsters(kind, minimum, maximum, eta, iteration):
    """The plan of an hpbandster master, computed without starting its threads."""
    master = kind.__new__(kind)
    master.eta, master.max_budget = eta, maximum
    master.max_SH_iter = -int(np.log(minimum / maximum) / np.log(eta)) + 1
    powers = np.linspace(master.max_SH_iter - 1, 0, master.max_SH_iter)
    master.budgets = maximum * np.power(float(eta), -powers)
    master.budget_per_iteration = sum(b * eta**i for i, b in enumerate(master.budgets[::-1]))
    master.config_generator = type("Generator", (), {"get_config": None})
    made = master.get_next_iteration(iteration, {})
    return list(zip(np.round(made.budgets).astype(int), made.num_configs, strict=True))


def test_the_study_of_the_paper_has_280_trials():
    brackets = Brackets(25, 100, 2, 64)
    assert brackets.budgets == (25, 50, 100)
    assert [brackets.plan(i) for i in range(3)] == [((25, 4), (50, 2), (100, 1)), ((50, 2), (100, 1)), ((100, 3),)]
    assert brackets.planned == 280
    assert Brackets(25, 100, 2, 64, only_maximum=True).planned == 192


@given(st.integers(1, 60), st.integers(0, 4), st.integers(2, 4), st.integers(0, 9))
def test_plans_agree_with_hpbandster(minimum, powers, eta, iteration):
    maximum = minimum * eta**powers + 1  # for exact powers, its logarithm can lose a budget
    brackets = Brackets(minimum, maximum, eta, 10)
    assert list(brackets.plan(iteration)) == hpbandsters(BOHB, minimum, maximum, eta, iteration)
    at_maximum = Brackets(minimum, maximum, eta, 10, only_maximum=True)
    assert list(at_maximum.plan(iteration)) == hpbandsters(RandomSearch, minimum, maximum, eta, iteration)


def test_no_budget_is_lost_by_rounding_as_in_hpbandster():
    assert Brackets(1, 243, 3, 1).budgets == (1, 3, 9, 27, 81, 243)
    assert len(hpbandsters(BOHB, 1, 243, 3, 0)) == 5


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((0, 9), "min_budget 1"),
        ((9, 3), "max_budget=3"),
        ((1, 9, 1), "eta 2"),
        ((1, 9, 2, 0), "iterations 1"),
    ],
)
def test_impossible_plans_are_refused(arguments, values):
    with refuses(InvalidInputError, *values.split()):
        Brackets(*arguments)
