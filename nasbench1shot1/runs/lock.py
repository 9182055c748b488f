"""The lock of a run's folder: one process writes at a time, on all machines that share the file system.

The lock is a file that its holder refreshes, because `flock` does not work on every shared file system. A process that
is killed leaves the file behind. On the same machine the next process sees at once that the holder is gone, or has
ended and only waits for its parent (a zombie). On another machine, or in another container, it waits until the file has
not been refreshed for `LEASE` seconds.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import LEASE, remove_empty_lock, remove_lock, write_error
from nasbench1shot1.ground.processes import ENDED, thread_states

LOCK = ".lock"


class FolderLock:
    """The lock of a folder; `locked` holds it for a context."""

    def __init__(self, folder: Path) -> None:
        from filelock import SoftFileLease

        self.folder = folder
        self._lease = SoftFileLease(folder / LOCK, lease_duration=LEASE, thread_local=False)

    @property
    def is_lost(self) -> bool:
        """Whether another process took the lock, which can happen if this process was suspended for long."""
        return self._lease.compromise is not None

    def check(self) -> None:
        """Raise UserError if the lock is lost."""
        if self.is_lost:
            raise UserError(
                f"another process has taken over {self.folder}, because this one did not run for a while: resume the "
                "run once the other process has ended"
            )

    def acquire(self) -> None:
        """Take the lock; wait only for a holder that this machine does not see. A missing folder is made.

        Raises:
            InvalidInputError: another process, or another lock of this process, holds the lock.
            UserError: the lock's file cannot be written.
        """
        from filelock import Timeout

        remove_empty_lock(self.folder / LOCK)
        self._remove_if_zombie()
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
            return f"this process is already writing to {self.folder}: finish that run, or close its recorder, first"
        return f"another process is writing to {self.folder}: wait until it ends, or stop it"

    def _is_held_here(self) -> bool:
        """Return whether the holder is a process that runs on this machine; False if the file is unreadable."""
        return bool(_states_of_holder(self._lines()))

    def _remove_if_zombie(self) -> None:
        """Remove the lock's file if its holder is a zombie: it has ended, but its parent has not yet waited for it.

        filelock counts such a process as running.
        """
        lines = self._lines()
        states = _states_of_holder(lines)
        if states and not states - ENDED:
            remove_lock(self.folder / LOCK, lambda aside: _lines_of(aside) == lines)

    def _lines(self) -> list[str]:
        """Return the lines of the lock's file, none if it is missing or unreadable."""
        return _lines_of(self.folder / LOCK)


@contextmanager
def locked(folder: Path) -> Iterator[FolderLock]:
    """Hold the lock of an existing folder; raises the errors of `FolderLock.acquire`."""
    lock = FolderLock(folder)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a lock's file, none if it is missing or unreadable."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _states_of_holder(lines: list[str]) -> set[str]:
    """Return `thread_states` of the process that a lock's file names, if it runs, or is a zombie, on this machine."""
    about = dict(line.partition("=")[::2] for line in lines)
    host, own, pid, start = about.get("host", ""), socket.gethostname(), about.get("pid", ""), about.get("start", "")
    if not (host == own or host.startswith(f"{own}?")) or not pid.isdecimal():  # "?" begins a container's name
        return set()
    return thread_states(int(pid), int(start) % 2**64 if start.isdecimal() else None)  # above: the id of the boot
