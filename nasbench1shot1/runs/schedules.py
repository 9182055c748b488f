"""Learning-rate schedules shared by several kinds of runs."""

import math


def cosine(epoch: int, epochs: int, first: float, last: float) -> float:
    """Return the learning rate of an epoch, 1 … epochs, by a cosine schedule from `first` towards `last`.

    The schedule would reach `last` at epoch `epochs` + 1, as in the published code of NAS-Bench-1Shot1 and in DARTS
    (Liu et al. 2019).
    """
    progress = (epoch - 1) / epochs
    return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2
