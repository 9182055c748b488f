"""Expectations of costs under Λ, against sums over all architectures, and the penalty that uses them."""

from itertools import combinations, product
from math import exp

import numpy as np
import pytest
import torch
from refusals import refuses
from small_supernets import SPACES
from tiny_search import SMALL_SPACE, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.nasbench201.cost import edge_parameter_count
from nasbench1shot1.optimizers.components import expectation
from nasbench1shot1.optimizers.components.expectation import Expectation
from nasbench1shot1.optimizers.darts import DARTS
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


# The penalty of all gradient methods ----------------------------------------------------------------------------------


def penalised(weight: float, costs: dict[float, np.ndarray]) -> DARTS:
    """DARTS on the small space in float64, with a cost for every limit."""
    method = DARTS(SMALL_SPACE, DARTS.Hyperparameters(cost_weight=weight), generator(0), torch.device("cpu"))
    method.parameters = spread(SMALL_SPACE)
    made = [Cost("cost", limit, lambda _: float("nan"), lambda v=values: v) for limit, values in costs.items()]
    method.constrain(Constraint(made, "small"))
    return method


def test_the_penalty_is_the_sum_of_excesses_over_the_bounds():
    """Its gradient equals a finite difference of sums over all architectures; costs within their bound do not count."""
    rng = np.random.default_rng(3)
    above, below = rng.random(len(SMALL_SPACE)), rng.random(len(SMALL_SPACE))
    method = penalised(2.0, {0.1: above, 5.0: below})
    found = method._with_costs((None, *[torch.ones_like(value) for value in list(method.parameters.values())[1:]]))
    for position, (key, value) in enumerate(method.parameters.items()):
        entry, ends = (0,) * value.dim(), []
        for by in (1e-5, -1e-5):
            moved = {name: tensor.detach().clone() for name, tensor in method.parameters.items()}
            moved[key][entry] += by
            ends.append(2.0 * max(brute_force(SMALL_SPACE, moved, above) / 0.1 - 1, 0))
        wanted = (ends[0] - ends[1]) / 2e-5 + (position > 0)
        assert found[position][entry].item() == pytest.approx(wanted, rel=1e-6)


def test_excluded_entries_have_no_part_in_expected_costs():
    values = np.random.default_rng(1).random(len(SMALL_SPACE))
    method = penalised(1.0, {0.01: values})
    number = next(i for i, choice in enumerate(SMALL_SPACE.choices()) if choice.key == "operations")
    method.allowed.keep(number, [0, 2])
    row = SMALL_SPACE.choices()[number].row
    keys = list(method.parameters)
    first = method._with_costs((None,) * len(keys))[keys.index("operations")]
    with torch.no_grad():
        method.parameters["operations"][row, 1] += 3
    assert first[row, 1] == 0
    assert torch.equal(method._with_costs((None,) * len(keys))[keys.index("operations")], first)


@pytest.mark.parametrize("optimizer", ["darts", "gdas", "beta-darts", "idarts", "darts-pt"])
def test_a_large_weight_leads_expected_costs_to_the_bound(optimizer):
    state = tiny_state(
        optimizer=optimizer,
        space="nb201",
        cost_weight=10.0,
        max_parameters=3e5,
        architecture_learning_rate=0.05,
        **({"selection_epochs": 1} if optimizer == "darts-pt" else {}),
    )
    method, space = state.method, state.net.space
    costs = np.array([edge_parameter_count(arch.operations) for arch in space.architectures("all")], float)
    method.constrain(Constraint([Cost("parameters", 3e5, lambda arch: 0.0, lambda: costs)], "parameters"))
    (expected,) = method._expectations
    with torch.no_grad():
        for value in method.parameters.values():
            value.zero_()
        before = expected(method.parameters).item()
    for _ in range(100):
        method.descend(method._with_costs((torch.zeros_like(method.parameters["operations"]),)))
    with torch.no_grad():
        after = expected(method.parameters).item()
    assert before > 3.9e5
    assert 2.5e5 < after < 3.02e5


def test_a_search_with_the_penalty_is_recorded_and_differs(tmp_path):
    options = {"optimizer": "darts", "space": "nb201", "max_parameters": 3e5, "architecture_learning_rate": 0.1}
    with_penalty = search(tmp_path / "with", **options, cost_weight=5.0)
    without = search(tmp_path / "without", **options)
    assert with_penalty.config["cost_weight"] == 5.0
    assert "cost_weight" not in without.config
    costs = np.array([edge_parameter_count(a.operations) for a in nb.search_space("nb201").architectures("all")])
    expected = Expectation(nb.search_space("nb201"), costs)
    ends = [
        expected({"operations": torch.from_numpy(run.architecture_parameters["operations"][-1])}).item()
        for run in (with_penalty, without)
    ]
    assert ends[0] < 0.9 * ends[1]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "cost_weight max_parameters max_flops max"),
        ({"max_parameters": 3e5, "optimizer": "fair-darts"}, "relaxation cost_weight"),
        ({"max_parameters": 3e5, "optimizer": "drnas"}, "relaxation cost_weight"),
        ({"max_parameters": 3e5, "optimizer": "gaea"}, "cost_weight rule"),
    ],
)
def test_a_weight_of_costs_without_a_meaning_is_refused(given, named):
    with refuses(nb.InvalidInputError, options=named):
        tiny_state(**{"optimizer": "darts", "space": "nb201", "cost_weight": 1.0, **given})


def test_the_method_names_the_option_that_needs_bounds(monkeypatch):
    monkeypatch.setattr(DARTS, "option_needing_bounds", "flooding")
    with refuses(nb.InvalidInputError, options="flooding max_parameters max_flops max"):
        tiny_state(optimizer="darts", space="nb201", flooding=0.1)


def test_a_space_too_large_for_an_exact_sum_is_refused(monkeypatch):
    monkeypatch.setattr(expectation, "MOST_ARCHITECTURES", len(SMALL_SPACE) - 1)
    with refuses(nb.InvalidInputError, SMALL_SPACE.name, len(SMALL_SPACE)):
        penalised(1.0, {1.0: np.zeros(len(SMALL_SPACE))})
