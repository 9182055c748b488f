"""Stand-alone networks of the size space: closed-form cost, and a plain forward pass from the published definition."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nats_size.architecture import CELL
from nasbench1shot1.nats_size.cost import flops, parameter_count
from nasbench1shot1.nats_size.numbering import widths_of

SPACE = nb.search_space("nats-size")


def parameters(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


@torch.no_grad()
def counted_flops(net: nn.Module, side: int) -> int:
    """Multiply-adds of convolutions and of the classifier with its bias, counted by forward hooks."""
    counts: list[int] = []

    def count(layer: Any, _: Any, output: torch.Tensor) -> None:
        bias = output.numel() if layer.bias is not None else 0
        counts.append(output.numel() * layer.weight[0].numel() + bias)

    hooks = [layer.register_forward_hook(count) for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    net.eval()(torch.zeros(1, 3, side, side))
    for hook in hooks:
        hook.remove()
    return sum(counts)


def test_the_cell_is_the_published_one() -> None:
    assert nb.search_space("nb201").index(CELL) == 9930


def test_networks_have_the_calculated_cost() -> None:
    rng = np.random.default_rng(0)
    for number, index in enumerate([0, 11, 284, 32_767, *rng.integers(32_768, size=40).tolist()]):
        classes = (10, 100, 120)[number % 3]
        with torch.device("meta" if number % 4 else "cpu"):
            net = nb.build_network(SPACE[index], classes=np.int64(classes))
        assert parameters(net) == parameter_count(widths_of(index), classes)
        if number % 4 == 0:
            assert counted_flops(net, 16) == flops(widths_of(index), classes, side=16)


@pytest.mark.parametrize("text", ["16:16:16:16:16", "24:8:16:40:8"])
def test_the_forward_pass_follows_the_published_definition(text: str) -> None:
    """size_space.md, section 1.2, written out with plain functions on the weights of the network."""
    arch = nb.WidthArchitecture.parse(text)
    net = nb.build_network(arch, classes=7, generator=torch.Generator().manual_seed(1)).double().train()
    images = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = net(images)
    weights = net.state_dict()

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.batch_norm(x, None, None, weights[f"{name}.weight"], weights[f"{name}.bias"], training=True)

    def block(x: torch.Tensor, name: str, stride: int = 1) -> torch.Tensor:
        return norm(F.conv2d(F.relu(x), weights[f"{name}.conv.weight"], stride=stride, padding=1), f"{name}.bn")

    def cell(x: torch.Tensor, name: str, changes: bool) -> torch.Tensor:
        first = block(x, f"{name}.edges.0")
        second = block(x, f"{name}.edges.1") + block(first, f"{name}.edges.2")
        skip = norm(F.conv2d(x, weights[f"{name}.edges.3.0.weight"]), f"{name}.edges.3.1") if changes else x
        return skip + block(first, f"{name}.edges.4") + block(second, f"{name}.edges.5")

    def reduction(x: torch.Tensor, name: str) -> torch.Tensor:
        shortcut = F.conv2d(F.avg_pool2d(x, 2), weights[f"{name}.shortcut.weight"])
        return shortcut + block(block(x, f"{name}.conv_a", stride=2), f"{name}.conv_b")

    _, c1, c2, c3, c4 = arch.widths
    x = norm(F.conv2d(images, weights["stem.0.weight"], padding=1), "stem.1")
    x = reduction(cell(x, "cells.0", changes=False), "cells.1")
    x = reduction(cell(x, "cells.2", changes=c1 != c2), "cells.3")
    x = F.relu(norm(cell(x, "cells.4", changes=c3 != c4), "last_bn")).mean(dim=(2, 3))
    expected = F.linear(x, weights["classifier.weight"], weights["classifier.bias"])
    assert [tuple(weights[f"cells.{i}.edges.0.conv.weight"].shape[:2]) for i in (2, 4)] == [(c2, c1), (c4, c3)]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_the_table_has_the_parameters_of_the_networks() -> None:
    table = nb.load_table("nats-size")
    for row in (0, 284, 32_767):
        for dataset, classes in (("cifar10", 10), ("ImageNet16-120", 120)):
            net = nb.build_network(table.network(row), classes=classes)
            assert parameters(net) == table.query(row, dataset=dataset).trainable_parameters


def test_equal_seeds_give_equal_weights() -> None:
    one, two = (nb.build_network(SPACE[0], generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_invalid_arguments_are_refused() -> None:
    from nasbench1shot1.nats_size.network import build_width_network

    with pytest.raises(nb.InvalidInputError, match=r"nats-size"):
        build_width_network(nb.search_space("nb201")[0])  # type: ignore[arg-type]
    with pytest.raises(nb.InvalidInputError, match=r"classes.*\b0\b"):
        nb.build_network(SPACE[0], classes=0)
    with pytest.raises(nb.InvalidInputError, match=r"channels"):
        nb.build_network(SPACE[0], channels=8)
