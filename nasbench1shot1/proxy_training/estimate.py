"""Estimates of the duration of a proxy study's trainings, from a few timed steps on the machine that runs them."""

import time
from dataclasses import replace
from itertools import islice

import torch

from nasbench1shot1.proxy_training.loop import training_steps, validation_error, weight_optimizer
from nasbench1shot1.proxy_training.record import ProxyConfig
from nasbench1shot1.proxy_training.state import ProxyState, begin
from nasbench1shot1.runs.compute import cpu_threads

TIMED = 4  # architectures, because their depths and operations differ
TIMED_STEPS = 2  # steps per architecture, after one step that is not timed
TIMED_IMAGES = 128  # images on which validation is timed


def seconds_per_architecture(config: ProxyConfig) -> float:
    """Estimate the seconds per training with a resolved configuration, as a mean over a few architectures.

    Raises UserError if the trainings cannot begin, for example because images are missing.
    """
    with cpu_threads(config.threads):
        state = begin(config)
        numbers = range(min(TIMED, config.architectures))
        return sum(_seconds(state, number) for number in numbers) / len(numbers)


def _seconds(state: ProxyState, number: int) -> float:
    """Return the estimated seconds of one training."""
    net, times = state.network(number), list[float]()
    for _ in islice(training_steps(state, number, 1, net.train(), weight_optimizer(state, net)), 1 + TIMED_STEPS):
        times.append(_now(state))
    steps = -(-len(state.split.weights) // state.config.batch_size)
    per_step = (times[-1] - times[0]) / max(len(times) - 1, 1)
    some = replace(state, split=replace(state.split, architecture=state.split.architecture[:TIMED_IMAGES]))
    started = _now(state)
    validation_error(some, number, net)
    per_image = (_now(state) - started) / len(some.split.architecture)
    return state.config.epochs * (steps * per_step + len(state.split.architecture) * per_image)


def _now(state: ProxyState) -> float:
    if state.config.device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()
