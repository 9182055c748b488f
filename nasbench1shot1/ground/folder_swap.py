"""Replacement of a folder by a new one: readers always find one of them, and a killed process loses neither.

On Linux the two change places in one step, where the file system can do that. Elsewhere two renames do it: the old
folder is moved aside, then the new one takes its name. A process that is killed between the two leaves the old folder
aside; whoever looks for the folder next, reader or writer, puts it back (`is_there`).

What lies aside is hidden and named for the folder and for the process that made it: `.NAME.MACHINE.PROCESS.TOKEN.part`
for a new folder that is being filled, and the same with `.old` for one that was moved away.
"""

import errno
import os
import platform
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

NEW, OLD = ".part", ".old"
_ATTEMPTS = 100
"""Each is only needed where another process replaced the same folder during the one before."""
_EXCHANGE, _WORKING_DIRECTORY = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux

Result = TypeVar("Result")


def name_aside(folder: Path, suffix: str) -> Path:
    """A name of this process's own beside `folder`, for what will take its place or did lie there."""
    machine = platform.node().replace(".", "_")
    return folder.with_name(f".{folder.name}.{machine}.{os.getpid()}.{secrets.token_hex(4)}{suffix}")


def put_in_place(new: Path, folder: Path) -> None:
    """Give `new` the name of `folder`, whatever was there; two processes that do it at once both succeed.

    Raises OSError where that is not possible; `folder` then is as before.
    """
    for _ in range(_ATTEMPTS):
        if _exchanged(new, folder):
            shutil.rmtree(new, ignore_errors=True)
            return
        if _renamed(new, folder):
            return
    raise OSError(errno.EBUSY, "other processes replace it all the time")


def _exchanged(new: Path, folder: Path) -> bool:
    """Let two folders change places; returns False where system or file system cannot, or where one is missing."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None), "renameat2", None)  # not in every C library
    if call is None:
        return False
    here, places = ctypes.c_int(_WORKING_DIRECTORY), [ctypes.c_char_p(os.fsencode(path)) for path in (new, folder)]
    return bool(call(here, places[0], here, places[1], ctypes.c_uint(_EXCHANGE)) == 0)


def _renamed(new: Path, folder: Path) -> bool:
    """Move the old folder aside and the new one in; returns False where a folder appeared between the two."""
    old = name_aside(folder, OLD)
    try:
        with suppress(FileNotFoundError):  # none was there, or another process has just moved it aside
            folder.rename(old)
        new.rename(folder)
    except BaseException as error:
        with suppress(OSError):  # nothing was moved aside, or another process put its folder in the place
            old.rename(folder)
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
    return True


def is_there(folder: Path) -> bool:
    """Return whether a folder exists, once what a killed replacement moved aside has been put back."""
    if folder.exists():
        return True
    folder = folder.resolve()
    for _, old in sorted(((_changed(old), old) for old in _aside(folder, OLD)), reverse=True):
        with suppress(OSError):  # it went, or another process put something in the place, or only reading is allowed
            old.rename(folder)
            break
    return folder.exists()


def is_aside(folder: Path) -> bool:
    """Return whether an old folder of this name was moved aside and is still there."""
    return any(_aside(folder.resolve(), OLD))


def read_steadily(folder: Path, read: Callable[[Path], Result]) -> Result:
    """Return `read(folder)` of one and the same folder: it is read anew where it was replaced meanwhile.

    Errors of `read` pass through, unless the folder was replaced while they arose.
    """
    for attempt in range(_ATTEMPTS):
        is_there(folder)
        before = _identity(folder)
        try:
            result = read(folder)
        except Exception:
            is_same = before is not None and _identity(folder) == before  # None: it was between two renames, perhaps
            if attempt == _ATTEMPTS - 1 or is_same:
                raise
            continue
        if _identity(folder) == before:
            break
    return result


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this machine left beside a folder; an old one stays if it is the only one."""
    for suffix in (NEW, OLD) if is_there(folder) else (NEW,):
        for left in _aside(folder, suffix):
            machine, process = left.name.split(".")[-4:-2]
            if machine == platform.node().replace(".", "_") and not _is_running(int(process)):
                shutil.rmtree(left, ignore_errors=True)


def _aside(folder: Path, suffix: str) -> Iterator[Path]:
    """Return the folders moved aside for this folder, but not for others whose names have a common prefix."""
    form = re.compile(rf"\.{re.escape(folder.name)}\.[^.]*\.\d{{1,12}}\.[0-9a-f]{{8}}\{suffix}")
    with suppress(OSError):  # there is no such place, or none that may be listed
        yield from [path for path in folder.parent.iterdir() if form.fullmatch(path.name)]


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """What tells a folder from one that takes its place later, even if the file system uses its number again."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_ctime_ns


def _changed(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_ctime_ns
    return 0


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
