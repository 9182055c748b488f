"""Jobs on an existing dask cluster; the worker starts a separate process for each job."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.process import JobStoppedError, one_line_error, run_in_process

if TYPE_CHECKING:
    from distributed import Client, Worker

P = ParamSpec("P")
T = TypeVar("T")

CONNECTS_WITHIN = 15.0  # seconds
PATIENCE = 120.0  # seconds that a job waits for a folder that a lost worker's process still holds
GPU = "GPU"
"""Name of the resource that a worker with a GPU declares: `dask worker … --resources GPU=1`."""


@contextmanager
def dask_cluster(
    address: str, connects_within: float = CONNECTS_WITHIN, patience: float = PATIENCE
) -> Iterator[Workers]:
    """Run jobs on the workers of a dask scheduler; each worker runs as many jobs at a time as it has threads.

    If a worker is lost, another worker resumes its jobs. Leaving the context cancels all remaining jobs: workers end
    the processes of cancelled jobs.

    Args:
        address: the scheduler's address, such as "tcp://host:8786".
        connects_within: timeout for the connection to the scheduler, in seconds.
        patience: seconds that a job waits for a folder that another process still holds.

    Raises:
        UserError: dask is not installed, or the scheduler does not answer.
    """
    client = _connect(address, connects_within)
    workers = _Cluster(client, patience)
    try:
        yield workers
    finally:
        workers.executor.shutdown(wait=False)
        client.close()


def _connect(address: str, seconds: float) -> "Client":
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("--scheduler needs dask: in a checkout, run pip install '.[cluster]'") from error
    try:  # a check before using Client, which hangs on servers other than dask's, and for 30 s after it has failed
        with ThreadPoolExecutor(1) as thread:  # the main thread may already run an event loop, as in a notebook
            thread.submit(asyncio.run, asyncio.wait_for(_greet(address), seconds)).result()
        return Client(address, timeout=seconds, set_as_default=False)
    except Exception as error:  # a server that is not a scheduler can cause any error
        raise InvalidInputError(
            f"no dask scheduler answers at '{address}': check --scheduler, and that a dask scheduler runs there"
        ) from error


async def _greet(address: str) -> None:
    """Raise an exception unless a dask scheduler answers."""
    from distributed.comm.core import connect
    from distributed.security import Security

    comm = await connect(address, **Security().get_connection_args("client"))
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

    def submit(self, job: Job) -> "Future[str | None]":
        """Queue a job on the scheduler."""
        job.make_parent()  # a worker that does not see this folder has another file system
        run = partial(_run, folder=Path.cwd() / job.folder, patience=self._patience)
        needs = {"resources": {GPU: 1}} if job.gpu and self._declares_gpus() else {}
        future: Future[str | None] = self.executor.submit(run, job, **needs)
        return future

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on one of the workers and return its result; raises UserError for any of its errors."""
        try:
            result: T = self.executor.submit(partial(function, *args, **kwargs)).result()
        except UserError:
            raise
        except (Exception, CancelledError) as error:
            raise UserError(
                f"a worker of the dask cluster failed ({one_line_error(error)}): check that the scheduler and workers "
                "run with the same packages as this command"
            ) from error
        return result

    def _declares_gpus(self) -> bool:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return any(GPU in worker["resources"] for worker in workers)


def _run(job: Job, folder: Path, patience: float) -> str | None:
    """Run a job on the calling dask worker until it ends or is withdrawn."""
    from distributed import Reschedule, get_worker

    job = replace(job, folder=folder)
    if not job.log.parent.is_dir():
        return (
            f"{job.log.parent} does not exist on the worker's machine {socket.gethostname()}: workers and this command "
            "need the same file system"
        )
    worker = get_worker()
    key = worker.get_current_task()
    try:
        return run_in_process(job, {}, worker.state.nthreads, lambda: not _is_wanted(worker, key), patience)
    except JobStoppedError:
        raise Reschedule() from None  # for another worker; has no effect if the job was cancelled


def _is_wanted(worker: "Worker", key: object) -> bool:
    """Return whether the worker is in service and the scheduler has not withdrawn the task."""
    task = worker.state.tasks.get(key)  # type: ignore[call-overload]
    return worker.status.name in ("running", "paused") and task is not None and task.state == "executing"
