"""Preset switches of the search loop in both presets; test_supernet.py tests switches of the supernet."""

import pytest
import torch

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.loop import batch_pairs, one_shot_error
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.state import SearchState, begin

TINY = {"scale": "quick", "epochs": 4, "channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20, "threads": 1}


def state(preset: str, **options) -> SearchState:
    return begin(search_options({**TINY, "preset": preset, **options}))


def statistics(of: SearchState) -> list[torch.Tensor]:
    return [buffer for name, buffer in of.net.named_buffers() if "running" in name]


@pytest.mark.parametrize(("preset", "augmented"), [("corrected", False), ("original", True)])
def test_only_preset_original_augments_the_architecture_half(preset, augmented):
    searching = state(preset)
    augment = searching.augmentation(1)
    plain, labels = searching.images.batch(torch.from_numpy(searching.split.architecture))
    normalised = {bytes(image.numpy().tobytes()) for image in augment.normalise(plain).contiguous()}
    for _, architecture_batch in batch_pairs(searching, epoch=1):
        unchanged = [image.contiguous().numpy().tobytes() in normalised for image in architecture_batch.images]
        assert all(unchanged) if not augmented else not all(unchanged)
        assert set(architecture_batch.labels.tolist()) <= set(labels.tolist())


@pytest.mark.parametrize(
    ("preset", "probabilities"), [("corrected", [0, 0.2, 0.4, 0.6]), ("original", [0.6, 0.6, 0.6, 0.6])]
)
def test_cutout_ramps_up_or_is_constant(preset, probabilities):
    searching = state(preset, cutout_probability=0.6)
    found = [searching.augmentation(epoch).cutout_probability for epoch in (1, 2, 3, 4)]
    assert found == pytest.approx(probabilities)


@pytest.mark.parametrize("preset", ["corrected", "original"])
@pytest.mark.parametrize(("schedule", "probabilities"), [("linear", [0, 0.2, 0.4, 0.6]), ("constant", [0.6] * 4)])
def test_a_given_cutout_schedule_overrides_the_preset(preset, schedule, probabilities):
    searching = state(preset, cutout_probability=0.6, cutout_schedule=schedule)
    found = [searching.augmentation(epoch).cutout_probability for epoch in (1, 2, 3, 4)]
    assert found == pytest.approx(probabilities)


def test_an_unknown_cutout_schedule_is_refused():
    with pytest.raises(InvalidInputError, match="mean 'constant'"):
        state("corrected", cutout_schedule="constnat")


def test_recalibration_resets_statistics_and_running_statistics_are_kept():
    corrected = state("corrected")
    error = one_shot_error(corrected, epoch=1)
    for buffer in statistics(corrected):
        buffer.fill_(7.0)
    assert one_shot_error(corrected, epoch=1) == error
    assert all(buffer.eq(7).all() for buffer in statistics(corrected))
    original = state("original")
    before = [buffer.clone() for buffer in statistics(original)]
    one_shot_error(original, epoch=1)
    assert all(torch.equal(a, b) for a, b in zip(before, statistics(original), strict=True))
