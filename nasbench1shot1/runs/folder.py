"""Reading the files that all run folders have."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import read_json

CONFIG, ENVIRONMENT, SUMMARY = "config.json", "environment.json", "summary.json"
CONFIG_SPACE = "configspace.json"
"""A study's ConfigSpace, written before config.json; the name is the one that DeepCAVE expects."""
METRICS, CHECKPOINT = "metrics.jsonl", "checkpoint.pt"
PARTS = "parts"
"""A folder in a run's folder, with the parts that separate processes compute."""
SEEDS = "seeds.json"
"""In the folder of a group of searches, one for each of several seeds."""


def as_json_line(line: Mapping[str, Any]) -> str:
    """Return a line of metrics.jsonl; every float has all its digits."""
    return json.dumps(line, allow_nan=False) + "\n"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the complete lines of a metrics.jsonl; empty if the file does not exist.

    An incomplete line at the end, which a killed process may leave, is ignored.
    Raises DamagedFileError if a complete line is not a JSON object of finite numbers.
    """
    try:
        complete = path.read_text(encoding="utf-8").split("\n")[:-1]
        lines = [json.loads(line, parse_constant=_refuse) for line in complete]
    except FileNotFoundError:
        return []
    except (ValueError, OSError, RecursionError) as error:
        raise damaged_file_error(path) from error
    if not all(isinstance(line, dict) for line in lines):
        raise damaged_file_error(path)
    return lines


def count_lines(path: Path) -> int:
    """Return the number of complete lines of a metrics.jsonl; 0 if the file does not exist."""
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object; raises DamagedFileError if it does not."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise DamagedFileError(f"{path} does not hold a JSON object: restore it, or start a new run")
    return content


def check_facts(folder: Path, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InvalidInputError if the data of a run, such as its images, differs from the recorded data."""
    for name, value in now.items():
        if recorded.get(name) != value:
            raise InvalidInputError(
                f"{folder} was made with {name} {recorded.get(name)}, but now it is {value}: restore the former"
            )


def damaged_file_error(path: Path, why: str = "") -> DamagedFileError:
    """Return the error for a damaged file of a run."""
    return DamagedFileError(f"{path} is damaged{why and f' ({why})'}: restore it, or start a new run")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
