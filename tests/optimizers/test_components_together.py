"""Components of newer methods that meet: excluded operations, bounds, weights that do not train, and warm-ups."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from newer_methods import made
from refusals import refuses
from tiny_search import generator, search, tiny_state

from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.loop import batch_pairs, training_steps
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizers.components.updates import _virtual_step
from nasbench1shot1.probability import preferred_within

DECIDING = {
    "darts-pt": {"selection_epochs": 1},
    "drnas-progressive": {"channels": 4, "warm_start_epochs": 1},
    "sgas": {"decision_start": 1, "batch_increase": 0},
}


@pytest.mark.parametrize("optimizer", DECIDING)
def test_methods_that_decide_keep_none_excluded(optimizer, tmp_path):
    options = {"optimizer": optimizer, "epochs": 4, **DECIDING[optimizer]}
    run = search(tmp_path / "run", space="nb201", exclude_none=True, **options)
    for line in run.lines[1:]:
        assert "none" not in line["architecture"]
        kept = [entries for name, entries in line["structure"].items() if name.startswith("operations")]
        assert len(kept) == 6 and not any(0 in entries for entries in kept)


def convolutions(arch) -> int:
    return sum(operation == 3 for operation in arch.operations)


@pytest.mark.parametrize("optimizer", ["darts-pt", "sgas"])
def test_bounds_that_exclude_every_decision_are_met_with_few_changes_that_lambda_chooses(optimizer):
    method = made(optimizer, "nb201")
    with torch.no_grad():
        method.parameters["operations"].normal_(0, 1, generator=generator(2))
    for number in range(6):
        method.allowed.keep(number, [3])
    cost = Cost("convolutions", 2, convolutions, lambda: np.array([convolutions(a) for a in method.space]))
    bounds = Constraint([cost], "few convolutions")
    found = preferred_within(bounds, method.architecture(), method.space, method.preferences())
    assert convolutions(found) == 2
    scores = method.parameters["operations"].detach().clone()
    scores[:, 3] = -9.0
    scores[:, 0] -= 9.0 * (optimizer == "sgas")  # SGAS prefers every other operation to none
    losses = scores.max(dim=1).values - method.parameters["operations"].detach()[:, 3]
    changed = {number for number in range(6) if found.operations[number] != 3}
    assert changed == set(losses.argsort(descending=True)[:4].tolist())
    assert all(found.operations[number] == scores[number].argmax() for number in changed)


def test_virtual_steps_do_not_move_weights_that_do_not_train():
    state = tiny_state(optimizer="rf-darts", update="second-order", epochs=2)
    next(training_steps(state, 1))
    step = state.step(*next(batch_pairs(state, 1)))
    weights = {name: weight.detach() for name, weight in step.weights.items()}
    moved, _ = _virtual_step(step, weights, state.method.mixing())
    assert moved and all(step.weights[name].requires_grad for name in moved)
    name = next(iter(moved))
    state.method.frozen_weights = lambda: {name}
    step = state.step(*next(batch_pairs(state, 1)))
    assert set(_virtual_step(step, weights, state.method.mixing())[0]) == set(moved) - {name}


def test_weights_of_excluded_operations_do_not_decay():
    state = tiny_state(optimizer="darts", space="nb201")
    state.options = replace(state.options, common=replace(state.config, unused_weights="decayed"))
    batch, _ = next(batch_pairs(state, 1))
    names = [weight for name, of in state.net.operation_weights.items() if ".edges.0." in name for weight in of]
    state.net.train()
    weight_step(state, batch)
    state.method.allowed.keep(0, [1])
    weights = dict(state.net.named_parameters())
    before = {name: weights[name].detach().clone() for name in names}
    weight_step(state, batch)
    assert names and all(torch.equal(weights[name], value) for name, value in before.items())


def test_the_best_epoch_of_gaea_is_one_that_moved_lambda():
    method = made("gaea", "s1", returned_epoch="best")
    shared = SimpleNamespace(scores=lambda passes: SimpleNamespace(errors=np.array([0.1])))
    method.begin_epoch(1, 3, generator(1))  # a warm-up does not take steps of Λ
    method.choose(shared)
    assert not method._best


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"optimizer": "idarts", "weights_first": True, "weight_steps": 3}, ("weight_steps", "2")),
        ({"optimizer": "sgas", "decision_start": 4}, ("decision_start=4", "epochs=4")),
        ({"optimizer": "darts-minus", "relaxation": "gumbel-operations"}, ("gumbel-operations", "mixtures")),
        (
            {"optimizer": "sdarts-rs", "space": "nb201", "exclude_none": True, "perturbation_variant": "published"},
            ("perturbation_variant",),
        ),
        ({"optimizer": "gdas", "space": "nb201", "perturbation": "random"}, ('perturbation="none"', "nb201")),
        ({"optimizer": "sdarts-adv", "space": "nb201", "relaxation": "single-path"}, ('perturbation="none"', "nb201")),
        ({"optimizer": "sdarts-rs", "space": "nb201", "relaxation": "reinmax"}, ('perturbation="none"', "nb201")),
    ],
)
def test_combinations_without_an_effect_are_refused(options, words):
    with refuses(InvalidInputError, *words):
        _ = tiny_state(**options).phases


@pytest.mark.parametrize("relaxation", ["gumbel-operations", "single-path", "reinmax"])
def test_sampled_candidates_are_perturbed_where_an_architecture_has_several_parents(relaxation):
    assert tiny_state(optimizer="sdarts-rs", relaxation=relaxation).method.mixes_candidates


def test_sdarts_projects_onto_the_sum_where_operations_are_excluded():
    given = {"optimizer": "sdarts-rs", "space": "nb201", "exclude_none": True, "scale": "quick", "device": "cpu"}
    assert search_options(given).as_dict()["perturbation"] == "random"
    assert not tiny_state(**{k: v for k, v in given.items() if k != "device"}).method.mixes_shares
