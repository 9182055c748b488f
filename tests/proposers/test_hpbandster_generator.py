"""hpbandster's densities of categories compared with statsmodels, and the choice of a candidate."""

import warnings
from math import inf, nan

import numpy as np
import pytest
import statsmodels.api as sm
from ConfigSpace import Configuration
from configurations_of_tests import job
from hpbandster.optimizers.config_generators.bohb import BOHB

import nasbench1shot1 as nb
from nasbench1shot1.proposers.categorical_bohb import HpbandsterDensity, HpbandsterGenerator, choose_candidate


@pytest.mark.parametrize("seen", [5, 3, 1])
def test_densities_agree_with_statsmodels_even_with_missing_categories(seen):
    rng = np.random.default_rng(seen)
    data = np.column_stack([rng.permutation(np.arange(12.0) % seen), 4 * rng.permutation(np.arange(12.0) % 2)])
    ours = HpbandsterDensity.fit(data, np.array([5, 5]), 0.3)
    theirs = sm.nonparametric.KDEMultivariate(data, "uu", "normal_reference", rng=0)
    theirs.bw = np.clip(theirs.bw, 0.3, None)
    assert ours.bw[1] > 1
    np.testing.assert_allclose(ours.bw, theirs.bw)
    points = rng.integers(5, size=(40, 2)).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.array([theirs.pdf(point) for point in points])
    np.testing.assert_allclose(ours.pdf(points), expected)
    assert np.isfinite(ours.pdf(points)).all() == (seen > 1)


def test_a_bandwidth_above_1_can_make_the_density_negative():
    density = HpbandsterDensity.fit(np.array([[0.0], [4.0]] * 4), np.array([5]), 0.3)
    assert density.bw[0] > 1
    assert (density.pdf(np.array([[0.0], [2.0]])) > 0).all()
    one_sided = HpbandsterDensity(np.zeros((1, 1)), np.array([1.2]), np.array([2]))
    np.testing.assert_allclose(one_sided.pdf(np.array([[0.0], [3.0]])), [-0.2, 1.2])
    np.testing.assert_allclose(one_sided.log_pdf(np.array([[0.0], [3.0]])), [np.nan, np.log(1.2)])


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ([1.0, 2.0, 4.0], [1.0, 1.0, 1.0], 2),
        ([1.0, 2.0, 2.0], [1.0, 1.0, 1.0], 1),  # the first of equal candidates
        ([-1.0, 1.0], [1.0, 2.0], 1),  # a negative good density counts as 1e-32
        ([1.0, 2.0], [1.0, -5.0], 1),
        ([1.0, 1.0, 9.0], [1.0, inf, 1.0], 1),  # a candidate with infinite ratio is accepted at once
        ([1.0, 1.0], [2.0, nan], 1),
        ([1.0, inf], [1.0, 1.0], 1),
        ([nan, nan], [1.0, 1.0], None),
        ([inf, nan], [inf, inf], None),
    ],
)
def test_the_chosen_candidate_agrees_with_hpbandster(good, bad, expected):
    assert choose_candidate(good, bad) == expected


@pytest.mark.parametrize(("name", "needed"), [("s1", 20), ("s2", 20), ("s3", 24), ("nb201", 14)])
def test_models_agree_with_hpbandster(name, needed):
    """Hyperparameters with a single choice, as on s1, count as dimensions."""
    space, rng = nb.search_space(name).configuration_space(), np.random.default_rng(2)
    space.seed(4)
    ours = HpbandsterGenerator(space, 0)
    ours.min_bandwidth = 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = BOHB(configspace=space, min_bandwidth=0.3)
        for number, (configuration, loss) in enumerate(
            zip(space.sample_configuration(40), rng.random(40), strict=True)
        ):
            ours.new_result(job(configuration, float(loss)))
            theirs.new_result(job(configuration, float(loss)))
            assert bool(ours.kde_models) == bool(theirs.kde_models) == (number + 1 >= needed)
    points = np.array([[rng.integers(len(h.choices)) for h in space.values()] for _ in range(20)], float)
    for kind, expected in theirs.kde_models[1].items():
        found = ours.kde_models[1][kind]
        np.testing.assert_array_equal(found.data, expected.data)
        np.testing.assert_allclose(found.bw, expected.bw)
        with np.errstate(divide="ignore", invalid="ignore"):
            np.testing.assert_allclose(found.pdf(points), [expected.pdf(point) for point in points])
    for number in range(5):
        proposed, info = ours.get_config(1, (1, 0, number))
        assert dict(Configuration(space, values=proposed)) == proposed and set(info) == {"model_based_pick"}


def test_proposals_have_the_distribution_of_hpbandster():
    space = nb.search_space("nb201").configuration_space()
    names, losses = list(space), np.random.default_rng(1).random(40)
    ours = HpbandsterGenerator(space, 0, num_samples=4)
    ours.random_fraction, ours.min_bandwidth = 0.0, 0.3
    space.seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = BOHB(configspace=space, num_samples=4, random_fraction=0.0, min_bandwidth=0.3)
        for configuration, loss in zip(space.sample_configuration(40), losses, strict=True):
            configuration[names[0]] = "nor_conv_3x3" if loss < 0.5 else configuration[names[0]]
            ours.new_result(job(configuration, float(loss)))
            theirs.new_result(job(configuration, float(loss)))
        state = np.random.get_state()  # noqa: NPY002, which hpbandster draws from
        np.random.seed(0)  # noqa: NPY002, which hpbandster draws from
        expected = [dict(theirs.get_config(1)[0]) for _ in range(300)]
        np.random.set_state(state)  # noqa: NPY002, which hpbandster draws from
    found = [ours.get_config(1, (1, 0, number))[0] for number in range(300)]
    for name in names:
        for choice in space[name].choices:
            shares = [
                np.mean([configuration[name] == choice for configuration in drawn]) for drawn in (found, expected)
            ]
            assert abs(shares[0] - shares[1]) < 0.15, (name, choice)  # 0.04 is the largest standard error
