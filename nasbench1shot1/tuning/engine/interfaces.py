"""Interfaces between the engine of a study and its callers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nasbench1shot1.proposers.brackets import BracketState
from nasbench1shot1.tuning.engine.trial import Observation, Outcome, RecordedObservation, Trial

Tuner = Literal["bohb", "smac", "random"]
"""The algorithm that proposes configurations."""
TUNERS: dict[Tuner, str] = {"bohb": "BOHB", "smac": "SMAC", "random": "random search"}
"""Display names of the tuners."""
LOOPBACK = ("localhost", "127.", "::1")
"""Prefixes of addresses that only their own machine can reach."""


Evaluate = Callable[[Trial, Callable[[], bool]], Outcome]
"""Evaluates a trial. The second argument must be polled several times a second: once it returns True, the outcome
is no longer needed, and the evaluation must end soon, with `TrialStoppedError` or otherwise. A trial that diverged is
an outcome without loss. `TrialInterruptedError` asks for another attempt. Any other exception ends the study."""


@dataclass(frozen=True)
class WorkerState:
    """A connected worker.

    Attributes:
        name: the worker's name, "host.local-0".
        trial: what it evaluates; None if it is idle.
        since: seconds on the study's clock at which the trial, or the idleness, began.
    """

    name: str
    trial: Trial | None
    since: float


@dataclass(frozen=True)
class Progress:
    """The state of a study, for a live view.

    Attributes:
        seconds: the study's clock, which stands still between sessions.
        workers: all connected workers.
        waiting: submitted trials that no worker evaluates at present.
        brackets: the brackets that have begun.
        observed, planned: number of finished trials, and of all trials.
    """

    seconds: float
    workers: tuple[WorkerState, ...]
    waiting: tuple[Trial, ...]
    brackets: tuple[BracketState, ...]
    observed: int
    planned: int


class Recorder(Protocol):
    """Keeps the observations of a study. All methods but `steps_done` are called from the thread that called
    `run_study`."""

    def observations(self) -> Sequence[RecordedObservation]:
        """Return what was observed in earlier sessions, in order of registration; called once, at the start."""

    def steps_done(self, trial: Trial) -> int:
        """Return the number of steps that the evaluation of a trial has completed.

        Called from any thread when a worker of the trial has died, before another worker continues the trial.
        """

    def record_observation(self, observation: Observation) -> None:
        """Record an observation durably; once this returns, the trial is never evaluated again."""

    def progress(self, state: Progress) -> None:
        """Called after every event and at least about once a second."""


class WorkerProcesses(Protocol):
    """The worker processes that a study starts on its own machine."""

    def replace_dead(self) -> None:
        """Replace processes that died; called about once a second. Raises UserError if a replacement cannot help."""


@dataclass(frozen=True)
class Timing:
    """Intervals and time limits of a study.

    Attributes:
        wait_for_workers: seconds without any connected worker after which the study ends with an error.
        ping_interval: seconds between checks of the workers.
        answers_within: seconds after which an unanswered call has failed.
        missed_pings: calls in a row that time out before a worker is presumed dead. A refused connection suffices.
        most_deaths: number of worker deaths on one trial, without progress in between, after which the study ends with
            an error.
    """

    wait_for_workers: float = 600.0
    ping_interval: float = 1.0
    answers_within: float = 10.0
    missed_pings: int = 3
    most_deaths: int = 3


USUAL_TIMING = Timing()


PrintLine = Callable[[str], None]
"""Prints a line for the user."""


def print_nothing(line: str) -> None:
    """Print nothing."""


@dataclass(frozen=True)
class Pace:
    """Intervals and time limits of a worker, in seconds.

    Attributes:
        look_every: time between checks of the master.
        answers_within: time after which an unanswered call has failed.
        missed_looks: calls in a row that time out before the master is presumed gone. A refused connection suffices.
        ends_within: time that a new trial waits for the previous one to end.
    """

    look_every: float = 1.0
    answers_within: float = 10.0
    missed_looks: int = 3
    ends_within: float = 5.0


USUAL_PACE = Pace()
