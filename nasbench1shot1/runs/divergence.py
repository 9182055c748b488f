"""The detection of divergence in training loops, before it is recorded."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import DivergedError


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
