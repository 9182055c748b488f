"""`search --overwrite`: a new search takes the folder of an old one, which is deleted once the new one is recorded."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nasbench1shot1.errors import InvalidInputError, RunStoppedError
from nasbench1shot1.files import write_error
from nasbench1shot1.ground.folder_swap import OLD, is_there, name_aside, remove_leftovers
from nasbench1shot1.one_shot_search.group import load_run
from nasbench1shot1.runs.folder import CHECKPOINT, SEEDS
from nasbench1shot1.runs.lifecycle import names_in
from nasbench1shot1.runs.lock import locked

REPLACE = "replace it with --overwrite, or "
"""The part of an error's advice that only searches have."""


@contextmanager
def overwritten(folder: Path, overwrite: bool) -> Iterator[Sequence[Callable[..., None]]]:
    """Move the search in a folder aside while a new one begins there.

    The context yields functions, whose arguments do not matter, that delete the old search; they are to be called once
    the new one has recorded an epoch. If the context ends with an exception before that, the old search is put back.

    Args:
        folder: the folder of a search or of a group of searches; a missing or empty folder is left as it is.
        overwrite: whether the option is given; without it, nothing is moved.

    Raises:
        InvalidInputError: the folder holds anything else, another process is writing to it, or it contains the current
            folder.
        DamagedFileError: its config.json or seeds.json is damaged.
        UserError: the folder cannot be moved.
    """
    if not overwrite or not (is_there(folder) and (not folder.is_dir() or names_in(folder))):
        yield []
        return
    check_replaceable(folder)
    place = folder.resolve()  # of a link, the folder itself
    old = name_aside(place, OLD)
    try:
        place.rename(old)
    except OSError as error:
        raise write_error(place, error) from error
    try:
        yield [lambda *_: _discard(old, place)]
    except BaseException as error:
        if is_begun(place):
            _discard(old, place)
            raise
        shutil.rmtree(place, ignore_errors=True)
        old.rename(place)
        if isinstance(error, RunStoppedError):
            raise KeyboardInterrupt(f"stopped before the first epoch was recorded; {folder} is unchanged") from error
        raise
    _discard(old, place)


def check_replaceable(folder: Path) -> None:
    """Raise InvalidInputError unless a folder holds a search, or a group of searches, that nobody is writing to."""
    try:
        load_run(folder)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"--overwrite only replaces searches ({error.for_command_line}): choose another --out"
        ) from error
    if Path.cwd().is_relative_to(folder.resolve()):
        raise InvalidInputError(f"'{folder}' contains the current folder: leave it before you use --overwrite")
    for run in [folder, *(path.parent for path in folder.glob("seed-*/config.json"))]:
        with locked(run):
            pass


def is_begun(folder: Path) -> bool:
    """Return whether a search, or a search of a group, has recorded an epoch."""
    return (folder / CHECKPOINT).is_file() or ((folder / SEEDS).is_file() and any(folder.glob(f"*/{CHECKPOINT}")))


def _discard(old: Path, place: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    remove_leftovers(place)  # of an earlier process that was killed
