"""TAS, FBNetV2 and TuNAS pass the conformance suite on the size space, and other methods search it, too."""

from typing import Any

import pytest
from refusals import refuses
from test_optimizer_conformance import OPTIONS

from nasbench1shot1.conformance.optimizer import OptimizerConformance, OptimizerStepsConformance
from nasbench1shot1.conformance.tiny_search import random_images, tiny_state
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.registry import BUILT_IN

SPACE = "nats-size"
SIZES = {"channels": 64, "cells": 3, "image_side": 4}
WIDTH_METHODS = ("tas", "fbnetv2", "tunas")
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {"optimizer": name} for name in WIDTH_METHODS},
    "TuNAS as published": {"optimizer": "tunas", "preset": "original"},
}


def test_every_built_in_optimizer_is_tested():
    assert {*OPTIONS, *WIDTH_METHODS} == set(BUILT_IN["optimizers"])


class OnSizeSpace:
    def can_share_batch(self, state: SearchState, mixing: Mixing) -> bool:
        """Not TAS's pairs of widths; and the published supernet evaluates with the statistics of the batch."""
        return state.net.last.bn.track_running_stats and not is_pair(mixing.operations)

    @pytest.fixture
    def space(self) -> str:
        return SPACE

    @pytest.fixture
    def searched_space(self) -> str:
        return SPACE


def is_pair(operations: Any) -> bool:
    """Whether the choice of the first layer is a pair of widths."""
    return operations is not None and isinstance(operations[0], tuple)


class TestSteps(OnSizeSpace, OptimizerStepsConformance):
    @pytest.fixture(params=VARIANTS)
    def variant(self, request: pytest.FixtureRequest) -> dict[str, Any]:
        return VARIANTS[request.param]

    @pytest.fixture
    def optimizer(self, variant: dict[str, Any]) -> str:
        return str(variant["optimizer"])

    @pytest.fixture
    def options(self, variant: dict[str, Any]) -> dict[str, Any]:
        no_warm_up = {"warm_up_ratio": 0.0} if variant["optimizer"] in WIDTH_METHODS else {}
        return {**SIZES, **no_warm_up, **variant}


class TestSearches(OnSizeSpace, OptimizerConformance):
    """The first of two epochs is the warm-up."""

    @pytest.fixture(params=WIDTH_METHODS)
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {**SIZES, "warm_up_ratio": 0.5}


for name in vars(OptimizerStepsConformance):  # TestSteps runs them
    if name.startswith("test_"):
        setattr(TestSearches, name, None)


@pytest.mark.parametrize("space", ["s1", "nb201"])
@pytest.mark.parametrize("optimizer", WIDTH_METHODS)
def test_methods_for_widths_refuse_other_spaces(tmp_path, optimizer, space):
    images = {"images": str(random_images(tmp_path))}
    with refuses(InvalidInputError, space, options="space"):
        tiny_state({"optimizer": optimizer, "space": space, **images})
    with refuses(InvalidInputError, space, options="relaxation space"):
        tiny_state({"optimizer": "darts", "relaxation": "interpolation", "space": space, "cells": 1, **images})


def test_partial_channels_and_other_sizes_are_refused(tmp_path):
    given = {"space": SPACE, "images": str(random_images(tmp_path)), **SIZES}
    with refuses(InvalidInputError, SPACE, "PC-DARTS"):
        tiny_state({"optimizer": "pc-darts", **given})
    for name, value in (("channels", 32), ("cells", 6)):
        with refuses(InvalidInputError, str(value), options=name):
            tiny_state({"optimizer": "tas", **given, name: value})
