"""A study from its beginning, or from where it was stopped, to its end.

The engine knows nothing of searches. What it proposes is evaluated by workers (`worker.run_worker`), whose function
`evaluate` comes from outside, and what it observes goes to a `Recorder`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from nasbench1shot1.tuning.brackets import Brackets
from nasbench1shot1.tuning.trial import Observation, Recorded, Trial

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Tuner = Literal["bohb", "random"]
"""Who proposes configurations."""


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
class BracketState:
    """A bracket that has begun.

    Attributes:
        number: 0, 1, ….
        stages: for each stage, its epochs, the number of planned trials, and the number of finished trials.
    """

    number: int
    stages: tuple[tuple[int, int, int], ...]


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
    """Keeps the observations of a study. All methods are called from the thread that called `run_study`."""

    def observations(self) -> Sequence[Recorded]:
        """Return what was observed in earlier sessions, in order of registration; called once, at the start."""

    def submitted(self, trial: Trial, model_based: bool, after: int) -> None:
        """Called when the tuner has proposed a trial, after `after` observations; not repeated on resuming."""

    def observed(self, observation: Observation) -> None:
        """Record an observation durably; once this returns, the trial is never evaluated again."""

    def progress(self, state: Progress) -> None:
        """Called after every event and at least about once a second."""


class WorkerProcesses(Protocol):
    """The worker processes that a study starts on its own machine."""

    def tend(self) -> None:
        """Replace processes that died; called about once a second. Raises UserError if that is of no use."""


@dataclass(frozen=True)
class Timing:
    """How patient a study is.

    Attributes:
        wait_for_workers: seconds without any connected worker after which the study ends with an error.
        ping_interval: seconds between looks at the workers.
        answers_within: seconds after which an unanswered call has failed.
        missed_pings: calls in a row that time out before a worker is presumed dead. A refused connection suffices.
        most_deaths: deaths of a trial's worker after which the study ends with an error.
    """

    wait_for_workers: float = 600.0
    ping_interval: float = 1.0
    answers_within: float = 10.0
    missed_pings: int = 3
    most_deaths: int = 3


def run_study(
    folder: Path,
    space: "ConfigurationSpace",
    brackets: Brackets,
    recorder: Recorder,
    start_workers: Callable[[], AbstractContextManager[WorkerProcesses]],
    *,
    seed: int,
    tuner: Tuner = "bohb",
    host: str = "localhost",
    port: int = 0,
    timing: Timing = Timing(),
) -> None:
    """Run a study until all its trials are observed; a stopped one continues where it was.

    Args:
        folder: the study's folder, which exists and whose lock the caller holds. This function writes
            submissions.jsonl, attempts.jsonl and name_server.json.
        space: the configurations. Its default is the first one to be evaluated.
        brackets: numbers of epochs and of configurations.
        recorder: keeps the observations.
        start_workers: called once the name server answers; the context's workers are ended at the end.
            `local_workers.local_workers` makes such contexts, `local_workers.no_workers` one without workers.
        seed: seed of all proposals.
        tuner: who proposes.
        host: name or address of this machine under which workers reach it.
        port: port of the name server. Default: any free port.
        timing: how patient the study is.

    Raises:
        InvalidInputError: the host is unknown, the port is taken, or a hyperparameter has an unsupported type.
        DamagedFileError: the recorded submissions and observations contradict each other, space, brackets or seed.
        UserError: no worker has connected for `wait_for_workers` seconds, an evaluation failed for another reason than
            divergence, its worker died `most_deaths` times, or the first ten trials and all others diverged.
        RunStoppedError: Ctrl-C.
    """
    raise NotImplementedError
