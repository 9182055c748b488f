"""The size of a supernet, computed without building it, compared with built supernets."""

import pytest
import torch
from edge_space import EdgeSpace
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.memory import supernet_size
from nasbench1shot1.supernets.presets import PRESETS


@pytest.mark.parametrize("space", [*map(nb.search_space, ("s1", "s2", "s3")), EdgeSpace()], ids=lambda s: s.name)
@pytest.mark.parametrize("cells", [1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize(("channels", "partial"), [(1, 1), (4, 1), (4, 2)])
def test_parameter_and_input_counts_agree_with_built_cells(space, cells, channels, partial):
    preset = PRESETS["corrected"]
    net = nb.Supernet(space, channels, cells, preset, classes=7, partial_channels=partial)
    given = []
    for cell in net.cells:
        cell.register_forward_pre_hook(lambda cell, inputs: given.append(inputs[0].numel()))
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, 32, 32), space[0])
    size = supernet_size(space, channels, cells, preset, 7, partial)
    assert size == (sum(parameter.numel() for parameter in net.parameters()), sum(given))


def test_even_a_single_path_step_needs_the_counted_memory():
    net, kept = nb.Supernet(nb.search_space("s3"), 4, 9), {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = net(torch.randn(5, 3, 32, 32), net.space[0])
        nn.functional.cross_entropy(logits, torch.zeros(5, dtype=torch.int64))
    assert sum(kept.values()) > 4 * 5 * supernet_size(net.space, 4, 9, PRESETS["corrected"]).activations


@pytest.mark.parametrize("space", [nb.search_space("s1"), EdgeSpace()], ids=lambda s: s.name)
def test_a_million_cells_are_counted_at_once(space):
    preset = PRESETS["corrected"]
    few, more, most = (supernet_size(space, 2, 3 * n, preset).parameters for n in (2, 3, 333_333))
    assert most - few == (333_333 - 2) * (more - few)
