"""The size of a supernet, counted without building it, because most cells of a stack have equal sizes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn

from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernet import cell_class
from nasbench1shot1.supernets.presets import Preset
from nasbench1shot1.supernets.skeletons import skeleton_class

IMAGE_SIDE = 32  # CIFAR-10's


class SupernetSize(NamedTuple):
    """The size of a supernet.

    Attributes:
        parameters: trainable numbers.
        activations: numbers that a training step keeps for each image, at the least: what every cell is given. A step
            on a mixture of operations keeps several times as many.
    """

    parameters: int
    activations: int


def supernet_size(
    space: OneShotSpace, channels: int, cells: int, preset: Preset, classes: int = 10, partial_channels: int = 1
) -> SupernetSize:
    """Return the size of `Supernet` with these arguments, in a time that does not depend on the size.

    Raises InvalidInputError where the cell does: channels that cannot be divided by `partial_channels`.
    """
    with torch.device("meta"):  # nothing is allocated
        parts = list(_parts(space, channels, cells, preset, classes, partial_channels))
    parameters = sum(number * sum(of.numel() for of in layers.parameters()) for number, layers, _ in parts)
    return SupernetSize(parameters, sum(number * given for number, _, given in parts))


def _parts(
    space: OneShotSpace, channels: int, cells: int, preset: Preset, classes: int, partial_channels: int
) -> Iterator[tuple[int, nn.Module, int]]:
    """Yield the number of equal parts of the network, one of them, and for a cell the numbers that it is given.

    In every stack, all cells but the first are equal.
    """
    skeleton, width, side = skeleton_class(space)(channels, cells, preset), channels, IMAGE_SIDE
    yield 1, skeleton.stem(), 0
    for stack, (start, end) in enumerate(pairwise([0, *skeleton.starts, cells])):
        if stack:
            channels, side = 2 * channels, side // 2
            yield 1, skeleton.reduction(width, channels), 0
            width = skeleton.reduced(width, channels)
        for number in (1, end - start - 1):
            if number:
                cell = cell_class(space)(space, width, channels, preset, partial_channels)
                yield number, cell, width * side**2
                width = cell.out_channels
    yield 1, nn.ModuleDict(skeleton.head(width, channels, classes)), 0
