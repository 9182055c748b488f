"""Files and folders: where data lives, and writing that never leaves half a file behind."""

import errno
import hashlib
import json
import os
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
