"""Estimates of the duration of a search, from a few timed steps on the machine that runs it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.one_shot_search.measurements import MOST_ITERATIONS, dominant_eigenvalue
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.state import SearchState, begin
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.widening import set_partial_channels

TIMED_STEPS = 2  # steps after one that is not timed: the first step of a process or on a GPU is slower
TIMED_IMAGES = 128  # images on which the one-shot error is timed
TIMED_ARCHITECTURES = 6  # architectures whose scoring by shared weights is timed on a CPU


def seconds_per_epoch(options: SearchOptions) -> float:
    """Estimate how long an epoch of a search with these resolved options takes; nothing is recorded.

    Raises UserError if the search could not begin, for example because its images are missing.
    """
    config = options.common
    with cpu_threads(config.threads):
        return _seconds_per_epoch(begin(options))


def seconds_to_score(options: SearchOptions, architectures: int, images: int) -> float:
    """Estimate the seconds to score architectures with a search's supernet; raises the errors of `seconds_per_epoch`.

    Args:
        options: resolved options of the search.
        architectures: number of architectures.
        images: number of images on which each architecture is scored.
    """
    with cpu_threads(options.common.threads):
        return _seconds_to_score(begin(options), [(architectures, images)])


def expected_seconds(state: SearchState, epochs: int) -> float:
    """Estimate how long a number of further epochs takes, including the last epoch. The search does not change."""
    with _rehearsal(state) as rehearsed:
        at_end = rehearsed.method.scorings_at_end(state.config.batch_size, len(state.split.architecture))
        seconds = epochs * _seconds_per_epoch(rehearsed) + _seconds_to_score(rehearsed, at_end)
        return seconds + _seconds_of_mixtures(rehearsed)


@contextmanager
def _rehearsal(state: SearchState) -> Iterator[SearchState]:
    """Yield a search for trials: its method and SGD are copies, and the network is restored afterwards.

    A copy of the network would need additional memory, and a compiled network would be compiled again.
    """
    config, method, net = state.config, state.method, state.net
    generator = epoch_generator(config.seed, "expectation", 0)
    copied_method = type(method)(net.space, method.hyperparameters, generator, method.device)
    copied_method.load_state_dict(deepcopy(method.state_dict()))
    copied_sgd = torch.optim.SGD(net.parameters(), config.learning_rate, config.momentum)
    copied_sgd.load_state_dict(deepcopy(state.weight_optimizer.state_dict()))
    was_training, before = net.training, {name: tensor.clone() for name, tensor in _tensors(net)}
    partial_channels = net.partial_channels
    gradients = [parameter.grad for parameter in net.parameters()]
    for parameter in net.parameters():
        parameter.grad = None
    try:
        yield replace(state, method=copied_method, weight_optimizer=copied_sgd, eigenvalues=list(state.eigenvalues))
    finally:
        set_partial_channels(net, partial_channels)
        for name, tensor in _tensors(net):
            tensor.copy_(before[name])
        for parameter, gradient in zip(net.parameters(), gradients, strict=True):
            parameter.grad = gradient
        net.train(was_training)


def _tensors(net: Supernet) -> Iterator[tuple[str, Tensor]]:
    """Return all weights and buffers of a network, by name, detached from autograd."""
    yield from ((name, parameter.data) for name, parameter in net.named_parameters())
    yield from net.named_buffers()


def _seconds_per_epoch(state: SearchState) -> float:
    """Return the estimated seconds per epoch of a search whose state may change."""
    half, size = len(state.split.architecture), state.config.batch_size
    seconds = state.steps(state.config.epochs) * _seconds_per_step(state) + _seconds_to_evaluate(state)
    return seconds + _seconds_to_score(state, state.method.scorings(size, half)) + _seconds_of_the_eigenvalue(state)


def _seconds_per_step(state: SearchState) -> float:
    """Return the mean over a few steps of the last epoch, which has no warm-up, without the first step if possible."""
    is_cuda, times = state.images.images.is_cuda, [time.perf_counter()]
    for _ in islice(training_steps(state, state.config.epochs), 1 + TIMED_STEPS):
        _wait_for_device(is_cuda)
        times.append(time.perf_counter())
    first = min(1, len(times) - 2)
    return (times[-1] - times[first]) / (len(times) - 1 - first)


def _seconds_to_evaluate(state: SearchState) -> float:
    """Return the seconds for the one-shot error: passes of the architecture half and of the reference images."""
    shared, half = state.shared_weights(0), state.split.architecture
    rows = torch.from_numpy(half[:TIMED_IMAGES])
    with torch.no_grad():
        mixing = state.method.evaluation_mixing()
    started = time.perf_counter()
    shared.scores([mixing], rows)
    seconds = time.perf_counter() - started
    return seconds / shared.images_passed(1, len(rows)) * shared.images_passed(1, len(half))


def _seconds_to_score(state: SearchState, scorings: Sequence[tuple[int, int]]) -> float:
    """Return the seconds that a method takes to score architectures with shared weights.

    On a GPU, several architectures share a pass, so a pass of one architecture is timed separately. On a CPU,
    architectures share computations: the more are scored, the less time each takes. Only a few are timed, so the
    estimate for many is an upper bound.
    """
    shared, rng = state.shared_weights(0), np.random.default_rng(0)
    some = [state.net.space.sample(rng) for _ in range(32 if state.images.images.is_cuda else TIMED_ARCHITECTURES)]
    rows = shared.rows(2 * state.config.batch_size, state.generator("expectation", 0))

    def seconds_per_image(architectures: int) -> float:
        shared.errors(some[:architectures], rows)  # the first is slower because it prepares what all share
        started = time.perf_counter()
        shared.errors(some[:architectures], rows)
        return (time.perf_counter() - started) / shared.images_passed(architectures, len(rows))

    together = {architectures: min(architectures, len(some)) for architectures, _ in scorings}
    each = {architectures: seconds_per_image(architectures) for architectures in set(together.values())}
    return sum(shared.images_passed(*scoring) * each[together[scoring[0]]] for scoring in scorings)


def _seconds_of_mixtures(state: SearchState) -> float:
    """Return the seconds that a method takes to score mixings on the whole architecture half."""
    mixtures = state.method.scored_mixtures
    return mixtures * _seconds_to_evaluate(state) if mixtures else 0.0


def _seconds_of_the_eigenvalue(state: SearchState) -> float:
    """Return an upper bound of the seconds; the number of iterations is only known at the end."""
    if not state.config.hessian_eigenvalue:
        return 0.0
    seconds = []
    for iterations in (1, 2):
        started = time.perf_counter()
        dominant_eigenvalue(state, 1, iterations)
        seconds.append(time.perf_counter() - started)
    return seconds[0] + (MOST_ITERATIONS - 1) * max(seconds[1] - seconds[0], 0)


def _wait_for_device(is_cuda: bool) -> None:
    if is_cuda:
        torch.cuda.synchronize()
