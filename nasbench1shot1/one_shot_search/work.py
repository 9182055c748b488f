"""The work of a search, counted in a few small steps on the CPU: steps, FLOPs and memory."""

from dataclasses import replace

from nasbench1shot1.images.stand_ins import images_for_planning
from nasbench1shot1.one_shot_search.beginning import begin, constrain
from nasbench1shot1.one_shot_search.estimate import cost_of_epochs, cost_to_score
from nasbench1shot1.one_shot_search.meters import FlopMeter
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.runs.counting import size_of
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.runs.work import Flops, Work, memory_needs
from nasbench1shot1.supernets.weight_sharing import LARGEST_ON_GPU, MAPS_ON_GPU

PICTURES = 400_000
"""Bytes of a run's pictures, options and summary."""
LINE = 1_000
"""Bytes that an epoch adds to a record."""


def work_of_search(options: SearchOptions) -> Work:
    """Return the work of a search with resolved options; its images may be missing, and nothing is recorded.

    Raises UserError if the search could not begin for another reason.
    """
    epochs, meter = range(1, options.common.epochs + 1), FlopMeter()
    with cpu_threads(1):  # FLOPs do not depend on it, and steps of few images gain nothing from more
        state = _state(options)
        constrain(state)
        forward, backward = cost_of_epochs(state, epochs, meter)
    config = state.config
    scores = bool(state.method.scorings(config.batch_size, len(state.split.architecture)))
    gpu_memory, memory = _memory(state, meter.step_memory, scores)
    kept = config.epochs // config.keep_weights_every if config.keep_weights_every else 0
    return Work(
        steps=sum(state.steps(epoch) for epoch in epochs),
        flops=Flops(float(forward), float(backward)),
        gpu_memory=gpu_memory,
        memory=memory,
        disk=PICTURES + (2 + kept) * _weights(state) + LINE * config.epochs,  # a checkpoint also has the momentum
    )


def work_to_score(options: SearchOptions, architectures: int, images: int) -> Work:
    """Return the work of scoring architectures on some images, each with a search's supernet."""
    with cpu_threads(1):
        state = _state(options)
        forward, backward = cost_to_score(state, [(architectures, images)], FlopMeter())
    gpu_memory, memory = _memory(state, 0.0, True)
    return Work(flops=Flops(float(forward), float(backward)), gpu_memory=gpu_memory, memory=memory)


def _state(options: SearchOptions) -> SearchState:
    """Return a search on the CPU, whatever its device."""
    common = replace(options.common, device="cpu", compile=False)
    images = images_for_planning(common.images)
    return begin(replace(options, common=common), images, checks_memory=False)


def _weights(state: SearchState) -> int:
    """Return the bytes of the supernet's weights and buffers."""
    return size_of(state.net.state_dict().values())


def _memory(state: SearchState, step: float, scores: bool) -> tuple[float, float]:
    """Return `memory_needs` of a search whose steps need `step` bytes, and which may also score architectures."""
    pixels = state.images.images.numel() + (0 if state.images.test_images is None else state.images.test_images.numel())
    network = 2.0 * _weights(state)  # with the momentum; gradients belong to a step
    on_gpu, here = memory_needs(network, step, pixels)
    return max(on_gpu, on_gpu - step + scores * MAPS_ON_GPU * LARGEST_ON_GPU), here
