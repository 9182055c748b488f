"""Trainings that exceed memory are refused before building; an exact fit is accepted."""

from types import SimpleNamespace

import pytest

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.network import build_network
from nasbench1shot1.nasbench101.recipe import CellRecipe
from nasbench1shot1.nasbench101.training_options import TrainingConfig
from nasbench1shot1.runs import machine

CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


@pytest.mark.parametrize("option", ["stem_channels", "cells_per_stack"])
def test_a_size_of_a_million_is_refused_with_the_memory_estimate(tmp_path, option):
    with pytest.raises(nb.InvalidInputError, match=r"[\d,]+ GiB"):
        nb.train_cell(CELL, out=tmp_path / "run", scale="quick", device="cpu", threads=1, **{option: 10**6})
    assert list(tmp_path.iterdir()) == []


def test_the_memory_bound_is_what_every_network_needs(monkeypatch):
    config = TrainingConfig.from_options({"scale": "quick", "device": "cpu", "threads": 1, "batch_size": 8})
    cell = nb.Architecture.parse(CELL).cell
    net = build_network(cell, stem_channels=config.stem_channels, cells_per_stack=config.cells_per_stack)
    parameters = sum(parameter.numel() for parameter in net.parameters())
    needed = 16 * parameters + 4 * 8 * config.stem_channels * 32 * 32 * (1 + 1 / 2 + 1 / 4)
    images = SimpleNamespace(classes=10, side=32)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed)
    CellRecipe(cell, config).check_fits(images)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed - 1)
    with pytest.raises(nb.InvalidInputError, match="stem_channels="):
        CellRecipe(cell, config).check_fits(images)
