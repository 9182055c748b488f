"""Download of NAS-Bench-101's official files."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.downloads import fetch
from nasbench1shot1.ground.errors import UserError, unknown_name
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.table_import.importing import OFFICIAL, Progress, Report, import_table
from nasbench1shot1.tables.folder import check_target
from nasbench1shot1.tables.names import tables_folder
from nasbench1shot1.tables.table import load_table

HOME = "https://storage.googleapis.com/nasbench"
SIZES = {"only108": "499 MB", "full": "1.95 GB"}


def download_table(
    which: str,
    mirror: str | None = None,
    keep: bool = False,
    bar: Any = False,
    report: Report = print_to_stderr,
    progress: Progress = lambda doing, fraction: None,
) -> Path:
    """Download a file of NAS-Bench-101, check its SHA-256, and import it; a file that is already imported is skipped.

    Args:
        which: "only108" for the trainings with 108 epochs, or "full" for 4, 12, 36 and 108 epochs.
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
    if which not in SIZES:
        raise unknown_name("official file", which, SIZES)
    stem = f"nasbench_{which}"
    target = tables_folder() / stem
    check_target(target)
    if _is_imported(target, stem):
        report(f"{stem}.tfrecord is already imported")
        return target
    url = (mirror or HOME).rstrip("/")
    url = url if url.endswith(".tfrecord") else f"{url}/{stem}.tfrecord"
    report(f"downloading {url} ({SIZES[which]}), then importing it")
    file = fetch(
        url,
        f"{stem}.tfrecord",
        OFFICIAL[stem],
        bar,
        f"the official {stem}.tfrecord",
        "download it by hand and run `nb1shot1 table import FILE`, or give a --mirror",
    )
    import_table(file, target, report=report, progress=progress)
    if not keep:
        file.unlink()
    return target


def _is_imported(target: Path, stem: str) -> bool:
    with suppress(UserError):  # no table, or one that cannot be used
        return bool(load_table(target).info().get("source", {}).get("sha256") == OFFICIAL[stem])
    return False
