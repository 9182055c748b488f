"""β-DARTS, DrNAS, GAEA, Λ-DARTS, FairDARTS, RF-DARTS and SDARTS against their equations, and refused options."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from newer_methods import made
from refusals import refuses
from scipy import special
from small_supernets import SPACES
from tiny_nets import Net, in_float64
from tiny_search import SMALL_SPACE, generator, search, tiny_batch, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import differences
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizer import Mixing, WeightStep
from nasbench1shot1.optimizers.lambda_darts import LambdaDARTS, LambdaDARTSHyperparameters, alignment_directions
from nasbench1shot1.registry import optimizer
from nasbench1shot1.supernets.layers import BatchNorm2d

# Λ-DARTS --------------------------------------------------------------------------------------------------------------


def mean_cosine(flat: list[torch.Tensor]) -> torch.Tensor:
    pairs = list(combinations(flat, 2))
    return torch.stack([torch.nn.functional.cosine_similarity(a, b, dim=0, eps=0) for a, b in pairs]).mean()


def per_cell(tensors: Any, cells: int) -> list[torch.Tensor]:
    size = len(tensors) // cells
    return [torch.cat([t.flatten() for t in tensors[c * size : (c + 1) * size]]) for c in range(cells)]


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_the_directions_of_the_alignment_are_the_gradient_of_the_mean_cosine(cells):
    drawn = generator(cells)
    shapes = list(SMALL_SPACE.mixing_shapes().values())
    gradients = [
        (0.1 + c) * torch.randn(shape, generator=drawn, dtype=torch.float64).requires_grad_()
        for c in range(cells)
        for shape in shapes
    ]
    wanted = torch.autograd.grad(mean_cosine(per_cell(gradients, cells)), gradients)
    for found, exact in zip(alignment_directions([g.detach() for g in gradients], cells), wanted, strict=True):
        torch.testing.assert_close(found, exact, rtol=1e-12, atol=1e-14)


def test_a_cell_without_a_gradient_has_no_direction_and_does_not_spoil_the_others():
    gradients = [torch.tensor([3.0, 4.0]), torch.zeros(2), torch.tensor([1.0, 0.0])]
    first, second, third = alignment_directions(gradients, 3)
    u, v = torch.tensor([0.6, 0.8]), torch.tensor([1.0, 0.0])
    torch.testing.assert_close(first, (v - u * 0.6) / 5 / 3)
    torch.testing.assert_close(third, (u - v * 0.6) / 3)
    assert not second.any()


def aligned(space: Any, cells: int, **options: Any) -> tuple[LambdaDARTS, Net, WeightStep]:
    """Make a weight step of Λ-DARTS in its last epoch up to the method's hook, with a tiny finite difference."""
    nets = Net(space, cells)
    method: Any = in_float64(made("lambda-darts", space, alignment=0.7, alignment_step=1e-5, **options))
    method.begin_epoch(10, 10, generator(5))
    with torch.no_grad():
        mixing = method.weight_mixing()
    mixing, batch = mixing.as_leaves(cells), tiny_batch(seed=1)
    loss = nets.loss(mixing, batch)
    loss.backward()
    given = {"mixing": mixing, "batch": batch, "loss": loss.detach(), "weights": nets.weights, "loss_at": nets.loss_at}
    return method, nets, WeightStep(**dict.fromkeys(WeightStep.__dataclass_fields__) | given)


ALIGNED = [("s1", 2, {}), ("s2", 2, {}), ("s3", 3, {}), ("nb201", 3, {}), ("s1", 3, {"relaxation": "single-path"})]


@pytest.mark.parametrize(("space", "cells", "options"), ALIGNED)
def test_the_gradient_of_the_alignment_agrees_with_double_backpropagation(space, cells, options):
    method, nets, step = aligned(space, cells, **options)
    before = {name: None if w.grad is None else w.grad.clone() for name, w in nets.weights.items()}
    leaves = step.mixing.tensors()
    fresh = [leaf.detach().requires_grad_() for leaf in leaves]
    loss = nets.loss(step.mixing.with_tensors(iter(fresh)), step.batch)
    of_cells = torch.autograd.grad(loss, fresh, create_graph=True, materialize_grads=True)
    objective = mean_cosine(per_cell(of_cells, cells))
    trained = {name: weight for name, weight in nets.weights.items() if before[name] is not None}
    wanted = torch.autograd.grad(-0.7 * objective, list(trained.values()), materialize_grads=True)
    method.adjust_gradients(step)
    found = torch.cat([(w.grad - before[name]).flatten() for name, w in trained.items()])
    exact = torch.cat([gradient.flatten() for gradient in wanted])
    assert exact.norm() > 1e-4
    assert (found - exact).norm() / exact.norm() < 1e-5
    assert all(weight.grad is None for name, weight in nets.weights.items() if before[name] is None)


def test_the_weight_of_the_alignment_grows_from_zero_to_its_value():
    method = made("lambda-darts", alignment=0.25)
    found = []
    for epoch in range(1, 6):
        method.begin_epoch(epoch, 5, generator(0))
        found.append(method.weight_of_alignment)
    assert found == [0, 0.0625, 0.125, 0.1875, 0.25]
    assert LambdaDARTSHyperparameters().architecture_learning_rate == 1e-4


def test_lambda_darts_without_alignment_equals_darts_bit_for_bit(tmp_path):
    options = {"cells": 2, "epochs": 2, "architecture_learning_rate": 3e-4}
    ours = search(tmp_path / "ours", optimizer="lambda-darts", alignment=0.0, **options)
    darts = search(tmp_path / "darts", optimizer="darts", **options)
    assert all(np.array_equal(*both) for both in parameters_of(ours, darts))


def parameters_of(*runs: nb.Run) -> list[Any]:
    return list(zip(*(run.architecture_parameters.values() for run in runs), strict=True))


# β-DARTS, FairDARTS, DrNAS and GAEA: one step of Λ --------------------------------------------------------------------

BETAS = (0.5, 0.999)


def first_step_of_adam(value: torch.Tensor, gradient: torch.Tensor, rate: float, decay: float) -> torch.Tensor:
    total = gradient + decay * value
    return value - rate * total / (total.abs() + 1e-8)  # both moments are unbiased after one step


def gradient_of(method: Any, nets: Net, weights_of: Any, term: Any) -> dict[str, torch.Tensor]:
    """The gradient of the validation loss plus a term for Λ, by autograd on the whole expression."""
    leaves = {key: value.detach().clone().requires_grad_() for key, value in method.parameters.items()}
    loss = nets.loss(Mixing(weights_of(leaves)), tiny_batch(seed=2)) + term(leaves)
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


def softmaxes(values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {key: value.softmax(dim=-1) for key, value in values.items()}


def mean_logsumexp(values: dict[str, torch.Tensor]) -> torch.Tensor:
    vectors = [vector for value in values.values() for vector in value.reshape(-1, value.shape[-1])]
    return sum(vector.exp().sum().log() for vector in vectors) / len(vectors)


def sigmoids(values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {**softmaxes(values), "operations": 1 / (1 + (-values["operations"]).exp())}


LOSSES = {
    "beta-darts": (softmaxes, lambda values: 50 * 3 / 8 * mean_logsumexp(values), 3e-4),  # epoch 4 of 8
    "fair-darts": (sigmoids, lambda v: -10 * (v["operations"].sigmoid() - 0.5).pow(2).mean(), 3e-3),
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", LOSSES)
def test_a_step_of_lambda_descends_the_loss_with_its_term(name, space):
    nets, method = Net(space, 1), in_float64(made(name, space))
    method.begin_epoch(4, 8, generator(0))
    weights_of, term, rate = LOSSES[name]
    gradients = gradient_of(method, nets, weights_of, term)
    before = {key: value.detach().clone() for key, value in method.parameters.items()}
    method.architecture_step(nets.step())
    for key, value in method.parameters.items():
        wanted = first_step_of_adam(before[key], gradients[key], rate, 1e-3)
        torch.testing.assert_close(value.detach(), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_a_step_of_gaea_multiplies_mixing_weights(space):
    nets, method = Net(space, 1), in_float64(made("gaea", space))
    method.begin_epoch(1, 8, generator(0))
    leaves = {key: value.detach().requires_grad_() for key, value in softmaxes(method.parameters).items()}
    loss = nets.loss(Mixing(leaves), tiny_batch(seed=2))
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    method.architecture_step(nets.step())
    for value, leaf, gradient in zip(method.parameters.values(), leaves.values(), gradients, strict=True):
        wanted = (leaf.detach() * (-0.1 * gradient).exp()).clamp(min=1e-5)
        wanted /= wanted.sum(dim=-1, keepdim=True)
        torch.testing.assert_close(value.detach().softmax(dim=-1), wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("optimizer", ["gaea", "fair-darts"])
def test_levels_and_training_images_mean_the_same_in_all_methods(optimizer):
    state = tiny_state(optimizer=optimizer)
    weights, architecture = (set(half.tolist()) for half in (state.split.weights, state.split.architecture))
    wanted = {
        ("bilevel", "weight-half"): ([weights, architecture], 2),
        ("single-level", "weight-half"): ([weights] * 2, 2),
        ("single-level", "all"): ([weights | architecture] * 2, 4),
    }
    for (levels, images), (rows, steps) in wanted.items():
        state = tiny_state(optimizer=optimizer, levels=levels, training_images=images)
        assert [set(found.tolist()) for found in state.rows(1)] == rows
        assert state.steps(1) == steps


def test_a_step_of_drnas_follows_the_pathwise_gradient_of_its_sample():
    """The gradient of a gamma sample with respect to its concentration, from the derivative of its quantile."""
    concentration = torch.tensor([0.4, 1.3, 2.9], dtype=torch.float64, requires_grad=True)
    drawn = torch._standard_gamma(concentration, generator=generator(4))
    (found,) = torch.autograd.grad(drawn.sum(), [concentration])
    a, x = concentration.detach().numpy(), drawn.detach().numpy()
    h = 1e-6
    level = special.gammainc(a, x)
    wanted = (special.gammaincinv(a + h, level) - special.gammaincinv(a - h, level)) / (2 * h)
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_drnas_draws_a_sample_for_every_pass_and_evaluates_the_mean():
    method = made("drnas", "s3")
    first, second = (method.mixing().weights for _ in range(2))
    assert not any(torch.equal(first[key], second[key]) for key in first if first[key].shape[-1] > 1)
    mean = method.evaluation_mixing().weights
    for key, value in method.parameters.items():
        of = torch.nn.functional.elu(value.detach()) + 1
        torch.testing.assert_close(mean[key].detach(), of / of.sum(-1, keepdim=True))
        assert torch.allclose(first[key].sum(-1), torch.ones(()))
    with_kl = made("drnas", "s3", term="dirichlet-kl", architecture_weight_decay=0.0)
    assert with_kl.hyperparameters.term == "dirichlet-kl"


def test_flooding_descends_above_its_level_and_ascends_below_it():
    method = made("beta-darts", flooding=0.5)
    for value, sign in ((0.8, 1.0), (0.2, -1.0)):
        loss = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        flooded = method.weight_loss(loss)
        assert flooded.item() == pytest.approx(abs(value - 0.5) + 0.5)
        assert torch.autograd.grad(flooded, [loss])[0].item() == sign
    loss = torch.tensor(0.2)
    assert made("beta-darts").weight_loss(loss) is loss


def test_flooding_reverses_the_weights_steps_of_a_search(tmp_path):
    """Far below its level, the loss ascends: each step of SGD without momentum is the opposite one."""
    moves = []
    for flooding in (0.0, 100.0):
        state = tiny_state(optimizer="beta-darts", flooding=flooding, momentum=0.0, weight_decay=0.0)
        before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
        next(training_steps(state, 1))
        moves.append({name: weight.detach() - before[name] for name, weight in state.net.named_parameters()})
    for name, move in moves[0].items():
        torch.testing.assert_close(moves[1][name], -move, rtol=1e-3, atol=1e-6)


# SDARTS and RF-DARTS --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("sdarts-rs", "random"), ("sdarts-adv", "adversarial")])
def test_sdarts_by_name_is_darts_with_a_perturbation(name, kind, tmp_path):
    options = {"epochs": 2, "images_per_half": 20, "batch_size": 10, "architecture_learning_rate": 3e-4}
    named = search(tmp_path / "named", optimizer=name, **options)
    darts = search(tmp_path / "darts", optimizer="darts", perturbation=kind, **options)
    assert named.config["perturbation"] == kind
    assert set(differences(named, darts)) <= {"checkpoint /run/optimizer"}
    plain = search(tmp_path / "plain", optimizer="darts", **options)
    assert not all(np.array_equal(*both) for both in parameters_of(named, plain))


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_rf_darts_trains_only_batch_norm_and_lambda(space):
    state = tiny_state(optimizer="rf-darts", space=space)
    norms = {
        f"{name}.{weight}"
        for name, layer in state.net.named_modules()
        if isinstance(layer, BatchNorm2d)
        for weight, _ in layer.named_parameters()
    }
    before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
    parameters = {key: value.detach().clone() for key, value in state.method.parameters.items()}
    list(training_steps(state, 1))
    moved = {name for name, weight in state.net.named_parameters() if not torch.equal(weight, before[name])}
    assert moved == norms
    assert any(name.startswith("cells.") for name in norms)
    assert not any(torch.equal(value, parameters[key]) for key, value in state.method.parameters.items())


# Bad input ------------------------------------------------------------------------------------------------------------

REFUSED = [
    ({"optimizer": "darts-pt", "selection_epochs": 4}, ("selection_epochs=4", "epochs=4")),
    ({"optimizer": "darts-pt", "selection_epochs": 2, "warm_start_epochs": 2}, ("selection_epochs=2",)),
    ({"optimizer": "darts-pt", "selection_epochs": 0}, ("selection_epochs",)),
    *(
        ({"optimizer": "darts-pt", "selection_epochs": 1, "relaxation": name}, (name,))
        for name in ("gumbel-operations", "single-path", "reinmax")
    ),
    ({"optimizer": "lambda-darts"}, ("lambda-darts", "cells=2")),
    ({"optimizer": "lambda-darts", "space": "nats-size"}, ("nats-size",)),
    (
        {"optimizer": "rf-darts", "space": "nb201", "batch_norm_affine": False},
        ("rf-darts", "nb201", "batch_norm_affine=True"),
    ),
    ({"optimizer": "spos", "warm_start_epochs": 1}, ("warm_start_epochs=1",)),
    ({"optimizer": "spos", "perturbation": "random"}, ("spos", "perturbation")),
    ({"optimizer": "spos", "hessian_eigenvalue": True}, ("spos", "hessian_eigenvalue")),
    ({"optimizer": "spos", "population": 10}, ("population=10", "crossovers=25", "mutations=25")),
    ({"optimizer": "gaea", "architecture_grad_clip": 5.0}, ("architecture_grad_clip=5.0",)),
    ({"optimizer": "gaea", "term": "beta"}, ("term",)),
    ({"optimizer": "beta-darts", "relaxation": "sigmoid"}, ("beta", "sigmoid")),
    ({"optimizer": "fair-darts", "relaxation": "softmax"}, ("zero-one", "softmax")),
    ({"optimizer": "drnas", "rule": "exponentiated-gradient"}, ("dirichlet",)),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_options_without_a_meaning_are_refused_before_anything_is_written(options, named, tmp_path):
    with refuses(nb.InvalidInputError, *named):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("options", "named"), [({"term": "zero-one", "relaxation": "sigmoid"}, "term"), ({}, None)])
def test_a_term_for_operations_needs_a_space_with_operations(options, named):
    class WithoutOperations(type(SMALL_SPACE)):
        operation_key = "nothing"

    space = WithoutOperations("small", "small-v1", n_parents=(1, 1, 2))
    if named is None:
        made("darts", space)
        return
    with refuses(nb.InvalidInputError, "zero-one", "nothing"):
        made("darts", space, **options)


def test_the_published_settings_are_defaults():
    assert math.isclose(optimizer("spos").Hyperparameters().mutation_probability, 0.1)
    settings = optimizer("spos").Hyperparameters()
    assert (settings.generations, settings.population, settings.survivors) == (20, 50, 10)
    assert optimizer("darts-pt").Hyperparameters().selection_epochs == 25
