"""The supernet of NAS-Bench-201, compared with a naive reference and with stand-alone networks."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from edge_space import AFFINE_EDGE_CELL, EDGE_CELL, EdgeSpace
from naive_edges import naive_forward
from small_supernets import images, random_mixing, small
from torch import Tensor, nn

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.network import EdgeNetwork, build_edge_network
from nasbench1shot1.nasbench201.supernet import live_edges
from nasbench1shot1.supernets.layers import BatchNorm2d

KINDS = (EDGE_CELL, AFFINE_EDGE_CELL)
PATHS = {
    "the best": (3, 3, 2, 1, 3, 4),
    "all none": (0, 0, 0, 0, 0, 0),
    "node 2 does not reach the output": (3, 3, 3, 3, 1, 0),
    "node 1 has no inputs": (0, 3, 3, 1, 2, 4),
    "no node has inputs": (0, 0, 2, 0, 3, 2),
    "only pooling and skips": (1, 4, 1, 0, 4, 1),
}
"""Operations of the edges 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2: 0 is none, 1 skip, 2 and 3 are convolutions, 4 pools."""


def edges(kind: str = KINDS[0], partial: int = 1, channels: int = 4) -> nb.Supernet:
    net = small(EdgeSpace(kind), channels=channels, partial=partial)
    generator = torch.Generator().manual_seed(1)
    for layer in net.modules():  # so that a missing shift is detected
        if isinstance(layer, nn.BatchNorm2d) and layer.affine:
            layer.weight.data.uniform_(0.5, 1.5, generator=generator)
            layer.bias.data.normal_(0, 0.3, generator=generator)
    return net.double()


def arch(operations: tuple[int, ...]) -> nb.EdgeArchitecture:
    return nb.EdgeArchitecture("nb201", operations)


def weights_of(net: nb.Supernet, batch: int | None = None, seed: int = 1) -> Tensor:
    return random_mixing(net.space, seed, batch)["operations"].detach().double().requires_grad_()


def masked(weights: Tensor, operations: tuple[int, ...]) -> Tensor:
    """Weights of one operation per edge, zeros elsewhere."""
    return weights * torch.eye(5, dtype=weights.dtype)[list(operations)]


def assert_naive(
    net: nb.Supernet,
    found: Callable[[Tensor], Tensor],
    effective: Callable[[Tensor], Any],
    weights: Tensor,
    partial: int = 1,
    n: int = 4,
) -> None:
    """Assert equal logits and gradients with respect to all parameters and mixing weights."""
    x = images(n)[..., :16, :16].double().contiguous(memory_format=torch.channels_last)
    state = {name: value.detach().clone() for name, value in net.state_dict().items()}
    names = [name for name, _ in net.named_parameters()]
    for name in names:
        state[name].requires_grad_()
    wanted = naive_forward(state, x, effective(weights), 3, net.training, partial)
    of_logits = torch.randn(wanted.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    unused = {"allow_unused": True, "materialize_grads": True}
    naive = torch.autograd.grad((wanted * of_logits).sum(), [*(state[name] for name in names), weights], **unused)
    logits = found(x)
    real = torch.autograd.grad((logits * of_logits).sum(), [*net.parameters(), weights], **unused)
    torch.testing.assert_close(logits, wanted, rtol=1e-9, atol=1e-10)
    for name, a, b in zip([*names, "mixing weights"], real, naive, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("partial", "batch"), [(1, None), (1, 4), (2, None), (2, 4)])
def test_mixtures_agree_with_the_naive_supernet(kind: str, training: bool, partial: int, batch: int | None) -> None:
    net = edges(kind, partial).train(training)
    assert_naive(net, lambda x: net(x, {"operations": w}), lambda w: w, w := weights_of(net, batch), partial)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("partial", [1, 2])
def test_cells_take_turns_with_mixing_weights(training: bool, partial: int) -> None:
    net = edges(partial=partial).train(training)
    assert_naive(
        net,
        lambda x: net(x, [{"operations": w}, {"operations": 2 * w}, {"operations": w**2}]),
        lambda w: [w, 2 * w, w**2],
        w := weights_of(net),
        partial,
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operations", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("partial", [1, 2])
def test_sampled_operations_and_paths_agree_with_the_naive_supernet(
    operations: tuple[int, ...], partial: int, kind: str, training: bool
) -> None:
    net, one = edges(kind, partial).train(training), torch.eye(5, dtype=torch.float64)[list(operations)]
    w = weights_of(net)
    for found in (
        lambda x: net(x, {"operations": w}, operations=operations),
        lambda x: net(x, {"operations": w}, path=arch(operations)),
    ):
        assert_naive(net, found, lambda w: masked(w, operations), w, partial)
    assert_naive(net, lambda x: net(x, arch(operations)), lambda w: one + 0 * w, w, partial)


@pytest.mark.parametrize("training", [True, False])
def test_sampled_operations_with_weights_for_each_image(training: bool) -> None:
    net, operations = edges().train(training), (3, 0, 2, 1, 4, 3)
    assert_naive(
        net,
        lambda x: net(x, {"operations": w}, operations=operations),
        lambda w: masked(w, operations),
        w := weights_of(net, batch=4),
    )


@pytest.mark.parametrize("operations", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("training", [True, False])
def test_a_discrete_architecture_computes_its_stand_alone_network(operations: tuple[int, ...], training: bool) -> None:
    net = edges(AFFINE_EDGE_CELL).train(training)
    alone = build_edge_network(arch(operations), channels=4, cells_per_stage=1).double().train(training)
    alone.load_state_dict(stand_alone_state(net, alone))
    x = images().double()
    wanted = alone(x)
    torch.testing.assert_close(net(x, arch(operations)), wanted, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(net(x, net.discrete_mixing(arch(operations))), wanted, rtol=1e-10, atol=1e-12)


def stand_alone_state(net: nb.Supernet, alone: EdgeNetwork) -> dict[str, Tensor]:
    """The state of a network with the layers of the supernet."""
    places = {"0": "cells.0", "1": "reductions.1", "2": "cells.1", "3": "reductions.2", "4": "cells.2"}
    kernels = {2: "conv1x1", 3: "conv3x3"}
    state, shared = {}, net.state_dict()
    for name in alone.state_dict():
        first, place, *rest = name.split(".")
        if first == "cells":
            there = [places[place], *rest]
            if rest[0] == "edges":
                there.insert(3, kernels[alone.architecture.operations[int(rest[1])]])
            state[name] = shared[".".join(there)]
        else:
            state[name] = shared[name]
    return state


def test_a_batch_of_architectures_equals_separate_passes() -> None:
    net, x = edges().eval(), images(len(PATHS)).double()
    architectures = [arch(operations) for operations in PATHS.values()]
    together = net(x, net.discrete_mixing(architectures))
    for i, one in enumerate(architectures):
        torch.testing.assert_close(together[i : i + 1], net(x[i : i + 1], one), rtol=1e-9, atol=1e-10)


def test_operations_that_are_not_sampled_get_no_gradient() -> None:
    net, operations = edges(), (3, 0, 2, 1, 4, 3)
    net(images().double(), {"operations": weights_of(net)}, operations=operations).sum().backward()
    for e, operation in enumerate(operations):
        for o, name in ((2, "conv1x1"), (3, "conv3x3")):
            gradient = getattr(net.cells[0].edges[e], name).conv.weight.grad
            assert (gradient is not None) == (o == operation), (e, name)


def test_a_path_computes_only_what_reaches_the_output() -> None:
    assert live_edges((3, 3, 3, 1, 3, 3)) == {0, 1, 2, 3, 4, 5}
    assert live_edges((0, 0, 0, 0, 0, 0)) == set()
    assert live_edges((3, 3, 3, 3, 1, 0)) == {0, 3, 4}
    assert live_edges((0, 3, 3, 1, 2, 4)) == {1, 2, 3, 4, 5}
    net, computed = edges(), []
    for e, edge in enumerate(net.cells[0].edges):
        edge.register_forward_pre_hook(lambda *_, e=e: computed.append(e))
    net(images().double(), arch((3, 3, 3, 3, 1, 0)))
    assert computed == [0, 3, 4]


def test_only_affine_cells_learn_scale_and_shift() -> None:
    for kind in KINDS:
        net = edges(kind)
        norms = [layer for layer in net.cells.modules() if isinstance(layer, BatchNorm2d)]
        assert len(norms) == 3 * 6 * 2
        assert all(layer.affine == (kind == KINDS[1]) for layer in norms)
        others = {*net.modules()} - {*net.cells.modules()}
        assert all(layer.affine for layer in others if isinstance(layer, BatchNorm2d))


@pytest.mark.parametrize(("kind", "count"), [(KINDS[0], 1_686_106), (KINDS[1], 1_699_546)])
def test_the_published_supernet_has_the_expected_parameter_count(kind: str, count: int) -> None:
    """73,306 outside the cells, 28,000 + 243,040 for each edge, of which 2,240 are scales and shifts."""
    with torch.device("meta"):
        net = nb.Supernet(EdgeSpace(kind), channels=16, cells=15)
    assert sum(p.numel() for p in net.parameters()) == count


@pytest.mark.parametrize("partial", [1, 2])
def test_feature_maps_stay_in_channels_last(partial: int) -> None:
    net, seen = edges(partial=partial), []

    def look(_: nn.Module, given: tuple[Tensor]) -> None:
        seen.append(given[0].is_contiguous(memory_format=torch.channels_last))

    for layer in net.modules():
        if isinstance(layer, nn.Conv2d | nn.BatchNorm2d):
            layer.register_forward_pre_hook(look)
    x = images().double().contiguous(memory_format=torch.channels_last)
    net(x, {"operations": weights_of(net)})
    net(x, arch(PATHS["the best"]))
    assert len(seen) > 100
    assert all(seen)


def test_running_statistics_have_momentum_one_tenth() -> None:
    net = edges()
    before, x = net.stem[1].running_mean.clone(), images().double()
    net(x, {"operations": weights_of(net)})
    mean = nn.functional.conv2d(x, net.stem[0].weight, padding=1).mean(dim=(0, 2, 3))
    torch.testing.assert_close(net.stem[1].running_mean, 0.9 * before + 0.1 * mean)


@pytest.mark.parametrize(
    ("operations", "sentence"),
    [((1, 2, 3), "6 numbers.*0 to 4"), ((5, 0, 0, 0, 0, 0), "0 to 4"), (3, "operations=3")],
)
def test_sampled_operations_of_the_wrong_form_are_refused(operations: Any, sentence: str) -> None:
    net = edges()
    with pytest.raises(nb.InvalidInputError, match=sentence):
        net(images().double(), {"operations": weights_of(net)}, operations=operations)


def test_channels_that_cannot_be_divided_are_refused() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"6 channels.*partial_channels=4"):
        nb.Supernet(EdgeSpace(), channels=6, cells=3, partial_channels=4)

    class InStacks(EdgeSpace):
        skeleton = "nasbench1shot1.nasbench101.supernet:CellStacks"

    with pytest.raises(nb.InvalidInputError, match="NAS-Bench-201"):
        nb.Supernet(InStacks(), channels=4, cells=3)
