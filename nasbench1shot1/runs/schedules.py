"""Learning-rate schedules of training loops."""

import math
from dataclasses import dataclass


def cosine(epoch: int, epochs: int, first: float, last: float) -> float:
    """Return the learning rate of an epoch, 1 … epochs, by a cosine schedule from `first` towards `last`.

    The schedule would reach `last` at epoch `epochs` + 1, as in the published code of NAS-Bench-1Shot1 and in DARTS
    (Liu et al. 2019).
    """
    progress = (epoch - 1) / epochs
    return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True)
class Cosine:
    """A learning rate that falls by a cosine.

    Attributes:
        length: number of epochs of the whole schedule, which reaches its minimum one epoch after the last.
        start: the epoch of the schedule, 1 … length, with which a phase begins.
    """

    length: int
    start: int = 1

    def rate(self, epoch: int, first: float, last: float) -> float:
        """Return the learning rate of a phase's epoch, 1, 2, …, between the highest and the lowest learning rate."""
        return cosine(self.start + epoch - 1, self.length, first, last)


@dataclass(frozen=True)
class Constant:
    """A learning rate that does not change: a share of the highest learning rate."""

    share: float = 1.0

    def rate(self, epoch: int, first: float, last: float) -> float:
        """Return the learning rate, as `Cosine.rate` does."""
        return self.share * first
