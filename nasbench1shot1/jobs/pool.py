"""The pool of workers that runs jobs: this process, processes on this machine, or a dask cluster (`cluster`)."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, ParamSpec, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.jobs.job import LOOK_EVERY, Job, Workers, run_until_finished
from nasbench1shot1.jobs.process import missing_result, one_line_error, run_in_process, usable_cores
from nasbench1shot1.runs.options import check_range

J = TypeVar("J", bound=Job)
P = ParamSpec("P")
T = TypeVar("T")
Place = Mapping[str, str]
"""Environment variables that determine the device of a process."""
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


def open_workers(
    scheduler: str | None, workers: int | None, device: str, threads: int
) -> AbstractContextManager[Workers]:
    """Return the workers that a command's options select: a dask cluster's workers, or processes on this machine.

    Args:
        scheduler: address of a dask scheduler. Default: this machine.
        workers, threads: as in `places`.
        device: "auto", "cpu", "cuda" or "cuda:1".

    Raises:
        InvalidInputError: a value is out of range, the device is unknown, or both a scheduler and a number of workers
            are given.
        UserError: on entering the context, if the scheduler does not answer.
    """
    if scheduler is not None:
        from nasbench1shot1.jobs.cluster import dask_cluster

        if workers is not None:
            raise InvalidInputError("--workers does not apply to a cluster, which has its own workers: remove it")
        return dask_cluster(scheduler)
    import torch

    from nasbench1shot1.runs.machine import resolve_device

    return this_machine(places(workers, resolve_device(device), threads, torch.cuda.device_count()))


def places(workers: int | None, device: str, threads: int, gpus: int) -> list[Place]:
    """Return the places where jobs compute on this machine, one for each job that runs at the same time.

    Args:
        workers: number of jobs at the same time. Default: one per GPU, or on a CPU the number of cores divided by
            `threads`.
        device: resolved device: "cpu", "cuda" (jobs are distributed over the GPUs) or a single GPU such as "cuda:1".
        threads: number of CPU threads of each job.
        gpus: number of GPUs that PyTorch sees.

    Raises:
        InvalidInputError: fewer than one worker or thread.
    """
    check_range("workers", workers, 1)
    check_range("threads", threads, 1)
    if device != "cuda":
        return [{}] * (workers or (max(usable_cores() // threads, 1) if device == "cpu" else 1))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    numbers = visible[:gpus] if visible != [""] else [str(number) for number in range(gpus)]
    return [{"CUDA_VISIBLE_DEVICES": numbers[i % len(numbers)]} for i in range(workers or len(numbers))]


@contextmanager
def this_process() -> Iterator[Workers]:
    """Run jobs one after another in this process; their output goes to their logs."""
    yield _LocalWorkers(SerialExecutor(), _run_here, 1)


@contextmanager
def this_machine(where: Sequence[Place]) -> Iterator[Workers]:
    """Run jobs on this machine in separate processes, one at a time for each place.

    Leaving the context ends the processes that still run; their runs can be resumed.
    """
    free, stop = SimpleQueue[Place](), threading.Event()
    for place in where:
        free.put(place)

    def run(job: Job) -> str | None:
        place = free.get_nowait()  # there are as many threads as places
        try:
            return run_in_process(job, place, len(where), stop.is_set)
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(where)) as executor:
        try:
            yield _LocalWorkers(executor, run, len(where))
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _LocalWorkers:
    executor: Executor
    run: Callable[[Job], str | None]
    count: int

    def submit(self, job: Job) -> "Future[str | None]":
        job.make_parent()
        return self.executor.submit(self.run, job)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


class SerialExecutor(Executor):
    """Runs each call in the calling thread, before `submit` returns."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Return a future that is already done."""
        future = Future[T]()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # not KeyboardInterrupt, which also ends the caller
            future.set_exception(error)
        return future


def _run_here(job: Job) -> str | None:
    with job.log.open("a", encoding="utf-8") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            run_until_finished(job.command, job.folder, job.options, job.resume_options)
        except UserError as error:
            return error.for_command_line
    return missing_result(job)
