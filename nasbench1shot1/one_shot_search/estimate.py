"""How long an epoch of a search will take, from a few timed steps on the machine it will run on."""

import time
from contextlib import suppress

import numpy as np
import torch

from nasbench1shot1.one_shot_search.hessian import MOST_ITERATIONS, dominant_eigenvalue
from nasbench1shot1.one_shot_search.loop import train_epoch
from nasbench1shot1.one_shot_search.one_shot_error import EVALUATION_BATCH, RECALIBRATION_BATCHES
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.shared_weights import SharedWeights
from nasbench1shot1.one_shot_search.state import SearchState, begin
from nasbench1shot1.runs.compute import cpu_threads

TIMED_STEPS = 2  # after one that is not timed, as the first of a process or on a GPU is slower


class _Enough(Exception):
    """Ends an epoch once enough of its steps are timed."""


class _Stopwatch:
    """Notes when every step of an epoch ends."""

    def __init__(self, synchronise: bool) -> None:
        self._synchronise, self.times = synchronise, [time.perf_counter()]

    def step(self, epoch: int, loss: float | None) -> None:
        """Note the time, when the device has done what it was given."""
        _wait_for_device(self._synchronise)
        self.times.append(time.perf_counter())
        if len(self.times) > 1 + TIMED_STEPS:
            raise _Enough

    def epoch_done(self, line: dict[str, object]) -> None:
        """Nothing to note."""

    def seconds_per_step(self) -> float:
        """The mean, without the first step if there is another."""
        first = min(1, len(self.times) - 2)
        return (self.times[-1] - self.times[first]) / (len(self.times) - 1 - first)


def seconds_per_epoch(options: SearchOptions) -> float:
    """How long an epoch of a search with these resolved options will take; nothing is recorded.

    Raises UserError where the search could not begin: images that are missing, for one.
    """
    config = options.common
    with cpu_threads(config.threads):
        state = begin(options)
        steps = -(-len(state.split.weights) // config.batch_size)
        afterwards = (_seconds_to_evaluate, _seconds_to_choose, _seconds_of_the_eigenvalue)
        return steps * _seconds_per_step(state) + sum(seconds(state) for seconds in afterwards)


def _seconds_per_step(state: SearchState) -> float:
    stopwatch = _Stopwatch(state.images.images.is_cuda)
    with suppress(_Enough):
        train_epoch(state, state.config.epochs, stopwatch)  # the last epoch, in which nothing is warmed up
    return stopwatch.seconds_per_step()


def _seconds_to_evaluate(state: SearchState) -> float:
    """Of the one-shot error: forward passes over the architecture half, and over some images to recalibrate."""
    half = len(state.split.architecture)
    rows = torch.from_numpy(state.split.architecture[:EVALUATION_BATCH])
    batch = state.images_of(rows, state.augmentation(1), None)
    state.net.eval()
    started = time.perf_counter()
    with torch.no_grad():
        state.logits(state.method.evaluation_mixing(), batch.images, compiled=False)
    _wait_for_device(batch.images.is_cuda)
    passes = half + min(RECALIBRATION_BATCHES * EVALUATION_BATCH, len(state.split.weights))
    return (time.perf_counter() - started) / len(rows) * passes


def _seconds_to_choose(state: SearchState) -> float:
    """Of methods that select by the shared weights: all the images that then pass through the network.

    On a GPU several architectures pass together, so that a pass of one is timed apart.
    """
    shared, rng = SharedWeights(state, 0), np.random.default_rng(0)
    scorings = state.method.scorings(state.config.batch_size, len(state.split.architecture))
    some = [state.net.space.sample(rng) for _ in range(32 if state.images.images.is_cuda else 2)]
    rows = shared.rows(2 * state.config.batch_size, state.generator("expectation", 0))

    def seconds_per_image(architectures: int) -> float:
        shared.errors(some[:architectures], rows)  # the first is slower: it prepares what all share
        started = time.perf_counter()
        shared.errors(some[:architectures], rows)
        return (time.perf_counter() - started) / shared.images_passed(architectures, len(rows))

    together = {architectures: min(architectures, len(some)) for architectures, _ in scorings}
    each = {architectures: seconds_per_image(architectures) for architectures in set(together.values())}
    return sum(shared.images_passed(*scoring) * each[together[scoring[0]]] for scoring in scorings)


def _seconds_of_the_eigenvalue(state: SearchState) -> float:
    """An upper bound: how many iterations it takes is only known at the end."""
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
