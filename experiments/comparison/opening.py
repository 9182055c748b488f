"""The runs of a comparison, checked before any computation: entries, labels, horizontal axis, facts and tasks."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.display.colours import checked_labels
from nasbench1shot1.experiments.comparison.entries import (
    EPOCHS,
    EVALUATIONS,
    OVER,
    SIMULATED_TIME,
    Entry,
    Facts,
    Over,
    SearchEntry,
)
from nasbench1shot1.experiments.comparison.study_entries import BlackBoxEntry, TrajectoryEntry, TuningEntry
from nasbench1shot1.ground.errors import InvalidInputError, option, quoted_option, unknown_name
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.tuning.record import Study

Item = TypeVar("Item")
Place = TypeVar("Place", bound=Hashable)
MOST = 10
"""Maximum number of curves in a figure."""
KINDS = "searches, groups of seeds, black-box studies or tuning studies"
PARTS = {
    "space": "search spaces",
    "dataset": "data sets",
    "table": "tables",
    "objective": "objectives",
    "scale": "scales",
}
"""What makes regrets incomparable, and nouns for it."""


def open_entries(runs: Any, most: int | None = MOST) -> list[Entry]:
    """Return one entry per run.

    Args:
        runs: folders or records (from `nb.open_run`), or a single folder or record.
        most: the largest number of runs; None: any number.

    Raises:
        InvalidInputError: no run or too many runs are given, a folder is not a run, a run has another kind, or a run is
            given twice.
        DamagedFileError: a run's config.json is damaged.
    """
    is_single = isinstance(runs, str | SearchGroup) or not isinstance(runs, Iterable)
    given = [runs] if is_single else list(runs)
    if not given:
        raise InvalidInputError(f"no run is given: give at least one folder of {KINDS}")
    entries = [_entry(run) for run in given]
    _check_different(entries)
    if most is not None:
        check_number(entries, most)
    return entries


def check_number(entries: Sequence[Entry], most: int = MOST) -> None:
    """Raise InvalidInputError for more runs on one task than a figure can show."""
    if len(entries) > most:
        raise InvalidInputError(f"{len(entries)} runs on one task are too many for a figure: compare at most {most}")


def _entry(run: Any) -> Entry:
    record = open_run(run) if isinstance(run, str | Path) else run
    if isinstance(record, SearchGroup):
        return SearchEntry.from_group(record)
    if isinstance(record, SearchRecord):
        return SearchEntry(record.folder, "search", [record], 1)
    if isinstance(record, BlackBoxStudy):
        entry = TrajectoryEntry if record.is_trajectory else BlackBoxEntry
        return entry(Path(record.source), BlackBoxStudy.KIND, record)
    if isinstance(record, Study):
        return TuningEntry(record.folder, "tuning study", record)
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
                own, others = entry.folders[0], other.folders[0]
                within = "" if folder in (own, others) and entry.kind == other.kind else " with its group"
                named = entry.folder if folder == own else folder
                raise InvalidInputError(f"'{named}' is given twice{within}: give each run once")
        seen |= {folder.resolve(): entry for folder in entry.folders}


def labels_of(entries: Sequence[Entry], labels: Sequence[str] | None) -> list[str]:
    """Return the label of each entry: the given label, or the optimizer's name, with the folder if the name repeats.

    Raises InvalidInputError if the number of labels is wrong, a label is empty, or a label repeats.
    """
    return distinct_labels(labels, [entry.name for entry in entries], [entry.folder for entry in entries])


def distinct_labels(labels: Sequence[str] | None, names: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Return the given labels of runs, or their names, with the folder where a name repeats.

    Errors are as in `labels_of`.
    """
    found = [label.strip() for label in checked_labels(labels, _default_labels(names, folders), "run")]
    if not all(found) or len(set(found)) < len(found):
        raise InvalidInputError(
            f"{quoted_option('labels', ','.join(found))} contains an empty or repeated label: give different labels"
        )
    return found


def _default_labels(names: Sequence[str], folders: Sequence[Path]) -> list[str]:
    found = list(names)
    for part in (lambda folder: folder.resolve().name, str):
        found = [
            f"{name} ({part(folder)})" if found.count(shown) > 1 else shown
            for shown, name, folder in zip(found, names, folders, strict=True)
        ]
    return found


def axis_of(entries: Sequence[Entry], over: str | None) -> Over:
    """Return the horizontal axis. Default: the first of epochs, simulated time and evaluations that all runs have.

    Raises InvalidInputError if the axis is unknown, a run does not support it, or the runs have no axis in common.
    """
    usual: list[Over] = [
        axis for axis in (EPOCHS, SIMULATED_TIME, EVALUATIONS) if all(axis in entry.axes for entry in entries)
    ]
    if over is None:
        if usual:
            return usual[0]
        clocks = {entry.axes: f"'{entry.folder}' ({entry.kind}) has {', '.join(entry.axes)}" for entry in entries}
        raise InvalidInputError(
            f"these runs have no clock in common ({'; '.join(clocks.values())}): compare them separately"
        )
    if over not in OVER:
        raise unknown_name("axis", over, OVER)
    if others := [f"'{entry.folder}' ({entry.kind})" for entry in entries if over not in entry.axes]:
        instead = f", or compare with {option('over', usual[0])}" if usual else ""
        raise InvalidInputError(
            f"{option('over', over)} does not apply to {', '.join(others)}: leave them out{instead}"
        )
    return next(axis for axis in OVER if axis == over)


def check_comparable(entries: Sequence[Entry], is_rescored: bool) -> Facts:
    """Return the space, data set, table and objective of all runs.

    Raises InvalidInputError if they differ, or the scales of searches do. Different tables are allowed if all runs are
    scored again on one table.
    """
    _check_equal(entries, ("space", "dataset", *(() if is_rescored else ("table",)), "objective", "scale"))
    return min(entries[0].facts)


def _check_equal(entries: Sequence[Entry], parts: Sequence[str]) -> None:
    """Raise InvalidInputError if the runs differ in a part of their facts, or in their scale."""
    by_facts = {facts: entry for entry in reversed(entries) for facts in entry.facts}
    for part in parts:
        if part == "scale":
            values = {entry.scale: entry for entry in reversed(entries) if entry.scale is not None}
        else:
            values = {getattr(facts, part): entry for facts, entry in by_facts.items()}
        if len(values) > 1:
            what = PARTS[part]
            preposition = {"objective": "with", "scale": "at"}.get(part, "on")
            named = ", ".join(
                f"{value} ('{entry.folder}')" for value, entry in sorted(values.items(), key=lambda of: str(of[0]))
            )
            remedy = (
                f"score all runs on one table with {option('table')}"
                if part == "table"
                else f"compare only runs {preposition} the same {what[:-1]}"
            )
            raise InvalidInputError(f"regrets {preposition} different {what} are not comparable ({named}): {remedy}")


def tasks_of(entries: Sequence[Entry], is_rescored: bool) -> dict[str, list[Entry]]:
    """Return the runs on each task, by the name of the task.

    A name states what distinguishes the task: always the space, and data set, table and scale where several occur.

    Raises InvalidInputError if the runs have different objectives, or the searches of one group differ.
    """
    _check_equal(entries, ["objective"])

    def place(entry: Entry) -> Facts:
        facts = check_comparable([entry], is_rescored)
        return facts._replace(table="") if is_rescored else facts

    tasks = separate(entries, place, lambda entry: entry.scale)
    parts = [(str(own[0].configs[0]["space"]), facts.dataset, scale or "") for (facts, scale), own in tasks.items()]
    shown = [0, *(place for place in (1, 2) if len({part[place] for part in parts} - {""}) > 1)]
    names = ["/".join(filter(None, (part[place] for place in shown))) for part in parts]
    if len(set(names)) < len(names):
        names = [f"{name}/{facts.space}/{facts.table}" for name, (facts, _) in zip(names, tasks, strict=True)]
    return dict(zip(names, tasks.values(), strict=True))


def separate(
    items: Iterable[Item], place: Callable[[Item], Place], scale: Callable[[Item], str | None]
) -> dict[tuple[Place, str | None], list[Item]]:
    """Return the items of each task, by place (such as space, data set and table) and scale.

    An item without a scale, such as a black-box study, takes part in the tasks of all scales at its place. Tasks and
    items keep their order.
    """
    placed = [(item, place(item), scale(item)) for item in items]
    tasks = dict.fromkeys((at, one) for _, at, one in placed)
    with_scale = {at for at, one in tasks if one is not None}
    return {
        (at, one): [item for item, own, of in placed if own == at and of in (one, None)]
        for at, one in tasks
        if one is not None or at not in with_scale
    }
