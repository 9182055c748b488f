"""Bundled configuration spaces, and valid and invalid user files."""

import json
from pathlib import Path
from typing import Any

import pytest
from ConfigSpace import (
    Categorical,
    Configuration,
    ConfigurationSpace,
    Constant,
    EqualsCondition,
    Float,
    ForbiddenAndConjunction,
    ForbiddenEqualsClause,
    Integer,
    OrdinalHyperparameter,
)
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.tuning.config_spaces import NOT_TUNABLE, config_space, read_config_space, write_config_space
from nasbench1shot1.tuning.options import SET_BY_THE_STUDY, study_options

QUICK: dict[str, Any] = {"scale": "quick", "threads": 1, "device": "cpu", "min_budget": 2, "max_budget": 4}


def fixed(**options: Any) -> Any:
    return study_options({**QUICK, **options}).fixed


def write(path: Path, *hyperparameters: Any) -> str:
    space = ConfigurationSpace()
    space.add(*hyperparameters)
    (space.to_yaml if path.suffix == ".yaml" else space.to_json)(path)
    return str(path)


@pytest.mark.parametrize(("optimizer", "batch_size"), [("darts", 64), ("gdas", 64)])
def test_defaults_equal_the_defaults_of_the_optimizer(optimizer, batch_size):
    space = config_space("cs3", fixed(optimizer=optimizer))
    assert dict(space.get_default_configuration()) == {
        "weight_decay": 3e-4,
        "cutout_probability": 0,
        "learning_rate": 0.025,
        "architecture_learning_rate": 0.0075,  # of the quick scale
        "architecture_weight_decay": 1e-3,
        "momentum": 0.9,
        "cutout_length": 16,
        "batch_size": batch_size,
        "grad_clip": 5,
    }
    assert config_space("cs3", fixed(optimizer=optimizer, scale="full"))["batch_size"].default_value == 96


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_user_file_may_tune_any_option_of_a_search(tmp_path, suffix):
    file = write(
        tmp_path / f"own{suffix}",
        Float("temperature_min", (0.2, 5), default=1),
        Integer("channels", (2, 8), default=8),
        Categorical("relaxation", ["gumbel", "single-path"], default="gumbel"),
        Categorical("evaluation_noise", [True, False]),
        OrdinalHyperparameter("cells", [1, 3, 6]),
        Constant("momentum", 0.5),
    )
    space = config_space(file, fixed(optimizer="gdas"))
    default = dict(space.get_default_configuration())
    assert default["cells"] == 3 and not default["evaluation_noise"]  # defaults of gdas at the quick scale
    # the defaults of gdas are outside the ranges
    assert default["temperature_min"] == 1 and default["relaxation"] == "gumbel"


def test_a_constant_may_equal_the_default_of_the_optimizer(tmp_path):
    file = write(tmp_path / "own.json", Constant("learning_rate", 0.025), Float("momentum", (0.1, 0.9)))
    assert dict(config_space(file, fixed()).get_default_configuration())["learning_rate"] == 0.025


def test_ends_are_checked_without_inactive_hyperparameters(tmp_path):
    """Dirichlet distributions have no temperature."""
    space = ConfigurationSpace()
    kind = Categorical("relaxation", ["softmax", "dirichlet"], default="softmax")
    temperature = Float("temperature_max", (2, 10), default=5)
    space.add(kind, temperature, EqualsCondition(temperature, kind, "softmax"))
    space.to_json(tmp_path / "own.json")
    assert len(config_space(str(tmp_path / "own.json"), fixed())) == 2


def test_ends_of_a_range_that_the_defaults_make_inactive_are_checked(tmp_path):
    """Almost no random configuration has an invalid momentum, whose range needs other values of two hyperparameters."""
    space = ConfigurationSpace()
    kind = Categorical("relaxation", ["softmax", "gumbel"], default="softmax")
    noise = Categorical("evaluation_noise", [False, True], default=False)
    momentum = Float("momentum", (0.5, 1.00001))
    space.add(kind, noise, EqualsCondition(noise, kind, "gumbel"), momentum, EqualsCondition(momentum, noise, True))
    space.to_json(tmp_path / "own.json")
    with refuses(nb.InvalidInputError, "relaxation gumbel", "evaluation_noise True", "momentum 1.00001"):
        config_space(str(tmp_path / "own.json"), fixed(optimizer="gdas"))


def test_only_configurations_of_the_space_are_checked(tmp_path):
    """The optimizer's default learning rate is below the range of the minimum, but not in the space."""
    space = ConfigurationSpace()
    rate, least = Float("learning_rate", (0.3, 1.0)), Float("learning_rate_min", (0.1, 0.25))
    space.add(rate, least)
    space.to_json(tmp_path / "apart.json")
    config_space(str(tmp_path / "apart.json"), fixed())
    both = ConfigurationSpace()
    both.add(Categorical("learning_rate", [0.01, 0.1]), Categorical("learning_rate_min", [0.001, 0.05]))
    clauses = ForbiddenEqualsClause(both["learning_rate"], 0.01), ForbiddenEqualsClause(both["learning_rate_min"], 0.05)
    both.add(ForbiddenAndConjunction(*clauses))
    both.to_json(tmp_path / "forbidden.json")
    config_space(str(tmp_path / "forbidden.json"), fixed())


def test_conditions_and_forbidden_combinations_are_kept(tmp_path):
    space = ConfigurationSpace()
    probability, length = Categorical("cutout_probability", [0.0, 0.5]), Integer("cutout_length", (4, 16), default=8)
    space.add(probability, length, EqualsCondition(length, probability, 0.5))
    space.add(Categorical("cells", [1, 3], default=1))
    is_default = ForbiddenEqualsClause(probability, 0.0), ForbiddenEqualsClause(space["cells"], 3)
    space.add(ForbiddenAndConjunction(*is_default))
    space.to_json(tmp_path / "own.json")
    found = config_space(str(tmp_path / "own.json"), fixed())
    assert found.conditions and found.forbidden_clauses
    # The combination of the optimizer's defaults is forbidden, so the defaults of the file are kept.
    assert found.get_default_configuration() == Configuration(found, {"cutout_probability": 0.0, "cells": 1})


@pytest.mark.parametrize(
    ("hyperparameter", "sentence"),
    [
        (Float("learning_rat", (0, 1)), "mean 'learning_rate'"),
        (Float("momentum", (0.5, 2)), r"momentum 2.0.*0 and.*\b1\b"),
        (Float("batch_size", (16, 32)), "batch_size.*16.0.*batch_size"),
        (Integer("preset", (1, 2)), "'preset'"),
        (Float("learning_rate", (1e-5, 1e-1), log=True), "learning_rate.*1e-05.*learning_rate_min=0.001"),
        (Categorical("precision", ["float32", "float16"]), "float16"),
        (Integer("warm_start_epochs", (0, 2)), r"warm_start_epochs.*\b2\b.*\b2\b.*Λ"),
    ],
)
def test_a_bad_hyperparameter_is_refused_in_one_sentence(tmp_path, hyperparameter, sentence):
    with pytest.raises(nb.InvalidInputError, match=sentence):
        config_space(write(tmp_path / "own.json", hyperparameter), fixed())


def test_hyperparameters_of_other_optimizers_are_refused():
    with pytest.raises(nb.InvalidInputError, match=r"architecture_learning_rate=.*random-ws"):
        config_space("cs3", fixed(optimizer="random-ws"))


@pytest.mark.parametrize(
    ("name", "content", "values"),
    [
        ("own.json", "{", "own.json JSON"),
        ("own.yaml", "a: [", "own.yaml YAML"),
        ("own.json", "[]", "own.json mapping"),
        ("own.json", '{"hyperparameters": [{"name": "momentum"}]}', "own.json 'momentum'"),
        ("own.yaml", "hyperparameters: 3", "own.yaml 'int'"),
    ],
)
def test_a_file_that_is_not_a_space_is_refused_in_one_sentence(tmp_path, name, content, values):
    (tmp_path / name).write_text(content)
    with refuses(nb.UserError, *values.split()):
        config_space(str(tmp_path / name), fixed())


def test_an_empty_space_an_unknown_name_and_a_fixed_hyperparameter_are_refused(tmp_path):
    ConfigurationSpace().to_json(tmp_path / "own.json")
    with refuses(nb.InvalidInputError, "own.json"):
        config_space(str(tmp_path / "own.json"), fixed())
    with pytest.raises(nb.InvalidInputError, match=r'"cs4".*cs1.*cs2.*cs3'):
        config_space("cs4", fixed())
    with pytest.raises(nb.InvalidInputError, match=r"learning_rate=.*'cs2'"):
        config_space("cs2", fixed(learning_rate=0.1))
    config_space("cs1", fixed(learning_rate=0.1))


@pytest.mark.parametrize("name", ["max_parameters", "max_flops", "max", "reference", "format", "style", "width"])
def test_bounds_references_and_pictures_are_not_tuned(tmp_path, name):
    with refuses(nb.InvalidInputError, "own.json", f"'{name}'"):
        config_space(write(tmp_path / "own.json", Categorical(name, ["1", "2"])), fixed())


def test_a_study_cannot_tune_what_it_sets():
    assert set(SET_BY_THE_STUDY) <= NOT_TUNABLE


def test_a_space_is_written_and_read_back(tmp_path):
    space = config_space("cs3", fixed())
    write_config_space(space, tmp_path / "space.json")
    assert read_config_space(tmp_path / "space.json") == space
    assert ConfigurationSpace.from_json(tmp_path / "space.json") == space  # ConfigSpace's own reader
    content = json.loads((tmp_path / "space.json").read_text())
    content["hyperparameters"][0]["type"] = "nonsense"
    (tmp_path / "space.json").write_text(json.dumps(content))
    with refuses(nb.DamagedFileError, "space.json"):
        read_config_space(tmp_path / "space.json")
