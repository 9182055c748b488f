"""Single parts of a search and views of its mixing weights, for the optimizer suite."""

import io
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from nasbench1shot1.one_shot_search.loop import batch_pairs, train_epoch
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing, OneShotOptimizer
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.supernet import to_tensors

BEFORE_THE_HEAD = ("stem", "cells", "reductions")
"""Names of the supernet's parts up to its last cell."""

CellWeights = Sequence[Mapping[str, Tensor]]
"""The mixing weights of each cell; if there are fewer than cells, the cells use them in turn."""


class SilentReporter:
    """A progress reporter that does nothing."""

    def step(self, epoch: int, loss: float | None) -> None:
        """Nothing."""

    def epoch_done(self, line: dict[str, object]) -> None:
        """Nothing."""


def begin_epoch(state: SearchState, epoch: int) -> None:
    """Call the method's `begin_epoch`."""
    state.method.begin_epoch(epoch, state.config.epochs, state.generator("optimizer", epoch))


def train_and_choose(state: SearchState, epoch: int) -> None:
    """Run an epoch without measuring and recording; epoch 0 has no training."""
    if epoch > 0:
        train_epoch(state, epoch, SilentReporter())
    state.method.choose(state.shared_weights(epoch))
    state.epoch = epoch


def mixings(state: SearchState) -> Iterator[Mixing]:
    """Yield the method's mixings for training and for measuring, before the first epoch and after it."""
    for epoch in (0, 1):
        train_and_choose(state, epoch)
        begin_epoch(state, epoch + 1)
        with torch.no_grad():
            given = state.method.mixing(), state.method.evaluation_mixing()
        yield from given


def few_images(state: SearchState) -> Batch:
    """Return two images with their labels."""
    return state.images_of(torch.arange(2), state.augmentation(1), None)


def give_momentum(state: SearchState) -> None:
    """Take one step with all the supernet's weights, so that each of them has momentum."""
    F.cross_entropy(
        state.logits(uniform_mixing(state.net.space), few_images(state).images), few_images(state).labels
    ).backward()
    state.weight_optimizer.step()
    assert all(state.weight_optimizer.state[weight]["momentum_buffer"].any() for weight in state.net.parameters())


def learn(state: SearchState, learning_rate: float) -> tuple[Any, Any]:
    """Run the parts of an epoch that change Λ, with fixed weights; return the method's state after it learns and after
    it chooses an architecture.

    Args:
        state: a search before its first epoch.
        learning_rate: learning rate of the weights.
    """
    state.weight_optimizer.param_groups[0]["lr"] = learning_rate
    begin_epoch(state, 1)
    for weight_batch, architecture_batch in batch_pairs(state, 1):
        state.method.architecture_step(state.step(weight_batch, architecture_batch))
    state.method.end_epoch(shared := state.shared_weights(1))
    learned = deepcopy(state.method.state_dict())
    state.method.choose(shared)
    return learned, _snapshot(state.method)


def continue_search(state: SearchState, method: OneShotOptimizer) -> tuple[Any, ...]:
    """Run epoch 2 of a method on a state's supernet with fixed weights; return everything that the method produces."""
    method.begin_epoch(2, state.config.epochs, state.generator("optimizer", 2))
    drawn = []
    for weight_batch, architecture_batch in batch_pairs(state, 2):
        method.architecture_step(state.step(weight_batch, architecture_batch))
        mixing = method.mixing()
        drawn.append((mixing.tensors(), mixing.computed, str(mixing.path)))
    method.end_epoch(shared := state.shared_weights(2))
    method.choose(shared)
    return drawn, _snapshot(method)


def _snapshot(method: OneShotOptimizer) -> tuple[Any, ...]:
    return deepcopy((method.state_dict(), method.parameters)), str(method.architecture())


def save_and_load(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content after saving it to a file and loading it."""
    file = io.BytesIO()
    torch.save(dict(content), file)
    file.seek(0)
    read: dict[str, Any] = torch.load(file, weights_only=True)
    return read


def change_half(state: SearchState, half: np.ndarray, shift: int = 1) -> None:
    """Invert the images in the given rows, and shift their labels by `shift` classes."""
    images, labels = state.images.images.clone(), state.images.labels.clone()
    images[half], labels[half] = 255 - images[half], (labels[half] + shift) % state.images.classes
    state.images = replace(state.images, images=images, labels=labels)


def uniform_mixing(space: OneShotSpace) -> Mixing:
    """Return mixing weights that are equal and positive for all candidates of a choice."""
    return Mixing({key: torch.full(shape, 1 / shape[-1]) for key, shape in space.mixing_shapes().items()})


def weights_per_cell(mixing: Mixing) -> CellWeights:
    """Return the mixing weights of each cell; an empty list for an unweighted path."""
    if mixing.weights is None:
        return []
    return list(mixing.weights) if isinstance(mixing.weights, tuple) else [mixing.weights]


def to_dense(space: OneShotSpace, mixing: Mixing) -> CellWeights:
    """Return the weights for a dense pass, which computes every candidate, with the same output as `mixing`."""
    if mixing.path is None:
        return _mask_operations(space, mixing)
    one_hot = to_tensors(space.one_hot(mixing.path))
    return [{key: one_hot[key] * weights[key] for key in one_hot} for weights in weights_per_cell(mixing)] or [one_hot]


def _mask_operations(space: OneShotSpace, mixing: Mixing) -> CellWeights:
    weights = weights_per_cell(mixing)
    if mixing.computed is None:
        return weights
    key = space.operation_key
    computed: Any = mixing.computed if isinstance(mixing.weights, tuple) else (mixing.computed,)
    masks = [_mask_of(rows, of[key].shape[-1]) for of, rows in zip(weights, computed, strict=True)]
    return [{**of, key: of[key] * mask} for of, mask in zip(weights, masks, strict=True)]


def _mask_of(rows: Sequence[int | tuple[int, ...]], entries: int) -> Tensor:
    """Return 1 for the operations of each row that are computed, and 0 for the others, (rows, entries)."""
    computed = [row if isinstance(row, tuple) else (row,) for row in rows]
    return torch.tensor([[float(entry in row) for entry in range(entries)] for row in computed])


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
