"""Operations that see more channels of a supernet from some epoch on."""

from typing import Any

import naive_edges
import naive_supernet
import pytest
import torch
from refusals import refuses
from small_supernets import images, random_mixing
from tiny_search import generator

import nasbench1shot1 as nb
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.widening import set_partial_channels

SPACES = ("s1", "s3", "nb201")


def trained(space: str) -> tuple[Supernet, torch.optim.SGD]:
    """Return a supernet in float64 with a quarter of 8 channels, after a step with momentum on every weight."""
    space = nb.search_space(space)
    net = Supernet(space, 8, 3, generator=generator(1), partial_channels=4).double()
    sgd = torch.optim.SGD(net.parameters(), 0.1, 0.9)
    mixing = {key: value.detach().double() for key, value in random_mixing(space, 2).items()}
    net(images().double(), mixing).square().sum().backward()
    sgd.step()
    return net, sgd


def copies(new: torch.Tensor, old: torch.Tensor) -> bool:
    """Return whether every slice of `new` along both axes is one of `old`, the first ones unchanged."""
    rows = [[bool(torch.equal(a, b)) for b in old] for a in new] if new.dim() == 1 else None
    if rows is not None:
        return torch.equal(new[: len(old)], old) and all(map(any, rows))
    first = torch.equal(new[: old.shape[0], : old.shape[1]], old)
    inputs = [new[: old.shape[0], i] for i in range(new.shape[1])]
    return first and all(any(torch.equal(x, old[:, j]) for j in range(old.shape[1])) for x in inputs)


@pytest.mark.parametrize("space", SPACES)
def test_wider_operations_are_copies_of_channels_with_their_statistics_and_momentum(space):
    net, sgd = trained(space)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    momenta = {name: sgd.state[weight]["momentum_buffer"].clone() for name, weight in net.named_parameters()}
    parameters = list(net.parameters())
    set_partial_channels(net, 2, generator(0), sgd)
    assert all(a is b for a, b in zip(net.parameters(), parameters, strict=True))
    fresh = Supernet(nb.search_space(space), 8, 3, partial_channels=2)
    after = net.state_dict()
    assert {n: v.shape for n, v in after.items()} == {n: v.shape for n, v in fresh.state_dict().items()}
    widened = {name for name, value in after.items() if value.shape != before[name].shape}
    assert widened
    assert all(torch.equal(after[name], before[name]) for name in set(after) - widened)
    weights = dict(net.named_parameters())
    for name in widened:
        assert copies(after[name], before[name]), name
        if name in weights:
            assert weights[name].grad is None
            momentum = sgd.state[weights[name]]["momentum_buffer"]
            assert momentum.shape == weights[name].shape
            assert copies(momentum, momenta[name])
    if space == "nb201":
        conv, bn = net.cells[0].edges[0].conv3x3.conv, net.cells[0].edges[0].conv3x3.bn
    else:
        conv, bn = net.cells[0].blocks[0].conv3x3.conv, net.cells[0].blocks[0].conv3x3.bn
    for i in range(2, 4):  # batch norm's channel is a copy of the channel that the convolution copies
        source = next(j for j in range(2) if torch.equal(conv.weight[i], conv.weight[j]))
        assert bn.running_mean[i] == bn.running_mean[source]


@pytest.mark.parametrize("space", SPACES)
def test_a_widened_supernet_agrees_with_the_naive_supernet(space):
    net, sgd = trained(space)
    set_partial_channels(net, 2, generator(0), sgd)
    mixing = {key: value.detach().double() for key, value in random_mixing(net.space, 2).items()}
    state, batch = net.state_dict(), images().double()
    if space == "nb201":
        wanted = naive_edges.naive_forward(state, batch, mixing["operations"], 3, True, partial=2)
    else:
        wanted, _ = naive_supernet.naive_forward(state, batch, mixing, 3, True, partial=2)
    torch.testing.assert_close(net.train()(batch, mixing), wanted, rtol=1e-10, atol=1e-10)
    sgd.zero_grad()
    net(batch, mixing).square().sum().backward()
    sgd.step()  # momentum has the shapes of the weights


def test_fewer_channels_are_the_first_ones():
    net, _ = trained("s1")
    before: dict[str, Any] = {name: value.clone() for name, value in net.state_dict().items()}
    set_partial_channels(net, 1, generator(0))
    set_partial_channels(net, 4)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert net.partial_channels == 4


def test_equal_generators_copy_equal_channels():
    first, second, third = (trained("s1")[0] for _ in range(3))
    for net, seed in ((first, 0), (second, 0), (third, 1)):
        set_partial_channels(net, 2, generator(seed))
    pairs = list(
        zip(first.state_dict().values(), second.state_dict().values(), third.state_dict().values(), strict=True)
    )
    assert all(torch.equal(a, b) for a, b, _ in pairs)
    assert not all(torch.equal(a, c) for a, _, c in pairs)


def test_shares_that_do_not_exist_are_refused():
    net, _ = trained("s1")
    with refuses(nb.InvalidInputError, "8 channels", "partial_channels=3"):
        set_partial_channels(net, 3)
    for unfit in (0, 2.0):
        with refuses(nb.InvalidInputError, "partial_channels", unfit):
            set_partial_channels(net, unfit)
    assert net.partial_channels == 4
    widths = Supernet(nb.search_space("nats-size"), 64, 3)
    with refuses(nb.InvalidInputError, "nats-size", "partial_channels=2"):
        set_partial_channels(widths, 2)
