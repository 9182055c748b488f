"""Opening the runs of a comparison from folders or records, and checking them before any computation."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.experiments.comparison.entry import EPOCHS, OVER, SIMULATED_TIME, Entry, Facts, Over
from nasbench1shot1.experiments.comparison.searches import SearchEntry
from nasbench1shot1.experiments.comparison.studies import BlackBoxEntry, TuningEntry
from nasbench1shot1.ground.errors import InvalidInputError, unknown_name
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.search_record import SearchRecord
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.tuning.record import Study

MOST = 10
"""Maximum number of curves in a figure."""
KINDS = "searches, groups of seeds, black-box studies or tuning studies"


def open_entries(runs: Any) -> list[Entry]:
    """Return one entry per run.

    Args:
        runs: folders or records (from `nb.open_run`), or a single folder or record.

    Raises:
        InvalidInputError: no run or too many runs are given, a folder is not a run, a run has another kind, or a run is
            given twice.
        DamagedFileError: a run's config.json is damaged.
    """
    is_single = isinstance(runs, str | SearchGroup) or not isinstance(runs, Iterable)
    given = [runs] if is_single else list(runs)
    if not given:
        raise InvalidInputError(f"no run is given: give at least one folder of {KINDS}")
    if len(given) > MOST:
        raise InvalidInputError(f"{len(given)} runs are too many for one figure: compare at most {MOST}")
    entries = [_entry(run) for run in given]
    _check_different(entries)
    return entries


def _entry(run: Any) -> Entry:
    record = open_run(run) if isinstance(run, str | Path) else run
    if isinstance(record, SearchGroup):
        return SearchEntry.from_group(record)
    if isinstance(record, SearchRecord):
        return SearchEntry.from_run(record)
    if type(record) is BlackBoxStudy:
        return BlackBoxEntry.from_study(record)
    if isinstance(record, Study):
        return TuningEntry.from_study(record)
    if isinstance(record, list | tuple):
        raise InvalidInputError("a list of runs within the list is not a group: give nb.load_run(the group's folder)")
    what = f"'{record.folder}' is a {record.KIND}" if hasattr(record, "KIND") else f"{record!r} is not a run"
    raise InvalidInputError(f"{what}: compare takes {KINDS}")


def _check_different(entries: Sequence[Entry]) -> None:
    """Raise InvalidInputError if a run is given twice, separately or as part of its group."""
    seen = dict[Path, Entry]()
    for entry in entries:
        for folder in entry.folders:
            if other := seen.get(folder.resolve()):
                within = (
                    "" if folder in (entry.folder, other.folder) and entry.kind == other.kind else " with its group"
                )
                raise InvalidInputError(f"'{folder}' is given twice{within}: give each run once")
        seen |= {folder.resolve(): entry for folder in entry.folders}


def labels_of(entries: Sequence[Entry], labels: Sequence[str] | None) -> list[str]:
    """Return the label of each entry: the given label, or the optimizer's name, with the folder if the name repeats.

    Raises InvalidInputError if the number of labels is wrong, a label is empty, or a label repeats.
    """
    if labels is None:
        return _default_labels(entries)
    found = [str(label).strip() for label in ([labels] if isinstance(labels, str) else labels)]
    if len(found) != len(entries):
        raise InvalidInputError(
            f"--labels has {counted(len(found), 'label')} for {counted(len(entries), 'run')}: give one label per run"
        )
    if not all(found) or len(set(found)) < len(found):
        raise InvalidInputError(
            f"--labels '{','.join(found)}' contains an empty or repeated label: give different labels"
        )
    return found


def _default_labels(entries: Sequence[Entry]) -> list[str]:
    names = [entry.name for entry in entries]
    for part in (lambda folder: folder.resolve().name, str):
        names = [
            f"{entry.name} ({part(entry.folder)})" if names.count(name) > 1 else name
            for entry, name in zip(entries, names, strict=True)
        ]
    return names


def axis_of(entries: Sequence[Entry], over: str | None) -> Over:
    """Return the horizontal axis. Default: epochs if all runs are searches, otherwise simulated time.

    Raises InvalidInputError if the axis is unknown or a run does not support it.
    """
    if over is None:
        return EPOCHS if all(EPOCHS in entry.AXES for entry in entries) else SIMULATED_TIME
    if over not in OVER:
        raise unknown_name("axis", over, OVER)
    if others := [f"'{entry.folder}' ({entry.kind})" for entry in entries if over not in entry.AXES]:
        raise InvalidInputError(
            f"--over {over} applies only to searches and groups of seeds: remove {', '.join(others)}, or compare with "
            "--over simulated-time"
        )
    return next(axis for axis in OVER if axis == over)


def check_comparable(entries: Sequence[Entry], is_rescored: bool) -> Facts:
    """Return the space, data set and table of all runs.

    Raises InvalidInputError if they differ. Different tables are allowed if all runs are scored again on one table.
    """
    by_facts = {facts: entry for entry in reversed(entries) for facts in entry.facts}
    first = min(entries[0].facts)
    for part, what in (("space", "search spaces"), ("dataset", "data sets"), ("table", "tables")):
        values = {getattr(facts, part): entry for facts, entry in by_facts.items()}
        if len(values) > 1 and not (part == "table" and is_rescored):
            named = ", ".join(f"{value} ('{entry.folder}')" for value, entry in sorted(values.items(), key=_name))
            remedy = (
                "score all runs on one table with --table"
                if part == "table"
                else f"compare only runs on the same {what[:-1]}"
            )
            raise InvalidInputError(f"regrets on different {what} are not comparable ({named}): {remedy}")
    return first


def _name(item: tuple[str, Entry]) -> str:
    return item[0]
