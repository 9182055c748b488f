"""A training that diverged: told in a sentence, before what it left is recorded as a result."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from nasbench1shot1.errors import UserError


def finite(value: float | Tensor, what: str, advice: str) -> float:
    """The value as a number; on a GPU this waits for it.

    Args:
        value: a number or a tensor ().
        what: its name, for the sentence.
        advice: where this happened, and what to do: "in epoch 3: search again with …".

    Raises:
        UserError: it is infinite or no number.
    """
    value = float(value)
    if not math.isfinite(value):
        raise _diverged(what, advice)
    return value


def check_finite(tensors: Iterable[Tensor], what: str, advice: str) -> None:
    """Raise UserError if one of some tensors, all on one device, is infinite or no number; the rest as in `finite`."""
    if not torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all():
        raise _diverged(what, advice)


def check_network(net: nn.Module, advice: str) -> None:
    """The same for a network's parameters and buffers."""
    check_finite([*net.parameters(), *net.buffers()], "a weight or a batch-norm statistic", advice)


def _diverged(what: str, advice: str) -> UserError:
    return UserError(f"{what} is no longer a number {advice}")
