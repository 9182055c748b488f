"""The conformance suite for one-shot optimizers: parts of searches, and complete searches."""
# ruff: noqa: D102  a test's name states what it checks

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
import torch

from nasbench1shot1.conformance.search_steps import (
    SilentReporter,
    batch_mixings,
    begin_epoch,
    change_half,
    computed_weights,
    continue_search,
    few_images,
    give_momentum,
    learn,
    mixings,
    save_and_load,
    train_and_choose,
    weights_per_cell,
)
from nasbench1shot1.conformance.tiny_search import (
    IMAGES_PER_HALF,
    Kill,
    are_identical,
    cached_search,
    differences,
    flatten,
    killed_search,
    random_images,
    resume_search,
    tiny_search,
    tiny_state,
)
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.one_shot_search.loop import batch_pairs, train_epoch
from nasbench1shot1.one_shot_search.options import defaults, search_options
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.one_shot_search.state import SearchState, global_generators
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizer import Mixing, OneShotOptimizer
from nasbench1shot1.registry import name_of_optimizer, one_shot, search_space
from nasbench1shot1.runs.checkpoints import load_checkpoint
from nasbench1shot1.runs.folder import CHECKPOINT
from nasbench1shot1.runs.options import names_without_effect
from nasbench1shot1.scales import SCALES
from nasbench1shot1.space import Choice
from nasbench1shot1.supernets.presets import PRESETS

ROUNDING = 1e-5
"""Tolerance for a sum of mixing weights."""
KILLS = (Kill("training", 1), Kill("recording", 1), Kill("choosing", 2))
"""The moments at which a search is killed; it is resumed after each of them."""


class OptimizerStepsConformance:
    """The tests of `OptimizerConformance` that do not need a complete search."""

    @pytest.fixture
    def optimizer(self) -> str | type[OneShotOptimizer]:
        """Return the optimizer to be tested: its name, its class, or "module:Class"."""
        raise NotImplementedError("override the fixture 'optimizer'")

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        """Return the options of all searches, in addition to the suite's own."""
        return {}

    @pytest.fixture(params=["s1", "s3"])
    def space(self, request: pytest.FixtureRequest) -> str:
        """Return the name of a space; override it if the optimizer does not support s1 or s3."""
        return str(request.param)

    def expected_sum(self, choice: Choice, mixing: Mixing) -> float | None:
        """Return the sum that the mixing weights of a choice must have; None if the optimizer allows any sum.

        The default is 1 or, for a path, whose weights are 0 or 1, the number of picked entries.
        """
        return 1.0 if mixing.path is None else float(choice.picks)

    def can_share_batch(self, state: SearchState, mixing: Mixing) -> bool:
        """Return whether a mixing can be computed in one batch with others, as mixing weights for each image.

        Override it for mixings that weights alone do not describe, and for networks that normalise by the batch.
        """
        return True

    def uses_virtual_step(self, state: SearchState) -> bool:
        """Return whether Λ may depend on batches of the weight half, through steps or an optimum of the weights."""
        return getattr(state.method.hyperparameters, "update", None) in ("second-order", "implicit")

    def decides_on(self, state: SearchState) -> Literal["architecture", "weights"]:
        """Return the half whose images decide about architectures; override it for a method that measures operations on
        images on which they train.
        """
        return "architecture"

    def must_change(self, state: SearchState) -> bool:
        """Return whether a step must change Λ; override it for a method whose Λ has a gradient but need not change."""
        return any(value.requires_grad for value in state.method.parameters.values())

    def has_warm_up(self, state: SearchState) -> bool:
        """Return whether the method accepts `warm_start_epochs`; override it for a method that refuses this option."""
        return True

    @pytest.fixture
    def make_options(
        self,
        optimizer: str | type[OneShotOptimizer],
        options: dict[str, Any],
        tmp_path_factory: pytest.TempPathFactory,
    ) -> Callable[[str], dict[str, Any]]:
        """Return a function from a space's name to all options of a search on it, except the suite's own."""
        name = name_of_optimizer(optimizer)
        images = str(random_images(tmp_path_factory.getbasetemp()))
        return lambda space: {"optimizer": name, "space": space, "images": images, **options}

    @pytest.fixture
    def run_options(self, make_options: Callable[[str], dict[str, Any]], space: str) -> dict[str, Any]:
        """Return all options of a search, except the suite's own."""
        return make_options(space)

    @pytest.fixture
    def state(self, run_options: dict[str, Any]) -> SearchState:
        """Return the state of a search before its first epoch."""
        return tiny_state(run_options)

    # Options ---------------------------------------------------------------------------------------------------

    def test_default_options_are_valid_and_survive_json(self, run_options: dict[str, Any]) -> None:
        base = {name: run_options[name] for name in ("optimizer", "space")}
        space = one_shot(search_space(run_options["space"]))
        for scale, preset in ((scale, preset) for scale in SCALES for preset in PRESETS):
            options = search_options({**base, "scale": scale, "preset": preset})
            disabled = names_without_effect(options.own, (options.common, options.own))
            assert set(defaults(options.method, space, scale, preset)) <= {*options.as_dict(), *disabled}
            assert search_options(json.loads(json.dumps(options.as_dict()))) == options
        with pytest.raises(InvalidInputError, match="no_such_option"):
            search_options({**base, "no_such_option": 1})

    def test_hyperparameters_are_immutable(self, state: SearchState) -> None:
        for field in fields(state.method.hyperparameters):
            with pytest.raises(AttributeError):
                setattr(state.method.hyperparameters, field.name, None)

    # Mixing weights and architecture ---------------------------------------------------------------------------

    def test_supernet_accepts_mixing_weights(self, state: SearchState) -> None:
        for mixing in mixings(state):
            assert mixing.weights is not None or mixing.path is not None
            assert all(tensor.dtype == torch.float32 for tensor in mixing.tensors())
            assert torch.isfinite(state.logits(mixing, few_images(state).images)).all()

    def test_mixing_weights_have_expected_sum(self, state: SearchState) -> None:
        for mixing in mixings(state):
            for weights in weights_per_cell(mixing):
                for choice in state.net.space.choices():
                    if (expected := self.expected_sum(choice, mixing)) is not None:
                        assert abs(float(choice.of(weights).sum()) - expected) < ROUNDING, choice

    def test_batched_mixings_equal_separate_passes(self, state: SearchState) -> None:
        every = [*mixings(state), Mixing(path=state.method.architecture())]
        if not (given := [mixing for mixing in every if self.can_share_batch(state, mixing)]):
            return
        images = few_images(state).images
        state.net.eval()
        with torch.no_grad():
            alone = torch.cat([state.logits(mixing, images) for mixing in given])
            together = batch_mixings(state.net.space, given, len(images))
            torch.testing.assert_close(
                state.logits(together, images.repeat(len(given), 1, 1, 1)), alone, rtol=1e-3, atol=1e-4
            )

    def test_lambda_has_keys_and_shapes_of_space(self, state: SearchState) -> None:
        for epoch in (0, 1):
            train_and_choose(state, epoch)
            shapes = {key: tuple(value.shape) for key, value in state.method.parameters.items()}
            assert shapes == state.net.space.mixing_shapes()
            assert {value.dtype for value in state.method.parameters.values()} == {torch.float32}

    def test_architecture_is_in_space_and_reading_it_has_no_effect(self, state: SearchState) -> None:
        space = state.net.space
        for epoch in (0, 1):
            train_and_choose(state, epoch)
            before = deepcopy(state.method.state_dict())
            arch = state.method.architecture()
            assert space[space.index(arch)] == arch == state.method.architecture()
            assert are_identical(state.method.state_dict(), before)

    # Which steps change which parameters -----------------------------------------------------------------------

    def test_weight_step_changes_only_computed_weights(self, state: SearchState) -> None:
        """Every weight has momentum and weight decay; nevertheless, weights that are not computed do not change."""
        give_momentum(state)
        begin_epoch(state, 1)
        for batch, _ in batch_pairs(state, 1):
            mixing = state.method.mixing()
            before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
            with patch.object(state.method, "mixing", return_value=mixing):
                weight_step(state, batch)
            moved = {name for name, weight in state.net.named_parameters() if not torch.equal(weight, before[name])}
            assert moved == computed_weights(state, mixing, batch)

    def test_weight_steps_keep_lambda_and_architecture_steps_keep_weights(self, state: SearchState) -> None:
        def weights() -> Any:
            moved = [(weight, weight.grad) for weight in state.net.parameters()]
            return deepcopy((moved, state.weight_optimizer.state_dict()))

        begin_epoch(state, 1)
        for weight_batch, architecture_batch in batch_pairs(state, 1):
            before = weights()
            state.method.architecture_step(state.step(weight_batch, architecture_batch))
            assert are_identical(weights(), before)
            parameters = deepcopy(state.method.parameters)
            weight_step(state, weight_batch)
            assert are_identical(state.method.parameters, parameters)
            assert all(value.grad is None for value in state.method.parameters.values())

    @pytest.mark.parametrize("learning_rate", [0.025, 0.0])
    def test_lambda_does_not_depend_on_weight_half(self, run_options: dict[str, Any], learning_rate: float) -> None:
        """Only a virtual step of the weights may use it, and at a learning rate of 0 such a step has no effect.

        Batch norm uses the statistics of the scored images, because recalibration would use images of the weight half.
        """
        state, other = (tiny_state({**run_options, "evaluation_batch_norm": "batch"}) for _ in range(2))
        if self.decides_on(state) == "weights":
            return
        change_half(other, other.split.weights)
        alike = are_identical(learn(state, learning_rate), learn(other, learning_rate))
        assert alike is not (self.uses_virtual_step(state) and learning_rate > 0)

    def test_lambda_depends_on_architecture_half(self, run_options: dict[str, Any], state: SearchState) -> None:
        """Change the labels of that half, several times because a few architectures' errors may be equal by chance."""
        begin_epoch(state, 1)
        unlearned = deepcopy(state.method.state_dict())
        learned, _ = learn(state, 0.025)
        if self.decides_on(state) == "weights":
            change_half(other := tiny_state(run_options), other.split.architecture)
            assert are_identical(learned, learn(other, 0.025)[0]), "Λ depends on the architecture half"
            return
        assert not (self.must_change(state) and are_identical(learned, unlearned)), (
            "no step changes Λ, although it has a gradient"
        )
        others = (tiny_state(run_options) for _ in range(1, state.images.classes))
        for shift, other in enumerate(others, start=1):
            change_half(other, other.split.architecture, shift)
            if are_identical(learned, unlearned) or not are_identical(learned, learn(other, 0.025)[0]):
                return
        raise AssertionError("Λ does not depend on the architecture half's images and labels")

    def test_scores_at_most_announced_images_of_architecture_half(self, state: SearchState) -> None:
        rows: list[int] = []
        scored: list[int] = []
        begin_epoch(state, 1)
        shared = state.shared_weights(1)
        _ = shared.reference  # uses images of the weight half, but not for the method: computed before rows are counted

        def batch(images: ImageSet, wanted: torch.Tensor, real: Any = ImageSet.batch) -> Any:
            rows.extend(wanted.tolist())
            return real(images, wanted)

        def scores(passes: Any, wanted: Any = None, real: Any = shared.scores) -> Any:
            scored.append(len(passes) * (IMAGES_PER_HALF if wanted is None else len(wanted)))
            return real(passes, wanted)

        mixtures = state.method.scored_mixtures
        with patch.object(ImageSet, "batch", batch), patch.object(shared, "scores", scores):
            state.method.end_epoch(shared)
            state.method.choose(shared)
            state.method.end_search(shared)
        decides_on_weights = self.decides_on(state) == "weights"
        half = state.split.weights if decides_on_weights else state.split.architecture
        assert set(rows) <= set(half.tolist())
        sizes = (state.config.batch_size, IMAGES_PER_HALF)
        scorings = [*state.method.scorings(*sizes), *state.method.scorings_at_end(*sizes)]
        announced = sum(architectures * images for architectures, images in scorings)
        announced += mixtures * IMAGES_PER_HALF
        announced += sum(number * images for number, images in state.method.mixture_scorings(*sizes))
        used = len(rows) if decides_on_weights else sum(scored)
        assert used <= announced
        assert bool(used) is bool(announced)

    def test_lambda_does_not_change_during_warm_up(self, run_options: dict[str, Any], state: SearchState) -> None:
        options = {**run_options, "warm_start_epochs": 1, "epochs": 3}
        if not self.has_warm_up(state):
            with pytest.raises(InvalidInputError, match="warm_start_epochs"):
                tiny_state(options)
            return
        state = tiny_state(options)
        at_begin: list[Any] = []

        def begin_and_copy(*arguments: Any, real: Any = state.method.begin_epoch) -> None:
            real(*arguments)
            at_begin.append(deepcopy((state.method.state_dict(), state.method.parameters)))

        weights = deepcopy(state.net.state_dict())
        with patch.object(state.method, "begin_epoch", begin_and_copy):
            train_epoch(state, 1, SilentReporter())
        assert are_identical([(state.method.state_dict(), state.method.parameters)], at_begin)
        assert not are_identical(state.net.state_dict(), weights)

    # Randomness and state --------------------------------------------------------------------------------------

    def test_random_numbers_come_from_given_generators(self, state: SearchState) -> None:
        before, generator = global_generators(), torch.Generator().manual_seed(0)
        type(state.method)(state.net.space, state.method.hyperparameters, generator, state.method.device)
        assert len(list(mixings(state))) == 4
        state.method.end_search(state.shared_weights(1))
        assert global_generators() == before

    def test_loaded_state_continues_identically(self, run_options: dict[str, Any], state: SearchState) -> None:
        train_and_choose(state, 1)
        fresh = tiny_state({**run_options, "seed": 1}).method
        fresh.load_state_dict(save_and_load(state.method.state_dict()))
        assert are_identical(continue_search(state, state.method), continue_search(state, fresh))

    def test_finished_search_continues_from_saved_state(self, run_options: dict[str, Any], state: SearchState) -> None:
        """A finished search can therefore be continued for more epochs; its end never changes the supernet."""
        train_and_choose(state, 1)
        before, weights = save_and_load(state.method.state_dict()), deepcopy(state.net.state_dict())
        state.method.end_search(state.shared_weights(1))
        final = state.method.architecture()
        assert state.net.space[state.net.space.index(final)] == final
        assert are_identical(state.net.state_dict(), weights)
        state.method.load_state_dict(deepcopy(before))  # Adam updates the moments that it loads in place
        fresh = tiny_state({**run_options, "seed": 1}).method
        fresh.load_state_dict(before)
        assert are_identical(continue_search(state, state.method), continue_search(state, fresh))

    def test_incomplete_state_is_rejected(self, state: SearchState) -> None:
        for name in (whole := save_and_load(state.method.state_dict())):
            with pytest.raises((KeyError, RuntimeError, ValueError, TypeError)):
                state.method.load_state_dict({key: value for key, value in whole.items() if key != name})


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
        space = one_shot(search_space(uninterrupted.config["space"]))
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
        run = tiny_search(tmp_path / "run", {**full_search_options, "precision": "bfloat16"})
        stored = flatten(load_checkpoint(run.folder / CHECKPOINT))
        tensors = [value for value in stored.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
        assert len(tensors) > 50
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in tensors)
        assert all(np.isfinite(history).all() for history in run.architecture_parameters.values())
