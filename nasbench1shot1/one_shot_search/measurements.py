"""What a search measures after an epoch, besides the table's values: one-shot errors, and the gradients at Λ."""

import math

import torch
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, switch
from nasbench1shot1.images.batches import batches
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.supernets.alignment import mean_cosine
from nasbench1shot1.supernets.weight_sharing import MIXED_BATCH

MOST_ITERATIONS = 50
TOLERANCE = 1e-3  # relative change of the eigenvalue between two iterations


@torch.no_grad()
def one_shot_error(state: SearchState, epoch: int) -> float:
    """Return the error of the supernet as searched on the whole architecture half, a fraction.

    For a method that samples architectures, this is the error of the architecture that it chose. It is measured as
    `SharedWeights` measures the error of any architecture; the supernet does not change. A method that evaluates with
    noise draws new mixing weights for every batch, as the published GDAS does. The error is NaN if the supernet's loss
    is infinite or NaN, because the weights have diverged.
    """
    shared, half = state.shared_weights(epoch), torch.from_numpy(state.split.architecture)
    size = shared.scored_batch_size or MIXED_BATCH
    parts = half.split(size) if state.method.evaluates_with_noise else (half,)
    scores = [shared.scores([state.method.evaluation_mixing()], rows) for rows in parts]
    if not all(math.isfinite(score.losses[0]) for score in scores):
        return math.nan
    return sum(float(score.errors[0]) * len(rows) for score, rows in zip(scores, parts, strict=True)) / len(half)


def preferred_error(state: SearchState, epoch: int, arch: Architecture) -> float:
    """Return the one-shot error of one architecture on the whole architecture half, a fraction.

    Only its operations are computed. The difference to `one_shot_error` is what discretisation costs under the shared
    weights. The search does not change.
    """
    return float(state.shared_weights(epoch).errors([arch])[0])


def cell_alignment(state: SearchState, epoch: int) -> float:
    """Return the mean cosine between the gradients of all pairs of cells with respect to their mixing weights.

    Every cell gets its own copy of the mixing weights (Movahedi et al.: Λ-DARTS, ICLR 2023). The loss is the
    cross-entropy of one unaugmented batch of the architecture half at the current weights, under `evaluation_mixing`
    and with batch-norm in training mode. 1 means that all cells agree on the direction in which Λ should move. The
    search does not change.
    """
    rows = next(batches(state.split.architecture, state.config.batch_size, state.generator("alignment", epoch)))
    batch, cells = state.images_of(rows, state.augmentation(epoch), None), state.net.mixed_places
    with torch.no_grad():
        mixing = _evaluation_mixing(state)
    state.net.train()
    with torch.enable_grad():
        leaves = mixing.as_leaves(cells)
        weights = {name: weight.detach() for name, weight in state.net.named_parameters()}
        loss = state.loss_at(weights, leaves, batch)
        gradients = torch.autograd.grad(loss, leaves.tensors(), materialize_grads=True)
    return float(mean_cosine(gradients, cells))


def _evaluation_mixing(state: SearchState) -> Mixing:
    """Return the mixing weights of an evaluation; any noise is drawn without changing the method's generator."""
    drawn = state.method.generator.get_state()
    mixing = state.method.evaluation_mixing()
    state.method.generator.set_state(drawn)
    return mixing


def dominant_eigenvalue(state: SearchState, epoch: int, most_iterations: int = MOST_ITERATIONS) -> float:
    """Return the eigenvalue of ∂²L/∂Λ² with the largest magnitude: the sharpness of the minimum at Λ.

    It is found by power iteration with exact Hessian-vector products (Zela et al.: Understanding and Robustifying
    Differentiable Architecture Search, ICLR 2020, section 3). L is the cross-entropy of one unaugmented batch of the
    architecture half at the current weights, under `evaluation_mixing` and with batch-norm in training mode. The
    search does not change.

    Raises InvalidInputError for a method whose evaluation does not depend on Λ.
    """
    leaves = list(state.method.parameters.values())
    rows = next(batches(state.split.architecture, state.config.batch_size, state.generator("hessian", epoch)))
    batch = state.images_of(rows, state.augmentation(epoch), None)
    state.net.train()
    with torch.enable_grad():
        weights = {name: weight.detach() for name, weight in state.net.named_parameters()}
        loss = state.loss_at(weights, _evaluation_mixing(state), batch)
        if not loss.requires_grad:
            raise InvalidInputError(
                f"{state.config.optimizer} has no mixing weights that depend on Λ: remove "
                f"{switch('hessian_eigenvalue')}"
            )
        gradients = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        used = [(leaf, g) for leaf, g in zip(leaves, gradients, strict=True) if g is not None]
        drawn = state.generator("power", epoch)
        return _power_iteration([leaf for leaf, _ in used], [g for _, g in used], drawn, most_iterations)


def _power_iteration(
    leaves: list[Tensor], gradients: list[Tensor], generator: torch.Generator, most_iterations: int = MOST_ITERATIONS
) -> float:
    gradient = torch.cat([g.flatten() for g in gradients])
    vector = torch.randn(len(gradient), generator=generator).to(gradient)
    eigenvalue = 0.0
    for _ in range(most_iterations):
        vector = vector / vector.norm().clamp(min=1e-30)
        parts = torch.autograd.grad(gradient, leaves, grad_outputs=vector, retain_graph=True, materialize_grads=True)
        product = torch.cat([part.flatten() for part in parts])
        before, eigenvalue = eigenvalue, float(vector @ product)
        if abs(eigenvalue - before) <= TOLERANCE * abs(eigenvalue):
            break
        vector = product
    return eigenvalue
