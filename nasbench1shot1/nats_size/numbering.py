"""The official indices of the size space: the numbers in base 8 whose digits are the positions of the widths.

The first width changes slowest (`traverse_net` in exps/NATS-Bench/main-sss.py of AutoDL-Projects): index 0 is
8:8:8:8:8, index 1 is 8:8:8:8:16, and index 32767 is 64:64:64:64:64.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.nats_size.architecture import N_LAYERS, N_WIDTHS, WIDTHS, checked_widths

N_ARCHITECTURES: int = N_WIDTHS**N_LAYERS
"""Number of architectures: 32,768."""

_POSITION = {width: position for position, width in enumerate(WIDTHS)}


@cache
def all_widths() -> NDArray[np.uint8]:
    """Return the widths of every architecture by official index, (32768, 5), read-only."""
    digits = np.unravel_index(np.arange(N_ARCHITECTURES), (N_WIDTHS,) * N_LAYERS)
    widths = np.array(WIDTHS, np.uint8)[np.stack(digits, axis=1)]
    widths.flags.writeable = False
    return widths


def index_of(widths: Iterable[int]) -> int:
    """Return the official index of five widths; raises InvalidInputError like `checked_widths`."""
    return index_of_valid(checked_widths(widths))


def index_of_valid(widths: tuple[int, ...]) -> int:
    """Return the official index of widths that are already checked, such as a `WidthArchitecture`'s."""
    index = 0
    for width in widths:
        index = index * N_WIDTHS + _POSITION[width]
    return index


def widths_of(index: int) -> tuple[int, ...]:
    """Return the widths of an architecture, given its official index, 0 to 32,767."""
    return tuple(WIDTHS[index // N_WIDTHS**power % N_WIDTHS] for power in reversed(range(N_LAYERS)))
