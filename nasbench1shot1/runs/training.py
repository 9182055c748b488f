"""What all training loops share: the learning-rate schedule, and the detection of divergence before it is recorded."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import DivergedError


def cosine(epoch: int, epochs: int, first: float, last: float) -> float:
    """Return the learning rate of an epoch, 1 … epochs, by a cosine schedule from `first` towards `last`.

    The schedule would reach `last` at epoch `epochs` + 1, as in the published code of NAS-Bench-1Shot1 and in DARTS
    (Liu et al. 2019).
    """
    progress = (epoch - 1) / epochs
    return last + (first - last) * (1 + math.cos(math.pi * progress)) / 2


def checked_finite(value: float | Tensor, what: str, advice: str) -> float:
    """Return a value as a float; on a GPU, this synchronises with the device.

    Args:
        value: a number or a tensor of shape ().
        what: name of the value, for the message.
        advice: the place in the run, and what to do: "in epoch 3: search again with …".

    Raises:
        DivergedError: the value is infinite or NaN.
    """
    value = float(value)
    if not math.isfinite(value):
        raise _diverged(what, advice)
    return value


def check_finite(tensors: Iterable[Tensor], what: str, advice: str) -> None:
    """Raise DivergedError if one of several tensors on one device is infinite or NaN (see `checked_finite`)."""
    if not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
        raise _diverged(what, advice)


def check_network(net: nn.Module, advice: str) -> None:
    """Raise DivergedError if a parameter or buffer of a network is infinite or NaN."""
    check_finite([*net.parameters(), *net.buffers()], "a weight or a batch-norm statistic", advice)


def _diverged(what: str, advice: str) -> DivergedError:
    return DivergedError(f"{what} diverged (infinite or NaN) {advice}")
