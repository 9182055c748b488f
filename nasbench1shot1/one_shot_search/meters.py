"""What `estimate` measures of a few steps of a search: their seconds, or their FLOPs and memory."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, count
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from nasbench1shot1.one_shot_search.loop import Step, training_steps
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Mixing, OneShotOptimizer
from nasbench1shot1.probability import preferred_within
from nasbench1shot1.runs.counting import OperationCounter, count_flops, size_of
from nasbench1shot1.runs.machine import wait_for

Amount = Any
"""A number, or an array of numbers: what a `Meter` measures."""
TIMED_STEPS = 2  # steps after one that is not timed: the first step of a process or on a GPU is slower
TIMED_SECONDS = 0.3  # shorter steps are timed more often, because short times vary more
MOST_TIMED_STEPS = 20
TIMED_IMAGES = 128  # images on which the one-shot error is timed
TIMED_SCORED_IMAGES = 512  # images on which that scoring is timed: reference images take longer than scored ones
TIMED_ARCHITECTURES = 6  # architectures whose scoring by shared weights is timed on a CPU
TOGETHER = 32  # architectures that share a pass on a GPU
COUNTED_IMAGES = 4  # images of each half and batch whose FLOPs are counted: FLOPs are proportional to images
COUNTED_ARCHITECTURES = 32  # architectures whose FLOPs are counted, because they differ
COUNTED_EVALUATIONS = 16  # networks on which the one-shot error of a single-path search is counted
FIXED_SCALE = 1e-3  # of the values of Λ that select these networks: as small as an initial Λ, so that noise decides
FEWEST_COUNTED_STEPS = 3
MOST_COUNTED_STEPS = 16  # of a method that samples, whose steps differ


class Meter(Protocol):
    """Measures parts of a search.

    Attributes:
        images: number of images on which the one-shot error is measured.
        scored_images: largest number of images on which scoring by shared weights is measured.
        warms_up: whether the first pass differs from later ones, so that it runs before others are measured.
    """

    images: int
    scored_images: int
    warms_up: bool

    def measured(self, state: SearchState) -> SearchState:
        """Return the search whose steps are measured: the search itself, or one with fewer images."""

    def architectures(self, state: SearchState) -> int:
        """Return the number of architectures whose scoring by shared weights is measured."""

    def evaluations(self, state: SearchState) -> Sequence[Mixing]:
        """Return the mixings to evaluate; the cost of the one-shot error is the mean of their costs."""

    def of(self, action: Callable[[], object]) -> Amount:
        """Return the cost of an action."""

    def of_batch(self, state: SearchState, action: Callable[[SearchState], object]) -> Amount:
        """Return the cost of an action on a search that uses one batch of images."""

    def per_image(self, state: SearchState, epoch: int) -> Amount:
        """Return the cost of the steps of an epoch per image of the weight half."""


class Clock:
    """Measures seconds."""

    images, scored_images, warms_up = TIMED_IMAGES, TIMED_SCORED_IMAGES, True

    def measured(self, state: SearchState) -> SearchState:
        """Return the search itself."""
        return state

    def architectures(self, state: SearchState) -> int:
        """Return a number that a GPU computes together, or few."""
        return TOGETHER if state.images.images.is_cuda else TIMED_ARCHITECTURES

    def evaluations(self, state: SearchState) -> list[Mixing]:
        """Return the mixing that the search would evaluate now."""
        return [state.method.evaluation_mixing()]

    def of(self, action: Callable[[], object]) -> float:
        """Return the seconds of an action."""
        started = time.perf_counter()
        action()
        return time.perf_counter() - started

    def of_batch(self, state: SearchState, action: Callable[[SearchState], object]) -> float:
        """Return the seconds of an action on a search."""
        return self.of(lambda: action(state))

    def per_image(self, state: SearchState, epoch: int) -> float:
        """Return the mean time of a few steps of an epoch per image, without the first step.

        If a step of Λ follows only some steps of the weights, all steps up to the next step of Λ are timed.
        """
        steps, period = state.steps(epoch), _period(state, epoch)
        several = period * -(-TIMED_STEPS // period)
        is_short = steps < 1 + several  # then a whole epoch is timed after another one
        untimed, several = (steps, steps) if is_short else (1, several)
        images, started = 0, 0.0
        for number, step in enumerate(_endless(state, epoch), start=1 - untimed):
            wait_for(state.method.device)
            if number == 0:
                started = time.perf_counter()
            elif number > 0:
                images += step.images
                seconds = time.perf_counter() - started
                if number % several == 0 and (seconds >= TIMED_SECONDS or number >= MOST_TIMED_STEPS):
                    break
        return seconds / images


class FlopMeter:
    """Counts FLOPs as an array of two numbers, forward and backward, and finds the largest memory of a step.

    Attributes:
        step_memory: bytes of the tensors that exist at one time in a step of the search, besides its weights, their
            momentum and its images; the largest value so far.
    """

    images = scored_images = COUNTED_IMAGES
    warms_up = False  # what a first pass prepares costs no FLOPs

    def __init__(self) -> None:
        self.step_memory = 0.0

    def measured(self, state: SearchState) -> SearchState:
        """Return the search with a few images."""
        few = replace(
            state.split,
            weights=state.split.weights[:COUNTED_IMAGES],
            architecture=state.split.architecture[:COUNTED_IMAGES],
        )
        return replace(state, split=few)

    def architectures(self, state: SearchState) -> int:
        """Return a number for a mean."""
        return COUNTED_ARCHITECTURES

    def evaluations(self, state: SearchState) -> list[Mixing]:
        """Return the search's mixing or, for a single path, the mixings of 16 fixed networks of the space.

        They are the networks that 16 values of Λ prefer, drawn with seed 0. The network that the search itself prefers
        after a few steps depends on rounding, which differs between processors. A single network would not represent
        the others: the most expensive one needs several times the FLOPs of the cheapest.
        """
        method, rng = state.method, np.random.default_rng(0)
        mixing = method.evaluation_mixing()
        if not mixing.is_sampled:
            return [mixing]
        evaluation, shapes = _path_of if mixing.weights is None else _evaluation_at, method.space.mixing_shapes()
        return [
            evaluation(method, {key: FIXED_SCALE * rng.standard_normal(shape) for key, shape in shapes.items()})
            for _ in range(COUNTED_EVALUATIONS)
        ]

    def of(self, action: Callable[[], object]) -> Amount:
        """Return the FLOPs of an action."""
        return np.array(count_flops(action))

    def of_batch(self, state: SearchState, action: Callable[[SearchState], object]) -> Amount:
        """Return the FLOPs of an action on a search, which are proportional to the size of its batches."""
        return (
            self.of(lambda: action(_with_batches_of(state, COUNTED_IMAGES))) * state.config.batch_size / COUNTED_IMAGES
        )

    def per_image(self, state: SearchState, epoch: int) -> Amount:
        """Return the mean FLOPs of a few steps per image.

        If a step of Λ follows only some steps of the weights, all steps up to the next step of Λ are counted. If the
        first three counts are equal, they suffice; otherwise the method samples, and more are counted. Λ is
        restored after each count: otherwise, later samples would depend on rounding, which differs between processors.
        """
        small = _with_batches_of(state, COUNTED_IMAGES - state.phase(epoch).batch_increase)
        steps, period, found, peaks = _endless(small, epoch), _period(state, epoch), list[Amount](), list[int]()
        while len(found) < MOST_COUNTED_STEPS:
            with _restored_parameters(state.method), OperationCounter() as counter:
                seen = sum(next(steps).images for _ in range(period))
            found.append(np.array(counter.flops) / seen)
            peaks.append(counter.peak)
            if len(found) == FEWEST_COUNTED_STEPS and all(np.array_equal(of, found[0]) for of in found):
                break
        gradients = size_of(weight for weight in state.net.parameters() if weight.requires_grad)
        of_images = max(max(peaks[1:]) - gradients, 0) / COUNTED_IMAGES  # the first step also creates the momentum
        self.step_memory = max(self.step_memory, gradients + state.batch_size(epoch) * of_images)
        return np.mean(found, axis=0)


@contextmanager
def _restored_parameters(method: OneShotOptimizer) -> Iterator[None]:
    """Restore the values of Λ at the end."""
    before = {key: value.detach().clone() for key, value in method.parameters.items()}
    try:
        yield
    finally:
        for key, value in before.items():
            method.parameters[key].data.copy_(value)


def _path_of(method: OneShotOptimizer, parameters: Mapping[str, NDArray[np.float64]]) -> Mixing:
    """Return the pass of the architecture within the bounds of the search that a given Λ prefers."""
    preferred = method.space.discretise(parameters)
    return Mixing(path=preferred_within(method.constraint, preferred, method.space, parameters))


def _evaluation_at(method: OneShotOptimizer, parameters: Mapping[str, NDArray[np.float64]]) -> Mixing:
    """Return the method's evaluation under a given Λ."""
    with _restored_parameters(method), torch.no_grad():
        for key, value in method.parameters.items():
            value.copy_(torch.from_numpy(parameters[key]))
        return method.evaluation_mixing()


def _with_batches_of(state: SearchState, images: int) -> SearchState:
    """Return a search with another option `batch_size`."""
    return replace(state, options=replace(state.options, common=replace(state.config, batch_size=images)))


def _period(state: SearchState, epoch: int) -> int:
    """Return the number of weight steps for each step of Λ; 1 in an epoch without steps of Λ."""
    phase = state.phase(epoch)
    return phase.weight_steps if phase.moves_parameters else 1


def _endless(state: SearchState, epoch: int) -> Iterator[Step]:
    return chain.from_iterable(training_steps(state, epoch) for _ in count())
