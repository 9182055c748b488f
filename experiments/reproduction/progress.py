"""The work of a reproduction: what its jobs need on this machine, and how far they have progressed."""

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from rich.console import Console

from nasbench1shot1.experiments.reproduction.kinds import START_UP, Cost, FigureJob, Pace
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, duration, line_printer
from nasbench1shot1.jobs.makespan import makespan
from nasbench1shot1.jobs.pool import Watcher

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Files of Linux with a process's peak memory, and to reset it."""
TILES = 8
"""Number of distinct images in a stand-in for a missing image set; few, so that its file is small."""
Costs = Mapping[Pace, Cost]


# What jobs need -------------------------------------------------------------------------------------------------------


def measure(jobs: Sequence[FigureJob]) -> dict[Pace, Cost]:
    """Time a few steps of every kind of job on this machine.

    Images of official data sets that are not installed are replaced by random images of the same number and size.
    """
    with _stand_ins(jobs) as images:
        return {
            pace: _with_memory(lambda job=job: job.of.cost(job))  # type: ignore[misc]
            for pace, job in {job.pace: job.with_images(images) for job in jobs}.items()
        }


def missing_images(jobs: Sequence[FigureJob]) -> list[str]:
    """Return the names of the official data sets that jobs need and this machine lacks."""
    from nasbench1shot1.images.data_sets import DATA_SETS
    from nasbench1shot1.images.store import is_imported

    names = dict.fromkeys(str((job.search or job.options).get("images")) for job in jobs)
    return [name for name in names if name in DATA_SETS and not is_imported(name)]


@contextmanager
def _stand_ins(jobs: Sequence[FigureJob]) -> Iterator[dict[str, str]]:
    """Yield a temporary image file for each missing data set, by its name."""
    from nasbench1shot1.images.data_sets import DATA_SETS

    with TemporaryDirectory() as folder:
        found = {}
        for name in missing_images(jobs):
            of, path = DATA_SETS[name], Path(folder) / f"{name}.npz"
            count = of.training_images + of.test_images
            pixels = np.random.default_rng(0).integers(0, 256, (TILES, of.side, of.side, 3), np.uint8)
            np.savez_compressed(
                path,
                images=np.resize(pixels, (count, of.side, of.side, 3)),
                labels=np.arange(count) % of.classes,
                is_test=np.arange(count) >= of.training_images,
                train_index=np.where(np.arange(count) < of.training_images, np.arange(count), -1),
                dataset=np.array(name),
            )
            found[name] = str(path)
        yield found


def _with_memory(cost: Callable[[], Cost]) -> Cost:
    """Return a cost with the peak memory of its computation; a GPU's memory is freed afterwards."""
    with suppress(OSError):
        CLEAR.write_text("5")
    if (torch := sys.modules.get("torch")) is None:  # searches of a table do not import it
        return cost()._replace(memory=_peak())
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    found = cost()
    on_gpu = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    peak = _peak()
    gc.collect()
    torch.cuda.empty_cache()
    return found._replace(memory=peak, gpu_memory=float(on_gpu))


def _peak() -> float:
    """Return the largest number of bytes of RAM that this process has used; on Linux, since it was reset."""
    with suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * float(line.split()[1])
    import resource

    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else 1024 * peak


def seconds_left(job: FigureJob, costs: Costs, done: int) -> float:
    """Return the remaining seconds of a job after `done` units, including the start of its process."""
    return START_UP + (job.units - done) * costs[job.pace].seconds


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


def describe_needs(jobs: Sequence[FigureJob], costs: Costs, workers: int) -> str:
    """Return the expected duration, memory and disk space of unfinished jobs in a sentence.

    Args:
        jobs: at least one job.
        costs: what `measure` returned for the jobs.
        workers: number of jobs that run at the same time.
    """
    lengths = ([seconds_left(job, costs, job.units_done()) for job in stage] for stage in by_stage(jobs))
    time_left = duration(sum(makespan(seconds, workers) for seconds in lengths))
    largest = sorted((costs[job.pace].memory for job in jobs), reverse=True)[:workers]
    gpu = max(costs[job.pace].gpu_memory for job in jobs)
    on_gpu = f", {size(gpu)} of GPU memory per job" if gpu else ""
    disk = sum(costs[job.pace].disk for job in jobs)
    return f"This will take {time_left}, up to {size(sum(largest))} of memory{on_gpu} and {size(disk)} of disk."


def list_jobs(jobs: Sequence[FigureJob], costs: Costs, console: Console) -> None:
    """Print every curve with the state of its jobs and what each of them needs."""
    print_line, curves = line_printer(console), dict[tuple[str, ...], list[FigureJob]]()
    for job in jobs:
        curves.setdefault((job.panel, job.curve, job.kind), []).append(job)
    for (panel, curve, _), own in curves.items():
        print_line(f"{panel}/{curve} × {counted(len(own), 'seed')}: {_state(own, costs)}")


def _state(jobs: Sequence[FigureJob], costs: Costs) -> str:
    """Return the state of a curve's jobs in words."""
    units, done, noun = sum(job.units for job in jobs), sum(job.units_done() for job in jobs), jobs[0].of.nouns[0]
    if all(job.is_finished for job in jobs):
        return f"{noun}, finished"
    cost = costs[next(job for job in jobs if not job.is_finished).pace]
    needs = (
        f"{duration(seconds_left(jobs[0], costs, 0))}, {size(cost.memory)} of memory, {size(cost.disk)} of disk each"
    )
    each = f"{noun} of {jobs[0].extent}, {needs}"
    return f"{each}; {done} of {counted(units, jobs[0].of.unit)} are done" if done else each


def size(number: float) -> str:
    """Return a number of bytes in words, rounded for an estimate: "1.4 GB", "30 MB"."""
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{max(number / 1e6, 1):.0f} MB"


# Progress -------------------------------------------------------------------------------------------------------------


class FigureProgress(ProgressDisplay, Watcher[FigureJob]):
    """Shows a bar over the units of all jobs of a figure, and prints a line for each job that ends."""

    def __init__(self, jobs: Sequence[FigureJob], costs: Costs, workers: int, console: Console) -> None:
        self._jobs, self._costs, self._workers = list(jobs), costs, workers
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
        return sum(seconds_left(job, self._costs, self._done[job.name]) for job in jobs)

    def _line(self, job: FigureJob, text: str) -> None:
        self._print_line(f"{len(self._ended):>3}/{len(self._jobs)}  {job.name}: {text}")
