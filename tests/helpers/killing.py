"""Studies whose master, dask workers and worker processes are killed at random times, and started again.

`NB1SHOT1_KILLS` is the number of kills on each kind of workers; a test runs studies until there are enough kills.
"""

import asyncio
import logging
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from forked_jobs import fork_jobs
from toy_study import in_fork, wait_until

KILLS = int(os.environ.get("NB1SHOT1_KILLS", "4"))
PIDS = "pids"
Kinds = dict[str, Callable[[], Sequence[int]]]
"""What can be killed: a name, and the process ids at present."""


def start_master(target: Callable[..., None], folder: Path, *arguments: Any) -> BaseProcess:
    """Start a study in a process whose worker processes note their ids in `PIDS` next to the study's folder."""
    return in_fork(_serve_master, target, folder, *arguments)


def _serve_master(target: Callable[..., None], folder: Path, *arguments: Any) -> None:
    fork_jobs(pytest.MonkeyPatch(), folder.parent / PIDS)
    target(folder, *arguments)


def last_pids(path: Path) -> list[int]:
    """Return the ids of the worker processes that started last; more than run at the same time."""
    return [int(line) for line in path.read_text().split()[-4:]] if path.exists() else []


class DaskProcesses:
    """A dask scheduler and workers, each in a process of its own; nothing starts a killed worker again but `revive`."""

    def __init__(self, folder: Path, count: int) -> None:
        file, self._pids = folder / "scheduler", folder / PIDS
        self._scheduler: BaseProcess = in_fork(_serve_scheduler, file)
        wait_until(file.exists)
        self.address = file.read_text()
        self._workers: list[BaseProcess] = []
        self._count = count
        self.revive()

    def revive(self) -> None:
        """Start new workers in place of those that have ended."""
        self._workers = [worker for worker in self._workers if worker.is_alive()]
        while len(self._workers) < self._count:
            self._workers.append(in_fork(_serve_worker, self.address, self._pids))

    def pids(self) -> list[int]:
        """Return the process ids of the workers that run."""
        return [worker.pid for worker in self._workers if worker.is_alive() and worker.pid]

    def kill_scheduler(self) -> None:
        self._scheduler.kill()

    def end(self) -> None:
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.join()


@contextmanager
def dask_processes(folder: Path, count: int) -> Iterator[DaskProcesses]:
    opened = DaskProcesses(folder, count)
    try:
        yield opened
    finally:
        opened.end()


def _serve_scheduler(file: Path) -> None:
    from distributed import Scheduler

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it reports every kill

    async def serve() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            part = file.with_suffix(".part")
            part.write_text(scheduler.address)
            part.rename(file)
            await scheduler.finished()

    asyncio.run(serve())


def _serve_worker(address: str, pids: Path) -> None:
    from distributed import Worker

    fork_jobs(pytest.MonkeyPatch(), pids)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    async def serve() -> None:
        async with Worker(address, nthreads=1, dashboard=False) as worker:
            await worker.finished()

    asyncio.run(serve())


def run_with_kills(
    start: Callable[[], BaseProcess],
    kinds: Kinds,
    rng: random.Random,
    kills: int,
    revive: Callable[[], None] = lambda: None,
    mean: float = 0.2,
    turn: int = 0,
) -> Counter[str]:
    """Run a study to its end despite kills; return how often each kind of process was killed.

    Args:
        start: starts the study's master, or resumes the study.
        kinds: the other processes to kill, in turn with the master.
        rng: draws the times and the victims.
        kills: after this number, the study is left alone.
        revive: starts killed workers again; called between kills.
        mean: average number of seconds between kills; about as long as a run of the study takes.
        turn: number of the kind that is killed first; the master is the last one. A test of several studies passes the
            study's number: a fast study may end after one or two kills, before the turn of the master.
    """
    killed, victims, names = Counter[str](), set[int](), [*kinds, "master"]
    master = start()
    while killed.total() < kills and master.is_alive():
        kind = names[turn % len(names)]
        time.sleep(rng.expovariate(1 / mean))
        if kind == "master":
            killed[kind], turn = killed[kind] + master.is_alive(), turn + 1
            master.kill()
            master.join()
            master = start()
            continue
        fresh = [pid for pid in kinds[kind]() if pid not in victims and master.is_alive() and is_running(pid)]
        if fresh:
            chosen = fresh if rng.random() < 0.2 else [rng.choice(fresh)]  # sometimes all at once
            victims.update(chosen)
            killed[kind] += len(chosen)
            for pid in chosen:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        turn += bool(fresh) or rng.random() < 0.01  # there may be nothing to kill, but a slow start is waited for
        if rng.random() < 0.7:
            revive()
    revive()
    master.join(300)
    if master.is_alive():
        master.kill()
    assert master.exitcode == 0
    return killed


def is_running(pid: int) -> bool:
    """Whether a process runs; an orphan may remain as a zombie if no process reaps it."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
