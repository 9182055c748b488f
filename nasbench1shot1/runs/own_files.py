"""The files in a run's folder that belong to the run. All others are the user's, and this package never deletes them.

The classes of records list the names of the files, as patterns (`RunRecord.FILES`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from nasbench1shot1.ground.files import picture_files
from nasbench1shot1.runs.folder import CHECKPOINT, CONFIG, ENVIRONMENT, METRICS, SUMMARY
from nasbench1shot1.runs.lock import LOCK

OF_EVERY_RUN = (ENVIRONMENT, CONFIG, METRICS, CHECKPOINT, SUMMARY)
"""What every run writes into its folder."""
_LEFTOVER = re.compile(r"\..+\.(token|[^.]*\.\d{1,12}(\.[0-9a-f]{8})?\.(part|old))")
"""Names of temporary files and folders (`ground.files`, `ground.folder_swap`), and of the tokens of jobs."""


def of_reports(names: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns, for `RunRecord.FILES`, of the files with these names in the reports in a run's folder."""
    return tuple(f"report-*/{name}" for name in names)


def remove_own_files(folder: Path, files: Sequence[str]) -> None:
    """Remove the files that a run wrote, and then its empty sub-folders; everything else stays.

    Args:
        folder: the folder of the run, whose lock the caller holds.
        files: `FILES` of the class of its record.
    """
    patterns = _patterns(files)
    own = [path for pattern in patterns for path in folder.glob(pattern) if not path.is_dir()]
    for path in reversed(own):  # config.json and environment.json last: without these, the rest cannot be resumed
        path.unlink(missing_ok=True)
    parents = {str(parent) for pattern in patterns for parent in Path(pattern).parents} - {"."}
    for place in sorted((place for parent in parents for place in folder.glob(parent)), reverse=True):  # inner first
        with suppress(OSError):  # it is not empty
            place.rmdir()


def other_files(folder: Path, files: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders in a run's folder that the run did not write.

    Locks and temporary files, which a killed process may leave, are left out.

    Args:
        folder: the folder of the run.
        files: `FILES` of the class of its record.
    """
    return _others(folder, _patterns(files))


def _others(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    parts = [pattern.partition("/") for pattern in patterns]
    for path in sorted(folder.iterdir()):
        if path.name.startswith(LOCK) or _LEFTOVER.fullmatch(path.name):
            continue
        if path.is_dir():
            inside = [rest for first, slash, rest in parts if slash and fnmatchcase(path.name, first)]
            yield from _others(path, inside) if inside else [path]
        elif not any(fnmatchcase(path.name, pattern) for pattern in patterns):
            yield path


def _patterns(files: Sequence[str]) -> list[str]:
    """Return the patterns of all files of a run; a picture also has other formats, and files beside it."""
    found = list(OF_EVERY_RUN)
    for pattern in files:
        folder, slash, name = pattern.rpartition("/")
        found += [f"{folder}{slash}{one}" for one in (picture_files(name) if name.endswith(".png") else [name])]
    return found
