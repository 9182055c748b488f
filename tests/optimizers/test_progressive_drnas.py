"""Progressive DrNAS: its stages, excluded operations, wider operations, and resumed searches."""

from typing import Any

import numpy as np
import pytest
import torch
from newer_methods import made
from refusals import refuses
from rich.console import Console
from tiny_search import TINY, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import differences
from nasbench1shot1.one_shot_search.estimate import expected_seconds
from nasbench1shot1.one_shot_search.kept_weights import supernet_of
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizers.components.relaxation import concentrations
from nasbench1shot1.optimizers.drnas import ProgressiveDrNAS
from nasbench1shot1.runs.schedules import cosine

TWO_STAGES: dict[str, Any] = {"optimizer": "drnas-progressive", "channels": 4, "warm_start_epochs": 1}


def test_the_published_stages():
    phases = made("drnas-progressive", "nb201").phases(100, 10)
    assert [(phase.name, phase.epochs, phase.moves_parameters, phase.partial_channels) for phase in phases] == [
        ("stage 1, warm-up", 10, False, None),
        ("stage 1", 40, True, None),
        ("stage 2, warm-up", 10, False, 2),
        ("stage 2", 40, True, 2),
    ]
    rates = [phase.schedule.rate(i, 0.025, 0.001) for phase in phases for i in range(1, phase.epochs + 1)]
    assert rates == [cosine(epoch, 100, 0.025, 0.001) for epoch in range(1, 101)]
    assert ProgressiveDrNAS.defaults == {"epochs": 100, "partial_channels": 4, "warm_start_epochs": 10}
    without = made("drnas-progressive", "nb201").phases(5, 0)
    assert [(phase.name, phase.epochs) for phase in without] == [("stage 1", 3), ("stage 2", 2)]


@pytest.mark.parametrize(("space", "kept"), [("nb201", 3), ("s1", 2), ("s2", 2), ("s3", 2)])
def test_the_second_stage_keeps_the_operations_with_the_largest_lambda(space, kept):
    method = made("drnas-progressive", space)
    drawn = generator(5)
    with torch.no_grad():
        for value in method.parameters.values():
            value.normal_(0, 1, generator=drawn)
    method.begin_epoch(3, 6, generator(0))
    assert method.structure() == {"stage": 1}
    method.begin_epoch(4, 6, generator(0))
    operations = method.parameters["operations"].detach().numpy()
    wanted = {f"operations[{row}]": sorted(np.argsort(-of)[:kept].tolist()) for row, of in enumerate(operations)}
    assert method.structure() == {"stage": 2, **wanted}
    with torch.no_grad():
        mixing = method.mixing()
    for row, of in enumerate(mixing.weights["operations"]):
        inside = wanted[f"operations[{row}]"]
        assert mixing.allowed[row] == tuple(inside)
        assert [entry for entry in range(len(of)) if of[entry] > 0] == inside
        assert float(of.sum()) == pytest.approx(1)
    assert mixing.operations is None
    for key in set(method.parameters) - {"operations"}:
        assert (mixing.weights[key] > 0).all()
    assert method.architecture().operations == tuple(operations.argmax(axis=1).tolist())


def test_a_renormalised_sample_is_a_dirichlet_sample_of_the_kept_operations():
    """The mean and the variance of a weight equal those of Dir over the concentrations of the kept operations."""
    method = made("drnas-progressive", "nb201", draws=1000)
    with torch.no_grad():
        method.parameters["operations"].normal_(0, 1, generator=generator(5))
    method.begin_epoch(2, 2, generator(0))
    samples = torch.stack([weights["operations"] for weights in method.mixing().weights]).detach().double()
    of = concentrations(method.parameters["operations"].detach().double())
    for row in range(6):
        kept = list(method.allowed[row])
        total = of[row, kept].sum()
        mean = of[row, kept] / total
        variance = mean * (1 - mean) / (total + 1)
        assert samples[:, row, kept].mean(dim=0).tolist() == pytest.approx(mean.tolist(), abs=0.04)
        assert samples[:, row, kept].var(dim=0).tolist() == pytest.approx(variance.tolist(), abs=0.03)


def test_lambda_rests_in_the_warm_up_of_each_stage_and_the_supernet_widens_once():
    state = tiny_state(**TWO_STAGES, space="nb201")
    moved, shares = [], []
    for epoch in (1, 2, 3, 4):
        before = state.method.parameters["operations"].detach().clone()
        list(training_steps(state, epoch))
        moved.append(not torch.equal(before, state.method.parameters["operations"]))
        shares.append(state.net.partial_channels)
    assert moved == [False, True, False, True]
    assert shares == [4, 4, 2, 2]
    for weight in state.net.parameters():
        momentum = state.weight_optimizer.state.get(weight, {}).get("momentum_buffer")
        assert momentum is None or momentum.shape == weight.shape
    excluded = [weight for weight in state.net.parameters() if weight not in state.weight_optimizer.state]
    assert excluded  # some edges exclude a convolution


class Stop(Exception):
    pass


@pytest.mark.parametrize("last", [2, 3])
@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_a_search_is_stopped_on_both_sides_of_the_second_stage_and_resumed_with_equal_bits(space, last, tmp_path):
    options = {**TWO_STAGES, "space": space, "keep_weights_every": 1}

    def stop(epoch: Any) -> None:
        if epoch.line["epoch"] == last:
            raise Stop

    whole = search(tmp_path / "whole", **options)
    assert [line.get("phase") for line in whole.lines[1:]] == [
        "stage 1, warm-up", "stage 1", "stage 2, warm-up", "stage 2"
    ]  # fmt: skip
    with pytest.raises(Stop):
        search(tmp_path / "stopped", callbacks=[stop], **options)
    assert differences(whole, nb.search(resume=tmp_path / "stopped", console=Console(quiet=True))) == []
    assert [supernet_of(whole, epoch)[0].partial_channels for epoch in (2, 3)] == [4, 2]


def test_an_estimate_of_the_time_changes_neither_the_supernet_nor_the_method():
    state = tiny_state(**TWO_STAGES, space="s1")
    list(training_steps(state, 1))
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    assert expected_seconds(state, 3) > 0
    assert state.net.partial_channels == 4
    assert state.method.stage == 1
    assert all(torch.equal(value, before[name]) for name, value in state.net.state_dict().items())
    list(training_steps(state, 2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"warm_start_epochs": 2}, ("epochs=4", "warm_start_epochs=2")),
        ({"partial_channels": 1}, ("all channels", "1/2", "partial_channels=")),
        ({"second_partial_channels": 3}, ("4 channels", "partial_channels=3")),
        ({"space": "nats-size"}, ("nats-size", "progressive DrNAS")),
        ({"early_stopping": True, "hessian_eigenvalue": True}, ("early_stopping",)),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(options, words, tmp_path):
    with refuses(nb.InvalidInputError, *words):
        nb.search(out=tmp_path / "run", console=Console(quiet=True), **{**TINY, **TWO_STAGES, **options})
    assert not (tmp_path / "run").exists()


def test_a_search_in_its_second_stage_cannot_get_more_epochs(tmp_path):
    search(tmp_path / "run", **TWO_STAGES)
    with refuses(nb.InvalidInputError, "epochs=8", "stage"):
        nb.search(resume=tmp_path / "run", epochs=8, console=Console(quiet=True))
