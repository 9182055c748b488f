"""Estimated duration of an epoch, with a clock that ticks at every call."""

from copy import deepcopy
from itertools import count

import pytest
from tiny_search import FOR_CELLS, FOR_TINY, tiny_state

from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.conformance.tiny_search import are_identical
from nasbench1shot1.one_shot_search import estimate, loop, measurements
from nasbench1shot1.one_shot_search.measurements import MOST_ITERATIONS

SELECTING = ("random-ws", "enas", "setn", "spos", "is-darts")


@pytest.fixture(autouse=True)
def ticking_clock(monkeypatch):
    ticks = count()
    monkeypatch.setattr("nasbench1shot1.one_shot_search.estimate.time.perf_counter", lambda: float(next(ticks)))


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
def test_the_estimate_counts_every_image_of_a_selection(optimizer, options, batch_norm):
    state = tiny_state(optimizer=optimizer, evaluation_batch_norm=batch_norm, **options)
    shared, timed = state.shared_weights(0), 2 * state.config.batch_size
    wanted = 0.0
    for architectures, images in state.method.scorings(state.config.batch_size, len(state.split.architecture)):
        together = min(architectures, estimate.TIMED_ARCHITECTURES)
        wanted += shared.images_passed(architectures, images) / shared.images_passed(together, timed)
    scorings = state.method.scorings(state.config.batch_size, len(state.split.architecture))
    assert estimate._seconds_to_score(state, scorings) == pytest.approx(wanted)
    assert (wanted > 0) is (optimizer != "darts")


def test_the_estimate_assumes_all_power_iterations(monkeypatch):
    asked = []

    def looks(state, epoch, most_iterations):
        asked.append(most_iterations)
        for _ in range(10 + most_iterations):
            estimate.time.perf_counter()
        return 1.0

    monkeypatch.setattr(estimate, "dominant_eigenvalue", looks)
    assert estimate._seconds_of_the_eigenvalue(tiny_state()) == 0
    seconds = estimate._seconds_of_the_eigenvalue(tiny_state(hessian_eigenvalue=True))
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
def test_every_method_gets_an_estimate_without_a_search(optimizer):
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


@pytest.mark.parametrize("optimizer", FOR_CELLS)
@pytest.mark.parametrize("is_started", [False, True])
def test_estimating_does_not_change_the_search(optimizer, is_started):
    """The estimate before the first epoch and between two epochs."""
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
    assert len(steps) == 1 + estimate.TIMED_STEPS


def test_a_failed_estimate_leaves_the_search_unchanged(monkeypatch):
    state = tiny_state()
    before = deepcopy(state.net.state_dict())
    monkeypatch.setattr(estimate, "_seconds_to_evaluate", lambda state: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        estimate.expected_seconds(state, 2)
    assert are_identical(state.net.state_dict(), before)
