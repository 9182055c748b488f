"""NATS-Bench's archives of the topology and the size space: compressed pickles of plain data, whose code is never run.

An archive is a folder with one file per architecture, the `.tar` file of this folder, or a single file of all
architectures.
"""

import bz2
import hashlib
import io
import re
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, alternatives, option
from nasbench1shot1.ground.files import blocked_error, open_regular, reason
from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.tables.description import Meta
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import FileFormat, Progress, Report, Source
from nasbench1shot1.trial_files.assembly import TrialAssembly
from nasbench1shot1.trial_files.description import Trainings, all_trainings, trainings_of

VERSION = "1"
PBZ2 = ".pickle.pbz2"
NATS_META = f"meta{PBZ2}"
"""The file that identifies a folder as an archive of NATS-Bench."""

_LARGEST_RECORD = 2**27
"""Largest content of a file of one architecture in bytes, a hundred times that of the official ones."""
_MOST_OPCODES = 1_000_000
"""Maximum number of opcodes in a file of one architecture or in `NATS_META`. A small file can consist of opcodes that
take 250 bytes of memory each. Genuine files have at most 66,000 opcodes (`NATS_META` of the size space); files of
single architectures have at most 48,000."""
_LARGEST_FILE, _LARGEST_RATIO, _ALWAYS = 2**34, 30, 2**22
"""Largest content in bytes of a single file of all architectures: the first number, and at most the second number times
the file's own size plus the third number, so that a small file cannot fill the memory. From single records, we estimate
that the genuine topology file of 1 GB expands to about 5 GB, and the size file to about 3 GB. Records expand by a
factor of 2 to 4, and `NATS_META` (1.4 MB) by a factor of 39."""
_MOST_MEMBERS = 200_000
_MD5_IN_NAME = re.compile(rf"NATS-[ts]ss-v\d+_\d+-([0-9a-f]{{5}}){re.escape(PBZ2)}")
_BLOCK = 512  # of tar files

Infos = Mapping[str, Mapping[str, Any]]
"""The results of an architecture by budget, as `ArchResults.state_dict` of nats_bench returns them."""


class TrialFiles(FileFormat):
    """A format whose files contain trainings with several seeds."""

    @abstractmethod
    def read_trials(self, source: Source, progress: Progress) -> TrialAssembly:
        """Read the trainings of a file; raises the errors of `read`."""

    def read(
        self, source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
    ) -> tuple[Columns, Meta]:
        """Read all trainings; `epochs` must be None."""
        if epochs is not None:
            raise InvalidInputError(
                f"{option('epochs')} does not apply to {source.path.name}, because its format has fixed budgets: "
                "remove it"
            )
        assembly = self.read_trials(source, progress)
        progress("arranging the columns", None)
        columns, meta = assembly.finish()
        if assembly.left_out:
            budgets = " and ".join(map(str, assembly.trainings.epochs))
            report(
                f"{source.path.name}: omitted {assembly.left_out:,} trainings with budgets other than {budgets} epochs"
            )
        about = source.describe(len(assembly))
        return columns, {"name": self.table_name(source.path), "version": VERSION, **meta, "source": about}


class NATSArchives(TrialFiles):
    """NATS-Bench's archives of both spaces."""

    example = "an archive of NATS-Bench"

    def recognises(self, path: Path) -> bool:
        """Return whether a file's suffix is .pbz2 or .tar, or a folder has an archive's list of architectures."""
        return (path / NATS_META).is_file() if path.is_dir() else path.suffix in (".pbz2", ".tar")

    def files(self, path: Path) -> list[Path]:
        """Return the archive's files."""
        return sorted(path.glob(f"*{PBZ2}")) if path.is_dir() else [path]

    def table_name(self, path: Path) -> str:
        """Return the file's name without its suffixes, or the folder's name."""
        return path.name.removesuffix(PBZ2) if path.suffix == ".pbz2" else path.stem

    def read_trials(self, source: Source, progress: Progress) -> TrialAssembly:
        """Read an archive; one architecture at a time is in memory, unless the archive is a single file.

        Raises:
            DamagedFileError: a file is truncated, damaged or missing.
            InvalidInputError: the file is not an archive of a known space, is an archive of another benchmark than the
                wanted one, or has other objects than plain data.
        """
        if not source.is_folder:
            source.hash_all(progress)
        if source.path.suffix == ".pbz2":
            _check_md5(source.path)
            progress("loading", None)
            return collect(_load_file(source.path), source, progress)
        if source.is_folder:
            return _collect_members(_Folder(source.path), source, progress)
        with open_regular(source.path) as file:
            return _collect_members(_Tar(source.path, file), source, progress)


ARCHIVES = NATSArchives()


# Trainings of a list of architectures ---------------------------------------------------------------------------------


_NEEDED = ("meta_archs", "arch2infos")


def collect(
    content: Any,
    source: Source | str,
    progress: Progress = lambda doing, fraction: None,
    wanted: Trainings | None = None,
) -> TrialAssembly:
    """Collect the trainings of a loaded file, or of a dictionary in the same format.

    Args:
        content: the dictionary: the architectures' texts in `meta_archs`, and in `arch2infos` for each index the
            results of each budget.
        source: the file, or the name of a dictionary for messages.
        progress: receives the fraction done.
        wanted: the description of the space. Default: the space of the first architecture.

    Raises InvalidInputError if the dictionary has another format or belongs to another benchmark.
    """
    name = source if isinstance(source, str) else source.path.name
    if not isinstance(content, Mapping) or any(key not in content for key in _NEEDED):
        raise InvalidInputError(
            f"{name} is not a file of NAS-Bench-201 or NATS-Bench (it lacks {' or '.join(_NEEDED)}): give a file such "
            "as NAS-Bench-201-v1_1-096897.pth"
        )
    names, infos = content["meta_archs"], content["arch2infos"]
    try:
        return _collect(names, list(infos.keys()), infos.__getitem__, source, progress, wanted)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{name} does not have the format of NAS-Bench-201 or NATS-Bench ({type(error).__name__}: "
            f"{reason(error)}): give a file such as NAS-Bench-201-v1_1-096897.pth"
        ) from error


def _collect(
    names: Sequence[Any],
    indices: Iterable[int],
    load: Callable[[int], Infos],
    source: Source | str,
    progress: Progress,
    wanted: Trainings | None,
) -> TrialAssembly:
    """Collect trainings in the order of the official indices.

    Args:
        names: the architectures' texts.
        indices: the places in `names` of the architectures that have results.
        load: a function that returns the results of such an index.
        source, progress, wanted: as in `collect`.
    """
    name = source if isinstance(source, str) else source.path.name
    of = wanted or _space_of(names, name)
    if isinstance(source, Source):
        source.check_benchmark(of.benchmark)
    assembly = TrialAssembly(of, name, source.scratch if isinstance(source, Source) else None)
    order = sorted((_official_index(of, names, index, name), index) for index in indices)
    for done, (official, index) in enumerate(order):
        infos = load(index)
        for results in infos.values():
            if results.get("arch_str", names[index]) != names[index]:
                raise InvalidInputError(
                    f"{name} has the trainings of {results['arch_str']} at index {index}, which belongs to "
                    f"{names[index]}: its files were exchanged; copy or download it again"
                )
        assembly.add(official, names[index], [results["all_results"] for results in infos.values()])
        progress("reading", (done + 1) / len(order))
    return assembly


def _space_of(names: Sequence[Any], source: str) -> Trainings:
    first = names[0]
    if (found := trainings_of(first)) is None:
        titles = alternatives(known.benchmark.title for known in all_trainings())
        raise InvalidInputError(f"{source} has {first!r}, which is not an architecture of {titles}: give another file")
    return found


def _official_index(of: Trainings, names: Sequence[Any], index: int, source: str) -> int:
    if index < 0:
        raise IndexError(f"index {index}")
    if (found := of.index_of(names[index])) is None:
        raise InvalidInputError(f"{source} has {names[index]!r}, which is not an architecture of {of.benchmark.title}")
    return found


# Archives with one file per architecture ------------------------------------------------------------------------------


class _Members(ABC):
    """The files of an archive by name, which are opened one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> Iterable[str]:
        """Return the names of the files."""

    @abstractmethod
    def open(self, name: str) -> IO[bytes]:
        """Open a file; raises OSError or KeyError if there is none."""

    def load(self, name: str) -> Any:
        """Return the content of a file, a compressed pickle of plain data.

        Raises DamagedFileError if it is damaged or too large, and InvalidInputError for other objects than plain data.
        """
        where = f"{self.path}/{name}"
        try:
            with self.open(name) as file, bz2.open(file) as unpacked:
                content = unpacked.read(_LARGEST_RECORD + 1)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # on damaged headers, tarfile raises ValueError, RecursionError and others
            raise _unreadable(Path(where), error) from error
        if len(content) > _LARGEST_RECORD:
            raise DamagedFileError(
                f"{where} has more than {_LARGEST_RECORD // 2**20} MiB of content, which is not a file of NATS-Bench: "
                "copy or download it again"
            )
        return load_plain_pickle(io.BytesIO(content), where, most_opcodes=_MOST_OPCODES)


class _Folder(_Members):
    def names(self) -> Iterable[str]:
        return [file.name for file in self.path.glob(f"*{PBZ2}")]

    def open(self, name: str) -> IO[bytes]:
        return open_regular(self.path / name)


class _Tar(_Members):
    """A `.tar` file of such a folder, which is read without unpacking it.

    Raises DamagedFileError for a truncated file, InvalidInputError for members that are not regular files.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        super().__init__(path)
        try:
            self._tar = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115  belongs to `file`, which its caller closes
            self._members = self._checked_members()
            file.seek(max(map(_end, self._members.values()), default=0))
            if file.read(_BLOCK) != bytes(_BLOCK):  # tar files end with blocks of zeros
                raise tarfile.ReadError("its end is missing")
        except UserError:
            raise
        except Exception as error:  # as in `load`
            raise _unreadable(path, error) from error
        if NATS_META not in self._members:
            raise InvalidInputError(f"{path} is not an archive of NATS-Bench (it lacks {NATS_META}): give another file")

    def _checked_members(self) -> dict[str, tarfile.TarInfo]:
        """Return the files by their names without folders."""
        members: dict[str, tarfile.TarInfo] = {}
        for number, member in enumerate(self._tar):
            if member.isdir():
                continue
            name = member.name.rpartition("/")[2]
            parts = member.name.split("/")
            if not member.isreg() or ".." in parts or member.name.startswith("/") or name in members:
                what = "a second file" if name in members else "a link, device or path outside the archive"
                raise InvalidInputError(
                    f"{self.path} has the member '{member.name}', which is {what}: download the archive again"
                )
            if number >= _MOST_MEMBERS or member.size > _LARGEST_RECORD:
                raise InvalidInputError(
                    f"{self.path} has the member '{member.name}' of {member.size:,} bytes, and more or larger members "
                    "than an archive of NATS-Bench: give another file"
                )
            members[name] = member
        return members

    def names(self) -> Iterable[str]:
        return list(self._members)

    def open(self, name: str) -> IO[bytes]:
        return cast(IO[bytes], self._tar.extractfile(self._members[name]))


def _end(member: tarfile.TarInfo) -> int:
    """Return the position after a member's content, which is padded to whole blocks."""
    return member.offset_data + -(-member.size // _BLOCK) * _BLOCK


def _collect_members(members: _Members, source: Source, progress: Progress) -> TrialAssembly:
    meta = members.load(NATS_META)
    names = meta.get("meta_archs") if isinstance(meta, Mapping) else None
    if not isinstance(names, Sequence) or not names:
        raise InvalidInputError(f"{source.path} is not an archive of NATS-Bench ({NATS_META} lacks meta_archs)")
    files = {int(name[:6]): name for name in members.names() if re.fullmatch(rf"[0-9]{{6}}{re.escape(PBZ2)}", name)}
    infos = _Loaded(files, members)
    return collect({"meta_archs": names, "arch2infos": infos}, source, progress)


class _Loaded(Mapping[int, Any]):
    """The results of architectures by index, which are loaded when they are asked for."""

    def __init__(self, files: Mapping[int, str], members: _Members) -> None:
        self._files, self._members = files, members

    def __getitem__(self, index: int) -> Any:
        return self._members.load(self._files[index])

    def __iter__(self) -> Any:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


# Single files ---------------------------------------------------------------------------------------------------------


def _check_md5(path: Path) -> None:
    """Raise DamagedFileError if a file has an official name, whose five digits are not the end of its MD5.

    `exps/NATS-Bench/sss-collect.py` of AutoDL-Projects names the files so.
    """
    if match := _MD5_IN_NAME.fullmatch(path.name):
        with open_regular(path) as file:
            found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        if not found.endswith(match[1]):
            raise DamagedFileError(
                f"the MD5 of {path} ends in {found[-5:]}, but its name states {match[1]}: download it again, or rename "
                "it if it is another file"
            )


class _Limited(io.RawIOBase):
    """Reads a decompressed file up to a number of bytes; then raises DamagedFileError."""

    def __init__(self, unpacked: bz2.BZ2File, path: Path, most: int) -> None:
        self._unpacked, self._path, self._most, self._left = unpacked, path, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._unpacked.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise DamagedFileError(
                f"{self._path} has more than {self._most:,} bytes of content, too much for a NATS-Bench file of "
                "this size: copy or download it again"
            )
        return count


def _load_file(path: Path) -> Any:
    """Return the content of a compressed pickle of plain data.

    Raises the errors of `load_plain_pickle`, and DamagedFileError if it is too large.
    """
    try:
        most = min(_LARGEST_FILE, _ALWAYS + _LARGEST_RATIO * path.stat().st_size)
        with open_regular(path) as file, bz2.open(file) as unpacked:
            limited = io.BufferedReader(_Limited(unpacked, path, most), 2**16)
            return load_plain_pickle(cast(IO[bytes], limited), str(path))
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> Exception:
    found = blocked_error(path, error) if isinstance(error, OSError) else None
    return found or DamagedFileError(
        f"{path} cannot be read ({reason(error)}): it is truncated or another file; copy or download it again"
    )


def in_memory(content: Any, name: str, benchmark: Benchmark) -> tuple[Columns, Meta]:
    """Return the columns and the description of a table from a dictionary; raises the errors of `collect`."""
    columns, meta = collect(content, name, wanted=benchmark.load("trainings")).finish()
    return columns, {"version": VERSION, **meta}
