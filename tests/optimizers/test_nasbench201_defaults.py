"""The defaults on nb201 are the settings of NAS-Bench-201 (Dong and Yang, ICLR 2020, section 4 and appendix)."""

import pytest

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.one_shot_search.options import search_options

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
    assert set(DEFAULTS) == set(registry.BUILT_IN["optimizers"])


@pytest.mark.parametrize("method", DEFAULTS)
def test_the_defaults_of_a_method_agree_with_nasbench201(method):
    found = search_options({"optimizer": method, "space": "nb201"}).as_dict()
    assert {name: found[name] for name in DEFAULTS[method]} == DEFAULTS[method]


@pytest.mark.parametrize("method", ["random-ws", "enas", "setn"])
def test_candidates_are_scored_on_256_images(method):
    options = search_options({"optimizer": method, "space": "nb201"})
    assert options.own.candidate_batches * options.common.batch_size == 256


def test_the_preset_original_is_refused(tmp_path):
    with pytest.raises(nb.InvalidInputError, match=r'preset="original".*nb201'):
        nb.search("setn", out=tmp_path / "run", space="nb201", scale="quick", preset="original")
