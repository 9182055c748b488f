"""The progress of a reproduction: the time that its jobs need on this machine, and what has been done."""

import time
from collections.abc import Mapping, Sequence
from typing import Self

from rich.console import Console

from nasbench1shot1.experiments.reproduction.kinds import FigureJob, Pace
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import duration, line_printer
from nasbench1shot1.jobs.makespan import makespan
from nasbench1shot1.jobs.pool import Watcher

START_UP = 5.0
"""Seconds for a process to start, and to draw a picture at the end; measured on two CPU cores."""
Paces = Mapping[Pace, float]
"""Expected seconds of a unit, such as an epoch, by `FigureJob.pace`."""


# Time -----------------------------------------------------------------------------------------------------------------


def measure(jobs: Sequence[FigureJob]) -> dict[Pace, float]:
    """Time a few steps of every kind of job on this machine; official images may be missing."""
    return {pace: job.of.seconds(job) for pace, job in first_of_each_pace(jobs).items()}


def first_of_each_pace(jobs: Sequence[FigureJob]) -> dict[Pace, FigureJob]:
    """Return the jobs whose steps are timed, by pace."""
    found = dict[Pace, FigureJob]()
    for job in jobs:
        found.setdefault(job.pace, job)
    return found


def seconds_left(job: FigureJob, paces: Paces, done: int) -> float:
    """Return the remaining seconds of a job after `done` units, including the start of its process."""
    return START_UP + (job.units - done) * paces[job.pace]


def by_stage(jobs: Sequence[FigureJob]) -> list[list[FigureJob]]:
    """Return jobs by stage, in their order."""
    return [[job for job in jobs if job.stage == stage] for stage in sorted({job.stage for job in jobs})]


# Words ----------------------------------------------------------------------------------------------------------------


def counted_jobs(jobs: Sequence[FigureJob], number: int | None = None) -> str:
    """Return a number of jobs in words, such as "30 searches". Default: the number of the given jobs."""
    number = len(jobs) if number is None else number
    return f"{number} {nouns(jobs)[number != 1]}"


def nouns(jobs: Sequence[FigureJob]) -> tuple[str, str]:
    """Return the singular and the plural noun for jobs: "run", "runs" if they are of several kinds."""
    kinds = {job.of.nouns for job in jobs}
    return kinds.pop() if len(kinds) == 1 else ("run", "runs")


def describe_work(jobs: Sequence[FigureJob]) -> str:
    """Return the amount of work in words, such as "3 studies of 64 epochs and 24 searches of 2 epochs"."""
    groups = dict[tuple[tuple[str, str], str], list[FigureJob]]()
    for job in jobs:
        groups.setdefault((job.of.nouns, job.extent), []).append(job)
    return " and ".join(f"{counted_jobs(own)} of {extent}" for (_, extent), own in groups.items())


def describe_time(jobs: Sequence[FigureJob], paces: Paces, workers: int) -> str:
    """Return the expected duration of unfinished jobs in a sentence.

    Args:
        jobs: at least one job.
        paces: what `measure` returned for the jobs.
        workers: number of jobs that run at the same time.
    """
    lengths = ([seconds_left(job, paces, job.units_done()) for job in stage] for stage in by_stage(jobs))
    return f"This will take {duration(sum(makespan(seconds, workers) for seconds in lengths))}."


# Progress -------------------------------------------------------------------------------------------------------------


class FigureProgress(ProgressDisplay, Watcher[FigureJob]):
    """Shows a bar over the units of all jobs of a figure, and prints a line for each job that ends."""

    def __init__(self, jobs: Sequence[FigureJob], paces: Paces, workers: int, console: Console) -> None:
        self._jobs, self._paces, self._workers = list(jobs), paces, workers
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
        done, unit, noun = sum(self._done.values()), self._jobs[0].of.unit, nouns(self._jobs)[0]
        text = f"{unit} {done}/{self._units}, {noun} {len(self._ended)}/{len(self._jobs)}"
        self._bar.update(self._task, completed=done, description=f"{text}, left: {duration(self.seconds_left())}")

    def finished(self, job: FigureJob) -> None:
        """Print the result of a job."""
        self._ended.add(job.name)
        self._done[job.name] = job.units
        self._line(job, job.outcome)

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
        return sum(seconds_left(job, self._paces, self._done[job.name]) for job in jobs)

    def _line(self, job: FigureJob, text: str) -> None:
        self._print_line(f"{len(self._ended):>3}/{len(self._jobs)}  {job.name}: {text}")
