"""The scripts of examples/ run, and the OptunaHub package has the files and fields that its registry requires."""

import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import optuna
import optunahub
import pytest
import yaml
from conftest import CHECKOUT
from refusals import missing

import nasbench1shot1 as nb

SCRIPTS = sorted((CHECKOUT / "examples").glob("*.py"))
NEEDS = {
    "with_carps": ("carps", "CARP-S is not in [dev], because it installs 183 MB"),
    "with_dehb": ("dehb", "DEHB is not in [dev], because it requires numpy < 2"),
    "with_neps": ("neps", "NePS is not in [dev], because it requires pandas < 3"),
    "with_syne_tune": ("syne_tune", "Syne Tune is not in [dev], because it installs 0.7 GB"),
}
"""Libraries that the development extra lacks, by script."""
STUDY = ("validation_error", "test_regret", "evaluations")
PRINTS = {
    "hpobench_interface": ("trainings", "error"),
    "with_carps": (20, "trainings", "seconds"),
    "with_dehb": STUDY,
    "with_neps": STUDY,
    "with_nevergrad": STUDY,
    "with_syne_tune": ("best", "error"),
}
"""What each script prints, among others."""
REGISTRY = CHECKOUT / "examples" / "optunahub" / "package"
PACKAGE = REGISTRY / "benchmarks" / "nasbench1shot1"


@pytest.mark.filterwarnings("ignore")  # of the other libraries
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    library, reason = NEEDS.get(path.stem, ("nasbench1shot1", ""))
    if find_spec(library) is None:
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYNETUNE_FOLDER", str(tmp_path / "syne-tune"))
    runpy.run_path(str(path))
    assert not missing(capsys.readouterr().out, *PRINTS[path.stem])


def test_every_script_has_a_check() -> None:
    assert {path.stem for path in SCRIPTS} == set(PRINTS)


def test_the_interface_of_hpobench_answers_like_the_objective(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    benchmark = runpy.run_path(str(CHECKOUT / "examples" / "hpobench_interface.py"))["TableBenchmark"](
        "nb201", evaluations=3
    )
    objective = nb.objective("nb201", evaluations=3)
    configuration = benchmark.get_configuration_space(seed=3).sample_configuration()
    found = benchmark.objective_function(configuration, {"epochs": 50.0})
    answer = objective(configuration, 12)
    assert (found["function_value"], found["cost"]) == (answer.cost, answer.seconds)
    assert found["info"] == {"fidelity": {"epochs": 12}, "finished": answer.finished}
    truth = objective.score(answer.architecture).table_test_error
    assert benchmark.objective_function_test(configuration)["function_value"] == truth
    assert benchmark.get_fidelity_space()["epochs"].default_value == 200
    assert benchmark.objective_function(configuration)["info"]["fidelity"] == {"epochs": 200}


# OptunaHub ------------------------------------------------------------------------------------------------------------


def problem(**options: Any) -> Any:
    return optunahub.load_local_module("benchmarks/nasbench1shot1", registry_root=str(REGISTRY)).Problem(**options)


def test_a_study_of_the_problem_is_the_search_of_its_objective() -> None:
    found = problem(space="nb201", epochs=[12, 200], evaluations=30, bounds="trainable_parameters=1e6")
    study = optuna.create_study(
        directions=found.directions, sampler=optuna.samplers.RandomSampler(seed=0), pruner=optuna.pruners.MedianPruner()
    )
    study.optimize(found)
    assert sum(len(trial.intermediate_values) for trial in study.trials) == found.objective.evaluations == 30
    assert {len(trial.intermediate_values) for trial in study.trials} >= {1, 2}  # some are pruned
    assert all(set(trial.constraints) == set(found.objective.bounds) for trial in study.trials[:-1])
    assert study.trials[0].distributions == found.search_space


def test_the_problem_trains_fully_by_default() -> None:
    found = problem(space="nb201", evaluations=2)
    params = {name: of[0] for name, of in found.objective.choices.items()}
    full = nb.objective("nb201", evaluations=1)(params, 200)
    study = optuna.create_study(directions=found.directions)
    study.enqueue_trial(params)
    study.optimize(found, n_trials=1)
    assert study.trials[0].user_attrs["epochs"] == 200 and study.trials[0].user_attrs["seconds"] == full.seconds
    found.evaluate(params)
    assert found.objective.seconds == 2 * full.seconds


def test_the_problem_evaluates_several_objectives() -> None:
    metrics = ["validation_accuracy", "trainable_parameters"]
    found = problem(space="s1", evaluations=2, objective=metrics)
    params = {name: of[0] for name, of in found.objective.choices.items()}
    assert found.evaluate(params) == nb.objective("s1", evaluations=1, objective=metrics)(params).costs
    assert len(found.directions) == 2
    with pytest.raises(nb.BudgetSpent):
        found.evaluate(params), found.evaluate(params)


def test_the_example_of_the_package_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    load = optunahub.load_local_module
    monkeypatch.setattr(optunahub, "load_module", lambda package: load(package, registry_root=str(REGISTRY)))
    runpy.run_path(str(PACKAGE / "example.py"))
    assert not missing(capsys.readouterr().out, "trainings", "error")


def test_the_package_has_the_files_and_fields_of_the_registry() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert names == {"__init__.py", "problem.py", "README.md", "LICENSE", "example.py", "requirements.txt"}
    readme = (PACKAGE / "README.md").read_text()
    fields = yaml.safe_load(readme.split("---\n")[1])
    assert set(fields) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert fields["license"] == "MIT License" == (PACKAGE / "LICENSE").read_text().splitlines()[0]
    assert "benchmark" in fields["tags"] and optuna.__version__ in map(str, fields["optuna_versions"])
