"""What happened in a search: its folder, written epoch by epoch, and read without pickle."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import read_npz, replacing
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.one_shot_search.config import FACTS, LATER_FACTS, SearchConfig
from nasbench1shot1.one_shot_search.folder import FIGURE as FIGURE
from nasbench1shot1.one_shot_search.folder import PARAMETERS as PARAMETERS
from nasbench1shot1.one_shot_search.folder import SEEDS as SEEDS
from nasbench1shot1.one_shot_search.folder import WEIGHTS as WEIGHTS
from nasbench1shot1.runs.folder import SUMMARY, damaged
from nasbench1shot1.runs.lock import FolderLock
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    import pandas
    from torch import Tensor

    from nasbench1shot1.supernet import Supernet

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


@dataclass(frozen=True, eq=False)
class Run(RunRecord):
    """A search as it lies in its folder; nothing of it is changed by reading.

    Attributes:
        folder: where it lies.
        config: every option, resolved, and what the search was made with.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "search", "search", FIELDS, SearchConfig, FACTS
    LATER = ("other_datasets", *LATER_FACTS)

    def __repr__(self) -> str:
        config = self.config
        return f"Run('{self.folder}': {config['optimizer']} on {config['space']}, seed {config['seed']})"

    @classmethod
    def fault(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the lines are not valid, else None.

        Valid lines record epochs 0, 1, … in order, and each architecture has the cell whose hash its line names.
        """
        for epoch, line in enumerate(lines):
            if line["epoch"] != epoch:
                return f"line {epoch + 1} does not record epoch {epoch}"
            try:
                is_hash = Architecture.parse(line["architecture"]).network_id == line["cell_hash"]
            except InvalidInputError as error:
                return str(error)
            if not is_hash:
                return f"the architecture of epoch {epoch} does not have the cell that its line names"
        return None

    @classmethod
    def as_frame(cls, lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
        """Return lines as a frame, with columns such as cifar100_test_regret for the table's other data sets."""
        import pandas

        frame = super().as_frame(lines).drop(columns="other_datasets")
        elsewhere = [by_data_set(line.get("other_datasets", {})) for line in lines]
        return pandas.concat([frame, pandas.DataFrame(elsewhere, index=frame.index, dtype="float64")], axis=1)

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for each epoch that the summary counts, and for epoch 0."""
        searched = self.summary.get("searched_epochs", len(lines) - 1)  # the first version did not write it
        return type(searched) is int and len(lines) == searched + 1

    @cached_property
    def architectures(self) -> list[Architecture]:
        """The architecture preferred after every epoch, epoch 0 first."""
        return [Architecture.parse(line["architecture"]) for line in self.lines]

    @cached_property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ: for every key of the space's `mixing_shapes()` an array (epochs + 1, …).

        Raises DamagedFileError where it is damaged, or not what a finished search recorded.
        """
        stored = _parameters(self.folder / PARAMETERS)
        recorded = self.summary.get(PARAMETERS_DIGEST) if self.is_finished else None  # earlier versions wrote none
        if recorded not in (None, _digest(_by_epoch(stored))):
            raise damaged(self.folder / PARAMETERS, f"its values are not those that {SUMMARY} summarises")
        return stored

    def supernet(self, epoch: int) -> "tuple[Supernet, dict[str, Tensor]]":
        """Return the network with the weights kept of an epoch, and that epoch's Λ (`kept_weights.supernet_of`)."""
        from nasbench1shot1.one_shot_search.kept_weights import supernet_of

        return supernet_of(self, epoch)


class SearchWriter(RunWriter[Run]):
    """Writes a search's folder. An epoch counts once the checkpoint that follows its line is in place.

    A process killed at any moment leaves a folder that `cut` repairs: what lies past the checkpoint's epoch goes.
    """

    def __init__(self, folder: Path, lock: FolderLock, kind: type[Run]) -> None:
        super().__init__(folder, lock, kind)
        self._history: list[Parameters] = []
        self._shapes: dict[str, tuple[int, ...]] = {}

    def append(self, line: Mapping[str, Any], parameters: Parameters) -> None:
        """Add an epoch's line and its Λ; raises as `append_line`."""
        self.append_line(line)
        self._history.append(parameters)
        self._write_history()

    def digests(self) -> dict[str, str]:
        """Return SHA-256s of the lines and of Λ."""
        return {**super().digests(), PARAMETERS_DIGEST: _digest(self._history)}

    def restore(self, state: Any) -> None:
        """Bring a fresh state to the last checkpoint; raises as `RunWriter.restore`."""
        self._shapes = {key: tuple(value.shape) for key, value in state.method.parameters.items()}
        super().restore(state)

    def read(self, recorded: int) -> None:
        """Read the first lines and their Λ back; raises DamagedFileError where something is missing or damaged."""
        super().read(recorded)
        stored = _parameters(self.folder / PARAMETERS) if recorded else {}
        fits = not recorded or {key: values.shape[1:] for key, values in stored.items()} == self._shapes
        if not fits or any(len(values) < recorded for values in stored.values()):
            raise DamagedFileError(
                f"{self.folder / PARAMETERS} lacks Λ of an epoch before the checkpoint: restore it, or start a new run"
            )
        self._history = _by_epoch(stored)[:recorded]

    def rewrite(self) -> None:
        """Write lines and Λ as they were read back, and remove weights of later epochs."""
        super().rewrite()
        if self._history:
            self._write_history()
        else:
            (self.folder / PARAMETERS).unlink(missing_ok=True)
        for path in self.folder.glob(f"{WEIGHTS}/epoch-*.pt"):
            if (match := re.fullmatch(r"epoch-(\d+)", path.stem)) and int(match[1]) >= len(self._history):
                path.unlink()

    def _write_history(self) -> None:
        with replacing(self.folder / PARAMETERS) as file:
            np.savez(file, **{key: np.stack([of[key] for of in self._history]) for key in self._history[0]})  # type: ignore[arg-type]


def open_search(folder: str | Path) -> Run:
    """Open a search's folder for reading.

    Raises InvalidInputError where there is no search, DamagedFileError where its configuration is damaged.
    """
    path = as_path(folder, "folder")
    if (path / SEEDS).is_file():
        raise InvalidInputError(
            f"'{path}' holds the searches of several seeds: choose one of them, such as {path}/seed-0"
        )
    return Run.open(path)


def by_data_set(of_datasets: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the field `other_datasets` of a line, flat, with keys such as cifar100_test_regret."""
    return {f"{dataset}_{name}": value for dataset, found in of_datasets.items() for name, value in found.items()}


def _by_epoch(stored: Mapping[str, NDArray[np.float32]]) -> list[Parameters]:
    """Λ of every epoch, from arrays (epochs + 1, …)."""
    epochs = min(map(len, stored.values()), default=0)
    return [{key: values[epoch] for key, values in stored.items()} for epoch in range(epochs)]


def _digest(history: Sequence[Parameters]) -> str:
    """The SHA-256 of Λ of every epoch, in the order in which it is stored."""
    found = hashlib.sha256()
    for parameters in history:
        for key, values in parameters.items():
            found.update(f"{key} {values.shape} {values.dtype}".encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def _parameters(path: Path) -> dict[str, NDArray[np.float32]]:
    arrays = read_npz(path, "restore it, or start a new run")
    for key, values in arrays.items():
        if values.ndim < 1 or values.dtype != np.float32 or not np.isfinite(values).all():
            raise damaged(path, f"'{key}' is not made of finite float32 numbers, epoch by epoch")
    return arrays
