"""The records of a figure's finished runs in one small file, from which the figure is drawn elsewhere or continued.

A record of a run consists of its text and its numbers. Pictures, checkpoints and kept weights are not part of it. The
records of a figure are compressed together, because they repeat each other, so a figure of hundreds of searches takes
about a megabyte. The file also names the figure.
"""

import io
import json
import lzma
import tarfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, option
from nasbench1shot1.ground.files import DATA_SUFFIX, PICTURES, atomic_folder, atomic_write, open_regular, read_bytes
from nasbench1shot1.jobs.job import is_started
from nasbench1shot1.runs.folder import CONFIG, SUMMARY

SUFFIX = ".tar.xz"
"""Suffix of files of records."""
SUFFIXES = (".csv", ".json", ".jsonl", ".npz")
"""Suffixes of the files that a record consists of."""
LARGEST = 2**30
"""Maximum number of bytes of a file of records before compression."""
MARK = "figure.json"
"""File that names the figure to which a folder or a file of records belongs."""
_XZ = b"\xfd7zXZ\x00"  # how these files start


def pack(jobs: Sequence[FigureJob], path: Path, figure: str) -> int:
    """Write the records of all finished runs to a file, and return their number.

    The same records give the same bytes.

    Args:
        jobs: the runs of a figure.
        path: the file; `check_name` has checked its name.
        figure: the name of the figure.

    Raises:
        UserError: the file cannot be written, or the records are too long for one file.
    """
    finished = [job for job in jobs if job.is_finished]
    files = [(job.name, file) for job in finished for file in job.folder.iterdir() if _is_of_record(file)]
    files.sort(key=lambda each: (each[1].name, each[0]))  # similar files side by side take the least space
    if sum(file.stat().st_size for _, file in files) > LARGEST // 2:  # leaves space for headers
        raise UserError(
            f"the records of {len(finished):,} runs are too long for one file: write several with {option('only')}"
        )
    with atomic_write(path) as file, tarfile.open(fileobj=file, mode="w:xz", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, MARK, json.dumps({"figure": figure}).encode())
        for name, each in files:
            _add(archive, f"{name}/{each.name}", read_bytes(each))
    return len(finished)


def check_name(path: Path) -> None:
    """Raise InvalidInputError unless a path ends with the suffix of files of records."""
    if not path.name.endswith(SUFFIX):
        raise InvalidInputError(f"{option('pack', path)} must end with {SUFFIX}")


def _is_of_record(path: Path) -> bool:
    """Return whether a file is part of its run's record; the data of a picture beside it is drawn from the record."""
    of_picture = path.suffix == DATA_SUFFIX and any(path.with_suffix(suffix).exists() for suffix in PICTURES)
    return path.suffix in SUFFIXES and not of_picture


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file to an archive; equal files always give equal bytes, because time and owner are not recorded."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


@dataclass(frozen=True, eq=False)
class PackedRecords:
    """The content of a file of `pack`.

    Attributes:
        path: the file.
        runs: the files of each run, by the name of its job and the name of the file.
        figure: the figure that the file names.
    """

    path: Path
    runs: dict[str, dict[str, bytes]]
    figure: object

    def unpack(self, job: str, folder: Path) -> None:
        """Create the folder of a run; raises DamagedFileError if its record is damaged, or UserError."""
        files = self.runs[job]
        if not {CONFIG, SUMMARY} <= set(files) or any(Path(name).suffix not in SUFFIXES for name in files):
            raise DamagedFileError(f"{self.path} has a damaged record of {job}: get the file again")
        with atomic_folder(folder) as beside:
            for name, content in files.items():
                (beside / name).write_bytes(content)


def unpack(path: Path, jobs: Sequence[FigureJob]) -> int:
    """Create the folders of all runs that a file of `pack` has and that have not been started; return their number.

    Args:
        path: the file.
        jobs: the runs of a figure; the file may contain other runs, too, which are ignored.

    Raises:
        InvalidInputError: the file contains none of the runs, or is not a file of records.
        DamagedFileError: the file is damaged.
        UserError: a folder cannot be written.
    """
    packed = read_packed(path)
    known = [job for job in jobs if job.name in packed.runs]
    if not known:
        raise InvalidInputError(
            f"{path} contains no records of these runs: give the records of this figure and scale, or remove "
            f"{option('records')}"
        )
    missing = [job for job in known if not is_started(job.folder)]
    for job in missing:
        packed.unpack(job.name, job.folder)
    return len(missing)


def read_packed(path: Path) -> PackedRecords:
    """Read a file of `pack`.

    Raises:
        InvalidInputError: it is not a file of records, or cannot be read.
        DamagedFileError: it is damaged.
    """
    members = _members(path)
    try:
        figure = json.loads(members.pop(PurePosixPath(MARK)))["figure"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} does not name its figure in {MARK}: get the file again") from error
    runs = defaultdict[str, dict[str, bytes]](dict)
    for name, content in members.items():
        runs[str(name.parent)][name.name] = content
    return PackedRecords(path, dict(runs), figure)


class _RegularFile(tarfile.TarInfo):
    """A member of an archive that can only be a plain file: other kinds, and extended headers, have no limits."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_RegularFile":
        """Parse a header; raises ValueError if it does not describe a plain file."""
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE or not 0 <= member.size <= LARGEST:
            raise ValueError(f"{member.name} is not a plain file")
        return member


def _members(path: Path) -> dict[PurePosixPath, bytes]:
    """Return the content of each file of an archive by its name; raises the errors of `read_packed`."""
    content = _decompressed(path)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:", tarinfo=_RegularFile) as archive:
            return {
                PurePosixPath(member.name): cast(IO[bytes], archive.extractfile(member)).read() for member in archive
            }
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}): get the file again") from error


def _decompressed(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            if file.peek(len(_XZ))[: len(_XZ)] != _XZ:
                raise InvalidInputError(f"{path} is not a file of records: give a file that {option('pack')} wrote")
            with lzma.open(file) as unpacked:
                content = unpacked.read(LARGEST + 1)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error}): give a file that {option('pack')} wrote") from error
    except (lzma.LZMAError, EOFError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}): get the file again") from error
    if len(content) > LARGEST:
        raise InvalidInputError(
            f"{path} is longer than {LARGEST // 2**20:,} MiB when unpacked: give a file that {option('pack')} wrote"
        )
    return content
