"""The size of a supernet, counted without building it, because most cells of a stack have equal sizes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import torch

from nasbench1shot1.layers import ConvBNReLU
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.supernet import cell_class
from nasbench1shot1.supernets.presets import Preset


class SupernetSize(NamedTuple):
    """The size of a supernet.

    Attributes:
        parameters: trainable numbers.
        activations: numbers that a training step keeps for each image, at the least: what every cell is given. A step
            on a mixture of operations keeps several times as many.
    """

    parameters: int
    activations: int


class _Cells(NamedTuple):
    number: int
    in_channels: int
    channels: int
    side: int


def supernet_size(
    space: OneShotSpace,
    channels: int,
    cells: int,
    preset: Preset,
    classes: int = 10,
    partial_channels: int = 1,
    side: int = 32,
) -> SupernetSize:
    """Return the size of `Supernet` with these arguments, in a time that does not depend on the size.

    `side` is the height and width of an image in pixels.

    Raises InvalidInputError where the cell does: channels that cannot be divided by `partial_channels`.
    """
    parameters = sum(of.numel() for of in ConvBNReLU(3, 1, 3, 0.1).parameters()) * channels
    activations, width = 0, channels
    for alike in _alike(space, channels, cells, preset, partial_channels, side):
        cell = _cell(space, alike, preset, partial_channels)
        parameters += alike.number * sum(of.numel() for of in cell.parameters())
        activations += alike.number * alike.in_channels * alike.side**2
        width, channels = int(cell.out_channels), alike.channels  # type: ignore[arg-type]
    parameters += width * channels + channels * classes + classes
    return SupernetSize(parameters, activations)


def _alike(
    space: OneShotSpace, channels: int, cells: int, preset: Preset, partial_channels: int, side: int
) -> Iterator[_Cells]:
    """The first cell of every stack, and the others of it."""
    width = channels
    starts = sorted({0, cells // 3, 2 * cells // 3})
    for number, (start, end) in enumerate(pairwise([*starts, cells])):
        if number:
            channels, side = 2 * channels, side // 2
        first = _Cells(1, width, channels, side)
        width = int(_cell(space, first, preset, partial_channels).out_channels)  # type: ignore[arg-type]
        yield first
        if end - start > 1:
            yield _Cells(end - start - 1, width, channels, side)


def _cell(space: OneShotSpace, alike: _Cells, preset: Preset, partial_channels: int) -> torch.nn.Module:
    with torch.device("meta"):  # nothing is allocated
        cell: torch.nn.Module = cell_class(space)(space, alike.in_channels, alike.channels, preset, partial_channels)
    return cell
