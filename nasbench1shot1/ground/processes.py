"""Whether another process of this machine still runs."""

import os
import sys
from pathlib import Path

ENDED = frozenset("ZX")
"""States of a zombie: a process that has ended, but whose parent has not yet waited for it."""


def is_running(process: int) -> bool:
    """Return whether the process with a number runs on this machine; a zombie does not."""
    return bool(thread_states(process) - ENDED)


def thread_states(process: int, start: int | None = None) -> set[str]:
    """Return the states of a process's threads, such as {"S"}, or {"Z"} for a zombie; empty if there is no process.

    On systems other than Linux, every process counts as sleeping ("S").

    Args:
        process: its number.
        start: its start time in clock ticks since boot, if known; process numbers are reused.
    """
    if sys.platform == "linux":
        folder = Path("/proc", str(process))
        try:
            if start is not None and start != int(_status(folder)[19]):
                return set()
            return {_status(thread)[0] for thread in (folder / "task").iterdir()}
        except (OSError, IndexError, ValueError):
            pass  # it has ended meanwhile, or this user may not see it
    return {"S"} if _exists(process) else set()


def _status(process: Path) -> list[str]:
    """Return the fields of proc(5)'s `stat` after the name: the state is the first, the start time the 20th."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
