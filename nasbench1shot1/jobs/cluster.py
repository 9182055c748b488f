"""Jobs on an existing dask cluster, each in a process of its own beside the worker that starts it."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.jobs.job import Job, Workers
from nasbench1shot1.jobs.process import JobStoppedError, in_one_line, run_in_process

if TYPE_CHECKING:
    from distributed import Client, Worker

P = ParamSpec("P")
T = TypeVar("T")

CONNECTS_WITHIN = 15.0  # seconds
PATIENCE = 120.0  # seconds that a job waits for a folder which a lost worker's process still holds
GPU = "GPU"
"""Name of the resource that a worker with a GPU declares: `dask worker … --resources GPU=1`."""


@contextmanager
def dask_cluster(
    address: str, connects_within: float = CONNECTS_WITHIN, patience: float = PATIENCE
) -> Iterator[Workers]:
    """Run jobs on the workers of a dask scheduler; each worker runs as many at once as it has threads.

    A job whose worker is lost is given to another worker, which resumes it. Leaving the context cancels what still
    runs: workers end the processes of cancelled jobs.

    Args:
        address: the scheduler's address, "tcp://host:8786".
        connects_within: seconds after which a scheduler that does not answer is given up.
        patience: seconds that a job waits for a folder which another process still holds.

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
    try:  # first by hand: Client hangs on a server that is not dask's, and for 30 s more after it has failed
        with ThreadPoolExecutor(1) as thread:  # this one may run an event loop already, as in a notebook
            thread.submit(asyncio.run, asyncio.wait_for(_greet(address), seconds)).result()
        return Client(address, timeout=seconds, set_as_default=False)
    except Exception as error:  # what is not a scheduler can answer anything
        raise InvalidInputError(
            f"no dask scheduler answers at '{address}': check --scheduler, and that dask scheduler runs there"
        ) from error


async def _greet(address: str) -> None:
    """Raise some exception unless a dask scheduler answers."""
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
    """The workers of a cluster, as `job.Workers`."""

    def __init__(self, client: "Client", patience: float) -> None:
        self._client, self._patience = client, patience
        self.executor: Any = client.get_executor(pure=False)

    @property
    def count(self) -> int:
        """Number of jobs that the present workers run at the same time; at least 1."""
        threads: dict[str, int] = self._client.nthreads()
        return max(sum(threads.values()), 1)

    def submit(self, job: Job) -> "Future[str | None]":
        """Queue a job on the scheduler."""
        job.make_parent()  # a worker that does not see it has another file system
        run = partial(_run, folder=Path.cwd() / job.folder, patience=self._patience)
        needs = {"resources": {GPU: 1}} if job.gpu and self._declares_gpus() else {}
        future: Future[str | None] = self.executor.submit(run, job, **needs)
        return future

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a function returns on one of the workers; raises its UserError, or one that names its error."""
        try:
            result: T = self.executor.submit(partial(function, *args, **kwargs)).result()
        except UserError:
            raise
        except (Exception, CancelledError) as error:
            raise UserError(
                f"a worker of the dask cluster failed ({in_one_line(error)}): check that scheduler and workers run, "
                "with the same packages as this command"
            ) from error
        return result

    def _declares_gpus(self) -> bool:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return any(GPU in worker["resources"] for worker in workers)


def _run(job: Job, folder: Path, patience: float) -> str | None:
    """Run a job on the dask worker that calls this, until it ends or is no longer wanted."""
    from distributed import Reschedule, get_worker

    job = replace(job, folder=folder)
    if not job.log.parent.is_dir():
        return (
            f"{job.log.parent} does not exist on the worker's machine {socket.gethostname()}: workers and command need "
            "the same file system"
        )
    worker = get_worker()
    key = worker.get_current_task()
    try:
        return run_in_process(job, {}, worker.state.nthreads, lambda: not _is_wanted(worker, key), patience)
    except JobStoppedError:
        raise Reschedule() from None  # for another worker, unless it was cancelled: then nobody asks


def _is_wanted(worker: "Worker", key: object) -> bool:
    """Return whether the worker is in service and the scheduler has not withdrawn the task."""
    task = worker.state.tasks.get(key)  # type: ignore[call-overload]
    return worker.status.name in ("running", "paused") and task is not None and task.state == "executing"
