"""SDARTS as published, against a transcription of the authors' attack in float64, and refused options."""

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_search import search, tiny_batch, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.perturbation import Perturbation, onto_simplex
from nasbench1shot1.optimizer import Mixing


def clip(vector: np.ndarray) -> np.ndarray:
    """One vector of mixing weights, as the authors' code normalises it."""
    best = vector.argmax()
    vector = vector.clip(0, 1)
    if vector.sum() == 0:
        vector[best] = 1
    return vector / vector.sum()


def clipped(weights: list[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.from_numpy(np.apply_along_axis(clip, -1, tensor.numpy())) for tensor in weights]


def attack(state, clean: list[torch.Tensor], mixing: Mixing, batch, epsilon: float, drawn) -> list[torch.Tensor]:
    net = state.net.eval()

    def loss(weights):
        of = mixing.with_tensors(iter(weights))
        return torch.nn.functional.cross_entropy(net(batch.images, *of.arguments()), batch.labels)

    with torch.no_grad():
        before = loss(clean)
    moved = clipped([old + epsilon * torch.empty(old.shape).uniform_(-1, 1, generator=drawn) for old in clean])
    for _ in range(7):
        leaves = [tensor.clone().requires_grad_() for tensor in moved]
        gradients = torch.autograd.grad(loss(leaves), leaves, materialize_grads=True)
        climbed = [leaf.detach() + 2 * epsilon / 7 * g.sign() for leaf, g in zip(leaves, gradients, strict=True)]
        moved = clipped([old + (new - old).clamp(-epsilon, epsilon) for old, new in zip(clean, climbed, strict=True)])
    with torch.no_grad():
        after = loss(moved)
    net.train()
    return clean if before > after else moved


@pytest.mark.parametrize("space", ["s1", "s2", "s3", "nb201"])
@pytest.mark.parametrize("kind", ["rs", "adv"])
def test_the_published_perturbation(space, kind):
    state = tiny_state(optimizer=f"sdarts-{kind}", space=space, perturbation_variant=original(kind))
    state.net.double()
    for value in state.method.parameters.values():
        value.data = value.data.double()
    batch = tiny_batch(seed=1, side=16)
    with torch.no_grad():
        mixing = state.method.mixing()
    clean = [tensor.double() for tensor in mixing.tensors()]
    mixing = mixing.with_tensors(iter(clean))
    running = {name: buffer.clone() for name, buffer in state.net.named_buffers()}
    for epoch in (1, 3):
        epsilon = 0.03 + (0.3 - 0.03) * (epoch - 1) / state.config.epochs
        drawn = state.generator("perturbation", epoch)
        if kind == "rs":
            noise = [torch.empty(old.shape).uniform_(-1, 1, generator=drawn) for old in clean]
            wanted = clipped([old + epsilon * new for old, new in zip(clean, noise, strict=True)])
        else:
            wanted = attack(state, clean, mixing, batch, epsilon, drawn)
        found = Perturbation(state, epoch)(mixing, batch).tensors()
        for new, exact in zip(found, wanted, strict=True):
            torch.testing.assert_close(new, exact, rtol=1e-12, atol=1e-14)
        assert any(not torch.equal(new, old) for new, old in zip(found, clean, strict=True))
    assert state.net.training
    assert all(torch.equal(buffer, running[name]) for name, buffer in state.net.named_buffers())


def original(kind: str) -> str | None:
    """The variant that the preset original selects."""
    return search_options({"optimizer": f"sdarts-{kind}", "preset": "original"}).common.perturbation_variant


def test_a_perturbation_that_lowers_the_loss_is_dropped(monkeypatch):
    state = tiny_state(optimizer="sdarts-adv", perturbation_variant="published")
    with torch.no_grad():
        mixing = state.method.mixing()
    losses = iter([*[torch.zeros((), requires_grad=True)] * 7, torch.tensor(2.0), torch.tensor(1.0)])

    def loss_at(weights, mixing, batch):
        return next(losses) + 0 * sum(tensor.sum() for tensor in mixing.tensors())

    monkeypatch.setattr(state, "loss_at", loss_at, raising=False)
    found = Perturbation(state, 1)(mixing, tiny_batch(side=16)).tensors()
    assert all(torch.equal(new, old) for new, old in zip(found, mixing.tensors(), strict=True))


def test_a_vector_without_a_positive_weight_becomes_one_hot():
    found = onto_simplex(torch.tensor([[-0.2, -0.1, -0.3], [0.5, 1.5, -1.0]]))
    assert found.tolist() == [[0, 1, 0], pytest.approx([1 / 3, 2 / 3, 0])]


@pytest.mark.parametrize("relaxation", ["sigmoid", "gumbel-operations"])
def test_the_default_keeps_sums_other_than_one_and_exact_zeros(relaxation):
    """Weights of sigmoids add up to anything, and a search must not assume otherwise."""
    for kind in ("random", "adversarial"):
        state = tiny_state(perturbation=kind, relaxation=relaxation)
        with torch.no_grad():
            mixing = state.method.mixing()
        batch = state.images_of(torch.from_numpy(state.split.weights[:20]), state.augmentation(1), None)
        sums = []
        for new, old in zip(Perturbation(state, 4)(mixing, batch).tensors(), mixing.tensors(), strict=True):
            torch.testing.assert_close(new.sum(-1), old.sum(-1))
            assert (new[old == 0] == 0).all()
            sums += old.sum(-1).flatten().tolist()
        assert relaxation != "sigmoid" or max(abs(total - 1) for total in sums) > 0.1


REFUSED = [
    (
        {"perturbation_variant": "published"},
        ('perturbation_variant="published"', 'perturbation="random" or adversarial'),
    ),
    ({"perturbation_size": 0.1}, ("perturbation_size=0.1", 'perturbation="random" or adversarial')),
    ({"perturbation": "random", "perturbation_steps": 3}, ("perturbation_steps=3", 'perturbation="adversarial"')),
    (
        {"perturbation": "random", "perturbation_variant": "published", "relaxation": "sigmoid"},
        ('perturbation_variant="corrected"', "darts"),
    ),
    (
        {"perturbation": "random", "perturbation_variant": "published", "optimizer": "gdas"},
        ('perturbation_variant="corrected"', "gdas"),
    ),
    ({"perturbation": "adversarial", "perturbation_steps": 0}, ("perturbation_steps",)),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_options_without_a_meaning_are_refused_before_anything_is_written(options, named, tmp_path):
    with refuses(nb.InvalidInputError, *named):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_variant_from_the_preset_does_not_need_a_perturbation():
    given = {"optimizer": "sdarts-adv", "preset": "original", "perturbation": "none"}
    assert search_options(given).common.perturbation_variant == "published"


@pytest.mark.parametrize(("variant", "length"), [("corrected", 2.5), ("published", 2.0)])
def test_the_number_of_steps_does_not_change_their_total_length(variant, length, monkeypatch):
    """All steps have the same direction here, without a projection or a random start."""
    monkeypatch.setattr("nasbench1shot1.one_shot_search.perturbation._as_shares", lambda changed, clean: changed)
    monkeypatch.setattr(Perturbation, "_projected", lambda self, changed: list(changed))
    monkeypatch.setattr(Perturbation, "_with_noise", lambda self, clean: list(clean))
    state = tiny_state(perturbation="adversarial", perturbation_steps=2, perturbation_variant=variant)
    sizes = []

    def loss_at(weights, mixing, batch):
        sizes.append(mixing.tensors()[0].detach().clone())
        return sum(tensor.sum() for tensor in mixing.tensors())

    monkeypatch.setattr(state, "loss_at", loss_at, raising=False)
    with torch.no_grad():
        mixing = state.method.mixing()
    Perturbation(state, 4)(mixing, tiny_batch(side=16))
    bound = 0.3 if variant == "corrected" else 0.03 + 0.27 * 3 / 4
    torch.testing.assert_close(sizes[1] - sizes[0], torch.full_like(sizes[0], min(length / 2, 1) * bound))
    assert len(sizes) == 2 + 2 * (variant == "published")


def test_a_search_records_the_options_only_if_they_are_given(tmp_path):
    run = search(tmp_path / "run", optimizer="sdarts-rs", epochs=1)
    assert not [name for name in run.config if name.startswith("perturbation_") and name != "perturbation_size"]
    published_run = search(tmp_path / "original", optimizer="sdarts-adv", preset="original", epochs=1)
    assert published_run.config["perturbation_variant"] == "published"
    assert np.isfinite(published_run.lines[-1]["train_loss"])
