"""Random search with weight sharing: draws, and selection by shared weights."""

from collections import Counter
from functools import cache
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import HALF, Judge
from scipy import stats
from tiny_search import SMALL_SPACE, generator, search, tiny_state
from torch.utils.data import BatchSampler

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.images.splits import Split
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.random_ws import RandomWS
from nasbench1shot1.optimizers.sampling import SamplingHyperparameters, select
from nasbench1shot1.supernets.weight_sharing import SharedWeights


def method(space=SMALL_SPACE, seed: int = 0, **hyperparameters) -> RandomWS:
    return RandomWS(space, SamplingHyperparameters(**hyperparameters), generator(seed), torch.device("cpu"))


def test_draws_are_uniform_over_all_encodings():
    made = method()
    counts = Counter(SMALL_SPACE.index(made.sample()) for _ in range(100 * len(SMALL_SPACE)))
    assert len(counts) == len(SMALL_SPACE) == 54
    assert stats.chisquare([counts[i] for i in range(54)]).pvalue > 1e-3


def test_a_step_trains_one_sampled_architecture_without_mixing_weights():
    made, same = method(seed=3), method(seed=3)
    drawn = [made.mixing() for _ in range(20)]
    assert drawn == [Mixing(path=same.sample()) for _ in range(20)]
    assert len({mixing.path for mixing in drawn}) > 10
    assert all(mixing.is_sampled for mixing in drawn)


def test_a_thousand_candidates_are_scored_and_the_best_of_five_finalists_is_chosen():
    space = nb.search_space("s1")
    made, judge = method(space), Judge(space)
    made.choose(judge)
    (candidates, rows), (finalists, whole) = judge.asked
    assert 950 < len(candidates) <= 1000
    assert len(set(candidates)) == len(candidates)
    assert len(rows) == len(set(rows.tolist())) == 80
    assert whole is None
    assert len(finalists) == 5
    few = sorted(judge.on_few[space.index(arch)] for arch in candidates)[:5]
    assert [judge.on_few[space.index(arch)] for arch in finalists] == few
    best = min(finalists, key=lambda arch: judge.on_all[space.index(arch)])
    assert made.architecture() == best != finalists[0]
    assert made.evaluation_mixing() == Mixing(path=best)
    assert space.discretise(made.parameters) == best
    for key, value in space.one_hot(best).items():
        assert np.array_equal(made.parameters[key].numpy(), value)
        assert not made.parameters[key].requires_grad


_state = cache(tiny_state)


def shared_with(images: int) -> SharedWeights:
    """Return shared weights whose architecture half has `images` rows."""
    shared = _state(optimizer="random-ws").shared_weights(1)
    shared._split = Split(np.arange(0), 7 + np.arange(images), nasbench101_validation_images=0, unknown_images=0)
    return shared


def published_numbers(images: int, size: int, together: int, candidates: int) -> list[int]:
    """Return the number of images of each candidate in the published loops, which restart the loader when it ends."""
    loader = BatchSampler(range(images), size, drop_last=False)
    batches, found = iter(loader), []
    for _ in range(candidates):
        found.append(0)
        for _ in range(together):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(loader)
                batch = next(batches)
            found[-1] += len(batch)
    return found


@settings(deadline=None, max_examples=40)
@given(images=st.integers(1, 90), size=st.integers(1, 30), together=st.integers(1, 5))
def test_candidates_get_the_batches_of_a_loader_that_shuffles_in_each_pass(images, size, together):
    shared, is_whole = shared_with(images), size * together >= images
    found = list(islice(shared.rows_in_turn(size, generator(0), together), 30))
    assert [len(rows) for rows in found] == (
        [images] * 30 if is_whole else published_numbers(images, size, together, 30)
    )
    assert min(map(len, found)) > min(size * together, images) - size
    passes = torch.cat(found).split(images)
    assert all(len(rows.unique()) == len(rows) for rows in passes)
    assert all(sorted(rows.tolist()) == list(range(7, 7 + images)) for rows in passes[:-1])
    again = islice(shared.rows_in_turn(size, generator(0), together), 30)
    assert all(torch.equal(rows, same) for rows, same in zip(found, again, strict=True))


@pytest.mark.parametrize(
    ("options", "images", "numbers"),
    [
        ({"optimizer": "random-ws", "space": "s1", "own_images": True}, 25_000, {640: 975, 616: 25}),
        ({"optimizer": "random-ws", "space": "nb201"}, 25_000, {512: 98, 424: 2}),
        ({"optimizer": "setn", "space": "nb201", "evaluation_batch_norm": "running"}, 25_000, {512: 98, 424: 2}),
        ({"optimizer": "enas", "space": "nb201", "candidates": 400}, 25_000, {128: 398, 40: 2}),
        ({"optimizer": "random-ws", "space": "nb201", "scale": "medium"}, 10_000, {128: 99, 80: 1}),
        ({"optimizer": "enas", "space": "nb201", "scale": "medium"}, 10_000, {128: 99, 16: 1}),  # as its loader would
    ],
)
def test_candidates_are_scored_on_the_published_numbers_of_images(options, images, numbers, monkeypatch):
    chosen = search_options({"preset": "original", "device": "cpu", **options})
    shared, found = shared_with(images), []
    shared.batch_size, shared.scored_batch_size = chosen.common.batch_size, chosen.common.scored_batch_size

    def errors(architectures, rows=None):
        found.extend([len(rows)] * len(architectures) if rows is not None else [])
        return np.zeros(len(architectures))

    monkeypatch.setattr(shared, "errors", errors)
    select([SMALL_SPACE[0]] * chosen.own.candidates, shared, chosen.own, generator(0))
    assert Counter(found) == numbers


def test_with_one_finalist_the_best_candidate_is_chosen_directly():
    made, judge = method(finalists=1, candidates=30, candidate_batches=2), Judge(SMALL_SPACE)
    made.choose(judge)
    ((candidates, rows),) = judge.asked
    assert made.architecture() == min(candidates, key=lambda arch: judge.on_few[SMALL_SPACE.index(arch)])
    assert len(rows) == 16


def test_if_candidates_are_fewer_than_finalists_all_become_finalists():
    made, judge = method(candidates=5), Judge(SMALL_SPACE)
    made.sample = lambda: SMALL_SPACE[7]
    made.choose(judge)
    assert judge.asked[0][0] == [SMALL_SPACE[7]]
    assert made.architecture() == SMALL_SPACE[7]


@pytest.mark.parametrize("hyperparameters", [{}, {"finalists": 1}, {"candidates": 20, "candidate_batches": 100}])
def test_the_announced_number_of_images_is_scored(hyperparameters):
    space = nb.search_space("s3")  # so large that duplicate candidates are rare
    made, judge = method(space, **hyperparameters), Judge(space)
    made.choose(judge)
    asked = sum(len(architectures) * (HALF if rows is None else len(rows)) for architectures, rows in judge.asked)
    announced = sum(architectures * images for architectures, images in made.scorings(judge.batch_size, HALF))
    assert asked == pytest.approx(announced, rel=0.01)


def test_the_state_names_the_chosen_architecture():
    made, judge, other = method(seed=1), Judge(SMALL_SPACE), method(seed=2)
    made.choose(judge)
    other.load_state_dict(made.state_dict())
    assert other.architecture() == made.architecture()
    assert other.evaluation_mixing() == made.evaluation_mixing()
    assert all(torch.equal(value, made.parameters[key]) for key, value in other.parameters.items())
    for each in (made, other):
        each.begin_epoch(2, 3, generator(5))
    assert made.mixing() == other.mixing()


def test_the_recorded_lambda_encodes_the_architecture_of_every_epoch(tmp_path):
    run = search(tmp_path / "run", optimizer="random-ws", epochs=2, candidates=12, candidate_batches=1, finalists=2)
    space = nb.search_space("s1")
    for epoch, line in enumerate(run.lines):
        raw = {key: values[epoch] for key, values in run.architecture_parameters.items()}
        arch = space.discretise(raw)
        assert str(arch) == line["architecture"]
        assert all(np.array_equal(raw[key], value) for key, value in space.one_hot(arch).items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, r"^candidates\b.*least 1"),
        ({"candidate_batches": 0}, "candidate_batches.*least 1"),
        ({"finalists": 0}, r"^finalists\b.*least 1"),
        ({"finalists": 11, "candidates": 10}, "finalists=11 cannot.*candidates=10"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(options, message):
    with pytest.raises(nb.InvalidInputError, match=message):
        SamplingHyperparameters(**options).check()


# Defaults on NAS-Bench-201 --------------------------------------------------------------------------------------------

WEIGHTS = {  # "DARTS": Nesterov SGD, cosine from 0.025 to 0.001, clipped at 5, batches of 64
    "cells": 15,  # three stages of five cells
    "channels": 16,
    "batch_size": 64,
    "learning_rate": 0.025,
    "learning_rate_min": 0.001,
    "momentum": 0.9,
    "nesterov": True,
    "weight_decay": 5e-4,
    "grad_clip": 5.0,
    "evaluation_batch_norm": "recalibrated",  # differs from the paper, which compares running and batch statistics
}
ADAM = {"architecture_learning_rate": 3e-4, "architecture_weight_decay": 1e-3}
DARTS = {**WEIGHTS, **ADAM, "epochs": 50, "relaxation": "softmax", "update": "first-order"}
ONE_BATCH = {"candidates": 100, "candidate_batches": 4, "finalists": 1}  # 4 x 64 images: one published batch
DEFAULTS = {
    "darts": DARTS,  # DARTS-V1
    "darts-second-order": {**DARTS, "update": "second-order"},  # DARTS-V2
    "gdas": {
        **DARTS,
        "epochs": 250,
        "relaxation": "gumbel-operations",
        "temperature_max": 10.0,
        "temperature_min": 0.1,
        "temperature_ends_after": False,
    },
    "pc-darts": {**DARTS, "partial_channels": 4},  # not in NAS-Bench-201
    "snas": {**DARTS, "relaxation": "gumbel", "temperature_max": 1.0, "temperature_min": 0.03},  # not in NAS-Bench-201
    "random-ws": {**WEIGHTS, **ONE_BATCH, "epochs": 250},  # RSPS
    "enas": {
        **WEIGHTS,
        "epochs": 250,
        "batch_size": 128,
        "learning_rate": 0.05,  # this and the next two: the published configs/nas-benchmark/algos/ENAS.config
        "learning_rate_min": 5e-4,
        "weight_decay": 2.5e-4,
        "candidates": 100,
        "candidate_batches": 2,  # 2 x 128 images
        "finalists": 1,
        "controller_hidden": 32,
        "controller_temperature": 5.0,
        "controller_tanh_constant": 2.5,
        "controller_operation_tanh_reduction": 1.0,
        "controller_entropy_weight": 1e-4,
        "controller_learning_rate": 1e-3,
        "controller_operation_bias": 0.0,  # "no operation-specific penalty"
    },
    "setn": {**WEIGHTS, **ADAM, **ONE_BATCH, "epochs": 250},
}


def test_every_method_is_tested():
    for_widths = {"tas", "fbnetv2", "tunas"}  # tests/one_shot_search/test_search_options.py
    newer = {"beta-darts", "drnas", "gaea", "lambda-darts", "darts-pt", "spos", "fair-darts", "rf-darts"}  # there, too
    newer |= {"sdarts-rs", "sdarts-adv", "darts-minus", "oles", "idarts", "is-darts", "sgas", "drnas-progressive"}
    assert {*DEFAULTS, *for_widths, *newer} == set(registry.BUILT_IN["optimizers"])


@pytest.mark.parametrize("method", DEFAULTS)
def test_the_defaults_of_a_method_agree_with_nasbench201(method):
    found = search_options({"optimizer": method, "space": "nb201"}).as_dict()
    assert {name: found[name] for name in DEFAULTS[method]} == DEFAULTS[method]


@pytest.mark.parametrize("method", ["random-ws", "enas", "setn"])
def test_candidates_are_scored_on_256_images(method):
    options = search_options({"optimizer": method, "space": "nb201"})
    assert options.own.candidate_batches * options.common.batch_size == 256
