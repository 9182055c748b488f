"""From a file in the format of NAS-Bench-101 to a table's folder, once."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import one_at_a_time, read_json, sha256
from nasbench1shot1.ground.folder_swap import is_there, read_steadily
from nasbench1shot1.ground.paths import as_path
from nasbench1shot1.table_import.assembly import EPOCHS, Assembly
from nasbench1shot1.table_import.records import read_records
from nasbench1shot1.tables.folder import META, Columns, Meta, check_target, write_table
from nasbench1shot1.tables.names import CARRIED, tables_folder
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.wording import to_stderr

OFFICIAL = {
    "nasbench_only108": "4c39c3936e36a85269881d659e44e61a245babcb72cb374eacacf75d0e5f4fd1",
    "nasbench_full": "3d64db8180fb1b0207212f9032205064312b6907a3bbc81eabea10db2f5c7e9c",
}
"""The SHA-256 of the two files that NAS-Bench-101's authors published, by the stem of their names."""
VERSION = "1"

Report = Callable[[str], None]
Progress = Callable[[str, float | None], None]
"""Is told what is being done, and which fraction of it is done; None where that cannot be said."""


def import_table(
    file: str | Path,
    out: str | Path,
    *,
    epochs: Sequence[int] | None = None,
    report: Report = to_stderr,
    progress: Progress = lambda doing, fraction: None,
) -> Meta:
    """Read a file from end to end, check it, and write its table, whole or not at all.

    Args:
        file: `nasbench_only108.tfrecord`, `nasbench_full.tfrecord`, or another in their format.
        out: folder of the table; a table that is there is replaced when the new one is whole.
        epochs: the budgets that the file may have; NAS-Bench-101's if not given.
        report: is told in a line whether the file is an official one, and what is unusual about it.
        progress: is told how far it is.

    Returns:
        What `meta.json` says, with the file's name, size and SHA-256 in `source`.

    Raises:
        InvalidInputError: the file is none of this format, or not whole; `out` holds something that is not a table.
        DamagedFileError: a checksum in the file is wrong, or it ends within a record.
        UserError: the file cannot be read, or `out` not be written.
    """
    file, out = as_path(file, "file"), as_path(out, "out")
    source = _Source.of(file)
    check_target(out)
    columns, meta = _assembled(source, epochs, report, progress)
    progress("indexing and writing", None)
    return write_table(out, columns, meta)


def check_own_name(file: Path, out: Path) -> None:
    """Refuse to put a file's table in the place of another file's, or under a name that finds another table.

    A file is the same where its path, size and time of last change are, or else its size and SHA-256. Raises
    InvalidInputError.
    """
    if out.name in CARRIED or out.name.startswith("."):
        raise InvalidInputError(f"the name {out.name} is taken: give another folder with --out")
    if not is_there(out) or not (out / META).is_file() or not file.is_file():
        return
    known, now = read_steadily(out, lambda folder: _recorded_source(read_json(folder / META))), _Source.of(file)
    if known.get("key") == now.key:  # two gigabytes need not be read to know
        return
    if known.get("size") != now.size or known.get("sha256") != sha256(file):
        raise InvalidInputError(
            f"{out} holds the table of another file of that name: remove it, or give another folder with --out"
        )


def open_official(path: str | Path, report: Report = to_stderr, progress: Progress | None = None) -> Table:
    """Open an imported folder, or a file in NAS-Bench-101's format, which is imported when it is first opened.

    Its table then lies in the data folder and is opened from there ever after, until the file changes (path, size or
    time of last change). Of several processes that open a file for the first time, one imports it, the others wait.

    Args:
        path: the file; or the folder or name of a table, as `load_table` takes them.
        report: as in `import_table`.
        progress: as in `import_table`; a bar where the screen is a terminal, if not given.

    Raises as `import_table` and `load_table` do.
    """
    file = as_path(path, "path")
    if not file.is_file() and file.suffix != ".tfrecord":
        return load_table(path)
    source = _Source.of(file)
    if table := _opened(source):
        return table
    target = tables_folder() / f"{file.stem.lstrip('.')}-{source.key[:8]}"
    report(f"importing {file} into {target}; from now on it is opened there")
    with one_at_a_time(target.parent / ".locks" / f"{target.name}.lock"):
        if table := _opened(source):  # another process was faster
            return table
        _import_with_bar(file, target, report, progress)
    return load_table(target)


@dataclass
class _Source:
    """A file, and what becomes known of it while it is read."""

    file: Path
    size: int
    key: str
    """Digest of its path, size and time of last change: recognises it without reading it."""
    read: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def of(cls, file: Path) -> "_Source":
        if not file.is_file():
            raise InvalidInputError(
                f"there is no file {file}: give the path of nasbench_only108.tfrecord, nasbench_full.tfrecord or "
                "another of their format, or run nb1shot1 table download only108"
            )
        about = file.stat()
        known = f"{file.resolve()}|{about.st_size}|{about.st_mtime_ns}"
        return cls(file, about.st_size, hashlib.sha256(known.encode()).hexdigest()[:16])

    @property
    def sha256(self) -> str:
        return str(self.digest.hexdigest())

    @property
    def official(self) -> str | None:
        """The stem of the official file that this is."""
        return next((stem for stem, known in OFFICIAL.items() if known == self.sha256), None)

    def warning(self) -> str | None:
        """One line where this is not an official file."""
        if self.official:
            return None
        name, found, known = self.file.name, self.sha256[:12], OFFICIAL.get(self.file.stem)
        if known is None:
            return f"{name} is none of NAS-Bench-101's own files (SHA-256 {found}…); imported as it is"
        return (
            f"{name} is named like NAS-Bench-101's own file but is NOT it (SHA-256 {found}…, not {known[:12]}…): an "
            "altered copy or somebody else's, whose results are none of NAS-Bench-101; imported as it is"
        )


def _assembled(
    source: _Source, epochs: Sequence[int] | None, report: Report, progress: Progress
) -> tuple[Columns, Meta]:
    def seen(block: bytes) -> None:
        source.digest.update(block)
        source.read += len(block)
        progress("reading", source.read / source.size if source.size else None)

    assembly = Assembly(EPOCHS if epochs is None else epochs, source.file.name)
    for record in read_records(source.file, seen):
        assembly.add(record)
    progress("checking", None)
    columns, meta = assembly.finish()
    if warning := source.warning():
        report(warning)
    if assembly.not_halfway:
        budgets = ", ".join(map(str, assembly.not_halfway))
        report(f"{source.file.name}: at {budgets} epochs what is called half-way is not the middle of the training")
    about = {
        "file": source.file.name,
        "size": source.read,
        "sha256": source.sha256,
        "known": source.official is not None,
        "records": len(assembly),
        "key": source.key,
    }
    return columns, {"name": source.official or source.file.stem, "version": VERSION, **meta, "source": about}


def _opened(source: _Source) -> Table | None:
    """The table that was imported from this very file, if there is one and it can be opened."""
    for meta in sorted(tables_folder().glob(f"[!.]*/{META}")):
        try:
            if _recorded_source(read_json(meta)).get("key") == source.key:
                return load_table(meta.parent)
        except (DamagedFileError, InvalidInputError):  # damaged, or of an older version: imported anew
            continue
    return None


def _recorded_source(about: Any) -> dict[str, Any]:
    """What a `meta.json` says of the file that the table was imported from; nothing where it is not an imported one."""
    source = about.get("source") if isinstance(about, dict) else None
    return source if isinstance(source, dict) else {}


def _import_with_bar(file: Path, target: Path, report: Report, progress: Progress | None) -> None:
    if progress is not None:
        import_table(file, target, report=report, progress=progress)
        return
    from rich.console import Console

    from nasbench1shot1.table_import.progress import ImportBar

    with ImportBar(Console(stderr=True)) as bar:
        import_table(file, target, report=report, progress=bar.show)
