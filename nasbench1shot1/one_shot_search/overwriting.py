"""`search --overwrite`: a new search takes the folder of an old one, which is deleted once the new one is recorded."""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError
from nasbench1shot1.ground.files import FORMATS, picture_name, write_error
from nasbench1shot1.ground.folder_swap import (
    NEW,
    OLD,
    is_abandoned,
    recover_folder,
    remove_leftovers,
    temporary_sibling,
)
from nasbench1shot1.one_shot_search.group import SearchGroup, load_run
from nasbench1shot1.one_shot_search.record import CELLS, EVENTS, FIGURE, PARAMETERS, Run, open_search
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, ENVIRONMENT, METRICS, SEEDS, SUMMARY, WEIGHTS
from nasbench1shot1.runs.lifecycle import is_aborted_start, list_names, locked_folder, remove_aborted_start
from nasbench1shot1.runs.lock import LOCK, locked

REPLACE = "replace it with --overwrite, or "
"""The part of an error's advice that only searches have."""
OF_A_SEARCH = {
    *(CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, SUMMARY, SEEDS, PARAMETERS, WEIGHTS, EVENTS),
    *(picture_name(name, suffix) for name in (FIGURE, CELLS) for suffix in FORMATS),
}
"""What a search, or a group of searches, writes into its folder."""


@contextmanager
def moved_aside(folder: Path, overwrite: bool) -> Iterator[Sequence[Callable[..., None]]]:
    """Move the search in a folder aside while a new one begins there.

    The context yields functions, whose arguments do not matter, that delete the old search and what killed processes
    left of others; they are to be called once the new search has recorded an epoch. If the context ends with an
    exception before that, the old search is put back.

    Args:
        folder: the folder of a search or of a group of searches; a missing or empty folder is left as it is. If a
            process was killed after it had moved a search aside, and before it wrote the options of the new one, the
            old search is put back first.
        overwrite: whether the option is given; without it, nothing is moved aside.

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
    old = _move_aside(folder)
    try:
        yield [lambda *_: _discard(old, place)]
    except BaseException as error:
        if has_recorded_epoch(place):
            _discard(old, place)
            raise
        _restore(old, place)
        if isinstance(error, RunStoppedError):
            raise KeyboardInterrupt(f"stopped before the first epoch was recorded; {folder} is unchanged") from error
        raise
    _discard(old, place)


def _restore(old: Path, place: Path) -> None:
    """Put the old search back, unless another process is writing to its place or has put it back already."""
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
            with locked_folder(place):
                remove_aborted_start(place)
        recover_folder(place)


def _move_aside(folder: Path) -> Path:
    """Rename the folder of a search under its locks; return the new path. Raises the errors of `moved_aside`."""
    check_is_search(folder)
    place = folder.resolve()
    old = temporary_sibling(place, OLD)
    with ExitStack() as locks:
        for run in [place, *_seed_folders(place)]:
            locks.enter_context(locked(run))
        check_has_no_other_files(folder)
        try:
            place.rename(old)
        except OSError as error:
            raise write_error(place, error) from error
        for run in [old, *_seed_folders(old)]:  # they moved along, and would lock the folder if it is put back
            (run / LOCK).unlink(missing_ok=True)
    return old


def check_is_search(folder: Path) -> None:
    """Raise InvalidInputError unless a folder holds a search of this package, or a group of them."""
    try:
        record = load_run(folder)
        for run in _seed_folders(folder):
            open_search(run)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"--overwrite only replaces searches ({error.for_command_line}): choose another --out"
        ) from error
    if not isinstance(record, Run | SearchGroup):
        raise InvalidInputError(f"--overwrite does not replace a {record.KIND} ('{folder}'): choose another --out")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise InvalidInputError(f"'{folder}' contains the current folder: leave it before you use --overwrite")


def check_has_no_other_files(folder: Path) -> None:
    """Raise InvalidInputError if the folder of a search holds anything but its own files and reports."""
    for path in _other_files(folder):
        raise InvalidInputError(
            f"'{folder}' holds '{path.relative_to(folder)}', which --overwrite would delete: move it away first"
        )


def _other_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and re.fullmatch(r"seed-\d+", path.name):
            yield from _other_files(path)
        elif not (path.name in OF_A_SEARCH or _is_leftover(path.name) or _is_report(path)):
            yield path


def _is_leftover(name: str) -> bool:
    """Return whether a file is a lock, a worker's output, or what a killed process left."""
    return name.startswith(LOCK) or re.fullmatch(r"seed-\d+\.log|\..+\.(part|old)", name) is not None


def _is_report(path: Path) -> bool:
    return path.is_dir() and path.name.startswith("report-")


def _seed_folders(folder: Path) -> list[Path]:
    """Return the folders of the searches of a group."""
    return [path.parent for path in folder.glob(f"seed-*/{CONFIG}")]


def has_recorded_epoch(folder: Path) -> bool:
    """Return whether a search, or a search of a group, has recorded an epoch."""
    return (folder / CHECKPOINT).is_file() or ((folder / SEEDS).is_file() and any(folder.glob(f"*/{CHECKPOINT}")))


def _discard(old: Path, place: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    remove_leftovers(place)  # of an earlier process that was killed
