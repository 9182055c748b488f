"""Changes of the channels that operations see with partial channels: another share of them, or random ones.

A larger share needs Net2Wider's random copies.

Source: Chen, Goodfellow and Shlens, Net2Net (ICLR 2016, section 2.2), as progressive DrNAS uses it (Chen et al., DrNAS,
ICLR 2021, section 3.3): copied channels are not divided by the number of their copies.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nasbench1shot1.ground.errors import option
from nasbench1shot1.networks import network_size
from nasbench1shot1.supernets.layers import check_partial
from nasbench1shot1.supernets.supernet import Supernet


def set_partial_channels(
    net: Supernet,
    partial_channels: int,
    generator: torch.Generator | None = None,
    optimizer: torch.optim.Optimizer | None = None,
) -> None:
    """Let the operations of a supernet see 1/k of the channels of a block from now on.

    More channels: the additional ones are copies of random channels, with their weights, their batch-norm statistics
    and their momentum. Fewer channels: the first ones remain. The supernet's parameters stay the same objects, so
    optimizers and compiled networks remain valid.

    Args:
        net: a supernet; unchanged if it has this share already.
        partial_channels: k.
        generator: on the CPU; draws the copied channels. None copies the first ones, for weights that are loaded later.
        optimizer: the SGD optimizer whose momentum is copied.

    Raises:
        InvalidInputError: k does not divide the channels, or the cells of the space cannot change their share.
    """
    partial_channels = network_size("partial_channels", partial_channels)
    if partial_channels == net.partial_channels:
        return
    net.space.check_cells("partial-channels", option("partial_channels", partial_channels))
    for mixture in net.mixtures:
        check_partial(mixture.channels, partial_channels)
    for mixture in net.mixtures:
        width = mixture.channels // partial_channels
        mixture.partial = partial_channels
        for layers in mixture.children():
            _set_width(layers, width, generator, optimizer)
    net.partial_channels = partial_channels


def draw_visible_channels(net: Supernet, generator: torch.Generator) -> None:
    """Let every mixture of operations see other random channels from now on, with partial channels (PC-DARTS).

    Args:
        net: a supernet.
        generator: on the CPU; draws the channels of each mixture.

    Raises InvalidInputError if the cells of the space cannot change the channels that operations see.
    """
    net.space.check_cells("partial-channels", option("channel_sampling", "random"))
    for mixture in net.mixtures:
        if mixture.partial > 1:
            drawn = torch.randperm(mixture.channels, generator=generator)[: mixture.channels // mixture.partial]
            mixture.visible = drawn.sort().values.to(net.classifier.weight.device)


def _set_width(
    layers: nn.Module, width: int, generator: torch.Generator | None, optimizer: torch.optim.Optimizer | None
) -> None:
    """Set the input and output channels of all convolutions of an operation, and of all batch-norms after them."""
    outputs = None
    for layer in layers.modules():
        if isinstance(layer, nn.Conv2d):
            inputs = _channels(layer.in_channels, width, generator)
            outputs = _channels(layer.out_channels, width, generator)
            layer.in_channels = layer.out_channels = width
            for tensor in _with_momentum(layer.weight, optimizer):
                _replace(tensor, tensor.detach()[outputs.to(tensor.device)][:, inputs.to(tensor.device)])
            layer.weight.grad = None
        elif isinstance(layer, nn.BatchNorm2d):
            assert outputs is not None  # it follows a convolution
            layer.num_features = width
            of_channels = [layer.running_mean, layer.running_var]
            for weight in (layer.weight, layer.bias):
                if weight is not None:
                    of_channels += _with_momentum(weight, optimizer)
                    weight.grad = None
            for vector in of_channels:
                if vector is not None:
                    _replace(vector, vector.detach()[outputs.to(vector.device)])


def _channels(before: int, after: int, generator: torch.Generator | None) -> Tensor:
    """Return, for each of `after` channels, which of `before` channels it copies."""
    if after <= before:
        return torch.arange(after)
    added = after - before
    drawn = torch.randint(before, (added,), generator=generator) if generator else torch.arange(added) % before
    return torch.cat([torch.arange(before), drawn])


def _with_momentum(weight: Tensor, optimizer: torch.optim.Optimizer | None) -> list[Tensor]:
    """Return a weight, and its momentum if it has one."""
    state: Any = optimizer.state.get(weight, {}) if optimizer else {}
    momentum = state.get("momentum_buffer")
    return [weight] if momentum is None else [weight, momentum]


def _replace(tensor: Tensor, values: Tensor) -> None:
    """Replace the values of a tensor by values of another shape, in the layout of convolutions."""
    layout = torch.channels_last if values.dim() == 4 else torch.contiguous_format
    fresh = torch.empty(values.shape, dtype=values.dtype, device=values.device, memory_format=layout)
    tensor.data = fresh.copy_(values)
