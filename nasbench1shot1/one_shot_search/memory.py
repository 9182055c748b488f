"""The size of a supernet, and whether its search fits into memory; the network is not built."""

from itertools import pairwise
from typing import NamedTuple

import torch

from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.runs.machine import check_memory
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.presets import PRESETS, Preset
from nasbench1shot1.supernets.skeletons import skeleton_class
from nasbench1shot1.supernets.supernet import cell_class

COPIES = 3  # weights, gradients and momentum; the checkpoint needs as much again while it is written
MOST_CHANNELS = 10**6  # larger numbers are not counted exactly, because no memory holds them


def check_fits(config: SearchConfig, space: OneShotSpace, classes: int = 10, side: int = 32) -> None:
    """Check that a supernet for images of some classes and side (in pixels) can be trained in its device's memory.

    The estimate includes only what every method keeps: weights, gradients, momentum and the feature maps for
    backpropagation. So a search that passes may still run out of memory.

    Raises:
        InvalidInputError: the estimate exceeds the memory, or `partial_channels` does not divide the channels.
    """
    k = config.partial_channels
    channels = config.channels if config.channels % k else min(config.channels, max(MOST_CHANNELS // k, 1) * k)
    size = supernet_size(space, channels, config.cells, PRESETS[config.preset], classes, k, side)
    numbers = 2 if config.precision == "bfloat16" else 4  # bytes of an activation; all else is float32
    needed = 4 * COPIES * size.parameters + numbers * config.batch_size * size.activations
    at_least = "" if channels == config.channels else "at least "
    check_memory(
        needed,
        config.device,
        f"--channels {config.channels} and --cells {config.cells} give a supernet of {at_least}{size.parameters:,} "
        f"parameters, which with gradients, momentum and the feature maps of {config.batch_size} images needs",
        "lower --channels, --cells or --batch-size",
    )


class SupernetSize(NamedTuple):
    """The size of a supernet.

    Attributes:
        parameters: trainable numbers.
        activations: lower bound on the numbers that a training step keeps for each image: the inputs of all cells. A
            step on a mixture of operations keeps several times as many.
    """

    parameters: int
    activations: int


def supernet_size(
    space: OneShotSpace,
    channels: int,
    cells: int,
    preset: Preset,
    classes: int = 10,
    partial_channels: int = 1,
    side: int = 32,
) -> SupernetSize:
    """Return the size of `Supernet` with these arguments, in time independent of the size.

    `side` is the height and width of an image in pixels.

    Raises InvalidInputError if `partial_channels` does not divide the channels.
    """
    skeleton, parameters, activations, width = skeleton_class(space)(channels, cells, preset), 0, 0, channels
    with torch.device("meta"):  # nothing is allocated
        parameters += _count(skeleton.stem())
        for number, (start, end) in enumerate(pairwise((0, *skeleton.starts, cells))):
            if number:
                channels, side = 2 * channels, side // 2
                parameters += _count(skeleton.reduction(width, channels))
                width = skeleton.reduced(width, channels)
            for alike in filter(None, (1, end - start - 1)):  # the first cell of a stack, and the others
                cell = cell_class(space)(space, width, channels, preset, partial_channels)
                parameters += alike * _count(cell)
                activations += alike * width * side**2
                width = int(cell.out_channels)
        parameters += sum(map(_count, skeleton.head(width, channels, classes).values()))
    return SupernetSize(parameters, activations)


def _count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
