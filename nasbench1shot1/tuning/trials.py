"""Trials of a study, their outcomes, and what a study records of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.proposers.configurations import ConfigurationId, Scalar, format_id

Key = tuple[ConfigurationId, int]
"""The identity of a trial: configuration and epochs."""


@dataclass(frozen=True)
class Trial:
    """One evaluation: a configuration at a number of epochs.

    Attributes:
        configuration_id: hpbandster's triple of bracket, stage and number.
        configuration: values of the active hyperparameters, by name.
        epochs: the budget.
        continues: epochs of the preceding finished trial of this configuration; None if there is none.
    """

    configuration_id: ConfigurationId
    configuration: Mapping[str, Scalar]
    epochs: int
    continues: int | None = None

    @property
    def key(self) -> Key:
        """The identity of the trial."""
        return self.configuration_id, self.epochs

    @property
    def name(self) -> str:
        """The trial in words: "0-0-3 at 25 epochs"."""
        return f"{format_id(self.configuration_id)} at {counted(self.epochs, 'epoch')}"


@dataclass(frozen=True, kw_only=True)
class TrialJob(Job):
    """The job that evaluates a trial."""

    trial: Trial


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial.

    Attributes:
        loss: what the tuner minimizes; None if the trial failed.
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


@dataclass(frozen=True)
class Observation:
    """A trial that has ended.

    Attributes:
        number: 0, 1, …, in order of registration.
        trial: what was evaluated.
        outcome: what was found.
        model_based: whether a model proposed the configuration.
        submitted, started, finished: seconds on the study's clock, which stands still between sessions. `started` is
            the start of the last attempt.
        attempts: number of times that the trial was given to a worker.
        worker: the worker that evaluated the trial.
    """

    number: int
    trial: Trial
    outcome: Outcome
    model_based: bool
    submitted: float
    started: float
    finished: float
    attempts: int
    worker: str


@dataclass(frozen=True)
class RecordedObservation:
    """The part of an observation that a resumed study needs.

    Attributes:
        configuration_id, epochs: the trial.
        loss: None if the trial failed.
        finished: seconds on the study's clock.
    """

    configuration_id: ConfigurationId
    epochs: int
    loss: float | None
    finished: float

    @property
    def key(self) -> Key:
        """The identity of the trial."""
        return self.configuration_id, self.epochs
