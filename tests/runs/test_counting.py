"""FLOPs and memory of passes, against closed forms that do not run anything."""

import pytest
import torch
from closed_forms import choice_block_multiply_adds
from torch import nn
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.cost import multiply_adds
from nasbench1shot1.runs.counting import OperationCounter, count_flops
from nasbench1shot1.runs.work import Flops, Work
from nasbench1shot1.supernets.supernet import Supernet, to_tensors

CHANNELS, CELLS, IMAGES = 4, 3, 2


def trained(net: nn.Module, *inputs: object) -> OperationCounter:
    """Count a forward and a backward pass of two images."""
    images = torch.zeros(IMAGES, 3, 32, 32)
    with OperationCounter() as counter:
        F.cross_entropy(net(images, *inputs), torch.zeros(IMAGES, dtype=torch.int64)).backward()
    return counter


@pytest.mark.parametrize("name", ["s1", "s3"])
def test_a_mixture_of_choice_blocks_has_the_flops_of_all_parts(name: str) -> None:
    space = nb.search_space(name)
    net = Supernet(space, CHANNELS, CELLS)
    mixing = {key: torch.ones(shape) for key, shape in space.mixing_shapes().items()}
    counter = trained(net, mixing)
    wanted = 2 * choice_block_multiply_adds(space, CHANNELS, CELLS) * IMAGES
    assert counter.forward == wanted
    stem = 2 * 27 * CHANNELS * 32**2 * IMAGES  # the gradient of the images is not computed
    assert counter.backward == 2 * wanted - stem


@pytest.mark.parametrize("number", [0, 4711, 10_192])
def test_a_network_of_nasbench201_has_the_flops_of_the_official_files(number: int) -> None:
    arch = nb.search_space("nb201")[number]
    net = nb.build_network(arch, channels=8, cells_per_stage=1)
    assert trained(net).forward == 2 * IMAGES * multiply_adds(arch.operations, channels=8, cells_per_stage=1)


def test_an_architecture_of_a_supernet_has_fewer_flops_than_the_mixture() -> None:
    space = nb.search_space("nb201")
    net = Supernet(space, CHANNELS, CELLS)
    alone = count_flops(lambda: net(torch.zeros(IMAGES, 3, 32, 32), space[10_192]))
    mixed = count_flops(lambda: net(torch.zeros(IMAGES, 3, 32, 32), to_tensors(space.one_hot(space[10_192]))))
    assert 0 < alone.forward < mixed.forward and alone.backward == 0
    sizes = {"channels": CHANNELS, "cells_per_stage": CELLS // 3}
    assert alone.forward == 2 * IMAGES * multiply_adds(space[10_192].operations, **sizes)


def test_inference_counts_layers_that_autograd_divides() -> None:
    layers = nn.Sequential(nn.Conv2d(3, 5, 3, bias=False), nn.Flatten(), nn.Linear(5 * 6 * 6, 7))
    images = torch.zeros(IMAGES, 3, 8, 8)
    with torch.inference_mode():
        found = count_flops(lambda: layers(images))
    assert found == Flops(2 * IMAGES * (27 * 5 * 36 + 5 * 36 * 7), 0)


def test_the_peak_includes_what_backpropagation_keeps_and_nothing_that_was_freed() -> None:
    x, weight = torch.ones(1000), torch.ones(1000, requires_grad=True)
    with OperationCounter() as counter:
        for _ in range(3):
            kept = (x * weight).exp()  # exp keeps its result; the product is freed
        del kept
    assert counter.peak == 3 * 4000  # the last result, and the next product with its exponential
    with OperationCounter() as counter:
        x.mul_(2).view(10, 100).t()  # in place, and views
    assert counter.peak == 0


def test_flops_do_not_depend_on_whether_memory_is_watched() -> None:
    layers = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(), nn.Linear(5 * 6 * 6, 7))
    found = []
    for watches_memory in (True, False):
        with OperationCounter(watches_memory) as counter:
            layers(torch.zeros(IMAGES, 3, 8, 8)).sum().backward()
        found.append(counter)
    watching, not_watching = found
    assert watching.flops == not_watching.flops and watching.flops.backward > 0
    assert watching.peak > 0 == not_watching.peak


def test_work_adds_up() -> None:
    one = Work(10, Flops(2.0, 4.0), 6.0, 100, 5.0, 7.0, 1.0)
    both = one.repeated(3).followed_by(Work(1, Flops(1.0, 1.0), 0.0, 0, 9.0, 2.0, 4.0))
    assert both == Work(31, Flops(7.0, 13.0), 18.0, 300, 9.0, 7.0, 7.0)
    assert both.flops.total == 20
