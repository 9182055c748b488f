"""A training as it lies in its folder, in the form that a table has."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.cell_training.schedule import FINAL, HALFWAY, INITIAL
from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, damaged, read_lines, read_object

if TYPE_CHECKING:
    import pandas

KIND = "cell training"
"""What `kind` in config.json says."""
ACCURACIES = ("train_accuracy", "validation_accuracy", "test_accuracy")
FIELDS = ("step", "epochs", "evaluation", "learning_rate", "batch_loss", "batch_accuracy", *ACCURACIES, "training_time")
"""The fields of a line of metrics.jsonl; accuracies are fractions, times seconds (docs/training.md)."""


@dataclass(frozen=True)
class Evaluation:
    """One of the three evaluations of a training.

    Attributes:
        epochs: how much of the budget it is counted as: 0, half, all.
        step: steps done by then.
        training_time: seconds of training by then; evaluations and checkpoints are not in them.
        train_accuracy: fraction of the images, un-augmented.
        validation_accuracy: likewise.
        test_accuracy: likewise.
    """

    epochs: float
    step: int
    training_time: float
    train_accuracy: float
    validation_accuracy: float
    test_accuracy: float


@dataclass(frozen=True, eq=False)
class Training:
    """The training of a cell, in its folder; nothing is changed by reading.

    Attributes:
        folder: where it lies.
        config: every option, resolved, and what was trained.
    """

    folder: Path
    config: dict[str, Any]

    def __repr__(self) -> str:
        config = self.config
        return f"Training('{self.folder}': {config['cell_hash']}, {config['epochs']} epochs, seed {config['seed']})"

    @cached_property
    def cell(self) -> Cell:
        """The cell as it was given."""
        return Cell(self.config["matrix"], self.config["ops"])

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; keys are `FIELDS`. Raises DamagedFileError for anything else."""
        return read_training_lines(self.folder)

    @cached_property
    def metrics(self) -> "pandas.DataFrame":
        """A row for every line; columns are `FIELDS`, accuracies NaN where nothing was evaluated."""
        import pandas

        return pandas.DataFrame(self.lines, columns=list(FIELDS)).astype(dict.fromkeys(ACCURACIES, "float64"))

    @property
    def is_finished(self) -> bool:
        """Whether the training came to its end."""
        return (self.folder / SUMMARY).exists()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came out; raises UserError for a training that is not finished."""
        if not self.is_finished:
            raise self._unfinished()
        return read_object(self.folder / SUMMARY)

    @property
    def initial(self) -> Evaluation:
        """After the first step, which moves no weight."""
        return self._evaluation(INITIAL)

    @property
    def halfway(self) -> Evaluation:
        """After half of the budget, in the middle of the annealing."""
        return self._evaluation(HALFWAY)

    @property
    def final(self) -> Evaluation:
        """After the last step. These three raise UserError for an evaluation that has not been made yet."""
        return self._evaluation(FINAL)

    @property
    def trainable_parameters(self) -> int:
        """Of the network that was trained."""
        return int(self.config["trainable_parameters"])

    def _evaluation(self, name: str) -> Evaluation:
        for line in self.lines:
            if line["evaluation"] == name:
                return Evaluation(**{field: line[field] for field in Evaluation.__annotations__})
        raise self._unfinished()

    def _unfinished(self) -> UserError:
        return UserError(f"{self.folder} is not finished: go on with nb1shot1 train --resume {self.folder}")


def load_training(folder: str | Path) -> Training:
    """Open the folder of a cell's training for reading.

    Raises InvalidInputError where there is none, DamagedFileError where its configuration is damaged.
    """
    path = Path(folder).expanduser()
    if not (path / CONFIG).is_file():
        raise InvalidInputError(f"{path} is no training: it has no {CONFIG}")
    config = read_object(path / CONFIG)
    if config.get("kind") != KIND:
        raise InvalidInputError(f"{path} is a search, no cell training: open it with nb.load_run")
    return Training(path, config)


def read_training_lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of a training's metrics.jsonl, steps ascending; raises DamagedFileError for anything else."""
    lines = read_lines(folder / METRICS)
    if any(tuple(line) != FIELDS for line in lines) or any(a["step"] >= b["step"] for a, b in pairwise(lines)):
        raise damaged(folder / METRICS, "a line is not that of its step")
    return lines


def summarise(config: Mapping[str, Any], lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The summary of a finished training: the table's columns, and the same half-way and at the beginning."""
    by_name = {line["evaluation"]: line for line in lines if line["evaluation"]}
    named = ("training_time", *ACCURACIES)
    at = {name: {field: line[field] for field in named} for name, line in by_name.items()}
    described = (
        "architecture",
        "cell_hash",
        "epochs",
        "seed",
        "scale",
        "images",
        "is_protocol",
        "trainable_parameters",
    )
    return {**{name: config[name] for name in described}, **at[FINAL], HALFWAY: at[HALFWAY], INITIAL: at[INITIAL]}
