"""The conformance suite for one-shot optimizers: complete searches, and all tests in `optimizer_steps`."""
# ruff: noqa: D102  a test's name states what it checks

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nasbench1shot1 import registry
from nasbench1shot1.conformance.optimizer_steps import OptimizerStepsConformance
from nasbench1shot1.conformance.tiny_search import (
    Kill,
    cached_search,
    differences,
    flatten,
    killed_search,
    resume_search,
    tiny_search,
)
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.runs.checkpoints import load_checkpoint
from nasbench1shot1.runs.folder import CHECKPOINT

KILLS = (Kill("training", 1), Kill("recording", 1), Kill("choosing", 2))
"""The moments at which a search is killed; it is resumed after each of them."""


class OptimizerConformance(OptimizerStepsConformance):
    """Tests of a one-shot optimizer. Subclass this class in a test module and provide the fixture `optimizer`.

    Override the fixture `options` if the optimizer needs other options for short searches. Searches take 2 epochs on
    10 + 10 random images, with 2 channels × 2 cells, on the CPU.
    """

    @pytest.fixture
    def searched_space(self) -> str:
        """Return the name of the space for complete searches; override it if the optimizer does not support s3."""
        return "s3"

    @pytest.fixture
    def full_search_options(self, make_options: Callable[[str], dict[str, Any]], searched_space: str) -> dict[str, Any]:
        """Return all options of a complete search, except the suite's own."""
        return make_options(searched_space)

    @pytest.fixture
    def uninterrupted(self, full_search_options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Run:
        """Return a complete, uninterrupted search; it runs on first use."""
        return cached_search(tmp_path_factory.getbasetemp(), full_search_options)

    def test_every_epoch_is_recorded_with_its_lambda(self, uninterrupted: Run) -> None:
        space = registry.one_shot(registry.search_space(uninterrupted.config["space"]))
        assert [line["epoch"] for line in uninterrupted.lines] == [0, 1, 2]
        assert [line["train_loss"] is None for line in uninterrupted.lines] == [True, False, False]
        assert all(
            0 <= line["one_shot_validation_error"] <= 1 and line["test_regret"] >= 0 for line in uninterrupted.lines
        )
        assert all(space[space.index(arch)] == arch for arch in uninterrupted.architectures)
        shapes = {key: history.shape for key, history in uninterrupted.architecture_parameters.items()}
        assert shapes == {key: (3, *shape) for key, shape in space.mixing_shapes().items()}

    def test_same_seed_gives_identical_runs(
        self, uninterrupted: Run, full_search_options: dict[str, Any], tmp_path: Path
    ) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.rand(1)  # the global generator's state must not matter
            assert differences(uninterrupted, tiny_search(tmp_path / "run", full_search_options)) == []

    def test_killed_and_resumed_search_equals_uninterrupted_search(
        self, uninterrupted: Run, full_search_options: dict[str, Any], tmp_path: Path
    ) -> None:
        for kill in KILLS:
            killed_search(tmp_path / "run", full_search_options, kill)
        assert differences(uninterrupted, resume_search(tmp_path / "run")) == []

    def test_bfloat16_search_saves_finite_float32_tensors(
        self, full_search_options: dict[str, Any], tmp_path: Path
    ) -> None:
        run = tiny_search(tmp_path / "run", {**full_search_options, "precision": "bfloat16", "epochs": 1})
        stored = flatten(load_checkpoint(run.folder / CHECKPOINT))
        tensors = [value for value in stored.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
        assert len(tensors) > 50
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in tensors)
        assert all(np.isfinite(history).all() for history in run.architecture_parameters.values())
