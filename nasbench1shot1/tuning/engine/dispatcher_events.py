"""The events that the dispatcher reports to the master; `at` is the time of an event by `time.monotonic`."""

import time
from dataclasses import dataclass, field
from typing import Any

from nasbench1shot1.tuning.engine.interfaces import Trial


@dataclass(frozen=True)
class TrialStarted:
    """A trial was given to a worker."""

    trial: Trial
    worker: str
    at: float = field(default_factory=time.monotonic, compare=False)


@dataclass(frozen=True)
class TrialFinished:
    """A worker reported the outcome of a trial: an outcome as JSON, or the error of an evaluation that failed."""

    trial: Trial
    worker: str
    outcome: dict[str, Any] | None
    error: str | None
    at: float = field(default_factory=time.monotonic, compare=False)


@dataclass(frozen=True)
class TrialRequeued:
    """A trial returned to the queue.

    Attributes:
        trial: the next attempt of the trial.
        worker: the worker that had the trial.
        died: whether the worker, or the process of its evaluation, died.
        why: the reason.
        steps: number of steps of the evaluation that were completed before; counted only if `died`.
    """

    trial: Trial
    worker: str
    died: bool
    why: str
    steps: int = 0


@dataclass(frozen=True)
class WorkersChanged:
    """A worker joined or was lost."""


@dataclass(frozen=True)
class ThreadFailed:
    """A thread of the dispatcher failed."""

    error: Exception


Event = TrialStarted | TrialFinished | TrialRequeued | WorkersChanged | ThreadFailed
