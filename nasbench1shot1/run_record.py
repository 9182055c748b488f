"""What happened in a run: its folder, written epoch by epoch, and read without pickle."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.files import read_json, replacing, write_error, write_json

if TYPE_CHECKING:
    import pandas

CONFIG, ENVIRONMENT, SUMMARY = "config.json", "environment.json", "summary.json"
METRICS, PARAMETERS, CHECKPOINT = "metrics.jsonl", "architecture_parameters.npz", "checkpoint.pt"
FIGURE, WEIGHTS = "regret.png", "weights"

FIELDS = (
    "epoch",
    "train_loss",
    "train_error",
    "one_shot_valid_error",
    "architecture",
    "cell_hash",
    "table_valid_error",
    "table_test_error",
    "valid_regret",
    "test_regret",
    "valid_measured",
    "test_measured",
    "search_seconds",
    "simulated_seconds",
)
"""The fields of a line of metrics.jsonl; errors and regrets are fractions, times seconds (docs/run_folder.md)."""

Parameters = Mapping[str, NDArray[np.float32]]


class RunWriter:
    """Writes a run's folder. An epoch counts once the checkpoint that follows its line is in place.

    A process killed at any moment leaves a folder that `cut` makes good: what lies past the checkpoint's epoch goes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._history: list[Parameters] = []

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any], environment: Mapping[str, Any]) -> "RunWriter":
        """Start a new run.

        Raises InvalidInputError if there is something at `folder` already, UserError if it cannot be written.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            resume = f"go on with --resume {folder}, or " if (folder / CONFIG).exists() else ""
            raise InvalidInputError(f"{folder} exists already: {resume}choose another --out")
        write_json(folder / ENVIRONMENT, environment)
        write_json(folder / CONFIG, config)  # last: a folder with a configuration can be resumed
        return cls(folder)

    def append(self, line: Mapping[str, Any], parameters: Parameters) -> None:
        """Add an epoch's line and its Λ; raises UserError where the disk is full."""
        assert tuple(line) == FIELDS, f"a line has the fields {FIELDS}"
        path = self.folder / METRICS
        try:
            with path.open("a") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_error(path, error) from error
        self._history.append(parameters)
        self._write_history()

    def cut(self, epoch: int) -> None:
        """Remove what was written after that epoch; -1 removes all. Raises DamagedFileError if a line is missing."""
        lines = _whole_lines(self.folder / METRICS)[: epoch + 1]
        stored = _parameters(self.folder / PARAMETERS) if epoch >= 0 else {}
        if len(lines) <= epoch or any(len(values) <= epoch for values in stored.values()):
            raise DamagedFileError(
                f"{self.folder} has a checkpoint of epoch {epoch} but fewer lines or Λ: restore {METRICS} and "
                f"{PARAMETERS}, or start a new run"
            )
        with replacing(self.folder / METRICS) as file:
            file.write("".join(line + "\n" for line in lines).encode())
        self._history = [{key: values[e] for key, values in stored.items()} for e in range(epoch + 1)]
        if self._history:
            self._write_history()
        else:
            (self.folder / PARAMETERS).unlink(missing_ok=True)
        for path in self.folder.glob(f"{WEIGHTS}/epoch-*.pt"):
            if int(path.stem.rpartition("-")[2]) > epoch:
                path.unlink()
        for path in self.folder.rglob(".*.part"):  # what a killed process was writing
            path.unlink()

    def _write_history(self) -> None:
        with replacing(self.folder / PARAMETERS) as file:
            np.savez(file, **{key: np.stack([of[key] for of in self._history]) for key in self._history[0]})  # type: ignore[arg-type]

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what came out of the run."""
        write_json(self.folder / SUMMARY, summary)


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it lies in its folder; nothing of it is changed by reading.

    Attributes:
        folder: where it lies.
        config: every option, resolved.
    """

    folder: Path
    config: dict[str, Any]

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The epochs' records, epoch 0 first; keys are `FIELDS`."""
        return [json.loads(line) for line in _whole_lines(self.folder / METRICS)]

    @cached_property
    def metrics(self) -> "pandas.DataFrame":
        """A row for every epoch, 0 (before training) first; columns are `FIELDS`."""
        import pandas

        frame = pandas.DataFrame(self.lines, columns=list(FIELDS))
        numbers = [
            name for name in FIELDS if name not in ("architecture", "cell_hash", "valid_measured", "test_measured")
        ]
        return frame.astype({name: "int64" if name == "epoch" else "float64" for name in numbers})

    @cached_property
    def architectures(self) -> list[Architecture]:
        """The architecture preferred after every epoch, epoch 0 first."""
        return [Architecture.parse(line["architecture"]) for line in self.lines]

    @cached_property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ: for every key of the space's `mixing_shapes()` an array (epochs + 1, …)."""
        return _parameters(self.folder / PARAMETERS)

    @property
    def is_finished(self) -> bool:
        """Whether the search ran to its last epoch."""
        return (self.folder / SUMMARY).exists()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came out; raises UserError for a run that is not finished."""
        if not self.is_finished:
            raise UserError(f"{self.folder} is not finished: go on with nb1shot1 search --resume {self.folder}")
        content: dict[str, Any] = read_json(self.folder / SUMMARY)
        return content


def load_run(folder: str | Path) -> Run:
    """Open a run's folder for reading.

    Raises InvalidInputError where there is no run, DamagedFileError where its configuration is damaged.
    """
    path = Path(folder).expanduser()
    if not (path / CONFIG).is_file():
        raise InvalidInputError(f"{path} is no run: it has no {CONFIG}")
    return Run(path, read_json(path / CONFIG))


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file that end in a newline: a killed process may leave half a line at the end."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return text.split("\n")[:-1]


def _parameters(path: Path) -> dict[str, NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except Exception as error:  # a damaged archive can fail in any way
        raise DamagedFileError(f"{path} is missing or damaged: restore it, or start a new run") from error
