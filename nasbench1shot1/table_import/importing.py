"""Import of a benchmark's official file, or of another file in the same format, into a table's folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import as_path, file_lock, read_json
from nasbench1shot1.ground.folder_swap import read_consistently, recover_folder
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.nasbench101.official_files import EPOCHS, Assembly
from nasbench1shot1.nasbench101.tfrecords import read_records
from nasbench1shot1.table_import.source import PBZ2, PTH, TFRECORD, Source, is_source, table_name
from nasbench1shot1.table_import.source import Progress as Progress
from nasbench1shot1.tables.folder import META, Columns, Meta, check_target, write_table
from nasbench1shot1.tables.names import BUNDLED, tables_folder
from nasbench1shot1.tables.table import Table, load_table

OFFICIAL = {
    "nasbench_only108": "4c39c3936e36a85269881d659e44e61a245babcb72cb374eacacf75d0e5f4fd1",
    "nasbench_full": "3d64db8180fb1b0207212f9032205064312b6907a3bbc81eabea10db2f5c7e9c",
}
"""SHA-256 of the two files that NAS-Bench-101's authors published, by the stem of the file's name."""
VERSION = "1"

Report = Callable[[str], None]


def import_table(
    file: str | Path,
    out: str | Path,
    *,
    epochs: Sequence[int] | None = None,
    report: Report = print_to_stderr,
    progress: Progress = lambda doing, fraction: None,
) -> Meta:
    """Read a file, check it, and write its table, completely or not at all.

    Args:
        file: `nasbench_only108.tfrecord`, `nasbench_full.tfrecord`, or another file in this format; a `.pth` file of
            NAS-Bench-201 without weights; or NATS-Bench's archive of the topology space: the folder in
            `NATS-tss-v1_0-3ffb9-simple.tar`, or the file `NATS-tss-v1_0-3ffb9.pickle.pbz2`. The package nats_bench
            unpickles NATS-Bench's archives: only import archives from a source that you trust.
        out: folder of the table; an existing table is replaced when the new one is complete.
        epochs: the budgets that a file in NAS-Bench-101's format may have. Default: NAS-Bench-101's budgets.
        report: receives one line if the file is not official, and one line about each unusual property.
        progress: receives the current work and the fraction done.

    Returns:
        The content of `meta.json`, with the file's name, size and SHA-256 in `source`.

    Raises:
        InvalidInputError: the file has another format or is incomplete, or `out` contains files other than a table.
        DamagedFileError: a checksum in the file is wrong, or it ends within a record.
        UserError: the file cannot be read, `out` cannot be written, or nats_bench is needed but not installed.
    """
    file, out = as_path(file, "file"), as_path(out, "out")
    source = Source.from_path(file)
    if file.suffix == ".tar":
        raise InvalidInputError(f"{file} is packed: unpack it, and give the folder that it contains")
    check_target(out)
    columns, meta = _read(source, epochs, report, progress)
    progress("indexing and writing", None)
    return write_table(out, columns, meta)


def check_own_name(file: Path, out: Path) -> None:
    """Raise InvalidInputError if a table's folder has another file's table, or a name that means another table.

    Two files are the same if their paths, sizes and times of last change are equal, or their sizes and SHA-256.
    """
    if out.name in BUNDLED or out.name.startswith("."):
        raise InvalidInputError(f"the name {out.name} is taken: give another folder with --out")
    if not recover_folder(out) or not (out / META).is_file() or not is_source(file):
        return
    recorded = read_consistently(out, lambda folder: _recorded_source(read_json(folder / META)))
    if not Source.from_path(file).matches_record(recorded):
        raise InvalidInputError(
            f"{out} contains the table of another file with this name: remove it, or give another folder with --out"
        )


def open_official(path: str | Path, report: Report = print_to_stderr, progress: Progress | None = None) -> Table:
    """Open a table, or a file that `import_table` reads, which is imported on first use.

    The file's table is stored in the data folder and opened from there until the file changes (path, size or time of
    last change). If several processes open a file for the first time, one imports it, and the others wait.

    Args:
        path: the file; or the folder or name of a table, as in `load_table`.
        report: as in `import_table`.
        progress: as in `import_table`. Default: a progress bar if the output is a terminal.

    Raises the errors of `import_table` and `load_table`.
    """
    file = as_path(path, "path")
    if not is_source(file) and file.suffix not in (PBZ2, PTH, TFRECORD):
        return load_table(path)
    source = Source.from_path(file)
    if table := _open_imported(source):
        return table
    target = tables_folder() / f"{table_name(file).lstrip('.')}-{source.key[:8]}"
    report(f"importing {file} into {target}, from which it will be opened from now on")
    with file_lock(target.parent / ".locks" / f"{target.name}.lock"):
        if table := _open_imported(source):  # another process was faster
            return table
        _import_with_bar(file, target, report, progress)
    return load_table(target)


def _official(source: Source) -> str | None:
    """Return the stem of the official file with this content, None for other files; call after reading the file."""
    return next((stem for stem, known in OFFICIAL.items() if known == source.sha256), None)


def _warning(source: Source) -> str | None:
    """Return a one-line warning if the file is not official, else None."""
    if _official(source):
        return None
    name, found, known = source.path.name, str(source.sha256)[:12], OFFICIAL.get(source.path.stem)
    if known is None:
        return f"{name} is not one of NAS-Bench-101's official files (SHA-256 {found}…); it is imported unchanged"
    return (
        f"{name} has the name of an official NAS-Bench-101 file, but is NOT that file (SHA-256 {found}…, not "
        f"{known[:12]}…): it is altered or from another source, and its results are not NAS-Bench-101's; it is "
        "imported unchanged"
    )


def _read(source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress) -> tuple[Columns, Meta]:
    """Read a file of any supported format; return its table's columns, and its description with the field `source`."""
    if source.is_folder or source.path.suffix in (PBZ2, PTH):
        return _read_nasbench201(source, epochs, report, progress)
    return _read_tfrecords(source, epochs, report, progress)


def _read_tfrecords(
    source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
) -> tuple[Columns, Meta]:
    def on_block(block: bytes) -> None:
        source.update(block)
        progress("reading", source.read / source.size if source.size else None)

    assembly = Assembly(EPOCHS if epochs is None else epochs, source.path.name)
    for record in read_records(source.path, on_block):
        assembly.add(record)
    progress("checking", None)
    columns, meta = assembly.finish()
    if warning := _warning(source):
        report(warning)
    if assembly.budgets_off_halfway:
        budgets = ", ".join(map(str, assembly.budgets_off_halfway))
        report(f"{source.path.name}: at {budgets} epochs, half-way values are not from the middle of the training")
    official = _official(source)
    about = _about(source, source.read, official is not None, len(assembly))
    return columns, {"name": official or source.path.stem, "version": VERSION, **meta, "source": about}


def _read_nasbench201(
    source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
) -> tuple[Columns, Meta]:
    if epochs is not None:
        raise InvalidInputError(
            f"epochs do not apply to {source.path.name}, because NAS-Bench-201's files have 12 and 200: remove epochs"
        )
    if source.path.suffix == PTH:
        from nasbench1shot1.nasbench201.official_files import read_pth

        assembly = read_pth(source, progress)
    else:
        from nasbench1shot1.nasbench201.official_files import read_archive

        assembly = read_archive(source, progress)
    columns, meta = assembly.finish()
    if assembly.left_out:
        report(f"{source.path.name}: omitted {assembly.left_out:,} trainings with budgets other than 12 and 200 epochs")
    about = _about(source, source.size, False, len(assembly))
    return columns, {"name": table_name(source.path), "version": VERSION, **meta, "source": about}


def _about(source: Source, size: int, known: bool, records: int) -> dict[str, Any]:
    """Return the field `source` of a table's description."""
    digest = {} if source.sha256 is None else {"sha256": source.sha256}
    return {"file": source.path.name, "size": size, **digest, "known": known, "records": records, "key": source.key}


def _open_imported(source: Source) -> Table | None:
    """Return the table that was imported from this file; None if there is none or it cannot be opened."""
    for meta in sorted(tables_folder().glob(f"[!.]*/{META}")):
        try:
            if _recorded_source(read_json(meta)).get("key") == source.key:
                return load_table(meta.parent)
        except (DamagedFileError, InvalidInputError):  # damaged, or from an older version: imported again
            continue
    return None


def _recorded_source(about: Any) -> dict[str, Any]:
    """Return the field `source` of a `meta.json`; empty if the table was not imported."""
    source = about.get("source") if isinstance(about, dict) else None
    return source if isinstance(source, dict) else {}


def _import_with_bar(file: Path, target: Path, report: Report, progress: Progress | None) -> None:
    if progress is not None:
        import_table(file, target, report=report, progress=progress)
        return
    from nasbench1shot1.ground.notebooks import console_or_new
    from nasbench1shot1.table_import.progress import ImportBar

    with ImportBar(console_or_new(None, stderr=True)) as bar:
        import_table(file, target, report=report, progress=bar.show)
