"""Single parts of a search, for the optimizer suite."""

import io
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from nasbench1shot1.conformance.mixings import uniform_mixing
from nasbench1shot1.one_shot_search.loop import batch_pairs, train_epoch
from nasbench1shot1.one_shot_search.shared_weights import shared_weights
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing, OneShotOptimizer


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
    state.method.choose(shared_weights(state, epoch))
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
    state.method.end_epoch(shared := shared_weights(state, 1))
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
        drawn.append((mixing.tensors(), mixing.operations, str(mixing.path)))
    method.end_epoch(shared := shared_weights(state, 2))
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
