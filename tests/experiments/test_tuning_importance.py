"""Importance, marginals and interactions of hyperparameters, compared with plain computations."""

import math

import ConfigSpace as CS
import numpy as np
import pytest
from refusals import refuses
from synthetic_study import by_weight_decay, write_study

import nasbench1shot1 as nb
from nasbench1shot1.experiments.tuning.importance import (
    REST,
    encode_observations,
    importances,
    interactions,
    is_installed,
    marginal,
    order_of,
    to_unit_cube,
)

pytest.importorskip("optuna", reason="Optuna is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")


def with_interaction(configuration) -> float:
    return by_weight_decay(configuration) * configuration["cutout_probability"]


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    return [write_study(folder / str(seed), quality=with_interaction, seed=seed, iterations=9) for seed in (0, 1)]


def test_hyperparameters_are_mapped_to_the_unit_cube_on_their_scales():
    space = CS.ConfigurationSpace()
    schedule, length = CS.Categorical("schedule", ["a", "b", "c"]), CS.Integer("length", (2, 32), log=True, default=8)
    space.add([CS.Float("decay", (1e-5, 1e-3), log=True), CS.Float("p", (0, 2)), schedule, length])
    space.add(CS.EqualsCondition(length, schedule, "a"))
    rows = [{"decay": 1e-4, "p": 0.5, "schedule": "c"}, {"decay": 1e-5, "p": 2.0, "schedule": "a", "length": 2}]
    frame = to_unit_cube(space, rows)
    assert list(frame["decay"]) == pytest.approx([0.5, 0.0])
    assert list(frame["p"]) == pytest.approx([0.25, 1.0])
    assert list(frame["schedule"]) == [2.0, 0.0]
    assert frame.loc[0, "length"] == pytest.approx(float(length.to_vector(8)))  # inactive: its default


def plain_fanova(frame, losses, seed: int) -> dict[str, float]:
    """Main effects of a forest by brute force: the variance of each tree's prediction over a dense grid."""
    from sklearn.ensemble import RandomForestRegressor

    ordered = frame[sorted(frame.columns)]
    forest = RandomForestRegressor(n_estimators=64, max_depth=64, random_state=seed)
    forest.fit(ordered.to_numpy(), losses)
    points = np.stack(np.meshgrid(*[(np.arange(40) + 0.5) / 40] * 3, indexing="ij"), axis=-1)
    shares = []
    for tree in forest.estimators_:
        values = tree.predict(points.reshape(-1, 3)).reshape(40, 40, 40)
        if total := values.var():
            axes = ((1, 2), (0, 2), (0, 1))
            shares.append([values.mean(axis=others).var() / total for others in axes])
    return dict(zip(ordered.columns, np.mean(shares, axis=0), strict=True))


def test_importances_equal_the_main_effects_of_the_forest(studies):
    found = importances(studies, seed=3)
    assert sorted(set(found["budget"])) == [25, 50, 100]
    for budget, rows in found.groupby("budget"):
        frame, losses = encode_observations(studies, budget)
        values = rows.set_index("hyperparameter")["importance"]
        assert set(rows["observations"]) == {len(losses)}
        assert values.sum() == pytest.approx(1.0)
        for name, share in plain_fanova(frame, losses, 3).items():
            assert values[name] == pytest.approx(share, abs=0.02)


def test_relevant_hyperparameters_are_important(tmp_path):
    study = write_study(tmp_path / "study", iterations=12)
    found = importances([study])
    assert order_of(found)[0] == "weight_decay" and order_of(found)[-1] == REST
    assert (found[found["hyperparameter"] == "weight_decay"]["importance"] > 0.7).all()


def test_too_few_or_equal_losses_have_no_importance(tmp_path):
    few = importances([write_study(tmp_path / "few", iterations=1)])
    by_budget = few.groupby("budget")["importance"]
    assert by_budget.apply(lambda values: values.isna().all()).tolist() == [False, True, True]
    equal = importances([write_study(tmp_path / "equal", quality=lambda _: 0.5)])
    assert equal["importance"].isna().all()
    defaults = [
        write_study(tmp_path / f"default-{loss}", quality=lambda _, loss=loss: loss) for loss in (0.1, 0.2, 0.3)
    ]
    for study in defaults:  # only the first search, with the default configuration, has ended
        (study.folder / "summary.json").unlink()
        lines = (study.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
        (study.folder / "metrics.jsonl").write_text(lines[0])
    found = importances([nb.open_run(study.folder) for study in (*defaults, *defaults)])
    assert found["importance"].isna().all()
    assert set(order_of(equal)) == {"weight_decay", "learning_rate", "cutout_probability", REST}


def test_categorical_and_ordinal_hyperparameters_have_an_importance(tmp_path):
    space = CS.ConfigurationSpace()
    space.add([CS.Float("weight_decay", (1e-5, 1e-3), log=True), CS.Categorical("cutout_schedule", ["a", "b"])])
    space.add([CS.OrdinalHyperparameter("batch_size", [16, 32, 64]), CS.Constant("cells", 3)])
    study = write_study(
        tmp_path / "study", config_space=space, quality=lambda c: 0.9 * (c["cutout_schedule"] == "a"), iterations=9
    )
    found = importances([study])
    values = found[found["budget"] == 100].set_index("hyperparameter")["importance"]
    assert values["cutout_schedule"] > 0.9 and values["cells"] == 0.0


def test_studies_of_different_spaces_are_not_pooled(studies, tmp_path):
    other = write_study(tmp_path / "other", config_space="cs1")
    with refuses(nb.InvalidInputError, "spaces"):
        importances([studies[0], other])


def test_a_marginal_is_the_mean_of_the_forest_over_the_other_hyperparameters(studies):
    from sklearn.ensemble import RandomForestRegressor

    pair = ("cutout_probability", "weight_decay")
    found = marginal(studies, pair, budget=25, points=5, others=256, seed=1)
    frame, losses = encode_observations(studies, 25)
    forest = RandomForestRegressor(n_estimators=64, random_state=1).fit(frame.to_numpy(), losses)
    names, rates = list(frame.columns), (np.arange(2000) + 0.5) / 2000
    assert len(found) == 25
    for _, row in found.iterrows():
        points = np.empty((len(rates), 3))
        points[:, names.index("cutout_probability")] = row["cutout_probability"]
        points[:, names.index("weight_decay")] = math.log(row["weight_decay"] / 1e-5) / math.log(100)
        points[:, names.index("learning_rate")] = rates
        assert row["loss"] == pytest.approx(forest.predict(points).mean(), abs=2e-4)
    assert (found["weight_decay"].min(), found["weight_decay"].max()) == pytest.approx((1e-5, 1e-3))


def test_a_marginal_shows_the_interaction(studies):
    """Cutout increases the error only if weight decay is small."""
    found = marginal(studies, ("cutout_probability", "weight_decay"), points=2).set_index(
        ["cutout_probability", "weight_decay"]
    )["loss"]
    (no, yes), (small, large) = found.index.levels
    assert found[yes, small] - found[no, small] > 3 * abs(found[yes, large] - found[no, large])


@pytest.mark.parametrize(
    ("pair", "values"),
    [
        (("weight_dekay", "learning_rate"), "weight_dekay weight_decay"),
        (("weight_decay", "weight_decay"), "two"),
    ],
)
def test_a_marginal_needs_two_numerical_hyperparameters(studies, pair, values):
    with refuses(nb.InvalidInputError, *values.split()):
        marginal(studies, pair)


def test_a_marginal_of_too_few_searches_is_empty(tmp_path):
    assert marginal([write_study(tmp_path / "few", iterations=1)], budget=100).empty


@pytest.mark.skipif(is_installed(), reason="hypershap is installed")
def test_without_hypershap_the_error_explains_how_to_install_it(studies):
    with pytest.raises(nb.UserError, match=r"'\.\[interactions\]'"):
        interactions(studies)


@pytest.mark.skipif(not is_installed(), reason="hypershap is not installed (the extra [interactions])")
def test_pairs_that_interact_have_the_largest_interaction(studies):
    found = interactions(studies).set_index(["first", "second"])["interaction"]
    pairs = found[[second != "" for _, second in found.index]]
    assert pairs.abs().idxmax() == ("cutout_probability", "weight_decay")
    again = interactions(studies).set_index(["first", "second"])["interaction"]
    assert list(again) == list(found)
