"""Stand-alone networks of NAS-Bench-201: closed-form cost, initial weights, bad input."""

from typing import Any

import numpy as np
import pytest
import torch
from naive_supernet import batch_norm
from refusals import refuses
from torch import nn
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.cost import edge_parameter_count, multiply_adds
from nasbench1shot1.nasbench201.network import build_edge_network
from nasbench1shot1.nasbench201.numbering import all_operations
from nasbench1shot1.supernets.supernet import Supernet

PAIRS = [(n3, n1) for n3 in range(7) for n1 in range(7 - n3)]
"""All 28 numbers of edges with 3×3 and 1×1 convolutions."""


def with_convolutions(n3: int, n1: int) -> nb.EdgeArchitecture:
    others = [1, 4, 0, 1, 4, 0][: 6 - n3 - n1]
    order = np.random.default_rng(10 * n3 + n1).permutation(6)
    return nb.EdgeArchitecture("nb201", np.array([3] * n3 + [2] * n1 + others)[order].tolist())


def parameters(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


@torch.no_grad()
def counted_multiply_adds(net: nn.Module, side: int) -> int:
    """FLOPs of convolutions and the classifier, counted by forward hooks."""
    counts: list[int] = []

    def count(layer: Any, _: Any, output: torch.Tensor) -> None:
        counts.append(output.numel() * layer.weight[0].numel())

    hooks = [layer.register_forward_hook(count) for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    net.eval()(torch.zeros(1, 3, side, side))
    for hook in hooks:
        hook.remove()
    return sum(counts)


@pytest.mark.parametrize(("n3", "n1"), PAIRS)
def test_the_published_network_has_the_counted_cost(n3: int, n1: int) -> None:
    arch = with_convolutions(n3, n1)
    net = build_edge_network(arch)
    assert parameters(net) == edge_parameter_count(arch.operations) == 73_306 + 243_040 * n3 + 28_000 * n1
    wanted = multiply_adds(arch.operations)
    assert counted_multiply_adds(net, 32) == wanted == 7_783_040 + 35_389_440 * n3 + 3_932_160 * n1
    assert counted_multiply_adds(net, 16) == multiply_adds(arch.operations, side=16)


def test_random_architectures_of_any_size_have_the_counted_cost() -> None:
    rng = np.random.default_rng(0)
    for number, operations in enumerate(all_operations()[rng.choice(15_625, 100, replace=False)].tolist()):
        channels, cells, classes = rng.integers((1, 1, 1), (33, 4, 121))  # integers of NumPy, as in a loop over sizes
        with torch.device("meta" if number % 5 else "cpu"):
            arch = nb.EdgeArchitecture("nb201", operations)
            net = build_edge_network(arch, channels=channels, cells_per_stage=cells, classes=classes)
        assert parameters(net) == edge_parameter_count(operations, channels, cells, classes)
        if number % 5 == 0:
            found = multiply_adds(operations, channels, cells, classes, side=np.int64(16))
            assert counted_multiply_adds(net, 16) == found and type(found) is int


def test_the_table_has_the_parameters_of_the_networks() -> None:
    table = nb.load_table("nb201")
    for row in (0, 6111, 9930, 15_624):
        arch = table.network(row)
        metrics = table.query(arch, dataset="cifar10-valid")
        assert metrics.trainable_parameters == edge_parameter_count(arch.operations)


def test_cells_agree_with_the_naive_implementation() -> None:
    """Written out edge by edge, with a dead-end edge and a convolution on a node without inputs."""
    arch = nb.EdgeArchitecture.parse(
        "|none~0|+|nor_conv_3x3~0|nor_conv_1x1~1|+|avg_pool_3x3~0|skip_connect~1|skip_connect~2|"
    )
    net = build_edge_network(arch, channels=4, cells_per_stage=1).double()
    generator = torch.Generator().manual_seed(0)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.bias.data.normal_(0, 1, generator=generator)
    x, state = torch.randn(5, 4, 8, 8, dtype=torch.float64, generator=generator), dict(net.state_dict())

    def convolution(edge: int, of: torch.Tensor, padding: int) -> torch.Tensor:
        name = f"cells.0.edges.{edge}"
        return batch_norm(
            state, f"{name}.bn", F.conv2d(F.relu(of), state[f"{name}.conv.weight"], padding=padding), True
        )

    node_2 = convolution(1, x, 1) + convolution(2, torch.zeros_like(x), 0)
    wanted = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False) + node_2
    torch.testing.assert_close(net.cells[0](x), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("operations", [(3, 3, 3, 1, 3, 3), (0, 1, 2, 4, 3, 0), (0, 0, 0, 0, 0, 0)])
@pytest.mark.parametrize("side", [32, 16])
def test_the_forward_pass_keeps_channels_last_and_differentiates(operations: tuple[int, ...], side: int) -> None:
    net, seen = build_edge_network(nb.EdgeArchitecture("nb201", operations), channels=4, cells_per_stage=2), []

    def look(_: nn.Module, given: tuple[torch.Tensor]) -> None:
        seen.append(given[0].is_contiguous(memory_format=torch.channels_last))

    for layer in net.modules():
        if isinstance(layer, nn.Conv2d | nn.BatchNorm2d):
            layer.register_forward_pre_hook(look)
    logits = net(torch.randn(2, 3, side, side).contiguous(memory_format=torch.channels_last))
    assert logits.shape == (2, 10)
    assert all(seen)
    logits.sum().backward()
    assert net.classifier.bias.grad.abs().sum() > 0


def test_initial_weights_follow_pytorch_and_the_generator() -> None:
    arch = nb.EdgeArchitecture("nb201", (3, 2, 3, 1, 3, 4))
    first, again, other = (
        build_edge_network(arch, channels=8, cells_per_stage=1, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    )
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.stem[0].weight, other.stem[0].weight)
    default = build_edge_network(arch, channels=8, cells_per_stage=1)
    assert torch.equal(default.stem[0].weight, first.stem[0].weight)
    for layer in first.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bound = layer.weight[0].numel() ** -0.5
            assert 0.9 * bound < layer.weight.abs().max() <= bound or layer.weight.numel() < 100


@pytest.mark.parametrize(
    ("given", "size", "sentence"),
    [
        ("|none~0|", {}, "nb201"),
        (nb.Architecture("s1", ((0,), (0,)), (0,)), {}, "nb201"),
        (with_convolutions(1, 1), {"channels": 0}, r"^channels\b.*least 1.*\b0\b"),
        (with_convolutions(1, 1), {"cells_per_stage": 2.5}, "cells_per_stage"),
        (with_convolutions(1, 1), {"classes": True}, r"^classes\b"),
        (with_convolutions(1, 1), {"classes": 10**20}, r"^classes\b.* 1,000,000\b"),
        (with_convolutions(1, 1), {"channels": 10**7}, rf"memory.*channels={10**7} and cells_per_stage=5\b"),
        (with_convolutions(1, 1), {"channels": 10**20}, rf"memory.*channels={10**20} and cells_per_stage=5\b"),
        (with_convolutions(1, 1), {"cells_per_stage": 10**9}, rf"memory.*channels=16 and cells_per_stage={10**9}\b"),
    ],
)
def test_bad_input_is_refused(given: Any, size: dict[str, Any], sentence: str) -> None:
    with pytest.raises(nb.InvalidInputError, match=sentence):
        build_edge_network(given, **size)


@pytest.mark.parametrize("count", [edge_parameter_count, multiply_adds])
@pytest.mark.parametrize("operations", [(3, 3, 3), (0, 0, 0, 0, 0, 5), (-1, 0, 0, 0, 0, 0), "333333"])
def test_costs_of_anything_but_an_architecture_are_refused(count: Any, operations: Any) -> None:
    with pytest.raises(nb.InvalidInputError):
        count(operations)


@pytest.mark.parametrize("side", [6, 30])
def test_images_that_a_network_cannot_halve_are_refused(side: int) -> None:
    """Pooling rounds an odd side down, and convolutions of stride 2 round it up; sides of 1 and 2 would broadcast."""
    arch, images = with_convolutions(1, 1), torch.zeros(2, 3, side, side)
    with refuses(nb.InvalidInputError, f"{side // 2} × {side // 2}", "multiples of 4"):
        build_edge_network(arch, channels=2, cells_per_stage=1)(images)
    with refuses(nb.InvalidInputError, f"{side // 2} × {side // 2}", "multiples of 4"):
        Supernet(nb.search_space("nb201"), 2, 3)(images, arch)


@pytest.mark.parametrize("side", [0, 2, 30, -4, np.int64(30), np.bool_(True)])
def test_an_image_that_cannot_be_halved_twice_is_refused(side: Any) -> None:
    with pytest.raises(nb.InvalidInputError, match=r"^side\b.*\b4\b"):
        multiply_adds((3,) * 6, side=side)
