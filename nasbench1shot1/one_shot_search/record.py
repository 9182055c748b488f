"""What happened in a run: its folder, written epoch by epoch, and read without pickle."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.files import replacing
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, FolderWriter, damaged, read_lines, read_object

if TYPE_CHECKING:
    import pandas
    from torch import Tensor

    from nasbench1shot1.supernet import Supernet


PARAMETERS, FIGURE, WEIGHTS, SEEDS = "architecture_parameters.npz", "regret.png", "weights", "seeds.json"

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
    "hessian_eigenvalue",
)
"""The fields of a line of metrics.jsonl; errors and regrets are fractions, times seconds (docs/run_folder.md)."""

Parameters = Mapping[str, NDArray[np.float32]]


class RunWriter(FolderWriter):
    """Writes a search's folder. An epoch counts once the checkpoint that follows its line is in place.

    A process killed at any moment leaves a folder that `cut` makes good: what lies past the checkpoint's epoch goes.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._history: list[Parameters] = []

    def append(self, line: Mapping[str, Any], parameters: Parameters) -> None:
        """Add an epoch's line and its Λ; raises UserError where the disk is full."""
        assert tuple(line) == FIELDS, f"a line has the fields {FIELDS}"
        self.append_line(line)
        self._history.append(parameters)
        self._write_history()

    def cut(self, epoch: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Remove what was written after that epoch; -1 removes all.

        Args:
            epoch: the checkpoint's.
            shapes: of Λ in one epoch, by key.

        Raises:
            DamagedFileError: a line or Λ of an epoch is missing or damaged; nothing is changed then.
        """
        lines = _read_lines(self.folder / METRICS)[: epoch + 1]
        stored = _parameters(self.folder / PARAMETERS) if epoch >= 0 else {}
        fits = epoch < 0 or {key: values.shape[1:] for key, values in stored.items()} == dict(shapes)
        if len(lines) <= epoch or not fits or any(len(values) <= epoch for values in stored.values()):
            raise DamagedFileError(
                f"{self.folder} has a checkpoint of epoch {epoch} but fewer lines or Λ: restore {METRICS} and "
                f"{PARAMETERS}, or start a new run"
            )
        self.keep_lines(lines)
        self._history = [{key: values[e] for key, values in stored.items()} for e in range(epoch + 1)]
        if self._history:
            self._write_history()
        else:
            (self.folder / PARAMETERS).unlink(missing_ok=True)
        for path in self.folder.glob(f"{WEIGHTS}/epoch-*.pt"):
            if (match := re.fullmatch(r"epoch-(\d+)", path.stem)) and int(match[1]) > epoch:
                path.unlink()

    def _write_history(self) -> None:
        with replacing(self.folder / PARAMETERS) as file:
            np.savez(file, **{key: np.stack([of[key] for of in self._history]) for key in self._history[0]})  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it lies in its folder; nothing of it is changed by reading.

    Attributes:
        folder: where it lies.
        config: every option, resolved.
    """

    folder: Path
    config: dict[str, Any]

    def __repr__(self) -> str:
        config = self.config
        return f"Run('{self.folder}': {config['optimizer']} on {config['space']}, seed {config['seed']})"

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The epochs' records, epoch 0 first; keys are `FIELDS`. Raises DamagedFileError for anything else."""
        return _read_lines(self.folder / METRICS)

    @cached_property
    def metrics(self) -> "pandas.DataFrame":
        """A row for every epoch, 0 (before training) first; columns are `FIELDS`."""
        return as_frame(self.lines)

    @cached_property
    def architectures(self) -> list[Architecture]:
        """The architecture preferred after every epoch, epoch 0 first."""
        return [Architecture.parse(line["architecture"]) for line in self.lines]

    @cached_property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ: for every key of the space's `mixing_shapes()` an array (epochs + 1, …)."""
        return _parameters(self.folder / PARAMETERS)

    def supernet(self, epoch: int) -> "tuple[Supernet, dict[str, Tensor]]":
        """Return the network with the weights kept of an epoch, and that epoch's Λ (`kept_weights.supernet_of`)."""
        from nasbench1shot1.one_shot_search.kept_weights import supernet_of

        return supernet_of(self, epoch)

    @property
    def is_finished(self) -> bool:
        """Whether the search ran to its last epoch."""
        return (self.folder / SUMMARY).exists()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came out; raises UserError for a run that is not finished."""
        if not self.is_finished:
            raise UserError(f"{self.folder} is not finished: go on with nb1shot1 search --resume {self.folder}")
        return read_object(self.folder / SUMMARY)


def load_run(folder: str | Path) -> Run:
    """Open a run's folder for reading.

    Raises InvalidInputError where there is no run, DamagedFileError where its configuration is damaged.
    """
    path = Path(folder).expanduser()
    if (path / SEEDS).is_file():
        raise InvalidInputError(f"{path} holds a run for each of several seeds: name one, {path}/seed-0 for example")
    if not (path / CONFIG).is_file():
        raise InvalidInputError(f"{path} is no run: it has no {CONFIG}")
    config = read_object(path / CONFIG)
    if kind := config.get("kind"):
        raise InvalidInputError(f"{path} is no search but a {kind}: open it with cell_training.load_training")
    return Run(path, config)


def as_frame(lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
    """Lines as a frame with a column for each of `FIELDS`; null is NaN."""
    import pandas

    frame = pandas.DataFrame(lines, columns=list(FIELDS))
    numbers = [name for name in FIELDS if name not in ("architecture", "cell_hash", "valid_measured", "test_measured")]
    return frame.astype({name: "int64" if name == "epoch" else "float64" for name in numbers})


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a search's metrics.jsonl, those of epochs 0, 1, …"""
    lines = read_lines(path)
    if not all(tuple(line) == FIELDS and line["epoch"] == epoch for epoch, line in enumerate(lines)):
        raise damaged(path, "a line is not that of its epoch")
    return lines


def _parameters(path: Path) -> dict[str, NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except Exception as error:  # a damaged archive can fail in any way
        raise DamagedFileError(f"{path} is missing or damaged: restore it, or start a new run") from error
