"""Batches of a single image, from which batch-norm may get one value per channel."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.supernets.layers import BatchNorm2d, normalised_by
from nasbench1shot1.supernets.supernet import Supernet, to_tensors


def has_single_image(images: int, batch_size: int) -> bool:
    """Return whether a batch has a single image if images are divided into batches, the last with the remainder."""
    return batch_size == 1 or images % batch_size == 1


def check_single_image(
    net: nn.Module, forward: Callable[[Tensor], object], side: int, batch_size: int, *others: str
) -> None:
    """Raise InvalidInputError if batch-norm in a network would get one value per channel from a single image.

    Args:
        net: the network; it is in training mode afterwards.
        forward: a function that passes images (N, 3, side, side) through the network.
        side: height and width of the images in pixels.
        batch_size: the value of this option, with which a batch has a single image.
        others: names of further options that decide how many images are in the last batch.
    """
    if _fewest_pixels(net, forward, side) > 1:
        return
    changes = " or ".join(map(option, ("batch_size", *others)))
    raise InvalidInputError(
        f"with {option('batch_size', batch_size)}, a training batch has a single image of {side} × {side} pixels, "
        f"which the network reduces to one pixel, too few for batch-norm: choose another {changes}, or larger images"
    )


def whole_pass(net: Supernet) -> Callable[[Tensor], Tensor]:
    """Return a function that passes images (N, 3, H, W) through all candidates of a supernet."""
    weights = to_tensors(net.space.one_hot(net.space.sample(np.random.default_rng(0))), net.classifier.weight.device)
    return lambda images: net.forward(images, weights)


@torch.no_grad()
def _fewest_pixels(net: nn.Module, forward: Callable[[Tensor], object], side: int) -> int:
    """Return the smallest number of values per channel that a batch-norm layer of a network gets from one image."""
    pixels, device = [2], next(net.parameters()).device

    def note(layer: BatchNorm2d, x: Tensor) -> Tensor:
        pixels.append(x[0, 0].numel())
        return x

    net.eval()  # layers of a user's own cell must not change their buffers
    with normalised_by(net, note):
        forward(torch.zeros(1, 3, side, side, device=device))
    net.train()
    return min(pixels)
