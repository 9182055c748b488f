"""The files of a run's folder: their names, config.json (kind, options and facts), and the lines of metrics.jsonl."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, command, switch
from nasbench1shot1.ground.files import blocked_error, parse_json, read_bytes, read_json, read_text
from nasbench1shot1.ground.folder_swap import is_abandoned

CONFIG, ENVIRONMENT, SUMMARY = "config.json", "environment.json", "summary.json"
CONFIG_SPACE = "configspace.json"
"""A study's ConfigSpace, written before config.json; the name is the one that DeepCAVE expects."""
SUBMISSIONS = "submissions.jsonl"
"""In a study's folder: the trials that were proposed."""
METRICS, CHECKPOINT = "metrics.jsonl", "checkpoint.pt"
SEEDS = "seeds.json"
"""In the folder of a group of searches, one for each of several seeds."""
TRAININGS = "trainings.json"
"""In the folder of a group of trainings: the networks, the seeds and the options."""
WEIGHTS = "weights"
"""A folder in a search's folder, with the weights of the epochs that it keeps."""

KIND, COMMON, OWN = "kind", "options", "optimizer_options"
SECTIONS = (COMMON, OWN)
"""Sections of options: the common options of a kind of run and, in a search, the options of its optimizer."""
RECORDED = "recorded search"
"""The kind of a folder that `nb.Recorder` wrote; its `optimizer` is only a label."""
OUTSIDE = "outside_optimizer"
"""Field of a black-box study's config.json: true if an outside optimizer called an `nb.objective`; `optimizer` is then
only a label."""
TRAJECTORY = "trajectory"
"""Field of a black-box study's config.json, if another program recorded the searches: what its trainings contained."""


@dataclass(frozen=True, eq=False, repr=False)
class FolderView:
    """Base class of objects that read a folder when their attributes are used, such as records of runs."""

    _given: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "_place", self._given.absolute())

    @property
    def folder(self) -> Path:
        """The folder: as it was given, or absolute if that path no longer leads there."""
        place: Path = self.__dict__["_place"]
        return shown_path(self._given, place)


def shown_path(given: Path, place: Path) -> Path:
    """Return a path as it was given, or `place`, its absolute path, if the current folder has changed."""
    with suppress(OSError):  # the current folder may have been removed
        if given.absolute() == place:
            return given
    return place


def description(kind: str, sections: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of config.json.

    Args:
        kind: kind of the run.
        sections: options by the names in `SECTIONS`.
        facts: other fields, such as the data of the run.
    """
    return {KIND: kind, **sections, **facts}


def read_description(folder: Path) -> tuple[str, dict[str, Any]]:
    """Read the kind of a run, and all other fields of its config.json, flat.

    Raises:
        InvalidInputError: the folder is not a run folder.
        DamagedFileError: config.json is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        if not folder.is_dir() and not is_abandoned(folder):
            raise InvalidInputError(f"there is no folder '{folder}': give the folder of a run")
        raise InvalidInputError(f"'{folder}' is not a run folder: {_missing(folder)}")
    content = read_object(path)
    kind = content.pop(KIND, None)
    sections = [content.pop(name) for name in SECTIONS if name in content]
    if not isinstance(kind, str) or not all(isinstance(section, dict) for section in sections):
        raise damaged_file_error(path, "its kind or a section is missing")
    return kind, {name: value for section in [*sections, content] for name, value in section.items()}


def updated_description(folder: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a run's config.json with changed options or facts, in its recorded form.

    Raises DamagedFileError if config.json is damaged.
    """
    content = read_object(folder / CONFIG)
    for name, value in changes.items():
        holder = next((content[s] for s in SECTIONS if name in content.get(s, {})), content)
        holder[name] = value
    return content


def check_facts(folder: Path, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InvalidInputError if the data of a run, such as its images, differs from the recorded data."""
    for name, value in now.items():
        if recorded.get(name) != value:
            raise InvalidInputError(
                f"{folder} was made with {name} {recorded.get(name)}, but now it is {value}: "
                f"restore the recorded {name}, or start a new run"
            )


def _missing(folder: Path) -> str:
    """Return in words what is missing from a folder that should hold a run."""
    if is_abandoned(folder):
        return (
            f"a search with {switch('overwrite')} was killed before it began; use "
            f"{command('search', {'resume': folder})} to restore the old search"
        )
    if groups := sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}"))[:1]:
        return f"{CONFIG} is missing; it holds several runs, so name one of them, such as {folder / groups[0]}"
    return f"{CONFIG} is missing"


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object; raises DamagedFileError if it does not."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise DamagedFileError(f"{path} does not hold a JSON object: restore it, or start a new run")
    return content


def as_json_line(line: Mapping[str, Any]) -> str:
    """Return a line of metrics.jsonl; every float has all its digits."""
    return json.dumps(line, allow_nan=False) + "\n"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the complete lines of a metrics.jsonl; empty if the file does not exist.

    An incomplete line at the end, which a killed process may leave, is ignored.
    Raises DamagedFileError if a complete line is not a JSON object of finite numbers.
    """
    try:
        complete = read_text(path).split("\n")[:-1]
        lines = [parse_json(line) for line in complete]
    except FileNotFoundError:
        return []
    except (ValueError, OSError, RecursionError) as error:
        raise blocked_error(path, error) or damaged_file_error(path) from error
    if not all(isinstance(line, dict) for line in lines):
        raise damaged_file_error(path)
    return lines


def count_lines(path: Path) -> int:
    """Return the number of complete lines of a metrics.jsonl; 0 if the file does not exist."""
    try:
        return read_bytes(path).count(b"\n")
    except FileNotFoundError:
        return 0


def weights_path(folder: Path, epoch: int) -> Path:
    """Return the file with the supernet's weights of an epoch in the folder of a search."""
    return folder / WEIGHTS / f"epoch-{epoch:03d}.pt"


def kept_weights(folder: Path) -> dict[int, Path]:
    """Return the files with kept weights in the folder of a search by their epochs, ascending.

    Raises UserError if the system does not let this process list them.
    """
    place = folder / WEIGHTS
    try:
        names = {path: re.fullmatch(r"epoch-(\d+)\.pt", path.name) for path in place.iterdir()}
    except OSError as error:
        if (blocked := blocked_error(place, error)) is not None:
            raise blocked from error
        return {}
    return dict(sorted((int(name[1]), path) for path, name in names.items() if name))


def damaged_file_error(path: Path, why: str = "") -> DamagedFileError:
    """Return the error for a damaged file of a run."""
    return DamagedFileError(f"{path} is damaged{why and f' ({why})'}: restore it, or start a new run")
