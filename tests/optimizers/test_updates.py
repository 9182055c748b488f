"""First- and second-order gradients of Λ, compared with an exactly unrolled weight step."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from refusals import refuses
from small_supernets import random_mixing, small
from tiny_search import SMALL_SPACE, generator, search, tiny_batch, tiny_state
from torch import Tensor, nn
from torch.func import functional_call

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizer import Mixing, SearchStep
from nasbench1shot1.optimizers.components import updates
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer
from nasbench1shot1.supernets.layers import other_buffers

RATE, MOMENTUM, DECAY = 0.3, 0.9, 0.05
ON_ALL_SPACES = [name for name in RELAXATIONS if name != "interpolation"]


class Unrolled:
    """A tiny supernet in float64 between two steps, with the interface for optimizers."""

    def __init__(self, momentum: float = MOMENTUM) -> None:
        self.net = small(SMALL_SPACE, channels=2, cells=1).double().train()
        self.sgd = torch.optim.SGD(self.net.parameters(), RATE, momentum, weight_decay=DECAY)
        mixing = {key: value.detach().double() for key, value in random_mixing(SMALL_SPACE, 3).items()}
        self.loss(Mixing(mixing), tiny_batch(seed=9)).backward()
        self.sgd.step()  # so that there is momentum
        self.sgd.zero_grad()

    def loss(self, mixing, batch) -> Tensor:
        return nn.functional.cross_entropy(self.net(batch.images, *mixing.arguments()), batch.labels)

    def loss_at(self, weights, mixing, batch) -> Tensor:
        buffers = {name: buffer.clone() for name, buffer in self.net.named_buffers()}
        logits = functional_call(self.net, {**weights, **buffers}, (batch.images, *mixing.arguments()))
        return nn.functional.cross_entropy(logits, batch.labels)

    def step(self) -> SearchStep:
        weights = dict(self.net.named_parameters())
        return SearchStep(self.loss, None, self.loss_at, weights, {}, tiny_batch(seed=1), tiny_batch(seed=2), self.sgd)

    def exact(self, step: SearchStep, mixing: Mixing, sampled: Mixing | None = None) -> list[Tensor]:
        """∂/∂mixing of the validation loss after one SGD step (PyTorch's formula written out), by autograd.

        The step moves only weights that `sampled` computes, if it is given.
        """
        weights = {name: weight.detach().requires_grad_() for name, weight in step.weights.items()}
        loss = self.loss_at(weights, mixing, step.weight_batch)
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True, allow_unused=True)
        if sampled is not None:
            of_sample = self.loss_at(weights, sampled, step.weight_batch)
            used = torch.autograd.grad(of_sample, list(weights.values()), allow_unused=True)
            gradients = [None if use is None else gradient for use, gradient in zip(used, gradients, strict=True)]
        moved = {}
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
            if gradient is None:
                moved[name] = weight
                continue
            buffer = self.sgd.state[step.weights[name]].get("momentum_buffer")
            velocity = gradient + DECAY * weight + (0 if buffer is None else self.sgd.defaults["momentum"] * buffer)
            moved[name] = weight - RATE * velocity
        loss = self.loss_at(moved, mixing, step.architecture_batch)
        return list(torch.autograd.grad(loss, mixing.tensors(), materialize_grads=True))


def leaves(relaxation: str, seed: int = 0) -> tuple[Mixing, list[Tensor]]:
    parameters = {key: value.detach().double() for key, value in random_mixing(SMALL_SPACE, seed).items()}
    mixing = RELAXATIONS[relaxation](SMALL_SPACE, parameters, 0.5, generator(seed))
    tensors = [tensor.detach().requires_grad_() for tensor in mixing.tensors()]
    return mixing.with_tensors(iter(tensors)), tensors


def distance(ours: list[Tensor], right: list[Tensor]) -> float:
    return torch.cat([(a - b).flatten() for a, b in zip(ours, right, strict=True)]).norm().item()


def size(parts: list[Tensor]) -> float:
    return torch.cat([part.flatten() for part in parts]).norm().item()


@pytest.mark.parametrize("relaxation", ON_ALL_SPACES)
def test_first_order_equals_the_gradient_of_the_validation_loss(relaxation):
    unrolled, (mixing, tensors) = Unrolled(), leaves(relaxation)
    step = unrolled.step()
    ours = updates.first_order(step, mixing, tensors)
    right = torch.autograd.grad(unrolled.loss(mixing, step.architecture_batch), tensors, materialize_grads=True)
    assert all(torch.equal(a, b) for a, b in zip(ours, right, strict=True))
    assert size(ours) > 0


@pytest.mark.parametrize("momentum", [0.0, MOMENTUM])
@pytest.mark.parametrize("relaxation", ON_ALL_SPACES)
def test_second_order_equals_the_gradient_through_one_exact_step(relaxation, momentum, monkeypatch):
    unrolled, (mixing, tensors) = Unrolled(momentum), leaves(relaxation)
    step = unrolled.step()
    right = unrolled.exact(step, mixing)
    of_first_order = distance(updates.first_order(step, mixing, tensors), right)
    assert of_first_order > 0.1 * size(right)
    published = distance(updates.second_order(step, mixing, tensors), right)
    assert published < 0.6 * of_first_order  # the remaining difference comes from ReLU kinks between the two passes
    errors = []
    for length in (1e-5, 1e-6):
        monkeypatch.setattr(updates, "FINITE_DIFFERENCE", length)
        errors.append(distance(updates.second_order(step, mixing, tensors), right))
    assert errors[1] < 1e-7 * size(right)
    assert errors[0] < published


def test_the_virtual_step_of_reinmax_moves_only_weights_of_sampled_operations(monkeypatch):
    """All operations are computed to estimate the gradient of Λ, but a weight step would compute only the sample."""
    unrolled, (sampled, tensors) = Unrolled(), leaves("reinmax")
    step, passed = unrolled.step(), replace(sampled, operations=None)
    monkeypatch.setattr(updates, "FINITE_DIFFERENCE", 1e-6)
    right = unrolled.exact(step, passed, sampled)
    assert distance(updates.second_order(step, passed, tensors, sampled), right) < 1e-7 * size(right)
    assert distance(unrolled.exact(step, passed), right) > 1e-3 * size(right)


def test_the_unrolled_step_equals_the_step_of_the_weights():
    unrolled, (mixing, _) = Unrolled(), leaves("single-path")
    step = unrolled.step()
    weights = {name: weight.detach().clone() for name, weight in step.weights.items()}
    virtual, rate = updates._virtual_step(step, weights, mixing)
    assert rate == RATE
    unrolled.loss(mixing, step.weight_batch).backward()
    unrolled.sgd.step()
    moved = {name for name, weight in step.weights.items() if not torch.equal(weight, weights[name])}
    assert moved == set(virtual)
    assert len(moved) < len(weights)
    for name, weight in virtual.items():
        torch.testing.assert_close(weight, step.weights[name].detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("update", updates.UPDATES)
def test_the_search_state_is_unchanged_and_no_model_is_copied(update, monkeypatch):
    state = tiny_state(optimizer="darts-second-order")
    before_step = state.images_of(torch.from_numpy(state.split.weights[:20]), state.augmentation(1), None)
    weight_step(state, before_step)  # so that there is momentum, and gradients that must not be used
    frozen = copy.deepcopy([state.net.state_dict(), state.weight_optimizer.state_dict()])
    gradients = [parameter.grad.clone() for parameter in state.net.parameters()]
    mixing = state.method.mixing()
    tensors = [tensor.detach().requires_grad_() for tensor in mixing.tensors()]
    batches = [state.images_of(torch.from_numpy(rows[:20]), state.augmentation(1), None) for rows in halves(state)]

    def refuse(*_):
        raise AssertionError("a deep copy")

    monkeypatch.setattr(copy, "deepcopy", refuse)
    running = {name: buffer.clone() for name, buffer in state.net.named_buffers()}
    updates.UPDATES[update](state.step(*batches), mixing.with_tensors(iter(tensors)), tensors)
    kept = [*state.net.named_parameters()]
    if update == "second-order":  # the first-order pass is a normal forward pass, which updates them
        assert all(torch.equal(buffer, running[name]) for name, buffer in state.net.named_buffers())
    assert all(torch.equal(weight, frozen[0][name]) for name, weight in kept)
    now = state.weight_optimizer.state_dict()
    assert now["param_groups"] == frozen[1]["param_groups"]
    for i, moments in frozen[1]["state"].items():
        assert torch.equal(now["state"][i]["momentum_buffer"], moments["momentum_buffer"])
    assert all(torch.equal(weight.grad, grad) for (_, weight), grad in zip(kept, gradients, strict=True))


def halves(state):
    return state.split.weights, state.split.architecture


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_loss_at_given_weights_is_float32_in_every_precision(precision):
    state, exact = tiny_state(precision=precision), tiny_state(precision="float32")
    batch = state.images_of(torch.from_numpy(state.split.weights[:20]), state.augmentation(1), None)
    weights = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
    running = {name: buffer.clone() for name, buffer in state.net.named_buffers()}
    mixing = state.method.mixing()
    for training in (True, False):
        state.net.train(training)
        found = state.loss_at(weights, mixing, batch)
        assert all(torch.equal(buffer, running[name]) for name, buffer in state.net.named_buffers())
        exact.net.train(training)
        assert torch.equal(found, exact.loss(mixing, batch))
        exact.net.load_state_dict(running, strict=False)
        state.net.load_state_dict(running, strict=False)
    changed = {name: 0.5 * weight for name, weight in weights.items()}
    assert not torch.equal(state.loss_at(changed, mixing, batch), found)


def test_a_pass_at_other_weights_does_not_change_buffers_of_third_party_layers():
    state = tiny_state()
    state.net.stem.bn = nn.BatchNorm2d(2)
    assert set(other_buffers(state.net)) == {f"stem.bn.{name}" for name, _ in state.net.stem.bn.named_buffers()}
    batch = state.images_of(torch.from_numpy(state.split.weights[:20]), state.augmentation(1), None)
    running = {name: buffer.clone() for name, buffer in state.net.named_buffers()}
    state.net.train()
    state.loss_at(dict(state.net.named_parameters()), state.method.mixing(), batch)
    assert all(torch.equal(buffer, running[name]) for name, buffer in state.net.named_buffers())
    state.loss(state.method.mixing(), batch)
    assert not torch.equal(state.net.stem.bn.running_mean, running["stem.bn.running_mean"])


def test_bfloat16_does_not_affect_the_second_order_gradient():
    """The finite differences use weights that are closer together than the resolution of bfloat16."""
    gradients = []
    for precision in ("float32", "bfloat16"):
        state = tiny_state(precision=precision)
        batches = [state.images_of(torch.from_numpy(half[:20]), state.augmentation(1), None) for half in halves(state)]
        mixing = state.method.mixing()
        parts = [tensor.detach().requires_grad_() for tensor in mixing.tensors()]
        gradients.append(updates.second_order(state.step(*batches), mixing.with_tensors(iter(parts)), parts))
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize("relaxation", ON_ALL_SPACES)
@pytest.mark.parametrize("update", updates.UPDATES)
def test_the_gradient_of_lambda_follows_the_chain_rule(relaxation, update, monkeypatch):
    unrolled = Unrolled()
    temperature = 1.5 if relaxation == "reinmax" else 0.5
    settings = GradientHyperparameters(
        relaxation=relaxation, update=update, temperature_min=temperature, temperature_max=temperature
    )
    made = GradientOptimizer(SMALL_SPACE, settings, generator(0), torch.device("cpu"))
    made.parameters = {key: value.detach().double().requires_grad_() for key, value in made.parameters.items()}
    caught: list[Tensor] = []
    monkeypatch.setattr(made, "descend", lambda gradients: caught.extend(gradients))
    made.generator = generator(5)
    made.architecture_step(unrolled.step())
    made.generator = generator(5)
    mixing = made.mixing()
    step = unrolled.step()
    tensors = [tensor.detach().requires_grad_() for tensor in mixing.tensors()]
    passed = sampled = mixing.with_tensors(iter(tensors))
    if relaxation == "reinmax":  # its estimator needs the gradients of all operations
        passed = Mixing(sampled.weights)
    own = {"sampled": sampled} if update == "second-order" else {}
    of_mixing = updates.UPDATES[update](step, passed, tensors, **own)
    total = sum((tensor * gradient).sum() for tensor, gradient in zip(mixing.tensors(), of_mixing, strict=True))
    right = torch.autograd.grad(total, list(made.parameters.values()))
    for ours, wanted in zip(caught, right, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-10, atol=1e-14)
    if update == "first-order" and relaxation == "softmax":
        direct = torch.autograd.grad(unrolled.loss(made.mixing(), step.architecture_batch), [*made.parameters.values()])
        torch.testing.assert_close(caught, list(direct), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("clip", "norm"), [(0.0, 50.0), (5.0, 5.0), (100.0, 50.0)])
def test_the_gradient_of_lambda_is_clipped_globally_and_applied_by_adam(clip, norm):
    made = GradientOptimizer(
        SMALL_SPACE, GradientHyperparameters(architecture_grad_clip=clip), generator(0), torch.device("cpu")
    )
    before = {key: value.detach().clone() for key, value in made.parameters.items()}
    factor = 50 / 11**0.5  # eleven entries of Λ
    made.descend(tuple(torch.full_like(value, factor) for value in before.values()))
    for key, value in made.parameters.items():
        gradient = norm / 11**0.5 + 1e-3 * before[key]  # Adam's weight decay is an L2 term
        torch.testing.assert_close(made.adam.state[value]["exp_avg"], 0.5 * gradient, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(before[key] - value.detach(), torch.full_like(value, 3e-4), rtol=1e-3, atol=0)
        assert value.grad is None


# The implicit gradient ------------------------------------------------------------------------------------------------


def neumann_by_matrices(
    unrolled: Unrolled, step: SearchStep, mixing: Mixing, numbers: Sequence[int]
) -> Iterator[list[Tensor]]:
    """The hypergradient of iDARTS, equation 10, with the Hessian and the mixed derivatives as explicit matrices.

    Yields it for each number of terms; the matrices are computed once.
    """
    names = list(step.weights)
    start = torch.cat([step.weights[name].detach().flatten() for name in names])
    sizes = [step.weights[name].numel() for name in names]

    def split(flat: Tensor) -> dict[str, Tensor]:
        parts = flat.split(sizes)
        return {name: part.view_as(step.weights[name]) for name, part in zip(names, parts, strict=True)}

    flat_mixing = [tensor.detach() for tensor in mixing.tensors()]

    def training(flat: Tensor, *tensors: Tensor) -> Tensor:
        return unrolled.loss_at(split(flat), mixing.with_tensors(iter(tensors)), step.weight_batch)

    flat = start.clone().requires_grad_()
    valid = unrolled.loss_at(split(flat), mixing, step.architecture_batch)
    *direct, vector = torch.autograd.grad(valid, [*mixing.tensors(), flat], materialize_grads=True)
    derivatives = torch.autograd.functional.hessian(training, (start, *flat_mixing))
    computed = derivatives[0][0].abs().sum(dim=0) > 0  # weights that the pass does not compute are constants
    hessian = derivatives[0][0] + DECAY * torch.diag(computed.double())
    factor = torch.eye(len(start), dtype=torch.float64) - RATE * hessian
    for terms in numbers:
        series = sum(torch.linalg.matrix_power(factor, k) @ (vector * computed) for k in range(terms + 1))
        yield [first - RATE * torch.tensordot(series, derivatives[0][1 + i], 1) for i, first in enumerate(direct)]


@pytest.mark.parametrize("relaxation", ["softmax", "gumbel-operations"])
def test_the_implicit_gradient_equals_the_series_of_explicit_matrices(relaxation):
    unrolled, (mixing, tensors) = Unrolled(), leaves(relaxation)
    step = unrolled.step()
    before = copy.deepcopy(unrolled.net.state_dict())
    every = {terms: updates.implicit(step, mixing, tensors, terms) for terms in (0, 2, 5)}
    after = unrolled.net.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    first = updates.first_order(step, mixing, tensors)
    for found, right in zip(every.values(), neumann_by_matrices(unrolled, step, mixing, list(every)), strict=True):
        assert distance(found, right) < 1e-10 * size(right)
        assert distance(found, first) > 1e-4 * size(first)


def test_one_term_of_the_series_is_the_second_order_gradient_at_the_current_weights():
    """With K = 0, without momentum and with w′ = w, both are ∇ L_valid - ξ ∇²_{Λ,w} L_train ∇_w L_valid."""
    unrolled, (mixing, tensors) = Unrolled(momentum=0.0), leaves("softmax")
    step = unrolled.step()
    found = updates.implicit(step, mixing, tensors, 0)
    direction = torch.autograd.grad(
        unrolled.loss_at(
            weights := {name: weight.detach().requires_grad_() for name, weight in step.weights.items()},
            mixing,
            step.architecture_batch,
        ),
        list(weights.values()),
        allow_unused=True,
        materialize_grads=True,
    )
    epsilon = 1e-6
    ahead, behind = (
        torch.autograd.grad(
            unrolled.loss_at(
                {n: w.detach() + sign * epsilon * d for (n, w), d in zip(weights.items(), direction, strict=True)},
                mixing,
                step.weight_batch,
            ),
            tensors,
            materialize_grads=True,
        )
        for sign in (1, -1)
    )
    first = updates.first_order(step, mixing, tensors)
    wanted = [f - RATE * (a - b) / (2 * epsilon) for f, a, b in zip(first, ahead, behind, strict=True)]
    assert distance(found, wanted) < 1e-6 * size(wanted)


def test_the_implicit_gradient_converges_to_that_through_the_optimum_of_a_quadratic_problem():
    """L_train = ½ (w - AΛ)ᵀ H (w - AΛ) has the optimum w = AΛ, so L_valid = ½ |w - b|² has the gradient Aᵀ (w - b)."""
    drawn = torch.randn(3, 4, 4, generator=generator(5), dtype=torch.float64)
    curvature, target = drawn[0] @ drawn[0].T + torch.eye(4), drawn[2, 0]
    parameters = drawn[2, 1].requires_grad_()
    weight = (drawn[1] @ parameters).detach().requires_grad_()
    sgd = torch.optim.SGD([weight], 1 / float(torch.linalg.eigvalsh(curvature)[-1]))

    def loss_at(weights, mixing, batch):
        gap = weights["w"] - (target if batch == "valid" else drawn[1] @ mixing.weights["m"])
        return gap @ gap / 2 if batch == "valid" else gap @ curvature @ gap / 2

    step = SearchStep(None, None, loss_at, {"w": weight}, {}, "train", "valid", sgd)
    right = drawn[1].T @ (weight - target)
    errors = [
        (updates.implicit(step, Mixing({"m": parameters}), [parameters], terms)[0] - right).norm().item()
        for terms in (0, 20, 2000)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-10 < errors[0]


def test_the_implicit_gradient_leaves_out_weights_that_do_not_train():
    unrolled, (mixing, tensors) = Unrolled(), leaves("softmax")
    step = unrolled.step()
    first, with_all = updates.first_order(step, mixing, tensors), updates.implicit(step, mixing, tensors)
    for name, weight in step.weights.items():
        weight.requires_grad_("bn" in name)
    of_norms = updates.implicit(step, mixing, tensors)
    for weight in step.weights.values():
        weight.requires_grad_(False)
    assert distance(updates.implicit(step, mixing, tensors), first) == 0
    assert 0 < distance(of_norms, first) != distance(with_all, first)


@pytest.mark.parametrize(
    ("options", "update"),
    [
        ({"optimizer": "beta-darts", "update": "second-order"}, "second-order"),
        ({"optimizer": "darts", "update": "implicit"}, "implicit"),
        ({"optimizer": "darts-second-order"}, "second-order"),
        ({"optimizer": "idarts"}, "implicit"),
    ],
)
def test_updates_that_look_ahead_refuse_flooding(tmp_path, options, update):
    with refuses(nb.InvalidInputError, "can reverse the gradients", update, options="flooding update"):
        search(tmp_path / "run", flooding=0.5, **options)
    assert not (tmp_path / "run").exists()
