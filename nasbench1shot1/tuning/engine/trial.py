"""Trials, which a tuner proposes, their outcomes, and observations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
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
