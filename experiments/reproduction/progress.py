"""The work of a reproduction: how long its jobs take on this machine, and how far they have progressed."""

import heapq
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Self

from rich.console import Console

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind, counted_jobs, nouns
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, duration, line_printer
from nasbench1shot1.jobs.pool import Watcher

START_UP = 5.0  # seconds for a job's process to start, and to draw its picture at the end; measured on two CPU cores


def measure(jobs: Sequence[FigureJob]) -> dict[Kind, float]:
    """Return the seconds per unit for every kind of job; a GPU's memory is freed afterwards."""
    per_unit = {kind: job.seconds_per_unit() for kind, job in {job.kind: job for job in jobs}.items()}
    if "torch" in sys.modules:  # searches of a table do not import it
        import torch

        torch.cuda.empty_cache()
    return per_unit


def seconds_left(job: FigureJob, per_unit: Mapping[Kind, float], done: int) -> float:
    """Return the remaining seconds of a job after `done` units, including the start of its process."""
    return START_UP + (job.units - done) * per_unit[job.kind]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Return the seconds until the last job ends if jobs start in order, each as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)


def describe_work(jobs: Sequence[FigureJob]) -> str:
    """Return the amount of work in words, such as "3 studies of 64 epochs and 24 searches of 2 epochs"."""
    groups = dict[tuple[tuple[str, str], str], list[FigureJob]]()
    for job in jobs:
        groups.setdefault((job.NOUNS, job.extent), []).append(job)
    return " and ".join(f"{counted_jobs(own)} of {extent}" for (_, extent), own in groups.items())


def list_jobs(jobs: Sequence[FigureJob], per_unit: Mapping[Kind, float], console: Console) -> None:
    """Print every curve with the state of its jobs and the estimated time per job."""
    print_line, curves = line_printer(console), dict[tuple[str, str], list[FigureJob]]()
    for job in jobs:
        curves.setdefault((job.panel, job.curve), []).append(job)
    for (panel, curve), own in curves.items():
        print_line(f"{panel}/{curve} × {counted(len(own), 'seed')}: {_state(own, per_unit)}")


def _state(jobs: Sequence[FigureJob], per_unit: Mapping[Kind, float]) -> str:
    """Return the state of a curve's jobs in words."""
    units, done = sum(job.units for job in jobs), sum(job.units_done() for job in jobs)
    if all(job.is_finished for job in jobs):
        return "finished"
    each = f"{jobs[0].extent}, {duration(seconds_left(jobs[0], per_unit, 0))} each"
    return f"{each}; {done} of {counted(units, jobs[0].UNIT)} are done" if done else each


class FigureProgress(ProgressDisplay, Watcher[FigureJob]):
    """Shows a bar over the units of all jobs of a figure, and prints a line for each job that ends."""

    def __init__(
        self, jobs: Sequence[FigureJob], per_unit: Mapping[Kind, float], workers: int, console: Console
    ) -> None:
        self._jobs, self._per_unit, self._workers = list(jobs), per_unit, workers
        self._print_line = line_printer(console)
        self._done = {job.name: job.units_done() for job in jobs}
        self._expected = self._work_left(jobs)
        self._ended: set[str] = set()
        self._units = sum(job.units for job in jobs)
        super().__init__(console, estimates=False)
        self._task = self._bar.add_task("", total=self._units)

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        super().__enter__()
        self.tick([])
        return self

    def tick(self, waiting: Sequence[FigureJob]) -> None:
        """Move the bar to the number of recorded units."""
        self._done |= {job.name: job.units_done() for job in waiting}
        done = sum(self._done.values())
        unit, noun = self._jobs[0].UNIT, nouns(self._jobs)[0]
        text = f"{unit} {done}/{self._units}, {noun} {len(self._ended)}/{len(self._jobs)}"
        self._bar.update(self._task, completed=done, description=f"{text}, left: {duration(self.seconds_left())}")

    def finished(self, job: FigureJob) -> None:
        """Print the result of a job."""
        self._ended.add(job.name)
        self._done[job.name] = job.units
        self._line(job, job.outcome())

    def failed(self, job: FigureJob, message: str) -> None:
        """Print the cause of a failure."""
        self._ended.add(job.name)
        self._line(job, f"FAILED: {message}")

    def seconds_left(self) -> float:
        """Return the expected remaining seconds, scaled by the ratio of elapsed to expected time so far."""
        left = self._work_left([job for job in self._jobs if job.name not in self._ended])
        elapsed, done = time.monotonic() - self._started, (self._expected - left) / self._workers
        return left / self._workers * (elapsed / done if done > 0 else 1)

    def _work_left(self, jobs: Sequence[FigureJob]) -> float:
        return sum(seconds_left(job, self._per_unit, self._done[job.name]) for job in jobs)

    def _line(self, job: FigureJob, text: str) -> None:
        self._print_line(f"{len(self._ended):>3}/{len(self._jobs)}  {job.name}: {text}")
