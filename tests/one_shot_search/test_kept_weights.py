"""Supernets with the weights that a run saved after an epoch."""

import io
import shutil

import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_search import FEW, FOR_TINY, TINY, UNLIKE, search

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.kept_weights import kept_epochs, method_of, supernet_of
from nasbench1shot1.runs.checkpoints import load_checkpoint, save_checkpoint


@pytest.mark.parametrize("optimizer", UNLIKE)
def test_the_network_equals_the_search_at_that_epoch_bit_for_bit(optimizer, tmp_path, monkeypatch):
    images = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    space, seen, real = nb.search_space("s1"), {}, loop.record_epoch
    paths = [space[0], space[9000]]

    def logits(net):
        uniform = {key: torch.full(shape, 0.3) for key, shape in space.mixing_shapes().items()}
        with torch.no_grad():
            return [net.eval()(images, mixing) for mixing in (uniform, *paths)]

    def record(state, *recorded):
        seen[state.epoch] = logits(state.net)
        real(state, *recorded)

    monkeypatch.setattr(loop, "record_epoch", record)
    preset = "original" if optimizer == "gdas" else "corrected"
    options = {"keep_weights_every": 2, "preset": preset, **FOR_TINY.get(optimizer, {})}
    options |= {"epochs": 3, "cells": 3, "images_per_half": 20, "batch_size": 10}
    run = search(tmp_path / "run", optimizer=optimizer, **options)
    assert kept_epochs(run) == [2]
    net, parameters = run.supernet(2)
    assert not net.training
    assert all(torch.equal(*both) for both in zip(logits(net), seen[2], strict=True))
    assert not all(torch.equal(*both) for both in zip(logits(net), seen[3], strict=True))
    assert set(parameters) == set(space.mixing_shapes())
    assert all(torch.equal(of, torch.from_numpy(run.architecture_parameters[key][2])) for key, of in parameters.items())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return search(tmp_path_factory.mktemp("kept") / "run", epochs=3, keep_weights_every=1)


@pytest.mark.parametrize("epoch", [0, 4, -1])
def test_the_refusal_of_another_epoch_lists_the_saved_ones(run, epoch):
    with refuses(nb.InvalidInputError, f"'{epoch}'", 1, 2, 3):
        supernet_of(run, epoch)


def test_the_error_about_missing_weights_explains_how_to_save_them(run, tmp_path):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    shutil.rmtree(copy.folder / "weights")
    with pytest.raises(nb.InvalidInputError, match="keep_weights_every="):
        copy.supernet(1)


@pytest.mark.parametrize("damage", ["another epoch", "another network", "no checkpoint"])
def test_weights_of_another_run_are_refused(run, tmp_path, damage):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    kept = copy.folder / "weights" / "epoch-002.pt"
    if damage == "another epoch":
        shutil.copy(kept.with_name("epoch-001.pt"), kept)
    elif damage == "another network":
        copy = nb.Run(copy.folder, {**copy.config, "channels": 4})
    else:
        kept.write_bytes(b"nothing")
    with pytest.raises(nb.DamagedFileError):
        copy.supernet(2)


def test_the_state_of_the_optimizer_is_saved(tmp_path):
    few = {**FEW, "controller_steps": 4, "controller_learning_rate": 0.5}
    run = search(tmp_path / "run", optimizer="enas", epochs=2, keep_weights_every=1, **few)
    assert run.config["device"] == "cpu"
    run = nb.Run(run.folder, {**run.config, "device": "cuda"})  # a run from another machine
    methods = [method_of(run, epoch) for epoch in (1, 2, 2)]
    drawn = [[method.sample() for _ in range(20)] for method in methods]
    assert drawn[1] == drawn[2]
    assert drawn[0] != drawn[1]  # the controller has changed in between
    assert [method.learns_to_sample for method in methods] == [True] * 3
    with pytest.raises(nb.InvalidInputError, match="choose 1 or 2"):
        method_of(run, 3)


def test_a_file_with_another_optimizer_state_is_damaged(run, tmp_path):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    path = copy.folder / "weights" / "epoch-002.pt"
    content = load_checkpoint(path)
    assert not method_of(copy, 2).learns_to_sample
    save_checkpoint(path, {**content, "method": {"nothing": 0}})
    with pytest.raises(nb.DamagedFileError):
        method_of(copy, 2)


def test_a_search_explains_how_to_use_its_saved_weights(tmp_path):
    printed = {}
    for name, every in (("kept", 2), ("none", 0)):
        console = Console(file=io.StringIO(), width=300)
        nb.search(out=tmp_path / name, console=console, **{**TINY, "epochs": 4, "keep_weights_every": every})
        printed[name] = console.file.getvalue()
    assert printed["kept"].endswith(
        f"Supernet weights of 2 epochs: {tmp_path / 'kept' / 'weights'}\n"
        f"To rank architectures by these weights: nb1shot1 correlate {tmp_path / 'kept'}\n"
    )
    assert "correlate" not in printed["none"]
