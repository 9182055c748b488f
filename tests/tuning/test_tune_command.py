"""A real study from the command line: two workers, killed and resumed; one of its configurations diverges."""

import json
import signal
import time
from pathlib import Path
from typing import BinaryIO

import pytest
from command_line import CODE, command
from ConfigSpace import Categorical, ConfigurationSpace
from forked_jobs import FORK_JOBS
from hpbandster.core.result import logged_results_to_HBS_result
from warm_process import WarmProcess

import nasbench1shot1 as nb
from nasbench1shot1.proposers.configurations import parse_id
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.tuning.evaluation import COPIED, copy_run
from nasbench1shot1.tuning.record import FIELDS, Study

LEARNING_RATES = [0.025, 1e30]
TINY = ["--scale", "quick", "--channels", "2", "--cells", "1", "--images-per-half", "40", "--batch-size", "20"]
BUDGETS = ["--min-budget", "1", "--max-budget", "2", "--iterations", "1", "--continuation", "continue"]


def wait_for(path: Path, process: WarmProcess) -> None:
    patience = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patience, f"{path} does not appear"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def space_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learning rates: the first is the optimizer's default; the second is sampled and diverges."""
    space = ConfigurationSpace()
    space.add(Categorical("learning_rate", LEARNING_RATES, default=1e30, weights=[0.001, 0.999]))
    path = tmp_path_factory.mktemp("spaces") / "rates.json"
    space.to_json(path)
    return path


@pytest.fixture(scope="module")
def output(space_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Study]:
    """Output and study of a resumed command that was killed during the first searches."""
    folder = tmp_path_factory.mktemp("studies") / "study"
    options = ["--optimizer", "gdas", "--config-space", str(space_file), "--workers", "2", "--out", str(folder)]
    with WarmProcess(FORK_JOBS + CODE, "tune", *options, *TINY, *BUDGETS) as process:
        wait_for(folder / "runs" / "0-0-0" / "epochs-001" / "config.json", process)
        process.send_signal(signal.SIGKILL)
    assert read_lines(folder / METRICS) == []
    resumed = command("tune", "--resume", str(folder), "--workers", "1")
    assert resumed.returncode == 0, resumed.stderr
    return resumed.stdout, nb.open_run(folder)


def test_the_default_is_first_and_every_planned_search_is_observed_once(output):
    study = output[1]
    trials = {(line["configuration_id"], line["budget"]) for line in study.lines}
    assert trials == {("0-0-0", 1), ("0-0-1", 1), ("0-0-0", 2)} and len(study.lines) == 3
    assert study.configurations == {
        "0-0-0": {"learning_rate": 0.025},
        "0-0-1": {"learning_rate": 1e30},
    }
    assert all(tuple(line) == tuple(FIELDS) for line in study.lines)
    assert study.is_finished and study.summary["observations"] == 3


def test_the_reader_of_hpbandster_opens_the_folder(output):
    study = output[1]
    result = logged_results_to_HBS_result(str(study.folder))
    runs = {(run.config_id, run.budget): run.loss for run in result.get_all_runs()}
    assert runs == {(parse_id(line["configuration_id"]), line["budget"]): line["loss"] for line in study.lines}
    assert result.get_id2config_mapping()[(0, 0, 0)]["config"] == {"learning_rate": 0.025}


def test_a_diverged_search_is_a_failed_observation(output):
    study = output[1]
    failed = next(line for line in study.lines if line["configuration_id"] == "0-0-1")
    assert failed["loss"] is failed["architecture"] is failed["test_regret"] is None
    assert "diverged (infinite or NaN) in epoch 1" in failed["failure"]
    assert json.loads((study.folder / failed["folder"] / "failure.json").read_text()) == {"failure": failed["failure"]}
    assert study.summary["diverged"] == 1
    assert study.summary["best"]["configuration"] == {"learning_rate": 0.025}


def test_the_objective_is_the_validation_error_of_the_final_architecture(output):
    study, table = output[1], nb.load_table()
    for line in study.lines:
        if line["loss"] is not None:
            run = nb.load_run(study.folder / line["folder"])
            last = run.lines[-1]
            assert last["epoch"] == line["budget"] and line["architecture"] == last["architecture"]
            metrics = table.query(nb.Architecture.parse(line["architecture"]), epochs=108)
            assert line["loss"] == line["table_validation_error"] == 1 - metrics.validation_accuracy
            assert line["table_test_error"] == 1 - metrics.test_accuracy
            assert line["loss"] != last["one_shot_validation_error"]
            assert run.config["learning_rate"] == 0.025


def test_the_longer_search_continues_the_shorter_one(output):
    study = output[1]
    shorter, longer = (nb.load_run(study.folder / f"runs/0-0-0/epochs-{epochs:03d}") for epochs in (1, 2))
    assert longer.config["grown"] == [{"from": 1, "to": 2, "after_epoch": 1}] and longer.config["epochs"] == 2
    assert shorter.config["grown"] == [] and longer.lines[:2] == shorter.lines
    line = next(line for line in study.lines if line["budget"] == 2)
    added = longer.lines[-1]["search_seconds"] - shorter.lines[-1]["search_seconds"]
    assert line["search_seconds"] == pytest.approx(added)
    training = nb.load_table().query(nb.Architecture.parse(line["architecture"])).training_time
    assert line["simulated_seconds"] == pytest.approx(added + training)


def test_observations_are_a_frame_with_the_hyperparameters(output):
    study = output[1]
    frame = study.observations
    assert list(frame.columns) == [*FIELDS, "learning_rate"]
    assert sorted(frame["learning_rate"]) == [0.025, 0.025, 1e30]
    assert frame["loss"].isna().sum() == 1
    assert study.run(int(frame.index[frame["budget"] == 2][0])).config["epochs"] == 2


def test_plain_lines_report_every_observation_and_the_result(output):
    text, study = output
    rows = [line for line in text.splitlines() if "/3 " in line]
    assert len(rows) == 3 and sum("diverged" in row for row in rows) == 1
    assert "3 searches of 1 or 2 epochs; continuation: continue" in text
    assert "Hyperparameters: learning_rate\n" in text
    assert "3 searches ended; 1 diverged, and no configuration was proposed by the model." in text
    assert (study.folder / "trajectory.png").read_bytes()[:4] == b"\x89PNG"


def test_a_finished_study_is_reported_again_and_keeps_its_options(output):
    folder = str(output[1].folder)
    for arguments, sentence in (
        (["--seed", "1"], "was started with seed=0, not 1"),
        (["--channels", "3"], "was started with channels=2, not 3"),
        (["--iterations", "0"], "iterations may only increase"),
        (["--learning-rate", "1"], "learning_rate= is not an option of"),
    ):
        with pytest.raises(nb.InvalidInputError, match=sentence):
            nb.tune(resume=folder, **{arguments[0][2:].replace("-", "_"): json.loads(arguments[1])})


def test_an_interrupted_copy_of_a_shorter_search_is_completed(output, tmp_path, monkeypatch):
    source, folder = output[1].folder / "runs/0-0-0/epochs-001", tmp_path / "longer"
    copied: list[int] = []

    def copy_two(original: BinaryIO, copy: BinaryIO) -> None:
        if len(copied) == 2:
            raise KeyboardInterrupt
        copied.append(copy.write(original.read()))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("nasbench1shot1.tuning.evaluation.shutil.copyfileobj", copy_two)
        copy_run(source, folder)
    assert not (folder / "config.json").exists()
    for _ in range(2):  # the second call changes nothing
        copy_run(source, folder)
        assert {path.name for path in folder.iterdir()} - {".lock"} == set(COPIED)
        assert nb.load_run(folder).lines == nb.load_run(source).lines
        assert not nb.load_run(folder).is_finished


def test_a_study_on_nasbench201_ends_with_its_report_and_picture(tmp_path):
    ended = command(
        "tune", "--space", "nb201", "--optimizer", "gdas", "--out", str(tmp_path / "study"), *TINY, *BUDGETS
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "study" / "trajectory.png").stat().st_size > 0
