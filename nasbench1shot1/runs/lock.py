"""The lock of a run's folder: one process writes at a time, on all machines that share the file system.

The lock is a file that its holder refreshes, because `flock` does not work on every shared file system. A process that
is killed leaves the file behind. On the same machine the next process sees at once that the holder is gone; on another
machine it waits until the file has not been refreshed for `LEASE` seconds.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import LEASE, write_error

LOCK = ".lock"


class FolderLock:
    """The lock of a folder; `locked` holds it for a context."""

    def __init__(self, folder: Path) -> None:
        from filelock import SoftFileLease

        self.folder = folder
        self._lease = SoftFileLease(folder / LOCK, lease_duration=LEASE, thread_local=False)

    def check(self) -> None:
        """Raise UserError if another process took the lock, which happens if this process was suspended for long."""
        if self._lease.compromise is not None:
            raise UserError(
                f"another process has taken over {self.folder}, because this one did not run for a while: resume the "
                "run once the other process has ended"
            )

    def acquire(self) -> None:
        """Take the lock; wait only for a holder on another machine, which may be dead. A missing folder is made.

        Raises:
            InvalidInputError: another process, or another lock of this process, holds the lock.
            UserError: the lock's file cannot be written.
        """
        from filelock import Timeout

        self._remove_if_empty()
        try:
            try:
                self._lease.acquire(timeout=0)
            except Timeout:
                if self._is_held_here():
                    raise
                self._lease.acquire(timeout=1.5 * LEASE, poll_interval=0.2)
        except Timeout as error:  # an OSError, too
            raise InvalidInputError(self._refusal()) from error
        except OSError as error:
            raise write_error(self.folder / LOCK, error) from error

    def release(self) -> None:
        """Release the lock and remove its file."""
        self._lease.release()

    def _refusal(self) -> str:
        own = {f"host={socket.gethostname()}", f"pid={os.getpid()}"}
        if own <= set(self._lines()):
            return f"this process is already writing to {self.folder}: finish or close the recorder or run that does"
        return f"another process is writing to {self.folder}: wait until it ends, or stop it"

    def _is_held_here(self) -> bool:
        """Return whether the lock's file names this machine; False if it is missing or unreadable."""
        own = f"host={socket.gethostname()}"
        return any(line == own or line.startswith(f"{own}?") for line in self._lines())  # "?" begins a container's name

    def _lines(self) -> list[str]:
        """Return the lines of the lock's file, none if it is missing or unreadable."""
        try:
            return (self.folder / LOCK).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _remove_if_empty(self) -> None:
        """Remove an empty lock file: its process died, or the disk was full, before it could be written."""
        path = self.folder / LOCK
        with suppress(OSError):
            if path.stat().st_size == 0 and time.time() - path.stat().st_mtime > LEASE:
                path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[FolderLock]:
    """Hold the lock of an existing folder; raises the errors of `FolderLock.acquire`."""
    lock = FolderLock(folder)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()
