"""The records of a figure's finished runs in one small file, from which the figure is drawn elsewhere or continued.

A record of a run consists of its text and its numbers. Pictures, checkpoints and kept weights are not part of it, so a
figure of hundreds of searches takes a few megabytes. The file also names the figure.
"""

import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, option
from nasbench1shot1.ground.files import DATA_SUFFIX, PICTURES, atomic_folder, atomic_write, open_regular, read_bytes
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.runs.folder import CONFIG, SUMMARY

SUFFIXES = (".csv", ".json", ".jsonl", ".npz")
"""Suffixes of the files that a record consists of."""
LARGEST = 2**28
"""Maximum number of bytes of a file of a record."""
LONG = 2**16
"""Number of bytes from which files are compressed by bzip2, because long curves then take a third less space."""
_SAME_TIME = (1980, 1, 1, 0, 0, 0)  # the first that zip files can have


MARK = "figure.json"
"""File that names the figure to which a folder or a file of records belongs."""
Members = dict[str, list[zipfile.ZipInfo]]
"""The files of each run of a file of records, by the name of its job."""


def pack(jobs: Sequence[FigureJob], path: Path, figure: str) -> int:
    """Write the records of all finished runs to a zip file, and return their number.

    The same records give the same bytes.

    Args:
        jobs: the runs of a figure.
        path: the file.
        figure: the name of the figure.

    Raises:
        UserError: the file cannot be written.
    """
    finished = sorted((job for job in jobs if job.is_finished), key=lambda job: job.name)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        _add(archive, MARK, json.dumps({"figure": figure}).encode())
        for job in finished:
            for each in sorted(job.folder.iterdir()):
                if each.suffix in SUFFIXES and not _is_of_picture(each):
                    _add(archive, f"{job.name}/{each.name}", read_bytes(each))
    return len(finished)


def _is_of_picture(path: Path) -> bool:
    """Return whether a file is the data of a picture beside it, which is drawn from the record."""
    return path.suffix == DATA_SUFFIX and any(path.with_suffix(suffix).exists() for suffix in PICTURES)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file to an archive; equal files always give equal bytes."""
    info = zipfile.ZipInfo(name, _SAME_TIME)
    info.compress_type = zipfile.ZIP_BZIP2 if len(content) >= LONG else zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=9)


def unpack(path: Path, jobs: Sequence[FigureJob]) -> int:
    """Create the folders of all runs that a file of `pack` has and that have not been started; return their number.

    Args:
        path: the file.
        jobs: the runs of a figure; the file may contain other runs, too, which are ignored.

    Raises:
        InvalidInputError: the file contains none of the runs, or is not a zip file.
        DamagedFileError: a record in the file is damaged.
        UserError: a folder cannot be written.
    """
    with _opened(path) as (archive, members):
        known = [job for job in jobs if job.name in members]
        if not known:
            raise InvalidInputError(
                f"{path} contains no records of these runs: give the records of this figure and scale, or remove "
                f"{option('records')}"
            )
        missing = [job for job in known if not is_started(job.folder)]
        for job in missing:
            _unpack_run(path, archive, members[job.name], job.folder)
    return len(missing)


def contents(path: Path) -> tuple[str | None, list[str]]:
    """Return the figure of a file of `pack`, and the names of its jobs; None if the file does not name the figure.

    Raises the errors of `unpack`.
    """
    with _opened(path) as (archive, members):
        found = None
        try:
            found = json.loads(archive.read(MARK)).get("figure")
        except KeyError:  # written before files had a mark
            pass
        except (ValueError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
            raise DamagedFileError(f"{path} is damaged: its {MARK} cannot be read ({error})") from error
        return found, sorted(name for name in members if name != ".")


def unpack_some(path: Path, names: Iterable[str], folder_of: Callable[[str], Path]) -> None:
    """Create the folders of some runs of a file of `pack`; arguments and errors as in `unpack` and `contents`."""
    with _opened(path) as (archive, members):
        for name in names:
            _unpack_run(path, archive, members[name], folder_of(name), name)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, Members]]:
    """Open a file of records; raises InvalidInputError if it cannot be read."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            members = defaultdict[str, list[zipfile.ZipInfo]](list)
            for info in archive.infolist():
                members[str(PurePosixPath(info.filename).parent)].append(info)
            yield archive, members
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{path} cannot be read as a file of records ({error}): give a file that {option('pack')} wrote"
        ) from error


def _unpack_run(
    path: Path, archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], folder: Path, name: str | None = None
) -> None:
    """Create the folder of one run; names of files come from the archive, but without folders.

    Errors call the run `name`. Default: its folder.
    """
    run = name or folder
    names = {PurePosixPath(info.filename).name: info for info in members}
    too_large = any(info.file_size > LARGEST for info in members)
    if too_large or not {CONFIG, SUMMARY} <= set(names) or any(Path(file).suffix not in SUFFIXES for file in names):
        raise DamagedFileError(f"{path} has a damaged record of {run}: get the file again")
    with atomic_folder(folder) as beside:
        for file, info in names.items():
            try:
                content = archive.read(info)
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
                raise DamagedFileError(f"{path} has a damaged record of {run} ({error}): get the file again") from error
            (beside / file).write_bytes(content)
