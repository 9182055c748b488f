"""The size of a supernet, counted without building it, because most cells of a stack have equal sizes."""

from itertools import pairwise
from typing import NamedTuple

import torch

from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernets.presets import Preset
from nasbench1shot1.supernets.skeletons import skeleton_class
from nasbench1shot1.supernets.supernet import cell_class


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
