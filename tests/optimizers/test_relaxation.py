"""Relaxations: distributions, gradients, and the number of copies to the host."""

from collections import Counter
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats
from small_supernets import SPACES, small
from tiny_search import SMALL_SPACE, generator, tiny_batch
from torch import Tensor

import nasbench1shot1 as nb
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS, add_gumbel_noise
from nasbench1shot1.optimizers.gdas import GDAS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer
from nasbench1shot1.optimizers.snas import SNAS

DRAWS = 2000
ON_ALL_SPACES = [name for name in RELAXATIONS if name != "interpolation"]
LEAST_P = 1e-3  # for tests of frequencies; the seed of the draws is fixed


def spread(space, seed: int = 0, size: float = 1.0) -> dict[str, Tensor]:
    """Spread-out Λ as leaf tensors."""
    drawn = generator(seed)
    return {
        key: (size * torch.randn(shape, generator=drawn, dtype=torch.float64)).requires_grad_()
        for key, shape in space.mixing_shapes().items()
    }


def method(relaxation: str, space=SMALL_SPACE, **options) -> GradientOptimizer:
    made = GradientHyperparameters(relaxation=relaxation, **options)
    return GradientOptimizer(space, made, generator(0), torch.device("cpu"))


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("relaxation", ON_ALL_SPACES)
@pytest.mark.parametrize("space", SPACES)
def test_mixing_weights_sum_to_one_or_to_the_number_of_picks(space, relaxation, noise):
    space = nb.search_space(space)
    for seed in range(10):
        mixing = RELAXATIONS[relaxation](space, spread(space, seed), 0.5, generator(seed) if noise else None)
        assert set(mixing.weights) == set(space.mixing_shapes())
        for choice in space.choices():
            weights = mixing.weights[choice.key].detach()
            vector = weights if choice.row is None else weights[choice.row]
            assert vector.min() >= 0
            if relaxation == "sigmoid" and choice.key == space.operation_key:  # its operations do not compete
                assert vector.max() <= 1
                continue
            assert vector.sum().item() == pytest.approx(choice.picks if relaxation == "single-path" else 1, abs=1e-12)


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("space", SPACES)
def test_sampled_weights_are_exactly_zero_or_one_and_match_the_path(space, noise):
    space = nb.search_space(space)
    for seed in range(10):
        drawn = generator(seed) if noise else None
        hard = RELAXATIONS["gumbel-operations"](space, spread(space, seed), 0.3, drawn)
        rows = range(len(hard.operations))
        wanted = np.zeros(hard.weights["operations"].shape)
        wanted[rows, hard.operations] = 1
        assert np.array_equal(hard.weights["operations"].detach().numpy(), wanted)
        path = RELAXATIONS["single-path"](space, spread(space, seed), 0.3, generator(seed) if noise else None)
        for key, value in space.one_hot(path.path).items():
            assert np.array_equal(path.weights[key].detach().numpy(), value)
        if not noise:
            assert path.path == space.discretise(spread(space, seed))
            assert path.path.operations == hard.operations


def test_softmax_and_gumbel_agree_with_their_formulas():
    parameters, temperature = spread(SMALL_SPACE), 0.7
    of = RELAXATIONS["softmax"](SMALL_SPACE, parameters, temperature, None).weights
    for key, value in parameters.items():
        powers = np.exp(value.detach().numpy() / temperature)
        np.testing.assert_allclose(of[key].detach(), powers / powers.sum(-1, keepdims=True), rtol=1e-12)
    exponential = torch.empty(11).exponential_(generator=generator(5)).double().numpy()  # 2 + 6 + 3 entries
    of = RELAXATIONS["gumbel"](SMALL_SPACE, parameters, temperature, generator(5)).weights
    first = 0
    for key, value in parameters.items():
        noise = -np.log(exponential[first : first + value.numel()]).reshape(value.shape)
        first += value.numel()
        powers = np.exp((value.detach().numpy() + noise) / temperature)
        np.testing.assert_allclose(of[key].detach(), powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    assert first == 11


def test_the_noise_has_a_gumbel_distribution_and_is_finite():
    noise = add_gumbel_noise({"x": torch.zeros(20_000)}, generator(1))["x"].numpy()
    assert stats.kstest(noise, stats.gumbel_r.cdf).pvalue > 0.01
    assert np.isfinite(add_gumbel_noise({"x": torch.zeros(2_000_000)}, generator(2))["x"].numpy()).all()


def test_without_a_generator_nothing_is_sampled():
    parameters = spread(SMALL_SPACE)
    assert all(torch.equal(value, parameters[key]) for key, value in add_gumbel_noise(parameters, None).items())
    soft = RELAXATIONS["softmax"](SMALL_SPACE, parameters, 0.7, None).weights
    for key, value in RELAXATIONS["gumbel"](SMALL_SPACE, parameters, 0.7, None).weights.items():
        assert torch.equal(value, soft[key])


@pytest.mark.parametrize("temperature", [0.1, 10.0])
@pytest.mark.parametrize("relaxation", ["gumbel", "gumbel-operations", "single-path"])
def test_operations_are_drawn_from_the_softmax_of_lambda_at_every_temperature(relaxation, temperature):
    parameters, drawn = spread(SMALL_SPACE, seed=3), generator(4)
    counts = np.zeros((2, 3))
    for _ in range(DRAWS):
        mixing = RELAXATIONS[relaxation](SMALL_SPACE, parameters, temperature, drawn)
        counts[range(2), mixing.weights["operations"].detach().argmax(-1).numpy()] += 1
    expected = DRAWS * torch.softmax(parameters["operations"].detach(), -1).numpy()
    for row in range(2):
        assert stats.chisquare(counts[row], expected[row]).pvalue > LEAST_P


def probability(weights: np.ndarray, taken: tuple[int, ...]) -> float:
    """Probability of drawing this set without replacement, each time in proportion to the remaining weights."""
    total = 0.0
    for order in permutations(taken):
        product, left = 1.0, weights.sum()
        for entry in order:
            product, left = product * weights[entry] / left, left - weights[entry]
        total += product
    return total


def test_parents_of_a_single_path_are_drawn_without_replacement():
    space = nb.search_space("s2")  # 2 of 3, 2 of 4, 3 of 5
    parameters, drawn = spread(space, seed=1), generator(0)
    paths = [RELAXATIONS["single-path"](space, parameters, 1.0, drawn).path for _ in range(DRAWS)]
    for node, key in ((2, "input_edges/2"), (3, "input_edges/3"), (4, "input_edges/4"), (5, "output_edges")):
        weights = parameters[key].detach().exp().numpy()
        counts = Counter(path.parents[node - 1] for path in paths)
        sets = list(combinations(range(node), space.n_parents[node - 1]))
        expected = [DRAWS * probability(weights, taken) for taken in sets]
        assert sum(expected) == pytest.approx(DRAWS)
        assert stats.chisquare([counts[taken] for taken in sets], expected).pvalue > LEAST_P


@pytest.mark.parametrize("relaxation", ["gumbel-operations", "single-path"])
def test_backward_uses_the_gradient_of_the_soft_weights(relaxation):
    space, temperature = nb.search_space("s1"), 0.6
    factors = {key: torch.randn(shape, dtype=torch.float64) for key, shape in space.mixing_shapes().items()}
    gradients = []
    for name in (relaxation, "gumbel"):
        parameters = spread(space)
        weights = RELAXATIONS[name](space, parameters, temperature, generator(9)).weights
        total = sum((factors[key] * value).sum() for key, value in weights.items())
        gradients.append(torch.autograd.grad(total, list(parameters.values())))
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=0)


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_gradients_of_operations_that_were_not_sampled(temperature):
    """Its weights get no gradient; its Λᵢ gets -g pₛ pᵢ / τ through the softmax shared with the sampled operation s."""
    net, batch = small("s1").double(), tiny_batch(side=16)
    parameters = spread(net.space, size=0.3)
    noisy = add_gumbel_noise(parameters, generator(2))
    soft = {key: torch.softmax(value.detach() / temperature, -1) for key, value in noisy.items()}["operations"]
    mixing = RELAXATIONS["gumbel-operations"](net.space, parameters, temperature, generator(2))
    mixing.weights["operations"].retain_grad()
    torch.nn.functional.cross_entropy(net(batch.images, *mixing.arguments()), batch.labels).backward()
    of_mixing, of_lambda = mixing.weights["operations"].grad, parameters["operations"].grad
    for block, sampled in enumerate(mixing.operations):
        g, p = of_mixing[block, sampled].item(), soft[block]
        assert g != 0
        for i in range(3):
            if i == sampled:
                wanted = g * p[i].item() * (1 - p[i].item()) / temperature
            else:
                assert of_mixing[block, i] == 0
                wanted = -g * p[sampled].item() * p[i].item() / temperature
            assert of_lambda[block, i].item() == pytest.approx(wanted, rel=1e-9)
            assert wanted != 0
        for cell in net.cells:
            for o, name in enumerate(("conv3x3", "conv1x1")):
                assert (getattr(cell.blocks[block], name).conv.weight.grad is not None) == (o == sampled)
                assert (getattr(cell.blocks[block], name).bn.weight.grad is not None) == (o == sampled)
    assert all(value.grad is not None for value in parameters.values())


WAITING = (
    *("item", "tolist", "cpu", "numpy", "nonzero", "is_nonzero", "masked_select", "unique", "equal", "allclose"),
    *("__array__", "__bool__", "__int__", "__float__", "__index__", "__complex__", "__contains__"),
)


class OnDevice(Tensor):
    """Imitates a GPU tensor: `seen` lists the calls that copied values of it to the host."""

    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(args[0], OnDevice) and (name in WAITING or (name == "to" and "cpu" in map(str, args[1:]))):
            cls.seen.append(name)
            return result.as_subclass(Tensor) if isinstance(result, Tensor) else result
        return result


@pytest.fixture
def seen() -> list[str]:
    OnDevice.seen.clear()
    return OnDevice.seen


def test_copies_to_the_host_are_detected(seen):
    x = (torch.ones(3) + torch.ones(3).as_subclass(OnDevice)).softmax(0)
    _ = x.tolist(), x.sum().item(), float(x[0]), int(x[0]), x.to("cpu"), x.detach().cpu().numpy(), bool(x[0] > 0)
    assert seen == ["tolist", "item", "__float__", "__int__", "to", "cpu", "__bool__"]


@pytest.mark.parametrize(
    ("relaxation", "draws", "looks"),
    [
        ("softmax", 1, []),
        ("softmax", 9, []),
        ("gumbel", 1, []),
        ("gumbel", 9, []),
        ("gumbel-operations", 1, ["tolist"]),
        ("gumbel-operations", 9, ["tolist"]),
        ("single-path", 1, ["cpu"]),
    ],
)
@pytest.mark.parametrize("space", SPACES)
def test_sampling_makes_exactly_one_copy_to_the_host(space, relaxation, looks, draws, seen):
    made = method(relaxation, nb.search_space(space), draws=draws)
    made.parameters = {key: value.detach().as_subclass(OnDevice) for key, value in made.parameters.items()}
    mixing = made.mixing()
    assert all(isinstance(value, OnDevice) for value in mixing.tensors())
    assert seen == looks
    assert mixing.is_sampled == bool(looks)


@pytest.mark.parametrize("relaxation", ["softmax", "gumbel", "gumbel-operations"])
def test_several_draws_are_assigned_to_the_cells_in_turn(relaxation):
    space, parameters = nb.search_space("s1"), spread(nb.search_space("s1"))
    made = method(relaxation, space, draws=3, temperature_max=0.5, temperature_min=0.5)
    made.parameters, made.generator = parameters, generator(5)
    mixing = made.mixing()
    repeated = {key: value.expand(3, *value.shape) for key, value in parameters.items()}
    noisy = add_gumbel_noise(repeated, None if relaxation == "softmax" else generator(5))
    assert len(mixing.weights) == 3
    for i, weights in enumerate(mixing.weights):
        for key, value in weights.items():
            soft = torch.softmax(noisy[key][i] / 0.5, -1)
            if relaxation == "gumbel-operations" and key == "operations":
                assert mixing.operations[i] == tuple(soft.argmax(-1).tolist()) == tuple(value.argmax(-1).tolist())
            else:
                torch.testing.assert_close(value, soft, rtol=1e-12, atol=0)
    assert mixing.is_sampled == (relaxation == "gumbel-operations")
    assert len({str(weights["output_edges"]) for weights in mixing.weights}) == (1 if relaxation == "softmax" else 3)
    net, batch = small("s1", cells=4).double().eval(), tiny_batch(side=16)
    by_hand = [dict(mixing.weights[i % 3]) for i in range(4)]
    torch.testing.assert_close(net(batch.images, *mixing.arguments()), net(batch.images, by_hand))


@pytest.mark.parametrize("relaxation", ON_ALL_SPACES)
def test_evaluation_draws_nothing_unless_requested(relaxation):
    made = method(relaxation)
    state = made.generator.get_state()
    first, second = made.evaluation_mixing(), made.evaluation_mixing()
    assert all(torch.equal(value, second.weights[key]) for key, value in first.weights.items())
    assert torch.equal(made.generator.get_state(), state)
    noisy = method(relaxation, evaluation_noise=True)
    noisy.evaluation_mixing()
    assert torch.equal(noisy.generator.get_state(), state) == (relaxation in ("softmax", "sigmoid"))


def test_the_temperature_divides_the_logits():
    made = method("softmax", temperature_max=4.0, temperature_min=0.5)
    with torch.no_grad():
        made.parameters["output_edges"].copy_(torch.tensor([1.0, 2.0, 3.0]))
    for epoch, temperature in ((1, 4.0), (2, 2.25), (3, 0.5)):
        made.begin_epoch(epoch, 3, generator(0))
        wanted = torch.softmax(torch.tensor([1.0, 2.0, 3.0]) / temperature, 0)
        torch.testing.assert_close(made.mixing().weights["output_edges"].detach(), wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relaxation": "gumble"}, "mean 'gumbel'"),
        ({"update": "second"}, "mean 'second-order'"),
        ({"temperature_min": 0.0}, r"temperature_min=0\.0"),
        ({"temperature_min": 2.0}, "temperature_min=2.0"),
        ({"temperature_max": float("inf")}, "temperature_max=inf"),
        ({"temperature_max": float("nan")}, "temperature_max=nan"),
        ({"draws": 0}, "^draws .*1 and 1,000"),
        (
            {"draws": 2, "relaxation": "single-path"},
            "single-path.*draws=1",
        ),
        ({"draws": 2, "relaxation": "softmax"}, "draws=1"),
        ({"architecture_learning_rate": -1.0}, "architecture_learning_rate.*least 0"),
        ({"architecture_grad_clip": float("nan")}, "architecture_grad_clip.*least 0"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(options, message):
    with pytest.raises(nb.InvalidInputError, match=message) as caught:
        GradientHyperparameters(**options).check()
    assert "\n" not in str(caught.value)


# Temperatures ---------------------------------------------------------------------------------------------------------


def temperatures(epochs: int, **options) -> list[float]:
    kind = GDAS.Hyperparameters(**options)
    made = GDAS(SMALL_SPACE, kind, generator(0), torch.device("cpu"))
    seen = [made.temperature]
    for epoch in range(1, epochs + 1):
        made.begin_epoch(epoch, epochs, generator(epoch))
        seen.append(made.temperature)
    return seen


@pytest.mark.parametrize("epochs", [2, 15, 50])
def test_the_temperature_falls_linearly_to_its_minimum_in_the_last_epoch(epochs):
    seen = temperatures(epochs)
    assert seen[0] == seen[1] == 10
    assert seen[-1] == pytest.approx(0.1, abs=1e-12)
    assert np.diff(seen[1:]) == pytest.approx(np.full(epochs - 1, -9.9 / (epochs - 1)))
    assert temperatures(1)[-1] == 10


def published() -> dict:
    own = set(GDAS.Hyperparameters.__dataclass_fields__)
    return {name: value for name, value in GDAS.original_defaults.items() if name in own}


@pytest.mark.parametrize("epochs", [1, 4, 100])
def test_the_published_temperature_reaches_its_minimum_after_the_last_epoch(epochs):
    seen = temperatures(epochs, **published())
    assert seen[1:] == pytest.approx([10 - 9 * (e - 1) / epochs for e in range(1, epochs + 1)])


@pytest.mark.parametrize("epochs", [2, 50])
def test_the_temperature_of_snas_falls_from_one_to_its_minimum_in_the_last_epoch(epochs):
    made = SNAS(SMALL_SPACE, SNAS.Hyperparameters(), generator(0), torch.device("cpu"))
    for epoch, wanted in ((1, 1.0), (epochs, 0.03)):
        made.begin_epoch(epoch, epochs, generator(epoch))
        assert made.temperature == pytest.approx(wanted, abs=1e-12)
