"""The folder that a run writes, whatever it trains: configuration, one line of metrics after another, a summary."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import read_json, replacing, write_error, write_json

CONFIG, ENVIRONMENT, SUMMARY = "config.json", "environment.json", "summary.json"
METRICS, CHECKPOINT = "metrics.jsonl", "checkpoint.pt"


class FolderWriter:
    """Writes a run's folder. A line counts once the checkpoint that follows it is in place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any], environment: Mapping[str, Any]) -> Self:
        """Start a new run; what a process leaves that is killed before it has recorded its options is written over.

        Raises InvalidInputError if there is anything else at `folder` already, UserError if it cannot be written.
        """
        _remove_torso(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            resume = f"go on with --resume {folder}, or " if (folder / CONFIG).exists() else ""
            raise InvalidInputError(f"{folder} exists already: {resume}choose another --out")
        write_json(folder / ENVIRONMENT, environment)
        write_json(folder / CONFIG, config)  # last: a folder with a configuration can be resumed
        return cls(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing into the folder; raises InvalidInputError if one does so already."""
        if sys.platform == "win32":  # no such locks there: two processes must be kept apart by hand
            yield
            return
        import fcntl

        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise InvalidInputError(f"another process writes into {self.folder}: wait for it, or stop it") from error
        finally:
            os.close(descriptor)

    @contextmanager
    def removed_if_nothing_is_recorded(self) -> Iterator[None]:
        """Leave no folder in the way of a better try, where something fails before the first line of metrics."""
        try:
            yield
        except Exception:
            if not read_lines(self.folder / METRICS):
                shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def append_line(self, line: Mapping[str, Any]) -> None:
        """Add a line to the metrics; raises UserError where the disk is full."""
        path = self.folder / METRICS
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(as_json_line(line))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_error(path, error) from error

    def keep_lines(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Let these be all lines of the metrics, and remove what a killed process was writing."""
        with replacing(self.folder / METRICS) as file:
            file.write("".join(map(as_json_line, lines)).encode())
        for path in self.folder.rglob(".*.part"):
            path.unlink()

    def check_nothing_is_lost(self, what: str) -> None:
        """Raise DamagedFileError if the folder holds more than a run without a checkpoint can have written.

        Args:
            what: what there is more than one of, in words.
        """
        if len(read_lines(self.folder / METRICS)) > 1 or (self.folder / SUMMARY).exists():
            raise DamagedFileError(
                f"{self.folder} has {what} but no {CHECKPOINT}, so it cannot go on: restore it, or start anew"
            )

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what came out of the run."""
        write_json(self.folder / SUMMARY, summary)


def _remove_torso(folder: Path) -> None:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if names and all(name == ENVIRONMENT or (name.startswith(".") and name.endswith(".part")) for name in names):
        shutil.rmtree(folder)


def as_json_line(line: Mapping[str, Any]) -> str:
    """A line of metrics.jsonl; every float is written with all its digits."""
    return json.dumps(line, allow_nan=False) + "\n"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics.jsonl, none if there is no file: a killed process may leave half a line at the end.

    Raises DamagedFileError where a whole line is no JSON object.
    """
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    except FileNotFoundError:
        return []
    except (ValueError, OSError) as error:
        raise damaged(path) from error
    if not all(isinstance(line, dict) for line in lines):
        raise damaged(path)
    return lines


def read_object(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object; raises DamagedFileError for any other."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise DamagedFileError(f"{path} holds no JSON object: restore it, or start a new run")
    return content


def check_facts(folder: Path, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InvalidInputError if what a run was made with besides its options, as images, is another now."""
    for name, value in now.items():
        if recorded.get(name) != value:
            raise InvalidInputError(
                f"{folder} was made with {name} {recorded.get(name)}, but now it is {value}: put back the former"
            )


def damaged(path: Path, why: str = "") -> DamagedFileError:
    """The one sentence for metrics that are not what was written."""
    return DamagedFileError(f"{path} is damaged{why and f' ({why})'}: restore it, or start a new run")
