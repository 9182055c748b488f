"""Jobs on an existing dask cluster; they run in processes that its workers start (`process.WorkerProcesses`).

A dask scheduler runs code for anyone who can connect to it, so it must be reachable only for trusted users, or use
TLS. This package never opens a port; it only connects to the given scheduler.
"""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.jobs.job import Ended, Job, JobLostError, Workers
from nasbench1shot1.jobs.process import JobStoppedError, WorkerProcesses, one_line_error, usable_cores, worker_name

if TYPE_CHECKING:
    from distributed import Client, Security, Worker

P = ParamSpec("P")
T = TypeVar("T")

CONNECTS_WITHIN = 15.0  # seconds
REPORTS_AFTER, LOOKS_EVERY = 5.0, 1.0  # seconds without a worker before a message is printed, and between two checks
PATIENCE = 120.0  # seconds that a job waits for a folder that a lost worker's process still holds
SEES_WITHIN = 30.0  # seconds until a worker sees a file that another machine has just written
IDLE_SECONDS = 60.0
"""Time after which a worker ends processes without a job, so that they do not hold memory of a GPU."""
GPU = "GPU"
"""Name of the resource that a worker with a GPU declares: `dask worker … --resources GPU=1`."""


@contextmanager
def dask_cluster(
    address: str,
    connects_within: float = CONNECTS_WITHIN,
    patience: float = PATIENCE,
    tls: Mapping[str, str] | None = None,
    print_line: Callable[[str], object] = print,
) -> Iterator[Workers]:
    """Run jobs on the workers of a dask scheduler; each worker runs as many jobs at a time as it has threads.

    If a worker is lost, another worker resumes its jobs. Leaving the context cancels all remaining jobs: workers end
    the processes of cancelled jobs.

    Args:
        address: the scheduler's address, such as "tcp://host:8786".
        connects_within: timeout for the connection to the scheduler, in seconds.
        patience: seconds that a job waits for a folder that another process still holds.
        tls: files for an encrypted connection, by the names of `distributed.Security`. Default: dask's configuration.
        print_line: receives a line each time that the cluster has had no workers for some seconds.

    Raises:
        UserError: dask is not installed, a TLS file cannot be read, or the scheduler does not answer.
    """
    client = _connect(address, connects_within, tls or {})
    workers, left = _Cluster(client, patience), threading.Event()
    watch = (client, address, left, print_line)
    threading.Thread(target=_report_missing_workers, args=watch, daemon=True).start()
    with _silent_client():
        try:
            yield workers
        finally:
            left.set()
            workers.executor.shutdown(wait=False)
            client.close()


@contextmanager
def _silent_client() -> Iterator[None]:
    """Suppress the log of dask's client: it prints tracebacks for a lost scheduler, which the jobs report."""
    logger = logging.getLogger("distributed.client")
    logger.addFilter(_reject)
    try:
        yield
    finally:
        logger.removeFilter(_reject)


def _reject(record: logging.LogRecord) -> bool:
    return False


def _connect(address: str, seconds: float, tls: Mapping[str, str]) -> "Client":
    require_package("distributed", option("scheduler"), extra="cluster")
    from distributed import Client, Security

    for file in tls.values():
        if not Path(file).is_file():
            raise InvalidInputError(f"the TLS file '{file}' does not exist: check its path")
    try:  # a check before using Client, which hangs on servers other than dask's, and for 30 s after it has failed
        security = Security(require_encryption=True, **tls) if tls else Security()
        with ThreadPoolExecutor(1) as thread:  # the main thread may already run an event loop, as in a notebook
            thread.submit(asyncio.run, asyncio.wait_for(_greet(address, security), seconds)).result()
        return Client(address, timeout=seconds, set_as_default=False, security=security)
    except Exception as error:  # a server that is not a scheduler can cause any error
        raise InvalidInputError(
            f"no dask scheduler answers at '{address}': check {option('scheduler')}, and that a dask scheduler runs "
            "there"
        ) from error


def _report_missing_workers(
    client: "Client", address: str, left: threading.Event, print_line: Callable[[str], object]
) -> None:
    """Print a line each time that there have been no workers for `REPORTS_AFTER` seconds, until `left` is set."""
    seen, is_reported = time.monotonic(), False
    while not left.wait(LOOKS_EVERY):
        try:
            has_workers = bool(client.nthreads())
        except Exception:  # the connection is lost, which the jobs report
            return
        if has_workers:
            seen, is_reported = time.monotonic(), False
        elif not is_reported and time.monotonic() - seen >= REPORTS_AFTER and not left.is_set():
            is_reported = True
            print_line(f"The dask scheduler at {address} has no workers: start one with dask worker {address}")


async def _greet(address: str, security: "Security") -> None:
    """Raise an exception unless a dask scheduler answers."""
    from distributed.comm.core import connect

    comm = await connect(address, **security.get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
        if answer["type"] != "Scheduler":
            raise ValueError(f"{address} is a {answer['type']}")
    finally:
        comm.abort()


class _Cluster:
    """The workers of a cluster; implements `job.Workers`."""

    def __init__(self, client: "Client", patience: float) -> None:
        self._client, self._patience = client, patience
        self.executor: Any = client.get_executor(pure=False)

    @property
    def count(self) -> int:
        """Number of jobs that the current workers run at the same time; at least 1."""
        threads: dict[str, int] = self._client.nthreads()
        return max(sum(threads.values()), 1)

    def submit(self, job: Job, token: str | None = None) -> "Future[Ended]":
        """Queue a job on the scheduler."""
        job.make_parent()  # a worker that does not see this folder has another file system
        run = partial(_run, token=token, directory=Path.cwd(), patience=self._patience)
        needs = {"resources": {GPU: 1}} if job.gpu and self._declares_gpus() else {}
        return self._submit(run, replace(job, folder=job.folder.absolute()), **needs)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on one of the workers and return its result; raises UserError for any of its errors."""
        try:
            return self._submit(partial(function, *args, **kwargs)).result()
        except UserError:
            raise
        except (Exception, CancelledError) as error:
            raise _worker_error(error) from error

    def _submit(self, function: Callable[..., T], *args: Any, **needs: Any) -> "Future[T]":
        """Queue a call on the scheduler; `needs` are arguments of dask, such as the resources of the worker."""
        from distributed.protocol.serialize import serialize_bytes

        from nasbench1shot1 import __version__

        future: Future[T] = self.executor.submit(_call, __version__, serialize_bytes(partial(function, *args)), **needs)
        return future

    def _declares_gpus(self) -> bool:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return any(GPU in worker["resources"] for worker in workers)


def _call(version: str, serialized: bytes) -> Any:
    """Call a serialized function on a dask worker, if it has the same version of this package as the command.

    The function arrives as bytes, because deserializing it may fail if the worker has another version. The name and
    arguments of `_call` must not change between versions.

    Args:
        version: the command's version of this package.
        serialized: a function without arguments, from `distributed.protocol.serialize_bytes`.

    Raises UserError if the worker has another version, or for an unexpected error of the function.
    """
    from distributed import Reschedule
    from distributed.protocol.serialize import deserialize_bytes

    from nasbench1shot1 import __version__

    if version != __version__:
        raise UserError(
            f"a dask worker on {socket.gethostname()} has version {__version__} of nasbench1shot1, and this command "
            f"has version {version}: install the same version on all machines, then restart the workers"
        )
    try:
        return deserialize_bytes(serialized)()
    except (UserError, JobLostError, Reschedule):
        raise
    except Exception as error:
        raise _worker_error(error) from error


def _worker_error(error: BaseException) -> UserError:
    return UserError(
        f"a worker of the dask cluster failed ({one_line_error(error)}): check that the scheduler and workers run with "
        "the same packages as this command"
    )


def _run(job: Job, token: str | None, directory: Path, patience: float) -> Ended:
    """Run a job on the calling dask worker until it ends or is withdrawn."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    found, name = job.read_token(token, min(patience, SEES_WITHIN)), worker_name(worker.name)
    if (token is not None and found != token) or not job.log.parent.is_dir():
        return Ended(job.refusal(), worker=name, token=found)
    key, processes = worker.get_current_task(), _processes_of(worker)
    threads = job.threads or max(usable_cores() // worker.state.nthreads, 1)
    try:
        end = processes.run(
            job,
            {},
            threads,
            lambda: not _is_wanted(worker, key),
            directory=directory,
            patience=patience,
            session=token,
        )
        return replace(end, worker=name, token=found)
    except JobStoppedError:
        raise Reschedule() from None  # for another worker; has no effect if the job was cancelled


def _processes_of(worker: "Worker") -> WorkerProcesses:
    """Return the processes of a dask worker, which serve jobs of all commands that use the worker."""
    processes: WorkerProcesses = vars(worker).setdefault("nasbench1shot1_processes", WorkerProcesses(IDLE_SECONDS))
    return processes


def _is_wanted(worker: "Worker", key: object) -> bool:
    """Return whether the worker is in service and the scheduler has not withdrawn the task."""
    task = worker.state.tasks.get(key)  # type: ignore[call-overload]
    return worker.status.name in ("running", "paused") and task is not None and task.state == "executing"
