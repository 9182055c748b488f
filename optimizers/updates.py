"""The gradient of Λ: at the current weights, or through one virtual weight step (DARTS, section 2.3).

Both are functions (step, mixing, leaves) → ∂L/∂leaf for every leaf, where `leaves` are the tensors of `mixing`. All
passes use the same sample.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from nasbench1shot1.optimizer import Mixing, SearchStep

Update = Callable[[SearchStep, Mixing, Sequence[Tensor]], list[Tensor]]

FINITE_DIFFERENCE = 0.01  # length of the step between the two passes of equation 8, as in DARTS


def first_order(step: SearchStep, mixing: Mixing, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Return ∇ L_valid(w, Λ): equation 7 with ξ = 0."""
    return _gradients(step.loss(mixing, step.architecture_batch), leaves)


def second_order(step: SearchStep, mixing: Mixing, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Return ∇ L_valid(w′, Λ) - ξ ∇²_{Λ,w} L_train(w, Λ) ∇_{w′} L_valid(w′, Λ): equation 7 with the product in
    equation 8.

    w′ is w after one step of the weights' SGD with momentum and weight decay, without clipping; ξ is its learning rate.
    As in a real step, weights that the pass does not compute do not change. Only weights that change are copied, and
    batch norm's running statistics do not change.
    """
    weights = {name: weight.detach() for name, weight in step.weights.items()}
    virtual, rate = _virtual_step(step, weights, mixing)
    moved = {name: weight.requires_grad_() for name, weight in virtual.items()}
    loss = step.loss_at({**weights, **moved}, mixing, step.architecture_batch)
    gradients = _gradients(loss, [*leaves, *moved.values()])
    of_leaves, of_weights = gradients[: len(leaves)], gradients[len(leaves) :]
    direction = dict(zip(moved, of_weights, strict=True))
    length = torch.stack([part.norm() for part in of_weights]).norm()
    epsilon = FINITE_DIFFERENCE / length.clamp_min(1e-12)
    ahead, behind = (
        _gradients(step.loss_at(_add_scaled(weights, direction, sign * epsilon), mixing, step.weight_batch), leaves)
        for sign in (1, -1)
    )
    pairs = zip(of_leaves, ahead, behind, strict=True)
    return [first - rate * (a - b) / (2 * epsilon) for first, a, b in pairs]


UPDATES: dict[str, Update] = {"first-order": first_order, "second-order": second_order}
"""The updates by their name in the option `update`."""


def _virtual_step(step: SearchStep, weights: Mapping[str, Tensor], mixing: Mixing) -> tuple[dict[str, Tensor], float]:
    """Return the weights that one SGD step on the training batch changes, after this step, and its learning rate."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    loss = step.loss_at(leaves, mixing, step.weight_batch)
    gradients: Sequence[Tensor | None] = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    group, state = step.weight_optimizer.param_groups[0], step.weight_optimizer.state
    virtual = {}
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        if gradient is None:
            continue
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
