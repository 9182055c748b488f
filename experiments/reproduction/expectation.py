"""How long the searches of a figure will take, from a few timed steps on the machine they will run on."""

import heapq
from collections.abc import Mapping, Sequence

from nasbench1shot1.experiments.reproduction.jobs import FigureJob
from nasbench1shot1.one_shot_search.options import search_options

START_UP = 5.0  # seconds until a process of its own searches, and to draw its picture at the end; seen on two CPU cores

Kind = tuple[str, str]
"""Optimizer and space, on which the cost of an epoch depends within one figure."""


def kind_of(job: FigureJob) -> Kind:
    """What the cost of the job's epochs depends on."""
    return str(job.options["optimizer"]), str(job.options["space"])


def measure(jobs: Sequence[FigureJob]) -> dict[Kind, float]:
    """Seconds per epoch for every kind among the jobs; a GPU's memory is free again afterwards."""
    import torch

    from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch

    kinds = {kind_of(job): job for job in jobs}
    per_epoch = {kind: seconds_per_epoch(search_options(dict(job.options))) for kind, job in kinds.items()}
    torch.cuda.empty_cache()
    return per_epoch


def seconds_left(job: FigureJob, per_epoch: Mapping[Kind, float], done: int) -> float:
    """What is left of a search after that many epochs, its process's start included."""
    return START_UP + (job.epochs - done) * per_epoch[kind_of(job)]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last search ends if each starts in its turn, as soon as a worker is free."""
    ends = [0.0] * workers
    for length in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)
