"""The work of a proxy study's trainings, counted in a few small steps on the CPU."""

from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F

from nasbench1shot1.images.stand_ins import images_for_planning
from nasbench1shot1.proxy_training.loop import ProxyState, begin
from nasbench1shot1.proxy_training.record import ProxyConfig
from nasbench1shot1.runs.counting import OperationCounter, size_of
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.runs.work import Flops, Work, memory_needs
from nasbench1shot1.supernets.passes import Mixing, class_scores

COUNTED = 24
"""Number of architectures whose FLOPs are counted; the others are assumed to have their mean."""
COUNTED_IMAGES = 4
PICTURES, TRAINING, LINE = 200_000, 400, 45
"""Bytes of pictures and options, and those that a training and an epoch add to the record."""


def work_of_proxies(config: ProxyConfig) -> Work:
    """Return the work of all trainings of a resolved configuration; its images may be missing.

    Raises UserError if the trainings could not begin for another reason.
    """
    state = begin(replace(config, device="cpu"), images_for_planning(config.images))
    with cpu_threads(1):
        counts = [_counted(state, number) for number in range(min(COUNTED, config.architectures))]
    trained, validated = len(state.split.weights), len(state.split.architecture)
    forward, backward = np.mean([count[:2] for count in counts], axis=0)
    network, step = np.max([count[2:] for count in counts], axis=0)
    gpu_memory, memory = memory_needs(float(network), config.batch_size * float(step), state.images.images.numel())
    trainings = config.architectures * config.epochs
    flops = Flops(trainings * (trained + validated) * float(forward), trainings * trained * float(backward))
    return Work(
        steps=trainings * -(-trained // config.batch_size),
        flops=flops,
        alone=flops.total,
        images=trainings * trained,
        gpu_memory=gpu_memory,
        memory=memory,
        disk=PICTURES + config.architectures * (TRAINING + LINE * config.epochs),
    )


def _counted(state: ProxyState, number: int) -> tuple[float, float, float, float]:
    """Return FLOPs of a forward and a backward pass, bytes of the network, and bytes of a step, per image."""
    net, images = state.network(number).train(), state.images
    pixels, labels = images.batch(torch.arange(COUNTED_IMAGES))
    mixing = Mixing(path=state.architectures[number])
    with OperationCounter() as counter:
        logits = class_scores(net, mixing, state.augmentation.normalise(pixels), state.config.precision)
        F.cross_entropy(logits, labels).backward()
    gradients = size_of(weight for weight in net.parameters() if weight.grad is not None)
    of_step = max(counter.peak - gradients, 0) / COUNTED_IMAGES
    return counter.forward / COUNTED_IMAGES, counter.backward / COUNTED_IMAGES, 3.0 * gradients, of_step
