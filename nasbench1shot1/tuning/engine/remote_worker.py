"""Jobs and workers as the dispatcher sees them."""

import time
from typing import Any

from hpbandster.core.dispatcher import Job, Worker

from nasbench1shot1.tuning.engine.interfaces import Trial
from nasbench1shot1.tuning.engine.remote import call


class TrialJob(Job):  # type: ignore[misc]
    """hpbandster's job for one attempt of a trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.configuration_id, trial=trial.as_json())
        self.trial, self.is_accepted = trial, False


class RemoteWorker(Worker):  # type: ignore[misc]
    """A worker as the dispatcher sees it.

    Attributes:
        name, uri: its entry in the name server.
        runs_job: the job that it was given.
        changes: counts assignments and ends of jobs.
        missed: calls in a row that it did not answer.
        since: time of the last assignment or end, by `time.monotonic`.
    """

    def __init__(self, name: str, uri: str, seconds: float) -> None:
        self.name, self.uri, self._seconds = name, uri, seconds
        self.runs_job: TrialJob | None = None
        self.changes = self.missed = 0
        self.since = time.monotonic()

    @property
    def short_name(self) -> str:
        """The name without hpbandster's prefix."""
        return str(self.name.partition(".worker.")[2])

    @property
    def trial(self) -> Trial | None:
        """What the worker was given; None if it is idle."""
        return None if self.runs_job is None else self.runs_job.trial

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker; raises UnansweredError."""
        return call(self.uri, self._seconds, method, *arguments)

    def assign(self, job: TrialJob | None) -> None:
        """Note what the worker runs now."""
        self.runs_job, self.since = job, time.monotonic()
        self.changes += 1
