"""Several searches at once, each in a process of its own, on CPU cores or on GPUs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from nasbench1shot1.experiments.reproduction.jobs import Job
from nasbench1shot1.runs.options import check_range

WORKER = "nasbench1shot1.experiments.reproduction.worker"
LOOK_EVERY = 0.2  # seconds

Place = Mapping[str, str]
"""Environment variables that say where a process computes."""


class Watcher(Protocol):
    """Who is told how the searches go."""

    def tick(self, running: Sequence[Job]) -> None:
        """Called several times a second with the searches that run."""

    def finished(self, job: Job) -> None:
        """A search ran to its end."""

    def failed(self, job: Job, sentence: str) -> None:
        """A search ended early; the sentence says why."""


@dataclass
class _Running:
    job: Job
    place: Place
    process: "subprocess.Popen[bytes]"

    def end(self) -> None:
        """Kill the process if it is not gone, and let go of it."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def usable_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def places(workers: int | None, device: str, threads: int, gpus: int) -> list[Place]:
    """Where the searches compute, one entry for each that runs at the same time.

    Args:
        workers: how many; if not given, one per GPU, or as many as the cores have room for.
        device: as resolved, "cpu", "cuda" or "cuda:1"; a numbered one is taken as it is.
        threads: CPU threads of each search.
        gpus: how many PyTorch sees.

    Raises:
        InvalidInputError: fewer than one worker.
    """
    check_range("workers", workers, 1)
    if device != "cuda":
        return [{}] * (workers or (max(usable_cores() // threads, 1) if device == "cpu" else 1))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    numbers = visible[:gpus] if visible != [""] else [str(number) for number in range(gpus)]
    return [{"CUDA_VISIBLE_DEVICES": numbers[i % len(numbers)]} for i in range(workers or len(numbers))]


def run_jobs(jobs: Sequence[Job], where: Sequence[Place], watcher: Watcher) -> None:
    """Run all jobs in their order, as many at once as there are places; a failed one does not stop the others.

    Whatever ends this, an interruption too, ends the processes: what they recorded stays, and can be gone on with.
    """
    waiting, free, running = deque(jobs), deque(where), list[_Running]()
    try:
        while waiting or running:
            while waiting and free:
                running.append(_start(waiting.popleft(), free.popleft()))
            time.sleep(LOOK_EVERY)
            for ended in [each for each in running if each.process.poll() is not None]:
                running.remove(ended)
                ended.end()
                free.append(ended.place)
                _tell(ended, watcher)
            watcher.tick([each.job for each in running])
    finally:
        for each in running:
            each.end()


def _start(job: Job, place: Place) -> _Running:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **place, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", WORKER, str(job.folder), json.dumps(dict(job.options))]
    with job.log.open("ab") as log:
        process = subprocess.Popen(  # a group of its own, so that Ctrl-C reaches only us, who then end it
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, process_group=0
        )
    return _Running(job, place, process)


def _tell(ended: _Running, watcher: Watcher) -> None:
    code = ended.process.returncode
    if code == 0:
        watcher.finished(ended.job)
    elif code < 0:
        hint = "; too little memory for so many --workers, perhaps" if -code == signal.SIGKILL else ""
        watcher.failed(ended.job, f"its process was killed by signal {-code}{hint}")
    else:
        watcher.failed(ended.job, _last_line(ended.job))


def _last_line(job: Job) -> str:
    lines = job.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    return last.removeprefix("nb1shot1: ").strip()
