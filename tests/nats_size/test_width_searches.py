"""Searches of widths from end to end: bounds, seeds, saved weights, rankings and estimates of time."""

from typing import Any

import pytest
from refusals import refuses
from rich.console import Console
from tiny_search import tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation.correlating import correlate
from nasbench1shot1.nats_size.cost import flops
from nasbench1shot1.one_shot_search import estimate

QUIET = Console(quiet=True)
SIZES: dict[str, Any] = {"channels": 64, "cells": 3, "image_side": 4, "images_per_half": 20, "batch_size": 10}
OPTIONS: dict[str, Any] = {**SIZES, "scale": "quick", "space": "nats-size", "threads": 1, "device": "cpu"}
HALF = 137e6


@pytest.mark.parametrize("optimizer", ["tas", "tunas"])
def test_a_search_within_bounds_can_be_ranked(tmp_path, optimizer):
    bounded = {"max_flops": HALF, "epochs": 2, "keep_weights_every": 2, "warm_up_ratio": 0.5}
    run = nb.search(optimizer, out=tmp_path / "run", console=QUIET, **OPTIONS, **bounded)
    assert all(flops(arch.widths) <= HALF for arch in run.architectures)
    assert all(line["test_regret"] >= 0 for line in run.lines)
    ranking = correlate(run, architectures="12", images=20, resamples=2)
    assert "spearman_probability" in set(ranking.correlations["criterion"])


def test_several_seeds_are_searched(tmp_path):
    group = nb.search_seeds([0, 1], optimizer="mask-rl", out=tmp_path / "group", console=QUIET, **OPTIONS, epochs=2)
    assert [run.config["optimizer"] for run in group.runs] == ["tunas", "tunas"]


def test_a_search_cannot_return_to_the_warm_up(tmp_path):
    options = {**OPTIONS, "epochs": 2, "warm_up_ratio": 0.5}
    run = nb.search("tunas", out=tmp_path / "run", console=QUIET, **options)
    with refuses(nb.InvalidInputError, "epoch 2", "search", "warm-up", options="epochs"):
        nb.search(resume=run.folder, epochs=4, console=QUIET)
    assert nb.load_run(run.folder).config["grown"] == []


@pytest.mark.parametrize("optimizer", ["tas", "tunas", "gdas", "random-ws"])
def test_every_method_gets_an_estimate(optimizer):
    few = {"candidates": 2, "finalists": 1} if optimizer == "random-ws" else {}
    state = tiny_state(optimizer=optimizer, **{**OPTIONS, "epochs": 2}, **few)
    assert 0 < estimate.seconds_per_epoch(state.options) < float("inf")


def test_the_hessian_and_perturbations_are_refused_where_no_weights_depend_on_lambda():
    for name, given in (("tas", {"hessian_eigenvalue": True}), ("tunas", {"perturbation": "random"})):
        with pytest.raises(nb.InvalidInputError, match=next(iter(given))):
            tiny_state(optimizer=name, **OPTIONS, **given)
