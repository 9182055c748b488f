"""Plain implementation of the choice-block supernet: the oracle for the real one.

It takes the state_dict of the real supernet, uses loops and functional calls, and has a switch for every fault
of the published code (reference: original.md, part B2).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

State = dict[str, Tensor]
Mix = dict[str, Tensor]
Training = bool | int | str
"""Whether batch-norm normalises by the batch, and not by running statistics; a number: by its first so many images;
"in-cells": only in the cells."""


def conv_bn_relu(state: State, name: str, x: Tensor, training: Training) -> Tensor:
    weight = state[f"{name}.conv.weight"]
    x = F.conv2d(x, weight, padding=weight.shape[-1] // 2)
    return F.relu(batch_norm(state, f"{name}.bn", x, training))


def batch_norm(state: State, name: str, x: Tensor, training: Training) -> Tensor:
    mean, variance = state[f"{name}.running_mean"], state[f"{name}.running_var"]
    training = name.startswith("cells.") if training == "in-cells" else training
    if training:
        of = x if training is True else x[:training]
        mean, variance = of.mean(dim=(0, 2, 3)), of.var(dim=(0, 2, 3), unbiased=False)
    x = (x - mean[None, :, None, None]) / torch.sqrt(variance[None, :, None, None] + 1e-5)
    if f"{name}.weight" in state:
        x = x * state[f"{name}.weight"][None, :, None, None] + state[f"{name}.bias"][None, :, None, None]
    return x


def operations(state: State, name: str, x: Tensor, weights: Tensor, training: Training, partial: int) -> Tensor:
    """Mixed operation; with k = `partial`, only on the first 1/k of the channels, followed by a channel shuffle."""
    width = x.shape[1] // partial
    seen, passed = x[:, :width], x[:, width:]
    outputs = [
        conv_bn_relu(state, f"{name}.conv3x3", seen, training),
        conv_bn_relu(state, f"{name}.conv1x1", seen, training),
        F.max_pool2d(seen, 3, stride=1, padding=1),
    ]
    joined = torch.cat([sum(weights[o] * outputs[o] for o in range(3)), passed], dim=1)
    return torch.stack([joined[:, group * width + i] for i in range(width) for group in range(partial)], dim=1)


def cell(state: State, name: str, x: Tensor, mix: Mix, training: Training, partial: int) -> Tensor:
    nodes: list[Tensor] = []
    n_blocks = mix["operations"].shape[0]
    for block in range(1, n_blocks + 1):
        candidates = [conv_bn_relu(state, f"{name}.projections.{block - 1}", x, training), *nodes]
        edges = mix.get(f"input_edges/{block}", torch.ones(block))  # no choice: a plain sum
        summed = torch.zeros_like(candidates[0])
        for i in range(block):
            summed = summed + edges[i] * candidates[i]
        weights = mix["operations"][block - 1]
        nodes.append(operations(state, f"{name}.blocks.{block - 1}", summed, weights, training, partial))
    shortcut = conv_bn_relu(state, f"{name}.projections.{n_blocks}", x, training)
    gamma = mix["output_edges"]
    return gamma[0] * shortcut + torch.cat([gamma[j] * nodes[j - 1] for j in range(1, n_blocks + 1)], dim=1)


def naive_forward(
    state: State,
    images: Tensor,
    mix: Mix | list[Mix],
    n_cells: int,
    training: Training,
    padded: bool = False,
    partial: int = 1,
) -> tuple[Tensor, list[int]]:
    """Logits and the side of each cell's feature maps; a list of mixing weights assigns one to each cell."""
    sides = []
    x = conv_bn_relu(state, "stem", images, training)
    for i in range(n_cells):
        if i > 0 and i in (n_cells // 3, 2 * n_cells // 3):
            x = F.max_pool2d(x, 2, stride=2, padding=1 if padded else 0)
        sides.append(x.shape[-1])
        x = cell(state, f"cells.{i}", x, mix[i] if isinstance(mix, list) else mix, training, partial)
    x = batch_norm(state, "head_bn", F.conv2d(F.relu(x), state["head.weight"]), training)
    x = x.mean(dim=(2, 3))
    return x @ state["classifier.weight"].T + state["classifier.bias"], sides
