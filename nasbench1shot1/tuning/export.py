"""A study in the files of other tools: hpbandster and DeepCAVE, and Optuna.

hpbandster: `configs.json` has one line per configuration and `results.json` one line per observation, as hpbandster's
`json_result_logger` writes them; `hpbandster.core.result.logged_results_to_HBS_result` reads both. DeepCAVE's converter
for BOHB also needs the ConfigSpace space as `configspace.json`, which every study has. The files have no test errors or
test regrets, because a tuner could be started from them. If the objective is a test value, the losses are test values.

Optuna: a journal file for `optuna-dashboard FILE` and Optuna's own analyses. Each observation is one trial, because
each search has its own learning curve. The objective is the loss of the study. Intermediate values are the same
quantity, the table's validation error of the architecture that the search preferred after each epoch, from the search's
folder. Test errors are user attributes. If the objective is a test value, the trials have no intermediate values,
because the test errors that a search records may come from another training.
"""

import json
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.ground.files import as_path, atomic_write, check_writable
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.one_shot_search.record import open_search
from nasbench1shot1.proposers.configurations import ConfigurationId, as_python, parse_id
from nasbench1shot1.runs.folder import CONFIG, CONFIG_SPACE, ENVIRONMENT, SUBMISSIONS, damaged_file_error
from nasbench1shot1.tuning.config_spaces import write_config_space
from nasbench1shot1.tuning.record import CONFIGS, RESULTS, Study
from nasbench1shot1.tuning.submissions import Submission, read_attempts

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.study import Study as OptunaStudy
    from optuna.trial import FrozenTrial

Line = Mapping[str, Any]
TIMES = ("submitted", "started", "finished")
SUCCESS = "SUCCESS"
"""State of a finished run in DeepCAVE, which reads it from `info`."""
TEST_VALUES = ("table_test_error", "test_regret")
_ELSEWHERE = ("number", "configuration_id", "budget", "model_based", "loss", "failure", *TIMES, *TEST_VALUES)
ATTRIBUTES = (
    "configuration_id", "budget", "model_based", "folder", "architecture", "validation_regret", "search_seconds",
    "simulated_seconds", "attempts", "worker", "failure",
)  # fmt: skip
"""Fields of an observation that become user attributes of the trial, under their own names."""
TEST_ATTRIBUTES = {"table_test_error": "test error", "test_regret": "test regret"}
"""Names of the user attributes for test values."""
NOT_USED = " (not used for tuning)"
"""What follows these names unless the objective is a test value."""
_DESCRIBED = ("optimizer", "space", "config_space", "tuner", "min_budget", "max_budget", "eta", "iterations", "seed",
              "continuation", "repeat", "objective", "table_id")  # fmt: skip


def write_hpbandster_files(study: Study, folder: str | Path | None = None) -> None:
    """Write configs.json and results.json from a study's record, each atomically.

    Existing files are replaced. A configuration that was submitted at several budgets has one line in configs.json.

    Args:
        study: the study, finished or not.
        folder: where to write, with a copy of configspace.json. Default: the study's folder, which already has it.

    Raises:
        InvalidInputError: `folder` is not a path.
        DamagedFileError: the record of the study is damaged.
        UserError: the files cannot be written.
    """
    target = study.folder if folder is None else as_path(folder, "folder")
    first = dict[ConfigurationId, Submission]()
    for submission in study.submissions:
        first.setdefault(submission.configuration_id, submission)
    _write_lines(target / CONFIGS, map(config_line, first.values()))
    _write_lines(target / RESULTS, map(result_line, study.lines))
    if target != study.folder:
        write_config_space(study.config_space, target / CONFIG_SPACE)


def config_line(submission: Submission) -> list[Any]:
    """Return a submission as a line of configs.json: id, configuration, whether a model proposed it."""
    info = {"model_based_pick": submission.model_based}
    return [list(submission.configuration_id), dict(submission.configuration), info]


def result_line(observation: Line) -> list[Any]:
    """Return an observation as a line of results.json: id, budget, times, result, exception.

    Times are in seconds since the study began. A diverged run has an exception instead of a result, as hpbandster
    records it.
    """
    times = {name: observation[name] for name in TIMES}
    start = [list(parse_id(observation["configuration_id"])), float(observation["budget"]), times]
    if observation["loss"] is None:
        return [*start, None, observation["failure"]]
    info = {name: value for name, value in observation.items() if name not in _ELSEWHERE}
    return [*start, {"loss": observation["loss"], "info": {"state": SUCCESS, **info}}, None]


def _write_lines(path: Path, lines: Iterable[list[Any]]) -> None:
    with atomic_write(path) as file:
        file.writelines((json.dumps(line, allow_nan=False) + "\n").encode() for line in lines)


def export_optuna(study: Study, file: str | Path) -> int:
    """Write a study as an Optuna journal file, atomically.

    The name of the Optuna study is the name of the study's folder. Timestamps count from the creation of the folder;
    pauses between sessions are left out.

    Args:
        study: the study, finished or not.
        file: the file to write, which must not exist.

    Returns:
        The number of trials.

    Raises:
        InvalidInputError: the file exists, or a hyperparameter has an unsupported type.
        DamagedFileError: the record of the study is damaged.
        UserError: Optuna is not installed, or the file cannot be written.
    """
    path = as_path(file, "file")
    if path.exists():
        raise InvalidInputError(f"'{path}' exists: give another {option('optuna')}, or remove the file")
    check_writable(path)
    read_attempts(study.folder)  # not exported, but damage must not go unnoticed
    trials = optuna_trials(study)
    with tempfile.TemporaryDirectory() as scratch:
        journal = Path(scratch) / "journal"
        _write_journal(study, trials, journal)
        with atomic_write(path) as target:
            target.write(journal.read_bytes())
    return len(trials)


def _write_journal(study: Study, trials: "list[FrozenTrial]", path: Path) -> None:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    exported = new_optuna_study(trials, JournalStorage(JournalFileBackend(str(path))), study.folder.resolve().name)
    for name in _DESCRIBED:
        if (value := study.config.get(name)) is not None:
            exported.set_user_attr(name, value)


def new_optuna_study(
    trials: "Iterable[FrozenTrial]", storage: "BaseStorage | None" = None, name: str | None = None
) -> "OptunaStudy":
    """Return an Optuna study that minimizes and contains trials, without printing Optuna's log line.

    Args:
        trials: the trials.
        storage: where to keep the study. Default: in memory.
        name: the name of the study.
    """
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(storage=storage, study_name=name, direction="minimize")
    finally:
        optuna.logging.set_verbosity(before)
    study.add_trials(trials)
    return study


def optuna_trials(study: Study) -> "list[FrozenTrial]":
    """Return a finished or failed Optuna trial for every observation; raises the errors of `export_optuna`."""
    distributions = optuna_distributions(study.config_space)
    began = datetime.fromtimestamp((study.folder / ENVIRONMENT).stat().st_mtime)
    return [_trial(study, line, distributions, began) for line in study.lines]


def _trial(
    study: Study, line: Mapping[str, Any], distributions: "Mapping[str, BaseDistribution]", began: datetime
) -> "FrozenTrial":
    from optuna.trial import FrozenTrial, TrialState

    params = _configuration(study, line["configuration_id"])
    attributes = {name: line[name] for name in ATTRIBUTES if line[name] is not None}
    note = NOT_USED if study.guide == "validation" else ""
    attributes |= {label + note: line[name] for name, label in TEST_ATTRIBUTES.items() if line[name] is not None}
    return FrozenTrial(
        number=line["number"],
        trial_id=line["number"],
        state=TrialState.FAIL if line["loss"] is None else TrialState.COMPLETE,
        value=line["loss"],
        datetime_start=began + timedelta(seconds=line["started"]),
        datetime_complete=began + timedelta(seconds=line["finished"]),
        params=dict(params),
        distributions={name: distributions[name] for name in params},
        user_attrs=attributes,
        system_attrs={},
        intermediate_values=_learning_curve(study, line),
    )


def _configuration(study: Study, identity: str) -> Mapping[str, Any]:
    """Return the values of a configuration; raises DamagedFileError if the configuration space excludes them."""
    from ConfigSpace import Configuration

    values = study.configuration(identity)
    try:
        Configuration(study.config_space, values=values)
    except (TypeError, ValueError) as error:
        why = f"{CONFIG_SPACE} excludes the configuration {identity}"
        raise damaged_file_error(study.folder / SUBMISSIONS, why) from error
    return values


def _learning_curve(study: Study, observation: Line) -> dict[int, float]:
    """Return the validation error after every recorded epoch; empty without a search, or if test values guide.

    It is also empty for a search without a loss whose record cannot be read.
    """
    folder = study.folder / observation["folder"]
    if study.guide != "validation" or not (folder / CONFIG).is_file():
        return {}
    try:
        lines = open_search(folder).lines
    except UserError:
        if observation["loss"] is None:
            return {}
        raise
    errors = {line["epoch"]: line["table_validation_error"] for line in lines}
    return {epoch: error for epoch, error in errors.items() if error is not None}


def optuna_distributions(space: "ConfigurationSpace") -> "dict[str, BaseDistribution]":
    """Return Optuna's distribution for every hyperparameter of a ConfigSpace space.

    Ordinal hyperparameters and constants become categorical. Distributions that are not uniform keep their range.

    Raises:
        InvalidInputError: a hyperparameter has an unsupported type.
        UserError: Optuna is not installed.
    """
    return {name: _distribution(hyperparameter) for name, hyperparameter in space.items()}


def _distribution(hyperparameter: Any) -> "BaseDistribution":
    import ConfigSpace.hyperparameters as kinds

    require_package("optuna", "the export to Optuna", extra="tune")
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match hyperparameter:
        case kinds.FloatHyperparameter():
            return FloatDistribution(
                float(hyperparameter.lower), float(hyperparameter.upper), log=_is_log(hyperparameter)
            )
        case kinds.IntegerHyperparameter():
            return IntDistribution(int(hyperparameter.lower), int(hyperparameter.upper), log=_is_log(hyperparameter))
        case kinds.CategoricalHyperparameter():
            return CategoricalDistribution([as_python(value) for value in hyperparameter.choices])
        case kinds.OrdinalHyperparameter():
            return CategoricalDistribution([as_python(value) for value in hyperparameter.sequence])
        case kinds.Constant():
            return CategoricalDistribution([as_python(hyperparameter.value)])
    raise InvalidInputError(
        f"hyperparameter '{hyperparameter.name}' has the type {type(hyperparameter).__name__}, which Optuna cannot "
        "represent: use a float, integer, categorical or ordinal hyperparameter"
    )


def _is_log(hyperparameter: Any) -> bool:
    return bool(getattr(hyperparameter, "log", False))
