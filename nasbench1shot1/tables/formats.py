"""The parts from which a benchmark builds the import of its official files: formats, sources, downloads, columns."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.benchmark import Benchmark, benchmarks, load
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import open_regular, read_error, sha256
from nasbench1shot1.tables.description import Meta
from nasbench1shot1.tables.folder import Columns

Report = Callable[[str], None]
Progress = Callable[[str, float | None], None]
"""Receives a description of the current work and the fraction done; None if the fraction is unknown."""

TRAININGS_FILE = "a CSV or Parquet file with a row for each training"
"""How messages describe a file of a user's own table."""
_BLOCK = 2**24


class FileFormat(ABC):
    """A format of official files, such as NAS-Bench-101's TFRecord files. `Benchmark.files` names its objects.

    Attributes:
        example: a noun phrase for files in this format, for messages, such as "a .pth file of NAS-Bench-201".
    """

    example: str

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Return whether a path has this format, by its name, or by its content if the name can have any suffix.

        The path need not exist.
        """

    @abstractmethod
    def read(
        self, source: "Source", epochs: Sequence[int] | None, report: Report, progress: Progress
    ) -> tuple[Columns, Meta]:
        """Read a file.

        Args:
            source: the file; `source.update` is called with every block that is read.
            epochs: the budgets that the file may have, if the caller limits them.
            report: receives one line about each unusual property.
            progress: receives a description of the current work and the fraction done.

        Returns:
            The columns and the description of a table, with `source.describe` in the description's field `source`.

        Raises:
            InvalidInputError: the file has another format or is incomplete, or `epochs` does not apply.
            DamagedFileError: the file is damaged.
            UserError: the file cannot be read.
        """

    def files(self, path: Path) -> list[Path]:
        """Return the files of a source: the path itself, or the files that matter in a folder."""
        return [path]

    def table_name(self, path: Path) -> str:
        """Return the name of a file's table: the file's name without its suffixes."""
        return path.stem


def file_formats() -> Iterator[FileFormat]:
    """Iterate over the formats of all registered benchmarks."""
    for benchmark in benchmarks():
        for reference in benchmark.files:
            yield load(reference, f"a file format of {benchmark.title}")


def format_of(path: Path) -> FileFormat | None:
    """Return the format of a path; None if no registered benchmark recognises it."""
    return next((found for found in file_formats() if found.recognises(path)), None)


def table_name(path: Path) -> str:
    """Return the name of a file's table: the file's name without its suffixes."""
    found = format_of(path)
    return found.table_name(path) if found else path.stem


@dataclass
class Source:
    """A file, or a folder of files, from which a table is imported: its identity, and its digest, computed on reading.

    Attributes:
        path: path of the file or folder.
        format: the format that recognises it.
        size: size in bytes; for a folder, the total size of its files.
        key: a digest of path, sizes and times of last change, which identifies the source without reading it.
        benchmark: the benchmark whose file is needed; None if any is accepted.
        scratch: a folder for temporary files, on the disk of the table. Default: the system's folder.
        read: number of bytes read so far.
        digest: SHA-256 of the bytes read so far.
    """

    path: Path
    format: FileFormat
    size: int
    key: str
    benchmark: Benchmark | None = None
    scratch: Path | None = None
    read: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def from_path(cls, path: Path, given: FileFormat | None = None) -> "Source":
        """Return the source for a path; raises InvalidInputError if there is no file, or none in a known format.

        `given` is a format that no benchmark registers. Default: the registered format that recognises the path.
        """
        form = given or format_of(path)
        if form is None or not (path.is_file() or (path.is_dir() and form.files(path) != [path])):
            what = f"{path} is not in any known format" if path.exists() else f"there is no file {path}"
            what = f"the folder {what}" if path.is_dir() else what
            if given is not None:
                raise InvalidInputError(f"{what}: give the path of {given.example}")
            examples = ", ".join(dict.fromkeys(known.example for known in file_formats()))
            raise InvalidInputError(f"{what}: give the path of {examples}, or {TRAININGS_FILE}{_download_advice()}")
        stats = [file.stat() for file in form.files(path)]
        known = "|".join([str(path.resolve()), *(f"{about.st_size}|{about.st_mtime_ns}" for about in stats)])
        size = sum(about.st_size for about in stats)
        return cls(path, form, size, hashlib.sha256(known.encode()).hexdigest()[:16])

    def check_benchmark(self, found: Benchmark) -> None:
        """Raise InvalidInputError if the file of another benchmark is needed."""
        if self.benchmark is not None and found != self.benchmark:
            raise InvalidInputError(
                f"{self.path} has the {found.networks[1]} of {found.title}: give a file of {self.benchmark.title}"
            )

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, which has no SHA-256."""
        return self.path.is_dir()

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the bytes read so far; None for a folder."""
        return None if self.is_folder else str(self.digest.hexdigest())

    def update(self, block: bytes) -> None:
        """Count a block of bytes as read, and add it to the digest."""
        self.digest.update(block)
        self.read += len(block)

    def hash_all(self, progress: Progress) -> None:
        """Read the whole file to compute its SHA-256; raises UserError if it cannot be read."""
        try:
            with open_regular(self.path) as file:
                while block := file.read(_BLOCK):
                    self.update(block)
                    progress("computing its SHA-256", self.read / self.size)
        except OSError as error:
            raise read_error(self.path, error) from error

    def describe(self, records: int, known: bool = False) -> dict[str, Any]:
        """Return the field `source` of a table's description; call this after reading the source.

        Args:
            records: number of trainings in the source.
            known: whether its SHA-256 equals the SHA-256 of a published file.
        """
        digest = {} if self.sha256 is None else {"sha256": self.sha256}
        return {
            "file": self.path.name,
            "size": self.size,
            **digest,
            "known": known,
            "records": records,
            "key": self.key,
        }

    def matches_record(self, recorded: dict[str, Any]) -> bool:
        """Return whether a table's recorded source is this one; a moved file is compared by its SHA-256."""
        if recorded.get("key") == self.key:
            return True
        same_size = not self.is_folder and recorded.get("size") == self.size
        return same_size and recorded.get("sha256") == sha256(self.path)


def _download_advice() -> str:
    names = [name for benchmark in benchmarks() for name in benchmark.downloads]
    return f"; or run nb1shot1 table download {names[0]}" if names else ""


@dataclass(frozen=True)
class Download:
    """An official file that can be downloaded. `Benchmark.downloads` names these objects.

    Attributes:
        file: name of the file.
        home: address of the folder that contains the file.
        sha256: SHA-256 of the published file.
        size: size of the file, in words.
    """

    file: str
    home: str
    sha256: str
    size: str


def compact(values: NDArray[np.float64], images: int | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store a column of doubles losslessly in as few bytes as possible.

    Args:
        values: array of any shape.
        images: for accuracies, the number of images on which they may have been measured.

    Returns:
        The array and its description. Accuracies are uint16 image counts with `{"images": …}` if possible, and with
        `"rounded": "float32"` if the source's quotients are float32, as TensorFlow's are. Other values are float32 if
        that is exact, else float64. `tables.stored_columns` reads all of these.
    """
    if images is not None and (found := _counts(values, images)):
        return found
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return (single, {}) if _same(single, values) else (values, {})


def _counts(values: NDArray[np.float64], images: int) -> tuple[NDArray[np.uint16], dict[str, Any]] | None:
    if not np.all((values >= 0) & (values <= 1)):
        return None
    counts = np.rint(values * images).astype(np.uint16)
    quotients = np.arange(images + 1) / images
    if _same(quotients[counts], values):
        return counts, {"images": images}
    if _same(quotients.astype(np.float32)[counts], values):
        return counts, {"images": images, "rounded": "float32"}
    return None


def _same(stored: NDArray[Any], values: NDArray[np.float64]) -> bool:
    """Return whether the values are bit-identical: -0.0 differs from 0.0, and NaN equals itself."""
    return np.array_equal(stored.astype(np.float64).view(np.uint64), values.view(np.uint64))
