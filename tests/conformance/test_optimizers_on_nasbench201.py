"""Optimizers of every kind run on NAS-Bench-201's space: single steps of most, full searches of two.

tests/optimizers/test_cell_features.py trains all of them there.
"""

from typing import Any

import pytest
from test_optimizer_conformance import OPTIONS, BuiltIn
from tiny_search import UNLIKE

from nasbench1shot1.conformance.optimizer import OptimizerConformance, OptimizerStepsConformance
from nasbench1shot1.conformance.tiny_search import random_images, tiny_state

SPACE = "nb201"
OF_EVERY_KIND = (*UNLIKE, "random-ws", "fair-darts", "lambda-darts", "darts-minus", "oles", "sdarts-adv")
"""Methods that compute the supernet in different ways; the others call it as one of these does."""
SEARCHED_WHOLE = ("gdas", "setn")  # sampled operations with a temperature; learned Λ with candidates


class OnNASBench201(BuiltIn):
    @pytest.fixture(params=OF_EVERY_KIND)
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def options(self, optimizer: str) -> dict[str, Any]:
        return {"cells": 1, **OPTIONS[optimizer]}

    @pytest.fixture
    def space(self) -> str:
        return SPACE

    @pytest.fixture
    def searched_space(self) -> str:
        return SPACE


class TestSteps(OnNASBench201, OptimizerStepsConformance):
    pass


class TestSearches(OnNASBench201, OptimizerConformance):
    @pytest.fixture(params=SEARCHED_WHOLE)
    def optimizer(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)


for name in vars(OptimizerStepsConformance):  # TestSteps runs them
    if name.startswith("test_"):
        setattr(TestSearches, name, None)


@pytest.mark.parametrize("optimizer", ["gdas", "random-ws"])
def test_a_convolution_on_a_node_without_inputs_is_not_trained(tmp_path, optimizer):
    """Its output is always zero, but weight decay would change its weights if it were computed."""
    images = str(random_images(tmp_path))
    for seed in (1, 2, 6):  # searches that draw such architectures
        state = tiny_state({"optimizer": optimizer, "space": SPACE, "images": images, "seed": seed})
        OptimizerStepsConformance().test_weight_step_changes_only_computed_weights(state)
