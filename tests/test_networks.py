"""`nb.build_network` accepts any form of architecture."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.network import CellNetwork
from nasbench1shot1.nasbench101.network import build_network as build_cell_network
from nasbench1shot1.nasbench201.network import EdgeNetwork

CELL = nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
EDGE = nb.Architecture.parse("|nor_conv_3x3~0|+|none~0|avg_pool_3x3~1|+|skip_connect~0|none~1|nor_conv_1x1~2|")


@pytest.mark.parametrize(
    "x", [CELL, CELL.cell, SimpleNamespace(matrix=CELL.cell.matrix.tolist(), ops=list(CELL.cell.ops))]
)
def test_cells_of_nasbench101_build_its_networks(x: Any) -> None:
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    found = nb.build_network(x, stem_channels=4, cells_per_stack=1, classes=7, generator=generators[0])
    wanted = build_cell_network(CELL, stem_channels=4, cells_per_stack=1, classes=7, generator=generators[1])
    assert type(found) is CellNetwork
    assert all(torch.equal(a, b) for a, b in zip(found.parameters(), wanted.parameters(), strict=True))


def test_architectures_of_nasbench201_build_its_networks() -> None:
    found = nb.build_network(EDGE, channels=4, cells_per_stage=2, classes=7, generator=torch.Generator().manual_seed(3))
    assert type(found) is EdgeNetwork
    assert found(torch.zeros(2, 3, 16, 16)).shape == (2, 7)
    assert sum(p.numel() for p in nb.build_network(EDGE).parameters()) == 73_306 + 243_040 + 28_000


class Own(nb.Architecture):
    """A third-party form whose network is a single layer."""

    benchmark = replace(EDGE.benchmark, network=f"{__name__}:own_network")

    def __init__(self, width: int) -> None:
        self.width = width


def own_network(x: Own, *, bias: bool = True) -> torch.nn.Module:
    return torch.nn.Linear(x.width, 1, bias)


def test_a_third_party_form_supplies_its_network() -> None:
    assert nb.build_network(Own(5), bias=False).weight.shape == (1, 5)
    with pytest.raises(nb.InvalidInputError, match="mean 'bias'"):
        nb.build_network(Own(5), bais=False)


@pytest.mark.parametrize(
    ("x", "options", "values"),
    [
        (CELL, {"stem_chanels": 4}, "'stem_channels'"),
        (CELL, {"channels": 4}, "'channels' batch_norm_momentum cells_per_stack"),
        (EDGE, {"stem_channels": 4}, "'stem_channels' cells_per_stage"),
        (EDGE, {"channels": 0}, "channels 1 0"),
        (str(EDGE), {}, "nb.Architecture.parse"),
        (nb.EdgeArchitecture, {}, "EdgeArchitecture"),
    ],
)
def test_bad_input_is_reported_in_one_sentence(x: Any, options: dict[str, Any], values: str) -> None:
    with refuses(nb.InvalidInputError, *values.split()):
        nb.build_network(x, **options)
