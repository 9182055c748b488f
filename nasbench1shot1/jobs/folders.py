"""The state of a run's folder as jobs see it: not begun, stopped, finished, or held by another process."""

import time
from pathlib import Path

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.runs.folder import CONFIG, SUMMARY
from nasbench1shot1.runs.lock import locked

LOOK_EVERY = 0.2  # seconds


def is_started(folder: Path) -> bool:
    """Return whether the folder holds a run, which must then be resumed rather than started."""
    return (folder / CONFIG).is_file()


def is_finished(folder: Path) -> bool:
    """Return whether the folder holds a run that reached its end."""
    return is_started(folder) and (folder / SUMMARY).is_file()


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait until no other process holds the folder's lock, or until the time is up.

    A worker that was lost may still hold the lock for a moment. Who takes the lock afterwards reports whether it is
    free.
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
