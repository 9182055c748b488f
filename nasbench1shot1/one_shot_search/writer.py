"""Write the folder of a search epoch by epoch, and repair it after a stop at any time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import atomic_write
from nasbench1shot1.one_shot_search.record import (
    PARAMETERS,
    PARAMETERS_DIGEST,
    Parameters,
    SearchRecord,
    parameters_digest,
    read_parameters,
    split_by_epoch,
)
from nasbench1shot1.runs.folder import SUMMARY, kept_weights
from nasbench1shot1.runs.lock import FolderLock
from nasbench1shot1.runs.writer import IF_EXTENDED, RunWriter


@dataclass(frozen=True)
class Unended:
    """The record of a search's last epoch if the search is continued, without the final selection of its method.

    Checkpoints keep it, because it replaces the record of this epoch in a search that is continued for more epochs.

    Attributes:
        line: the line of metrics.jsonl.
        parameters: Λ.
    """

    line: Mapping[str, Any]
    parameters: Parameters


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
        """Append an epoch's line and its Λ, or neither of them; raises the errors of `append_line`."""
        recorded = len(self._history)
        self._lock.check()
        with self._all_or_nothing():
            self.append_line(line)
            self._history.append(parameters)
            try:
                self._write_history()
            except BaseException:
                del self._history[recorded:]
                raise

    def digests(self) -> dict[str, str]:
        """Return SHA-256s of the lines and of Λ."""
        return {**super().digests(), PARAMETERS_DIGEST: parameters_digest(self._history)}

    def digests_to_save(self, state: Any) -> dict[str, str]:
        """Return the digests of the record, and those with the last epoch as it is if the search is extended."""
        digests, kept = self.digests(), (self._lines[-1], self._history[-1])
        if state.unended is None:
            return digests
        self._lines[-1], self._history[-1] = dict(state.unended.line), state.unended.parameters
        others = {IF_EXTENDED + name: sha256 for name, sha256 in self.digests().items()}
        self._lines[-1], self._history[-1] = kept
        return {**digests, **others}

    def replace_last(self, unended: Unended) -> None:
        """Replace the record of the last epoch, because the search is extended."""
        self._lines[-1], self._history[-1] = dict(unended.line), unended.parameters
        self.rewrite()

    def restore(self, state: Any) -> None:
        """Restore a fresh state from the last checkpoint; raises the errors of `RunWriter.restore`."""
        self._shapes = {key: tuple(value.shape) for key, value in state.method.parameters.items()}
        super().restore(state)

    def keep(self, recorded: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Keep the first epochs of a record without a checkpoint, and remove its summary.

        Raises the errors of `read`, before anything changes.

        Args:
            recorded: number of epochs to keep, epoch 0 included.
            shapes: shapes of Λ, by key.
        """
        self._shapes = dict(shapes)
        self.read(recorded)
        (self.folder / SUMMARY).unlink(missing_ok=True)
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
        for epoch, path in kept_weights(self.folder).items():
            if epoch >= len(self._history):
                path.unlink()

    def _write_history(self) -> None:
        with atomic_write(self.folder / PARAMETERS) as file:
            np.savez(file, **{key: np.stack([of[key] for of in self._history]) for key in self._history[0]})  # type: ignore[arg-type]
