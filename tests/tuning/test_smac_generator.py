"""SMAC's proposals: determined by seed, identity and observations, legal, and better than random ones."""

import numpy as np
from ConfigSpace import Categorical, Configuration, ConfigurationSpace, ForbiddenEqualsClause, OrdinalHyperparameter
from configurations_of_tests import continuous_space, job, mixed_space

from nasbench1shot1.tuning.engine.smac_generator import SmacGenerator


def told(space, observations, seed=0):
    generator = SmacGenerator(space, seed)
    for observation in observations:
        generator.new_result(observation)
    return generator


def test_the_first_configuration_is_the_default_and_the_next_ones_are_random():
    space = continuous_space()
    generator = told(space, [job(found, 0.5) for found in space.sample_configuration(3)])
    assert generator.get_config(1, (0, 0, 0)) == (dict(space.get_default_configuration()), {"model_based_pick": False})
    assert generator.get_config(1, (0, 0, 1))[1] == {"model_based_pick": False}
    assert generator.get_config(1, (0, 0, 1)) == SmacGenerator(space, 0).get_config(4, (0, 0, 1))
    assert generator.get_config(1, (0, 0, 1)) != SmacGenerator(space, 1).get_config(1, (0, 0, 1))


def test_seed_identity_and_observations_determine_a_proposal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = continuous_space()
    observations = [job(found, found["rate"]) for found in space.sample_configuration(8)]
    before = np.random.get_state()[1].copy()  # noqa: NPY002, which SMAC could draw from
    generator = told(space, observations)
    proposed = [generator.get_config(1, identity) for identity in ((1, 0, 0), (1, 0, 1))]
    again = told(space, observations)
    assert [again.get_config(1, identity) for identity in ((1, 0, 1), (1, 0, 0))] == proposed[::-1]
    assert told(space, observations, seed=1).get_config(1, (1, 0, 1)) != proposed[1]
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert not list(tmp_path.iterdir())  # SMAC writes its own files elsewhere, and they are gone


def test_the_model_of_the_largest_budget_with_enough_observations_proposes():
    space = continuous_space()
    sampled = space.sample_configuration(30)
    misleading = [job(found, abs(found["momentum"] - 0.1) + 0.01, budget=1) for found in sampled]
    right = [job(found, abs(found["momentum"] - 0.7) + 0.01, budget=4) for found in sampled]
    generator = told(space, misleading + right[:3])
    near = {0.1: [], 0.7: []}
    for best, more in ((0.1, []), (0.7, right[3:])):
        for observation in more:
            generator.new_result(observation)
        proposals = [generator.get_config(4, (1, 0, number)) for number in range(3)]
        near[best] = [found["momentum"] for found, info in proposals if info["model_based_pick"]]
        assert len(near[best]) >= 2
        assert np.median(np.abs(np.array(near[best]) - best)) < 0.1


def test_proposals_are_legal_and_diverged_trials_do_no_harm():
    space = mixed_space()
    space.add(OrdinalHyperparameter("size", [1, 2, 4]), ForbiddenEqualsClause(space["kind"], "c"))
    found = space.sample_configuration(20)
    generator = told(space, [job(one, None if number % 3 else one["rate"]) for number, one in enumerate(found)])
    for number in range(3):
        proposed, _ = generator.get_config(1, (1, 0, number))
        Configuration(space, values=proposed)  # raises if it is not legal
        assert {type(value) for value in proposed.values()} <= {int, float, str, bool}


def test_an_exhausted_space_is_sampled_at_random():
    space = ConfigurationSpace()
    space.add(Categorical("kind", ["a", "b"]))
    generator = told(space, [job({"kind": kind}, 0.5) for kind in "ab"])
    proposed, info = generator.get_config(1, (1, 0, 0))
    assert proposed["kind"] in "ab"
    assert info == {"model_based_pick": False}
