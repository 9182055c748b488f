"""The gradient of Λ: at the current weights, through one virtual weight step (DARTS, section 2.3), or through the
optimum of the weights (iDARTS).

All are functions (step, mixing, leaves) → ∂L/∂leaf for every leaf, where `leaves` are the tensors of `mixing`; some
have an argument of their own. All passes use the same sample.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from nasbench1shot1.optimizer import Mixing, SearchStep

Update = Callable[..., list[Tensor]]

FINITE_DIFFERENCE = 0.01  # length of the step between the two passes of equation 8, as in DARTS


def first_order(step: SearchStep, mixing: Mixing, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Return ∇ L_valid(w, Λ): equation 7 with ξ = 0."""
    return _gradients(step.loss(mixing, step.architecture_batch), leaves)


def second_order(
    step: SearchStep, mixing: Mixing, leaves: Sequence[Tensor], sampled: Mixing | None = None
) -> list[Tensor]:
    """Return ∇ L_valid(w′, Λ) - ξ ∇²_{Λ,w} L_train(w, Λ) ∇_{w′} L_valid(w′, Λ): equation 7 with the product in
    equation 8.

    w′ is w after one step of the weights' SGD with momentum and weight decay, without clipping; ξ is its learning rate.
    As in a real step, weights that the pass does not compute do not change. Only weights that change are copied, and
    batch norm's running statistics do not change.

    Args:
        step, mixing, leaves: as for the other updates.
        sampled: `mixing` as a weight step computes it, if that leaves out operations whose weight is 0.
    """
    weights = {name: weight.detach() for name, weight in step.weights.items()}
    virtual, rate = _virtual_step(step, weights, sampled or mixing)
    moved = {name: weight.requires_grad_() for name, weight in virtual.items()}
    loss = step.loss_at({**weights, **moved}, mixing, step.architecture_batch)
    gradients = _gradients(loss, [*leaves, *moved.values()])
    of_leaves, of_weights = gradients[: len(leaves)], gradients[len(leaves) :]
    if not moved:
        return of_leaves
    direction = dict(zip(moved, of_weights, strict=True))
    length = torch.stack([part.norm() for part in of_weights]).norm()
    epsilon = FINITE_DIFFERENCE / length.clamp_min(1e-12)
    ahead, behind = (
        _gradients(step.loss_at(_add_scaled(weights, direction, sign * epsilon), mixing, step.weight_batch), leaves)
        for sign in (1, -1)
    )
    pairs = zip(of_leaves, ahead, behind, strict=True)
    return [first - rate * (a - b) / (2 * epsilon) for first, a, b in pairs]


NEUMANN_TERMS = 2  # K of iDARTS's code


def implicit(
    step: SearchStep, mixing: Mixing, leaves: Sequence[Tensor], neumann_terms: int | None = None
) -> list[Tensor]:
    """Return ∇ L_valid - ξ ∇²_{Λ,w} L_train · Σ (I - ξ ∇²_w L_train)ᵏ ∇_w L_valid, k = 0 … K (Zhang et al.: iDARTS,
    ICML 2021, equation 10).

    It is the gradient through the weights' optimum under Λ, with a truncated Neumann series for the inverse Hessian.
    The training loss includes weight decay, ξ is the learning rate of the weights, and all products with second
    derivatives are exact. Weights that do not train, or that a pass does not compute, are constants.

    Args:
        step, mixing, leaves: as for the other updates.
        neumann_terms: K; 0 keeps the first term of the series. Default: `NEUMANN_TERMS`.
    """
    weights = {name: weight.detach().requires_grad_(step.trains(name)) for name, weight in step.weights.items()}
    inputs = [weight for weight in weights.values() if weight.requires_grad]
    valid = torch.autograd.grad(
        step.loss_at(weights, mixing, step.architecture_batch),
        [*leaves, *inputs],
        allow_unused=True,
        materialize_grads=True,
    )
    of_leaves, vectors = valid[: len(leaves)], list(valid[len(leaves) :])
    if not inputs:
        return list(of_leaves)
    loss = step.loss_at(weights, mixing, step.weight_batch)
    training = torch.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
    used = [i for i, gradient in enumerate(training) if gradient is not None]
    inputs, vectors = [inputs[i] for i in used], [vectors[i] for i in used]
    gradients = [gradient for gradient in training if gradient is not None]
    group = step.weight_optimizer.param_groups[0]
    rate, decay = group["lr"], group["weight_decay"]
    series = list(vectors)
    for _ in range(NEUMANN_TERMS if neumann_terms is None else neumann_terms):
        products = _product(gradients, inputs, vectors)
        vectors = [v - rate * (p + decay * v) for v, p in zip(vectors, products, strict=True)]
        series = [total + v for total, v in zip(series, vectors, strict=True)]
    mixed = _product(gradients, leaves, series)
    return [first - rate * second for first, second in zip(of_leaves, mixed, strict=True)]


UPDATES: dict[str, Update] = {"first-order": first_order, "second-order": second_order, "implicit": implicit}
"""The updates by their name in the option `update`."""


def _product(gradients: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor]) -> list[Tensor]:
    """Return the products of the vectors with the derivatives of gradients with respect to inputs."""
    attached = [(g, v) for g, v in zip(gradients, vectors, strict=True) if g.requires_grad]
    outputs, seeds = [g for g, _ in attached], [v for _, v in attached]
    return list(torch.autograd.grad(outputs, inputs, seeds, retain_graph=True, materialize_grads=True))


def _virtual_step(step: SearchStep, weights: Mapping[str, Tensor], mixing: Mixing) -> tuple[dict[str, Tensor], float]:
    """Return the weights that one SGD step on the training batch changes, after this step, and its learning rate."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items() if step.trains(name)}
    if not leaves:
        return {}, step.weight_optimizer.param_groups[0]["lr"]
    loss = step.loss_at({**weights, **leaves}, mixing, step.weight_batch)
    gradients: Sequence[Tensor | None] = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    group, state = step.weight_optimizer.param_groups[0], step.weight_optimizer.state
    virtual = {}
    for name, gradient in zip(leaves, gradients, strict=True):
        if gradient is None:
            continue
        weight = weights[name]
        change = gradient + group["weight_decay"] * weight
        buffer = state.get(step.weights[name], {}).get("momentum_buffer")
        if buffer is not None:
            change = change + group["momentum"] * buffer
        virtual[name] = (weight - group["lr"] * change).detach()
    return virtual, group["lr"]


def _add_scaled(weights: Mapping[str, Tensor], direction: Mapping[str, Tensor], by: Tensor) -> dict[str, Tensor]:
    return {name: weight + by * direction[name] if name in direction else weight for name, weight in weights.items()}


def _gradients(loss: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, inputs, materialize_grads=True))
