"""Options of a study: defaults, ranges, options of its searches, and changes on resuming."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from ConfigSpace import Categorical, ConfigurationSpace, OrdinalHyperparameter
from refusals import exits, refuses
from rich.console import Console
from tiny_studies import TINY, tiny_study, tune_without_searches

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.jobs.process import usable_cores
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.runs.folder import CONFIG_SPACE, SUBMISSIONS
from nasbench1shot1.runs.lifecycle import existing_run
from nasbench1shot1.tuning.config_spaces import FOLDER
from nasbench1shot1.tuning.options import TuningOptions, study_options
from nasbench1shot1.tuning.record import Study, StudyWriter, size_text

QUICK: dict[str, Any] = {"scale": "quick", "device": "cpu"}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Calls of `nb.tune` made by the command line."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("nasbench1shot1.tuning.tuning.tune", lambda **given: calls.append(given))
    return calls


def test_the_study_of_the_paper_plans_280_searches():
    tuning = TuningOptions()
    assert (tuning.min_budget, tuning.max_budget, tuning.eta, tuning.iterations) == (25, 100, 2, 64)
    assert tuning.brackets.budgets == (25, 50, 100) and tuning.brackets.planned == 280


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"epochs": 3}, "epochs= min_budget="),
        ({"keep_weights_every": 1}, "keep_weights_every="),
        ({"iteration": 3}, "iteration iterations"),
        ({"optimizer": "gdsa"}, "gdsa gdas"),
        ({"tuner": "bhob"}, "bhob bohb"),
        ({"eta": 1}, "eta 2 100 1"),
        ({"min_budget": 30, "max_budget": 20}, "max_budget=20 min_budget=30"),
        ({"min_budget": 25, "warm_start_epochs": 25}, "warm_start_epochs=25 25"),
        ({"temperature_max": 3.0, "optimizer": "random-ws"}, "temperature_max= random-ws"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        study_options({**QUICK, **options})


def test_an_option_that_depends_on_a_hyperparameter_is_accepted(tmp_path):
    """The first configuration, with the defaults, has no cutout."""
    study = tiny_study(tmp_path / "study", cutout_length=8)
    assert study.shared_options["cutout_length"] == 8
    assert study.config_space["cutout_probability"].default_value == 0
    assert tune_without_searches(resume=study.folder, cutout_length=8, iterations=99).config["iterations"] == 99
    with refuses(nb.InvalidInputError, "perturbation_size=0.5", "effect"):
        tiny_study(tmp_path / "other", perturbation_size=0.5)


def test_threads_are_shared_among_workers_unless_given():
    for workers, threads in ((1, usable_cores()), (2, max(usable_cores() // 2, 1)), (10**3, 1)):
        assert study_options({"device": "cpu"}, workers).search.common.threads == threads
    assert study_options({"device": "cpu", "threads": 3}, 2).search.common.threads == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_searches_at_the_quick_scale_have_one_thread_unless_given(workers):
    assert study_options(QUICK, workers).search.common.threads == 1
    assert study_options({**QUICK, "threads": 3}, workers).search.common.threads == 3


def test_options_tuned_or_set_by_the_study_are_not_passed_to_searches():
    shared = study_options({**QUICK, "optimizer": "gdas"}).shared({"learning_rate", "temperature_max"})
    assert not {"learning_rate", "temperature_max", "optimizer", "space", "seed", "epochs"} & set(shared)
    assert shared["batch_size"] == 64 and shared["temperature_min"] == 0.1 and shared["table"] == "embedded"


def test_the_command_passes_only_given_options(parsed):
    cli.main(["tune", "--optimizer", "gdas", "--workers", "2", "--channels", "4", "--temperature-max", "3"])
    cli.main(["tune", "--resume", "here", "--iterations", "70"])
    nothing = {"out": None, "resume": None, "allow_module": None}
    assert parsed == [
        {**nothing, "optimizer": "gdas", "workers": 2, "channels": 4, "temperature_max": 3.0},
        {**nothing, "resume": Path("here"), "iterations": 70},
    ]


def test_help_shows_every_option_except_those_set_by_the_study(capsys):
    cli.main(["tune", "--optimizer", "gdas", "--help"])
    text = capsys.readouterr().out
    assert all(option in text for option in ("--min-budget", "--config-space", "--cells", "--temperature-max"))
    assert "--epochs INT" not in text and "--keep-weights-every" not in text
    assert text.count("--seed INT") == text.count("--optimizer NAME") == 1


def test_bad_flags_are_reported_in_one_sentence(capsys):
    for arguments, sentence in ((["--epochs", "3"], "--epochs"), (["--tuner", "x"], "'x'")):
        with exits(capsys, sentence):
            cli.main(["tune", *arguments])


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("hpbandster", ["tune", "--scale", "quick"]),
        ("smac", ["tune", "--scale", "quick", "--tuner", "smac"]),
    ],
)
def test_without_the_extra_the_error_names_it(package, arguments, tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    hidden = lambda name, *rest: None if name == package else find(name, *rest)  # noqa: E731
    monkeypatch.setattr("nasbench1shot1.ground.plugins.find_spec", hidden)
    monkeypatch.chdir(tmp_path)
    with exits(capsys, package, "pip install -c constraints.txt '.[tune]'"):
        cli.main(arguments)
    assert not list(tmp_path.iterdir())


def test_batches_must_fit_the_images_before_anything_is_written(tmp_path):
    with refuses(nb.InvalidInputError, "'cs3'", 128, 100, options="batch_size"):
        tiny_study(tmp_path / "study", config_space="cs3", images_per_half=100, batch_size=None)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("of_study", [{"batch_size": 8}, {"config_space": "batches.json", "batch_size": None}])
def test_batches_of_one_image_without_several_pixels_are_refused_before_writing(tmp_path, monkeypatch, of_study):
    monkeypatch.chdir(tmp_path)
    space = ConfigurationSpace()
    space.add(Categorical("batch_size", [3, 8]))
    space.to_json("batches.json")
    small = {"image_side": 4, "channels": 4, "cells": 3, "images_per_half": 9, "config_space": "cs1"}
    with refuses(
        nb.InvalidInputError, "configuration space", "batch_size=8", "4 × 4", options="batch_size images_per_half"
    ):
        tiny_study(tmp_path / "study", **{**small, **of_study})
    assert not (tmp_path / "study").exists()


def test_options_that_the_tuner_does_not_support_are_refused_before_writing(tmp_path):
    space = ConfigurationSpace()
    space.add(OrdinalHyperparameter("momentum", [0.5, 0.9]))
    space.to_json(tmp_path / "orders.json")
    with refuses(nb.InvalidInputError, "'momentum'", "BOHB"):
        tiny_study(tmp_path / "study", config_space=str(tmp_path / "orders.json"))
    assert not (tmp_path / "study").exists()


def test_leftovers_of_a_process_killed_before_its_configuration_do_not_block_a_study(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / CONFIG_SPACE).write_text("{}")
    assert tiny_study(tmp_path / "study", optimizer="gdas").config_space.name == "cs2"


def test_partial_files_of_running_searches_are_left_to_their_workers(study, tmp_path):
    theirs = study.folder / "runs" / "0-0-0" / "epochs-001" / ".checkpoint.part"
    theirs.parent.mkdir(parents=True)
    ours = study.folder / ".summary.part"
    for part in (theirs, ours):
        part.write_bytes(b"")
    with existing_run(study.folder, StudyWriter, Study) as writer:
        writer.rewrite()
    assert theirs.exists() and not ours.exists()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_study(tmp_path_factory.mktemp("studies") / "study", optimizer="gdas", iterations=3, workers=2).folder


@pytest.fixture
def study(written: Path, tmp_path: Path) -> Study:
    return Study.open(shutil.copytree(written, tmp_path / "study"))


def test_a_study_folder_is_described_and_refused_for_another_study(study):
    assert isinstance(nb.open_run(study.folder), Study) and not study.is_finished
    content = json.loads((study.folder / "config.json").read_text())
    assert content["kind"] == "tuning" and content["options"]["iterations"] == 3
    assert content["search_options"]["channels"] == 2 and "learning_rate" not in content["search_options"]
    assert content["space_id"] == "nb101-s1-v1" and content["weight_images"] == 40
    assert dict(study.config_space.get_default_configuration())["learning_rate"] == 0.025
    with refuses(nb.InvalidInputError, study.folder, options="resume out"):
        tiny_study(study.folder, optimizer="gdas", iterations=3)
    with refuses(nb.InvalidInputError, study.folder, "gdas", options="optimizer out"):
        tiny_study(study.folder)
    with refuses(nb.InvalidInputError, study.folder, "nb.open_run"):
        nb.load_run(study.folder)


def resumed(folder: Path, **options: Any) -> Study:
    return tune_without_searches(resume=folder, **options)


def test_iterations_may_grow_and_workers_may_change(study):
    folder = study.folder
    grown = resumed(folder, iterations=5, workers=3, seed=0, channels=2)
    assert grown.options.iterations == 5 and "workers" not in grown.config
    assert grown.shared_options["threads"] == 1
    for options, sentence in (
        ({"iterations": 4}, "iterations may only increase, not fall to 4"),
        ({"max_budget": 4}, "was started with max_budget=2, not 4"),
        ({"channels": 3}, "was started with channels=2, not 3"),
        ({"out": "x"}, "remove out="),
        ({"epochs": 3}, "remove epochs="),
    ):
        with pytest.raises(nb.InvalidInputError, match=sentence):
            resumed(folder, **options)
    assert Study.open(folder).options == grown.options


def test_a_study_is_resumed_with_the_options_that_it_was_started_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOLDER / "cs1.json", tmp_path / "own.json")
    given = {"config_space": "own.json", "objective": "validation_accuracy"}
    study = tiny_study(tmp_path / "study", iterations=1, **given)
    assert resumed(study.folder, iterations=1, **given).config == study.config
    with refuses(nb.InvalidInputError, study.folder, options="objective iterations"):
        resumed(study.folder, objective="test_accuracy")


def test_an_optimizer_must_be_importable_by_the_workers(tmp_path):
    study = tiny_study(tmp_path / "study", optimizer=DARTS)
    assert study.config["optimizer"] == "nasbench1shot1.optimizers.darts:DARTS"
    own = type("Own", (DARTS,), {"__module__": "__main__"})
    with refuses(nb.InvalidInputError, "'__main__:Own'"):
        tiny_study(tmp_path / "other", optimizer=own)


def test_a_module_named_only_by_the_record_is_not_imported(study):
    folder = study.folder
    content = json.loads((folder / "config.json").read_text())
    content["options"]["optimizer"] = "unheard_of:Method"
    (folder / "config.json").write_text(json.dumps(content))
    with refuses(nb.InvalidInputError, "'unheard_of:Method'", options="allow_module"):
        resumed(folder)
    assert "unheard_of" not in sys.modules


def test_a_study_whose_submissions_were_shortened_is_damaged(study):
    line = {"number": 0, "configuration_id": "0-0-0", "budget": 1, "model_based": False, "after": 0, "submitted": 0.5}
    (study.folder / SUBMISSIONS).write_text(json.dumps({**line, "configuration": {"learning_rate": 0.1}}) + "\n")
    assert Study.open(study.folder).configuration("0-0-0") == {"learning_rate": 0.1}
    with refuses(DamagedFileError, study.folder / "submissions.jsonl", "0-0-1"):
        Study.open(study.folder).configuration("0-0-1")


ON_WIDTHS = {"space": "nats-size", "objective": "test_accuracy", "channels": None, "cells": None}


@pytest.mark.parametrize(
    ("optimizer", "options", "values"),
    [
        ("darts-pt", {"selection_epochs": 2}, "selection_epochs=2"),
        ("darts-pt", {"selection_epochs": 1, "continuation": "continue"}, 'continuation="restart"'),
        ("tas", {**ON_WIDTHS, "relaxation": "sigmoid", "max_flops": 1e8}, "cost_weight=0"),
    ],
)
def test_searches_that_cannot_run_at_all_budgets_are_refused_before_the_study(tmp_path, optimizer, options, values):
    given = {"optimizer": optimizer, "space": "s1", "min_budget": 2, "max_budget": 4, "out": tmp_path / "study"}
    with pytest.raises(nb.InvalidInputError, match=values):
        tune_without_searches(**{**TINY, **given, **options})
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("optimizer", "options", "cause"),
    [
        ("oles", {"window": 1_000}, "window"),
        ("lambda-darts", {"cells": 2}, "alignment"),
        ("beta-darts", {}, "term"),
        ("idarts", {"weight_steps": 3, "weights_first": True}, "weights_first"),
    ],
)
def test_budgets_that_are_too_short_for_an_option_are_refused_as_by_a_search(tmp_path, optimizer, options, cause):
    given = {**TINY, "optimizer": optimizer, "space": "s1", **options}
    of_searches = {name: value for name, value in given.items() if not hasattr(TuningOptions, name) or name == "space"}
    with pytest.raises(nb.InvalidInputError, match=cause) as refused:
        nb.search(optimizer, **of_searches, epochs=1, out=tmp_path / "search")
    with refuses(nb.InvalidInputError, str(refused.value)):
        tune_without_searches(**{**given, "min_budget": 1, "max_budget": 2, "out": tmp_path / "study"})
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("name", ["reference", "batch_size", "grad_clip", "relaxation"])
def test_a_study_whose_record_lacks_an_option_of_its_searches_is_damaged(study, name):
    path = study.folder / "config.json"
    content = json.loads(path.read_text())
    del content["search_options"][name]
    path.write_text(json.dumps(content))
    with refuses(DamagedFileError, path, f"'{name}'"):
        resumed(study.folder)


def test_the_size_of_supernets_can_be_tuned(tmp_path):
    space = ConfigurationSpace()
    space.add(Categorical("channels", [2, 4]))
    space.to_json(tmp_path / "own.json")
    options = {name: value for name, value in TINY.items() if name != "channels"}
    study = nb.tune(
        "gdas",
        space="s1",
        config_space=str(tmp_path / "own.json"),
        tuner="random",
        min_budget=1,
        max_budget=1,
        iterations=1,
        out=tmp_path / "study",
        console=Console(quiet=True),
        **options,
    )
    assert size_text(study.shared_options) == "tuned channels × 1 cell" and len(study.lines) == 1


def test_a_study_is_resumed_if_only_the_tuned_values_suit_its_options(tmp_path):
    """Random channel sampling requires partial channels, which the study tunes; only PC-DARTS has them by default."""
    space = ConfigurationSpace()
    space.add(Categorical("partial_channels", [2]))
    space.to_json(tmp_path / "own.json")
    given = {"optimizer": "pc-darts", "config_space": str(tmp_path / "own.json"), "channel_sampling": "random"}
    study = tiny_study(tmp_path / "study", **given)
    assert resumed(study.folder).folder == study.folder


def test_a_study_is_resumed_with_the_options_that_started_it(tmp_path):
    study = tiny_study(tmp_path / "study", device="auto")
    assert study.shared_options["device"] != "auto"
    tune_without_searches(resume=study.folder, device="auto", scale="quick")
    with refuses(nb.InvalidInputError, study.folder, 3, options="channels"):
        tune_without_searches(resume=study.folder, channels=3)


def test_an_alias_is_recorded_as_the_name_of_the_optimizer(tmp_path):
    assert (
        tiny_study(tmp_path / "study", optimizer="mask-gumbel", min_budget=2, **ON_WIDTHS).options.optimizer
        == "fbnetv2"
    )


def test_a_study_of_a_gpu_is_not_resumed_without_one(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    folder = tiny_study(tmp_path / "study").folder
    (folder / "config.json").write_text((folder / "config.json").read_text().replace('"cpu"', '"cuda"'))
    with refuses(nb.InvalidInputError, folder, "cuda", "GPU", options=""):
        tune_without_searches(resume=folder, iterations=99)
