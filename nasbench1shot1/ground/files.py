"""Files and folders: paths from users, the data folder, atomic writing, and reading of JSON and .npz files."""

import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn, get_args

from nasbench1shot1.ground.errors import (
    DamagedFileError,
    InvalidInputError,
    UserError,
    alternatives,
    option,
    quoted_option,
    shorten,
)
from nasbench1shot1.ground.folder_swap import (
    NEW,
    copy_attributes,
    machine_name,
    remove_leftovers,
    swap_folder,
    temporary_sibling,
)
from nasbench1shot1.ground.processes import is_running

if TYPE_CHECKING:
    import zipfile

    import numpy as np
    from numpy.typing import NDArray


PACKAGE_DATA = Path(__file__).parent.parent / "data"
LEASE = 60.0
"""Seconds without a refresh after which another machine may take a lock; holders refresh three times as often."""
EMPTY_SECONDS = 5.0
"""Seconds after which an empty lock belongs to no running process; writing one takes milliseconds."""
PictureFormat = Literal["png", "svg", "pdf"]
"""File formats of pictures."""
FORMATS: tuple[PictureFormat, ...] = get_args(PictureFormat)
PICTURES = tuple(f".{name}" for name in FORMATS)
DATA_SUFFIX, TEXT_SUFFIX = ".csv", ".txt"
"""Suffixes of the files beside a picture: its data, and its title and caption."""
_DEFLATE_AT_MOST = 1_100
"""Maximum compression ratio of deflate, rounded up from 1,032."""
_OPEN_FILES = (errno.EMFILE, errno.ENFILE)
_RAISE_LIMIT = "raise the limit of open files, for example with ulimit -n 4096"
_BLOCKED = (*_OPEN_FILES, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE)
"""Errors of the system which do not mean that a file is missing or damaged."""


def as_path(value: str | os.PathLike[str], name: str, is_option: bool = False) -> Path:
    """Return the path that an option, argument or environment variable names, with a leading ~ expanded.

    The path need not exist. `exists`, `is_file` and `is_dir` of the result do not raise.

    Args:
        value: the user's value.
        name: name of the option, argument or variable for the message, such as "out", "folder" or "NB1SHOT1_DATA".
        is_option: the name is an option's, which the command line writes with dashes.

    Raises:
        InvalidInputError: `value` is not text, is empty, contains NUL or bytes that are not UTF-8, starts with the
            home folder of an unknown user, is longer than the file system allows, or is a folder, or in a folder, that
            this user may not search.
    """
    try:
        text = os.fspath(value)
        text.encode()  # paths are recorded in JSON and printed, both in UTF-8
        if not text:
            raise ValueError("it is empty")
        path = Path(text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(f"{path}/.")  # noqa: PTH116 - pathlib drops the ".", which needs a folder that may be searched
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        is_text = isinstance(value, str | os.PathLike)
        shown = shorten(str(value), 200)
        if is_option:
            named = quoted_option(name, shown) if is_text else option(name, shown if shown != str(value) else value)
        else:
            named = f"{name} '{shown}'" if is_text else f"{name} {shown}"
        raise InvalidInputError(f"{named} is not a usable path ({_path_fault(error)}): give another") from error
    return path


def _path_fault(error: Exception) -> str:
    """Return why a path cannot be used."""
    if isinstance(error, UnicodeEncodeError):
        return "it is not UTF-8"
    if isinstance(error, RuntimeError):  # pathlib's error for ~nosuchuser/x
        return "there is no such user's home folder"
    return getattr(error, "strerror", None) or str(error)


def data_folder() -> Path:
    """Return the folder of imported tables, images and caches: NB1SHOT1_DATA, or else the user's cache directory."""
    if named := os.environ.get("NB1SHOT1_DATA"):
        return as_path(named, "NB1SHOT1_DATA")
    from platformdirs import user_cache_path

    return user_cache_path("nasbench1shot1")


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, and move it to `path` when it is complete.

    Temporary files that killed processes of this machine left in the folder are removed.

    Raises UserError if the disk is full or the folder cannot be written; `path` is unchanged then.
    """
    beside = path.with_name(f".{path.name}.{machine_name()}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_parts(path.parent)
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


def _remove_left_parts(folder: Path) -> None:
    """Remove temporary files of this machine's processes that no longer run."""
    form = re.compile(rf"\..+\.{re.escape(machine_name())}\.(\d{{1,12}})\.part")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (left := form.fullmatch(entry.name)) and not is_running(int(left[1])) and entry.is_file():
                Path(entry).unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Raise UserError if a folder cannot be created or replaced; call this before long work."""
    try:
        parent = folder.resolve().parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{parent} is not a folder")
        with tempfile.TemporaryFile(dir=parent) as file:  # has no name, so a killed process leaves no file
            file.write(b"\0")  # checking permissions is not sufficient in /proc or on a full disk
    except OSError as error:
        raise write_error(folder, error) from error


def check_writable_file(file: Path, name: str) -> None:
    """Raise UserError if a file, which an option names, is a folder, or cannot be created or replaced."""
    if file.is_dir():
        raise InvalidInputError(f"{quoted_option(name, file)} is a folder: give the name of a file")
    check_writable(file)


def check_replaceable(folder: Path) -> None:
    """Raise UserError if `atomic_folder` cannot create or replace a folder; call this before long work."""
    _check_may_move(folder)
    check_writable(folder)


def _check_may_move(folder: Path) -> None:
    """Raise UserError if a folder exists and must stay where it is.

    A mount point cannot be moved, and the current folder would be deleted under the user's shell.
    """
    place = folder.resolve()
    try:
        is_mount = place.is_mount()
    except OSError:  # another process is replacing it
        return
    if is_mount:
        raise InvalidInputError(f"'{folder}' is a mount point, so it cannot be replaced: choose a folder inside it")
    with suppress(FileNotFoundError):  # the current folder may have been removed
        if Path.cwd().is_relative_to(place):
            raise InvalidInputError(
                f"'{folder}' contains the current folder, so it cannot be replaced: choose a folder inside it, or "
                "change to another folder first"
            )
    is_locked = not os.access(place, os.W_OK) and place.is_dir()
    if is_locked and not os.access(place, os.W_OK):  # again: another process may be replacing it
        raise write_error(folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Create an empty temporary folder, and move it to `folder` at the end; remove it after an error.

    A folder that replaces another one keeps its permissions and, if this user may set them, its owner and group.
    If two processes write the same folder at the same time, the result of the process that ends last is kept.
    Raises UserError if the disk is full or the folder cannot be written or replaced; `folder` is unchanged then.
    """
    _check_may_move(folder)
    folder = folder.resolve()
    beside = temporary_sibling(folder, NEW)
    try:
        beside.mkdir(parents=True)
        copy_attributes(folder, beside)
        remove_leftovers(folder)
        yield beside
        swap_folder(beside, folder)
    except OSError as error:
        raise write_error(folder, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def file_lock(file: Path) -> Iterator[None]:
    """Wait until no other process holds this lock, and hold it; also works on shared file systems, unlike `flock`.

    The lock is a file that its holder refreshes. The lock of a killed process is taken over immediately on the same
    machine, and after `LEASE` seconds on another machine. A holder that is suspended for that long can lose the lock,
    so it must only protect work that may be done twice.

    Raises UserError if the file cannot be written.
    """
    from filelock import SoftFileLease, Timeout

    lease = SoftFileLease(file, lease_duration=LEASE)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        while not lease.is_locked:
            remove_empty_lock(file)
            with suppress(Timeout):
                lease.acquire(timeout=LEASE)
    except OSError as error:
        raise write_error(file, error) from error
    try:
        yield
    finally:
        lease.release()


def remove_empty_lock(file: Path) -> None:
    """Remove the file of a lock if it stays empty: its process was killed, or the disk was full, before it was written.

    filelock would wait for such a lock for ever.
    """
    began, first = time.monotonic(), None
    with suppress(OSError):
        while (now := file.stat()).st_size == 0:
            first = first or now
            if (now.st_ino, now.st_mtime_ns) != (first.st_ino, first.st_mtime_ns):  # the lock of another process
                began, first = time.monotonic(), now
            is_old = abs(time.time() - now.st_mtime) > LEASE  # clocks also jump back
            if is_old or time.monotonic() - began > EMPTY_SECONDS:
                remove_lock(file, lambda aside: aside.stat().st_size == 0)
                return
            time.sleep(0.1)


def remove_lock(file: Path, is_stale: Callable[[Path], bool]) -> None:
    """Remove the file of a lock without a holder; a lock that another process takes at the same moment is put back."""
    aside = file.with_name(f"{file.name}.break.{os.getpid()}.{secrets.token_hex(16)}")
    with suppress(OSError):
        file.rename(aside)
        if not is_stale(aside):
            os.link(aside, file)
        aside.unlink()


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, completely or not at all."""
    with atomic_write(path) as file:
        file.write((json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def picture_name(name: str, format: PictureFormat | None) -> str:
    """Return a picture's file name, such as "regret.png", with the suffix of a format. Default: png."""
    return f"{name.rpartition('.')[0]}.{format or 'png'}"


def picture_files(name: str) -> tuple[str, ...]:
    """Return the names that a picture and the files beside it can have, in all formats, such as "regret.csv"."""
    suffixes = (*PICTURES, DATA_SUFFIX, TEXT_SUFFIX)
    return tuple(Path(name).with_suffix(suffix).name for suffix in suffixes)


def check_picture(path: Path | None) -> None:
    """Raise InvalidInputError if a path's suffix is not one of `PICTURES`; None (no picture) is valid."""
    if path is not None and path.suffix not in PICTURES:
        raise InvalidInputError(f"'{path}' is not the name of a picture: it must end in {alternatives(PICTURES)}")


def read_json(path: Path) -> Any:
    """Read a JSON file; raises DamagedFileError if it is missing or `parse_json` refuses it."""
    try:
        return parse_json(read_text(path))
    except (ValueError, OSError, RecursionError) as error:
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read as JSON ({reason(error)}): restore it or create it again"
        ) from error


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or has what a valid JSON encoder never writes: NaN, an infinite number such as
            1e400, an object with two equal keys, or text that cannot be encoded in UTF-8.
        RecursionError: it is nested too deeply.
    """
    content = json.loads(
        text, parse_constant=_refuse_constant, parse_float=_finite_float, object_pairs_hook=_distinct_keys
    )
    if _SURROGATE.search(text):  # pairs of surrogates are valid
        json.dumps(content, ensure_ascii=False).encode()
    return content


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite_float(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number} is too large for a float")
    return value


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has the key '{next(name for name in names if names.count(name) > 1)}' twice")
    return found


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file for reading; files that this process has not just written are opened only with this function.

    Raises OSError also for anything but a regular file: reading a FIFO or a device could wait for ever.
    """
    return io.BufferedReader(io.FileIO(_open_without_waiting(path, os.O_RDONLY)))


def open_to_append(path: Path) -> io.BufferedWriter:
    """Open a file for appending, and create it if it is missing; raises OSError as `open_regular` does."""
    try:
        descriptor = _open_without_waiting(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        if error.errno != errno.ENXIO:  # a FIFO that nobody reads
            raise
        raise _not_regular_error(path) from error
    return io.BufferedWriter(io.FileIO(descriptor, "a"))


def _open_without_waiting(path: Path, flags: int) -> int:
    """Return the descriptor of a regular file; raises OSError for anything else."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), 0o666)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise _not_regular_error(path)
        return descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _not_regular_error(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raises the errors of `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 file; raises the errors of `open_regular`, and UnicodeDecodeError."""
    with io.TextIOWrapper(open_regular(path), encoding="utf-8") as file:
        return file.read()


def blocked_error(path: Path, error: BaseException) -> UserError | None:
    """Return the error for a file that the system does not let this process read although it may be intact.

    None for errors with other causes, such as a missing or damaged file.
    """
    if not isinstance(error, OSError) or error.errno not in _BLOCKED:
        return None
    why = error.strerror or str(error)
    if error.errno in _OPEN_FILES:
        return UserError(f"cannot read {path} ({why}): {_RAISE_LIMIT}")
    if error.errno == errno.ENOMEM:
        return UserError(f"cannot read {path} ({why}): end other programs, or use a machine with more memory")
    return UserError(f"cannot read {path} ({why}): change its permissions, or check the disk")


def read_error(path: Path, error: OSError) -> UserError:
    """Return the error for a failed read of a file that the user gave."""
    return UserError(f"cannot read {path} ({error.strerror or error}): check the path and its permissions")


def write_error(path: Path, error: OSError) -> UserError:
    """Return the error for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"no space left on the disk while writing {path}: free some space, then resume or run again")
    if error.errno in _OPEN_FILES:
        return UserError(f"cannot write {path} ({error.strerror or error}): {_RAISE_LIMIT}")
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return UserError(f"cannot write {path}, because a part of this path is a file: choose another folder")
    return UserError(
        f"cannot write {path} ({error.strerror or error}): change its permissions or choose another folder"
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_npz(
    path: Path, remedy: str = "restore it or create it again", needed: Iterable[str] = ()
) -> "dict[str, NDArray[Any]]":
    """Read all arrays of an `.npz` file without pickle, and check their CRCs.

    It never allocates more memory than the archive can fill, even if its headers claim more.

    Args:
        path: the file.
        remedy: the advice in errors.
        needed: names of required arrays.

    Raises DamagedFileError if the file or an array is missing, or the file is not an archive of complete, plain arrays.
    """
    import zipfile

    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            arrays = {info.filename.removesuffix(".npy"): _read_member(archive, info) for info in archive.infolist()}
        if lacking := [name for name in needed if name not in arrays]:
            raise ValueError(f"it lacks {lacking[0]}")
        return arrays
    except Exception as error:  # zipfile, zlib and numpy's header parser raise many kinds of errors for damaged bytes
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read as an .npz of plain arrays ({reason(error)}): {remedy}"
        ) from error


def _read_member(archive: "zipfile.ZipFile", info: "zipfile.ZipInfo") -> "NDArray[Any]":
    from numpy.lib import format as npy

    if info.file_size > _DEFLATE_AT_MOST * info.compress_size:  # a damaged directory, or a bomb
        raise ValueError(f"{info.filename} claims {info.file_size} bytes in {info.compress_size}")
    with archive.open(info) as member:
        shape, _, dtype = read_npy_header(member)
        claimed, held = math.prod(shape) * dtype.itemsize, info.file_size - member.tell()
        if claimed != held:
            raise ValueError(f"{info.filename} claims {claimed} bytes of values, but has {held}")
    with archive.open(info) as member:
        array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
        member.read()  # the CRC is compared at the end
    return array


def read_npy_header(file: IO[bytes]) -> "tuple[tuple[int, ...], bool, np.dtype[Any]]":
    """Read the header of an `.npy` file or archive member, up to the first byte of its values.

    Returns:
        Shape, whether the values are in Fortran order, and dtype.

    Raises ValueError for arrays of objects; a damaged header can raise any error.
    """
    from numpy.lib import format as npy

    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(file)
    if version not in readers:
        raise ValueError(f"a header of version {version[0]}.{version[1]} is not supported")
    shape, is_fortran, dtype = readers[version](file)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError(f"an array of dtype {dtype} and shape {shape} is not supported")
    return shape, is_fortran, dtype


def reason(error: BaseException) -> str:
    """Return an error's message on one line of at most 120 characters; the name of its type if it has no message."""
    return " ".join(str(error).split())[:120] or type(error).__name__
