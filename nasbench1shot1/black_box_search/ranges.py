"""Searches of a study in several processes: each range of searches is an ordinary study in a sub-folder, and a job."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from nasbench1shot1.black_box_search.options import BlackBoxOptions
from nasbench1shot1.black_box_search.record import RANGE, BlackBoxStudy
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.pool import Watcher, first_failure, run_jobs
from nasbench1shot1.runs.folder import METRICS
from nasbench1shot1.runs.next_command import resume_advice

SEARCHES = 125
"""Maximum number of searches in a range: a fast worker then takes over ranges from a slow or lost one."""
SEARCH = "nasbench1shot1.black_box_search.studying:search_range"
"""What a worker process runs, as module:function."""


def run_ranges(
    options: BlackBoxOptions, study: BlackBoxStudy, own: int, workers: Workers, watcher: Watcher[Job]
) -> None:
    """Run all searches of a study that are not recorded yet, as jobs.

    Args:
        options: the options of the study.
        study: the study.
        own: number of searches in the study's own metrics.jsonl.
        workers: where to run the jobs.
        watcher: receives the progress.

    Raises:
        UserError: a job failed; the others were run to their ends.
    """
    first, last = study.numbers.start, study.numbers.stop
    spans = {part.folder: (part.numbers.start, part.numbers.stop) for part in study.ranges}
    begun = {folder: span for folder, span in spans.items() if span[0] < last and span[1] > first}
    new = divide([(first, first + own), *begun.values()], first, last, workers.count)
    wanted = begun | {study.folder / f"{RANGE}{start:05d}": (start, end) for start, end in new}
    jobs = [_job(options, folder.absolute(), *span) for folder, span in wanted.items()]
    if failures := run_jobs(jobs, workers, watcher):
        is_kept = study.recorded > 0 or (study.folder / METRICS).exists()  # every resumed study has the file
        again = f"continue with {resume_advice(study.folder)}" if is_kept else "start the study again"
        raise first_failure(jobs, failures, again, keeps_logs=is_kept)


def divide(taken: Sequence[tuple[int, int]], first: int, last: int, workers: int) -> list[tuple[int, int]]:
    """Divide the searches `first` to `last` - 1 that are not taken into ranges of at most `SEARCHES` searches.

    Args:
        taken: the ranges that have begun; each is the number of its first search, and the number after its last one.
        first: number of the first search of the study.
        last: number after the last search of the study.
        workers: number of workers, over which the ranges are distributed evenly.

    Returns:
        The new ranges in ascending order, in the form of `taken`.
    """
    within = [(max(start, first), min(end, last)) for start, end in taken]
    bounds = sorted([(first, first), *within, (last, last)])
    gaps = [(before, after) for (_, before), (after, _) in pairwise(bounds) if before < after]
    free = sum(end - start for start, end in gaps)
    rounds = max(math.ceil(free / (workers * SEARCHES)), 1)
    size = max(math.ceil(free / (workers * rounds)), 1)
    return [(start, min(start + size, end)) for begin, end in gaps for start in range(begin, end, size)]


def _job(options: BlackBoxOptions, folder: Path, first: int, last: int) -> Job:
    return Job(
        name=f"searches {first} to {last - 1}",
        command=SEARCH,
        folder=folder,
        options={**options.used(), "first_repeat": first, "repeats": last - first},
        threads=1,
    )
