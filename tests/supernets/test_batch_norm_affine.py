"""The switch `batch_norm_affine`: all batch-norms of a supernet learn a scale and a shift, or none of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.supernets.presets import PRESETS
from nasbench1shot1.supernets.supernet import Supernet

SIZES = {"s1": (4, 3), "s3": (4, 3), "nb201": (4, 3), "nats-size": (64, 3)}
"""Channels and cells of the smallest supernets."""
LEARNED = {"s1": (True, False), "s3": (True, False), "nb201": (True, False), "nats-size": (False,)}
"""The flags that occur by default."""


def made(space: str, affine: bool | None, preset: str = "corrected") -> Supernet:
    channels, cells = SIZES[space]
    own = replace(PRESETS[preset], batch_norm_affine=affine)
    generator = torch.Generator().manual_seed(0)
    return Supernet(nb.search_space(space), channels, cells, own, generator=generator)  # type: ignore[arg-type]


def norms(net: nn.Module) -> list[nn.BatchNorm2d]:
    return [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]


@pytest.mark.parametrize("space", SIZES)
def test_the_switch_holds_for_every_batch_norm_and_changes_no_other_weight(space: str) -> None:
    usual = made(space, None)
    assert {layer.affine for layer in norms(usual)} == set(LEARNED[space])
    others = {name: of for name, of in usual.state_dict().items() if of.ndim > 1 or name.startswith("classifier")}
    images = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    arch = usual.space.sample(np.random.default_rng(0))
    for affine in (True, False):
        net = made(space, affine)
        assert {layer.affine for layer in norms(net)} == {affine}
        assert {layer.weight is not None and layer.bias is not None for layer in norms(net)} == {affine}
        assert all(torch.equal(net.state_dict()[name], of) for name, of in others.items())
        assert torch.equal(net(images, arch), usual(images, arch)), "scales begin at 1, shifts at 0"
        mixing = net.discrete_mixing(arch)
        net(images, mixing).square().sum().backward()
        learned = [parameter for layer in norms(net) for parameter in layer.parameters()]
        assert len(learned) == 2 * affine * len(norms(net))
        assert any(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in learned) == affine


def test_a_shift_reaches_edges_without_inputs_of_nasbench201() -> None:
    arch = nb.Architecture.parse(
        "|none~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_1x1~1|nor_conv_3x3~2|"
    )
    images = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    for affine in (True, False):
        net = made("nb201", affine)
        if affine:
            for layer in norms(net):
                nn.init.constant_(layer.bias, 0.5)
        mixing = net.discrete_mixing(arch)
        alone = net(images, mixing, path=arch)
        assert torch.allclose(alone, net(images, mixing), atol=1e-5)


@pytest.mark.parametrize("affine", [True, False])
def test_single_architectures_of_s1_are_evaluated_alike_in_every_way(affine: bool) -> None:
    net = made("s1", affine)
    for layer in norms(net):
        if affine:
            nn.init.uniform_(layer.weight, 0.5, 1.5, generator=torch.Generator().manual_seed(2))
            nn.init.uniform_(layer.bias, -1, 1, generator=torch.Generator().manual_seed(3))
    images, space = torch.randn(6, 3, 16, 16, generator=torch.Generator().manual_seed(1)), net.space
    archs = [space.sample(np.random.default_rng(seed)) for seed in range(3)]
    for arch in archs:
        assert torch.allclose(net(images, arch), net(images, net.discrete_mixing(arch)), atol=1e-4)


def test_a_search_records_the_option_and_its_weights_are_loaded(tmp_path: Path) -> None:
    tiny: dict[str, Any] = {"scale": "quick", "epochs": 1, "channels": 2, "cells": 1, "threads": 1}
    tiny |= {"images_per_half": 40, "batch_size": 20, "keep_weights_every": 1}
    run = nb.search("random-ws", batch_norm_affine=False, out=tmp_path / "run", **tiny)
    assert run.config["batch_norm_affine"] is False
    assert {layer.affine for layer in norms(run.supernet(1)[0])} == {False}
    plain = nb.search("random-ws", out=tmp_path / "plain", **tiny)
    assert "batch_norm_affine" not in plain.config
    assert any(layer.affine for layer in norms(plain.supernet(1)[0]))
    nb.search(resume=tmp_path / "run", epochs=2)
    assert nb.load_run(tmp_path / "run").metrics["epoch"].max() == 2
