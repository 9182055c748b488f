"""The base class of the records of searches, whether this package or another loop trained."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.folder import FIGURE, PARAMETERS
from nasbench1shot1.runs.folder import SUMMARY, damaged_file_error
from nasbench1shot1.runs.record import RunRecord

if TYPE_CHECKING:
    import pandas

FIELDS: dict[str, Any] = {
    "epoch": int,
    "train_loss": float | None,
    "train_error": float | None,
    "one_shot_validation_error": float,
    "architecture": str,
    "cell_hash": str,
    "table_validation_error": float | None,
    "table_test_error": float | None,
    "validation_regret": float | None,
    "test_regret": float | None,
    "validation_measured": bool,
    "test_measured": bool,
    "search_seconds": float,
    "simulated_seconds": float | None,
    "hessian_eigenvalue": float | None,
    "other_datasets": dict,
}
"""The fields of a line of metrics.jsonl and their types; errors and regrets are fractions, times seconds
(docs/run_folder.md).
"""

PARAMETERS_DIGEST = "architecture_parameters_sha256"

Parameters = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False, repr=False)
class SearchRecord(RunRecord):
    """Read-only view of a search's folder: the architecture after every epoch, its Λ, and its values in the table.

    Attributes:
        folder: the folder of the search.
        config: every option and fact of config.json. All searches have the options `optimizer`, `space`, `seed`,
            `table` and `reference`, and the facts `space_id`, `table_id` and `dataset`.
    """

    FIELDS = FIELDS
    PICTURE = FIGURE

    @property
    def planned_epochs(self) -> int | None:
        """Planned number of epochs; None if it is unknown."""
        return self.config.get("epochs")

    @property
    def progress(self) -> str:
        """The recorded progress, such as "epoch 12 of 50"."""
        return self._progress(len(self.lines))

    def _subject(self) -> str:
        return f"{self.config['optimizer']} on {self.config['space']}, seed {self.config['seed']}"

    def _progress(self, recorded: int) -> str:
        planned = "" if self.planned_epochs is None else f" of {self.planned_epochs}"
        return f"epoch {max(recorded - 1, 0)}{planned}"

    def _result(self, summary: Mapping[str, Any]) -> str:
        return describe_regrets("test regret", [summary["test_regret"]], summary["test_measured"])

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the lines are not valid, else None.

        Valid lines record epochs 0, 1, … in order, and each architecture has the cell whose hash its line names.
        """
        for epoch, line in enumerate(lines):
            if line["epoch"] != epoch:
                return f"line {epoch + 1} does not record epoch {epoch}"
            try:
                is_hash = Architecture.parse(line["architecture"]).network_id == line["cell_hash"]
            except InvalidInputError as error:
                return error.for_command_line
            if not is_hash:
                return f"the architecture of epoch {epoch} does not have the cell that its line names"
        return None

    @classmethod
    def as_frame(cls, lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
        """Return lines as a frame, with columns such as cifar100_test_regret for the table's other data sets."""
        import pandas

        frame = super().as_frame(lines).drop(columns="other_datasets")
        elsewhere = [flatten_datasets(line["other_datasets"]) for line in lines]
        return pandas.concat([frame, pandas.DataFrame(elsewhere, index=frame.index, dtype="float64")], axis=1)

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for each epoch that the summary counts, and for epoch 0."""
        searched = self.summary["searched_epochs"]
        return type(searched) is int and len(lines) == searched + 1

    @cached_property
    def architectures(self) -> list[Architecture]:
        """The preferred architecture after every epoch, starting with epoch 0."""
        return [Architecture.parse(line["architecture"]) for line in self.lines]

    @cached_property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ after every epoch: an array (epochs + 1, …) for every key of the space's `mixing_shapes()`.

        Raises DamagedFileError if the file is damaged, or differs from what a finished search recorded.
        """
        stored = read_parameters(self.folder / PARAMETERS)
        if self.is_finished and self.summary.get(PARAMETERS_DIGEST) != parameters_digest(split_by_epoch(stored)):
            raise damaged_file_error(self.folder / PARAMETERS, f"its values are not those that {SUMMARY} summarises")
        return stored


def describe_regrets(name: str, regrets: Sequence[float | None], is_measured: bool) -> str:
    """Return the name and the mean of regrets in percent, and whether they are predicted or not in the table."""
    known = [regret for regret in regrets if regret is not None]
    if not known or len(known) < len(regrets):
        return f"{name} not in the table"
    return f"{name} {percent(sum(known) / len(known))}{'' if is_measured else ' (predicted)'}"


def flatten_datasets(of_datasets: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the field `other_datasets` of a line, flat, with keys such as cifar100_test_regret."""
    return {f"{dataset}_{name}": value for dataset, found in of_datasets.items() for name, value in found.items()}


def split_by_epoch(stored: Mapping[str, NDArray[np.float32]]) -> list[Parameters]:
    """Return Λ of every epoch from arrays (epochs + 1, …)."""
    epochs = min(map(len, stored.values()), default=0)
    return [{key: values[epoch] for key, values in stored.items()} for epoch in range(epochs)]


def parameters_digest(history: Sequence[Parameters]) -> str:
    """Return the SHA-256 of Λ of every epoch, in the order in which it is stored."""
    found = hashlib.sha256()
    for parameters in history:
        for key, values in parameters.items():
            found.update(f"{key} {values.shape} {values.dtype}".encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def read_parameters(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read Λ of every epoch, arrays (epochs + 1, …); raises DamagedFileError if a number is missing or impossible."""
    arrays = read_npz(path, "restore it, or start a new run")
    for key, values in arrays.items():
        if values.ndim < 1 or values.dtype != np.float32 or not np.isfinite(values).all():
            raise damaged_file_error(path, f"'{key}' is not made of finite float32 numbers, epoch by epoch")
    return arrays
