"""Files and folders: where data lives, and writing that never leaves half a file behind."""

import errno
import hashlib
import json
import os
import platform
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from nasbench1shot1.errors import DamagedFileError, UserError

PACKAGE_DATA = Path(__file__).parent / "data"


def data_folder() -> Path:
    """Where imported tables, images and caches live: NB1SHOT1_DATA, else the user's cache directory."""
    if named := os.environ.get("NB1SHOT1_DATA"):
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("nasbench1shot1")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `path` for writing, and put it in the place of `path` only once it is whole.

    Raises UserError where the disk is full or the folder cannot be written; `path` then is as before.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Raise UserError where a folder cannot be made or replaced; to be asked before long work."""
    try:
        parent = folder.resolve().parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{parent} is no folder")
        with tempfile.TemporaryDirectory(prefix=".", dir=parent):  # rights alone do not tell, of /proc for one
            pass
    except OSError as error:
        raise write_error(folder, error) from error


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder`, put in its place at the end; removed if anything goes wrong.

    Of two processes that write the same folder at once, the one that ends last has its way.
    Raises UserError where the disk is full or the folder cannot be written; `folder` then is as before.
    """
    folder = folder.resolve()
    own = f".{folder.name}.{platform.node()}.{os.getpid()}.{secrets.token_hex(4)}"
    beside, old = folder.with_name(own + ".part"), folder.with_name(own + ".old")
    swapped = False
    try:
        beside.mkdir(parents=True)
        _remove_leftovers(folder)
        yield beside
        _swap(beside, folder, old)
        swapped = True
    except OSError as error:
        raise write_error(folder, error) from error
    finally:
        if not swapped:  # after a swap, a missing folder is another process's swap, not ours to undo
            with suppress(OSError):  # nothing was moved away, or another process has put its folder there
                old.rename(folder)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _swap(beside: Path, folder: Path, old: Path) -> None:
    with locked(folder.parent):  # the two renames of another process never come between these
        with suppress(FileNotFoundError):
            folder.rename(old)
        beside.rename(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process holds this folder; on Windows, where there are no such locks, do not wait."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this machine left; an old folder stays if it is the only one."""
    start = f".{folder.name}.{platform.node()}."
    for left in folder.parent.iterdir():
        process = left.name.removeprefix(start).split(".")[0]
        if not left.name.startswith(start) or not process.isdecimal() or _is_running(int(process)):
            continue
        if left.suffix == ".part" or (left.suffix == ".old" and folder.exists()):
            shutil.rmtree(left, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_json(path: Path, content: Any) -> None:
    """Write `content` as readable JSON, whole or not at all."""
    with replacing(path) as file:
        file.write((json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read a JSON file; raises DamagedFileError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise DamagedFileError(f"{path} cannot be read as JSON ({error}): restore it or make it anew") from error


def write_error(path: Path, error: OSError) -> UserError:
    """The one sentence for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"no space left on the disk while writing {path}: free some space, then resume or run again")
    return UserError(f"cannot write {path} ({error.strerror or error}): choose another folder or mend its rights")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
