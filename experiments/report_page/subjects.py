"""The runs of a report: any kind that can be compared, rankings and trainings, with labels, progress and options."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.cell_training.group import TrainingGroup
from nasbench1shot1.cell_training.record import Training
from nasbench1shot1.experiments.comparison.entries import Entry, SearchEntry
from nasbench1shot1.experiments.comparison.opening import distinct_labels, open_entries
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import is_finished
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.runs.group import RunGroup
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tuning.record import Study

NOT_COMPARED = (Ranking, Training, TrainingGroup)
"""Kinds of records without regrets over time."""
NOT_STARTED = "not started"
KINDS = "searches, groups of seeds, black-box studies, tuning studies, rankings, trainings or groups of trainings"


@dataclass(frozen=True, eq=False)
class Subject:
    """A run of a report.

    Attributes:
        label: its name on the page.
        record: what `nb.open_run` returns for its folder.
        entry: the run in a comparison; None for rankings and trainings, and for a group of seeds that has not started.
    """

    label: str
    record: Any
    entry: Entry | None

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        folder: Path = self.record.folder
        return folder

    @cached_property
    def records(self) -> Sequence[RunRecord]:
        """The records with a config.json: those of the searches or trainings of a group that have begun, or the run."""
        if isinstance(self.record, RunGroup):
            return self.record.runs
        return [self.record]

    @property
    def trainings(self) -> Sequence[Training]:
        """The trainings of the run that have begun; none if it is not a training or a group of trainings."""
        return [record for record in self.records if isinstance(record, Training)]

    @property
    def searches(self) -> Sequence[SearchRecord]:
        """The searches of the run that have begun; none if it is a study or a training."""
        return self.entry.runs if isinstance(self.entry, SearchEntry) else []

    @property
    def kind(self) -> str:
        """The kind of run in words."""
        if self.entry is not None:
            return self.entry.kind
        if isinstance(self.record, SearchGroup):
            return "group of seeds"
        return "group of trainings" if isinstance(self.record, TrainingGroup) else str(self.record.KIND)

    @property
    def config(self) -> Mapping[str, Any]:
        """The options of the run; for a group, those that all of its searches or trainings share."""
        if isinstance(self.record, RunGroup):
            return {**self.record.options, "seeds": ", ".join(map(str, self.record.seeds))}
        config: Mapping[str, Any] = self.record.config
        return config

    @property
    def progress(self) -> str | None:
        """How far an unfinished run is, such as "12 of 50 epochs"; None if it is finished."""
        if self.entry is not None:
            return self.entry.progress
        if isinstance(self.record, SearchGroup):
            return NOT_STARTED
        if isinstance(self.record, TrainingGroup):
            places = [folder for *_, folder in self.record.places()]
            done = sum(map(is_finished, places))
            return None if done == len(places) else f"{done:,} of {counted(len(places), 'training')}"
        return None if self.record.is_finished else str(self.record.progress)


def open_subjects(runs: Any, labels: Sequence[str] | None = None) -> list[Subject]:
    """Return the runs of a report in the given order.

    Args:
        runs: folders or records (from `nb.open_run`), or a single one.
        labels: one label per run. Default: the names of the optimizers, with the folders where a name repeats; for
            trainings, the folders; for rankings, "ranking of" the optimizer.

    Raises:
        InvalidInputError: no run is given, a folder is not a run, a run has another kind or is given twice, or the
            labels are not different.
        DamagedFileError: a run's config.json is damaged.
    """
    is_single = isinstance(runs, str | Path | RunGroup) or not isinstance(runs, Iterable)
    given = [runs] if is_single else list(runs)
    if not given:
        raise InvalidInputError(f"no run is given: give at least one folder of {KINDS}")
    records = [open_run(run) if isinstance(run, str | Path) else run for run in given]
    _check_kinds(records)
    compared = [record for record in records if _is_compared(record)]
    opened = iter(open_entries(compared, most=None) if compared else [])
    found = [next(opened) if _is_compared(record) else None for record in records]
    _check_distinct(records)
    names = [entry.name if entry else _name(record) for record, entry in zip(records, found, strict=True)]
    shown = distinct_labels(labels, names, [record.folder for record in records])
    return [Subject(*parts) for parts in zip(shown, records, found, strict=True)]


def _check_kinds(records: Sequence[Any]) -> None:
    """Raise InvalidInputError for anything that no page shows, except lists, which `open_entries` refuses."""
    for record in records:
        if isinstance(record, (SearchRecord, SearchGroup, BlackBoxStudy, Study, *NOT_COMPARED, list)):
            continue
        what = f"'{record.folder}' is a {record.KIND}" if hasattr(record, "KIND") else f"{record!r} is not a run"
        raise InvalidInputError(f"{what}: remove it, because a page shows only {KINDS}")


def _is_compared(record: Any) -> bool:
    """Return whether a record is for `open_entries`."""
    if isinstance(record, SearchGroup):
        return bool(record.runs)
    return not isinstance(record, NOT_COMPARED)


def _check_distinct(records: Sequence[Any]) -> None:
    """Raise InvalidInputError if a ranking or a training is given twice, or a training with its group."""
    seen = set[Path]()
    for record in records:
        if isinstance(record, NOT_COMPARED):
            own = [record, *(record.runs if isinstance(record, TrainingGroup) else [])]
            for folder in (each.folder.resolve() for each in own):
                if folder in seen:
                    raise InvalidInputError(f"'{folder}' is given twice: give each run once")
                seen.add(folder)


def _name(record: Any) -> str:
    """Return the default label of a record that is not compared."""
    if isinstance(record, SearchGroup):
        return str(record.options.get("optimizer")).rpartition(":")[2]
    if isinstance(record, Ranking):
        return f"ranking of {str(record.config['optimizer']).rpartition(':')[2]}"
    return str(record.folder.resolve().name)
