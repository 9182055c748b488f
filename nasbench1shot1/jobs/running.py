"""Running all jobs of a task with any workers."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Generic, TypeVar

from nasbench1shot1.jobs.job import LOOK_EVERY, Job, Workers
from nasbench1shot1.jobs.process import one_line_error

J = TypeVar("J", bound=Job)

TICK_EVERY = 1.0  # seconds
APPEARS_WITHIN = 60.0  # seconds until a shared file system shows another machine's files; NFS caches for that long


class Watcher(Generic[J]):
    """Receives the progress of jobs; each method does nothing unless it is overridden."""

    def tick(self, waiting: Sequence[J]) -> None:
        """Called about once a second with the jobs that have not ended, running or queued."""

    def finished(self, job: J) -> None:
        """Called when a job has finished."""

    def failed(self, job: J, message: str) -> None:
        """Called when a job has failed; `message` states the reason."""


def run_jobs(jobs: Sequence[J], workers: Workers, watcher: Watcher[J] | None = None) -> dict[str, str]:
    """Run all jobs, started in order; finished jobs are skipped, and stopped jobs are resumed.

    A failed job does not stop the others. If this call ends early, for example because of an interruption, all runs can
    be resumed; leaving the workers' context ends the jobs that still run.

    Returns:
        The reasons for failures, by name of the job.
    """
    watcher, failures = watcher or Watcher[J](), dict[str, str]()
    waiting = dict[Future[str | None], J]()

    def finish(future: "Future[str | None]", job: J) -> None:
        if message := _failure(future, job):
            failures[job.name] = message
            watcher.failed(job, message)
        else:
            watcher.finished(job)

    for job in jobs:
        if job.is_finished:
            continue
        future = workers.submit(job)
        if future.done():
            finish(future, job)
        else:
            waiting[future] = job
    while waiting:
        for future in wait(waiting, TICK_EVERY, FIRST_COMPLETED).done:
            finish(future, waiting.pop(future))
        watcher.tick(list(waiting.values()))
    return failures


def _failure(future: "Future[str | None]", job: Job) -> str | None:
    if future.cancelled():
        return "it was cancelled, or the connection to its scheduler was lost"
    if error := future.exception():
        return one_line_error(error)
    return future.result() or _missing(job)


def _missing(job: Job) -> str | None:
    """Return an error if the finished run does not appear on this machine, else None."""
    deadline = time.monotonic() + APPEARS_WITHIN
    while not job.is_finished:
        if time.monotonic() > deadline:
            return f"its worker reported that it finished, but {job.folder} has no finished run on this machine"
        time.sleep(LOOK_EVERY)
    return None
