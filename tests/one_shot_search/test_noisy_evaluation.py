"""The one-shot error of a method that evaluates with noise (GDAS as published): new samples for every batch."""

from copy import deepcopy
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from tiny_search import generator, tiny_state

from nasbench1shot1.one_shot_search.loop import one_shot_error, train_epoch
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.supernets.supernet import Supernet

PUBLISHED = {"optimizer": "gdas", "preset": "original", "images_per_half": 300, "cells": 2}
"""Three batches of up to 128 images, or fewer of more."""


def evaluated(
    state: SearchState, monkeypatch: pytest.MonkeyPatch, drawn: torch.Generator | None = None
) -> tuple[float, list[tuple[int, tuple]]]:
    """The one-shot error, and for every forward pass the number of images and the mixing weights."""
    passes, real = [], Supernet.forward

    def forward(self, images, *mixing):
        passes.append((len(images), mixing))
        return real(self, images, *mixing)

    monkeypatch.setattr(Supernet, "forward", forward)
    state.method.generator = drawn or state.method.generator
    error = one_shot_error(state, 1)
    monkeypatch.setattr(Supernet, "forward", real)
    return error, passes


def samples(mixing: tuple) -> bytes:
    return b"".join(value.numpy().tobytes() for cell in mixing[0] for value in cell.values())


@pytest.mark.parametrize("batch_norm", ["running", "recalibrated", "batch"])
def test_every_batch_and_cell_gets_a_new_sample(batch_norm, monkeypatch):
    state = tiny_state(**PUBLISHED, evaluation_batch_norm=batch_norm)
    _, passes = evaluated(state, monkeypatch)
    assert len(passes) >= 3
    assert sum(images for images, _ in passes) >= 300
    assert all(len(mixing[0]) == state.options.own.draws == 9 for _, mixing in passes)
    edges = {cell["output_edges"].numpy().tobytes() for _, mixing in passes for cell in mixing[0]}
    batches = len(passes) // (2 if batch_norm == "recalibrated" else 1)  # each after a pass of the reference images
    assert len(edges) == 9 * batches
    assert len({samples(mixing) for _, mixing in passes}) == batches


def test_samples_are_drawn_for_batches_of_the_given_size(monkeypatch):
    state = tiny_state(**PUBLISHED, evaluation_batch_norm="batch", scored_batch_size=60)
    assert [images for images, _ in evaluated(state, monkeypatch)[1]] == [60] * 5


def test_samples_come_only_from_the_generator_of_the_epoch(monkeypatch):
    state = tiny_state(**PUBLISHED)
    torch.manual_seed(0)
    error, passes = evaluated(state, monkeypatch, generator(5))
    torch.manual_seed(1)
    again, same = evaluated(state, monkeypatch, generator(5))
    assert (error, [samples(mixing) for _, mixing in passes]) == (again, [samples(mixing) for _, mixing in same])


def test_without_noise_all_batches_have_the_same_mixing_weights(monkeypatch):
    state = tiny_state(**PUBLISHED, evaluation_noise=False)
    _, passes = evaluated(state, monkeypatch)
    assert len({samples(mixing) for _, mixing in passes}) == 1


def test_a_resumed_search_draws_the_same_samples(monkeypatch):
    options = {**PUBLISHED, "images_per_half": 140, "batch_size": 70}
    unbroken, resumed, quiet = tiny_state(**options), tiny_state(**options), Mock()
    train_epoch(unbroken, 1, quiet)
    one_shot_error(unbroken, 1)
    unbroken.epoch, unbroken.eigenvalues = 1, [None, None]
    resumed.load_state_dict(deepcopy(unbroken.state_dict()), Path("checkpoint.pt"))
    results = []
    for state in (unbroken, resumed):
        train_epoch(state, 2, quiet)
        error, passes = evaluated(state, monkeypatch)
        results.append((error, [samples(mixing) for _, mixing in passes]))
    assert results[0] == results[1]
