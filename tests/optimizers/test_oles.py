"""OLES: the measure of an operation, when it is frozen, and what a resumed search knows."""

import math

import numpy as np
import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_search import TINY, search, tiny_batch, tiny_state
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizer import SearchStep, WeightStep


def observed(summed: bool):
    """Return the measures of one step, and the gradients of both halves on a tiny supernet in float64."""
    state = tiny_state(optimizer="oles", cells=2, window=4, summed_gradients=summed)
    net, method = state.net.double().train(), state.method
    method.parameters = {key: value.detach().double().requires_grad_() for key, value in method.parameters.items()}
    weights, first, second = dict(net.named_parameters()), tiny_batch(seed=1, side=16), tiny_batch(seed=2, side=16)

    def loss_at(_, mixing, batch):
        return F.cross_entropy(net(batch.images, *mixing.arguments()), batch.labels)

    with torch.no_grad():
        mixing = method.mixing()
    found = [torch.autograd.grad(loss_at(None, mixing, batch), list(weights.values())) for batch in (first, second)]
    trained, other = (dict(zip(weights, gradients, strict=True)) for gradients in found)
    for name, weight in weights.items():
        weight.grad = trained[name]
    method.adjust_gradients(WeightStep(mixing, first, torch.zeros(()), weights, net.operation_weights, None))
    method._compare(SearchStep(None, None, loss_at, weights, net.operation_weights, first, second, None))
    return method, net, trained, other


@pytest.mark.parametrize("summed", [False, True])
def test_the_measure_is_the_mean_cosine_of_the_gradients_on_the_two_halves(summed):
    method, net, trained, other = observed(summed)
    assert set(method.cosines) == set(net.operation_weights)
    for operation, names in net.operation_weights.items():
        cosines = []
        for name in names:
            a, b = trained[name].numpy(), (trained[name] * summed + other[name]).numpy()
            norms = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
            cosines.append(((a * b).sum(axis=0) / np.maximum(norms, 1e-16)).mean())
        assert method.cosines[operation] == [pytest.approx(np.mean(cosines), rel=1e-6)]


def test_the_thresholds_correspond_to_each_other():
    assert math.sqrt((1 - 0.68) / 2) == pytest.approx(0.4)


def test_every_operation_with_weights_is_found_at_every_place():
    for space, wanted in (("s1", 4 * 2 * 3), ("nb201", 6 * 2 * 3)):
        names = tiny_state(optimizer="darts", space=space, cells=3).net.operation_weights
        assert len(names) == wanted
        assert all(len(weights) >= 1 for weights in names.values())


def test_frozen_operations_keep_every_bit_and_are_recorded():
    state = tiny_state(optimizer="oles", threshold=1.0, window=1)  # every operation is frozen at the first comparison
    list(training_steps(state, 1))
    frozen = set(state.method.frozen_weights())
    assert set(state.method.structure()["frozen"]) == set(state.net.operation_weights)
    before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
    list(training_steps(state, 2))
    moved = {name for name, weight in state.net.named_parameters() if not torch.equal(weight, before[name])}
    assert moved
    assert not moved & frozen


def test_nothing_is_frozen_before_a_window_is_full():
    state = tiny_state(optimizer="oles", threshold=1.0, window=3)
    list(training_steps(state, 1))  # one comparison in the two steps of an epoch
    assert not state.method.frozen
    assert {len(seen) for seen in state.method.cosines.values()} == {1}


@pytest.mark.parametrize("relaxation", ["softmax", "gumbel-operations"])
def test_a_search_that_freezes_nothing_equals_darts_in_weights_statistics_and_lambda(relaxation):
    states = [
        tiny_state(optimizer="darts", relaxation=relaxation),
        tiny_state(optimizer="oles", relaxation=relaxation, threshold=-1.0, window=3),
    ]
    for state in states:
        for epoch in (1, 2):
            list(training_steps(state, epoch))
    assert states[1].method.cosines
    darts, ours = ({**state.net.state_dict(), **state.method.parameters} for state in states)
    assert any("running_mean" in name for name in darts)
    assert all(torch.equal(value, ours[name]) for name, value in darts.items())


def test_an_operation_has_no_value_in_steps_that_do_not_sample_it():
    found = {}
    for kind in ("kept", "decayed", "decayed-after-use"):
        options = {"relaxation": "gumbel-operations", "images_per_half": 120, "architecture_learning_rate": 0.0}
        state = tiny_state(optimizer="oles", window=100, epochs=30, unused_weights=kind, **options)
        list(training_steps(state, 1))
        assert all(value != 0 for values in state.method.cosines.values() for value in values)
        found[kind] = {operation: len(values) for operation, values in state.method.cosines.items()}
    assert found["decayed"] == found["decayed-after-use"] == found["kept"]
    assert found["kept"]


def test_a_stopped_search_continues_with_the_same_frozen_operations(tmp_path):
    options = {"optimizer": "oles", "threshold": 0.3, "window": 2}
    whole = search(tmp_path / "whole", **options)

    class Stop(Exception):
        pass

    def stop(epoch):
        if epoch.line["epoch"] == 2:
            raise Stop

    with pytest.raises(Stop):
        search(tmp_path / "stopped", callbacks=[stop], **options)
    resumed = nb.search(resume=tmp_path / "stopped", console=Console(quiet=True))
    assert "structure" in whole.lines[-1]
    assert "structure" in whole.metrics
    for ours, wanted in zip(resumed.lines, whole.lines, strict=True):
        assert {k: v for k, v in ours.items() if "seconds" not in k} == {
            k: v for k, v in wanted.items() if "seconds" not in k
        }
    assert len(whole.lines) == TINY["epochs"] + 1


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"warm_start_epochs": 3, "epochs": 5}, 2),  # two epochs of two steps, without the first step of each
        ({"epochs": 3}, 3),
        ({"epochs": 3, "weights_first": True}, 6),  # a weight step precedes every step of Λ
    ],
)
def test_a_window_is_compared_with_the_number_of_cosines(options, values):
    state = tiny_state(optimizer="oles", window=values, threshold=-1.0, **options)
    for epoch in range(1, options["epochs"] + 1):
        list(training_steps(state, epoch))
    assert not state.method.cosines  # the last one filled the only window
    with refuses(nb.InvalidInputError, values, options="window epochs"):
        tiny_state(optimizer="oles", window=values + 1, **options)
