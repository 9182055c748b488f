"""Options that would have no effect are refused in one sentence, before anything is written."""

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest
from refusals import refuses
from tiny_search import FOR_TINY, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.commands.options import command_options
from nasbench1shot1.one_shot_search.options import SearchConfig, search_options
from nasbench1shot1.optimizers.components.terms import TERMS
from nasbench1shot1.registry import BUILT_IN, optimizer
from nasbench1shot1.runs.options import OnlyWith, OnlyWithBounds, option_names
from nasbench1shot1.tables.bounds import BoundOptions

METHODS = list(BUILT_IN["optimizers"])
REFUSED = [
    ({"perturbation_size": 0.1}, ("perturbation_size=0.1", 'perturbation="random" or adversarial')),
    ({"optimizer": "oles", "clipped_gradients": True}, ("clipped_gradients=True", "summed_gradients=True")),
    (
        {"optimizer": "oles", "preset": "original", "grad_clip": 0.0, "clipped_gradients": False},
        ("clipped_gradients=False", "grad_clip= above 0"),
    ),
    ({"optimizer": "idarts", "update": "first-order"}, ('update="first-order"', 'optimizer="darts"')),
    ({"optimizer": "darts-minus", "skip_max": 0.0}, ("skip_max=0.0", 'optimizer="darts"')),
    ({"optimizer": "idarts", "weight_steps": 50}, ("weight_steps=50", "2 weight steps", "lower it")),
    ({"optimizer": "lambda-darts", "cells": 2, "epochs": 1}, ("epochs=1", "alignment=0")),
    ({"optimizer": "beta-darts", "epochs": 1}, ("epochs=1", "beta", 'term="none"')),
    ({"optimizer": "rf-darts", "term": "beta", "epochs": 1}, ("epochs=1", "beta", 'term="none"')),
    ({"optimizer": "oles"}, ("window=20", "only 4", "epochs=")),
    (
        {"optimizer": "gaea", "levels": "single-level", "training_images": "all", "returned_epoch": "best"},
        ('returned_epoch="best"', 'training_images="weight-half"'),
    ),
    ({"optimizer": "gaea", "training_images": "all"}, ('training_images="all"', 'levels="single-level"')),
    (
        {"optimizer": "gaea", "returned_epoch": "best", "hessian_eigenvalue": True, "early_stopping": True},
        ("early_stopping=True", 'returned_epoch="last"'),
    ),
    (
        {"optimizer": "fair-darts", "levels": "single-level", "draw_with_replacement": True},
        ("draw_with_replacement=True", "batches of the weights"),
    ),
    ({"optimizer": "spos", "augment_architecture_images": True}, ("augment_architecture_images=True", "no steps of Λ")),
    ({"optimizer": "is-darts", "draw_with_replacement": True}, ("draw_with_replacement=True", "no steps of Λ")),
    (
        {"optimizer": "spos", "mutations": 0, "mutation_probability": 0.5},
        ("mutation_probability=0.5", "mutations= above 0"),
    ),
    (
        {"optimizer": "spos", "recalibration_batches": 2, "evaluation_batch_norm": "running"},
        ("recalibration_batches=2", 'evaluation_batch_norm="recalibrated"'),
    ),
    ({"optimizer": "sgas", "stability_window": 2}, ("stability_window=2", "criterion=2")),
    (
        {"optimizer": "darts-minus", "skip_schedule": "constant", "skip_ends_after": True},
        ("skip_ends_after=True", 'skip_schedule="linear", cosine or slow-cosine'),
    ),
    ({"optimizer": "tunas", "space": "nats-size", "rejection": True}, ("rejection=True", "max_parameters=")),
    ({"optimizer": "darts-pt", "momentum": 0.0, "selection_keeps_momentum": False}, ("momentum= above 0",)),
    ({"evaluation_noise": True}, ("evaluation_noise=True", 'relaxation="gumbel"')),
    ({"cutout_length": 8}, ("cutout_length=8", "cutout_probability= above 0")),
    ({"cutout_schedule": "constant"}, ('cutout_schedule="constant"', "cutout_probability= above 0")),
    ({"cutout_length": 0, "cutout_probability": 0.5}, ("cutout_probability=0.5", "cutout_length= above 0")),
    ({"scored_batch_size": 10}, ("scored_batch_size=10", 'evaluation_batch_norm="batch" or batch-in-cells')),
    ({"optimizer": "random-ws", "warm_start_epochs": 1}, ("warm_start_epochs=1", "no warm-up")),
    ({"temperature_ends_after": True}, ("temperature_ends_after=True", "temperature is constant")),
    ({"unused_weights": "decayed"}, ('unused_weights="decayed"', "uses all weights")),
    ({"optimizer": "is-darts", "unused_weights": "decayed"}, ('unused_weights="decayed"', "uses all weights")),
    (
        {"optimizer": "fbnetv2", "space": "nats-size", "warm_up_ratio": 1.0, "channels": 64, "cells": 3},
        ("warm_up_ratio=1.0", "epochs=4"),
    ),
    (
        {"optimizer": "tunas", "space": "nats-size", "warm_up_ratio": 0.8, "channels": 64, "cells": 3},
        ("warm_up_ratio=0.8", "epochs=4"),
    ),
    (
        {"optimizer": "fair-darts", "levels": "single-level", "weights_first": True},
        ("weights_first=True", 'levels="bilevel"'),
    ),
    ({"optimizer": "spos", "generations": 1, "crossovers": 3}, ("crossovers=3", "generations= above 1")),
    ({"optimizer": "spos", "generations": 1, "mutations": 3}, ("mutations=3", "generations= above 1")),
    ({"optimizer": "spos", "generations": 1, "survivors": 3}, ("survivors=3", "generations= above 1")),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_an_option_without_an_effect_is_refused(options, named, tmp_path):
    with refuses(nb.InvalidInputError, *named):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def conditions(name: str):
    """Every option of a method that declares on which other option its effect depends."""
    for record in (SearchConfig, optimizer(name).Hyperparameters):
        hints = get_type_hints(record, include_extras=True)
        for field in fields(record):
            for extra in getattr(hints[field.name], "__metadata__", ()):
                if isinstance(extra, OnlyWith):
                    yield record, field, extra


@pytest.mark.parametrize("name", METHODS)
def test_conditions_name_options_and_values_that_exist(name):
    known = {*option_names(SearchConfig), *option_names(optimizer(name).Hyperparameters)}
    hints = get_type_hints(SearchConfig) | get_type_hints(optimizer(name).Hyperparameters)
    for _, field, needed in conditions(name):
        if isinstance(needed, OnlyWithBounds):
            assert isinstance(vars(BoundOptions)[needed.name], property)
            continue
        assert needed.name in known, field.name
        allowed = {value for hint in (hints[needed.name], *get_args(hints[needed.name])) for value in get_args(hint)}
        for value in needed.values:
            assert value in allowed or type(value) in (bool, int, type(None)), (field.name, value)


def test_defaults_and_recorded_options_are_never_refused():
    """A preset may set an option that another given option makes useless; records are read back as they are."""
    for given in (
        {"optimizer": "sdarts-adv", "preset": "original", "perturbation": "none"},
        {"optimizer": "beta-darts", "preset": "original", "term": "none"},
        {"optimizer": "gaea", "preset": "original", "levels": "single-level", "training_images": "all"},
        {"optimizer": "oles", "preset": "original", "summed_gradients": False},
        {"optimizer": "spos", "space": "nb201", "preset": "original"},
        {"perturbation_size": 0.3},
        {"optimizer": "gdas", "preset": "original", "temperature_max": 1.0},
        {"optimizer": "drnas", "preset": "original", "relaxation": "softmax"},
        {"optimizer": "gdas", "preset": "original", "relaxation": "softmax", "draws": 1},
        {"optimizer": "darts-pt", "preset": "original", "momentum": 0},
        {"optimizer": "darts-minus", "space": "nb201", "preset": "original", "skip_schedule": "constant"},
        {"optimizer": "spos", "preset": "original", "evaluation_batch_norm": "batch"},
    ):
        options = search_options({**given, "device": "cpu"})
        assert search_options(options.as_dict()) == options


def test_an_option_is_not_refused_if_a_study_varies_the_one_that_it_depends_on():
    given = {"cutout_length": 8, "cutout_probability": 0.0, "device": "cpu"}
    assert search_options(given, varied=given).common.cutout_length == 8
    with refuses(nb.InvalidInputError, "cutout_length=8"):
        search_options(given, varied={"weight_decay"})


def test_conditions_and_help_agree_with_the_terms():
    record = optimizer("darts").Hyperparameters
    needed = {field.name: extra.values for _, field, extra in conditions("darts")}
    assert needed["term_weight"] == tuple(TERMS)
    assert needed["term_epochs"] == tuple(name for name, term in TERMS.items() if term.grows)
    text = next(option.help for option in command_options(record, None) if option.name == "term_weight")
    for name, term in TERMS.items():
        assert f"{term.weight:g}" in text and name in text


@pytest.mark.parametrize("name", ["lambda-darts", "beta-darts", "oles", "gaea", "fair-darts", "spos"])
def test_a_tiny_search_with_an_effect_is_accepted(name):
    tiny_state(optimizer=name, **FOR_TINY.get(name, {}))
