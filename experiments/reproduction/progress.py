"""The jobs of a figure in words, and the progress of a reproduction."""

import time
from collections.abc import Sequence

from rich.console import Console

from nasbench1shot1.experiments.reproduction.forecast import Paces, seconds_left
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.ground.text import duration
from nasbench1shot1.jobs.progress import JobsProgress

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


# Progress -------------------------------------------------------------------------------------------------------------


class FigureProgress(JobsProgress[FigureJob]):
    """Shows a bar over the units of all jobs of a figure, and prints a line for each job that ends."""

    def __init__(self, jobs: Sequence[FigureJob], paces: Paces, workers: int, console: Console) -> None:
        super().__init__(jobs, console, estimates=False)
        self._paces, self._workers, self._started = paces, workers, time.monotonic()
        self._done = {job.name: job.units_done() for job in jobs}
        self._expected = self._work_left(jobs)
        self._units = sum(job.units for job in jobs)
        self._task = self._bar.add_task("", total=self._units)

    def tick(self, waiting: Sequence[FigureJob]) -> None:
        """Move the bar to the number of recorded units."""
        self._done |= {job.name: job.units_done() for job in waiting}
        done, unit, noun = sum(self._done.values()), self._jobs[0].of.unit, nouns(self._jobs)[0]
        text = f"{unit} {done}/{self._units}, {noun} {self.count}"
        self._bar.update(self._task, completed=done, description=f"{text}, left: {duration(self.seconds_left())}")

    def finished(self, job: FigureJob) -> None:
        """Print the result of a run, all of whose units are done, even if it stopped early."""
        self._done[job.name] = job.units
        super().finished(job)

    def seconds_left(self) -> float:
        """Return the expected remaining seconds, scaled by the ratio of elapsed to expected time so far."""
        left = self._work_left([job for job in self._jobs if job.name not in self._ended])
        elapsed, done = time.monotonic() - self._started, (self._expected - left) / self._workers
        return left / self._workers * (elapsed / done if done > 0 else 1)

    def _work_left(self, jobs: Sequence[FigureJob]) -> float:
        return sum(seconds_left(job, self._paces, self._done[job.name]) for job in jobs)
