"""The export of a study, read back by Optuna."""

import json
import shlex
import warnings
from datetime import datetime

import ConfigSpace as CS
import pytest
from refusals import exits, refuses
from synthetic_study import write_study

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.tuning.export import export_optuna, optuna_distributions
from nasbench1shot1.tuning.record import Study

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.storages import JournalStorage  # noqa: E402
from optuna.storages.journal import JournalFileBackend  # noqa: E402
from optuna.trial import TrialState  # noqa: E402


def load(file):
    storage = JournalStorage(JournalFileBackend(str(file)))
    (name,) = optuna.get_all_study_names(storage)
    return optuna.load_study(study_name=name, storage=storage)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    folder = tmp_path_factory.mktemp("optuna") / "study"
    budgets = {"min_budget": 2, "max_budget": 8, "iterations": 3}
    return write_study(folder, diverges=lambda c: c["learning_rate"] > 0.3, runs=True, **budgets)


@pytest.fixture(scope="module")
def exported(study, tmp_path_factory):
    file = tmp_path_factory.mktemp("exported") / "study.journal"
    assert export_optuna(study, file) == len(study.lines)
    return load(file)


def test_every_observation_is_a_trial_with_its_configuration_and_loss(study, exported):
    assert exported.study_name == "study" and exported.direction.name == "MINIMIZE"
    assert [trial.number for trial in exported.trials] == list(range(len(study.lines)))
    for trial, line in zip(exported.trials, study.lines, strict=True):
        assert trial.params == study.configurations[line["configuration_id"]]
        assert trial.value == line["loss"]
        assert trial.user_attrs["budget"] == line["budget"]
        assert trial.user_attrs["folder"] == line["folder"]
        assert trial.user_attrs.get("test regret (not used for tuning)") == line["test_regret"]
        assert (trial.datetime_complete - trial.datetime_start).total_seconds() == pytest.approx(line["budget"])
    began = datetime.fromtimestamp((study.folder / "environment.json").stat().st_mtime)
    assert (exported.trials[0].datetime_start - began).total_seconds() == pytest.approx(0.5)
    assert exported.user_attrs["optimizer"] == "darts" and exported.user_attrs["config_space"] == "cs2"


def test_diverged_searches_are_failed_trials(study, exported):
    failed = [line["number"] for line in study.lines if line["loss"] is None]
    assert failed
    assert [trial.number for trial in exported.trials if trial.state == TrialState.FAIL] == failed
    assert {exported.trials[number].user_attrs["failure"] for number in failed} == {"the loss is NaN in epoch 1"}
    assert all(trial.state == TrialState.COMPLETE for trial in exported.trials if trial.number not in failed)


def test_a_search_whose_record_cannot_be_read_has_no_learning_curve(tmp_path):
    made = write_study(tmp_path / "study", diverges=lambda c: c["learning_rate"] > 0.3, runs=True, iterations=2)
    failed, other = (next(line for line in made.lines if (line["loss"] is None) == kind) for kind in (True, False))
    (made.folder / failed["folder"] / "metrics.jsonl").write_text("[]\n")
    export_optuna(made, str(tmp_path / "file"))
    assert load(tmp_path / "file").trials[failed["number"]].intermediate_values == {}
    (made.folder / other["folder"] / "metrics.jsonl").write_text("[]\n")
    with refuses(DamagedFileError, "metrics.jsonl"):
        export_optuna(made, tmp_path / "another")


def test_the_best_trial_is_the_best_observation(study, exported):
    assert exported.best_value == min(line["loss"] for line in study.lines if line["loss"] is not None)


def test_learning_curves_equal_the_records_of_the_searches(study, exported):
    for trial, line in zip(exported.trials, study.lines, strict=True):
        metrics = study.run(line["number"]).metrics
        assert trial.intermediate_values == dict(zip(metrics["epoch"], metrics["table_validation_error"], strict=True))
        if line["loss"] is not None:
            assert trial.intermediate_values[line["budget"]] == trial.value


@pytest.mark.parametrize("way", ["--optuna", "--deepcave"])
def test_a_damaged_record_of_attempts_is_refused(way, tmp_path, capsys):
    study = write_study(tmp_path / "study", min_budget=2, max_budget=2, iterations=1)
    (study.folder / "attempts.jsonl").write_text('{"configuration_id": "0-0-0"}\n')
    with exits(capsys, study.folder / "attempts.jsonl", "damaged"):
        cli.main(["export", str(study.folder), way, str(tmp_path / "exported")])
    assert [path.name for path in tmp_path.iterdir()] == ["study"]


@pytest.mark.parametrize("damage", [{"learning_rate": -1.0}, {"learning_rate": None}, {"learning_rate": 0.1, "x": 1}])
def test_configurations_outside_the_space_are_refused(tmp_path, damage):
    study = write_study(tmp_path / "study", iterations=1)
    path = study.folder / "submissions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["configuration"] |= damage
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with refuses(DamagedFileError, path, "configspace.json", "0-0-0"):
        export_optuna(Study.open(study.folder), tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_study_without_its_searches_has_no_curves(tmp_path):
    study = write_study(tmp_path / "study", iterations=1)
    export_optuna(study, tmp_path / "file")
    assert all(not trial.intermediate_values for trial in load(tmp_path / "file").trials)


def test_distributions_match_the_config_space():
    space = CS.ConfigurationSpace()
    space.add(
        [
            CS.Float("a", (1e-5, 1e-3), log=True, default=3e-4),
            CS.Integer("b", (2, 32), log=True),
            CS.Integer("c", (16, 128)),
            CS.Categorical("d", ["none", "linear"]),
            CS.OrdinalHyperparameter("e", [1, 2, 4]),
            CS.Constant("f", 7),
        ]
    )
    assert optuna_distributions(space) == {
        "a": FloatDistribution(1e-5, 1e-3, log=True),
        "b": IntDistribution(2, 32, log=True),
        "c": IntDistribution(16, 128),
        "d": CategoricalDistribution(["none", "linear"]),
        "e": CategoricalDistribution([1, 2, 4]),
        "f": CategoricalDistribution([7]),
    }


def test_conditional_and_categorical_hyperparameters_are_exported(tmp_path):
    space = CS.ConfigurationSpace()
    decay, schedule = CS.Float("weight_decay", (1e-5, 1e-3), log=True), CS.Categorical("cutout_schedule", ["a", "b"])
    length = CS.Integer("cutout_length", (2, 32), log=True)
    space.add([decay, schedule, length, CS.EqualsCondition(length, schedule, "a")])
    study = write_study(tmp_path / "study", config_space=space)
    export_optuna(study, tmp_path / "file")
    trials = load(tmp_path / "file").trials
    assert {"cutout_length" in trial.params for trial in trials} == {True, False}
    for trial in trials:
        assert ("cutout_length" in trial.params) == (trial.params["cutout_schedule"] == "a")
    with warnings.catch_warnings():  # Optuna's evaluator reads the trials, too
        warnings.simplefilter("ignore")
        assert "weight_decay" in optuna.importance.get_param_importances(load(tmp_path / "file"))


def test_the_command_exports_and_refuses_an_existing_file(study, tmp_path, capsys):
    cli.main(["export", str(study.folder), "--optuna", str(tmp_path / "new" / "file")])
    said, written = capsys.readouterr().out, (tmp_path / "new" / "file").read_bytes()
    assert f"{len(study.lines)} trials" in said and "optuna-dashboard" in said
    with exits(capsys, "exists"):
        cli.main(["export", str(study.folder), "--optuna", str(tmp_path / "new" / "file")])
    assert (tmp_path / "new" / "file").read_bytes() == written
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]


def test_the_printed_command_quotes_the_name_of_the_file(study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli.main(["export", str(study.folder), "--optuna", "my study.journal"])
    command = capsys.readouterr().out.splitlines()[-1].partition(" && ")[2]
    assert shlex.split(command) == ["optuna-dashboard", "my study.journal"]


def test_only_a_study_can_be_exported(study, tmp_path, capsys):
    searched = study.folder / study.lines[0]["folder"]
    with pytest.raises(nb.InvalidInputError, match=r"kind 'search', not 'tuning': .*nb\.open_run"):
        Study.open(searched)
    with exits(capsys, f"'{searched}' is a search, not a tuning study: give the folder of a tuning study"):
        cli.main(["export", str(searched), "--optuna", str(tmp_path / "new")])
    with pytest.raises(SystemExit):
        cli.main(["export", str(study.folder)])


def test_test_values_that_guide_a_study_are_not_called_unused(tmp_path):
    study = write_study(tmp_path / "study", runs=True, objective="test_accuracy")
    export_optuna(study, tmp_path / "file")
    exported = load(tmp_path / "file")
    assert exported.user_attrs["objective"] == "test_accuracy"
    for trial, line in zip(exported.trials, study.lines, strict=True):
        assert trial.user_attrs["test regret"] == line["test_regret"]
        assert not trial.intermediate_values
