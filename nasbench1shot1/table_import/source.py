"""A file from which a table is imported: its identity, and its digest, which is computed while reading."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import sha256

Progress = Callable[[str, float | None], None]
"""Receives a description of the current work and the fraction done; None if the fraction is unknown."""

NATS_META = "meta.pickle.pbz2"
"""The file that identifies a folder as an archive of NATS-Bench."""
PTH, PBZ2, TFRECORD = ".pth", ".pbz2", ".tfrecord"
_BLOCK = 2**24


@dataclass
class Source:
    """A file, or the folder of an archive of NATS-Bench.

    Attributes:
        path: path of the file or folder.
        size: size in bytes; for a folder, the total size of its files.
        key: a digest of path, sizes and times of last change, which identifies the source without reading it.
        read: number of bytes read so far.
        digest: SHA-256 of the bytes read so far.
    """

    path: Path
    size: int
    key: str
    read: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def from_path(cls, path: Path) -> "Source":
        """Return the source for a path; raises InvalidInputError if it is neither a file nor an archive's folder."""
        if not is_source(path):
            raise InvalidInputError(
                f"there is no file {path}: give the path of nasbench_only108.tfrecord, nasbench_full.tfrecord or "
                "another file in this format, a .pth file of NAS-Bench-201, or an archive of NATS-Bench; or run "
                "nb1shot1 table download only108"
            )
        files = sorted(path.glob(f"*{PBZ2}")) if path.is_dir() else [path]
        stats = [file.stat() for file in files]
        known = "|".join([str(path.resolve()), *(f"{about.st_size}|{about.st_mtime_ns}" for about in stats)])
        return cls(path, sum(about.st_size for about in stats), hashlib.sha256(known.encode()).hexdigest()[:16])

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
        """Read the whole file to compute its SHA-256."""
        with self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                self.update(block)
                progress("computing its SHA-256", self.read / self.size)

    def matches_record(self, recorded: dict[str, Any]) -> bool:
        """Return whether a table's recorded source is this one; a moved file is compared by its SHA-256."""
        if recorded.get("key") == self.key:
            return True
        same_size = not self.is_folder and recorded.get("size") == self.size
        return same_size and recorded.get("sha256") == sha256(self.path)


def is_source(path: Path) -> bool:
    """Return whether a path is a file, or the folder of an archive of NATS-Bench."""
    return path.is_file() or (path / NATS_META).is_file()


def table_name(path: Path) -> str:
    """Return the name of a file's table: the file's name without its suffixes."""
    return path.name.removesuffix(".pickle.pbz2") if path.suffix == PBZ2 else path.stem
