"""The objective of a study, and how a trial is evaluated, with searches replaced by records."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from rich.console import Console
from tiny_search import TINY
from tiny_studies import evaluate, tiny_study, trial

import nasbench1shot1 as nb
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import Judge
from nasbench1shot1.experiments.comparison.opening import open_entries
from nasbench1shot1.ground.errors import DivergedError, RunStoppedError
from nasbench1shot1.jobs.job import Ended
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.searching import SearchKind
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, read_object
from nasbench1shot1.scales import SCALES
from nasbench1shot1.tuning import evaluation
from nasbench1shot1.tuning.drawing import trajectory_figure
from nasbench1shot1.tuning.evaluation import FAILURE, check_has_objective, objective, trial_job, trial_outcome
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.trials import Observation, Outcome
from nasbench1shot1.tuning.tuning import observation_line

ARCH = nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
SELECTION = {"candidates": 3, "candidate_batches": 1, "finalists": 1, "batch_size": 20}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return tiny_study(tmp_path_factory.mktemp("studies") / "study", optimizer="gdas")


def test_the_objective_is_the_mean_over_repeats_at_108_epochs(measured_table):
    repeats = measured_table.query(ARCH, epochs=108, run="all").validation_accuracy
    assert len(set(repeats)) == 3
    assert objective(ARCH, measured_table, "mean", 0, trial({})) == pytest.approx(1 - np.mean(repeats))


def test_on_nasbench201_the_objective_is_for_the_data_set_of_the_images():
    table, arch = nb.load_table("nb201"), nb.search_space("nb201")[1234]
    expected = 1 - table.query(arch, dataset="cifar10-valid").validation_accuracy
    assert objective(arch, table, "mean", 0, trial({}), "cifar10") == pytest.approx(expected)
    drawn = {objective(arch, table, "random", 0, trial({}, number=number), "cifar10") for number in range(20)}
    every = table.query(arch, run="all", dataset="cifar10-valid").validation_accuracy
    assert drawn == {1 - accuracy for accuracy in every if accuracy == accuracy}  # not NaN
    for dataset in ("cifar10", "cifar100", "ImageNet16-120"):
        check_has_objective(table, "nb201", dataset)
    with refuses(nb.OutOfDomainError, table.id, "svhn"):
        check_has_objective(table, "nb201", "svhn")


def test_test_accuracy_is_the_objective_only_if_asked_for():
    table = nb.load_table("nats-size")
    arch = nb.search_space("nats-size")[11]
    with refuses(nb.InvalidInputError, table.id, options="table objective"):
        check_has_objective(table, "nats-size", "cifar100")
    check_has_objective(table, "nats-size", "cifar100", "test_accuracy")
    expected = 1 - table.query(arch, dataset="cifar100").test_accuracy
    assert objective(arch, table, "mean", 0, trial({}), "cifar100", "test_accuracy") == pytest.approx(expected)


def test_a_study_records_bounds_and_an_objective_on_test_values(tmp_path):
    options = {**SELECTION, "objective": "test_accuracy", "max_parameters": 200_000}
    study = tiny_study(tmp_path / "study", optimizer="random-ws", space="nb201", config_space="cs1", **options)
    table, asked = nb.load_table("nb201"), trial({}, 1)
    assert study.guide == "test" and study.config["objective"] == "test_accuracy" and "test" in study.guide_sentence
    assert study.shared_options["max_parameters"] == 200_000
    outcome = evaluate(study, asked)
    arch = Architecture.parse(outcome.values["architecture"])
    assert study.baseline.bounds.allows(table, arch)
    assert outcome.loss == pytest.approx(1 - table.query(arch, dataset="cifar10-valid").test_accuracy)
    observation = Observation(0, asked, outcome, False, 0.0, 1.0, 5.0, 1, "here.local-0")
    line = observation_line(observation, table, Judge.from_config(study.config, study.folder))
    assert line["test_regret"] == pytest.approx(table.regret(arch, dataset="cifar10", within=study.baseline.bounds))
    figure = trajectory_figure(study, [line], table)
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert [text for text in labels if "largest network that fits" in text] and [
        text for text in labels if "objective" in text
    ]
    entry = open_entries(study)[0]
    assert entry.goal.guide.split == "test" and entry.baselines == {str(study.folder): study.baseline}


def test_a_study_on_nasbench201_records_the_errors_of_its_data_set(tmp_path):
    study = tiny_study(tmp_path / "study", optimizer="random-ws", space="nb201", config_space="cs1", **SELECTION)
    assert (study.config["dataset"], study.shared_options["table"]) == ("cifar10", "nb201")
    asked = trial({}, 1)
    outcome = evaluate(study, asked)
    table, arch = nb.load_table("nb201"), nb.Architecture.parse(outcome.values["architecture"])
    assert outcome.loss == 1 - table.query(arch, dataset="cifar10-valid").validation_accuracy
    observation = Observation(0, asked, outcome, False, 0.0, 1.0, 5.0, 1, "here.local-0")
    for of in table.objectives:
        line = observation_line(observation, table, Judge(of.dataset))
        assert line["table_test_error"] == 1 - table.query(arch, dataset=of.test).test_accuracy


def test_a_random_repeat_is_determined_by_seed_configuration_and_budget(measured_table):
    repeats = 1 - measured_table.query(ARCH, epochs=108, run="all").validation_accuracy
    asked = [(seed, trial({}, epochs, number)) for seed in (0, 1) for epochs in (25, 50) for number in range(10)]
    found = [objective(ARCH, measured_table, "random", *of) for of in asked]
    assert set(found) == set(repeats.tolist())
    assert found == [objective(ARCH, measured_table, "random", *of) for of in asked]
    assert found[:20] != found[20:] and found[:10] != found[10:20]


def test_a_table_without_validation_accuracy_has_no_objective(measured_table):
    check_has_objective(measured_table, "s1")
    nothing = SimpleNamespace(
        id="none",
        full_budget=108,
        is_partial=False,
        objective=lambda dataset, metric: SimpleNamespace(validation=dataset, validation_metric="validation_accuracy"),
        query=lambda arch, dataset: SimpleNamespace(validation_accuracy=float("nan")),
    )
    with refuses(nb.InvalidInputError, "none", options="table objective"):
        check_has_objective(nothing, "s1")  # type: ignore[arg-type]


def test_outcomes_have_no_test_values_and_the_record_reads_them_from_the_table(study):
    outcome = Outcome(0.06, None, {"architecture": str(ARCH), "search_seconds": 3.0})
    observation = Observation(0, trial({"momentum": 0.5}, 25), outcome, False, 0.0, 1.0, 5.0, 1, "here.local-0")
    line, metrics = observation_line(observation, nb.load_table(), Judge()), nb.load_table().query(ARCH)
    assert tuple(line) == tuple(Study.FIELDS)
    assert line["table_test_error"] == 1 - metrics.test_accuracy
    assert line["simulated_seconds"] == round(3.0 + metrics.training_time, 3)
    assert line["folder"] == "runs/0-0-0/epochs-025"


@pytest.mark.parametrize("has_log", [False, True])
def test_a_failed_search_names_its_log_only_if_there_is_one(study, has_log):
    job = trial_job(study, trial({}, 1, 9))
    job.make_parent()
    if has_log:
        job.log.write_text("it failed")
    with pytest.raises(nb.UserError, match="does not see") as failed:
        trial_outcome(study, nb.load_table(), job, Ended(job.refusal()))
    assert (str(job.log) in str(failed.value)) == has_log
    job.log.unlink(missing_ok=True)


def test_a_search_gets_configuration_budget_and_options_of_the_study(study):
    job = trial_job(study, trial({"learning_rate": 0.1, "weight_decay": 1e-4}, 50, 3))
    assert job.folder == study.folder / "runs" / "0-0-3" / "epochs-050"
    expected = {"optimizer": "gdas", "space": "s1", "seed": 0, "epochs": 50, "learning_rate": 0.1, "channels": 2}
    assert {name: job.options[name] for name in expected} == expected
    assert job.options["cutout_schedule"] is None and "cutout_probability" not in job.options
    assert job.resume_options == {"epochs": 50}


def test_searches_of_a_resumed_study_use_its_recorded_options(tmp_path, monkeypatch):
    study = tiny_study(tmp_path / "study", optimizer="gdas", config_space="cs2")
    original = read_object(study.folder / CONFIG)["search_options"]
    changed = {"channels": 3, "cells": 2, "batch_size": 7, "image_side": 4, "threads": 2, "momentum": 0.1}
    monkeypatch.setitem(SCALES, "quick", {**SCALES["quick"], **changed})
    found = []
    monkeypatch.setattr(evaluation, "start_run", lambda kind, options, folder: found.append(options.as_dict()))
    hyperparameters = {"learning_rate": 0.1, "weight_decay": 1e-4}
    job = trial_job(Study.open(study.folder), trial(hyperparameters, 2))
    evaluation.search_trial(out=job.folder, **job.options)
    tuned = {name: value for name, value in found[0].items() if name in study.config_space}
    assert {name: found[0][name] for name in original} == original
    assert {**tuned, **hyperparameters} == tuned and found[0]["epochs"] == 2


def outcome(study: Study, end: Ended, table: Any = None, number: int = 4) -> Outcome:
    return trial_outcome(study, table or nb.load_table(), trial_job(study, trial({}, 1, number)), end)


@pytest.mark.parametrize(
    ("failure", "error"),
    [("CIFAR-10 is not installed", "UserError"), ("OutOfMemoryError: CUDA out of memory", "OutOfMemoryError")],
)
def test_a_search_that_fails_ends_the_study(study, failure, error):
    with refuses(nb.UserError, failure, study.folder):
        outcome(study, Ended(failure, error))


def test_a_diverged_search_is_an_outcome_without_a_loss(study):
    found = outcome(study, Ended("the training loss diverged", "DivergedError"))
    assert found == Outcome(None, "the training loss diverged", {"search_seconds": 0.0})


@pytest.mark.parametrize("content", [None, "[]", "{", '{"architecture": 3}'])
def test_a_search_whose_record_cannot_be_read_is_an_outcome_without_a_loss(study, content):
    job = trial_job(study, trial({}, 1, 8))
    if content is not None:
        job.folder.mkdir(parents=True, exist_ok=True)
        for name in (CONFIG, SUMMARY):
            (job.folder / name).write_text(content)
    found = outcome(study, Ended(), number=8)
    assert found.loss is None and str(found.failure).startswith("its record cannot be read (")


def test_the_tuner_cannot_see_test_values(study, monkeypatch):
    """Access to test values raises, and the outcome is still complete for the tuner."""
    summary = {"architecture": str(ARCH), "table_validation_error": 0.5, "one_shot_validation_error": 0.4}
    config = {"grown": [], "table_id": study.config["table_id"]}
    run = SimpleNamespace(summary=summary, lines=[{"search_seconds": 2.0}], config=config)
    answers = SimpleNamespace(validation_accuracy=0.9)  # any other attribute raises
    table = SimpleNamespace(
        id=study.config["table_id"],
        is_partial=False,
        objective=lambda dataset, metric: SimpleNamespace(validation=dataset, validation_metric="validation_accuracy"),
        query=lambda arch, dataset, run, rng: answers,
    )
    monkeypatch.setattr(evaluation, "open_search", lambda folder: run)
    found = outcome(study, Ended(), table)
    assert found == Outcome(1 - 0.9, None, {"architecture": str(ARCH), "search_seconds": 2.0})


def test_a_search_that_used_another_table_is_refused(study, monkeypatch):
    config = {"grown": [], "table_id": "another"}
    run = SimpleNamespace(summary={"architecture": str(ARCH)}, lines=[], config=config)
    monkeypatch.setattr(evaluation, "open_search", lambda folder: run)
    with refuses(nb.InvalidInputError, "there"):
        outcome(study, Ended(worker="there"))


def test_a_search_that_diverges_before_its_first_epoch_leaves_a_failure(tmp_path, monkeypatch):
    def diverge(*given: Any, **named: Any) -> None:
        raise DivergedError("the one-shot validation loss diverged")

    monkeypatch.setattr(evaluation, "start_run", diverge)
    with pytest.raises(DivergedError):
        evaluation.search_trial(out=tmp_path / "run", optimizer="gdas", epochs=3)
    assert read_object(tmp_path / "run" / FAILURE) == {"failure": "the one-shot validation loss diverged"}
    monkeypatch.setattr(evaluation, "start_run", lambda *given, **named: pytest.fail("it is not repeated"))
    with refuses(DivergedError, "diverged"):
        evaluation.search_trial(out=tmp_path / "run", optimizer="gdas", epochs=3)


WITHOUT_EFFECT: list[dict[str, Any]] = [
    {"cutout_length": 8, "cutout_probability": 0.0},
    {"cutout_length": 0, "cutout_probability": 0.5},
    {"perturbation": "none", "perturbation_size": 0.1},
    {"optimizer": "beta-darts", "term": "none", "term_weight": 3.0},
]


@pytest.mark.parametrize("values", WITHOUT_EFFECT)
def test_every_accepted_trial_can_be_resumed_and_extended(values):
    started = search_options(given := {**TINY, **values}, varied=given)
    kept = started.as_dict()
    assert search_options({"epochs": TINY["epochs"]}, kept=kept) == started
    assert search_options({"epochs": 9}, kept=kept).as_dict() == {**kept, "epochs": 9}
    with refuses(nb.InvalidInputError, "effect"):
        search_options(given)


def test_a_stopped_trial_is_resumed_although_a_value_has_no_effect(tmp_path, monkeypatch):
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(RunStoppedError):
        patched.setattr(SearchKind, "loop", stop)
        evaluation.search_trial(out=tmp_path / "run", **{**TINY, **WITHOUT_EFFECT[0], "epochs": 1})
    evaluation.search_trial(resume=tmp_path / "run", epochs=1)
    found = nb.search(resume=tmp_path / "run", epochs=2, console=Console(quiet=True))
    assert found.is_finished and found.config["cutout_length"] == 8 and len(found.lines) == 3
