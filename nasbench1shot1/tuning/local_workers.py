"""Worker processes on the machine of the master; they end when it does, and are replaced when they die."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nasbench1shot1.jobs.workers import Place
from nasbench1shot1.tuning.engine import WorkerProcesses


@contextmanager
def local_workers(folder: Path, evaluation: str, places: Sequence[Place], threads: int) -> Iterator[WorkerProcesses]:
    """Start a worker process for each place; leaving the context ends them.

    Args:
        folder: the study's folder; what workers print goes to workers/local-0.log, ….
        evaluation: "module:function"; `function(folder)` returns what `run_worker` needs as `evaluate`.
        places: environment variables for each process (`jobs.workers.places`).
        threads: CPU threads of each worker.
    """
    raise NotImplementedError
    yield


@contextmanager
def no_workers() -> Iterator[WorkerProcesses]:
    """Start no worker: all of them join from elsewhere."""
    raise NotImplementedError
    yield
