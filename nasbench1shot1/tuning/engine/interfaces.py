"""Trials, outcomes and observations, and the interfaces between the engine of a study and its callers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.proposers.brackets import BracketState
from nasbench1shot1.proposers.configurations import ConfigurationId, Scalar, format_id, parse_id, to_python_scalars


class TrialStoppedError(Exception):
    """Raised by an evaluation that ended because its result is no longer needed."""


class TrialInterruptedError(Exception):
    """Raised by an evaluation that was killed from outside and may succeed when it is tried again."""


@dataclass(frozen=True)
class Trial:
    """One evaluation: a configuration at a number of epochs.

    Attributes:
        configuration_id: hpbandster's triple of bracket, stage and number.
        configuration: values of the active hyperparameters, by name.
        epochs: the budget.
        attempt: 1 for the first attempt; a trial whose worker died is given out again with the next number.
        continues: epochs of the preceding finished trial of this configuration; None if there is none.
    """

    configuration_id: ConfigurationId
    configuration: Mapping[str, Scalar]
    epochs: int
    attempt: int = 1
    continues: int | None = None

    @property
    def key(self) -> tuple[ConfigurationId, int]:
        """The identity of the trial, whichever attempt it is: configuration and epochs."""
        return self.configuration_id, self.epochs

    @property
    def name(self) -> str:
        """The trial in words: "0-0-3 at 25 epochs"."""
        return f"{format_id(self.configuration_id)} at {counted(self.epochs, 'epoch')}"

    def next_attempt(self) -> Self:
        """Return the trial as it is given out again."""
        return replace(self, attempt=self.attempt + 1)

    def as_json(self) -> dict[str, Any]:
        """Return the trial as JSON values."""
        return {
            "configuration_id": format_id(self.configuration_id),
            "configuration": to_python_scalars(self.configuration),
            "epochs": int(self.epochs),
            "attempt": self.attempt,
            "continues": self.continues,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the trial from the result of `as_json`."""
        return cls(**{**content, "configuration_id": parse_id(content["configuration_id"])})


@dataclass(frozen=True)
class Outcome:
    """The outcome of an evaluation.

    Attributes:
        loss: what the tuner minimizes; None if the trial diverged.
        failure: why the loss is None; None otherwise.
        values: further fields for the record. The tuner never sees them.

    Raises:
        InvalidInputError: the loss is infinite or NaN, or both or none of loss and failure are given.
    """

    loss: float | None
    failure: str | None = None
    values: Mapping[str, Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.loss is not None and not math.isfinite(self.loss):
            raise InvalidInputError(
                f"the objective returned the loss {self.loss}: return a finite number, or None with the failure"
            )
        if (self.loss is None) == (self.failure is None):
            raise InvalidInputError("an outcome has either a loss or a failure: give exactly one of them")

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        loss = None if self.loss is None else float(self.loss)
        return {"loss": loss, "failure": self.failure, "values": to_python_scalars(self.values)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the outcome from the result of `as_json`; raises InvalidInputError if it is not valid."""
        return cls(**content)


@dataclass(frozen=True)
class Observation:
    """A finished trial, as the recorder writes it.

    Attributes:
        number: 0, 1, …, in order of registration.
        trial: what was evaluated.
        outcome: what was found.
        model_based: whether a model proposed the configuration.
        submitted, started, finished: seconds on the study's clock, which stands still between sessions. `started` is
            the start of the last attempt.
        worker: the worker that evaluated the trial.
    """

    number: int
    trial: Trial
    outcome: Outcome
    model_based: bool
    submitted: float
    started: float
    finished: float
    worker: str


@dataclass(frozen=True)
class RecordedObservation:
    """The part of an observation that a resumed study needs.

    Attributes:
        configuration_id, epochs: the trial.
        loss: None if the trial diverged.
        finished: seconds on the study's clock.
    """

    configuration_id: ConfigurationId
    epochs: int
    loss: float | None
    finished: float

    @property
    def key(self) -> tuple[ConfigurationId, int]:
        """The identity of the trial: configuration and epochs."""
        return self.configuration_id, self.epochs


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
