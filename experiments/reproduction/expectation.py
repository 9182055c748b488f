"""How long the jobs of a figure will take, from a few timed steps on the machine that they will run on."""

import heapq
from collections.abc import Mapping, Sequence

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind

START_UP = 5.0  # seconds until a process of its own computes, and to draw its picture at the end; seen on two CPU cores


def measure(jobs: Sequence[FigureJob]) -> dict[Kind, float]:
    """Seconds per unit for every kind among the jobs; a GPU's memory is free again afterwards."""
    import torch

    per_unit = {kind: job.seconds_per_unit() for kind, job in {job.kind: job for job in jobs}.items()}
    torch.cuda.empty_cache()
    return per_unit


def seconds_left(job: FigureJob, per_unit: Mapping[Kind, float], done: int) -> float:
    """What is left of a job after that many units, its process's start included."""
    return START_UP + (job.units - done) * per_unit[job.kind]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last job ends if each starts in its turn, as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)
