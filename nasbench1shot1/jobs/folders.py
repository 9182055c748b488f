"""The state of a run's folder: not started, stopped, finished, or locked by another process."""

import time
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.runs.folder import CONFIG, SUMMARY
from nasbench1shot1.runs.lock import locked

LOOK_EVERY = 0.2  # seconds


def is_started(folder: Path) -> bool:
    """Return whether the folder contains a run, which must be resumed instead of started."""
    return (folder / CONFIG).is_file()


def is_finished(folder: Path) -> bool:
    """Return whether the folder contains a finished run."""
    return is_started(folder) and (folder / SUMMARY).is_file()


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait until no other process holds the folder's lock, or until the time has passed.

    A lost worker may still hold the lock for a moment. If the lock is not free afterwards, taking it raises an error.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and folder.is_dir() and _is_locked(folder):
        time.sleep(LOOK_EVERY)


def _is_locked(folder: Path) -> bool:
    try:
        with locked(folder):
            return False
    except InvalidInputError:
        return True
