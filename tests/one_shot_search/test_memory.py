"""Searches that exceed memory are refused before allocating or writing."""

import pytest
from refusals import exits
from tiny_search import TINY

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search import memory
from nasbench1shot1.one_shot_search.memory import supernet_size
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.runs import machine
from nasbench1shot1.supernets.presets import PRESETS

SPACE = "s1"


@pytest.mark.parametrize("space", ["s1", "s3"])
@pytest.mark.parametrize(
    "size",
    [{"channels": 10**6}, {"cells": 10**6}, {"channels": 10**18}, {"channels": 10**9, "partial_channels": 10**8}],
)
def test_a_search_that_exceeds_memory_is_refused_with_the_estimate(tmp_path, size, space):
    name, value = next(iter(size.items()))
    message = rf"{name}={value} .*parameters, .*needs at least [\d,]+ GiB of memory, and this machine has .*: lower ch"
    with pytest.raises(nb.InvalidInputError, match=message):
        nb.search("darts", out=tmp_path / "run", **{**TINY, **size, "space": space})
    assert not (tmp_path / "run").exists()


def test_the_command_reports_missing_memory_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with exits(capsys):
        cli.main(["search", "--scale", "quick", "--cells", "1000000"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_memory_bound_is_the_minimum_of_every_method(monkeypatch, precision):
    config = search_options({**TINY, "precision": precision, "batch_size": 8}).common
    space = nb.search_space(SPACE)
    size = supernet_size(space, 2, 1, PRESETS["corrected"])
    needed = 12 * size.parameters + (2 if precision == "bfloat16" else 4) * 8 * size.activations
    monkeypatch.setattr(machine, "memory_of", lambda device: needed)
    memory.check_fits(config, space)
    monkeypatch.setattr(machine, "memory_of", lambda device: needed - 1)
    with pytest.raises(nb.InvalidInputError, match=r"least 0\.0.*GiB"):
        memory.check_fits(config, space)
    monkeypatch.setattr(machine, "memory_of", lambda device: None)  # unknown: nothing is refused
    memory.check_fits(config, space)


def test_the_size_of_the_paper_fits_in_two_gigabytes(monkeypatch):
    monkeypatch.setattr(machine, "memory_of", lambda device: 2 * 2**30)
    for space in ("s1", "s2", "s3"):
        config = search_options({"space": space, "device": "cpu", "images": "cifar10-sample"}).common
        memory.check_fits(config, nb.search_space(space))


def test_the_memory_of_this_machine_is_known():
    assert (machine.memory_of("cpu") or 0) > 2**28
