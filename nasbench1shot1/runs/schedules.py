"""Learning-rate schedules that several kinds of run share."""

import math


def cosine(epoch: int, epochs: int, first: float, last: float) -> float:
    """Return the learning rate of an epoch, 1 … epochs: a cosine that would reach `last` in the epoch after the last.

    Source: NAS-Bench-1Shot1's published code, as DARTS (Liu et al. 2019).
    """
    progress = (epoch - 1) / epochs
    return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2
