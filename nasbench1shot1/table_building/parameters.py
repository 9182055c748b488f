"""Exact numbers of trainable parameters of the networks that NAS-Bench-101 builds from cells."""

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.table_building.cell_arrays import N_INNER, OUTPUT, CellArrays, Integers

STEM_CHANNELS, N_CLASSES = 128, 10
STACK_CHANNELS = (128, 256, 512)
CELLS_PER_STACK = 3
KERNEL_AREA = np.array([9, 1, 0, 0])  # of conv3x3, conv1x1, maxpool3x3, no vertex


def vertex_channels(cells: CellArrays, out_channels: int) -> Integers:
    """Return the channels of each vertex by NAS-Bench-101's channel inference (its paper, section 2.1 and Figure 1).

    The vertices that feed the output share its channels; if the division leaves a remainder, the first of these
    vertices take one more each. Every other vertex is as wide as the widest vertex that it feeds.

    Returns:
        (N, 7) channels of the inner vertices and the output; 0 for the input and missing vertices.
    """
    feeds = cells.adjacency[:, 1:OUTPUT, OUTPUT]
    n_feeding = np.maximum(feeds.sum(axis=1), 1)
    share, remainder = out_channels // n_feeding, out_channels % n_feeding
    takes_one_more = np.cumsum(feeds, axis=1) <= remainder[:, None]
    channels = np.zeros((len(cells), OUTPUT + 1), np.int64)
    channels[:, 1:OUTPUT] = feeds * (share[:, None] + takes_one_more)
    for v in range(N_INNER, 0, -1):
        widest = (cells.adjacency[:, v, 1:OUTPUT] * channels[:, 1:OUTPUT]).max(axis=1)
        channels[:, v] = np.where(feeds[:, v - 1] > 0, channels[:, v], widest)
    channels[:, OUTPUT] = out_channels
    return channels


def cell_parameters(cells: CellArrays, in_channels: int, out_channels: int) -> Integers:
    """Return the parameters of one cell, (N,): its convolutions and the 1 × 1 projections of edges from the input."""
    channels = vertex_channels(cells, out_channels)
    inner = channels[:, 1:OUTPUT]
    convolutions = _convolution(KERNEL_AREA[cells.operations], inner, inner) * (cells.operations != 2)
    projections = _convolution(np.array(1), np.array(in_channels), channels) * cells.adjacency[:, 0]
    total: Integers = convolutions.sum(axis=1) + projections.sum(axis=1)
    return total


def trainable_parameters(cells: CellArrays) -> Integers:
    """Return the parameters of the whole network, (N,): stem, three stacks of three cells, dense layer."""
    last = STACK_CHANNELS[-1]
    total = np.full(len(cells), 9 * 3 * STEM_CHANNELS + 2 * STEM_CHANNELS + (last + 1) * N_CLASSES)
    before = STEM_CHANNELS
    for width in STACK_CHANNELS:
        total += cell_parameters(cells, before, width) + (CELLS_PER_STACK - 1) * cell_parameters(cells, width, width)
        before = width
    return total


def _convolution(area: Integers, before: Integers, after: Integers) -> NDArray[np.int64]:
    """Return the parameters of a convolution without bias, and of the scale and shift of its batch norm."""
    return area * before * after + 2 * after
