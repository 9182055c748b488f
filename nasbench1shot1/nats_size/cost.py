"""The cost of the size space's networks in closed form: trainable parameters and FLOPs.

Both equal the values in NATS-Bench's files: the published parameters of all 32,768 architectures on three data sets,
and the FLOPs of the official records. FLOPs are multiply-adds of convolutions and of the classifier with its bias,
without batch norm, ReLU and pooling (`xautodl/utils/flop_benchmark.py` in AutoDL-Projects).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nasbench1shot1.nasbench201.cost import checked_side
from nasbench1shot1.nats_size.architecture import N_LAYERS, checked_widths
from nasbench1shot1.networks import network_size

Count = Any
"""An integer, or an array of integers, one for each architecture."""


def parameter_count(widths: Sequence[int], classes: int = 10) -> int:
    """Return the trainable parameters of an architecture's network without building it.

    Raises InvalidInputError if the widths are not valid, or `classes` is not a whole number from 1 to a million.
    """
    return int(parameter_counts([checked_widths(widths)], classes)[0])


def flops(widths: Sequence[int], classes: int = 10, side: int = 32) -> int:
    """Return the FLOPs of an architecture's network for one image of `side` × `side` pixels.

    `side` is a multiple of 4, because the image is halved twice.

    Raises InvalidInputError like `parameter_count`, and if `side` is not a multiple of 4, up to 65,536.
    """
    return int(all_flops([checked_widths(widths)], classes, side)[0])


def parameter_counts(widths: ArrayLike, classes: int = 10) -> NDArray[np.int64]:
    """Return the trainable parameters of many architectures, (N,); `widths` (N, 5) are valid.

    Raises InvalidInputError if `classes` is not a whole number from 1 to a million.
    """
    classes = network_size("classes", classes)
    c0, c1, c2, c3, c4 = _layers(widths)
    stem, head = 27 * c0 + 2 * c0, 2 * c4 + classes * c4 + classes
    cells = _cell_parameters(c0, c0) + _cell_parameters(c1, c2) + _cell_parameters(c3, c4)
    return np.asarray(stem + cells + _reduction_parameters(c0, c1) + _reduction_parameters(c2, c3) + head)


def all_flops(widths: ArrayLike, classes: int = 10, side: int = 32) -> NDArray[np.int64]:
    """Return the FLOPs of many architectures, (N,); `widths` (N, 5) are valid.

    Raises InvalidInputError if `classes` is not a whole number from 1 to a million, or `side` is not a multiple of 4,
    up to 65,536.
    """
    classes, side = network_size("classes", classes), checked_side(side)
    c0, c1, c2, c3, c4 = _layers(widths)
    first = side**2 * (27 * c0 + _cell_flops(c0, c0))
    second = (side // 2) ** 2 * (_reduction_flops(c0, c1) + _cell_flops(c1, c2))
    third = (side // 4) ** 2 * (_reduction_flops(c2, c3) + _cell_flops(c3, c4))
    return np.asarray(first + second + third + classes * c4 + classes)


def _cell_parameters(before: Count, after: Count) -> Count:
    """Return the parameters of a cell: five 3×3 convolutions with batch norm, and one 1×1 if the widths differ."""
    projection = (before != after) * (before * after + 2 * after)
    return 18 * before * after + 27 * after**2 + 10 * after + projection


def _reduction_parameters(before: Count, after: Count) -> Count:
    """Return the parameters of a residual block: two 3×3 convolutions with batch norm, and the 1×1 of the shortcut."""
    return 10 * before * after + 9 * after**2 + 4 * after


def _cell_flops(before: Count, after: Count) -> Count:
    """Return the multiply-adds of a cell for each pixel."""
    return 18 * before * after + 27 * after**2 + (before != after) * before * after


def _reduction_flops(before: Count, after: Count) -> Count:
    """Return the multiply-adds of a residual block for each pixel of its output."""
    return 10 * before * after + 9 * after**2


def _layers(widths: ArrayLike) -> NDArray[np.int64]:
    """Return the widths by layer, (5, N), as integers that do not overflow."""
    return np.asarray(widths, np.int64).reshape(-1, N_LAYERS).T
