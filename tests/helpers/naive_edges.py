"""Plain implementation of the NAS-Bench-201 supernet: the oracle for the real one.

It takes the state_dict of the real supernet and computes the weighted sum of all operations with functional calls.
"""

import torch
from naive_supernet import State, Training, batch_norm
from torch import Tensor
from torch.nn import functional as F

Weights = Tensor
"""Weights of the operations of all edges, (6, 5), or (N, 6, 5) with a set for each image."""


def relu_conv_bn(state: State, name: str, x: Tensor, training: Training, stride: int = 1) -> Tensor:
    weight = state[f"{name}.conv.weight"]
    return batch_norm(state, f"{name}.bn", F.conv2d(F.relu(x), weight, None, stride, weight.shape[-1] // 2), training)


def average_pool(x: Tensor) -> Tensor:
    """Mean of the pixels inside the image, for each 3×3 window."""
    return F.avg_pool2d(x, 3, 1, 1) / F.avg_pool2d(torch.ones_like(x), 3, 1, 1)


def edge(state: State, name: str, x: Tensor, weights: Tensor, training: Training, partial: int) -> Tensor:
    """Σ w o(x); with k = `partial`, only on the first 1/k of the channels, followed by a channel shuffle."""
    width = x.shape[1] // partial
    seen, passed = x[:, :width], x[:, width:]
    outputs = [
        0 * seen,
        seen,
        relu_conv_bn(state, f"{name}.conv1x1", seen, training),
        relu_conv_bn(state, f"{name}.conv3x3", seen, training),
        average_pool(seen),
    ]
    mixed = sum(weights[..., o].reshape(-1, 1, 1, 1) * outputs[o] for o in range(5))
    joined = torch.cat([mixed, passed], dim=1)
    return torch.stack([joined[:, group * width + i] for i in range(width) for group in range(partial)], dim=1)


def cell(state: State, name: str, x: Tensor, weights: Weights, training: Training, partial: int) -> Tensor:
    nodes, e = [x], 0
    for target in range(1, 4):
        total = torch.zeros_like(x)
        for source in range(target):
            total = total + edge(state, f"{name}.edges.{e}", nodes[source], weights[..., e, :], training, partial)
            e += 1
        nodes.append(total)
    return nodes[3]


def residual_block(state: State, name: str, x: Tensor, training: Training) -> Tensor:
    shortcut = F.conv2d(F.avg_pool2d(x, 2), state[f"{name}.shortcut.weight"])
    first = relu_conv_bn(state, f"{name}.conv_a", x, training, stride=2)
    return shortcut + relu_conv_bn(state, f"{name}.conv_b", first, training)


def naive_forward(
    state: State, images: Tensor, weights: Weights | list[Weights], n_cells: int, training: Training, partial: int = 1
) -> Tensor:
    """Logits; a list of weights assigns one to each cell."""
    x = batch_norm(state, "stem.1", F.conv2d(images, state["stem.0.weight"], padding=1), training)
    for i in range(n_cells):
        if i > 0 and i in (n_cells // 3, 2 * n_cells // 3):
            x = residual_block(state, f"reductions.{i}", x, training)
        x = cell(state, f"cells.{i}", x, weights[i] if isinstance(weights, list) else weights, training, partial)
    x = F.relu(batch_norm(state, "last_bn", x, training)).mean(dim=(2, 3))
    return x @ state["classifier.weight"].T + state["classifier.bias"]
