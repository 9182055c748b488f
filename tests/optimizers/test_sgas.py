"""SGAS: its measures, when it decides and what a decision changes, larger batches, and resumed searches."""

import math
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
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.one_shot_search.loop import batch_pairs, training_steps
from nasbench1shot1.optimizers.sgas import Measures, scaled, score
from nasbench1shot1.probability import log_probability_of_picks, preferred_within
from nasbench1shot1.runs.schedules import cosine

SPACES = ("s1", "s2", "s3", "nb201")


def spread(method: Any, seed: int) -> None:
    """Draw Λ anew, in float64."""
    drawn = generator(seed)
    method.parameters = {
        key: torch.randn(value.shape, generator=drawn, dtype=torch.float64).requires_grad_()
        for key, value in method.parameters.items()
    }


def vectors(method: Any) -> list[np.ndarray]:
    """Return a copy of Λ for every choice."""
    found = []
    for choice in method.space.choices():
        value = method.parameters[choice.key].detach().numpy()
        found.append((value if choice.row is None else value[choice.row]).copy())
    return found


def plain_measures(history: list[list[np.ndarray]], now: list[np.ndarray], has_none: bool) -> list[list[float]]:
    """Return importance, certainty and stability, from Λ of earlier epochs and of now, with numpy and loops."""

    def without_none(of_choice: np.ndarray) -> tuple[float, np.ndarray]:
        p = np.exp(of_choice) / np.exp(of_choice).sum()
        kept = p[1:] if has_none else p
        return float(kept.sum()), kept / kept.sum()

    importance, certainty, stability = [], [], []
    for number, of_choice in enumerate(now):
        share, p = without_none(of_choice)
        importance.append(share)
        certainty.append(1 - sum(-q * math.log(q) for q in p) / math.log(len(p)) if len(p) > 1 else 1.0)
        overlaps = [np.minimum(without_none(epoch[number])[1], p).sum() for epoch in history]
        stability.append(float(np.mean(overlaps)) if overlaps else 0.0)
    return [importance, certainty, stability]


def plain_score(measures: list[list[float]], criterion: int) -> list[float]:
    product = [1.0] * len(measures[0])
    for values in measures[: criterion + 1]:
        low, high = min(values), max(values)
        for number, value in enumerate(values):
            product[number] *= (value - low) / (high - low) if high - low > 1e-9 else 1.0
    return product


@pytest.mark.parametrize("criterion", [1, 2])
@pytest.mark.parametrize("space", SPACES)
def test_measures_and_the_decision_equal_plain_formulas_in_float64(space, criterion):
    method = made("sgas", space, criterion=criterion, decision_start=6, stability_window=4)
    epochs = []
    for epoch in range(1, 7):
        spread(method, epoch)
        epochs.append(vectors(method))
        if epoch < 6:
            method.end_epoch(None)
    wanted = plain_measures(epochs[1:5], epochs[5], has_none=space == "nb201")
    found = method.measures(method._shares())
    assert [measure.tolist() for measure in found] == [pytest.approx(values, rel=0, abs=1e-12) for values in wanted]
    assert score(found, criterion).tolist() == pytest.approx(plain_score(wanted, criterion), rel=0, abs=1e-12)
    method.end_epoch(None)
    best = int(np.argmax(plain_score(wanted, criterion)))
    choice = method.space.choices()[best]
    first = 1 if space == "nb201" else 0
    taken = np.argsort(-epochs[5][best][first:])[: choice.picks] + first
    assert method.structure() == {
        choice.key if choice.row is None else f"{choice.key}[{choice.row}]": sorted(taken.tolist())
    }


def test_an_excluded_none_has_no_part_in_a_decision():
    decisions, mixings = [], []
    for shift in ([0.0] * 6, [-0.3, 0.3, 0.3, -0.3, 0.3, -0.3]):
        method = made("sgas", "nb201", exclude_none=True, decision_start=1)
        spread(method, 3)
        with torch.no_grad():  # the same constant for all allowed operations of an edge
            method.parameters["operations"][:, 1:] += torch.tensor(shift, dtype=torch.float64)[:, None]
        found = method.measures(method._shares())
        assert found.importance.tolist() == [1.0] * 6
        mixings.append(method.mixing().weights["operations"].detach())
        method.end_epoch(None)
        (decided,) = [number for number in range(6) if method.allowed.is_decided(number)]
        assert decided == int(found.certainty.argmax())
        decisions.append(method.structure())
    torch.testing.assert_close(*mixings)
    assert decisions[0] == decisions[1]


def test_equal_measures_have_no_effect_and_others_are_scaled():
    assert scaled(torch.tensor([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]
    assert scaled(torch.ones(3)).tolist() == [1.0] * 3
    importance, certainty = torch.ones(3), torch.tensor([0.1, 0.3, 0.2])
    measures = Measures(importance, certainty, torch.tensor([0.0, 0.5, 1.0]))
    assert score(measures, 1).tolist() == pytest.approx([0.0, 1.0, 0.5])
    assert score(measures, 2).tolist() == pytest.approx([0.0, 0.5, 0.5])


@pytest.mark.parametrize(("space", "choices"), [("s1", 7), ("s2", 8), ("s3", 10), ("nb201", 6)])
def test_decisions_follow_every_fifth_epoch_and_batches_grow_under_one_cosine(space, choices):
    method = made("sgas", space)
    spread(method, 3)
    phases = method.phases(60, 0)
    sizes = [phase.batch_increase for phase in phases for _ in range(phase.epochs)]
    decided = []
    for epoch in range(1, 61):
        method.begin_epoch(epoch, 60, generator(epoch))
        method.end_epoch(None)
        decided.append(choices - len(method.allowed.undecided))
    assert [decided[epoch - 1] for epoch in (9, 10, 14, 15)] == [0, 1, 1, 2]
    assert decided[-1] == choices
    assert sizes == [0, *(8 * number for number in decided[:-1])]  # batches grow in the epoch after a decision
    rates = [phase.schedule.rate(i, 0.025, 0.001) for phase in phases for i in range(1, phase.epochs + 1)]
    assert rates == [cosine(epoch, 60, 0.025, 0.001) for epoch in range(1, 61)]


def test_warm_up_epochs_come_before_the_first_decision():
    phases = made("sgas", "nb201", decision_start=2, decision_interval=3).phases(9, 3)
    assert [(phase.name, phase.epochs, phase.batch_increase) for phase in phases] == [
        ("warm-up", 3, 0), ("search", 2, 0), ("search", 3, 8), ("search", 1, 16)
    ]  # fmt: skip


SGAS: dict[str, Any] = {"optimizer": "sgas", "decision_start": 1, "batch_increase": 10, "batch_size": 10}


def test_a_decision_fixes_lambda_bit_for_bit_and_leaves_out_operations():
    state = tiny_state(**SGAS, space="nb201")
    list(training_steps(state, 1))
    state.method.end_epoch(None)
    (row,) = [int(name[11]) for name in state.method.structure()]
    before = state.method.parameters["operations"].detach().clone()
    list(training_steps(state, 2))
    moved = [not torch.equal(a, b) for a, b in zip(state.method.parameters["operations"], before, strict=True)]
    assert moved == [other != row for other in range(6)]
    mixing = state.method.evaluation_mixing()
    assert mixing.allowed[row] == state.method.allowed[row]
    assert mixing.weights["operations"][row].tolist() == [float(e in state.method.allowed[row]) for e in range(5)]


def test_larger_batches_have_fewer_steps():
    state = tiny_state(**SGAS, epochs=4)
    assert [state.batch_size(epoch) for epoch in (1, 2, 3)] == [10, 20, 30]
    assert [state.steps(epoch) for epoch in (1, 2, 3)] == [4, 2, 2]
    for epoch in (1, 2, 3):
        assert len(list(batch_pairs(state, epoch))) == state.steps(epoch)


def test_the_operation_none_is_never_taken():
    method = made("sgas", "nb201", decision_start=1, decision_interval=1)
    with torch.no_grad():
        method.parameters["operations"][:, 0] = 10.0
    assert 0 not in method.architecture().operations
    for _ in range(6):
        method.end_epoch(None)
    assert not method.allowed.undecided
    assert 0 not in method.architecture().operations


@pytest.mark.parametrize("options", [{"space": "s1", "criterion": 2}, {"space": "nb201", "relaxation": "gumbel"}])
def test_a_search_is_stopped_and_resumed_with_equal_bits(options, tmp_path):
    class Stop(Exception):
        pass

    def stop(epoch: Any) -> None:
        if epoch.line["epoch"] == 2:
            raise Stop

    whole = search(tmp_path / "whole", **SGAS, **options)
    assert [len(line.get("structure", {})) for line in whole.lines] == [0, 1, 2, 3, 4]
    with pytest.raises(Stop):
        search(tmp_path / "stopped", callbacks=[stop], **SGAS, **options)
    assert differences(whole, nb.search(resume=tmp_path / "stopped", console=Console(quiet=True))) == []


@pytest.mark.parametrize("relaxation", ["gumbel-operations", "sigmoid", "reinmax", "dirichlet"])
def test_decisions_work_with_other_relaxations(relaxation, tmp_path):
    run = search(tmp_path / "run", **SGAS, relaxation=relaxation, epochs=3, images_per_half=30)
    assert len(run.lines[-1]["structure"]) == 3
    assert all(np.isfinite(value).all() for value in run.architecture_parameters.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"relaxation": "single-path"}, ("relaxation=", "single-path", "1/k")),
        ({"batch_increase": 20}, ("batch_size=10", "70 images", "40 images of a half", "epochs")),
        ({"early_stopping": True, "hessian_eigenvalue": True}, ("early_stopping", "sgas")),
        ({"criterion": 3}, ("criterion", "2")),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(options, words, tmp_path):
    with refuses(nb.InvalidInputError, *words):
        nb.search(out=tmp_path / "run", console=Console(quiet=True), **{**TINY, **SGAS, **options})
    assert not (tmp_path / "run").exists()


def test_the_most_probable_network_within_bounds_keeps_the_decided_choices():
    state = tiny_state(**SGAS, space="nb201")
    method, space = state.method, state.net.space
    method.allowed.keep(2, [1])
    method.allowed.keep(4, [3])
    allowed = {i for i in range(len(space)) if i % 7 == 3}
    cost = Cost("fake", 0.5, lambda arch: float(space.index(arch) not in allowed), lambda: np.zeros(len(space)))
    method.constrain(Constraint([cost], "fake ≤ 0.5"))
    chosen = preferred_within(method.constraint, method.architecture(), space, method.preferences())
    assert space.index(chosen) in allowed
    assert (chosen.operations[2], chosen.operations[4]) == (1, 3)
    assert 0 not in chosen.operations
    logits = method.parameters["operations"].detach().double().numpy()
    inside = [space[i] for i in sorted(allowed)]
    kept = [a for a in inside if (a.operations[2], a.operations[4]) == (1, 3) and 0 not in a.operations]
    assert chosen == max(kept, key=lambda arch: sum(logits[e, o] for e, o in enumerate(arch.operations)))


def test_excluded_entries_of_a_choice_with_several_picks_have_no_probability():
    logits = np.array([0.0, -np.inf, 1.0, 2.0])
    assert log_probability_of_picks(logits, (0, 1)) == -math.inf
    both = [log_probability_of_picks(logits, picks) for picks in ((0, 2), (0, 3), (2, 3))]
    assert sum(map(math.exp, both)) == pytest.approx(1)
