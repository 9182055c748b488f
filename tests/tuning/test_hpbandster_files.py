"""Study files in hpbandster's format, read by hpbandster and by the steps of DeepCAVE."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from ConfigSpace import Configuration, ConfigurationSpace
from refusals import refuses
from synthetic_study import by_weight_decay, write_study

import nasbench1shot1 as nb
from nasbench1shot1.tuning.export import write_hpbandster_files
from nasbench1shot1.tuning.record import Study

result = pytest.importorskip("hpbandster.core.result", reason="hpbandster is not installed")


def diverges(configuration: Any) -> bool:
    return configuration["learning_rate"] > 0.3


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    written = write_study(tmp_path_factory.mktemp("hpbandster") / "study", diverges=diverges)
    write_hpbandster_files(written)
    return written


def test_hpbandster_reads_every_configuration_and_every_run(study):
    read = result.logged_results_to_HBS_result(str(study.folder))
    runs = {(run.config_id, run.budget): run for run in read.get_all_runs()}
    lines = {(tuple(map(int, line["configuration_id"].split("-"))), line["budget"]): line for line in study.lines}
    assert runs.keys() == lines.keys() and len(runs) == len(study.lines)
    for key, line in lines.items():
        assert runs[key].loss == line["loss"]
        assert runs[key].error_logs == line["failure"]
        assert runs[key].time_stamps == {name: line[name] for name in ("submitted", "started", "finished")}
    configurations = read.get_id2config_mapping()
    assert {id: found["config"] for id, found in configurations.items()} == {
        tuple(map(int, id.split("-"))): configuration for id, configuration in study.configurations.items()
    }
    assert configurations[0, 0, 0]["config_info"] == {"model_based_pick": False}
    assert configurations[3, 0, 0]["config_info"] == {"model_based_pick": True}
    assert sum(line["loss"] is None for line in study.lines) >= 2  # diverged runs are among them


def test_the_files_are_written_to_a_folder_that_is_named_as_text(study, tmp_path):
    write_hpbandster_files(study, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"configs.json", "results.json", "configspace.json"}
    with refuses(nb.InvalidInputError, "folder"):
        write_hpbandster_files(study, 3)  # type: ignore[arg-type]


def test_the_analyses_of_hpbandster_find_the_best_and_the_trajectory(study):
    read = result.logged_results_to_HBS_result(str(study.folder))
    largest = [line for line in study.lines if line["budget"] == 100 and line["loss"] is not None]
    best = min(largest, key=lambda line: line["loss"])
    assert read.get_incumbent_id() == tuple(map(int, best["configuration_id"].split("-")))
    assert read.HB_config["budgets"] == [25, 50, 100] and read.HB_config["eta"] == 2
    assert read.num_iterations() == 6
    trajectory = read.get_incumbent_trajectory(bigger_is_better=False, non_decreasing_budget=False)
    expected, incumbent = [], math.inf
    for line in study.lines:
        if line["loss"] is not None and line["loss"] < incumbent:
            incumbent = line["loss"]
            expected.append(incumbent)
    assert list(dict.fromkeys(trajectory["losses"])) == expected
    frame, losses = read.get_pandas_dataframe()
    assert list(losses["loss"]) != [] and len(frame) == sum(line["loss"] is not None for line in study.lines)


def deepcave_trials(folder: Path) -> list[dict[str, Any]]:
    """Imitate DeepCAVE's converter for BOHB: read the space, then every run that hpbandster reads.

    Written from a description of its steps: `configspace.json` marks a folder as a run, times are relative to the
    first run, `info["state"]` tells a run's status, and a configuration must lie in the space.
    """
    assert (folder / "configspace.json").is_file()
    space = ConfigurationSpace.from_json(folder / "configspace.json")
    read = result.logged_results_to_HBS_result(str(folder))
    configurations, trials = read.get_id2config_mapping(), []
    for run in read.get_all_runs():
        values = configurations[run.config_id]["config"]
        state = run.info["state"] if isinstance(run.info, dict) and "state" in run.info else "SUCCESS"
        Configuration(space, values=values).check_valid_configuration()
        trials.append({"config": values, "cost": run.loss, "budget": run.budget, "state": state})
    return trials


def test_deepcave_reads_space_costs_budgets_and_states(study):
    trials = deepcave_trials(study.folder)
    assert len(trials) == len(study.lines)
    assert {trial["state"] for trial in trials} == {"SUCCESS"}
    assert {trial["budget"] for trial in trials} == {25.0, 50.0, 100.0}
    costs = sorted(trial["cost"] for trial in trials if trial["cost"] is not None)
    assert costs == sorted(line["loss"] for line in study.lines if line["loss"] is not None)
    for trial in trials:
        assert (trial["cost"] is None) == diverges(trial["config"])


def test_the_files_contain_no_test_values(study):
    lines = [json.loads(line) for line in (study.folder / "results.json").read_text().splitlines()]
    values = {value for line in lines if line[3] for value in line[3]["info"].values()}
    for line in study.lines:
        assert line["table_test_error"] not in values or line["table_test_error"] is None
    assert "test" not in (study.folder / "results.json").read_text()
    assert {line[3]["info"]["folder"] for line in lines if line[3]} <= {line["folder"] for line in study.lines}


def test_rewriting_the_files_follows_the_record(tmp_path):
    study = write_study(tmp_path / "study", quality=by_weight_decay, finished=False)
    metrics = study.folder / "metrics.jsonl"
    whole = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(whole[:5]))
    write_hpbandster_files(Study.open(study.folder))
    assert len(result.logged_results_to_HBS_result(str(study.folder)).get_all_runs()) == 5
    metrics.write_text("".join(whole))
    write_hpbandster_files(Study.open(study.folder))
    first = (study.folder / "results.json").read_bytes()
    assert len(result.logged_results_to_HBS_result(str(study.folder)).get_all_runs()) == len(whole)
    write_hpbandster_files(Study.open(study.folder))
    assert (study.folder / "results.json").read_bytes() == first
    assert not list(study.folder.glob(".*.part"))
