"""Estimates of the time that the jobs of a figure take, from a few timed steps on the machine that runs them."""

import heapq
import sys
from collections.abc import Mapping, Sequence

from nasbench1shot1.experiments.reproduction.figure import FigureJob, Kind

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
