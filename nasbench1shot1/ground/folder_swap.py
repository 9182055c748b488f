"""Atomic replacement of a folder by a new one: readers always find one of them, and a killed process loses neither.

On Linux, the two folders are exchanged in one step if the file system supports it. Otherwise, two renames are needed:
the old folder is moved aside, then the new one takes its name. If the process is killed between the two, the next
reader or writer moves the old folder back (`recover_folder`).

Temporary folders are hidden and named after the folder and the process that created them:
`.NAME.MACHINE.PROCESS.TOKEN.part` for a new folder that is being filled, and `.NAME.MACHINE.PROCESS.TOKEN.old` for an
old folder that was moved aside.
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

from nasbench1shot1.ground.processes import is_running

NEW, OLD = ".part", ".old"
_ATTEMPTS = 100
"""Maximum number of attempts; another one is needed if another process replaced the folder during the previous one."""
_EXCHANGE, _WORKING_DIRECTORY = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux

Result = TypeVar("Result")


def temporary_sibling(folder: Path, suffix: str) -> Path:
    """Return a unique path next to `folder`, for a folder that will replace it or that was moved aside."""
    return folder.with_name(f".{folder.name}.{machine_name()}.{os.getpid()}.{secrets.token_hex(4)}{suffix}")


def machine_name() -> str:
    """Return the name of this machine, without dots, for names of temporary files and folders."""
    return platform.node().replace(".", "_")


def copy_attributes(folder: Path, new: Path) -> None:
    """Give a new, empty folder the permissions, owner and group of `folder`, as far as this user may set them.

    If this is done before files are created, they inherit the group and the default access list. Nothing is copied if
    `folder` does not exist.
    """
    with suppress(OSError):
        about = folder.stat()
        for owner in (about.st_uid, -1):  # -1: only the group, which its members may also set
            with suppress(OSError, AttributeError):  # Windows has no chown
                os.chown(new, owner, about.st_gid)
        shutil.copystat(folder, new)


def swap_folder(new: Path, folder: Path) -> None:
    """Move `new` to `folder` and remove the old folder; if two processes do this at the same time, both succeed.

    Raises OSError if this is not possible; `folder` is unchanged then.
    """
    for _ in range(_ATTEMPTS):
        if _try_exchange(new, folder):
            shutil.rmtree(new, ignore_errors=True)
            return
        if _try_rename(new, folder):
            return
    raise OSError(errno.EBUSY, "other processes keep replacing it")


def _try_exchange(new: Path, folder: Path) -> bool:
    """Exchange two folders; return False if the system or file system does not support it, or a folder is missing."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None), "renameat2", None)  # not in every C library
    if call is None:
        return False
    here, places = ctypes.c_int(_WORKING_DIRECTORY), [ctypes.c_char_p(os.fsencode(path)) for path in (new, folder)]
    return bool(call(here, places[0], here, places[1], ctypes.c_uint(_EXCHANGE)) == 0)


def _try_rename(new: Path, folder: Path) -> bool:
    """Move the old folder aside and the new one in; return False if another folder appeared between the two."""
    old = temporary_sibling(folder, OLD)
    try:
        with suppress(FileNotFoundError):  # it does not exist, or another process has just moved it aside
            folder.rename(old)
        new.rename(folder)
    except BaseException as error:
        with suppress(OSError):  # nothing was moved aside, or another process has put its folder there
            old.rename(folder)
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
    return True


def discard_folder(folder: Path) -> None:
    """Remove a folder, if it exists; a process that is killed meanwhile leaves it whole, or under a temporary name."""
    aside = temporary_sibling(folder, NEW)
    with suppress(OSError):  # it does not exist, or cannot be moved
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def recover_folder(folder: Path) -> bool:
    """Return whether a folder exists, after moving back a folder that a killed process had moved aside."""
    if folder.exists():
        return True
    folder = folder.resolve()
    for _, old in sorted(((_change_time(old), old) for old in _temporary_folders(folder, OLD)), reverse=True):
        with suppress(OSError):  # it has disappeared, another process has put a folder there, or it is read-only
            old.rename(folder)
            break
    return folder.exists()


def is_abandoned(folder: Path) -> bool:
    """Return whether an old folder with this name was moved aside, by processes that do not run on this machine."""
    owners = [_owner(old) for old in _temporary_folders(folder.resolve(), OLD)]
    return bool(owners) and not any(is_here and is_running(process) for is_here, process in owners)


def read_consistently(folder: Path, read: Callable[[Path], Result]) -> Result:
    """Return `read(folder)`; if the folder is replaced at the same time, read it again.

    Errors of `read` are raised, unless the folder was replaced at the same time.
    """
    for attempt in range(_ATTEMPTS):
        recover_folder(folder)
        before = _identity(folder)
        try:
            result = read(folder)
        except Exception:
            is_same = before is not None and _identity(folder) == before  # None: possibly between two renames
            if attempt == _ATTEMPTS - 1 or is_same:
                raise
            continue
        if _identity(folder) == before:
            break
    return result


def remove_leftovers(folder: Path) -> None:
    """Remove temporary folders of this machine's killed processes; keep an old folder if it is the only one."""
    for suffix in (NEW, OLD) if recover_folder(folder) else (NEW,):
        for left in _temporary_folders(folder, suffix):
            is_here, process = _owner(left)
            if is_here and not is_running(process):
                shutil.rmtree(left, ignore_errors=True)


def _temporary_folders(folder: Path, suffix: str) -> Iterator[Path]:
    """Yield the temporary folders of this folder, but not of others whose names start with its name."""
    form = re.compile(rf"\.{re.escape(folder.name)}\.[^.]*\.\d{{1,12}}\.[0-9a-f]{{8}}\{suffix}")
    with suppress(OSError), os.scandir(folder.parent) as entries:  # the parent may not exist, or may not be listed
        yield from [folder.parent / entry.name for entry in entries if form.fullmatch(entry.name)]


def _owner(aside: Path) -> tuple[bool, int]:
    """Return whether a temporary folder was made on this machine, and by which process."""
    machine, process = aside.name.split(".")[-4:-2]
    return machine == machine_name(), int(process)


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return a value that differs for a folder and its replacement, even if the file system reuses the inode number."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_ctime_ns


def _change_time(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_ctime_ns
    return 0
