"""Worker processes on the machine of the master; they end when it does, and are replaced when they die."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import write_error
from nasbench1shot1.jobs.pool import Place
from nasbench1shot1.jobs.process import THREADS, last_line
from nasbench1shot1.tuning.engine.interfaces import (
    USUAL_PACE,
    Pace,
    WorkerProcesses,
)

LOGS = "workers"
"""Folder of the logs of local workers, in the study's folder."""
CHILD = "nasbench1shot1.tuning.engine.worker"
AGAIN_AFTER = 1.0  # seconds between two starts of a worker


def log_of(folder: Path, worker: str) -> Path | None:
    """Return the log of a worker, if it is a local one; `worker` is its full name, "host.local-0"."""
    host, _, name = worker.rpartition(".")
    log = folder / LOGS / f"{name}.log"
    return log if host == socket.gethostname() and log.exists() else None


class _LocalWorker:
    """A place for a worker, and its current process."""

    def __init__(self, folder: Path, evaluation: str, name: str, environment: Place, pace: Pace) -> None:
        described = {"folder": str(folder), "evaluation": evaluation, "name": name, "pace": asdict(pace)}
        self._arguments = [sys.executable, "-m", CHILD, json.dumps(described)]
        self._environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.log = folder / LOGS / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._started = -AGAIN_AFTER

    def replace_dead(self) -> None:
        """Start the process if it is not running; raises UserError if it ended with a UserError."""
        code = self._process.poll() if self._process is not None else 0
        if code is None:
            return
        self.end()
        if code > 0:
            raise UserError(f"a worker failed ({last_line(self.log)}): see {self.log}")
        if time.monotonic() - self._started >= AGAIN_AFTER:
            self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(  # a group of its own, so that Ctrl-C reaches only the parent
                    self._arguments,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                    process_group=0,
                )
        except OSError as error:
            raise write_error(self.log, error) from error

    def end(self) -> None:
        """Kill the process if it is running; processes that it started end with it."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._process = None


class _LocalWorkers:
    def __init__(self, workers: Sequence[_LocalWorker]) -> None:
        self.workers = workers

    def replace_dead(self) -> None:
        for worker in self.workers:
            worker.replace_dead()


@contextmanager
def local_workers(
    folder: Path, evaluation: str, places: Sequence[Place], threads: int, pace: Pace = USUAL_PACE
) -> Iterator[WorkerProcesses]:
    """Start a worker process for each place; leaving the context ends them.

    A worker keeps its name when its process is replaced, so that the study never counts both.

    Args:
        folder: the study's folder; what workers print goes to workers/local-0.log, ….
        evaluation: "module:function"; `function(folder)` returns what `run_worker` needs as `evaluate`.
        places: environment variables for each process (`jobs.pool.places`).
        threads: CPU threads of each worker.
        pace: intervals and time limits of the workers.

    Raises:
        UserError: a log cannot be written.
    """
    limits = dict.fromkeys(THREADS, str(threads))
    workers = [
        _LocalWorker(folder, evaluation, f"local-{number}", {**limits, **place}, pace)
        for number, place in enumerate(places)
    ]
    try:
        local = _LocalWorkers(workers)
        local.replace_dead()
        yield local
    finally:
        for worker in workers:
            worker.end()


@contextmanager
def no_workers() -> Iterator[WorkerProcesses]:
    """Do not start any worker: all workers join from other machines or shells."""
    yield _LocalWorkers([])
