"""The pool of workers that runs jobs: this process, processes on this machine, or a dask cluster (`cluster`)."""

import contextlib
import heapq
import io
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Generic, ParamSpec, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UserError, option, quote
from nasbench1shot1.ground.files import open_to_append, write_error
from nasbench1shot1.ground.text import line_printer
from nasbench1shot1.jobs.job import LOOK_EVERY, Ended, Job, JobLostError, Workers, run_until_finished
from nasbench1shot1.jobs.process import (
    WorkerProcesses,
    missing_result,
    one_line_error,
    run_here,
    traceback_in,
    usable_cores,
    worker_name,
)
from nasbench1shot1.runs.folder import METRICS, count_lines
from nasbench1shot1.runs.options import Form, Range, check_range, check_ranges, make_options, option_names

if TYPE_CHECKING:
    from rich.console import Console

J = TypeVar("J", bound=Job)
P = ParamSpec("P")
T = TypeVar("T")
Place = Mapping[str, str]
"""Environment variables that determine the device of a process."""
TICK_EVERY = 1.0  # seconds
APPEARS_WITHIN = 60.0  # seconds until a shared file system shows another machine's files; NFS caches for that long
ENDS_WITHIN = 10.0  # seconds until the processes of a killed command have ended
MOST_LOSSES = 3
"""Number of losses without progress in between after which a job fails."""


class Pool(Generic[J]):
    """Gives jobs to workers; a job whose process or worker is lost is submitted again.

    Args:
        workers: where the jobs run.
        started: called each time that a job is submitted.
    """

    def __init__(self, workers: Workers, started: Callable[[J], None] = lambda job: None) -> None:
        self.workers, self._started = workers, started
        self._token = secrets.token_hex(16)
        self._waiting: dict[Future[Ended], J] = {}
        self._losses: dict[Path, tuple[int, int]] = {}  # recorded lines at the last loss, and losses since then

    @property
    def waiting(self) -> list[J]:
        """The jobs that have not ended, running or queued."""
        return list(self._waiting.values())

    def submit(self, job: J) -> None:
        """Give a job to the workers; raises UserError if its folder cannot be made, and the errors of a live job."""
        job.write_token(self._token)
        self._losses.setdefault(job.folder, (count_lines(job.folder / METRICS), 0))
        self._started(job)
        try:
            self._waiting[self.workers.submit(job, self._token)] = job
        except BaseException:
            job.token_file.unlink(missing_ok=True)
            raise

    def withdraw(self) -> None:
        """Remove the token files of the jobs that have not ended, without which no worker starts them."""
        for job in self.waiting:
            with contextlib.suppress(OSError):  # it does not exist, or the disk cannot be written
                job.token_file.unlink()

    def wait(self, seconds: float) -> list[tuple[J, Ended]]:
        """Return the jobs that have ended, at the latest after some seconds; a success means a finished run.

        Raises UserError if a lost job cannot be submitted again.
        """
        ended = []
        for future in wait(self._waiting, seconds, FIRST_COMPLETED).done:
            job = self._waiting.pop(future)
            try:
                end = self._end(future, job)
            except JobLostError:
                self.submit(job)
            else:
                job.token_file.unlink(missing_ok=True)
                ended.append((job, end))
        return ended

    def _end(self, future: "Future[Ended]", job: J) -> Ended:
        """Return how a job ended; raises JobLostError if it must be submitted again."""
        if future.cancelled():
            return Ended("it was cancelled, or the connection to its scheduler was lost")
        if error := future.exception():
            if _is_loss(error):
                return self._lost(error, job)
            failure = quote(error) if isinstance(error, UserError) else one_line_error(error)
            return Ended(failure, type(error).__name__)
        end = future.result()
        if end.token != self._token:
            return replace(end, failure=end.failure or job.refusal())
        return end if end.failure else replace(end, failure=_missing(job))

    def _lost(self, error: BaseException, job: J) -> Ended:
        """Count a loss. Raises JobLostError, or returns a failure if there were too many without progress."""
        lines, (before, losses) = count_lines(job.folder / METRICS), self._losses[job.folder]
        losses = 1 if lines > before else losses + 1
        self._losses[job.folder] = max(lines, before), losses
        if losses < MOST_LOSSES:
            raise JobLostError
        why = str(error) if isinstance(error, JobLostError) else one_line_error(error)
        return Ended(f"{why}; it was given out {losses} times without progress", JobLostError.__name__)


def _is_loss(error: BaseException) -> bool:
    """Return whether an error means that the job's process or worker died; dask is not imported for its own error."""
    return isinstance(error, JobLostError) or type(error).__name__ == "KilledWorker"


def _missing(job: Job) -> str | None:
    """Return an error if the finished run does not appear on this machine, else None."""
    deadline = time.monotonic() + APPEARS_WITHIN
    while not job.is_finished:
        if time.monotonic() > deadline:
            return f"its worker reported that it finished, but {job.folder} has no finished run on this machine"
        time.sleep(LOOK_EVERY)
    return None


class Watcher(Generic[J]):
    """Receives the progress of jobs; each method does nothing unless it is overridden."""

    def tick(self, waiting: Sequence[J]) -> None:
        """Called about once a second with the jobs that have not ended, running or queued."""

    def skipped(self, job: J) -> None:
        """Called in place of starting a job that is already finished."""

    def finished(self, job: J) -> None:
        """Called when a job has finished."""

    def failed(self, job: J, message: str) -> None:
        """Called when a job has failed; `message` states the reason."""


def run_jobs(jobs: Iterable[J], workers: Workers, watcher: Watcher[J] | None = None) -> dict[str, str]:
    """Run all jobs, started in order; finished jobs are skipped, and stopped jobs are resumed.

    A failed job does not stop the others, unless it is live (`this_process`). If this call ends early, for example
    because of an interruption, all runs can be resumed; leaving the workers' context ends the jobs that still run.

    Returns:
        The reasons for failures, by name of the job, for the message of a UserError.

    Raises:
        UserError: a folder cannot be made.
        Exception: any error of a live job.
    """
    watcher, failures, pool = watcher or Watcher[J](), dict[str, str](), Pool[J](workers)

    def report(seconds: float) -> None:
        for job, end in pool.wait(seconds):
            if end.failure:
                failures[job.name] = end.failure
                watcher.failed(job, UserError(end.failure).for_command_line)
            else:
                watcher.finished(job)

    try:
        for job in jobs:
            if job.is_finished:
                watcher.skipped(job)
            else:
                pool.submit(job)
                report(0)
        while pool.waiting:
            report(TICK_EVERY)
            watcher.tick(pool.waiting)
    finally:
        pool.withdraw()
    return failures


def first_failure(jobs: Iterable[Job], failures: Mapping[str, str], advice: str, keeps_logs: bool) -> UserError:
    """Return the error for one or more jobs that failed; print the traceback of the first one if its log will be lost.

    Args:
        jobs: as in `run_jobs`.
        failures: what `run_jobs` returned.
        advice: what to do after the cause is fixed, such as "start again".
        keeps_logs: whether the caller keeps the logs.
    """
    name, message = next(iter(failures.items()))
    if not keeps_logs:
        log = next(job.log for job in jobs if job.name == name)
        print(traceback_in(log), file=sys.stderr, end="")
    return UserError(f"{name} failed ({message}): fix the cause, then {advice}")


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Return the seconds until the last job ends if jobs start in order, each as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """The options of every command that runs many jobs: where its workers are. They are not recorded."""

    workers: Annotated[int | None, Range(1)] = None
    """Number of runs at the same time on this machine, each in a separate process. Default: 1."""
    scheduler: Annotated[str | None, Form("ADDRESS")] = None
    """Address of a dask scheduler, such as tcp://host:8786, whose workers run everything. Default: this machine."""
    tls_ca_file: Annotated[str | None, Form("FILE")] = None
    """Certificate authority (.pem) for a scheduler with a tls:// address. Default: dask's configuration."""
    tls_cert: Annotated[str | None, Form("FILE")] = None
    """Certificate of this command (.pem) for a tls:// address. Default: dask's configuration."""
    tls_key: Annotated[str | None, Form("FILE")] = None
    """Private key of this command (.pem) for a tls:// address. Default: dask's configuration."""

    @classmethod
    def split(cls, given: Mapping[str, Any]) -> "tuple[WorkerOptions, dict[str, Any]]":
        """Return the options of workers among named options, checked, and all other options.

        Raises:
            InvalidInputError: a value has a wrong type or is out of range, a scheduler and a number of workers are both
                given, or TLS files are given without a scheduler.
        """
        own = {name: value for name, value in given.items() if name in option_names(WorkerOptions)}
        where = make_options(WorkerOptions, own, {})
        where.check()
        return where, {name: value for name, value in given.items() if name not in own}

    def check(self) -> None:
        """Raise InvalidInputError for a value out of range, and for options that exclude each other."""
        check_ranges(self)
        if self.scheduler is not None and self.workers is not None:
            raise InvalidInputError(
                f"{option('workers')} does not apply to a cluster, which has its own workers: remove it"
            )
        if self.scheduler is None and self.tls:
            raise InvalidInputError(
                f"TLS files only apply to a dask scheduler: give {option('scheduler')}, or remove them"
            )

    @property
    def is_here(self) -> bool:
        """Whether one worker on this machine is enough, so that this process can run everything."""
        return self.scheduler is None and self.workers in (None, 1)

    @property
    def given(self) -> dict[str, Any]:
        """The options that are given, by name: with them, a command continues in the same place."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def tls(self) -> dict[str, str]:
        """The given TLS files, by the names of `distributed.Security`."""
        files = {"tls_ca_file": self.tls_ca_file, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        return {name: str(file) for name, file in files.items() if file is not None}

    def open_or_here(self, device: str, threads: int, console: "Console") -> AbstractContextManager[Workers]:
        """Return this process as the only worker if it is enough (`is_here`); else the workers of `open`."""
        return this_process() if self.is_here else self.open(device, threads, console)

    def open(
        self, device: str, threads: int, console: "Console", default: int | None = 1
    ) -> AbstractContextManager[Workers]:
        """Return the workers: a dask cluster's, or processes on this machine.

        Args:
            device: "auto", "cpu", "cuda" or "cuda:1".
            threads: as in `places`.
            console: receives a line if the cluster has no workers.
            default: number of workers on this machine if no number is given; None: as in `places`.

        Raises:
            InvalidInputError: as in `split`, or the device is unknown.
            UserError: on entering the context, if the scheduler does not answer.
        """
        self.check()
        if self.scheduler is not None:
            from nasbench1shot1.jobs.cluster import dask_cluster

            return dask_cluster(self.scheduler, tls=self.tls, print_line=line_printer(console))
        import torch

        from nasbench1shot1.runs.machine import resolve_device

        return this_machine(places(self.workers or default, resolve_device(device), threads, torch.cuda.device_count()))


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
def this_process(live: Mapping[str, Any] | None = None) -> Iterator[Workers]:
    """Run jobs one after another in this process; `Workers.submit` returns when the job has ended.

    Args:
        live: keyword arguments that all commands receive and that only this process can have, such as a console. With
            them, a job is live: it shows its own screens, and any of its errors is raised. Default: the output of a job
            goes to its log, and its errors are reported as its failure.
    """
    yield _ThisProcess(_run_into_log if live is None else partial(_run_live, live=live))


@contextmanager
def this_machine(where: Sequence[Place]) -> Iterator[Workers]:
    """Run jobs on this machine in separate processes, one for each place, which run one job after another.

    Leaving the context ends the processes; runs that were not finished can be resumed.
    """
    free, stop = SimpleQueue[tuple[str, Place, WorkerProcesses]](), threading.Event()
    places = [(f"local-{number}", place, WorkerProcesses()) for number, place in enumerate(where)]
    for place in places:
        free.put(place)

    def run(directory: Path, job: Job) -> Ended:
        name, place, processes = free.get_nowait()  # there are as many threads as places
        threads = job.threads or max(usable_cores() // len(where), 1)
        try:
            end = processes.run(job, place, threads, stop.is_set, directory=directory, patience=ENDS_WITHIN)
            return replace(end, worker=worker_name(name))
        finally:
            free.put((name, place, processes))

    with ThreadPoolExecutor(len(where)) as executor:
        try:
            yield _ThisMachine(executor, run, len(where))
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)
            for _, _, processes in places:
                processes.end()


class _LocalWorkers:
    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


@dataclass(frozen=True)
class _ThisMachine(_LocalWorkers):
    executor: ThreadPoolExecutor
    run: Callable[[Path, Job], Ended]
    count: int

    def submit(self, job: Job, token: str | None = None) -> "Future[Ended]":
        job.make_parent()
        placed = replace(job, folder=job.folder.absolute())
        return self.executor.submit(_run_checked, partial(self.run, Path.cwd()), placed, token)


@dataclass(frozen=True)
class _ThisProcess(_LocalWorkers):
    run: Callable[[Job], Ended]
    count: int = 1

    def submit(self, job: Job, token: str | None = None) -> "Future[Ended]":
        job.make_parent()
        future = Future[Ended]()
        future.set_result(_run_checked(self.run, job, token))
        return future


def _run_checked(run: Callable[[Job], Ended], job: Job, token: str | None) -> Ended:
    """Run a job, unless its folder has another token."""
    found = job.read_token()
    if token is not None and found != token:
        return Ended(job.refusal())
    return replace(run(job), token=found)


def _run_into_log(job: Job) -> Ended:
    began = time.monotonic()
    try:
        opened = io.TextIOWrapper(open_to_append(job.log), encoding="utf-8")
    except OSError as error:
        return Ended(quote(write_error(job.log, error)), UserError.__name__)
    with opened as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        failure, name = run_here(job, Exception)  # not KeyboardInterrupt, which also ends the caller
    return Ended(failure, name, worker_name("this"), time.monotonic() - began)


def _run_live(job: Job, live: Mapping[str, Any]) -> Ended:
    began = time.monotonic()
    run_until_finished(job.command, job.folder, job.options, job.resume_options, job.extends, **live)
    return Ended(missing_result(job), worker=worker_name("this"), seconds=time.monotonic() - began)
