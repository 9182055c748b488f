"""Writing a run's folder, line by line. A line counts once the checkpoint that follows it is in place."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from nasbench1shot1.ground.errors import DamagedFileError, UserError
from nasbench1shot1.ground.files import atomic_write, write_error, write_json
from nasbench1shot1.ground.text import counted
from nasbench1shot1.runs.checkpoints import load_checkpoint, save_checkpoint
from nasbench1shot1.runs.folder import (
    CHECKPOINT,
    CONFIG,
    ENVIRONMENT,
    METRICS,
    SUMMARY,
    as_json_line,
    read_lines,
    read_object,
    shown_path,
    updated_description,
)
from nasbench1shot1.runs.lock import FolderLock
from nasbench1shot1.runs.record import DIGEST, RunRecord, digest

DIGESTS = "recorded_sha256s"
"""Field of checkpoints: the digests of the lines before the checkpoint."""
IF_EXTENDED = "if_extended_"
"""Prefix of the digests of a record that replaces the recorded one when a finished run is extended."""


class Resumable(Protocol):
    """The state of a run, as checkpoints store it."""

    @property
    def recorded(self) -> int:
        """The number of recorded lines."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        """Restore what `state_dict` returned, read from `path`."""


Record = TypeVar("Record", bound=RunRecord)


class RunWriter(Generic[Record]):
    """Writes a run's folder while this process holds its lock; made by `runs.lifecycle`.

    Attributes:
        folder: the folder of the run, absolute: code that changes the current folder does not move the run.
        kind: the record class of the run, which defines valid lines.
        after_record: functions that are called once, after the first line that counts.
    """

    after_record: Sequence[Callable[[], None]] = ()

    def __init__(self, folder: Path, lock: FolderLock, kind: type[Record]) -> None:
        self.folder, self._given = folder.absolute(), folder
        self.kind, self._lock = kind, lock
        self._lines: list[dict[str, Any]] = []

    def describe(self, config: Mapping[str, Any], environment: Mapping[str, Any]) -> None:
        """Write config.json and environment.json; raises UserError if they cannot be written."""
        write_json(self.folder / ENVIRONMENT, environment)
        write_json(self.folder / CONFIG, config)  # last: a folder with a configuration can be resumed

    @property
    def shown_folder(self) -> Path:
        """The folder for screens: as it was given, or absolute if that path no longer leads there."""
        return shown_path(self._given, self.folder)

    @property
    def recorded(self) -> int:
        """Number of lines that this writer has appended or read back."""
        return len(self._lines)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change options or facts in config.json; the summary of the shorter run is removed if something changes."""
        if not changes:
            return
        now = updated_description(self.folder, changes)
        if now != read_object(self.folder / CONFIG):
            (self.folder / SUMMARY).unlink(missing_ok=True)
            write_json(self.folder / CONFIG, now)

    def append_line(self, line: Mapping[str, Any]) -> None:
        """Add a line to the metrics; raises UserError if the disk is full or the lock is lost."""
        self.append_lines([line])

    def append_lines(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add lines to the metrics, and wait only once for the disk; raises the errors of `append_line`.

        After an error, the metrics are as before, so the caller can try again.
        """
        for line in lines:
            assert self.kind.has_fields(line), f"a line has the fields {tuple(self.kind.FIELDS)}"
        self._lock.check()
        path = self.folder / METRICS
        try:
            with self._all_or_nothing(), path.open("a", encoding="utf-8") as file:
                file.write("".join(map(as_json_line, lines)))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_error(path, error) from error
        self._lines += [deepcopy(dict(line)) for line in lines]  # the caller may change its own
        if not self.kind.HAS_CHECKPOINTS:
            self._report_record()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Remove the lines that the block has appended if it raises an error or is interrupted."""
        path, recorded = self.folder / METRICS, self.recorded
        size = path.stat().st_size if path.exists() else 0
        try:
            yield
        except BaseException:
            del self._lines[recorded:]
            with suppress(OSError, UserError):  # a reader ignores what is left of an incomplete last line
                self._lock.check()  # otherwise, the file belongs to another process
                os.truncate(path, size)
            raise

    def save(self, state: Resumable) -> None:
        """Replace the checkpoint; raises the errors of `append_line`."""
        self._lock.check()
        save_checkpoint(self.folder / CHECKPOINT, {**state.state_dict(), DIGESTS: self.digests_to_save(state)})
        self._report_record()

    def _report_record(self) -> None:
        calls, self.after_record = self.after_record, ()
        for call in calls:
            call()

    def digests(self) -> dict[str, str]:
        """Return the SHA-256s of the recorded lines, by name, for checkpoint and summary."""
        return {DIGEST: digest(self._lines)}

    def digests_to_save(self, state: Resumable) -> dict[str, str]:
        """Return the digests for a checkpoint of a state.

        If another record replaces this one when the run is extended, its digests have the prefix `IF_EXTENDED`.
        Default: only the digests of this record.
        """
        return self.digests()

    def restore(self, state: Resumable) -> None:
        """Restore a fresh state from the last checkpoint, if it exists, and remove everything written after it.

        A run without checkpoints keeps its complete lines.

        Raises:
            InvalidInputError: the checkpoint belongs to another run.
            DamagedFileError: the checkpoint or a file recorded before it is damaged or missing; nothing is changed.
        """
        if not self.kind.HAS_CHECKPOINTS:
            self.keep_complete_lines()
            return
        path, recorded = self.folder / CHECKPOINT, self.digests()
        if path.exists():
            content = load_checkpoint(path)
            recorded = content.pop(DIGESTS, {})
            state.load_state_dict(content, path)
        elif len(read_lines(self.folder / METRICS)) > 1 or (self.folder / SUMMARY).exists():
            raise DamagedFileError(
                f"'{self.folder}' has recorded lines but no {CHECKPOINT}: restore it, or start a new run"
            )
        self.cut(state.recorded, recorded)

    def cut(self, recorded: int, sha256s: Mapping[str, str]) -> None:
        """Keep the first lines and remove everything written after them.

        Args:
            recorded: number of lines to keep.
            sha256s: the result of `digests_to_save` after the last of these lines.

        Raises:
            DamagedFileError: a file is missing, damaged, or differs from the record; nothing is changed.
        """
        self.read(recorded)
        for name, found in self.digests().items():
            if found not in (sha256s.get(name), sha256s.get(IF_EXTENDED + name)):
                raise DamagedFileError(
                    f"'{self.folder}' was changed after it was recorded ({name} differs): restore it, or start a new "
                    "run"
                )
        self.rewrite()

    def read(self, recorded: int) -> None:
        """Read the first lines of the record back; raises DamagedFileError if a line is missing or damaged."""
        lines = (self.kind.read_lines(self.folder) if recorded else [])[:recorded]
        if len(lines) < recorded:
            has = f"{self.folder / METRICS} has {counted(len(lines), 'line')}"
            raise DamagedFileError(
                f"{has}, but the checkpoint follows line {recorded}: restore the file, or start a new run"
            )
        self._lines = lines

    def keep_complete_lines(self) -> None:
        """Read the record back, without the unfinished last line and unfinished files of a killed process.

        For runs whose lines are their only state. Raises DamagedFileError if a complete line is damaged.
        """
        self.read(len(read_lines(self.folder / METRICS)))
        self.rewrite()

    def rewrite(self) -> None:
        """Write the record as it was read back, and remove unfinished files of a killed process."""
        with atomic_write(self.folder / METRICS) as file:
            file.write("".join(map(as_json_line, self._lines)).encode())
        for part in self.unfinished_files():
            part.unlink(missing_ok=True)

    def unfinished_files(self) -> Iterator[Path]:
        """Yield the files that a killed process left unfinished, except in unfinished folders, such as a report's."""
        return (path for path in self.folder.rglob(".*.part") if _is_unfinished_file(path, self.folder))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json, which marks the run as finished."""
        self._lock.check()
        write_json(self.folder / SUMMARY, {**summary, **self.digests()})


def _is_unfinished_file(path: Path, folder: Path) -> bool:
    """Return whether a path is a file that is not in an unfinished folder."""
    return path.is_file() and not any(part.endswith(".part") for part in path.relative_to(folder).parts[:-1])
