"""Parallel execution of a study: separate processes run parts of consecutive searches, which are merged in order.

Each search depends only on the study's options and its own number, so the merged record equals the record of a single
process. Until a part is merged, it has its own folder in the study's folder. For example, `parts/00050-25` holds 25
searches from number 50.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nasbench1shot1.black_box_search.options import BlackBoxOptions, recorded_study
from nasbench1shot1.black_box_search.record import BlackBoxStudy, StudyPart, part_folder, started_parts
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.pool import Watcher, open_workers, run_jobs, this_machine
from nasbench1shot1.runs.description import description
from nasbench1shot1.runs.folder import CONFIG, METRICS, PARTS, check_facts, count_lines, read_lines
from nasbench1shot1.runs.lifecycle import existing_run, new_run
from nasbench1shot1.runs.next_command import resume_options
from nasbench1shot1.runs.writer import RunWriter

SEARCHES = 125
"""Maximum number of searches in a part. A process takes a second to start, and only whole parts are merged."""


@dataclass(frozen=True)
class Places:
    """Where the searches of a study run.

    Attributes:
        workers: number of processes on this machine. Default: only this process.
        scheduler: address of a dask scheduler whose workers run the searches instead.
    """

    workers: int | None = None
    scheduler: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether all searches run in this process."""
        return self.scheduler is None and self.workers in (None, 1)


class Progress(Protocol):
    """Receives the number of finished searches."""

    def recorded(self, searches: int) -> None:
        """Receive the number of finished searches, merged or still in parts."""


def run_parts(
    options: BlackBoxOptions, writer: RunWriter[BlackBoxStudy], last: int, places: Places, progress: Progress
) -> None:
    """Run all searches that are not recorded yet, up to but excluding `last`, and append their lines in order.

    Raises UserError if a part fails. All lines before the first missing line are recorded.
    """
    with _workers(places) as workers:
        spans = divide(started_parts(writer.folder), writer.recorded, last, workers.count)
        jobs = [_job(options, writer.folder, first, count) for first, count in spans]
        merging = _Merging(writer, jobs, progress)
        failures = run_jobs(jobs, workers, merging)
    merging.merge()
    if failures:
        name, sentence = next(iter(failures.items()))
        started = writer.recorded or any(read_lines(job.folder / METRICS) for job in jobs)
        advice = f"continue with {resume_options(writer.folder)}" if started else "start the study again"
        raise UserError(f"{name} failed ({sentence}): fix the cause, then {advice}")
    shutil.rmtree(writer.folder / PARTS, ignore_errors=True)


def _workers(places: Places) -> AbstractContextManager[Workers]:
    if places.scheduler is None:
        return this_machine([{}] * (places.workers or 1))
    return open_workers(places.scheduler, places.workers, "cpu", 1)


def divide(started: Sequence[tuple[int, int]], recorded: int, last: int, workers: int) -> list[tuple[int, int]]:
    """Divide the searches `recorded` to `last` - 1 into parts, keeping the parts that have begun.

    New parts have at most `SEARCHES` searches and are distributed evenly over the workers.

    Args:
        started: first search and number of searches of each part that has started, of any size, in ascending order.
        recorded: number of recorded searches.
        last: number of searches of the study.
        workers: number of workers.

    Returns:
        First search and number of searches of each part, in ascending order.
    """
    rounds = math.ceil((last - recorded) / (workers * SEARCHES))
    size = math.ceil((last - recorded) / (workers * max(rounds, 1)))
    parts: list[tuple[int, int]] = []
    for first, count in [*started, (last, 0)]:
        if recorded < first + count <= last:
            parts += [(start, min(size, first - start)) for start in range(recorded, first, size)]
            parts += [(first, count)] if count else []
            recorded = first + count
    return parts


def _job(options: BlackBoxOptions, study: Path, first: int, count: int) -> Job:
    return Job(
        name=f"searches {first} to {first + count - 1}",
        command="nasbench1shot1.black_box_search.parts:run_part",
        folder=part_folder(study, first, count),
        options={"study": str(study), "first": first, "count": count, "optimizer": options.common.optimizer},
        threads=1,
    )


class _Merging(Watcher[Job]):
    """Moves the lines of finished parts into the study, in order."""

    def __init__(self, writer: RunWriter[BlackBoxStudy], jobs: Sequence[Job], progress: Progress) -> None:
        self._writer, self._jobs, self._progress = writer, list(jobs), progress

    def tick(self, waiting: Sequence[Job]) -> None:
        """Report the number of finished searches."""
        open_lines = sum(count_lines(job.folder / METRICS) for job in self._jobs)
        self._progress.recorded(self._writer.recorded + open_lines)

    def finished(self, job: Job) -> None:
        """Merge all parts that can be merged."""
        self.merge()

    def merge(self) -> None:
        """Append the lines of finished parts that directly follow the last recorded search."""
        while self._jobs and self._jobs[0].is_finished:
            job = self._jobs.pop(0)
            recorded = self._writer.recorded
            self._writer.append_lines([line for line in StudyPart.read_lines(job.folder) if line["repeat"] >= recorded])
            self._progress.recorded(self._writer.recorded)


def run_part(
    *, out: Path | None = None, resume: Path | None = None, study: str = "", first: int = 0, count: int = 0, **_: Any
) -> None:
    """Run a part in this process: a new part in `out`, or the remaining searches of the part in `resume`.

    Args:
        out: folder of a new part.
        resume: folder of a stopped part; the other arguments are then ignored.
        study: folder of the study.
        first: number of the first search.
        count: number of searches.

    Raises UserError under the conditions of `Repeats.line`.
    """
    if out is not None:
        options = BlackBoxStudy.open(study)
        with new_run(out, RunWriter[StudyPart], StudyPart) as writer:
            facts = {name: options.config[name] for name in ("space_id", "table_id")}
            own = recorded_study(options.config, Path(study) / CONFIG)
            described = {**facts, "first": first, "count": count}
            writer.describe(description(StudyPart.KIND, own.sections(), described), {})
            _search(own, writer, described)
        return
    assert resume is not None
    with existing_run(resume, RunWriter[StudyPart], StudyPart) as writer:
        part = StudyPart.open(resume)
        writer.keep_complete_lines()
        _search(recorded_study(part.config, resume / CONFIG), writer, part.config)


def _search(options: BlackBoxOptions, writer: RunWriter[StudyPart], facts: Mapping[str, Any]) -> None:
    repeats = Repeats(options, table_of_study(options))
    check_facts(writer.folder, facts, {"space_id": repeats.space.id, "table_id": repeats.table.id})
    for repeat in range(facts["first"] + writer.recorded, facts["first"] + facts["count"]):
        writer.append_line(repeats.line(repeat))
    writer.finish({"first": facts["first"], "count": facts["count"]})
