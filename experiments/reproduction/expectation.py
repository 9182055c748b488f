"""How long the searches of a figure will take, from a few timed steps on the machine they will run on."""

import heapq
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nasbench1shot1.compute import cpu_threads
from nasbench1shot1.experiments.reproduction.jobs import Job
from nasbench1shot1.search_config import make_config

if TYPE_CHECKING:
    from nasbench1shot1.search_state import SearchState

START_UP = 5.0  # seconds until a process of its own searches, and to draw its picture at the end; seen on two CPU cores
TIMED_STEPS = 2  # after one that is not timed, as the first of a process or on a GPU is slower

Kind = tuple[str, str]
"""Optimizer and space, on which the cost of an epoch depends within one figure."""


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


def kind_of(job: Job) -> Kind:
    """What the cost of the job's epochs depends on."""
    return str(job.options["optimizer"]), str(job.options["space"])


def measure(jobs: Sequence[Job]) -> dict[Kind, float]:
    """Seconds per epoch for every kind among the jobs."""
    return {kind: seconds_per_epoch(job.options) for kind, job in {kind_of(job): job for job in jobs}.items()}


def seconds_per_epoch(options: Mapping[str, Any]) -> float:
    """How long an epoch of a search with these options will take; nothing is recorded.

    Raises UserError where the search could not begin: images that are missing, for one.
    """
    from nasbench1shot1.search_state import begin

    config = make_config(dict(options)).resolved()
    with cpu_threads(config.threads):
        state = begin(config)
        steps = -(-len(state.split.weights) // config.batch_size)
        return steps * _seconds_per_step(state) + _seconds_to_evaluate(state) + _seconds_to_choose(state)


def _seconds_per_step(state: "SearchState") -> float:
    from nasbench1shot1.search_loop import train_epoch

    stopwatch = _Stopwatch(state.images.images.is_cuda)
    with suppress(_Enough):
        train_epoch(state, state.config.epochs, stopwatch)  # the last epoch, in which nothing is warmed up
    return stopwatch.seconds_per_step()


def _seconds_to_evaluate(state: "SearchState") -> float:
    """Of the one-shot error: forward passes over the architecture half, and over some images to recalibrate."""
    import torch

    from nasbench1shot1.one_shot_error import EVALUATION_BATCH, RECALIBRATION_BATCHES

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


def _seconds_to_choose(state: "SearchState") -> float:
    """Of methods that select by the shared weights: all the images that they score."""
    import numpy as np

    from nasbench1shot1.shared_weights import SharedWeights

    scored = state.method.images_scored(state.config.batch_size, len(state.split.architecture))
    if not scored:
        return 0.0
    on_gpu = state.images.images.is_cuda
    shared, rng = SharedWeights(state, 0), np.random.default_rng(0)
    some = [state.net.space.sample(rng) for _ in range(32 if on_gpu else 2)]
    rows = shared.rows(2 * state.config.batch_size, state.generator("expectation", 0))
    started = time.perf_counter()
    shared.errors(some, rows)
    return (time.perf_counter() - started) / (len(some) * len(rows)) * scored


def _wait_for_device(is_cuda: bool) -> None:
    import torch

    if is_cuda:
        torch.cuda.synchronize()


def seconds_left(job: Job, per_epoch: Mapping[Kind, float]) -> float:
    """What is left of a search, its process's start included."""
    return START_UP + (job.epochs - job.epochs_done()) * per_epoch[kind_of(job)]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last search ends if each starts in its turn, as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)
