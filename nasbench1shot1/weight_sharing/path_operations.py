"""Computation of a choice-block cell along one path."""

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.supernets.choice_blocks import ChoiceBlockCell, MixedOperation
from nasbench1shot1.weight_sharing.path_layers import Maps, PathLayers, max_pool_3x3


def cell_output(cell: Any, path: CellArchitecture, key: Hashable, maps: Maps, layers: PathLayers) -> Maps:
    """Return the output of a cell along a path, as in `ChoiceBlockCell.forward`, but without channels that are zero.

    Args:
        cell: the cell.
        path: the architecture.
        key: the key under which batch-norm statistics are looked up, or stored after they are measured.
        maps: the cell's input.
        layers: object that computes layers.
    """
    assert isinstance(cell, ChoiceBlockCell)
    outputs: dict[int, Tensor] = {}
    projections: Any = cell.projections
    for node in path.live_blocks:
        inputs = [
            outputs[parent] if parent else layers.conv_bn_relu(projections[node - 1], key, maps)
            for parent in path.parents[node - 1]
        ]
        outputs[node] = block_output(cell.blocks[node - 1], path.operations[node - 1], key, total(inputs), layers)
    taken = path.parents[-1]
    if taken[0] > 0:
        x = torch.cat([outputs[node] for node in taken], dim=1) if taken[1:] else outputs[taken[0]]
        return Maps(x, channel_indices(cell, taken, x.device))
    x = layers.conv_bn_relu(projections[-1], key, maps)
    width = cell.out_channels // len(cell.blocks)
    for node in taken[1:]:
        x.narrow(1, (node - 1) * width, width).add_(outputs[node])
    return Maps(x)


def block_output(block: Any, operation: int, key: Hashable, x: Tensor, layers: PathLayers) -> Tensor:
    """Return the output of one operation of a block, (N, C, H, W)."""
    assert isinstance(block, MixedOperation)
    if operation == 2:
        return block.apply_to_visible(x, max_pool_3x3)
    layer = (block.conv3x3, block.conv1x1)[operation]
    return block.apply_to_visible(x, lambda seen: layers.conv_bn_relu(layer, key, Maps(seen)))


def total(inputs: Sequence[Tensor]) -> Tensor:
    """Return the sum of equally shaped tensors, added in order; a single tensor is returned unchanged."""
    first, *others = inputs
    if not others:
        return first
    summed = first + others[0]
    for other in others[1:]:
        summed.add_(other)
    return summed


def channel_indices(cell: ChoiceBlockCell, nodes: tuple[int, ...], device: torch.device) -> Tensor:
    """Return the positions of the channels of the given blocks in a cell's output, int64."""
    width = cell.out_channels // len(cell.blocks)
    return torch.cat([torch.arange((node - 1) * width, node * width, device=device) for node in nodes])
