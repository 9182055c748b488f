"""Phases of a search, and the hooks of a weight step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_search import TINY, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.loop import batch_pairs, training_steps
from nasbench1shot1.optimizer import WeightStep
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.phases import Phase, bilevel_phases, check_phases, phase_at
from nasbench1shot1.runs.schedules import Constant, Cosine, cosine
from nasbench1shot1.supernets.layers import BatchNorm2d


def snapshot(net: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in net.named_parameters()}


def changed(state: Any, before: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, weight in state.net.named_parameters() if not torch.equal(weight, before[name])}


def state_with(phases: Sequence[Phase], method: type = DARTS, **options: Any) -> Any:
    state = tiny_state(optimizer="darts", **options)
    state.method.__class__ = type("Phased", (method,), {"phases": lambda self, epochs, warm: phases})
    return state


def test_a_warm_start_is_the_first_of_two_phases_under_one_cosine():
    phases = bilevel_phases(50, 20)
    assert [(phase.name, phase.epochs, phase.moves_parameters) for phase in phases] == [
        ("warm-up", 20, False),
        ("search", 30, True),
    ]
    rates = [
        phase.schedule.rate(number, 0.025, 0.001)
        for phase, number in (phase_at(phases, epoch) for epoch in range(1, 51))
    ]
    assert rates == [cosine(epoch, 50, 0.025, 0.001) for epoch in range(1, 51)]
    assert [phase.name for phase in bilevel_phases(3)] == ["search"]


@pytest.mark.parametrize(
    "phases",
    [[Phase("short", 1, Constant())], [Phase("empty", 0, Constant()), Phase("rest", 4, Constant())],
     [Phase("still", 4, Constant(), weight_steps=0)], [Phase("small", 4, Constant(), batch_increase=-1)]],
)  # fmt: skip
def test_phases_that_do_not_fit_are_refused(phases):
    with pytest.raises(nb.InvalidInputError):
        check_phases(phases, 4)


def test_a_refusal_names_only_what_is_wrong():
    short = [Phase("training", -1, Constant()), Phase("tuning", 5, Constant())]
    with refuses(nb.InvalidInputError, "epochs=4 leaves no epoch for the phase training", "raise it") as refused:
        check_phases(short, 4)
    assert "weight step" not in str(refused.value)
    with refuses(nb.InvalidInputError, "still", "0 weight steps per step of Λ") as refused:
        check_phases([Phase("still", 4, Constant(), weight_steps=0)], 4)
    assert "epoch" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{"trains": "batchnorm"}, {"data": "half"}, {"epochs": 2.0}, {"weight_steps": "2"}])
def test_values_that_the_loop_does_not_know_are_refused(wrong):
    with pytest.raises(nb.InvalidInputError, match=next(iter(wrong))):
        Phase(**{"name": "search", "epochs": 4, "schedule": Constant(), **wrong})


@pytest.mark.parametrize("returned", [Phase("search", 4, Constant()), None, [("search", 4)]])
def test_a_method_must_return_a_list_of_phases(returned):
    with pytest.raises(nb.InvalidInputError, match="list of Phase"):
        check_phases(returned, 4)


def test_each_phase_has_its_own_learning_rate():
    phases = [Phase("search", 3, Cosine(6)), Phase("tuning", 1, Constant(0.1))]
    state = state_with(phases)
    rates = [state.learning_rate(epoch) for epoch in (1, 2, 3, 4)]
    assert rates[:3] == [cosine(epoch, 6, 0.025, 0.001) for epoch in (1, 2, 3)]
    assert rates[3] == pytest.approx(0.0025)


def test_a_phase_can_begin_without_momentum_and_keeps_it_afterwards():
    parts = [Phase("search", 1, Constant()), Phase("kept", 1, Constant())]
    state = state_with([*parts, Phase("tuning", 2, Constant(), clears_momentum=True)])
    begin, found = state.method.begin_epoch, []

    def counted(*arguments: Any) -> None:
        begin(*arguments)
        found.append(len(state.weight_optimizer.state))

    state.method.begin_epoch = counted
    for epoch in (1, 2, 3, 4):
        list(training_steps(state, epoch))
    number = len(list(state.net.parameters()))
    assert found == [0, number, 0, number]


def test_batch_norm_alone_trains_and_other_weights_keep_every_bit():
    state = state_with([Phase("features", 4, Constant(), trains="batch-norm")], space="nb201")
    norms = {
        f"{name}.{weight}"
        for name, layer in state.net.named_modules()
        if isinstance(layer, BatchNorm2d)
        for weight, _ in layer.named_parameters()
    }
    before = snapshot(state.net)
    list(training_steps(state, 1))
    assert norms >= changed(state, before)
    assert changed(state, before)


def test_nothing_trains_but_lambda():
    state = state_with([Phase("still", 4, Constant(), trains="nothing")])
    before, parameters = snapshot(state.net), {k: v.detach().clone() for k, v in state.method.parameters.items()}
    list(training_steps(state, 1))
    assert not changed(state, before)
    assert not all(torch.equal(parameters[key], value) for key, value in state.method.parameters.items())


def test_weights_that_a_phase_froze_train_again_in_the_next_one():
    state = state_with([Phase("still", 2, Constant(), trains="nothing"), Phase("search", 2, Constant())])
    list(training_steps(state, 2))
    before = snapshot(state.net)
    list(training_steps(state, 3))
    assert changed(state, before)


@pytest.mark.parametrize("data", ["halves", "weight-half", "all"])
def test_phases_select_the_images(data):
    state = state_with([Phase("search", 4, Constant(), data=data)])
    weights, architecture = set(state.split.weights.tolist()), set(state.split.architecture.tolist())
    wanted = {"halves": (weights, architecture), "weight-half": (weights,) * 2, "all": (weights | architecture,) * 2}
    of_weights, of_architecture = state.rows(1)
    assert (set(of_weights.tolist()), set(of_architecture.tolist())) == wanted[data]
    pairs = list(batch_pairs(state, 1))
    assert sum(len(batch.labels) for batch, _ in pairs) == len(wanted[data][0])
    assert len(pairs) == state.steps(1)


@pytest.mark.parametrize("first", ["lambda", "weights"])
def test_several_weight_steps_precede_each_step_of_lambda(first):
    calls = []

    class Counting(DARTS):
        trains_weights_first = first == "weights"

        def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
            return [Phase("search", epochs, Constant(), data="all", weight_steps=2)]

        def architecture_step(self, step: Any) -> None:
            calls.append("Λ")

        def mixing(self) -> Any:
            calls.append("w")
            return super().mixing()

    state = tiny_state(optimizer="darts")
    state.method.__class__ = Counting
    list(training_steps(state, 1))
    pair = ["w", "w", "Λ"] if first == "weights" else ["Λ", "w", "w"]
    assert calls == pair * (state.steps(1) // 2)


class Hooked(DARTS):
    """Records what the hooks of a weight step receive."""

    asked = "none"
    seen: list[WeightStep]
    frozen: tuple[str, ...] = ()

    @property
    def mixing_gradients(self) -> Any:
        return self.asked

    def weight_loss(self, loss: torch.Tensor) -> torch.Tensor:
        return 2 * loss

    def adjust_gradients(self, step: WeightStep) -> None:
        self.seen.append(step)

    def frozen_weights(self) -> tuple[str, ...]:
        return self.frozen


def hooked(asked: str, **options: Any) -> Any:
    state = tiny_state(optimizer="darts", grad_clip=0, cells=3, **options)
    state.method.__class__ = Hooked
    state.method.asked, state.method.seen = asked, []
    return state


def test_a_hook_sees_the_gradients_of_the_loss_that_the_method_minimises():
    state = hooked("none")
    list(training_steps(state, 1))
    step = state.method.seen[-1]
    mixing = state.method.weight_mixing()
    assert all(not tensor.requires_grad for tensor in step.mixing.tensors())
    assert step.loss.item() > 0
    name, weight = next((n, w) for n, w in step.weights.items() if w.grad is not None and "classifier" in n)
    assert weight is dict(state.net.named_parameters())[name]
    assert mixing.weights is not None


@pytest.mark.parametrize(("asked", "copies"), [("shared", 1), ("per-cell", 3)])
def test_the_gradients_of_the_cells_copies_add_up_to_the_shared_ones(asked, copies):
    state = hooked(asked)
    list(training_steps(state, 1))
    step = state.method.seen[0]
    sets = step.mixing.weights if isinstance(step.mixing.weights, tuple) else (step.mixing.weights,)
    assert len(sets) == copies
    other = hooked("shared")
    list(training_steps(other, 1))
    wanted = other.method.seen[0].mixing.weights
    for key, value in wanted.items():
        total = sum(of_cell[key].grad for of_cell in sets)
        torch.testing.assert_close(total, value.grad, rtol=1e-4, atol=1e-6)


def test_frozen_weights_keep_every_bit_in_spite_of_momentum_and_decay():
    state = hooked("none")
    list(training_steps(state, 1))  # they have momentum now
    state.method.frozen = tuple(name for name, _ in state.net.named_parameters() if name.startswith("cells.0"))
    before = snapshot(state.net)
    list(training_steps(state, 2))
    assert not changed(state, before) & set(state.method.frozen)
    assert changed(state, before)


def test_a_search_in_phases_is_killed_and_resumed_with_equal_bits(tmp_path):
    class InPhases(DARTS):
        def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
            return [Phase("search", 2, Cosine(4)), Phase("tuning", epochs - 2, Constant(0.1), trains="batch-norm")]

    globals()["InPhases"] = InPhases  # a module's attribute, as `optimizer` needs
    InPhases.__qualname__ = "InPhases"
    whole = search(tmp_path / "whole", optimizer=InPhases)

    class Stop(Exception):
        pass

    def stop(epoch: Any) -> None:
        if epoch.line["epoch"] == 2:
            raise Stop

    with pytest.raises(Stop):
        search(tmp_path / "stopped", optimizer=InPhases, callbacks=[stop])
    resumed = nb.search(resume=tmp_path / "stopped", console=Console(quiet=True))
    times = {"search_seconds", "simulated_seconds"}
    for ours, wanted in zip(resumed.lines, whole.lines, strict=True):
        assert {k: v for k, v in ours.items() if k not in times} == {k: v for k, v in wanted.items() if k not in times}
    for key, value in whole.architecture_parameters.items():
        assert len(value) == TINY["epochs"] + 1
        assert np.array_equal(value, resumed.architecture_parameters[key])


@pytest.mark.parametrize(("before", "now"), [("tuning", "polishing"), ("search", "polishing"), ("tuning", "search")])
def test_a_search_is_not_resumed_with_other_phases_than_recorded(before, now, tmp_path):
    class Renamed(DARTS):
        last = before

        def phases(self, epochs: int, warm_start_epochs: int) -> Sequence[Phase]:
            return [Phase("search", 1, Cosine(2)), Phase(self.last, epochs - 1, Cosine(2, 2))]

    globals()["Renamed"] = Renamed
    Renamed.__qualname__ = "Renamed"
    run = search(tmp_path / "run", optimizer=Renamed, epochs=2)
    files = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    Renamed.last = now
    with refuses(nb.InvalidInputError, "epoch 2", f"phase {before}", f"to {now}", "start a new search"):
        nb.search(resume=run.folder, console=Console(quiet=True))
    assert files == {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
