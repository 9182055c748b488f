"""Published behaviour of newer methods, against equations or transcriptions of the published code."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from newer_methods import made
from refusals import refuses
from scipy import special
from small_supernets import SPACES
from tiny_nets import Net, in_float64
from tiny_search import SMALL_SPACE, generator, search, tiny_batch, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizer import Mixing, SearchStep, WeightStep
from nasbench1shot1.optimizers.components.terms import term_gradients


def original(optimizer: str, **options: Any) -> dict[str, Any]:
    return search_options({"optimizer": optimizer, "preset": "original", **options}).as_dict()


def moved(method: Any, nets: Net, steps: int = 1) -> dict[str, np.ndarray]:
    """Λ after steps of a method in float64."""
    in_float64(method).begin_epoch(4, 8, generator(0))
    for _ in range(steps):
        method.architecture_step(nets.step())
    return {key: value.detach().numpy() for key, value in method.parameters.items()}


# β-DARTS --------------------------------------------------------------------------------------------------------------


def test_the_published_weight_of_beta_is_50_e_over_100_in_any_number_of_epochs():
    options = original("beta-darts", epochs=20)
    method = made("beta-darts", term_epochs=options["term_epochs"])
    for epoch in (1, 2, 20):
        method.begin_epoch(epoch, 20, generator(0))
        gradients = term_gradients("beta", SMALL_SPACE, method.parameters, None, method.progress)
        total = sum(gradient.sum().item() for gradient in gradients)  # each of n vectors adds weight / n
        assert total == pytest.approx(50 * (epoch - 1) / 100)


@pytest.mark.parametrize("update", ["first-order", "second-order"])
def test_the_published_second_order_branch_omits_the_term(update):
    assert original("beta-darts", update="second-order")["second_order_term"] is False
    assert "second_order_term" not in original("beta-darts")  # it has no effect on first-order updates
    nets = Net(SMALL_SPACE, 1)
    plain, omitted, kept = (
        moved(made("beta-darts", update=update, **options), nets)
        for options in ({"term": "none"}, {"second_order_term": False}, {})
    )
    for key, value in plain.items():
        assert np.array_equal(value, omitted[key]) == (update == "second-order")
        assert not np.array_equal(value, kept[key])


# iDARTS ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_the_weight_steps_of_idarts_precede_the_step_of_lambda_under_original_only(space, monkeypatch):
    given = {"optimizer": "idarts", "space": space, "images_per_half": 30, "batch_size": 6, "weight_steps": 2}
    for preset, order in (("corrected", "Λ w w Λ w w Λ w"), ("original", "w w Λ w w Λ w")):
        state, calls = tiny_state(preset=preset, **given), []
        drawn = state.method.weight_mixing
        monkeypatch.setattr(state.method, "weight_mixing", lambda d=drawn, c=calls: [c.append("w"), d()][1])
        monkeypatch.setattr(state.method, "architecture_step", lambda _, c=calls: c.append("Λ"))
        list(training_steps(state, 1))
        assert " ".join(calls) == order
        assert state.options.own.weights_first is (True if preset == "original" else None)


# FairDARTS ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES)
def test_two_steps_of_fair_darts_follow_the_published_adam(space):
    settings = original("fair-darts", space=space)
    assert (settings["learning_rate"], settings["learning_rate_min"], settings["batch_size"]) == (0.005, 0.001, 128)
    nets, method = Net(space, 1), made("fair-darts", space, architecture_beta1=settings["architecture_beta1"])
    found = moved(method, nets, steps=2)
    values = {key: v.detach().numpy() for key, v in in_float64(made("fair-darts", space)).parameters.items()}
    first, second = ({key: np.zeros_like(v) for key, v in values.items()} for _ in range(2))
    for step in (1, 2):
        leaves = {key: torch.from_numpy(v.copy()).requires_grad_() for key, v in values.items()}
        mixed = {key: v.softmax(-1) for key, v in leaves.items()} | {"operations": leaves["operations"].sigmoid()}
        loss = nets.loss(Mixing(mixed), tiny_batch(seed=2))
        loss = loss - 10 * ((mixed["operations"] - 0.5) ** 2).mean()
        for key, g in zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True):
            total = g.numpy() + 1e-3 * values[key]
            first[key] = 0.9 * first[key] + 0.1 * total
            second[key] = 0.999 * second[key] + 0.001 * total**2
            size = np.sqrt(second[key] / (1 - 0.999**step)) + 1e-8
            values[key] = values[key] - 3e-3 * first[key] / (1 - 0.9**step) / size
    for key, value in values.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_the_l1_form_of_the_zero_one_term(space):
    space = nb.search_space(space)
    drawn = generator(0)
    parameters = {k: torch.randn(s, generator=drawn, dtype=torch.float64) for k, s in space.mixing_shapes().items()}
    gradients = dict(zip(parameters, term_gradients("zero-one-l1", space, parameters, None, 0.0), strict=True))
    share = special.expit(parameters["operations"].numpy())
    wanted = -10 * np.sign(share - 0.5) * share * (1 - share) / share.size
    np.testing.assert_allclose(gradients["operations"], wanted, rtol=1e-12)
    assert not any(gradient.any() for key, gradient in gradients.items() if key != "operations")


def test_a_single_level_moves_weights_and_lambda_from_the_same_point_on_the_same_batch():
    nets, method = Net("s1", 1), in_float64(made("fair-darts", "s1", levels="single-level"))
    method.begin_epoch(1, 8, generator(0))
    before = {key: value.detach().clone() for key, value in method.parameters.items()}
    method.architecture_step(nets.step())
    after = method.parameters
    mixing = method.weight_mixing()
    for key, value in before.items():
        shares = value.sigmoid() if key == "operations" else value.softmax(-1)
        assert torch.equal(mixing.weights[key], shares)
        leaf = {k: v.clone().requires_grad_() for k, v in before.items()}
        mixed = {k: v.softmax(-1) for k, v in leaf.items()} | {"operations": leaf["operations"].sigmoid()}
        loss = nets.loss(Mixing(mixed), tiny_batch(seed=1))  # the batch of the weights
        (gradient,) = torch.autograd.grad(loss - 10 * (mixed["operations"] - 0.5).pow(2).mean(), [leaf[key]])
        total = gradient + 1e-3 * value
        torch.testing.assert_close(
            after[key].detach(), value - 3e-3 * total / (total.abs() + 1e-8), rtol=1e-9, atol=1e-12
        )
    assert not torch.equal(method.weight_mixing().weights["operations"], mixing.weights["operations"])


def test_a_single_level_draws_the_noise_of_weights_and_lambda_once(monkeypatch):
    method, drawn = made("fair-darts", "s1", levels="single-level", relaxation="gumbel", term="none"), []
    of_lambda = type(method).mixing

    def mixing(self):
        drawn.append(of_lambda(self))
        return drawn[-1]

    monkeypatch.setattr(type(method), "mixing", mixing)
    method.begin_epoch(1, 8, generator(0))
    method.architecture_step(Net("s1", 1).step())
    of_weights = method.weight_mixing()
    assert len(drawn) == 2
    for key, shares in of_weights.weights.items():
        assert torch.equal(shares, drawn[1].weights[key].detach())


@pytest.mark.parametrize("threshold", [None, 0.0, 0.85, 1.0])
def test_edges_below_the_threshold_vanish(threshold):
    space = nb.search_space("nb201")
    method = made("fair-darts", space, operation_threshold=threshold)
    drawn = generator(5)
    values = 3 * torch.randn(6, 5, generator=drawn)
    method.parameters["operations"].data.copy_(values)
    shares = special.expit(values.numpy())
    if threshold is None:
        wanted = shares.argmax(axis=1)
    else:
        wanted = [1 + row[1:].argmax() if row[1:].max() >= threshold else 0 for row in shares]
    assert method.architecture().operations == tuple(map(int, wanted))


# DARTS- ---------------------------------------------------------------------------------------------------------------

PUBLISHED_FACTORS = {
    "linear": lambda e, n: (n - e) / n,
    "cosine": lambda e, n: (1 + math.cos(math.pi * e / n)) / 2.0,
    "slow-cosine": lambda e, n: math.cos((math.pi / 2) * e / n),
    "constant": lambda e, n: 1.0,
}


@pytest.mark.parametrize("schedule", PUBLISHED_FACTORS)
def test_the_auxiliary_skip_follows_the_published_schedules(schedule):
    assert original("darts-minus")["skip_ends_after"] is True
    method = made("darts-minus", skip_schedule=schedule, skip_ends_after=True)
    last_zero = made("darts-minus", skip_schedule=schedule)
    for epoch in range(50):
        method.begin_epoch(epoch + 1, 50, generator(0))
        assert method.auxiliary_skip == pytest.approx(PUBLISHED_FACTORS[schedule](epoch, 50), abs=1e-12)
        last_zero.begin_epoch(epoch + 1, 50, generator(0))
    assert last_zero.auxiliary_skip == (1 if schedule == "constant" else 0)


# OLES -----------------------------------------------------------------------------------------------------------------


def frozen_as_published(values: list[float], patience: float, count: int) -> int | None:
    """Number of values after which the published counter freezes an operation; None if it does not."""
    total, seen = 0.0, 0
    for number, value in enumerate(values, start=1):
        total += value
        if seen == count:
            if total / seen < patience:
                return number
            total, seen = 0.0, 0
        else:
            seen += 1
    return None


@pytest.mark.parametrize("seed", range(6))
def test_the_published_counter_divides_one_value_more_than_the_window(seed):
    settings = original("oles")
    assert (settings["summed_gradients"], settings["clipped_gradients"], settings["window"]) == (True, True, 20)
    method = made("oles", summed_gradients=True, window_counts_one_more=settings["window_counts_one_more"])
    drawn, values, frozen_after = np.random.default_rng(seed), [], None
    for number in range(1, 90):
        a, b = torch.from_numpy(drawn.normal(size=(2, 6, 3)))
        b = b - 0.98 * a  # the cosine of a and a + b is close to the threshold
        cosine = (a * (a + b)).sum(0) / (a.norm(dim=0) * (a + b).norm(dim=0))
        values.append(cosine.mean().item())
        method._trained = {"w": a}
        if frozen_after is None:
            method._observe("op", ["w"], {"w": b})
            frozen_after = number if method.frozen else None
    assert frozen_after == frozen_as_published(values, 0.4, 20)


@pytest.mark.parametrize("is_clipped", [True, False])
def test_the_published_measure_adds_the_gradient_to_the_clipped_one(is_clipped):
    state = tiny_state(optimizer="oles", window=4, summed_gradients=True, clipped_gradients=is_clipped)
    net, method = state.net.double().train(), state.method
    in_float64(method)
    weights, batch = dict(net.named_parameters()), tiny_batch(seed=2, side=16)
    drawn = generator(7)
    trained = {n: torch.randn(w.shape, generator=drawn, dtype=torch.float64) for n, w in weights.items()}
    for name, weight in weights.items():
        weight.grad = trained[name].clone()
    method.adjust_gradients(WeightStep(None, batch, None, weights, net.operation_weights, None))
    norm = torch.nn.utils.clip_grad_norm_(weights.values(), 0.5)  # as the weight step does next

    def loss_at(_, mixing, of):
        return torch.nn.functional.cross_entropy(net(of.images, *mixing.arguments()), of.labels)

    found = torch.autograd.grad(loss_at(None, method.mixing(), batch), list(weights.values()), allow_unused=True)
    method._compare(SearchStep(None, None, loss_at, weights, net.operation_weights, batch, batch, None))
    validation = dict(zip(weights, found, strict=True))
    factor = 0.5 / (norm + 1e-6) if is_clipped else 1.0
    for operation, names in net.operation_weights.items():
        cosines = []
        for name in names:
            kept = (trained[name] * factor).flatten(1) if trained[name].dim() > 1 else trained[name][:, None] * factor
            both = kept + validation[name].reshape(kept.shape)
            cosines.append(((kept * both).sum(0) / (kept.norm(dim=0) * both.norm(dim=0))).mean().item())
        assert method.cosines[operation] == [pytest.approx(np.mean(cosines), rel=1e-9)]


# Terms that are removed, and flooding --------------------------------------------------------------------------------


def test_a_method_without_its_term_is_its_base(tmp_path):
    for name, options in (("beta-darts", {}), ("fair-darts", {})):
        base = search(tmp_path / f"{name}-0", optimizer=name, term_weight=0.0, epochs=2, **options)
        without = search(tmp_path / name, optimizer=name, term="none", epochs=2, **options)
        assert without.config["term"] == "none"
        for key, value in base.architecture_parameters.items():
            assert np.array_equal(value, without.architecture_parameters[key])
    darts = search(tmp_path / "darts", optimizer="darts", epochs=2)
    none = search(tmp_path / "none", optimizer="darts", epochs=2, term="none")
    assert "term" not in darts.config
    assert none.config["term"] == "none"


def test_the_advice_of_a_refusal_is_accepted():
    for given in (
        {"optimizer": "beta-darts", "relaxation": "sigmoid"},
        {"optimizer": "fair-darts", "relaxation": "softmax"},
        {"optimizer": "beta-darts", "rule": "exponentiated-gradient"},
        {"optimizer": "beta-darts", "preset": "original", "relaxation": "sigmoid"},
    ):
        with refuses(nb.InvalidInputError, 'term="none"'):
            search_options(given)
        assert search_options({**given, "term": "none"}).own.active_term is None
    with refuses(nb.InvalidInputError, 'rule="adam"'):
        search_options({"optimizer": "gaea", "relaxation": "sigmoid"})
    search_options({"optimizer": "gaea", "relaxation": "sigmoid", "rule": "adam"})
    with refuses(nb.InvalidInputError, "temperature_max=1, temperature_min=1"):
        search_options({"optimizer": "gdas", "relaxation": "dirichlet", "architecture_grad_clip": 0})
    search_options({"optimizer": "gdas", "relaxation": "dirichlet", "temperature_max": 1, "temperature_min": 1})
    with refuses(nb.InvalidInputError, "has no temperature: remove temperature_max=5"):
        search_options({"optimizer": "drnas", "temperature_max": 5.0})


REFUSED = [
    ({"flooding": -0.1}, ("flooding",)),
    ({"flooding": math.inf}, ("flooding",)),
    ({"flooding": math.nan}, ("flooding",)),
    ({"optimizer": "random-ws", "flooding": 0.1}, ("flooding",)),
    ({"architecture_beta1": 1.0}, ("architecture_beta1", "1.0")),
    ({"optimizer": "gaea", "architecture_beta1": 0.9}, ("architecture_beta1=0.5", 'rule="adam"')),
    ({"term": "none", "term_weight": 1.0}, ("term_weight",)),
    ({"optimizer": "fair-darts", "operation_threshold": 0.85}, ("operation_threshold=0.85", "s1")),
    ({"optimizer": "fair-darts", "operation_threshold": 1.5}, ("operation_threshold",)),
    (
        {
            "optimizer": "fair-darts",
            "space": "nb201",
            "operation_threshold": 0.8,
            "relaxation": "gumbel",
            "term": "none",
        },
        ("operation_threshold=0.8", "sigmoid"),
    ),
    ({"rule": "exponentiated-gradient", "relaxation": "reinmax"}, ("ReinMax", 'rule="adam"')),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_nonsense_is_refused_before_anything_is_written(options, named, tmp_path):
    with refuses(nb.InvalidInputError, *named):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_every_gradient_method_floods():
    moves = []
    for flooding in (0.0, 100.0):
        state = tiny_state(optimizer="gdas", flooding=flooding, momentum=0.0, weight_decay=0.0)
        before = {name: weight.detach().clone() for name, weight in state.net.named_parameters()}
        next(training_steps(state, 1))
        moves.append({name: weight.detach() - before[name] for name, weight in state.net.named_parameters()})
    for name, move in moves[0].items():
        torch.testing.assert_close(moves[1][name], -move, rtol=1e-3, atol=1e-6)


# GAEA -----------------------------------------------------------------------------------------------------------------


def test_a_step_of_gaea_without_none_moves_four_mixing_weights():
    """θ ← max(θ exp(-η g), 1e-5), normalised, from uniform weights of the four operations."""
    method, nets = made("gaea", "nb201", exclude_none=True), Net("nb201", 1)
    for key, value in method.parameters.items():
        method.parameters[key] = value.detach().double().requires_grad_()
    theta = torch.full((6, 4), 0.25, dtype=torch.float64)
    for _ in range(2):
        leaf = theta.clone().requires_grad_()
        weights = torch.cat([torch.zeros(6, 1, dtype=torch.float64), leaf], dim=1)
        (gradient,) = torch.autograd.grad(nets.loss(Mixing({"operations": weights}), tiny_batch(seed=2)), [leaf])
        method.architecture_step(nets.step())
        theta = (theta * (-0.1 * gradient).exp()).clamp(min=1e-5)
        theta = theta / theta.sum(dim=-1, keepdim=True)
        found = method.mixing().weights["operations"].detach()
        assert not found[:, 0].any()
        torch.testing.assert_close(found[:, 1:], theta, rtol=1e-10, atol=0)
        assert all(value.isfinite().all() for value in method.parameters.values())
    assert all(operation for operation in method.architecture().operations)


def test_a_short_search_follows_the_beginning_of_a_longer_cosine():
    state = tiny_state(optimizer="gaea", epochs=2, cosine_epochs=8)
    rates = [0.001 + 0.024 * (1 + math.cos(math.pi * epoch / 8)) / 2 for epoch in range(2)]
    assert [state.learning_rate(epoch) for epoch in (1, 2)] == pytest.approx(rates)


def test_the_best_epoch_is_returned(tmp_path):
    options = {"optimizer": "gaea", "architecture_learning_rate": 20.0, "learning_rate": 0.1, "epochs": 4}
    best_found = False
    for seed in range(2):
        last, best = (
            search(tmp_path / f"{seed}-{kind}", seed=seed, returned_epoch=kind, **options) for kind in ("last", "best")
        )
        errors = [line["one_shot_validation_error"] for line in last.lines[1:]]
        wanted = 1 + errors.index(min(errors))
        best_found = best_found or wanted < 4
        assert best.lines[-1]["architecture"] == last.lines[wanted]["architecture"]
        for key, value in last.architecture_parameters.items():
            assert np.array_equal(best.architecture_parameters[key][-1], value[wanted])
            assert np.array_equal(best.architecture_parameters[key][:-1], value[:-1])
    assert best_found


def test_without_held_out_images_the_published_code_returns_the_last_epoch():
    held_out, none = (
        made("gaea", "s1", returned_epoch="best", levels="single-level", training_images=images)
        for images in ("weight-half", "all")
    )
    assert held_out.selects_epoch and not none.selects_epoch


def test_the_published_settings_of_nas_bench_201():
    settings = original("gaea", space="nb201")
    names = ("channels", "epochs", "cosine_epochs", "exclude_none", "weight_decay", "nesterov", "returned_epoch")
    assert [settings[name] for name in names] == [24, 25, 50, True, 3e-4, False, "best"]
    for name in ("beta-darts", "drnas", "sdarts-rs", "sdarts-adv", "lambda-darts"):
        settings = original(name, space="nb201")
        found = [settings[of] for of in ("epochs", "weight_decay", "nesterov", "evaluation_batch_norm", "batch_size")]
        assert found == [100, 3e-4, False, "running", 64]
    for name in ("fair-darts", "darts-minus", "oles", "sgas"):  # published for DARTS's space, with these settings
        settings = original(name, space="nb201")
        found = [settings[of] for of in ("weight_decay", "nesterov", "evaluation_batch_norm", "augment_scored_images")]
        assert found == [3e-4, False, "running", True]
    assert original("lambda-darts", space="nb201")["weights_first"] is True
    assert original("fair-darts", space="nb201")["operation_threshold"] == 0.85
    assert original("idarts", space="nb201")["evaluation_batch_norm"] == "running"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"exclude_none": True}, ("exclude_none", "s1")),
        ({"optimizer": "gaea", "cosine_epochs": 3}, ("cosine_epochs=3", "epochs=4", "cosine_epochs=4")),
        (
            {"optimizer": "fair-darts", "space": "nb201", "operation_threshold": 0.8, "exclude_none": True},
            ("operation_threshold=0.8", "exclude_none"),
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, named, tmp_path):
    with refuses(nb.InvalidInputError, *named):
        search(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


# DrNAS ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("term", ["none", "dirichlet-kl"])
@pytest.mark.parametrize("space", SPACES)
def test_a_whole_step_of_drnas_follows_the_pathwise_gradient(space, term):
    """θ = γ / Σ γ with γᵢ ~ Gamma(aᵢ), a = elu(Λ) + 1; ∂γ/∂a is minus the derivative of its distribution function with
    respect to a, divided by its density, here by differences of the incomplete gamma function."""
    decay = 1e-3 if term == "none" else 0.0
    nets = Net(space, 1)
    method = in_float64(made("drnas", space, term=term, architecture_weight_decay=decay))
    method.begin_epoch(4, 8, generator(9))
    before = {key: value.detach().numpy().copy() for key, value in method.parameters.items()}
    drawn, gammas, shares = generator(9), {}, {}
    for key, value in before.items():
        a = np.where(value > 0, value + 1, np.exp(value))
        gammas[key] = torch._standard_gamma(torch.from_numpy(a), generator=drawn).numpy()
        shares[key] = gammas[key] / gammas[key].sum(-1, keepdims=True)
    leaves = {key: torch.from_numpy(value).requires_grad_() for key, value in shares.items()}
    of_shares = torch.autograd.grad(nets.loss(Mixing(leaves), tiny_batch(seed=2)), list(leaves.values()))
    method.architecture_step(nets.step())
    for (key, value), gradient in zip(before.items(), of_shares, strict=True):
        g, theta, x = gradient.numpy(), shares[key], gammas[key]
        of_gamma = (g - (g * theta).sum(-1, keepdims=True)) / x.sum(-1, keepdims=True)
        a, h = np.where(value > 0, value + 1, np.exp(value)), 1e-5
        density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
        of_a = of_gamma * -(special.gammainc(a + h, x) - special.gammainc(a - h, x)) / (2 * h) / density
        if term == "dirichlet-kl":
            s, n = a.sum(-1, keepdims=True), a.shape[-1]
            of_a = of_a + 1e-3 * ((a - 1) * special.polygamma(1, a) - (s - n) * special.polygamma(1, s))
        total = of_a * np.where(value > 0, 1, np.exp(value)) + decay * value
        wanted = value - 3e-4 * total / (np.abs(total) + 1e-8)
        found = method.parameters[key].detach().numpy()
        moments = method.adam.state[method.parameters[key]]["exp_avg"].numpy()  # the size of the gradient, not its sign
        np.testing.assert_allclose(moments / 0.5, total, rtol=2e-3, atol=1e-7)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
