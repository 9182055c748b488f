"""A step of the supernet's weights: the weights that train, their gradients and their momentum."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing, WeightStep
from nasbench1shot1.phases import Trained
from nasbench1shot1.supernets.layers import BatchNorm2d


def set_trained(net: nn.Module, trained: Trained) -> None:
    """Let autograd compute the gradients of the weights that a phase trains, and of no others."""
    for layer in net.modules():
        for weight in layer.parameters(recurse=False):
            weight.requires_grad_(trained == "all" or (trained == "batch-norm" and isinstance(layer, BatchNorm2d)))


def weight_step(
    state: SearchState, batch: Batch, perturb: Callable[[Mixing, Batch], Mixing] | None = None
) -> tuple[Tensor, Tensor]:
    """Make one SGD step of the supernet's weights; return the loss () and the logits (N, classes), both detached.

    Weights that the pass does not use have no gradient, so momentum and weight decay do not change them, unless the
    option `unused_weights` asks for it; nor do they change weights that the phase or the method excludes from training.
    Operations and edges that the method has excluded (`Mixing.allowed`, `Mixing.allowed_edges`) lose their momentum,
    but not in a pass that samples, which leaves out other operations, too. Excluded operations have no gradient there,
    so their momentum has an effect only with `unused_weights`.
    """
    mixing = _mixing(state, batch, perturb)
    logits = state.logits(mixing, batch.images)
    loss = nn.functional.cross_entropy(logits, batch.labels)
    if loss.requires_grad:  # unless no weight trains
        state.weight_optimizer.zero_grad()
        _loss_to_minimise(state, loss).backward()
        _prepare_gradients(state, mixing, batch, loss.detach())
        state.weight_optimizer.step()
    return loss.detach(), logits.detach()


def _loss_to_minimise(state: SearchState, loss: Tensor) -> Tensor:
    """Return what the method minimises in place of the cross-entropy; raise InvalidInputError without a gradient."""
    minimised = state.method.weight_loss(loss)
    if not minimised.requires_grad:
        owner = next(of for of in type(state.method).__mro__ if "weight_loss" in vars(of))
        raise InvalidInputError(
            f"{owner.__name__}.weight_loss() returned a loss without a gradient: compute it from its "
            "argument, without detach() or item()"
        )
    return minimised


def _mixing(state: SearchState, batch: Batch, perturb: Callable[[Mixing, Batch], Mixing] | None) -> Mixing:
    """Return the mixing of a weight step, perturbed if requested, with the gradients that `adjust_gradients` reads."""
    method = state.method
    with torch.no_grad():  # no gradient flows to Λ from here
        mixing = method.weight_mixing()
    mixing = perturb(mixing, batch) if perturb else mixing
    if method.mixing_gradients == "none":
        return mixing
    return mixing.as_leaves(state.net.mixed_places if method.mixing_gradients == "per-cell" else 1)


def _prepare_gradients(state: SearchState, mixing: Mixing, batch: Batch, loss: Tensor) -> None:
    """Turn the gradients of a backward pass into those that SGD follows."""
    method, weights = state.method, dict(state.net.named_parameters())
    method.adjust_gradients(WeightStep(mixing, batch, loss, weights, state.net.operation_weights, state.loss_at))
    if mixing.leaves_out_excluded:
        drop_unused_momentum(state.weight_optimizer)
    else:
        give_unused_zero_gradients(state)
    for name in method.frozen_weights():
        if name not in weights:
            raise InvalidInputError(
                f"{type(method).__name__}.frozen_weights() has {name!r}, which is not one of the supernet's weights"
            )
        weights[name].grad = None
    if state.config.grad_clip:
        nn.utils.clip_grad_norm_(weights.values(), state.config.grad_clip)


def give_unused_zero_gradients(state: SearchState) -> None:
    """Give weights without a gradient the gradient 0 if `unused_weights` asks for it, so that SGD decays them.

    The published code of Random WS and ENAS of NAS-Bench-1Shot1 multiplies all outputs that were not drawn by 0, so all
    weights have a gradient. Elsewhere, PyTorch before version 2 sets old gradients to 0, so a weight has a gradient
    once a step has used it; it then has a momentum.
    """
    kind = state.config.unused_weights
    if kind not in ("decayed", "decayed-after-use"):
        return
    moved = state.weight_optimizer.state
    for weight in state.net.parameters():
        if weight.grad is None and weight.requires_grad and (kind == "decayed" or weight in moved):
            weight.grad = torch.zeros_like(weight)


def drop_unused_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Drop the momentum of weights that train, but that the last backward pass did not reach."""
    for weight in optimizer.param_groups[0]["params"]:
        if weight.requires_grad and weight.grad is None:
            optimizer.state.pop(weight, None)
