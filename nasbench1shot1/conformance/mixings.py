"""Views of mixing weights for the optimizer suite: per choice, for a dense forward pass, and per image."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing
from nasbench1shot1.space import Choice, OneShotSpace
from nasbench1shot1.supernets.supernet import to_tensors

BEFORE_THE_HEAD = ("stem", "cells", "reductions")
"""Names of the supernet's parts up to its last cell."""

CellWeights = Sequence[Mapping[str, Tensor]]
"""The mixing weights of each cell; if there are fewer than cells, the cells use them in turn."""


def uniform_mixing(space: OneShotSpace) -> Mixing:
    """Return mixing weights that are equal and positive for all candidates of a choice."""
    return Mixing({key: torch.full(shape, 1 / shape[-1]) for key, shape in space.mixing_shapes().items()})


def weights_per_cell(mixing: Mixing) -> CellWeights:
    """Return the mixing weights of each cell; an empty list for an unweighted path."""
    if mixing.weights is None:
        return []
    return list(mixing.weights) if isinstance(mixing.weights, tuple) else [mixing.weights]


def choice_weights(weights: Mapping[str, Tensor], choice: Choice) -> Tensor:
    """Return the weights (entries,) of a choice."""
    return weights[choice.key] if choice.row is None else weights[choice.key][choice.row]


def to_dense(space: OneShotSpace, mixing: Mixing) -> CellWeights:
    """Return the weights for a dense pass, which computes every candidate, with the same output as `mixing`."""
    if mixing.path is None:
        return _mask_operations(space, mixing)
    one_hot = to_tensors(space.one_hot(mixing.path))
    return [{key: one_hot[key] * weights[key] for key in one_hot} for weights in weights_per_cell(mixing)] or [one_hot]


def _mask_operations(space: OneShotSpace, mixing: Mixing) -> CellWeights:
    weights = weights_per_cell(mixing)
    if mixing.operations is None:
        return weights
    key = space.operation_key
    sampled = torch.tensor(mixing.operations).reshape(len(weights), -1)
    masks = [F.one_hot(row, of[key].shape[-1]) for of, row in zip(weights, sampled, strict=True)]
    return [{**of, key: of[key] * mask} for of, mask in zip(weights, masks, strict=True)]


def batch_mixings(space: OneShotSpace, mixings: Sequence[Mixing], images: int) -> Mixing:
    """Combine mixings into one batch: the first `images` images use the first mixing, the next ones the second, …"""
    each = [to_dense(space, mixing) for mixing in mixings]
    cells = [[of[i % len(of)] for of in each] for i in range(max(map(len, each)))]
    return Mixing(
        tuple(
            {key: torch.stack([w[key] for w in cell]).repeat_interleave(images, 0) for key in cell[0]} for cell in cells
        )
    )


def computed_weights(state: SearchState, mixing: Mixing, batch: Batch) -> set[str]:
    """Return the names of the supernet's weights that its output depends on, determined with a dense pass.
    Weights after the cells are always included, even if the cells output zero and the gradient is therefore zero.
    """
    names, weights = zip(*state.net.named_parameters(), strict=True)
    loss = state.loss(Mixing(tuple(to_dense(state.net.space, mixing))), batch)
    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    computed = {name for name, found in zip(names, gradients, strict=True) if found is not None and found.any()}
    return computed | {name for name in names if name.partition(".")[0] not in BEFORE_THE_HEAD}
