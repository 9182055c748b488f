"""The record of a proxy study's trainings, with one line per architecture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.proxy_training.config import ProxyConfig
from nasbench1shot1.runs.folder import METRICS, damaged_file_error
from nasbench1shot1.runs.record import RunRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIELDS: dict[str, Any] = {
    "number": int,
    "architecture": str,
    "cell_hash": str,
    "train_losses": list,
    "validation_errors": list,
    "seconds": float,
}
"""Fields of a line of metrics.jsonl and their types; lists have one value per epoch (docs/reproduce.md)."""
FACTS = {"space_id": str, "images_sha256": str, "weight_images": int, "architecture_images": int}
"""Fields of config.json besides the options, with their types: the data that the trainings used."""


@dataclass(frozen=True, eq=False, repr=False)
class ProxyTrainings(RunRecord):
    """Trainings of sampled architectures without weight sharing, in networks with equal numbers of cells and channels.

    Attributes:
        folder: the folder of the record.
        config: all resolved options, and facts about the data.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "proxy training", "reproduce figure17", FIELDS, ProxyConfig, FACTS

    def _subject(self) -> str:
        return f"{self.config['cells']} cells × {self.config['channels']} channels"

    def _progress(self, recorded: int) -> str:
        return f"{recorded} of {self.config['architectures']} architectures"

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a message if the lines are not valid, else None.

        Valid lines are numbered 0, 1, … in order, and each list has one finite number per epoch.
        """
        for number, line in enumerate(lines):
            if line["number"] != number:
                return "the numbers of its lines are not 0, 1, … in order"
            lists = line["train_losses"], line["validation_errors"]
            if len({len(each) for each in (*lists, lines[0]["validation_errors"])}) != 1:
                return f"line {number + 1} has a different number of epochs"
            if not all(type(value) in (int, float) for each in lists for value in each):
                return f"line {number + 1} has an impossible loss or error"
            if not all(0 <= error <= 1 for error in line["validation_errors"]):
                return f"line {number + 1} has an impossible error"
        return None

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for every architecture."""
        return bool(len(lines) == self.config["architectures"])

    @cached_property
    def architectures(self) -> list[Architecture]:
        """Return the architectures trained so far; raises DamagedFileError if a text is not an architecture."""
        try:
            return [Architecture.parse(line["architecture"]) for line in self.lines]
        except InvalidInputError as error:
            raise damaged_file_error(self.folder / METRICS, error.for_command_line) from error

    @cached_property
    def validation_errors(self) -> "NDArray[np.float64]":
        """Return the validation error after every epoch, a fraction, (architectures, epochs)."""
        import numpy as np

        errors = np.array([line["validation_errors"] for line in self.lines], np.float64)
        if errors.shape[1:] != (self.config["epochs"],):
            raise DamagedFileError(
                f"{self.folder / METRICS} has a different number of epochs than its config.json: restore it"
            )
        return errors

    def unfinished_error(self) -> UserError:
        """Return the error for reading results of a run that is not finished."""
        return UserError(f"'{self.folder}' is not finished: repeat the reproduce command that started it")


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of finished trainings; its errors are measured after the last epoch."""
    final = sorted(line["validation_errors"][-1] for line in lines)
    described = ("space", "architectures", "cells", "channels", "epochs", "seed", "scale", "images")
    return {
        **{name: config[name] for name in described},
        "best_validation_error": final[0],
        "mean_validation_error": sum(final) / len(final),
        "seconds": sum(line["seconds"] for line in lines),
    }
