"""The dominant eigenvalue of the Hessian with respect to Λ, and early stopping based on it."""

import json
from itertools import chain, repeat

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tiny_search import generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.images.batches import batches
from nasbench1shot1.one_shot_search import measurements
from nasbench1shot1.one_shot_search.early_stopping import returned_epoch
from nasbench1shot1.one_shot_search.measurements import _power_iteration, dominant_eigenvalue
from nasbench1shot1.optimizer import Mixing


def exact_hessian(state, epoch: int) -> torch.Tensor:
    """∂²L/∂Λ² as one matrix, by PyTorch's double differentiation."""
    rows = next(batches(state.split.architecture, state.config.batch_size, state.generator("hessian", epoch)))
    batch = state.images_of(rows, state.augmentation(epoch), None)
    weights = {name: weight.detach() for name, weight in state.net.named_parameters()}
    keys, shapes = zip(*((key, value.shape) for key, value in state.method.parameters.items()), strict=True)
    sizes = [shape.numel() for shape in shapes]

    def loss(flat: torch.Tensor) -> torch.Tensor:
        parts = zip(keys, flat.split(sizes), shapes, strict=True)
        mixing = {key: torch.softmax(part.view(shape), -1) for key, part, shape in parts}
        return state.loss_at(weights, Mixing(mixing), batch)

    state.net.train()
    flat = torch.cat([value.detach().flatten() for value in state.method.parameters.values()])
    return torch.autograd.functional.hessian(loss, flat)


@pytest.mark.parametrize("space", ["s1", "s2"])
def test_the_eigenvalue_is_the_largest_of_the_whole_hessian(space, monkeypatch):
    state = tiny_state(space=space, hessian_eigenvalue=True, batch_size=12)
    eigenvalues = torch.linalg.eigvalsh(exact_hessian(state, 1).double())
    largest = eigenvalues[eigenvalues.abs().argmax()].item()
    assert abs(largest) > 1e-4
    assert dominant_eigenvalue(state, 1) == pytest.approx(largest, rel=0.1)
    monkeypatch.setattr(measurements, "TOLERANCE", 1e-5)
    monkeypatch.setattr(measurements, "MOST_ITERATIONS", 2000)
    assert dominant_eigenvalue(state, 1) == pytest.approx(largest, rel=1e-3)


@pytest.mark.parametrize("eigenvalues", [(3.0, 1.0, -2.0), (1.0, 0.5, -4.0), (2.0, 2.0, 2.0), (1.0, 0.0, 0.0)])
def test_power_iteration_finds_the_eigenvalue_of_largest_magnitude_with_its_sign(eigenvalues):
    basis = torch.linalg.qr(torch.randn(3, 3, generator=generator(0), dtype=torch.float64)).Q
    matrix = basis @ torch.diag(torch.tensor(eigenvalues, dtype=torch.float64)) @ basis.T
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    first, rest = x[:1], x[1:]
    joined = torch.cat([first, rest])
    loss = 0.5 * joined @ matrix @ joined
    gradients = list(torch.autograd.grad(loss, [first, rest], create_graph=True))
    found = _power_iteration([first, rest], gradients, generator(1))
    assert found == pytest.approx(max(eigenvalues, key=abs), rel=2e-3)


def test_a_loss_without_curvature_has_eigenvalue_zero():
    x = torch.ones(3, requires_grad=True)
    gradients = torch.autograd.grad((x**2).sum() * 0 + x.sum(), [x], create_graph=True)
    assert _power_iteration([x], list(gradients), generator(0)) == 0


@pytest.mark.parametrize("optimizer", ["darts", "gdas", "pc-darts", "snas"])
def test_the_eigenvalue_is_measured_for_every_gradient_method_without_side_effects(optimizer):
    state = tiny_state(optimizer=optimizer, hessian_eigenvalue=True, channels=4, batch_size=8)
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    parameters = {key: value.detach().clone() for key, value in state.method.parameters.items()}
    drawn = state.method.generator.get_state()
    value = dominant_eigenvalue(state, 1)
    assert isinstance(value, float)
    assert np.isfinite(value)
    assert value != 0
    assert dominant_eigenvalue(state, 1) == value
    assert dominant_eigenvalue(state, 2) != value  # other images
    assert all(torch.equal(tensor, before[name]) for name, tensor in state.net.state_dict().items())
    assert all(torch.equal(tensor.detach(), parameters[key]) for key, tensor in state.method.parameters.items())
    assert all(tensor.grad is None for tensor in (*state.net.parameters(), *state.method.parameters.values()))
    assert torch.equal(state.method.generator.get_state(), drawn)


def test_recording_the_eigenvalue_does_not_change_the_search(tmp_path):
    few = {"images_per_half": 20, "batch_size": 10, "epochs": 2}
    measured = search(tmp_path / "measured", hessian_eigenvalue=True, **few)
    plain = search(tmp_path / "plain", **few)
    assert [line["hessian_eigenvalue"] for line in plain.lines] == [None] * 3
    assert measured.lines[0]["hessian_eigenvalue"] is None
    assert all(isinstance(line["hessian_eigenvalue"], float) for line in measured.lines[1:])
    for key, values in measured.architecture_parameters.items():
        assert np.array_equal(values, plain.architecture_parameters[key])
    same = ("train_loss", "train_error", "one_shot_validation_error", "architecture", "test_regret")
    assert [[line[name] for name in same] for line in measured.lines] == [
        [line[name] for name in same] for line in plain.lines
    ]


def test_early_stopping_needs_the_eigenvalue(tmp_path):
    with pytest.raises(nb.InvalidInputError, match="hessian_eigenvalue=True"):
        search(tmp_path / "run", early_stopping=True)


@pytest.mark.parametrize("optimizer", ["gdas", "snas"])
def test_temperature_annealing_is_refused_with_early_stopping(tmp_path, optimizer):
    options = {"optimizer": optimizer, "hessian_eigenvalue": True, "early_stopping": True}
    with pytest.raises(nb.InvalidInputError, match="early_stopping="):
        search(tmp_path / "run", **options)
    tiny_state(**options, temperature_max=1.0, temperature_min=1.0)


# Early stopping ----------------------------------------------------------------------------------------------------

FLAT, STEEP = [1.0] * 10, [1.0] * 10 + [2.0] * 5


def test_the_published_stopping_rule_on_a_known_series():
    """Ratios of means over 5 epochs, 5 epochs apart (threshold 0.75): 1 / 1.2 for one steep epoch, 1 / 1.4 for two."""
    assert returned_epoch([None, *FLAT]) is None
    assert returned_epoch([None, *STEEP[:11]]) is None  # 1 / 1.2 = 0.83
    assert returned_epoch([None, *STEEP[:12]]) == 7  # 1 / 1.4 = 0.71
    assert returned_epoch([None, *STEEP]) == 10
    assert returned_epoch([None, *([1.0] * 5 + [1.34] * 5)]) == 5
    assert returned_epoch([None, *([1.0] * 5 + [1.33] * 5)]) is None
    assert returned_epoch([None, *([1.0] * 5 + [0.2] * 5)]) is None  # a falling eigenvalue does not stop the search
    assert returned_epoch([None, *([1.0] * 5 + [-9.0] * 5)]) == 5  # sharp in both directions
    assert returned_epoch([None, *([-9.0] * 5 + [0.1] * 5)]) is None
    assert returned_epoch([None] * 21 + STEEP[:11]) is None  # 20 epochs of warm start do not count
    assert returned_epoch([None] * 21 + STEEP[:12]) == 27


@given(st.lists(st.floats(1e-3, 1e3), max_size=30))
def test_early_stopping_needs_ten_measured_epochs_and_goes_back_five(values):
    epoch = returned_epoch([None, *values])
    assert epoch is None or (len(values) >= 10 and epoch == len(values) - 5)
    if len(values) >= 10:
        before, now = np.mean(values[-10:-5]), np.mean(values[-5:])
        assert (epoch is not None) == (before / now < 0.75) or before / now == pytest.approx(0.75)


def stopping_search(folder, monkeypatch, series, **options) -> nb.Run:
    values = chain(series, repeat(9.0))
    monkeypatch.setattr("nasbench1shot1.one_shot_search.loop.dominant_eigenvalue", lambda state, epoch: next(values))
    return search(folder, hessian_eigenvalue=True, early_stopping=True, images_per_half=20, batch_size=10, **options)


def test_an_early_stopped_search_returns_the_earlier_architecture(tmp_path, monkeypatch):
    run = stopping_search(tmp_path / "run", monkeypatch, STEEP, epochs=20, architecture_learning_rate=0.3)
    assert [line["epoch"] for line in run.lines] == list(range(13))
    assert (run.summary["searched_epochs"], run.summary["final_epoch"]) == (12, 7)
    assert run.summary["architecture"] == run.lines[7]["architecture"] != run.lines[12]["architecture"]
    assert run.summary["test_regret"] == run.lines[7]["test_regret"]
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["hessian_eigenvalue"] for line in lines] == [None, *STEEP[:12]]
    assert list(lines[0])[-2:] == ["hessian_eigenvalue", "other_datasets"]
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    again = nb.search(resume=run.folder, console=Console(quiet=True))
    assert again.lines == run.lines
    after = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    unchanged = set(before) - {"regret.png"}
    assert all(before[name] == after[name] for name in unchanged)
    longer = nb.search(resume=run.folder, epochs=25, console=Console(quiet=True))
    assert longer.lines == run.lines
    assert longer.summary == {**run.summary, "epochs": 25}


def test_a_resumed_search_remembers_the_eigenvalues(tmp_path, monkeypatch):
    part = stopping_search(tmp_path / "run", monkeypatch, STEEP[:11], epochs=11)
    assert (part.summary["searched_epochs"], part.summary["final_epoch"]) == (11, 11)  # until the end
    monkeypatch.setattr("nasbench1shot1.one_shot_search.loop.dominant_eigenvalue", lambda state, epoch: 2.0)
    resumed = nb.search(resume=part.folder, epochs=14, console=Console(quiet=True))
    assert (resumed.summary["searched_epochs"], resumed.summary["final_epoch"]) == (12, 7)
