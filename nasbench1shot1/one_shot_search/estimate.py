"""Estimates of the duration of a search, from a few timed steps on the machine that runs it.

A search has phases with other steps, and methods exclude candidates, which are then no longer computed. So steps are
timed once for each kind of phase, with the most and with the fewest candidates that the phase has. In between, times
are interpolated by the share of candidates that is left (`OneShotOptimizer.remaining_share`).
"""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.one_shot_search.measurements import MOST_ITERATIONS, cell_alignment, dominant_eigenvalue
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.state import SearchState, begin, constrain
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.weight_sharing import MIXED_BATCH
from nasbench1shot1.supernets.widening import set_partial_channels

TIMED_STEPS = 2  # steps after one that is not timed: the first step of a process or on a GPU is slower
TIMED_SECONDS = 0.3  # shorter steps are timed more often, because short times vary more
MOST_TIMED_STEPS = 20
TIMED_IMAGES = 128  # images on which the one-shot error is timed
TIMED_SCORED_IMAGES = 512  # images on which that scoring is timed: reference images take longer than scored ones
TIMED_ARCHITECTURES = 6  # architectures whose scoring by shared weights is timed on a CPU


def seconds_per_epoch(options: SearchOptions) -> float:
    """Estimate how long a search with these resolved options takes, divided by its epochs; nothing is recorded.

    Raises UserError if the search could not begin, for example because its images or its table are missing.
    """
    config = options.common
    with cpu_threads(config.threads):
        state = begin(options)
        constrain(state)
        return _seconds(state, range(1, config.epochs + 1)) / config.epochs


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
    """Estimate how long the last epochs of a search take. The search does not change."""
    last = state.config.epochs
    with _rehearsal(state) as rehearsed:
        return _seconds(rehearsed, range(last - epochs + 1, last + 1))


@contextmanager
def _rehearsal(state: SearchState) -> Iterator[SearchState]:
    """Yield a search for trials: its method and SGD are copies, and the network is restored afterwards.

    A copy of the network would need additional memory, and a compiled network would be compiled again.
    """
    config, method, net = state.config, state.method, state.net
    generator = epoch_generator(config.seed, "expectation", 0)
    copied_method = type(method)(net.space, method.hyperparameters, generator, method.device)
    if method.constraint is not None:
        copied_method.constrain(method.constraint)
    copied_method.load_state_dict(deepcopy(method.state_dict()))
    copied_sgd = torch.optim.SGD(net.parameters(), config.learning_rate, config.momentum)
    copied_sgd.load_state_dict(deepcopy(state.weight_optimizer.state_dict()))
    was_training, before = net.training, {name: tensor.clone() for name, tensor in _tensors(net)}
    trained = [parameter.requires_grad for parameter in net.parameters()]
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
        for parameter, gradient, trains in zip(net.parameters(), gradients, trained, strict=True):
            parameter.requires_grad_(trains)
            parameter.grad = gradient
        net.train(was_training)


def _tensors(net: Supernet) -> Iterator[tuple[str, Tensor]]:
    """Return all weights and buffers of a network, by name, detached from autograd."""
    yield from ((name, parameter.data) for name, parameter in net.named_parameters())
    yield from net.named_buffers()


class _Timed(NamedTuple):
    """Times in an epoch: the share of candidates that is left, and the seconds that tasks take.

    Attributes:
        share: the share that `remaining_share` returns.
        image: seconds of the training steps, per image of the weight half.
        error: seconds to measure the one-shot error.
        mixing: seconds to score a mixing, per image, as `score_mixing` does.
    """

    share: float
    image: float
    error: float
    mixing: float

    def between(self, other: "_Timed", share: float) -> "_Timed":
        """Return times for a share of candidates, interpolated between the times of two epochs."""
        part = (share - self.share) / (other.share - self.share) if other.share != self.share else 0.0
        return _Timed(*(mine + part * (theirs - mine) for mine, theirs in zip(self, other, strict=True)))


def _seconds(state: SearchState, epochs: range) -> float:
    """Return the estimated seconds of some epochs, the last one included, of a search whose state may change."""
    method, half, size = state.method, len(state.split.architecture), state.config.batch_size
    mixtures, evaluations = method.scored_mixtures, len(epochs) + (state.epoch < 0)  # before training, too
    seconds = evaluations * _seconds_to_score(state, method.scorings(size, half))
    seconds += _seconds_to_score(state, method.scorings_at_end(size, half))
    if state.config.hessian_eigenvalue:
        seconds += sum(state.phase(e).moves_parameters for e in epochs) * _seconds_of_the_eigenvalue(state)
    if state.config.preferred_error:
        seconds += evaluations * _seconds_to_score(state, [(1, half)])
    if state.config.cell_alignment:
        seconds += evaluations * _seconds_of(lambda: cell_alignment(state, 1))
    shared = state.shared_weights(0)
    images = sum(shared.images_passed(*scoring) for scoring in method.mixture_scorings(size, half))
    times = _times(state, epochs, scores_mixings=bool(mixtures or images))
    seconds += sum(len(state.rows(e)[0]) * of.image + of.error + images * of.mixing for e, of in times.items())
    if state.epoch < 0:
        seconds += (first := times[epochs[0]]).error + images * first.mixing
    excluding = [of for of in times.values() if of.share < 1] or list(times.values())
    mean = sum(of.mixing for of in excluding) / max(len(excluding), 1)
    return seconds + mixtures * shared.images_passed(1, half) * mean


def _times(state: SearchState, epochs: range, scores_mixings: bool) -> dict[int, _Timed]:
    """Return the times of every epoch; a few epochs are rehearsed.

    Args:
        state: a search whose state may change.
        epochs: the epochs.
        scores_mixings: whether the method scores mixings in any of them, so that this is timed, too. In a rehearsal of
            a late epoch, the method itself would no longer know: all its choices may be decided there.
    """
    alike: dict[Hashable, list[int]] = {}
    for epoch in epochs:
        alike.setdefault(_kind(state, epoch), []).append(epoch)
    shares = {epoch: state.method.remaining_share(epoch, state.phases) for epoch in epochs}
    found: dict[int, _Timed] = {}
    for members in sorted(alike.values(), key=min):
        last_first = members[::-1]  # the last of equal epochs, because a first one may have a warm-up of its own
        ends = sorted({max(last_first, key=shares.__getitem__), min(last_first, key=shares.__getitem__)})
        timed = [_timed(state, epoch, shares[epoch], scores_mixings) for epoch in ends]
        found |= {epoch: timed[0].between(timed[-1], shares[epoch]) for epoch in members}
    return found


def _kind(state: SearchState, epoch: int) -> Hashable:
    """Return what the duration of an epoch's steps depends on, besides the size of batches and excluded candidates."""
    phase = state.phase(epoch)
    return phase.name, phase.moves_parameters, phase.trains, phase.weight_steps, state.partial_channels(epoch)


def _timed(state: SearchState, epoch: int, share: float, scores_mixings: bool) -> _Timed:
    """Return the times of an epoch, whose steps are rehearsed."""
    state.method.rehearse(epoch, state.phases)
    image = _seconds_per_image(state, epoch)
    error = _seconds_to_evaluate(state, epoch)
    return _Timed(share, image, error, _seconds_per_scored_image(state, epoch) if scores_mixings else 0.0)


def _seconds_per_image(state: SearchState, epoch: int) -> float:
    """Return the mean time of a few steps of an epoch per image, without the first step.

    If a step of Λ follows only some steps of the weights, all steps up to the next step of Λ are timed.
    """
    is_cuda, phase, steps = state.images.images.is_cuda, state.phase(epoch), state.steps(epoch)
    period = phase.weight_steps if phase.moves_parameters else 1
    several = period * -(-TIMED_STEPS // period)
    is_short = steps < 1 + several  # then a whole epoch is timed after another one
    untimed, several = (steps, steps) if is_short else (1, several)
    endless = chain.from_iterable(training_steps(state, epoch) for _ in count())
    images, started = 0, 0.0
    for number, step in enumerate(endless, start=1 - untimed):
        _wait_for_device(is_cuda)
        if number == 0:
            started = time.perf_counter()
        elif number > 0:
            images += step.images
            seconds = time.perf_counter() - started
            if number % several == 0 and (seconds >= TIMED_SECONDS or number >= MOST_TIMED_STEPS):
                break
    return seconds / images


def _seconds_to_evaluate(state: SearchState, epoch: int) -> float:
    """Return the seconds for the one-shot error: passes of the architecture half and of the reference images."""
    shared, half = state.shared_weights(epoch), state.split.architecture
    rows = torch.from_numpy(half[:TIMED_IMAGES])
    with torch.no_grad():
        mixing = state.method.evaluation_mixing()
    shared.scores([mixing], rows[:1])  # the first is slower
    started = time.perf_counter()
    shared.scores([mixing], rows)
    seconds = time.perf_counter() - started
    size = MIXED_BATCH if state.method.evaluates_with_noise else len(half)  # a new sample for every batch
    passed = sum(shared.images_passed(1, len(part)) for part in torch.from_numpy(half).split(size))
    return seconds / shared.images_passed(1, len(rows)) * passed


def _seconds_per_scored_image(state: SearchState, epoch: int) -> float:
    """Return the seconds per image in which the method scores a mixing."""
    shared, rows = state.shared_weights(epoch), torch.from_numpy(state.split.architecture[:TIMED_IMAGES])
    started = time.perf_counter()
    state.method.score_mixing(shared, rows)
    return (time.perf_counter() - started) / shared.images_passed(1, len(rows))


def _seconds_to_score(state: SearchState, scorings: Sequence[tuple[int, int]]) -> float:
    """Return the seconds that a method takes to score architectures with shared weights.

    On a GPU, several architectures share a pass, so a pass of one architecture is timed separately. On a CPU,
    architectures share computations: the more are scored, the less time each takes. Only a few are timed, so the
    estimate for many is an upper bound.
    """
    shared, rng = state.shared_weights(0), np.random.default_rng(0)
    some = [state.net.space.sample(rng) for _ in range(32 if state.images.images.is_cuda else TIMED_ARCHITECTURES)]

    def seconds_per_image(architectures: int, images: int) -> float:
        rows = shared.rows(images, state.generator("expectation", 0))
        shared.errors(some[:architectures], rows[:1])  # the first is slower because it prepares what all share
        started = time.perf_counter()
        shared.errors(some[:architectures], rows)
        return (time.perf_counter() - started) / shared.images_passed(architectures, len(rows))

    timed = {
        (number, images): (min(number, len(some)), min(images, TIMED_SCORED_IMAGES)) for number, images in scorings
    }
    each = {together: seconds_per_image(*together) for together in set(timed.values())}
    return sum(shared.images_passed(*scoring) * each[timed[scoring]] for scoring in scorings)


def _seconds_of_the_eigenvalue(state: SearchState) -> float:
    """Return an upper bound of the seconds; the number of iterations is only known at the end."""
    once, twice = (_seconds_of(partial(dominant_eigenvalue, state, 1, iterations)) for iterations in (1, 2))
    return once + (MOST_ITERATIONS - 1) * max(twice - once, 0)


def _seconds_of(measure: Callable[[], object]) -> float:
    started = time.perf_counter()
    measure()
    return time.perf_counter() - started


def _wait_for_device(is_cuda: bool) -> None:
    if is_cuda:
        torch.cuda.synchronize()
