"""Reading the folder of a training; its metrics have the form of a table's metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from nasbench1shot1.cell_training.config import TrainingConfig
from nasbench1shot1.cell_training.schedule import FINAL, HALFWAY, INITIAL
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.wording import counted

ACCURACIES = ("train_accuracy", "validation_accuracy", "test_accuracy")
FIELDS: dict[str, Any] = {
    "step": int,
    "epochs": float,
    "evaluation": str | None,
    "learning_rate": float,
    "batch_loss": float,
    "batch_accuracy": float,
    **dict.fromkeys(ACCURACIES, float | None),
    "training_time": float,
}
"""The fields of a line of metrics.jsonl and their types; accuracies are fractions, times seconds (docs/training.md)."""
FACTS = {
    "cell_hash": str,
    "matrix": list,
    "ops": list,
    "trainable_parameters": int,
    "images_sha256": str,
    "parts": str,
    "steps": int,
    "is_protocol": bool,
}
"""Fields of config.json besides the options, with their types: the data that the training used."""


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
class Training(RunRecord):
    """The training of a cell, in its folder; nothing is changed by reading.

    Attributes:
        folder: where it lies.
        config: every option, resolved, and what was trained.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "cell training", "train", FIELDS, TrainingConfig, FACTS

    def __repr__(self) -> str:
        config, epochs = self.config, counted(self.config["epochs"], "epoch")
        return f"Training('{self.folder}': {config['cell_hash']}, {epochs}, seed {config['seed']})"

    @classmethod
    def fault(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the step numbers of the lines do not increase, else None."""
        ascend = all(a["step"] < b["step"] for a, b in pairwise(lines))
        return None if ascend else "the step numbers of its lines do not increase"

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the last line records the last step of the training."""
        return bool(lines) and bool(lines[-1]["step"] == self.config["steps"])

    @cached_property
    def cell(self) -> Cell:
        """Return the cell as it was given."""
        return Cell(self.config["matrix"], self.config["ops"])

    @property
    def initial(self) -> Evaluation:
        """Return the evaluation after the first step, which does not change any weight."""
        return self._evaluation(INITIAL)

    @property
    def halfway(self) -> Evaluation:
        """Return the evaluation after half of the budget, in the middle of the learning-rate schedule."""
        return self._evaluation(HALFWAY)

    @property
    def final(self) -> Evaluation:
        """Return the evaluation after the last step; raises UserError if it has not been made yet."""
        return self._evaluation(FINAL)

    @property
    def trainable_parameters(self) -> int:
        """Of the network that was trained."""
        return int(self.config["trainable_parameters"])

    def _evaluation(self, name: str) -> Evaluation:
        for line in self.lines:
            if line["evaluation"] == name:
                return Evaluation(**{field: line[field] for field in Evaluation.__annotations__})
        raise self.unfinished()


def load_training(folder: str | Path) -> Training:
    """Open the folder of a cell's training for reading.

    Raises InvalidInputError where there is none, DamagedFileError where its configuration is damaged.
    """
    return Training.open(folder)


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
