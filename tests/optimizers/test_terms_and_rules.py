"""Terms of Λ's loss, the exponentiated gradient, and the relaxations of newer methods, against their formulas."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import special
from small_supernets import SPACES
from tiny_search import SMALL_SPACE, generator, search

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.options import non_default_options
from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS, _ReinMax, add_gumbel_noise
from nasbench1shot1.optimizers.components.rules import exponentiate, start_uniformly
from nasbench1shot1.optimizers.components.terms import TERMS, term_gradients
from nasbench1shot1.optimizers.gradient import GradientHyperparameters, GradientOptimizer


def spread(space=SMALL_SPACE, seed: int = 0) -> dict[str, torch.Tensor]:
    drawn = generator(seed)
    return {
        key: torch.randn(shape, generator=drawn, dtype=torch.float64) for key, shape in space.mixing_shapes().items()
    }


def made(**options) -> GradientOptimizer:
    return GradientOptimizer(SMALL_SPACE, GradientHyperparameters(**options), generator(0), torch.device("cpu"))


@pytest.mark.parametrize("space", SPACES)
def test_the_gradient_of_beta_is_the_softmax_over_the_number_of_choice_vectors(space):
    space = nb.search_space(space)
    parameters = spread(space)
    vectors = sum(math.prod(value.shape[:-1]) for value in parameters.values())
    found = term_gradients("beta", space, parameters, 2.0, 0.25)
    for gradient, value in zip(found, parameters.values(), strict=True):
        np.testing.assert_allclose(gradient, 2.0 * 0.25 / vectors * special.softmax(value.numpy(), axis=-1), rtol=1e-12)


def test_the_zero_one_term_drives_sigmoids_of_operations_apart_and_leaves_edges_alone():
    parameters = spread()
    gradients = dict(zip(parameters, term_gradients("zero-one", SMALL_SPACE, parameters, None, 0.0), strict=True))
    value = parameters["operations"].numpy()
    share = special.expit(value)
    wanted = -10.0 * 2 * (share - 0.5) * share * (1 - share) / value.size  # its weight does not grow
    np.testing.assert_allclose(gradients["operations"], wanted, rtol=1e-12)
    assert not any(gradient.any() for key, gradient in gradients.items() if key != "operations")


def test_the_divergence_of_dirichlet_distributions_agrees_with_its_formula():
    parameters = spread(seed=3)
    total = 0.0
    for value in parameters.values():
        for vector in value.reshape(-1, value.shape[-1]).numpy():
            a = np.where(vector > 0, vector, np.expm1(vector)) + 1
            s = a.sum()
            total += (
                special.gammaln(s) - special.gammaln(a).sum() - special.gammaln(len(a))
                + ((a - 1) * (special.digamma(a) - special.digamma(s))).sum()
            )  # fmt: skip
    vectors = AllowedEntries(SMALL_SPACE).vectors(parameters)
    assert TERMS["dirichlet-kl"].value(vectors).item() == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("term", TERMS)
def test_terms_see_only_allowed_entries(term):
    space, parameters = nb.search_space("nb201"), spread(nb.search_space("nb201"), 4)
    allowed = AllowedEntries(space)
    for row in range(len(parameters["operations"])):
        allowed.drop(row, 0)
    found = term_gradients(term, space, parameters, 2.0, 1.0, allowed)[0].numpy()
    left = parameters["operations"].numpy()[:, 1:]
    if term == "beta":
        wanted = 2.0 / len(left) * special.softmax(left, axis=-1)
    elif term == "dirichlet-kl":
        a = np.where(left > 0, left, np.expm1(left)) + 1
        s = a.sum(axis=-1, keepdims=True)
        slope = (a - 1) * special.polygamma(1, a) - (s - left.shape[-1]) * special.polygamma(1, s)
        wanted = 2.0 * slope * np.where(left > 0, 1, np.exp(left))
    else:
        share = special.expit(left)
        outer = 2 * (share - 0.5) if term == "zero-one" else np.sign(share - 0.5)
        wanted = -2.0 * outer * share * (1 - share) / left.size
    np.testing.assert_allclose(found[:, 1:], wanted, rtol=1e-9)
    assert not found[:, 0].any()


def test_excluded_and_decided_entries_have_no_part_in_a_term_of_a_search():
    method = made(term="beta", relaxation="softmax")
    method.begin_epoch(4, 4, generator(0))
    method.allowed.keep(0, [1])
    before = tuple(torch.zeros_like(value) for value in method.parameters.values())
    added = dict(zip(method.parameters, method._with_term(before), strict=True))
    choice = SMALL_SPACE.choices()[0]
    vector = choice.of(added)
    assert vector[1] != 0 and not vector[[entry for entry in range(choice.entries) if entry != 1]].any()


def test_the_weight_of_beta_does_not_exceed_its_end():
    method = made(term="beta", term_epochs=4)
    shares = []
    for epoch in range(1, 8):
        method.begin_epoch(epoch, 7, generator(0))
        shares.append(method.progress)
    assert shares == [0, 0.25, 0.5, 0.75, 1, 1, 1]


def test_the_exponentiated_gradient_multiplies_mixing_weights_and_normalises_them():
    parameters = spread(seed=4)
    gradients = {key: 3 * value for key, value in spread(seed=5).items()}
    shares = {key: special.softmax(value.numpy(), axis=-1) for key, value in parameters.items()}
    exponentiate(parameters, gradients, 0.7, entropy_weight=0.1)
    for key, before in shares.items():
        of_loss = gradients[key].numpy() + 0.1 * (np.log(before * before.shape[-1]) + 1)
        wanted = before * np.exp(-0.7 * of_loss)
        wanted /= wanted.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(parameters[key].exp(), wanted, rtol=1e-3, atol=1e-5)  # exact but for the floor
        np.testing.assert_allclose(parameters[key].exp().sum(-1), 1, rtol=1e-12)


def test_a_mixing_weight_does_not_fall_below_the_floor():
    parameters = {"operations": torch.zeros(1, 3, dtype=torch.float64)}
    for _ in range(50):
        exponentiate(parameters, {"operations": torch.tensor([[0.0, 1.0, 1.0]])}, 1.0)
    np.testing.assert_allclose(parameters["operations"].exp()[0, 1:], 1e-5, rtol=1e-3)


def test_lambda_starts_uniform_under_the_exponentiated_gradient():
    method = made(rule="exponentiated-gradient")
    for value in method.parameters.values():
        assert torch.equal(value.detach(), torch.full_like(value, -math.log(value.shape[-1])))
    other = {"a": torch.ones(2, 4)}
    start_uniformly(other)
    assert other["a"].exp().sum(-1).tolist() == pytest.approx([1, 1])


@pytest.mark.parametrize("temperature", [0.5, 4.0])
@pytest.mark.parametrize(
    ("relaxation", "draws"), [("softmax", 1), ("gumbel", 3), ("gumbel-operations", 1), ("single-path", 1)]
)
def test_the_exponentiated_gradient_differentiates_through_mixing_weights_as_published(relaxation, draws, temperature):
    """As in GAEA's code for GDAS: θ ← θ exp(-η ∂L/∂θ), with the sample z + S((log θ + G) / τ) - its value."""
    temperatures = {"temperature_max": temperature, "temperature_min": temperature}
    options = {"rule": "exponentiated-gradient", "architecture_learning_rate": 0.1, "draws": draws, **temperatures}
    method, slopes = made(relaxation=relaxation, **options), spread(seed=9)
    method.parameters = {key: value.log_softmax(dim=-1).requires_grad_() for key, value in spread(seed=8).items()}

    def loss(mixing, _):
        sets = mixing.weights if draws > 1 else (mixing.weights,)
        return sum((of[key] * slopes[key]).sum() for of in sets for key in slopes)

    method.generator = generator(5)
    values = [tensor.detach() for tensor in method.mixing().tensors()]
    noise = {key: torch.zeros(draws, *value.shape, dtype=torch.float64) for key, value in slopes.items()}
    noise = noise if relaxation == "softmax" else add_gumbel_noise(noise, generator(5))
    theta = {key: value.detach().exp().requires_grad_() for key, value in method.parameters.items()}
    soft = [((theta[key].log() + noise[key][i]) / temperature).softmax(-1) for i in range(draws) for key in theta]
    samples = iter([value + of - of.detach() for value, of in zip(values, soft, strict=True)])
    sample = method.mixing().with_tensors(samples)
    gradients = torch.autograd.grad(loss(sample, None), list(theta.values()))

    method.generator = generator(5)
    method.architecture_step(SimpleNamespace(loss=loss, architecture_batch=None))
    for (key, before), gradient in zip(theta.items(), gradients, strict=True):
        moved = before.detach() * torch.exp(-0.1 * gradient)
        wanted = moved / moved.sum(dim=-1, keepdim=True)
        torch.testing.assert_close(method.parameters[key].detach().exp(), wanted, rtol=1e-3, atol=1e-5)  # the floor
        assert not torch.allclose(wanted, before, rtol=1e-2)


@pytest.mark.parametrize("relaxation", ["gumbel", "gumbel-operations"])
def test_excluded_entries_and_extreme_samples_leave_the_exponentiated_gradient_finite(relaxation):
    options = {"rule": "exponentiated-gradient", "exclude_none": True, "temperature_max": 0.1, "temperature_min": 0.1}
    settings = GradientHyperparameters(relaxation=relaxation, architecture_learning_rate=10.0, **options)
    method = GradientOptimizer(nb.search_space("nb201"), settings, generator(0), torch.device("cpu"))
    slopes = torch.tensor([5.0, -2.0, 1.0, -1.0, 0.5])

    def loss(mixing, _):
        return (mixing.weights["operations"] * slopes).sum()

    for _ in range(100):
        method.architecture_step(SimpleNamespace(loss=loss, architecture_batch=None))
    assert method.parameters["operations"].isfinite().all()
    assert method.parameters["operations"].detach().softmax(dim=-1)[:, 0].max() < 1e-3


def test_the_dirichlet_relaxation_draws_from_the_distribution_with_pathwise_gradients():
    parameters = {key: value.requires_grad_() for key, value in spread(seed=6).items()}
    drawn, draws = generator(1), 4000
    total = dict.fromkeys(parameters, 0.0)
    for _ in range(draws):
        weights = RELAXATIONS["dirichlet"](SMALL_SPACE, parameters, 1.0, drawn).weights
        total = {key: total[key] + weights[key] for key in total}
    mean = RELAXATIONS["dirichlet"](SMALL_SPACE, parameters, 1.0, None).weights
    for key, value in total.items():
        np.testing.assert_allclose((value / draws).detach(), mean[key].detach(), atol=0.02)
    entry = (total["operations"] / draws)[0, 0]
    (pathwise,) = torch.autograd.grad(entry, [parameters["operations"]])
    (exact,) = torch.autograd.grad(mean["operations"][0, 0], [parameters["operations"]])
    np.testing.assert_allclose(pathwise[0], exact[0], atol=0.03)


def test_very_negative_entries_leave_the_dirichlet_relaxation_finite():
    parameters = {key: torch.full_like(value, -50.0).requires_grad_() for key, value in spread().items()}
    weights = RELAXATIONS["dirichlet"](SMALL_SPACE, parameters, 1.0, generator(0)).weights
    total = sum(value.square().sum() for value in weights.values())
    for gradient in torch.autograd.grad(total, list(parameters.values())):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_reinmax_has_the_published_gradient_for_every_sample(temperature):
    logits = torch.tensor([0.3, -0.8, 1.1], dtype=torch.float64)
    gradient = torch.tensor([0.7, -1.3, 0.4], dtype=torch.float64)
    parameters = {**spread(), "operations": logits.expand(2, 3).clone().requires_grad_()}
    weights = RELAXATIONS["reinmax"](SMALL_SPACE, parameters, temperature, generator(2))
    hard = weights.weights["operations"]
    assert hard.detach().argmax(dim=-1).tolist() == list(weights.operations)
    (found,) = torch.autograd.grad((hard * gradient).sum(), [parameters["operations"]])
    p = special.softmax(logits.numpy())
    for row, sampled in enumerate(weights.operations):
        q = (special.softmax(logits.numpy() / temperature) + np.eye(3)[sampled]) / 2
        jacobian = {name: np.diag(v) - np.outer(v, v) for name, v in (("p", p), ("q", q))}
        wanted = jacobian["q"] @ (2 * gradient.numpy()) - jacobian["p"] @ (gradient.numpy() / 2)
        np.testing.assert_allclose(found[row], wanted - wanted.mean(), rtol=1e-12)


def test_reinmax_is_exact_for_quadratic_functions_on_average():
    """Second-order accuracy: the mean of its gradients over samples equals the gradient of the expectation."""
    logits = torch.tensor([[0.2, -0.4]], dtype=torch.float64)
    matrix = torch.tensor([[1.0, -0.5], [-0.5, 3.0]], dtype=torch.float64)
    p = special.softmax(logits.numpy()[0])
    total = np.zeros(2)
    for sampled in range(2):
        point = torch.eye(2, dtype=torch.float64)[sampled]
        leaf = logits.clone().requires_grad_()
        hard = _ReinMax.apply(leaf, point.long()[None], 1.0)[0]
        (found,) = torch.autograd.grad(hard @ matrix @ hard, [leaf])
        total += p[sampled] * found[0].numpy()
    values = np.diag(matrix.numpy())  # f at the two one-hot points
    exact = p * (values - p @ values)
    np.testing.assert_allclose(total, exact, rtol=1e-10)


REFUSED = [
    ({"term": "beta", "relaxation": "sigmoid"}, "beta"),
    ({"term": "zero-one"}, "zero-one"),
    ({"term": "dirichlet-kl", "relaxation": "gumbel"}, "dirichlet-kl"),
    ({"term_weight": 1.0}, "term_weight"),
    ({"term_epochs": 10}, "term_epochs"),
    ({"rule": "exponentiated-gradient", "relaxation": "dirichlet"}, "dirichlet"),
    ({"rule": "exponentiated-gradient", "term": "beta"}, "beta"),
    ({"relaxation": "reinmax", "temperature_max": 10.0, "temperature_min": 0.1}, "temperature_min"),
    ({"relaxation": "sigmoid", "draws": 2}, "draws"),
    ({"relaxation": "dirichlet", "temperature_max": 5.0}, "temperature_max"),
    ({"relaxation": "sigmoid", "term": "zero-one", "term_epochs": 5}, "term_epochs"),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_combinations_without_a_meaning_are_refused_before_anything_is_written(options, named, tmp_path):
    with pytest.raises(nb.InvalidInputError) as raised:
        search(tmp_path / "run", optimizer="darts", **options)
    assert named in str(raised.value)
    assert not (tmp_path / "run").exists()


COMBINED = [
    *({"term": "beta", "relaxation": name} for name in TERMS["beta"].relaxations),
    {"term": "zero-one", "relaxation": "sigmoid"},
    {"term": "zero-one-l1", "relaxation": "sigmoid"},
    {"term": "dirichlet-kl", "relaxation": "dirichlet", "update": "second-order"},
    *({"rule": "exponentiated-gradient", "relaxation": name} for name in ("softmax", "gumbel", "gumbel-operations")),
    {"rule": "exponentiated-gradient", "relaxation": "gumbel", "draws": 3},
]


@pytest.mark.parametrize("options", COMBINED, ids=lambda options: "-".join(map(str, options.values())))
def test_every_combination_with_a_meaning_moves_lambda_and_stays_finite(options, tmp_path):
    run = search(tmp_path / "run", optimizer="darts", epochs=2, architecture_learning_rate=0.05, **options)
    history = run.architecture_parameters
    assert all(np.isfinite(value).all() for value in history.values())
    assert any(not np.array_equal(value[0], value[2]) for value in history.values())


def test_the_weight_of_beta_grows_from_zero_over_the_epochs_or_over_the_published_hundred():
    for options, wanted in (({}, [0, 0.25, 0.5, 0.75]), ({"term_epochs": 100}, [0, 0.01, 0.02, 0.03])):
        method = made(term="beta", **options)
        found = []
        for epoch in range(1, 5):
            method.begin_epoch(epoch, 4, generator(epoch))
            found.append(method.progress)
        assert found == wanted


def test_screens_and_pictures_name_options_that_are_only_recorded_if_given(tmp_path):
    run = search(tmp_path / "run", optimizer="darts", epochs=2, term="beta", batch_norm_affine=True)
    found = non_default_options(run.config)
    assert found["term"] == "beta"
    assert found["batch_norm_affine"] is True


def test_options_that_are_not_given_are_not_recorded(tmp_path):
    run = search(tmp_path / "run", optimizer="darts", epochs=1)
    assert not {"term", "term_weight", "term_epochs", "rule"} & set(run.config)


def test_all_pairs_are_tried_or_refused():
    assert TERMS["beta"].relaxations == ["softmax", "gumbel", "gumbel-operations", "single-path", "reinmax"]
    known = set(map(str, (pair for pair in product(TERMS, RELAXATIONS))))
    tried = {str((o["term"], o["relaxation"])) for o in COMBINED if "term" in o}
    for term, relaxation in product(TERMS, RELAXATIONS):
        if relaxation in TERMS[term].relaxations:
            assert str((term, relaxation)) in tried & known
