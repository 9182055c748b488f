"""The record of a search of this package: a folder that is written epoch by epoch, and read without pickle."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import as_path, atomic_write
from nasbench1shot1.one_shot_search.folder import PARAMETERS
from nasbench1shot1.one_shot_search.options import FACTS, SearchConfig
from nasbench1shot1.one_shot_search.search_record import (
    PARAMETERS_DIGEST,
    Parameters,
    SearchRecord,
    parameters_digest,
    read_parameters,
    split_by_epoch,
)
from nasbench1shot1.runs.folder import CONFIG, RECORDED, SEEDS, WEIGHTS, read_description
from nasbench1shot1.runs.lock import FolderLock
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from torch import Tensor

    from nasbench1shot1.supernets.supernet import Supernet


@dataclass(frozen=True, eq=False, repr=False)
class Run(SearchRecord):
    """Read-only view of the folder of a search of this package.

    Attributes:
        folder: the folder of the search.
        config: all resolved options, and facts about the data.
    """

    KIND, COMMAND, OPTIONS, FACTS = "search", "search", SearchConfig, FACTS

    def supernet(self, epoch: int) -> "tuple[Supernet, dict[str, Tensor]]":
        """Return the network with the weights of a saved epoch, and Λ after that epoch.

        Arguments and errors are as in `kept_weights.supernet_of`.
        """
        from nasbench1shot1.one_shot_search.kept_weights import supernet_of

        return supernet_of(self, epoch)


class SearchWriter(RunWriter[SearchRecord]):
    """Writes a search's folder. An epoch counts once the checkpoint after its line is written.

    A process that is killed at any moment leaves a folder that `cut` repairs: it removes everything after the
    checkpoint's epoch.
    """

    def __init__(self, folder: Path, lock: FolderLock, kind: type[SearchRecord]) -> None:
        super().__init__(folder, lock, kind)
        self._history: list[Parameters] = []
        self._shapes: dict[str, tuple[int, ...]] = {}

    def append(self, line: Mapping[str, Any], parameters: Parameters) -> None:
        """Append an epoch's line and its Λ; raises as `append_line` does."""
        self.append_line(line)
        self._history.append(parameters)
        self._write_history()

    def digests(self) -> dict[str, str]:
        """Return SHA-256s of the lines and of Λ."""
        return {**super().digests(), PARAMETERS_DIGEST: parameters_digest(self._history)}

    def restore(self, state: Any) -> None:
        """Restore a fresh state from the last checkpoint; raises as `RunWriter.restore` does."""
        self._shapes = {key: tuple(value.shape) for key, value in state.method.parameters.items()}
        super().restore(state)

    def keep(self, recorded: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Keep the first epochs of a record without a checkpoint; raises as `read` does.

        Args:
            recorded: number of epochs to keep, epoch 0 included.
            shapes: shapes of Λ, by key.
        """
        self._shapes = dict(shapes)
        self.read(recorded)
        self.rewrite()

    def read(self, recorded: int) -> None:
        """Read the first lines and their Λ back; raises DamagedFileError if something is missing or damaged."""
        super().read(recorded)
        stored = read_parameters(self.folder / PARAMETERS) if recorded else {}
        fits = not recorded or {key: values.shape[1:] for key, values in stored.items()} == self._shapes
        if not fits or any(len(values) < recorded for values in stored.values()):
            raise DamagedFileError(
                f"{self.folder / PARAMETERS} lacks Λ of an epoch before the checkpoint: restore it, or start a new run"
            )
        self._history = split_by_epoch(stored)[:recorded]

    def rewrite(self) -> None:
        """Write lines and Λ as they were read back, and remove the weights of later epochs."""
        super().rewrite()
        if self._history:
            self._write_history()
        else:
            (self.folder / PARAMETERS).unlink(missing_ok=True)
        for path in self.folder.glob(f"{WEIGHTS}/epoch-*.pt"):
            if (match := re.fullmatch(r"epoch-(\d+)", path.stem)) and int(match[1]) >= len(self._history):
                path.unlink()

    def _write_history(self) -> None:
        with atomic_write(self.folder / PARAMETERS) as file:
            np.savez(file, **{key: np.stack([of[key] for of in self._history]) for key in self._history[0]})  # type: ignore[arg-type]


def open_search(folder: str | Path) -> Run:
    """Open a search's folder for reading.

    Raises InvalidInputError if the folder holds no search, DamagedFileError if its configuration is damaged.
    """
    path = as_path(folder, "folder")
    if (path / SEEDS).is_file():
        one = min(path.glob("seed-*"), key=lambda run: (len(run.name), run.name), default=path / "seed-0")
        raise InvalidInputError(
            f"'{path}' holds the searches of several seeds: choose one of them, such as {one} (in Python, group[0])"
        )
    if (path / CONFIG).is_file() and read_description(path)[0] == RECORDED:
        raise InvalidInputError(
            f"'{path}' is the record of another loop, without weights of a supernet: "
            "continue it with nb.Recorder.resume"
        )
    return Run.open(path)
