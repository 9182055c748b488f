"""Contexts in which a run's folder is written: a new folder, or one that is resumed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType
from typing import TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError, UserError, command, option
from nasbench1shot1.ground.files import write_error
from nasbench1shot1.runs.folder import (
    CHECKPOINT,
    CONFIG,
    CONFIG_SPACE,
    ENVIRONMENT,
    METRICS,
    SUBMISSIONS,
    SUMMARY,
    count_lines,
)
from nasbench1shot1.runs.lock import LOCK, FolderLock, locked
from nasbench1shot1.runs.next_command import modules_of, resume_advice, resume_options
from nasbench1shot1.runs.own_files import remove_own_files
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.writer import RunWriter

Writer = TypeVar("Writer", bound=RunWriter)  # type: ignore[type-arg]


@contextmanager
def new_run(
    folder: Path, writer: type[Writer], kind: type[RunRecord], unrecorded: Mapping[str, object] = MappingProxyType({})
) -> Iterator[Writer]:
    """Make the folder of a new run and hold its lock.

    If the run fails before the first line of metrics and the first checkpoint, or is stopped before the options are
    written, its files are removed, and so is the folder if it did not exist before.

    Args:
        folder: must not exist, or be empty. Files of a process that was killed before its options were written are
            removed. If the current folder changes later, for example in a callback, the run stays where it is: the
            folder of the writer is absolute.
        writer: the class of the writer.
        kind: the class of the record.
        unrecorded: given options that are not recorded. The advice how to continue a stopped run repeats them.

    Raises:
        InvalidInputError: the folder has other content, or another process is writing to it.
        UserError: the folder cannot be made.
        RunStoppedError: Ctrl-C after the options are written.
    """
    place = folder.absolute()
    with locked_folder(folder) as lock:
        check_is_new(folder)
        remove_aborted_start(folder)
        with _with_resume_advice(place, folder, kind, unrecorded), _remove_if_nothing_recorded(place, lock, kind):
            yield writer(folder, lock, kind)


@contextmanager
def existing_run(
    folder: Path, writer: type[Writer], kind: type[RunRecord], unrecorded: Mapping[str, object] = MappingProxyType({})
) -> Iterator[Writer]:
    """Hold the lock of a run's folder, to resume the run; arguments and errors are as in `new_run`."""
    place = folder.absolute()
    with locked(folder) as lock, _with_resume_advice(place, folder, kind, unrecorded):
        yield writer(folder, lock, kind)


@contextmanager
def locked_folder(folder: Path) -> Iterator[FolderLock]:
    """Make a folder if necessary and hold its lock; afterwards, a folder made here is removed if it is empty.

    If the folder is a symbolic link, its target is made and removed; the link stays.
    """
    place = folder.resolve()  # mkdir refuses a link to a missing folder
    is_made = _make(place, folder)
    try:
        with locked(folder) as lock:
            yield lock
    finally:
        if is_made:
            with suppress(OSError):  # it is not empty
                place.rmdir()


def _make(place: Path, folder: Path) -> bool:
    """Make a folder; return False if it exists. Raises UserError, which names it `folder`."""
    try:
        place.mkdir(parents=True)
    except OSError as error:
        if not place.is_dir():
            raise write_error(folder, error) from error
        return False
    return True


def check_is_new(folder: Path, replace: Callable[[], str] = str) -> None:
    """Raise InvalidInputError if a folder has other content than files that a killed process left.

    Args:
        folder: the folder of a new run.
        replace: returns the beginning of the advice for a folder that holds a run. It is called only if the folder
            has other content, because it opens that content. Default: no advice.
    """
    if (folder.exists() and not folder.is_dir()) or not is_aborted_start(folder):
        names = list_names(folder)
        raise occupied_error(folder, CONFIG in names, {CONFIG, SUMMARY} <= names, replace())


def occupied_error(folder: Path, is_run: bool, is_finished: bool, replace: str = "") -> InvalidInputError:
    """Return the error for a new run in a place that is taken.

    Args:
        folder: the folder of the new run.
        is_run: whether it holds a run, or a group of runs.
        is_finished: whether that run is finished.
        replace: beginning of the advice for a folder that holds a run.
    """
    if not folder.is_dir():
        return InvalidInputError(f"'{folder}' is a file: choose another {option('out')}")
    if is_finished:
        return InvalidInputError(f"'{folder}' holds a finished run: {replace}choose another {option('out')}")
    resume = f"continue with {resume_advice(folder)}, {replace or 'or '}" if is_run else ""
    return InvalidInputError(f"'{folder}' already exists: {resume}choose another {option('out')}")


def list_names(folder: Path) -> set[str]:
    """Return the names in a folder, none if it does not exist.

    The lock's file is left out, and so are `.lock.break.…` and `.lock.restore.…`: filelock leaves them behind if a
    process is killed while it takes over a lock.
    """
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return {name for name in names if not name.startswith(LOCK)}


def is_aborted_start(folder: Path) -> bool:
    """Return whether a folder is empty, or a process that was killed before its options were written left all of it."""
    return all(_is_from_aborted_start(folder / name) for name in list_names(folder))


def remove_aborted_start(folder: Path) -> None:
    """Remove the files in a folder for which `is_aborted_start` is true; the caller holds its lock."""
    for name in list_names(folder):
        (folder / name).unlink()


def _is_from_aborted_start(path: Path) -> bool:
    is_unfinished = path.name.startswith(".") and path.name.endswith(".part") and path.is_file()
    return is_unfinished or path.name in (ENVIRONMENT, CONFIG_SPACE)


@contextmanager
def _remove_if_nothing_recorded(place: Path, lock: FolderLock, kind: type[RunRecord]) -> Iterator[None]:
    """After an error, remove the run's files, unless something is recorded or another process has taken it over."""
    try:
        yield
    except BaseException as error:
        is_stopped = not isinstance(error, Exception) and (place / CONFIG).exists()
        if not (is_stopped or lock.is_lost or _has_begun(place)):
            remove_own_files(place, kind.FILES)
        raise


def _has_begun(place: Path) -> bool:
    """Return whether a run has a checkpoint, a submission of a study, or a line, which may be in a sub-folder."""
    records = [place / METRICS, place / SUBMISSIONS, *place.glob(f"*/{METRICS}")]
    return (place / CHECKPOINT).exists() or any(map(count_lines, records))


@contextmanager
def _with_resume_advice(
    place: Path, folder: Path, kind: type[RunRecord], unrecorded: Mapping[str, object]
) -> Iterator[None]:
    """Give the command that resumes a run after Ctrl-C, and after an error or an exit in a module that the run names.

    Args:
        place: the folder of the run, absolute.
        folder: the folder as the advice names it.
        kind: the class of the record.
        unrecorded: given options that are not recorded.
    """

    def resuming() -> dict[str, object]:
        return resume_options(place, resume=folder, **unrecorded)

    try:
        yield
    except KeyboardInterrupt as stop:
        if kind.COMMAND and (place / CONFIG).exists():
            raise RunStoppedError(place, kind.COMMAND, resuming()) from stop
        raise
    except (Exception, SystemExit) as error:
        passed = {frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)}
        own = [module for module in (modules_of(place) or "").split(",") if module in passed]
        if own and kind.COMMAND:
            advice = f"correct it, then continue with {command(kind.COMMAND, resuming())}"
            if isinstance(error, SystemExit):
                raise UserError(f"your module {own[0]}, or code that it called, exited Python: {advice}") from error
            passes = f"The error is in your module {own[0]}, or in code that it called"
            error.add_note(UserError(f"{passes}: {advice}").for_command_line)
        raise
