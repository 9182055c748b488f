"""`overwrite`: a new run takes the folder of an old one, which is deleted once something of the new one is recorded."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError, UserError, option, quote, switch
from nasbench1shot1.ground.files import write_error
from nasbench1shot1.ground.folder_swap import (
    NEW,
    OLD,
    is_abandoned,
    recover_folder,
    remove_leftovers,
    temporary_sibling,
)
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, METRICS, read_lines
from nasbench1shot1.runs.lifecycle import is_aborted_start, list_names, remove_aborted_start
from nasbench1shot1.runs.lock import LOCK, locked
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.own_files import other_files


@contextmanager
def moved_aside(
    folder: Path, overwrite: bool, replaced: tuple[type, ...] = ()
) -> Iterator[Sequence[Callable[..., None]]]:
    """Move the run in a folder aside while a new one begins there.

    The context yields functions, whose arguments do not matter, that delete the old run and what killed processes left
    of others; they are to be called once the new run has recorded something. If the context ends with an exception
    before that, the old run is put back.

    Args:
        folder: the folder of a run or of a group of runs; a missing or empty folder is left as it is. If a process was
            killed after it had moved a run aside, and before it wrote the options of the new one, the old run is put
            back first.
        overwrite: whether the option is given; without it, nothing is moved aside.
        replaced: the classes of records that may be replaced.

    Raises:
        InvalidInputError: the folder holds anything else, another process is writing to it, or it contains the current
            folder.
        DamagedFileError: its config.json or seeds.json is damaged.
        UserError: the folder cannot be moved.
    """
    restore_moved_aside(folder)
    place = folder.resolve()  # of a link, the folder itself
    if not overwrite or not (place.exists() and (not place.is_dir() or list_names(place))):
        yield [lambda *_: remove_leftovers(place)]
        return
    old = _move_aside(folder, replaced)
    try:
        yield [lambda *_: _discard(old, place)]
    except BaseException as error:
        if has_begun(place):
            _discard(old, place)
            raise
        _restore(old, place)
        if isinstance(error, RunStoppedError):
            raise KeyboardInterrupt(f"stopped before anything was recorded; {folder} is unchanged") from error
        raise
    _discard(old, place)


def _restore(old: Path, place: Path) -> None:
    """Put the old run back, unless another process is writing to its place or has put it back already."""
    failed = temporary_sibling(place, NEW)
    with suppress(OSError, InvalidInputError), locked(place) if place.exists() else nullcontext():
        if old.exists():
            with suppress(FileNotFoundError):
                place.rename(failed)
            old.rename(place)
    shutil.rmtree(failed, ignore_errors=True)


def restore_moved_aside(folder: Path) -> None:
    """Put back what a killed process moved aside, if it left nothing, or only an unfinished folder, in its place.

    Raises InvalidInputError if another process is writing to the folder.
    """
    if is_abandoned(folder):
        place = folder.resolve()
        if place.is_dir() and is_aborted_start(place):
            with locked(place):
                remove_aborted_start(place)
            with suppress(OSError):  # another process has begun there
                place.rmdir()
        recover_folder(place)


def _move_aside(folder: Path, replaced: tuple[type, ...]) -> Path:
    """Rename the folder of a run under its locks; return the new path. Raises the errors of `moved_aside`."""
    check_is_replaceable(folder, replaced)
    place = folder.resolve()
    old = temporary_sibling(place, OLD)
    with ExitStack() as locks:
        for run in [place, *_members(place)]:
            locks.enter_context(locked(run))
        check_has_no_other_files(folder)
        try:
            place.rename(old)
        except OSError as error:
            raise write_error(place, error) from error
        for run in [old, *_members(old)]:  # they moved along, and would lock the folder if it is put back
            (run / LOCK).unlink(missing_ok=True)
    return old


def replace_advice(folder: Path, replaced: tuple[type, ...]) -> str:
    """Return "replace it with --overwrite, or " for a folder that is taken; "" if `overwrite` would refuse it.

    Args:
        folder: the folder.
        replaced: the classes of records that may be replaced.
    """
    try:
        check_is_replaceable(folder, replaced)
        check_has_no_other_files(folder)
    except UserError:
        return ""
    return f"replace it with {switch('overwrite')}, or "


def check_is_replaceable(folder: Path, replaced: tuple[type, ...]) -> None:
    """Raise InvalidInputError unless a folder holds a run, or a group of runs, of the classes that may be replaced."""
    try:
        record = open_run(folder)
        for run in _members(folder):
            open_run(run)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{switch('overwrite')} only replaces runs ({quote(error)}): choose another {option('out')}"
        ) from error
    if not isinstance(record, replaced):
        raise InvalidInputError(
            f"{switch('overwrite')} does not replace a {record.KIND} ('{folder}'): choose another {option('out')}"
        )
    if Path.cwd().is_relative_to(folder.resolve()):
        raise InvalidInputError(
            f"'{folder}' contains the current folder: leave it before you use {switch('overwrite')}"
        )


def check_has_no_other_files(folder: Path) -> None:
    """Raise InvalidInputError if the folder of a run holds anything but its own files and reports."""
    for path in _other_files(folder, open_run(folder)):
        raise InvalidInputError(
            f"'{folder}' holds '{path.relative_to(folder)}', which {switch('overwrite')} would delete: move it away "
            "first"
        )


def _other_files(folder: Path, record: Any) -> Iterator[Path]:
    members = _members(folder)
    for path in other_files(folder, record.FILES):
        yield from _other_files(path, open_run(path)) if path in members else [path]


def _members(folder: Path) -> list[Path]:
    """Return the folders of the runs in the folder of a group; empty for a single run."""
    return [] if (folder / CONFIG).exists() else sorted(path.parent for path in folder.glob(f"*/{CONFIG}"))


def has_begun(folder: Path) -> bool:
    """Return whether a run, or a run of a group, has recorded something that counts."""
    return any(map(_has_recorded, [folder, *_members(folder)]))


def _has_recorded(folder: Path) -> bool:
    if (folder / CHECKPOINT).is_file():
        return True
    with suppress(UserError, OSError):
        return (
            (folder / CONFIG).is_file() and not open_run(folder).HAS_CHECKPOINTS and any(read_lines(folder / METRICS))
        )
    return False


def _discard(old: Path, place: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    remove_leftovers(place)  # of an earlier process that was killed
