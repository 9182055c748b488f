"""The records of a figure's finished runs in one small file, from which the figure is drawn elsewhere or continued.

A record of a run consists of its text and of the numbers that the figure needs. Pictures, checkpoints and kept weights
are not part of it. The records of a figure are compressed together, because they repeat each other, so a figure of
hundreds of searches takes less than a megabyte. The file also names the figure.
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

from nasbench1shot1.experiments.correlation.record import CORRELATIONS
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, option
from nasbench1shot1.ground.files import (
    DATA_SUFFIX,
    PICTURES,
    atomic_folder,
    atomic_write,
    blocked_error,
    open_regular,
    read_bytes,
)
from nasbench1shot1.one_shot_search.record import PARAMETERS
from nasbench1shot1.runs.folder import CONFIG, SUMMARY

SUFFIX = ".tar.xz"
"""Suffix of files of records."""
SUFFIXES = (".csv", ".json", ".jsonl", ".npz")
"""Suffixes of the files that a record consists of."""
LEFT_OUT = ("blocks-*.npz", CORRELATIONS)
"""Files of rankings that are not packed, because they need the most space: the scores on blocks of images, whose result
is in reliability.csv, and correlations.csv, whose main values are in summary.json. Figures compute correlations from
the scores of the architectures."""
LARGEST = 2**28
"""Maximum total size of a file of records in bytes, uncompressed."""
MOST_FILES = 2**16
"""Maximum number of files in a file of records."""
MARK = "figure.json"
"""File that names the figure to which a folder or a file of records belongs."""
_LZMA = {"id": lzma.FILTER_LZMA2, "preset": 6 | lzma.PRESET_EXTREME, "dict_size": 2**24}
_FILTERS = {
    "text": [{**_LZMA, "lc": 4, "pb": 0}],
    "arrays": [{**_LZMA, "lc": 1, "lp": 2}],  # arrays of 4-byte numbers need 5 % less space
}
_XZ = b"\xfd7zXZ\x00"  # how these files start
_MEMORY = 2**27  # maximum number of bytes that decompression may need; these files need 20 MB


def pack(jobs: Sequence[FigureJob], path: Path, figure: str) -> int:
    """Write the records of all finished runs to a file, and return their number.

    Λ is more than half of a search's record, so only the records of figures that show Λ contain it. The same records
    give the same bytes.

    Args:
        jobs: the runs of a figure.
        path: the file to write; its name must end with `SUFFIX` (see `check_name`).
        figure: the name of the figure. The file names the figure that owns its runs (`Figure.runs_of`).

    Raises:
        UserError: the file cannot be written, or the records are too large for one file.
    """
    finished = [job for job in jobs if job.is_finished]
    left_out = LEFT_OUT if FIGURES[figure].shows_parameters else (*LEFT_OUT, PARAMETERS)
    files = {
        f"{job.name}/{file.name}": file
        for job in finished
        for file in job.folder.iterdir()
        if _is_of_record(file) and not any(map(file.match, left_out))
    }
    names = sorted(files, key=lambda name: (files[name].name, name))  # similar files side by side take the least space
    mark = json.dumps({"figure": FIGURES[figure].runs_of or figure}).encode()
    contents = {MARK: mark, **{name: _content(files[name]) for name in names}}
    size = sum(len(content) + 2 * tarfile.BLOCKSIZE for content in contents.values()) + tarfile.RECORDSIZE
    if size > LARGEST or len(contents) > MOST_FILES:
        raise UserError(
            f"the records of {len(finished):,} runs are too large for one file: write several with {option('only')}"
        )
    has_arrays = any(name.endswith(".npz") for name in contents)
    with (
        atomic_write(path) as file,
        lzma.open(file, "wb", filters=_FILTERS["arrays" if has_arrays else "text"]) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in contents.items():
            _add(archive, name, content)
    return len(finished)


def check_name(path: Path) -> None:
    """Raise InvalidInputError unless a path ends with the suffix of files of records."""
    if not path.name.endswith(SUFFIX):
        raise InvalidInputError(f"{option('pack', path)} must end with {SUFFIX}")


def _is_of_record(path: Path) -> bool:
    """Return whether a file is part of its run's record; the data of a picture beside it is drawn from the record."""
    of_picture = path.suffix == DATA_SUFFIX and any(path.with_suffix(suffix).exists() for suffix in PICTURES)
    return path.suffix in SUFFIXES and path.is_file() and not of_picture


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise blocked_error(path, error) or UserError(f"cannot read {path} ({error}): run the command again") from error


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
    figure: str

    def check(self, job: str) -> None:
        """Raise DamagedFileError if the record of a run is incomplete or has files that records do not have."""
        files = self.runs[job]
        if not {CONFIG, SUMMARY} <= set(files) or any(Path(name).suffix not in SUFFIXES for name in files):
            raise DamagedFileError(f"{self.path} has a damaged record of {job}: get the file again")

    def unpack(self, job: str, folder: Path) -> None:
        """Create the folder of a run.

        Args:
            job: the name of its job, one of `runs`.
            folder: the folder.

        Raises:
            DamagedFileError: the record is damaged, as in `check`.
            UserError: the folder cannot be written.
        """
        self.check(job)
        with atomic_folder(folder) as beside:
            for name, content in self.runs[job].items():
                (beside / name).write_bytes(content)


def read_records_of(path: Path, jobs: Sequence[FigureJob], figure: str) -> PackedRecords:
    """Read a file of `pack` that has records of some runs; it may contain other runs, too.

    Args:
        path: the file.
        jobs: the runs of a figure.
        figure: the name of the figure to which the runs belong. The file may belong to another figure with the same
            kind of runs, such as `methods`, which has the searches of figure 2.

    Raises:
        InvalidInputError: the file belongs to a figure with another kind of runs, contains none of the runs, or is not
            a file of records.
        DamagedFileError: the file is damaged.
        UserError: the file cannot be read.
    """
    packed = read_packed(path)
    if FIGURES[figure].runs != (FIGURES[packed.figure].runs if packed.figure in FIGURES else None):
        raise InvalidInputError(
            f"{path} has records of {packed.figure}, not of {figure}: give other records, or remove {option('records')}"
        )
    if not any(job.name in packed.runs for job in jobs):
        raise InvalidInputError(
            f"{path} contains no records of these runs: give the records of this figure and scale, or remove "
            f"{option('records')}"
        )
    return packed


def read_packed(path: Path) -> PackedRecords:
    """Read a file of `pack`.

    Raises:
        InvalidInputError: it is not a file of records.
        DamagedFileError: it is damaged.
        UserError: it cannot be read.
    """
    members = _members(path)
    try:
        figure = json.loads(members.pop(PurePosixPath(MARK)))["figure"]
    except (KeyError, TypeError, ValueError, RecursionError):
        figure = None
    if not isinstance(figure, str):
        raise DamagedFileError(f"{path} does not name its figure in {MARK}: get the file again")
    runs = defaultdict[str, dict[str, bytes]](dict)
    for name, content in members.items():
        runs[str(name.parent)][name.name] = content
    return PackedRecords(path, dict(runs), figure)


class _RegularFile(tarfile.TarInfo):
    """An archive member that must be a regular file. Other types and extended headers may be of any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_RegularFile":
        """Parse a header; raises ValueError if it does not describe a regular file."""
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE or not 0 <= member.size <= LARGEST:
            raise ValueError(f"{member.name} is not a regular file, or is too large")
        return member


def _members(path: Path) -> dict[PurePosixPath, bytes]:
    """Return the content of each file of an archive by its name; raises the errors of `read_packed`."""
    content, found = _decompressed(path), dict[PurePosixPath, bytes]()
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:", tarinfo=_RegularFile) as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if str(name) != member.name or name.is_absolute() or {"..", "\\"} & {*name.parts, *member.name}:
                    raise ValueError(f"{member.name} is not a name of a record")
                if name in found or len(found) == MOST_FILES:
                    raise ValueError(f"{member.name} is a duplicate, or one file too many")
                found[name] = cast(IO[bytes], archive.extractfile(member)).read()
            end = content[archive.offset :]  # tarfile takes a damaged header for the end
            if len(end) < 2 * tarfile.BLOCKSIZE or end.strip(b"\0"):
                raise ValueError("its end is missing")
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}): get the file again") from error
    return found


def _decompressed(path: Path) -> bytes:
    """Return the uncompressed content of a file; raises the errors of `read_packed`."""
    advice = f"give a file that {option('pack')} wrote"
    try:
        with open_regular(path) as file:
            compressed = file.read(LARGEST)
    except OSError as error:
        raise blocked_error(path, error) or InvalidInputError(
            f"{path} cannot be read ({error.strerror or error}): {advice}"
        ) from error
    if not compressed.startswith(_XZ):
        raise InvalidInputError(f"{path} is not a file of records: {advice}")
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        content = decoder.decompress(compressed, LARGEST + 1)
    except lzma.LZMAError as error:
        raise DamagedFileError(f"{path} is damaged ({error}): get the file again") from error
    if len(content) > LARGEST:
        raise InvalidInputError(f"{path} is larger than {LARGEST // 2**20:,} MiB uncompressed: {advice}")
    if not decoder.eof or decoder.unused_data:
        raise DamagedFileError(f"{path} is damaged (it is cut off, or something follows its end): get the file again")
    return content
