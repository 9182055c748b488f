"""The generator compared with hpbandster and statsmodels, and cases in which these fail."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from ConfigSpace import (
    Configuration,
    ConfigurationSpace,
    Constant,
    ForbiddenEqualsClause,
    OrdinalHyperparameter,
)
from configurations_of_tests import continuous_space, job, mixed_space
from hpbandster.optimizers.config_generators.bohb import BOHB
from hypothesis import given, settings
from hypothesis import strategies as st

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers import bohb
from nasbench1shot1.proposers.bohb import BohbGenerator, Density, log_acquisition
from nasbench1shot1.proposers.configurations import RandomGenerator, observations_of_model


@pytest.mark.parametrize("seed", range(6))
def test_proposals_for_continuous_hyperparameters_agree_with_hpbandster(seed, monkeypatch):
    space, loss = continuous_space(), np.random.default_rng(seed)
    ours = BohbGenerator(space, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = BOHB(continuous_space())
        for budget in (1, 2):
            for configuration in space.sample_configuration(20):
                observed = job(configuration, float(loss.random()) if loss.random() < 0.9 else None, budget)
                ours.new_result(observed)
                theirs.new_result(observed)
        monkeypatch.setattr(bohb, "random_state", lambda *_: np.random.mtrand._rand)
        state = np.random.get_state()  # noqa: NPY002, which hpbandster draws from
        picks = 0
        for draw in range(5):
            np.random.seed(100 * seed + draw)  # noqa: NPY002, which hpbandster draws from
            expected, info = theirs.get_config(1)
            np.random.seed(100 * seed + draw)  # noqa: NPY002, which hpbandster draws from
            found, ours_info = ours.get_config(1, (1, 0, draw))
            assert ours_info == info
            if info["model_based_pick"]:
                picks += 1
                assert found == expected
        np.random.set_state(state)  # noqa: NPY002, which hpbandster draws from
    assert picks


def test_a_budget_has_a_model_from_the_announced_number_of_observations_on():
    space = continuous_space()
    generator, needed = BohbGenerator(space, 0), observations_of_model(space)
    for number, configuration in enumerate(space.sample_configuration(needed), start=1):
        generator.new_result(job(configuration, number / 10, 1))
        assert bool(generator.kde_models) == (number == needed)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_densities_agree_with_statsmodels_if_all_categories_were_seen(seed):
    rng = np.random.default_rng(seed)
    data = np.column_stack([rng.random((30, 2)), rng.permutation(np.arange(30) % 3)])
    ours = Density.fit(data, np.array([0, 0, 3]), 1e-3)
    theirs = sm.nonparametric.KDEMultivariate(data, "ccu", "normal_reference", rng=0)
    assert theirs.bw[2] <= 2 / 3
    np.testing.assert_allclose(ours.bw, theirs.bw)
    points = np.column_stack([rng.random((5, 2)), rng.integers(3, size=5)])
    np.testing.assert_allclose(np.exp(ours.log_pdf(points)), theirs.pdf(points))


def test_the_probabilities_of_categories_sum_to_one_even_if_few_were_seen():
    for seen in ([0] * 9, [0, 3] * 9, [0, 7] * 3 + [1]):
        density = Density.fit(np.array(seen, float)[:, None], np.array([8]), 1e-3)
        assert np.exp(density.log_pdf(np.arange(8.0)[:, None])).sum() == pytest.approx(1)


@pytest.mark.parametrize("first_is_conditional", [False, True])
@given(st.data())
@settings(max_examples=15)
def test_proposals_are_valid_and_acquisitions_are_never_nan(first_is_conditional, data):
    space = mixed_space(first_is_conditional)
    generator = BohbGenerator(space, data.draw(st.integers(0, 99)), num_samples=8)
    generator.random_fraction = 0
    space.seed(data.draw(st.integers(0, 99)))
    losses = st.one_of(st.none(), st.floats(-10, 10), st.sampled_from([0.0, 1.0]))
    for configuration in space.sample_configuration(data.draw(st.integers(10, 24))):
        generator.new_result(job(configuration, data.draw(losses)))
    for number in range(2):
        proposed, info = generator.get_config(1, (1, 0, number))
        Configuration(space, values=proposed)  # raises if it is not valid
        assert info == {"model_based_pick": True}
        assert (proposed["fixed"], proposed["only"]) == (7, "one")
        assert {type(value) for value in proposed.values()} <= {int, float, str, bool}
    models = generator.kde_models[1]
    points = np.random.default_rng(0).random((50, len(generator.vartypes)))
    points = np.where(generator.vartypes > 0, np.floor(points * generator.vartypes), points)
    assert np.isfinite(log_acquisition(models["good"], models["bad"], points)).all()


def test_all_categories_are_proposed_even_if_only_one_was_good():
    space = mixed_space()
    generator = BohbGenerator(space, 3, num_samples=8)
    for configuration in space.sample_configuration(60):
        generator.new_result(job(configuration, 0.0 if configuration["kind"] == "c" else 1.0))
    proposed = [generator.get_config(1, (1, 0, number)) for number in range(60)]
    kinds = [configuration["kind"] for configuration, info in proposed]
    assert set(kinds) == {"a", "b", "c", "d"}
    models = [configuration["kind"] for configuration, info in proposed if info["model_based_pick"]]
    assert len(models) > 25
    assert models.count("c") > 0.9 * len(models)


def test_model_based_proposals_find_the_good_region():
    space = continuous_space()
    generator = BohbGenerator(space, 0, num_samples=32)
    generator.random_fraction = 0
    for configuration in space.sample_configuration(40):
        generator.new_result(job(configuration, abs(configuration["momentum"] - 0.7)))
    found = [generator.get_config(1, (1, 0, number))[0]["momentum"] for number in range(5)]
    assert np.median(np.abs(np.array(found) - 0.7)) < 0.1


def test_seeds_reproduce_proposals_without_global_generators():
    space = continuous_space()
    configurations = space.sample_configuration(20)
    before = np.random.get_state()[1].copy()  # noqa: NPY002, which hpbandster draws from

    def proposals(seed, identities):
        generator = BohbGenerator(space, seed, num_samples=8)
        for configuration in configurations:
            generator.new_result(job(configuration, configuration["rate"]))
        return [generator.get_config(1, identity)[0] for identity in identities]

    identities = [(1, 0, number) for number in range(6)]
    assert proposals(0, identities) == proposals(0, identities[::-1])[::-1]
    assert proposals(0, identities) != proposals(1, identities)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002, which hpbandster draws from


@pytest.mark.parametrize("kind", [BohbGenerator, RandomGenerator])
def test_only_seed_and_identity_determine_a_random_configuration(kind):
    space = mixed_space()
    assert kind(space, 5).get_config(1, (0, 0, 1)) == kind(space, 5).get_config(4, (0, 0, 1))
    assert kind(space, 5).get_config(1, (0, 0, 1)) != kind(space, 6).get_config(1, (0, 0, 1))


def test_forbidden_candidates_are_skipped():
    space = mixed_space()
    space.add(ForbiddenEqualsClause(space["kind"], "c"))
    generator = BohbGenerator(space, 0, num_samples=8)
    generator.random_fraction = 0
    free = mixed_space()
    for configuration in free.sample_configuration(60):  # the forbidden category is the best one
        generator.new_result(job(configuration, 0.0 if configuration["kind"] == "c" else 1.0))
    proposed = [generator.get_config(1, (1, 0, number)) for number in range(10)]
    assert all(configuration["kind"] != "c" for configuration, _ in proposed)


def test_a_constant_space_has_one_configuration():
    space = ConfigurationSpace(seed=0)
    space.add(Constant("fixed", 7))
    generator = BohbGenerator(space, 0)
    for number in range(5):
        configuration, _ = generator.get_config(1, (0, 0, number))
        assert configuration == {"fixed": 7}
        generator.new_result(job(configuration, 1.0))


def test_an_ordinal_hyperparameter_is_refused():
    space = ConfigurationSpace()
    space.add(OrdinalHyperparameter("size", ["s", "m", "l"]))
    with pytest.raises(InvalidInputError, match="'size'"):
        BohbGenerator(space, 0)


def test_observations_on_a_smaller_budget_are_kept_after_a_larger_budget_has_a_model():
    space = continuous_space()
    generator = BohbGenerator(space, 0)
    for budget in (4, 1):
        for configuration in space.sample_configuration(10):
            generator.new_result(job(configuration, configuration["rate"], budget))
    assert set(generator.kde_models) == {1, 4}
