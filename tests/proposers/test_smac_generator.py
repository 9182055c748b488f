"""SMAC's proposals: determined by seed, identity and observations, valid, and better than random."""

import numpy as np
import pytest
from ConfigSpace import Categorical, Configuration, ConfigurationSpace, ForbiddenEqualsClause, OrdinalHyperparameter
from configurations_of_tests import continuous_space, job, mixed_space
from smac import MultiFidelityFacade

from nasbench1shot1.proposers import smac
from nasbench1shot1.proposers.smac import AskTellFacade, SmacGenerator


def generator_with(space, observations, seed=0, random_fraction=0.0):
    generator = SmacGenerator(space, seed)
    generator.random_fraction = random_fraction
    for observation in observations:
        generator.new_result(observation)
    return generator


def test_configurations_are_random_until_a_budget_has_enough_observations():
    space = continuous_space()
    generator = generator_with(space, [job(found, 0.5) for found in space.sample_configuration(7)])
    assert generator.get_config(1, (0, 0, 1))[1] == {"model_based_pick": False}
    assert generator.get_config(1, (0, 0, 1)) == SmacGenerator(space, 0).get_config(4, (0, 0, 1))
    assert generator.get_config(1, (0, 0, 1)) != SmacGenerator(space, 1).get_config(1, (0, 0, 1))


def test_seed_identity_and_observations_determine_a_proposal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = continuous_space()
    observations = [job(found, found["rate"]) for found in space.sample_configuration(8)]
    before = np.random.get_state()[1].copy()  # noqa: NPY002, which SMAC could draw from
    generator = generator_with(space, observations)
    proposed = [generator.get_config(1, identity) for identity in ((1, 0, 0), (1, 0, 1))]
    assert [info for _, info in proposed] == [{"model_based_pick": True}] * 2
    again = generator_with(space, observations)
    assert [again.get_config(1, identity) for identity in ((1, 0, 1), (1, 0, 0))] == proposed[::-1]
    assert generator_with(space, observations, seed=1).get_config(1, (1, 0, 1)) != proposed[1]
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert not list(tmp_path.iterdir())  # SMAC writes its files elsewhere, and they are deleted


def test_proposals_agree_with_smacs_default_forest(monkeypatch):
    space = mixed_space()
    generator = generator_with(space, [job(one, one["rate"]) for one in space.sample_configuration(30)])
    proposed = generator.get_config(1, (1, 0, 0))
    monkeypatch.setattr(smac, "forest", lambda scenario, observations: MultiFidelityFacade.get_model(scenario))
    assert generator.get_config(1, (1, 0, 0)) == proposed
    assert proposed[1] == {"model_based_pick": True}


def test_proposals_come_from_the_largest_budget_with_enough_observations():
    space = continuous_space()
    sampled = space.sample_configuration(30)
    misleading = [job(found, abs(found["momentum"] - 0.1) + 0.01, budget=1) for found in sampled]
    right = [job(found, abs(found["momentum"] - 0.7) + 0.01, budget=4) for found in sampled]
    generator = generator_with(space, misleading + right[:7])
    for best, more in ((0.1, []), (0.7, right[7:])):
        for observation in more:
            generator.new_result(observation)
        proposals = [generator.get_config(4, (1, 0, number)) for number in range(2)]
        assert all(info["model_based_pick"] for _, info in proposals)
        assert np.median([abs(found["momentum"] - best) for found, _ in proposals]) < 0.1


def test_one_fifth_of_the_proposals_is_random_and_covers_the_space():
    space = continuous_space()
    generator = generator_with(space, [job(found, 0.5) for found in space.sample_configuration(8)], random_fraction=0.2)
    generator._ask = lambda seed, pending: space.get_default_configuration()
    proposals = [generator.get_config(1, (1, 0, number))[0] for number in range(400)]
    random = [found["momentum"] for found in proposals if found != dict(space.get_default_configuration())]
    assert 50 < len(random) < 110
    assert max(random) > 0.9 and min(random) < 0.1 and 0.35 < np.median(random) < 0.65


def test_diverged_trials_count_as_the_worst():
    space = continuous_space()
    sampled = space.sample_configuration(24)
    observations = [job(found, None if found["momentum"] > 0.5 else 0.1 + 0.1 * found["rate"]) for found in sampled]
    generator = generator_with(space, observations)
    costs = {value.cost for _, value in generator._observed_trials()}
    assert max(costs) == max(observed.result["loss"] for observed in observations if observed.result)
    proposals = [generator.get_config(1, (1, 0, number)) for number in range(2)]
    assert all(info["model_based_pick"] for _, info in proposals)
    assert max(found["momentum"] for found, _ in proposals) < 0.6


def test_proposals_are_valid():
    space = mixed_space()
    space.add(OrdinalHyperparameter("size", [1, 2, 4]), ForbiddenEqualsClause(space["kind"], "c"))
    generator = generator_with(space, [job(one, one["rate"]) for one in space.sample_configuration(20)])
    for number in range(2):
        proposed, info = generator.get_config(1, (1, 0, number))
        assert info == {"model_based_pick": True}
        Configuration(space, values=proposed)  # raises if it is not valid
        assert {type(value) for value in proposed.values()} <= {int, float, str, bool}


def test_pending_configurations_are_not_proposed_and_an_exhausted_space_is_sampled_at_random():
    space = ConfigurationSpace()
    space.add(Categorical("kind", list("abcdef")))
    generator = generator_with(space, [job({"kind": kind}, 0.5) for kind in "abcd"])
    assert [generator.get_config(1, (1, 0, number), [{"kind": "e"}])[0] for number in range(2)] == [{"kind": "f"}] * 2
    proposed, info = generator.get_config(1, (1, 0, 0), [{"kind": "e"}, {"kind": "f"}])
    assert proposed["kind"] in "abcdef"
    assert info == {"model_based_pick": False}


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_an_exhausted_space_ends_the_proposals(kind):
    values = [0, 1, 2]
    space = ConfigurationSpace()
    space.add(*([Categorical(n, values) if kind == "categorical" else OrdinalHyperparameter(n, values) for n in "ab"]))
    facade = AskTellFacade(space, seed=0, trees=3, random_fraction=0.2, most_trainings=1, challengers=50)
    asked = []
    for _ in range(30):
        if (trial := facade.ask()) is None:
            break
        asked.append(tuple(dict(trial.config).values()))
        facade.tell(trial, float(sum(asked[-1])))
    assert len(asked) == len(set(asked)) <= 9 and facade.ask() is None
