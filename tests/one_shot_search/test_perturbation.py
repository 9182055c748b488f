"""Perturbed mixing weights: invariants, bounds, and no effect on Λ."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_search import generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.perturbation import Perturbation, _as_shares
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizer import Batch, Mixing

KINDS = ("random", "adversarial")


def a_batch(state) -> Batch:
    return state.images_of(torch.from_numpy(state.split.weights[:20]), state.augmentation(1), None)


@pytest.mark.parametrize("relaxation", ["softmax", "gumbel", "gumbel-operations", "single-path"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["s1", "s3"])
def test_perturbation_keeps_sums_zeros_and_lambda(space, kind, relaxation):
    state = tiny_state(space=space, perturbation=kind, relaxation=relaxation)
    parameters = {key: value.detach().clone() for key, value in state.method.parameters.items()}
    with torch.no_grad():
        clean = state.method.mixing()
    weights = {name: weight.detach().clone() for name, weight in state.net.state_dict().items()}
    changed = Perturbation(state, 4)(clean, a_batch(state))
    assert (changed.operations, changed.path) == (clean.operations, clean.path)
    moved = 0.0
    for old, new in zip(clean.tensors(), changed.tensors(), strict=True):
        torch.testing.assert_close(new.sum(-1), old.sum(-1))
        assert new.min() >= 0
        assert not new.requires_grad
        assert torch.equal(new[old == 0], old[old == 0])
        moved = max(moved, (new - old).abs().max().item())
    assert moved > 0.01 or relaxation == "single-path"  # all its weights and their sums are 0 or 1
    assert all(torch.equal(value.detach(), parameters[key]) for key, value in state.method.parameters.items())
    assert all(value.grad is None for value in state.method.parameters.values())
    assert all(torch.equal(value, weights[name]) for name, value in state.net.state_dict().items())


@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_of_a_forward_pass_is_perturbed(kind):
    state = tiny_state(optimizer="gdas", draws=3, perturbation=kind)
    with torch.no_grad():
        clean = state.method.mixing()
    changed = Perturbation(state, 4)(clean, a_batch(state))
    assert changed.operations == clean.operations
    for i in range(3 if kind == "random" else 1):  # the supernet has one cell, so the loss depends on one sample
        assert not torch.equal(changed.weights[i]["output_edges"], clean.weights[i]["output_edges"])


def shares(n: int, seed: int) -> Mixing:
    """Large weights, so that neither clipping at zero nor rescaling hides the change."""
    return Mixing({"x": 100 + torch.rand(n, generator=generator(seed), dtype=torch.float64)})


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0])
def test_noise_is_uniform_and_its_bound_grows_linearly_to_the_last_epoch(size):
    state, clean = tiny_state(perturbation="random", perturbation_size=size), shares(5000, 0)
    assert state.config.epochs == 4
    for epoch in (1, 2, 3, 4):
        changed = Perturbation(state, epoch)(clean, a_batch(state))
        noise = changed.weights["x"] - clean.weights["x"]
        bound = size * epoch / 4
        assert 0.98 * bound < noise.abs().max().item() < 1.02 * bound
        assert noise.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
        assert abs(noise.mean().item()) < 1e-9  # the sum is kept


def test_adversarial_perturbations_stay_within_their_bound_before_normalisation(monkeypatch):
    monkeypatch.setattr("nasbench1shot1.one_shot_search.perturbation._as_shares", lambda changed, clean: changed)
    state = tiny_state(perturbation="adversarial", perturbation_size=0.2)
    with torch.no_grad():
        clean = state.method.mixing()
    for epoch in (1, 4):
        changed = Perturbation(state, epoch)(clean, a_batch(state))
        largest = max(
            (new - old).abs().max().item() for old, new in zip(clean.tensors(), changed.tensors(), strict=True)
        )
        assert largest == pytest.approx(0.2 * epoch / 4, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_an_adversary_increases_the_training_loss_more_than_noise(seed):
    losses = {}
    for kind in ("none", *KINDS):
        state = tiny_state(perturbation=kind, seed=seed)
        batch = a_batch(state)
        with torch.no_grad():
            clean = state.method.mixing()
        mixing = Perturbation(state, 4)(clean, batch)
        with torch.no_grad():
            losses[kind] = state.loss_at(state.step(batch, batch).weights, mixing, batch).item()
    assert losses["adversarial"] > losses["none"]
    assert losses["adversarial"] > losses["random"]


def test_without_perturbation_the_mixing_is_the_same_object():
    state = tiny_state()
    mixing = state.method.mixing()
    assert Perturbation(state, 4)(mixing, a_batch(state)) is mixing


def test_noise_is_determined_by_seed_and_epoch_and_differs_in_every_step():
    state, clean = tiny_state(perturbation="random"), shares(50, 0)
    draws = [Perturbation(state, 4) for _ in range(2)]
    first, again = (draw(clean, a_batch(state)).weights["x"] for draw in draws)
    assert torch.equal(first, again)
    assert not torch.equal(first, draws[0](clean, a_batch(state)).weights["x"])
    assert not torch.equal(first, Perturbation(state, 3)(clean, a_batch(state)).weights["x"])


@st.composite
def vectors(draw) -> tuple[torch.Tensor, torch.Tensor]:
    """Arbitrary clean weights and changed weights of equal length."""
    n = draw(st.integers(1, 6))
    clean = torch.tensor(draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)), dtype=torch.float64)
    changed = torch.tensor(draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n)), dtype=torch.float64)
    return changed, clean


@given(vectors())
def test_rescaled_weights_keep_sum_and_zeros(pair):
    changed, clean = pair
    made = _as_shares(changed, clean)
    assert made.min() >= 0
    assert (made[clean == 0] == 0).all()
    assert made.sum().item() == pytest.approx(clean.sum().item(), rel=1e-9)


def test_weights_are_trained_with_the_perturbed_mixing(monkeypatch):
    state = tiny_state()
    seen = []
    real = type(state).logits
    monkeypatch.setattr(
        type(state), "logits", lambda self, mixing, *rest: seen.append(mixing) or real(self, mixing, *rest)
    )
    other = Mixing({key: torch.full_like(value, 0.25) for key, value in state.method.mixing().weights.items()})
    weight_step(state, a_batch(state), lambda mixing, batch: other)
    assert seen == [other]


@pytest.mark.parametrize(
    "options", [{"perturbation": "adversary"}, {"perturbation_size": -0.1}, {"perturbation_size": 2}]
)
def test_bad_values_are_refused_in_one_sentence(tmp_path, options):
    wanted = "did you mean 'adversarial'" if "perturbation" in options else "perturbation_size must be between 0 and 1"
    with pytest.raises(nb.InvalidInputError, match=wanted):
        search(tmp_path / "run", **options)
