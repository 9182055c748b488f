"""The searches of a study in processes of their own: parts of consecutive searches, merged in order.

Every search depends only on the study's options and its own number, so that the merged record equals the record of a
single process. Until its lines have been moved into the study, a part lies in the study's folder, for example
`parts/00050-25` for 25 searches from number 50.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nasbench1shot1.black_box_search.options import BlackBoxOptions, recorded_study
from nasbench1shot1.black_box_search.record import BlackBoxStudy, StudyPart
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
from nasbench1shot1.errors import UserError
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.running import Watcher, run_jobs
from nasbench1shot1.jobs.workers import open_workers, this_machine
from nasbench1shot1.runs.description import description
from nasbench1shot1.runs.folder import CONFIG, METRICS, PARTS, check_facts, read_lines
from nasbench1shot1.runs.lifecycle import existing_run, new_run
from nasbench1shot1.runs.writer import RunWriter

SEARCHES = 25
"""Number of searches of a part."""


@dataclass(frozen=True)
class Places:
    """Where the searches of a study run.

    Attributes:
        workers: number of processes on this machine. Default: this process alone.
        scheduler: address of a dask scheduler, whose workers search instead.
    """

    workers: int | None = None
    scheduler: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether all searches run in this process."""
        return self.scheduler is None and self.workers in (None, 1)


class Progress(Protocol):
    """Is told how many searches have ended."""

    def recorded(self, searches: int) -> None:
        """Called with the number of searches that have ended, in the study or in a part."""


def run_parts(
    options: BlackBoxOptions, writer: RunWriter[BlackBoxStudy], last: int, places: Places, progress: Progress
) -> None:
    """Compute the searches from the writer's next one to `last`, and append their lines in order.

    Raises UserError if a part fails; all lines before its first missing one are recorded.
    """
    starts = range(writer.recorded // SEARCHES * SEARCHES, last, SEARCHES)
    jobs = [_job(options, writer.folder, first, min(SEARCHES, last - first)) for first in starts]
    merging = _Merging(writer, jobs, progress)
    with _workers(places) as workers:
        failures = run_jobs(jobs, workers, merging)
    merging.merge()
    if failures:
        name, sentence = next(iter(failures.items()))
        begun = writer.recorded or any(read_lines(job.folder / METRICS) for job in jobs)
        advice = f"correct that, and {f'continue with --resume {writer.folder}' if begun else 'begin again'}"
        raise UserError(f"{name} failed ({sentence}): {advice}")
    shutil.rmtree(writer.folder / PARTS, ignore_errors=True)


def _workers(places: Places) -> AbstractContextManager[Workers]:
    if places.scheduler is None:
        return this_machine([{}] * (places.workers or 1))
    return open_workers(places.scheduler, places.workers, "cpu", 1)


def _job(options: BlackBoxOptions, study: Path, first: int, count: int) -> Job:
    return Job(
        name=f"searches {first} to {first + count - 1}",
        command="nasbench1shot1.black_box_search.parts:run_part",
        folder=study / PARTS / f"{first:05d}-{count}",
        options={"study": str(study), "first": first, "count": count, "optimizer": options.common.optimizer},
        threads=1,
    )


class _Merging(Watcher[Job]):
    """Moves the lines of finished parts into the study, in order."""

    def __init__(self, writer: RunWriter[BlackBoxStudy], jobs: Sequence[Job], progress: Progress) -> None:
        self._writer, self._jobs, self._progress = writer, list(jobs), progress

    def tick(self, waiting: Sequence[Job]) -> None:
        """Show the number of searches that have ended."""
        open_lines = sum(len(read_lines(job.folder / METRICS)) for job in self._jobs)
        self._progress.recorded(self._writer.recorded + open_lines)

    def finished(self, job: Job) -> None:
        """Merge what can be merged."""
        self.merge()

    def merge(self) -> None:
        """Move all lines that follow the study's last one."""
        while self._jobs and self._jobs[0].is_finished:
            job = self._jobs.pop(0)
            for line in StudyPart.read_lines(job.folder):
                if line["repeat"] == self._writer.recorded:
                    self._writer.append_line(line)
            self._progress.recorded(self._writer.recorded)


def run_part(
    *, out: Path | None = None, resume: Path | None = None, study: str = "", first: int = 0, count: int = 0, **_: Any
) -> None:
    """Compute a part in this process: a new one in `out`, or the rest of the one in `resume`.

    Args:
        out: folder of a new part.
        resume: folder of a stopped part; the other arguments are not needed.
        study: folder of the study.
        first, count: numbers of the first search, and of searches.

    Raises UserError as `Repeats.line` does.
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
