"""Import of benchmarks' official files into tables, in every format that a registered benchmark reads."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nasbench1shot1.benchmark import Benchmark, benchmarks, load
from nasbench1shot1.ground.downloads import fetch, lock_of_download
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError, option, switch, unknown_name
from nasbench1shot1.ground.files import as_path, file_lock, read_json
from nasbench1shot1.ground.folder_swap import read_consistently, recover_folder
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.tables.description import Meta, benchmark_of
from nasbench1shot1.tables.folder import META
from nasbench1shot1.tables.formats import Download, FileFormat, Progress, Report, Source, format_of, table_name
from nasbench1shot1.tables.names import bundled_tables, tables_folder
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.tables.writing import check_target, write_table

if TYPE_CHECKING:
    from rich.console import Console


def import_table(
    file: str | Path,
    out: str | Path,
    *,
    epochs: Sequence[int] | None = None,
    benchmark: Benchmark | None = None,
    form: FileFormat | None = None,
    report: Report = print_to_stderr,
    progress: Progress = lambda doing, fraction: None,
) -> Meta:
    """Read a file, check it, and write its table, completely or not at all.

    Args:
        file: `nasbench_only108.tfrecord`, `nasbench_full.tfrecord`, or another file in this format; a `.pth` file of
            NAS-Bench-201 without weights; or an archive of NATS-Bench's topology or size space:
            `NATS-tss-v1_0-3ffb9-simple.tar`, the folder in it, or the file `NATS-tss-v1_0-3ffb9.pickle.pbz2`. No code
            in a file is run.
        out: folder of the table; an existing table is replaced when the new one is complete.
        epochs: the budgets that a file in NAS-Bench-101's format may have. Default: NAS-Bench-101's budgets.
        benchmark: refuse the files of other benchmarks. Default: accept all files.
        form: the format of the file, if it is not an official one, such as `frame_files.FrameFile`.
        report: receives one line if the file is not official, and one line about each unusual property.
        progress: receives the current work and the fraction done.

    Returns:
        The content of `meta.json`, with the file's name, size and SHA-256 in `source`.

    Raises:
        InvalidInputError: the file has another format or is incomplete, or `out` contains files other than a table.
        DamagedFileError: a checksum in the file is wrong, or it ends within a record.
        UserError: the file cannot be read, or `out` cannot be written.
    """
    file, out = as_path(file, "file"), as_path(out, "out")
    source = Source.from_path(file, form)
    check_target(out)
    parents = out.absolute().parents
    source.benchmark, source.scratch = benchmark, next(folder for folder in parents if folder.is_dir())
    columns, meta = source.format.read(source, epochs, report, progress)
    source.check_benchmark(benchmark_of(meta))
    progress("indexing and writing", None)
    return write_table(out, columns, meta)


def check_own_name(file: Path, out: Path, form: FileFormat | None = None, overwrite: bool = False) -> None:
    """Raise InvalidInputError if a table's folder has another file's table, or a name that means another table.

    With `overwrite`, another file's table may be replaced. Two files are the same if their paths, sizes and times of
    last change are equal, or their sizes and SHA-256.
    """
    if out == tables_folder():  # the name of a file such as ".csv" is empty
        raise InvalidInputError(f"'{file}' does not name a table: rename it, or give a folder with {option('out')}")
    if out.name in bundled_tables() or out.name.startswith("."):
        raise InvalidInputError(f"the name {out.name} is taken: give another folder with {option('out')}")
    if overwrite or not recover_folder(out) or not (out / META).is_file() or not file.exists():
        return
    recorded = read_consistently(out, lambda folder: _recorded_source(read_json(folder / META)))
    if not Source.from_path(file, form).matches_record(recorded):
        raise InvalidInputError(
            f"{out} contains the table of another file with this name: replace it with {switch('overwrite')}, or give "
            f"another folder with {option('out')}"
        )


def open_official(
    path: str | Path,
    report: Report = print_to_stderr,
    progress: Progress | None = None,
    benchmark: Benchmark | None = None,
) -> Table:
    """Open a table, or a file that `import_table` reads, which is imported on first use.

    The file's table is stored in the data folder and opened from there until the file changes (path, size or time of
    last change). If several processes open a file for the first time, one imports it, and the others wait.

    Args:
        path: the file; or the folder or name of a table, as in `load_table`.
        report: as in `import_table`.
        progress: as in `import_table`. Default: a progress bar if the output is a terminal.
        benchmark: as in `import_table`.

    Raises the errors of `import_table` and `load_table`.
    """
    file = as_path(path, "path")
    if not file.is_file() and format_of(file) is None:
        return load_table(path)
    source = Source.from_path(file)
    if table := _open_imported(source):
        return table
    target = tables_folder() / f"{table_name(file).lstrip('.')}-{source.key[:8]}"
    report(f"importing {file} into {target}, from which it will be opened from now on")
    with file_lock(target.parent / ".locks" / f"{target.name}.lock"):
        if table := _open_imported(source):  # another process was faster
            return table
        _import_with_bar(file, target, benchmark, report, progress)
    return load_table(target)


def _open_imported(source: Source) -> Table | None:
    """Return the table that was imported from this file; None if there is none or it cannot be opened."""
    for meta in sorted(tables_folder().glob(f"[!.]*/{META}")):
        try:
            if _recorded_source(read_json(meta)).get("key") == source.key:
                return load_table(meta.parent)
        except (DamagedFileError, InvalidInputError):  # damaged: imported again
            continue
    return None


def _recorded_source(about: Any) -> dict[str, Any]:
    """Return the field `source` of a `meta.json`; empty if the table was not imported."""
    source = about.get("source") if isinstance(about, dict) else None
    return source if isinstance(source, dict) else {}


def _import_with_bar(
    file: Path, target: Path, benchmark: Benchmark | None, report: Report, progress: Progress | None
) -> None:
    if progress is not None:
        import_table(file, target, benchmark=benchmark, report=report, progress=progress)
        return
    from nasbench1shot1.ground.notebooks import console_or_new

    with ImportBar(console_or_new(None, stderr=True)) as bar:
        import_table(file, target, benchmark=benchmark, report=report, progress=bar.show)


def download_table(
    which: str,
    mirror: str | None = None,
    keep: bool = False,
    bar: Any = False,
    report: Report = print_to_stderr,
    progress: Progress = lambda doing, fraction: None,
) -> Path:
    """Download an official file, check its SHA-256, and import it; a file that is already imported is skipped.

    Args:
        which: name of the file in `Benchmark.downloads`: NAS-Bench-101 has "only108" for the trainings with 108 epochs,
            and "full" for 4, 12, 36 and 108 epochs.
        mirror: another address of the file, or of the folder that contains it.
        keep: keep the file in the data folder's `downloads` after the import.
        bar: progress bar of the download, as in `ground.downloads.fetch`.
        report: as in `import_table`.
        progress: receives the progress of the import, as in `import_table`.

    Returns:
        The table's folder, in the data folder's `tables`.

    Raises:
        InvalidInputError: `which` is unknown, or the table's folder contains other files.
        UserError: the file cannot be downloaded, has another SHA-256, or cannot be written.
    """
    known = {name: reference for benchmark in benchmarks() for name, reference in benchmark.downloads.items()}
    if which not in known:
        raise unknown_name("official file", which, known)
    official: Download = load(known[which], f"the download {which}")
    name = Path(official.file)
    target = tables_folder() / name.stem
    check_target(target)
    url = (mirror or official.home).rstrip("/")
    url = url if url.endswith(name.suffix) else f"{url}/{name}"
    if not _is_imported(target, official.sha256):
        with lock_of_download(str(name)):
            if not _is_imported(target, official.sha256):  # another process may have imported it meanwhile
                report(f"downloading {url} ({official.size}), then importing it")
                instead = f"download it by hand and run `nb1shot1 table import FILE`, or give a {option('mirror')}"
                file = fetch(url, str(name), official.sha256, bar, f"the official {name}", instead)
                import_table(file, target, report=report, progress=progress)
                if not keep:
                    file.unlink(missing_ok=True)
                return target
    report(f"{name} is already imported")
    return target


def _is_imported(target: Path, digest: str) -> bool:
    with suppress(UserError):  # no table, or one that cannot be used
        return bool(load_table(target).info().get("source", {}).get("sha256") == digest)
    return False


class ImportBar:
    """A context manager that shows the current work with a bar and the remaining time.

    Reading takes most of the time, and its duration is known. In later steps of unknown duration, the bar moves back
    and forth. Without a terminal, nothing is shown.
    """

    def __init__(self, console: "Console") -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)
        self._doing = ""

    def __enter__(self) -> "ImportBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, doing: str, fraction: float | None) -> None:
        """Show a description of the current work and the fraction done; None if the fraction is unknown."""
        if doing != self._doing:
            self._bar.start()  # not earlier, because the bar of a download may still be shown
            self._doing = doing
            self._bar.update(self._task, visible=False)
            self._task = self._bar.add_task(doing, total=None if fraction is None else 1.0)
        if fraction is not None:
            self._bar.update(self._task, completed=fraction)
