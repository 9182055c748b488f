"""The work of trainings, counted in a few small steps on the CPU."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from nasbench1shot1.cell_training.loop import TrainingState, begin
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.screen import remaining_seconds
from nasbench1shot1.images.stand_ins import images_for_planning
from nasbench1shot1.runs.counting import OperationCounter, size_of
from nasbench1shot1.runs.machine import computing, cpu_threads
from nasbench1shot1.runs.work import Flops, Work, memory_needs

MOST_NETWORKS = 4
"""Number of networks that are measured; the others are assumed to have their mean."""
COUNTED_IMAGES = 2
RECORD, LINE = 100_000, 300
"""Bytes of a record, and those that an epoch adds to it."""


def measured_networks(networks: Sequence[Any]) -> list[Any]:
    """Return the networks that are measured: a few, evenly spaced."""
    return list(networks[:: -(-len(networks) // MOST_NETWORKS)])


def work_of_training(x: Any, config: TrainingOptions) -> Work:
    """Return the work of a training with resolved options; its images may be missing, and nothing is recorded.

    Raises UserError if the training could not begin for another reason.
    """
    cpu = replace(config, device="cpu", compile=False)
    state = begin(x, cpu, images_for_planning(cpu.images), checks_memory=False)
    with cpu_threads(1):
        (forward, backward), of_step = _counted(state)
    steps, size = state.stops[-1].step, config.batch_size
    evaluations = sum(stop.evaluation is not None for stop in state.stops)
    evaluated = sum(len(rows) for part in state.parts.evaluated().values() for rows in state.evaluated_batches(part))
    weights = size_of(state.net.parameters())
    gpu_memory, memory = memory_needs(4.0 * weights, size * of_step, state.parts.train.images.images.numel())
    trained = steps * size
    flops = Flops((trained + evaluations * evaluated) * forward, trained * backward)
    return Work(
        steps=steps,
        flops=flops,
        alone=flops.total,
        images=trained,
        gpu_memory=gpu_memory,
        memory=memory,
        disk=RECORD + 3 * weights + LINE * config.epochs,
    )


def seconds_of_training(x: Any, config: TrainingOptions) -> float:
    """Estimate the seconds of a training from a few timed batches; its images may be missing.

    Raises UserError if the training could not begin for another reason.
    """
    with computing(config.threads):
        return remaining_seconds(begin(x, config, images_for_planning(config.images)))


def _counted(state: TrainingState) -> tuple[tuple[float, float], float]:
    """Return the FLOPs of a forward and a backward pass of one image, and the bytes of a step for each image."""
    images, labels = state.parts.train.images.batch(torch.arange(COUNTED_IMAGES))
    state.net.train()
    with OperationCounter() as counter:
        F.cross_entropy(state.logits(state.augmentation.normalise(images), compiled=False), labels).backward()
    flops = np.array(counter.flops) / COUNTED_IMAGES
    return (float(flops[0]), float(flops[1])), max(counter.peak - size_of(state.net.parameters()), 0) / COUNTED_IMAGES
