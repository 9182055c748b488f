"""What cells declare that they can do, and whether every method does something of its own on each space it accepts."""

from functools import cache
from typing import Any

import pytest
import torch
from refusals import refuses
from tiny_search import FOR_TINY, generator, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.benchmark import CELL_FEATURES
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.registry import BUILT_IN, one_shot, optimizer, search_space
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.supernets.supernet import OF_MIXTURES, Supernet
from nasbench1shot1.supernets.widening import draw_visible_channels, set_partial_channels

METHODS = [name for name in BUILT_IN["optimizers"] if name != "darts"]
OPTIONS: dict[str, dict[str, Any]] = {
    **FOR_TINY,
    "oles": {"window": 1, "threshold": 1.0, "batch_size": 10},
    "fbnetv2": {"warm_up_ratio": 0.0},
    "tas": {"warm_up_ratio": 0.0},
}
SIZES: dict[str, dict[str, Any]] = {"s1": {}, "nb201": {}, "nats-size": {"channels": 64, "cells": 3}}


def accepts(method: str, space: str) -> bool:
    try:
        optimizer(method).check_space(one_shot(search_space(space)))
    except UserError:
        return False
    return True


ACCEPTED = [(method, space) for space in SIZES for method in METHODS if accepts(method, space)]


@cache
def result(method: str, space: str, options: tuple[tuple[str, Any], ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """All weights and all of Λ after two epochs."""
    state = tiny_state(optimizer=method, space=space, **dict(options))
    for epoch in (1, 2):
        for _ in training_steps(state, epoch):
            pass
        if state.phase(epoch).moves_parameters:
            state.method.end_epoch(state.shared_weights(epoch))
    weights = torch.cat([weight.detach().flatten() for weight in state.net.parameters()])
    return weights, torch.cat([value.detach().flatten() for value in state.method.parameters.values()])


@pytest.mark.parametrize(("method", "space"), ACCEPTED)
def test_every_method_differs_from_darts_on_every_space_that_it_accepts(method, space):
    own = {"epochs": 2, "cells": 2, "channels": 4, "images_per_half": 20, "image_side": 8, "batch_size": 20}
    own |= OPTIONS.get(method, {}) | SIZES[space]
    names = ("epochs", "cells", "channels", "images_per_half", "batch_size", "image_side")
    common = tuple((name, own[name]) for name in names if name in own)
    ours, plain = result(method, space, tuple(own.items())), result("darts", space, common)
    assert ours[0].shape != plain[0].shape or not all(map(torch.equal, ours, plain))


@pytest.mark.parametrize("method", ["pc-darts", "lambda-darts", "darts-minus", "oles", "is-darts", "drnas-progressive"])
def test_methods_that_would_be_darts_on_widths_are_refused(method):
    with refuses(nb.InvalidInputError, "nats-size"):
        optimizer(method).check_space(search_space("nats-size"))


class SpaceOfOwnCells(ChoiceBlockSpace):
    cell = "torch.nn:Identity"


class SpaceOfPlainCells(ChoiceBlockSpace):
    cell_features = ()


class SpaceOfFalseClaims(type(search_space("nats-size"))):
    cell_features = OF_MIXTURES


def test_cells_of_a_space_have_the_features_of_the_benchmark_unless_it_names_others():
    arguments = ("mine", "mine-v1", (1, 1, 2))
    assert ChoiceBlockSpace(*arguments).cell_features == search_space("s1").benchmark.cell_features
    assert SpaceOfOwnCells(*arguments).cell_features == ()
    found = {*search_space("nb201").cell_features, *search_space("s1").cell_features}
    assert found == set(CELL_FEATURES)
    assert search_space("nats-size").cell_features == ()


def test_a_supernet_refuses_what_its_cells_do_not_declare():
    net = Supernet(SpaceOfPlainCells("mine", "mine-v1", (1, 1, 2)), 4, 1, partial_channels=2)
    with refuses(nb.InvalidInputError, "mine"), net.auxiliary_skip(0.5):
        pass
    with net.auxiliary_skip(0.0):
        pass
    with refuses(nb.InvalidInputError, "mine"), net.observed_candidates(print):
        pass
    with refuses(nb.InvalidInputError, "mine", options="channel_sampling"):
        draw_visible_channels(net, generator(0))
    with refuses(nb.InvalidInputError, "mine", options="partial_channels"):
        set_partial_channels(net, 1)


def test_a_supernet_refuses_features_that_its_cells_do_not_have():
    with refuses(nb.InvalidInputError, "nats-size", "auxiliary-skip"):
        Supernet(SpaceOfFalseClaims(), 64, 3)
