"""Objectives through Optuna, SMAC, NePS, DEHB, pymoo and Syne Tune: the record agrees with what the library saw."""

from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from black_box_tables import BUDGETS, S1, noisy_table, saved, smooth_table
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.objectives import syne_tune
from nasbench1shot1.objectives.syne_tune import all_trainings

CELLS = 2_685
TWO = ["validation_accuracy", "trainable_parameters"]


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> nb.Table:
    """A saved table: training takes `epochs` seconds, the accuracy increases with 3×3 convolutions and epochs."""
    return saved(smooth_table(), tmp_path_factory.mktemp("tables") / "smooth")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> nb.Table:
    """A saved table with three repeats of accuracy and time."""
    return saved(noisy_table(), tmp_path_factory.mktemp("tables") / "noisy")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Without a line of Optuna for each trial."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


# Optuna ---------------------------------------------------------------------------------------------------------------


def test_a_study_of_optuna_is_the_recorded_search(noisy: nb.Table, tmp_path: Path) -> None:
    with nb.objective("s1", table=noisy, seconds=150, name="optuna-tpe", out=tmp_path / "study") as objective:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(nb.optuna_objective(objective))
        clock, trainings = objective.seconds, objective.evaluations
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * trainings + ["PRUNED"]  # beyond the limit
    *complete, cut = study.trials
    assert cut.user_attrs == {} and cut.value is None
    assert sum(trial.user_attrs["seconds"] for trial in complete) == pytest.approx(clock)
    assert complete[-1].user_attrs["finished"] == clock <= 150
    (line,) = nb.open_run(tmp_path / "study").lines
    assert (line["evaluations"], line["simulated_seconds"]) == (trainings, round(clock, 3))
    assert line["validation_error"] == study.best_value
    assert nb.Architecture.parse(line["architecture"]) == objective.space.from_values(
        [of.index(study.best_params[name]) for name, of in objective.choices.items()]
    )


def test_a_study_ends_with_the_last_training_of_the_limit(smooth: nb.Table) -> None:
    objective = nb.objective("s1", table=smooth, evaluations=7)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(nb.optuna_objective(objective, epochs=13.5))
    assert len(study.get_trials(states=[optuna.trial.TrialState.COMPLETE])) == len(study.trials) == 7
    assert objective.seconds == 7 * 12  # the largest budget of at most 13.5 epochs


@pytest.mark.parametrize("continuation", [False, True])
def test_a_pruned_trial_pays_only_for_its_own_trainings(smooth: nb.Table, continuation: bool) -> None:
    objective = nb.objective("s1", table=smooth, seconds=3_000, continuation=continuation)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=4, reduction_factor=3)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), pruner=pruner)
    study.optimize(nb.optuna_objective(objective, epochs=[200, 36.5, 13, 12, 4]))  # snapped, distinct, ascending
    ran = [list(trial.intermediate_values) for trial in study.trials]
    assert all(tuple(budgets) == BUDGETS[: len(budgets)] for budgets in ran)
    assert {len(budgets) for budgets in ran[:-1]} >= {1, 4}
    pruned = [trial for trial in study.trials[:-1] if trial.state.name == "PRUNED"]
    assert all(trial.value == trial.intermediate_values[trial.last_step] for trial in pruned) and len(pruned) > 5
    full = [max(budgets, default=0) if continuation else sum(budgets) for budgets in ran]
    if not continuation:
        assert [trial.user_attrs.get("seconds", 0) for trial in study.trials] == full
        assert objective.evaluations == sum(map(len, ran))
    assert sum(trial.user_attrs.get("seconds", 0) for trial in study.trials) == objective.seconds <= sum(full)


def test_bounds_are_constraints_of_the_trials(smooth: nb.Table) -> None:
    objective = nb.objective("s1", table=smooth, evaluations=25, bounds="trainable_parameters=1000")
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=10))
    study.optimize(nb.optuna_objective(objective))
    for trial in study.trials:
        parameters = smooth.query(S1.from_values(_values(objective, trial.params))).trainable_parameters
        assert trial.constraints == {objective.bounds[0]: parameters - 1_000}
        assert ("seconds" in trial.user_attrs) and bool(trial.user_attrs["seconds"]) == (parameters <= 1_000)
        assert trial.value == 1.0 or parameters <= 1_000
    assert len(study.trials) > 25  # those outside the bound cost nothing
    assert max(study.best_trial.constraints.values()) <= 0


def _values(objective: nb.Objective, params: dict[str, str]) -> list[int]:
    return [of.index(params[name]) for name, of in objective.choices.items()]


def test_several_objectives_need_their_directions_and_one_budget(smooth: nb.Table) -> None:
    objective = nb.objective("s1", table=smooth, evaluations=10, objective=TWO)
    sampler = optuna.samplers.NSGAIISampler(seed=0, population_size=5)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * 2)
    study.optimize(nb.optuna_objective(objective, 4))
    assert len(study.trials) == objective.evaluations == 10
    for trial in study.trials:
        found = smooth.query(S1.from_values(_values(objective, trial.params)), epochs=4)
        assert trial.values == [1 - found.validation_accuracy, found.trainable_parameters]
    with refuses(nb.InvalidInputError, 2, options="epochs"):
        nb.optuna_objective(objective, [4, 12])
    with refuses(nb.InvalidInputError, "1 direction (maximize)", "2 objectives", "trainable_parameters"):
        optuna.create_study(direction="maximize").optimize(nb.optuna_objective(objective))


@pytest.mark.parametrize("adapter", [nb.optuna_objective, nb.target_function, nb.smac_callback])
def test_adapters_need_an_objective(adapter: Any) -> None:
    with refuses(nb.InvalidInputError, "nb201", "nb.objective('nb201')"):
        adapter("nb201")


# SMAC, NePS and DEHB --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_smac_trains_until_the_search_is_over(smooth: nb.Table, tmp_path: Path) -> None:
    import smac

    with nb.objective("s1", table=smooth, seconds=800, out=tmp_path / "study") as objective:
        found = _smac(smac.HyperparameterOptimizationFacade, objective, tmp_path)
    values = list(found.runhistory.values())
    assert objective.evaluations == len(values) - 1 == 7  # the eighth would end after the limit
    assert [value.status.name for value in values] == ["SUCCESS"] * 7 + ["CRASHED"]
    best = min(value.cost for value in values[:-1])
    assert nb.open_run(tmp_path / "study").lines[0]["validation_error"] == best


@pytest.mark.filterwarnings("ignore")
def test_smac_sets_budgets_and_several_costs(smooth: nb.Table, tmp_path: Path) -> None:
    import smac

    objective = nb.objective("s1", table=smooth, evaluations=12, objective=TWO)
    found = _smac(
        smac.MultiFidelityFacade, objective, tmp_path, objectives=TWO, min_budget=4, max_budget=108, deterministic=True
    )
    assert len(found.runhistory) == objective.evaluations == 12
    assert {key.budget for key in found.runhistory} >= {4.0}
    for key, value in found.runhistory.items():
        config = found.runhistory.ids_config[key.config_id]
        answer = nb.objective("s1", table=smooth, evaluations=1, objective=TWO)(config, key.budget)
        assert tuple(value.cost) == answer.costs
    assert objective.seconds == sum(nb.choices.snap(key.budget, BUDGETS) for key in found.runhistory)


def _smac(facade: Any, objective: nb.Objective, folder: Path, **options: Any) -> Any:
    from smac import Scenario

    scenario = Scenario(
        objective.configuration_space, n_trials=50, seed=0, output_directory=folder, use_default_config=False, **options
    )
    design = facade.get_initial_design(scenario, n_configs=8)
    found = facade(
        scenario,
        nb.target_function(objective),
        initial_design=design,
        callbacks=[nb.smac_callback(objective)],
        logging_level=False,
    )
    found.optimize()
    return found


def test_neps_and_dehb_get_costs_and_simulated_seconds(smooth: nb.Table) -> None:
    one, two = (nb.objective("s1", table=smooth, evaluations=9, objective=names) for names in (TWO[:1], TWO))
    choices = one.configuration(S1[77])
    cost = one(S1[77], 12).cost
    neps, dehb = nb.target_function(one, "neps"), nb.target_function(one, "dehb")
    assert neps(epochs=12.0, **choices) == {"objective_to_minimize": cost, "cost": 12.0}
    assert dehb(choices, fidelity=35.9) == {"fitness": cost, "cost": 12.0, "info": {"finished": 36.0}}
    assert nb.target_function(two, "neps")(**choices)["objective_to_minimize"] == list(two(S1[77]).costs)
    without = {name: choice for name, choice in choices.items() if len(one.choices[name]) > 1}
    assert len(without) < len(choices)  # NePS refuses parameters with a single choice
    assert neps(**without) == neps(**choices)
    with refuses(nb.InvalidInputError, "hebo", "smac"):
        nb.target_function(one, "hebo")


# pymoo ----------------------------------------------------------------------------------------------------------------


def _minimize(objective: nb.Objective, **options: Any) -> Any:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.mixed import MixedVariableDuplicateElimination, MixedVariableMating, MixedVariableSampling
    from pymoo.optimize import minimize

    alike = MixedVariableDuplicateElimination()
    algorithm = NSGA2(
        pop_size=10,
        sampling=MixedVariableSampling(),
        mating=MixedVariableMating(eliminate_duplicates=alike),
        eliminate_duplicates=alike,
    )
    problem = nb.pymoo_problem(objective)
    return minimize(problem, algorithm, termination=problem.until_spent, seed=1, **options)


def test_pymoo_finds_a_front_until_the_search_is_over(smooth: nb.Table, tmp_path: Path) -> None:
    with nb.objective("s1", table=smooth, evaluations=55, objective=TWO, out=tmp_path / "study") as objective:
        found = _minimize(objective, save_history=True)
        assert objective.evaluations == 55
    assert len(found.history) == 6  # generations of ten, the last one cut off
    (line,) = nb.open_run(tmp_path / "study").lines
    recorded = {tuple(costs) for *_, costs in line["front"]}
    assert len(found.F) >= 2 and {tuple(costs) for costs in found.F} <= recorded
    for x, costs in zip(found.X, found.F, strict=True):
        arch = S1.from_values(_values(objective, x))
        assert tuple(costs) == (
            1 - smooth.query(arch).validation_accuracy,
            smooth.query(arch).trainable_parameters,
        )


def test_bounds_are_constraints_of_pymoo(smooth: nb.Table) -> None:
    objective = nb.objective("s1", table=smooth, evaluations=20, objective=TWO, bounds="trainable_parameters=1000")
    found = _minimize(objective)
    assert found.pop.get("G").shape[1] == 1
    assert (found.G <= 0).all() and (found.F[:, 1] <= 1_000).all() and objective.evaluations == 20


# Syne Tune ------------------------------------------------------------------------------------------------------------


def test_the_blackbox_of_syne_tune_has_the_answers_of_the_objective(noisy: nb.Table) -> None:
    pytest.importorskip("syne_tune.blackbox_repository", reason="Syne Tune is not in [dev], because it installs 0.7 GB")
    objective = nb.objective("s1", table=noisy, evaluations=100, objective=TWO)
    blackbox = nb.syne_tune_blackbox(objective)
    rng = np.random.default_rng(0)
    for _ in range(20):
        arch, epochs, seed = S1.sample(rng), int(rng.choice(BUDGETS)), int(rng.integers(3))
        found = blackbox(objective.configuration(arch), fidelity={"epochs": epochs}, seed=seed)
        answer = objective(arch, epochs, seed)
        assert found == {**dict(zip(TWO, answer.costs, strict=True)), "seconds": answer.seconds}
    assert list(blackbox.fidelity_values) == list(BUDGETS) and blackbox.num_seeds == 3


def test_all_trainings_of_a_table_keep_only_complete_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = nb.objective("nb201", evaluations=1)
    trainings = all_trainings(objective)
    assert trainings.shape == (15_625, 2, 2, 2)  # of four repeats, two have all architectures
    indices = np.array([3, 1, 4, 0, 2, 2])
    row = int(indices @ 5 ** np.arange(5, -1, -1))
    assert list(trainings[row, :, 0, 0]) == [objective(indices, 12).cost] * 2  # a mean over seeds
    monkeypatch.setattr(syne_tune, "product", lambda *choices: islice(product(*choices), 50))
    swapped = all_trainings(nb.objective("nb201", evaluations=1, objective=TWO[::-1]))
    assert np.array_equal(swapped[..., 1:], trainings[:50])  # only the second metric has several repeats


# Missing libraries ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "adapter"),
    [
        ("optuna", nb.optuna_objective),
        ("smac", nb.smac_callback),
        ("pymoo", nb.pymoo_problem),
        ("syne_tune", nb.syne_tune_blackbox),
        ("huggingface_hub", nb.syne_tune_blackbox),
    ],
)
def test_a_missing_library_is_one_sentence(
    package: str, adapter: Any, smooth: nb.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other libraries count as installed."""
    monkeypatch.setattr(
        "nasbench1shot1.ground.plugins.find_spec",
        lambda name: None if name == package else ModuleSpec(name, None),
    )
    with refuses(nb.UserError, package, f"nb.{adapter.__name__}", "pip install"):
        adapter(nb.objective("s1", table=smooth, evaluations=1))
