"""Estimated duration of a search, with a clock that ticks at every call."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
import torch
from refusals import refuses
from tiny_search import FOR_CELLS, FOR_TINY, UNLIKE, generator, measure_eigenvalues_roughly, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.conformance.tiny_search import are_identical
from nasbench1shot1.one_shot_search import estimate, loop, measurements, meters
from nasbench1shot1.one_shot_search.beginning import constrain
from nasbench1shot1.one_shot_search.loop import begin_epoch
from nasbench1shot1.one_shot_search.measurements import MOST_ITERATIONS
from nasbench1shot1.one_shot_search.options import search_options

CLOCK = meters.Clock()
SIZES = {"channels": 64, "cells": 3}  # the only supernet of nats-size
SELECTING = ("random-ws", "enas", "setn", "spos", "is-darts")


@pytest.fixture(autouse=True)
def ticking_clock(monkeypatch):
    ticks = count()
    monkeypatch.setattr(meters.time, "perf_counter", lambda: float(next(ticks)))


@pytest.mark.parametrize("batch_norm", ["batch", "recalibrated"])
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        ("random-ws", {}),
        ("random-ws", {"finalists": 1}),
        ("enas", {"controller_steps": 7}),
        ("setn", {}),
        ("darts", {}),
    ],
)
def test_the_estimate_counts_every_image_of_a_selection(optimizer, options, batch_norm, monkeypatch):
    state = tiny_state(optimizer=optimizer, evaluation_batch_norm=batch_norm, **options)
    monkeypatch.setattr(meters.Clock, "scored_images", 30)
    shared, wanted = state.shared_weights(0), 0.0
    for architectures, images in state.method.scorings(state.config.batch_size, len(state.split.architecture)):
        together = min(architectures, meters.TIMED_ARCHITECTURES)
        wanted += shared.images_passed(architectures, images) / shared.images_passed(together, min(images, 30))
    scorings = state.method.scorings(state.config.batch_size, len(state.split.architecture))
    assert estimate.cost_to_score(state, scorings, CLOCK) == pytest.approx(wanted)
    assert (wanted > 0) is (optimizer != "darts")


def test_the_estimate_assumes_all_power_iterations(monkeypatch):
    asked = []

    def looks(state, epoch, most_iterations):
        asked.append(most_iterations)
        for _ in range(10 + most_iterations):
            meters.time.perf_counter()
        return 1.0

    monkeypatch.setattr(estimate, "dominant_eigenvalue", looks)
    seconds = estimate._cost_of_the_eigenvalue(tiny_state(hessian_eigenvalue=True), CLOCK)
    assert asked == [1, 2]
    assert seconds == 1 + 10 + MOST_ITERATIONS


def test_fewer_power_iterations_are_estimated_as_fewer(monkeypatch):
    state, products = tiny_state(), []
    real = measurements.torch.autograd.grad

    def counted(*arguments, **options):
        products.append("grad_outputs" in options)
        return real(*arguments, **options)

    monkeypatch.setattr(measurements.torch.autograd, "grad", counted)
    measurements.dominant_eigenvalue(state, 1, 2)
    assert sum(products) == 2


@pytest.mark.parametrize("optimizer", FOR_CELLS)
def test_every_method_gets_an_estimate_without_a_search(optimizer, monkeypatch):
    measure_eigenvalues_roughly(monkeypatch)
    options = FOR_TINY.get(optimizer, {}) | ({} if optimizer in SELECTING else {"hessian_eigenvalue": True})
    config = tiny_state(optimizer=optimizer, **options).options
    assert 0 < estimate.seconds_per_epoch(config) < float("inf")


def searched_on(state, epoch: int):
    """State after an epoch: weights, momentum, method and preferred architecture."""
    outcome = loop.evaluate(state, 0) if epoch == 0 else None
    training = loop.train_epoch(state, epoch, SilentReporter()) if epoch else None
    outcome = outcome or loop.evaluate(state, epoch)
    moved = (state.net.state_dict(), state.weight_optimizer.state_dict(), state.method.state_dict())
    return deepcopy(moved), [outcome.one_shot_error, str(outcome.architecture), outcome.parameters, training]


@pytest.mark.parametrize(
    ("optimizer", "is_started"),
    [
        *((name, True) for name in (*UNLIKE, "random-ws", "spos", "oles", "darts-minus")),
        *((name, False) for name in UNLIKE),
    ],
)
def test_estimating_does_not_change_the_search(optimizer, is_started, monkeypatch):
    """The estimate before the first epoch and between two epochs."""
    measure_eigenvalues_roughly(monkeypatch)
    options = FOR_TINY.get(optimizer, {}) | ({} if optimizer in SELECTING else {"hessian_eigenvalue": True})
    options |= {"images_per_half": 20, "batch_size": 10, "epochs": 4}
    found = []
    for estimates in (False, True):
        state = tiny_state(optimizer=optimizer, **options)
        if is_started:
            searched_on(state, 1)
        if estimates:
            was_training, before = state.net.training, deepcopy(state.net.state_dict())
            assert 0 < estimate.expected_seconds(state, 2) < float("inf")
            assert state.net.training is was_training
            assert are_identical(state.net.state_dict(), before)
            assert is_started or all(parameter.grad is None for parameter in state.net.parameters())
        found.append([searched_on(state, epoch) for epoch in ((2, 3) if is_started else (0, 1))])
    assert are_identical(*found)


def test_estimating_takes_few_steps_and_no_second_network(monkeypatch):
    state, steps = tiny_state(batch_size=4), []
    real = loop.weight_step
    monkeypatch.setattr(loop, "weight_step", lambda *arguments: steps.append(arguments) or real(*arguments))
    monkeypatch.setattr(estimate, "begin", None)
    estimate.expected_seconds(state, 2)
    assert len(steps) == 1 + meters.TIMED_STEPS


def test_a_failed_estimate_leaves_the_search_unchanged(monkeypatch):
    state = tiny_state()
    before = deepcopy(state.net.state_dict())
    monkeypatch.setattr(estimate, "_cost_to_evaluate", lambda state, epoch, meter: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        estimate.expected_seconds(state, 2)
    assert are_identical(state.net.state_dict(), before)


# Phases and excluded candidates ---------------------------------------------------------------------------------------

DECIDING = {
    "sgas": {"decision_start": 2, "decision_interval": 1, "batch_increase": 0, "epochs": 8},
    "darts-pt": {"selection_epochs": 4, "epochs": 6},
    "is-darts": {"shrink_steps": 3, "shrink_interval": 1, "epochs": 5},
}
"""Searches that exclude candidates step by step."""


def left_in(space: nb.OneShotSpace, structure: Mapping[str, Any]) -> list[int]:
    """Return how many entries of each choice a recorded structure has left."""
    return [len(structure.get(str(choice), range(choice.entries))) for choice in space.choices()]


@pytest.mark.parametrize("space", ["s1", "nb201"])
@pytest.mark.parametrize("optimizer", DECIDING)
def test_a_rehearsal_excludes_as_many_candidates_as_the_search(optimizer, space, tmp_path):
    options = {"optimizer": optimizer, "space": space, **DECIDING[optimizer]}
    run, found = search(tmp_path / "run", **options), nb.search_space(space)
    counts = (lambda left, choice: left > choice.picks) if optimizer != "is-darts" else lambda left, choice: left
    state, shares, choices = tiny_state(**options), [], found.choices()
    for epoch in range(1, options["epochs"] + 1):
        before = left_in(found, run.lines[epoch - 1].get("structure", {}))
        state.method.rehearse(epoch, state.phases)
        rehearsed = left_in(found, state.method.structure())
        assert sum(map(counts, before, choices)) == sum(map(counts, rehearsed, choices))
        shares.append(state.method.remaining_share(epoch, state.phases))
        if optimizer == "is-darts":
            excludable = sum(choice.entries - choice.picks for choice in choices)
            assert shares[-1] == pytest.approx(1 - (sum(c.entries for c in choices) - sum(before)) / excludable)
        else:
            of = sum(c.entries > c.picks for c in choices) if optimizer == "sgas" else len(choices)
            assert shares[-1] == pytest.approx(1 - sum(map(lambda left, c: left == c.picks, before, choices)) / of)
    assert shares == sorted(shares, reverse=True) and shares[0] == 1 and shares[-1] < 1


def test_times_are_interpolated_by_the_share_of_candidates_that_is_left(monkeypatch):
    state = tiny_state(optimizer="sgas", images_per_half=60, **DECIDING["sgas"])
    rehearsed = []

    def timed(state, epoch, share, scores_mixings, meter):
        rehearsed.append(epoch)
        return estimate._Costs(share, image=1.0 + share, error=10 * share, mixing=0.0)

    monkeypatch.setattr(estimate, "_costs_of", timed)
    shares = [state.method.remaining_share(epoch, state.phases) for epoch in range(3, 9)]
    assert estimate.expected_seconds(state, 6) == pytest.approx(
        sum(60 * (1 + share) + 10 * share for share in shares) + 10 * shares[0]  # the error before training, too
    )
    assert len(set(shares)) > 2 and rehearsed == [3, 8]


def test_every_stage_is_rehearsed_with_its_channels_and_operations(monkeypatch):
    state = tiny_state(optimizer="drnas-progressive", channels=4, epochs=8, warm_start_epochs=1)
    seen, real = [], meters.Clock.per_image

    def spied(clock, state, epoch):
        seconds = real(clock, state, epoch)
        excluded = any("operations" in name for name in state.method.structure())
        seen.append((epoch, state.net.partial_channels, state.phase(epoch).moves_parameters, excluded))
        return seconds

    monkeypatch.setattr(meters.Clock, "per_image", spied)
    estimate.expected_seconds(state, 8)
    assert seen == [(1, 4, False, False), (4, 4, True, False), (5, 2, False, True), (8, 2, True, True)]
    assert state.net.partial_channels == 4 and not state.method.allowed.is_restricted


def test_the_steps_of_lambda_after_several_weight_steps_are_timed_in_proportion(monkeypatch):
    state = tiny_state(optimizer="idarts", space="s1", images_per_half=60, batch_size=5, weight_steps=3)
    moved, weights = [], []
    monkeypatch.setattr(type(state.method), "architecture_step", lambda self, step: moved.append(len(weights)))
    real = loop.weight_step
    monkeypatch.setattr(loop, "weight_step", lambda *given: weights.append(1) or real(*given))
    CLOCK.per_image(state, 1)
    assert moved == [0, 3] and len(weights) == 4  # the first step is not timed


def test_the_best_epoch_of_gaea_costs_a_further_evaluation(monkeypatch):
    monkeypatch.setattr(meters.Clock, "per_image", lambda clock, state, epoch: 0.0)
    monkeypatch.setattr(estimate, "_cost_to_evaluate", lambda state, epoch, meter: 5.0)
    monkeypatch.setattr(estimate, "_cost_per_scored_image", lambda state, epoch, meter: 1.0)
    plain, best = (tiny_state(optimizer="gaea", returned_epoch=which) for which in ("last", "best"))
    passed = best.shared_weights(0).images_passed(1, len(best.split.architecture))
    assert estimate.expected_seconds(plain, 4) == 5 * 5
    assert estimate.expected_seconds(best, 4) == 5 * (5 + passed)


def test_previews_and_measures_of_candidates_are_counted(monkeypatch):
    monkeypatch.setattr(meters.Clock, "per_image", lambda clock, state, epoch: 0.0)
    monkeypatch.setattr(estimate, "_cost_to_evaluate", lambda state, epoch, meter: 0.0)
    monkeypatch.setattr(estimate, "_cost_per_scored_image", lambda state, epoch, meter: 1.0)
    for images, halves in (("weight-half", 1), ("all", 2)):
        state = tiny_state(optimizer="is-darts", training_images=images, preview_batches=1, **DECIDING["is-darts"])
        shared, half = state.shared_weights(0), len(state.split.architecture)
        previews = 6 * shared.images_passed(1, state.config.batch_size)  # before training, too
        assert estimate.expected_seconds(state, 5) == previews + 3 * halves * shared.images_passed(1, half)


def test_the_rehearsal_has_the_bounds_of_the_search(monkeypatch):
    from nasbench1shot1.optimizers.components import expectation

    penalties, real = [], expectation.excess
    monkeypatch.setattr(expectation, "excess", lambda *given: penalties.append(given) or real(*given))
    state = tiny_state(space="s1", batch_size=4, cost_weight=1.0, max_parameters=2e6)
    constrain(state)
    assert estimate.expected_seconds(state, 2) > 0 and len(penalties) == 1 + meters.TIMED_STEPS
    penalties.clear()
    assert estimate.seconds_per_epoch(state.options) > 0 and len(penalties) == 1 + meters.TIMED_STEPS


def test_noisy_evaluations_pass_the_reference_images_for_every_batch(monkeypatch):
    monkeypatch.setattr(estimate, "MIXED_BATCH", 10)
    quiet, noisy = (tiny_state(optimizer="drnas", evaluation_noise=noise) for noise in (False, True))
    once, often = (estimate._cost_to_evaluate(state, 1, CLOCK) for state in (quiet, noisy))
    passed = [quiet.shared_weights(0).images_passed(parts, 40 // parts) for parts in (1, 4)]
    assert often / once == pytest.approx(passed[1] / passed[0])


def only_scoring(monkeypatch, seconds: float = 1.0) -> None:
    """Let scoring a mixing take time per image, and nothing else."""
    monkeypatch.setattr(meters.Clock, "per_image", lambda clock, state, epoch: 0.0)
    monkeypatch.setattr(estimate, "_cost_to_evaluate", lambda state, epoch, meter: 0.0)
    monkeypatch.setattr(estimate, "_cost_per_scored_image", lambda state, epoch, meter: seconds)


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_every_scoring_of_darts_pt_is_counted(space, monkeypatch):
    only_scoring(monkeypatch)
    state = tiny_state(optimizer="darts-pt", space=space, selection_epochs=4, epochs=8)
    entries = sum(choice.entries for choice in nb.search_space(space).choices())
    passed = state.shared_weights(0).images_passed(1, len(state.split.architecture))
    assert estimate.expected_seconds(state, 8) == entries * passed
    state.method.rehearse(7, state.phases)
    left = sum(len(state.method.allowed[number]) for number in state.method.allowed.undecided)
    assert 0 < left < entries
    assert estimate.expected_seconds(state, 2) == left * passed


def test_only_exclusion_steps_that_are_left_are_counted(monkeypatch):
    only_scoring(monkeypatch)
    state = tiny_state(optimizer="is-darts", preview_batches=1, shrink_steps=4, shrink_interval=1, epochs=6)
    passed = state.shared_weights(0).images_passed(1, len(state.split.architecture))
    preview = state.shared_weights(0).images_passed(1, state.config.batch_size)
    found = []
    for epoch in range(1, 7):
        begin_epoch(state, epoch)
        state.method.end_epoch(state.shared_weights(epoch))
        state.epoch, saved = epoch, deepcopy(state.method.state_dict())
        resumed = tiny_state(optimizer="is-darts", preview_batches=1, shrink_steps=4, shrink_interval=1, epochs=6)
        resumed.method.load_state_dict(saved)
        resumed.epoch = epoch
        if epoch < 6:
            found.append((estimate.expected_seconds(resumed, 6 - epoch) - (6 - epoch) * preview) / passed)
    assert found == [4, 3, 2, 1, 0]


def test_stages_with_equal_channels_are_rehearsed_apart(monkeypatch):
    state = tiny_state(
        optimizer="drnas-progressive",
        channels=4,
        epochs=8,
        warm_start_epochs=0,
        partial_channels=2,
        second_partial_channels=2,
    )
    monkeypatch.setattr(meters.Clock, "per_image", lambda clock, state, e: float(state.method.stage + (e > 4)))
    monkeypatch.setattr(estimate, "_cost_to_evaluate", lambda state, epoch, meter: 0.0)
    assert estimate.expected_seconds(state, 8) == 40 * 4 * (1 + 2)


@pytest.mark.parametrize(("batch_norm", "batches"), [("batch", 1), ("recalibrated", 200)])
def test_spos_counts_and_needs_images_of_recalibration_only_if_it_recalibrates(batch_norm, batches):
    options = search_options({"optimizer": "spos", "preset": "original", "evaluation_batch_norm": batch_norm})
    assert options.own.recalibration_batches == batches
    space = nb.search_space("s1")
    method = options.method(space, options.own, generator(0), torch.device("cpu"))
    assert method.scorings_at_end(64, 20_000) == [(20 * 50, 8000 + (batches - 1) * 128)]
    if batches == 1:
        method.check_images(100, 8000)
    else:
        with refuses(nb.InvalidInputError, 100, options="recalibration_batches"):
            method.check_images(100, 8000)


@pytest.mark.parametrize(
    ("optimizer", "space", "options"),
    [
        ("gdas", "s1", {}),
        ("gdas", "s1", {"evaluation_noise": True, "draws": 2}),
        ("tas", "nats-size", SIZES),
        ("fbnetv2", "nats-size", {**SIZES, "evaluation_noise": True}),
        ("tunas", "nats-size", {**SIZES, "max_flops": 1e8}),
    ],
)
def test_counted_flops_do_not_depend_on_the_network_that_a_search_prefers(optimizer, space, options):
    """Rounding decides which network a search prefers after a few steps; here, Λ itself is reversed."""
    counted = []
    for sign in (1, -1):
        state = tiny_state(optimizer=optimizer, space=space, **options)
        constrain(state)
        meter = meters.FlopMeter()
        with torch.no_grad():
            for value in state.method.parameters.values():
                value.copy_(sign * torch.linspace(-1, 1, value.numel()).reshape(value.shape))
        preferred = state.method.architecture()
        counted.append((preferred, list(estimate._cost_to_evaluate(state, 1, meter))))
    (first, forward), (second, again) = counted
    assert first != second and forward == again and forward[0] > 0 == forward[1]


def test_the_counted_networks_differ_and_are_within_the_bounds():
    state = tiny_state(optimizer="tunas", space="nats-size", max_flops=1e8, **SIZES)
    constrain(state)
    paths = [mixing.path for mixing in meters.FlopMeter().evaluations(state)]
    assert len(paths) == meters.COUNTED_EVALUATIONS and len(set(paths)) > 1
    assert all(map(state.method.constraint.allows, paths))


def test_counting_steps_does_not_move_lambda():
    state = tiny_state(optimizer="gdas", space="s1", batch_size=4)
    state.method.rehearse(1, state.phases)
    before, weights = deepcopy(state.method.parameters), deepcopy(state.net.state_dict())
    flops = meters.FlopMeter().per_image(state, 1)
    assert flops.min() > 0 and are_identical(state.method.parameters, before)
    assert not are_identical(state.net.state_dict(), weights)  # the steps took place
