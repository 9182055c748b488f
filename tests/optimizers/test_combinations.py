"""Optimizers, relaxations, terms, rules, perturbations and flooding combine, or a sentence refuses them."""

import random
from typing import Any

import pytest
import torch
from tiny_search import FOR_TINY, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizers.components.relaxation_kinds import RELAXATION_NAMES
from nasbench1shot1.optimizers.components.terms import TERMS
from nasbench1shot1.optimizers.widths import WidthOptimizer
from nasbench1shot1.registry import BUILT_IN, optimizer

METHODS = [name for name in BUILT_IN["optimizers"] if not issubclass(optimizer(name), WidthOptimizer)]
CHOICES: dict[str, list[Any]] = {
    "optimizer": METHODS,
    "relaxation": [None, *RELAXATION_NAMES],
    "term": [None, "none", *TERMS],
    "rule": [None, "adam", "exponentiated-gradient"],
    "perturbation": [None, "none", "random", "adversarial"],
    "flooding": [None, 0.5],
    "update": [None, "second-order"],
    "weights_first": [None, True],
    "preset": ["corrected", "original"],
}
ALWAYS = {"channels": 4, "cells": 2, "images_per_half": 24, "batch_size": 12, "epochs": 3}


def drawn_options(rng: random.Random, space: str) -> dict[str, Any]:
    """Options with two to four of the components, apart from the optimizer and the preset."""
    given = {"optimizer": rng.choice(METHODS), "space": space, "preset": rng.choice(CHOICES["preset"])}
    for name in rng.sample([name for name in CHOICES if name not in given], rng.randint(1, 3)):
        if (value := rng.choice(CHOICES[name])) is not None:
            given[name] = value
    if space == "nb201" and rng.random() < 0.3:
        given["exclude_none"] = True
    return given


def outcome(given: dict[str, Any]) -> str:
    """The sentence that refuses options, or an empty string after two steps with finite results."""
    try:
        state = tiny_state(**{**ALWAYS, **FOR_TINY.get(given["optimizer"], {}), **given})
    except nb.InvalidInputError as error:
        return str(error)
    steps = 0
    for step in training_steps(state, 2):
        assert step.loss.isfinite(), given
        steps += 1
    assert steps == 2, given
    assert all(value.isfinite().all() for value in state.method.parameters.values()), given
    state.method.architecture()
    with torch.no_grad():
        mixing = state.method.evaluation_mixing()
        batch = state.images_of(torch.from_numpy(state.split.architecture[:4]), state.augmentation(2), None)
        assert state.logits(mixing, batch.images).isfinite().all(), given
    return ""


@pytest.mark.parametrize("space", ["s2", "nb201"])
def test_components_combine_or_are_refused_in_one_sentence(space):
    rng, ran, refused = random.Random(30), 0, 0
    for _ in range(30):
        given = drawn_options(rng, space)
        sentence = outcome(given)
        ran, refused = ran + (not sentence), refused + bool(sentence)
        assert "\n" not in sentence, given
    assert min(ran, refused) > 5


PUBLISHED = (
    *("beta-darts", "drnas", "gaea", "lambda-darts", "spos", "fair-darts", "rf-darts"),
    *("sdarts-rs", "sdarts-adv", "darts-minus", "oles"),
)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_newer_method_runs_with_its_published_options(name):
    for space in ("s2", "nb201"):
        assert outcome({"optimizer": name, "space": space, "preset": "original"}) == ""
