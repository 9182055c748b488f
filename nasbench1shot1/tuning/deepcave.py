"""A tuning study as the two CSV files of DeepCAVE's `DataFrameRun`: `configspace.csv` and `trials.csv`.

DeepCAVE 1.4.1 reads all choices as text, and does not know conditions between hyperparameters.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.files import atomic_folder
from nasbench1shot1.proposers.configurations import as_python
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.submissions import read_attempts

if TYPE_CHECKING:
    import pandas
    from ConfigSpace import ConfigurationSpace

SPACE, TRIALS = "configspace.csv", "trials.csv"
METRIC = "metric:loss [0.0; 1.0] (minimize)"
_NOT_TEXTS = ("", "true", "false", "nan", "na", "n/a", "null", "none", "<na>", "#n/a", "inf")
"""Texts, in lower case, that a reader of CSV files does not keep as they are."""


def export_deepcave(study: Study, folder: Path) -> int:
    """Write a study as a folder that DeepCAVE opens, completely or not at all.

    Args:
        study: the study, finished or not.
        folder: the folder to make, which must not exist.

    Returns:
        The number of trials.

    Raises:
        InvalidInputError: the folder exists, a hyperparameter is conditional or has an unknown type, or the study has
            no observation.
        DamagedFileError: the record of the study is damaged.
        UserError: the files cannot be written.
    """
    if folder.exists():
        raise InvalidInputError(f"'{folder}' exists: give another {option('deepcave')}, or remove the folder")
    if not study.lines:
        raise InvalidInputError(f"'{study.folder}' has no observation yet: export it later")
    read_attempts(study.folder)  # see `export_optuna`
    space = study.config_space
    if conditional := sorted(space.conditional_hyperparameters):
        raise InvalidInputError(
            f"'{conditional[0]}' of '{study.folder}' is conditional, which DeepCAVE's CSV files cannot express: open "
            "the study's own folder in DeepCAVE, whose converter for BOHB reads it"
        )
    files = {SPACE: _space_frame(space), TRIALS: _trials_frame(study, space)}
    with atomic_folder(folder) as scratch:
        for name, frame in files.items():
            frame.to_csv(scratch / name, index=False)
    return len(study.lines)


def _space_frame(space: "ConfigurationSpace") -> "pandas.DataFrame":
    """Return a row for each hyperparameter; choices are in columns `item_0`, `item_1`, …"""
    import pandas

    found = pandas.DataFrame([_describe(name, hyperparameter) for name, hyperparameter in space.items()])
    names = list(map(str, found.columns))
    items = [name for name in names if name.startswith("item_")]
    return found[[name for name in names if name not in items] + sorted(items, key=lambda item: int(item[5:]))]


def _describe(name: str, hyperparameter: Any) -> dict[str, Any]:
    import ConfigSpace.hyperparameters as kinds

    about = {"name": name, "type": "categorical", "log": False, "lower": None, "upper": None, "default": None,
             "distribution": None, "ordered": None}  # fmt: skip
    default = as_python(hyperparameter.default_value)
    match hyperparameter:
        case kinds.FloatHyperparameter() | kinds.IntegerHyperparameter():
            is_float = isinstance(hyperparameter, kinds.FloatHyperparameter)
            kind = float if is_float else int
            return about | {
                "type": "float" if is_float else "integer",
                "log": bool(getattr(hyperparameter, "log", False)),
                "lower": kind(hyperparameter.lower),
                "upper": kind(hyperparameter.upper),
                "default": default if is_float else None,  # DeepCAVE would read an integer as a text
                "distribution": "uniform",
            }
        case kinds.CategoricalHyperparameter():
            choices, is_ordered = hyperparameter.choices, False
        case kinds.OrdinalHyperparameter():
            choices, is_ordered = hyperparameter.sequence, True
        case kinds.Constant():
            choices, is_ordered = (hyperparameter.value,), False
        case _:
            raise InvalidInputError(
                f"hyperparameter '{name}' has the type {type(hyperparameter).__name__}, which DeepCAVE cannot "
                "represent: use a float, integer, categorical or ordinal hyperparameter"
            )
    items = {f"item_{number}": _choice(as_python(choice)) for number, choice in enumerate(choices)}
    return about | {"default": _choice(default), "ordered": is_ordered, **items}


def _choice(value: Any) -> str:
    """Return a choice as text that stays a text when a CSV file is read: 16 becomes "choice 16"."""
    text = str(value)
    is_number = False
    with suppress(ValueError):
        float(text)
        is_number = True
    return f"choice {text}" if is_number or text.lower() in _NOT_TEXTS else text


def _trials_frame(study: Study, space: "ConfigurationSpace") -> "pandas.DataFrame":
    """Return a row for each observation; fields other than DeepCAVE's own become additional data."""
    import pandas

    texts = {name for name, of in space.items() if _describe(name, of)["type"] == "categorical"}
    numbers = {identity: number for number, identity in enumerate(study.configurations)}
    return pandas.DataFrame([_trial(study, line, texts, numbers) for line in study.lines])


def _trial(study: Study, line: Mapping[str, Any], texts: set[str], numbers: Mapping[str, int]) -> dict[str, Any]:
    values = study.configuration(line["configuration_id"])  # raises for a line without a submission
    return {
        "config_id": numbers[line["configuration_id"]],
        **{name: _choice(value) if name in texts else value for name, value in values.items()},
        METRIC: line["loss"],
        "status": "crashed" if line["loss"] is None else "success",
        "start_time": line["started"],
        "end_time": line["finished"],
        "budget": float(line["budget"]),
        "seed": study.config["seed"],
        "architecture": line["architecture"],
        "failure": line["failure"],
    }
