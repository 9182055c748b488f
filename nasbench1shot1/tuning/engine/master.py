"""A study from its beginning, or from where it was stopped, to its end: one visible loop.

The master submits trials, registers observations and notices what goes wrong. It does not depend on searches. Workers
(`worker.run_worker`) evaluate its proposals with a function `evaluate` that the caller supplies, and a `Recorder` keeps
the observations.

hpbandster's `core/master.py` registers results in the thread that received them, waits on conditions without a time
limit, and resumes by feeding old results to its model (`WarmStartIteration`), without their brackets. Here only this
loop changes the study's state. Every wait has a time limit. A stopped study is replayed: repeating its submissions and
observations in order restores the brackets and models that an uninterrupted study would have.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Protocol

from nasbench1shot1.ground.errors import RunStoppedError, UserError
from nasbench1shot1.proposers.bohb import BohbGenerator
from nasbench1shot1.proposers.bracket_proposer import BracketProposer, Proposal
from nasbench1shot1.proposers.brackets import Brackets, BracketState
from nasbench1shot1.proposers.configurations import (
    ConfigurationGenerator,
    ConfigurationId,
    RandomGenerator,
    require_extra,
    to_python_scalars,
)
from nasbench1shot1.runs.folder import damaged_file_error
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.tuning.engine.dispatcher import (
    Event,
    StudyDispatcher,
    ThreadFailed,
    TrialFinished,
    TrialRequeued,
    TrialStarted,
)
from nasbench1shot1.tuning.engine.interfaces import (
    USUAL_TIMING,
    Observation,
    Outcome,
    Progress,
    Recorder,
    Timing,
    Trial,
    Tuner,
    WorkerProcesses,
    WorkerState,
)
from nasbench1shot1.tuning.engine.local_workers import log_of
from nasbench1shot1.tuning.engine.logs import Attempts, Submission, Submissions, iterate_chronologically
from nasbench1shot1.tuning.engine.remote import Address, UnansweredError, name_server

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

TICK = 1.0  # seconds
FEW = 10
"""Number of observations after which a study without a single loss ends."""


class Proposer(Protocol):
    """An ask-and-tell tuner. Its seed and the preceding calls must determine its proposals."""

    @property
    def is_finished(self) -> bool:
        """Whether every trial has been observed."""

    def propose(self) -> Proposal | None:
        """Return the next trial; None if nothing can be proposed before another observation."""

    def repeat(self, recorded: Proposal) -> Proposal | None:
        """Propose as when `recorded` was proposed; a configuration that would be drawn is taken from it."""

    def observe(self, configuration_id: ConfigurationId, epochs: int, loss: float | None) -> None:
        """Register the loss of a proposed trial; None if it diverged."""

    def started_brackets(self) -> tuple[BracketState, ...]:
        """Return the brackets that have begun, for a live view."""


def make_proposer(tuner: Tuner, space: "ConfigurationSpace", brackets: Brackets, seed: int) -> Proposer:
    """Return the proposer of a study; the first configuration that it proposes is the space's default.

    Raises:
        InvalidInputError: the tuner does not support the space.
        UserError: a package that the tuner needs is not installed.
    """
    default = to_python_scalars(dict(space.get_default_configuration()))
    return BracketProposer(brackets, _generator(tuner, space, seed), default)


def _generator(tuner: Tuner, space: "ConfigurationSpace", seed: int) -> ConfigurationGenerator:
    if tuner == "random":
        return RandomGenerator(space, seed)
    if tuner == "bohb":
        return BohbGenerator(space, seed)
    require_extra("smac")
    from nasbench1shot1.proposers.smac import SmacGenerator

    return SmacGenerator(space, seed)


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
    timing: Timing = USUAL_TIMING,
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
        tuner: the algorithm that proposes configurations.
        host: name or address of this machine under which workers reach it.
        port: port of the name server. Default: any free port.
        timing: intervals and time limits of the study.

    Raises:
        InvalidInputError: the host is unknown, the port is taken, or a hyperparameter has an unsupported type.
        DamagedFileError: the recorded submissions and observations contradict each other, the space or the brackets.
        UserError: no worker has connected for `wait_for_workers` seconds, an evaluation failed for another reason than
            divergence, its workers died `most_deaths` times without progress, or the first ten trials and all others
            diverged.
        RunStoppedError: Ctrl-C.
    """
    proposer = make_proposer(tuner, space, brackets, seed)
    master = StudyMaster(folder, proposer, recorder, brackets.planned, timing)
    if master.is_finished:
        return
    try:
        with (
            name_server(folder, host, port) as address,
            _dispatcher(address, timing, recorder) as dispatcher,
            start_workers() as workers,
        ):
            master.run(dispatcher, workers)
    except KeyboardInterrupt as stop:
        raise RunStoppedError(folder, resume_command("tune", folder)) from stop


@contextmanager
def _dispatcher(address: Address, timing: Timing, recorder: Recorder) -> Iterator[StudyDispatcher]:
    dispatcher = StudyDispatcher(address, timing, recorder.steps_done)
    try:
        dispatcher.run()
        yield dispatcher
    finally:
        dispatcher.shutdown()


class StudyMaster:
    """Drives a proposer; the state of earlier sessions is restored when it is made.

    Args:
        folder: the study's folder.
        proposer: decides what is evaluated; fresh.
        recorder: keeps the observations.
        planned: number of all trials.
        timing: intervals and time limits of the study.

    Raises:
        DamagedFileError: the recorded submissions and observations contradict each other or the proposer.
    """

    def __init__(self, folder: Path, proposer: Proposer, recorder: Recorder, planned: int, timing: Timing) -> None:
        self.folder, self._proposer, self._recorder = folder, proposer, recorder
        self._planned, self._timing = planned, timing
        self._submissions, self._attempts = Submissions(folder), Attempts(folder)
        self._open: dict[tuple[ConfigurationId, int], _Open] = {}
        self._reached: dict[ConfigurationId, int] = {}
        self._deaths: dict[tuple[ConfigurationId, int], tuple[int, int]] = {}  # steps done, and deaths since then
        self._observed = self._losses = 0
        self._clock = Clock(self._replay())
        self._connected, self._ever_connected = time.monotonic(), False

    # Earlier sessions

    def _replay(self) -> float:
        """Replay all recorded submissions and observations, and return the last recorded time."""
        observations, last = self._recorder.observations(), 0.0
        for event in iterate_chronologically(self.folder, self._submissions.recorded, observations):
            try:
                if isinstance(event, Submission):
                    self._repeat(event)
                    last = max(last, event.submitted)
                else:
                    self._register(event.key, event.loss)
                    last = max(last, event.finished)
            except (AssertionError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
                raise damaged_file_error(self._submissions.path, "it contradicts the study's options") from error
        return last

    def _repeat(self, submission: Submission) -> None:
        recorded = Proposal(
            submission.configuration_id, dict(submission.configuration), submission.epochs, submission.model_based
        )
        if self._proposer.repeat(recorded) != recorded:
            raise ValueError("another proposal")
        self._open[submission.key] = _Open(submission, self._trial(recorded))

    def _trial(self, proposal: Proposal) -> Trial:
        key = proposal.configuration_id, proposal.epochs
        return Trial(
            proposal.configuration_id,
            proposal.configuration,
            proposal.epochs,
            self._attempts.count(key) + 1,
            self._reached.get(proposal.configuration_id),
        )

    def _register(self, key: tuple[ConfigurationId, int], loss: float | None) -> None:
        """Tell the proposer only the loss of an observation."""
        self._proposer.observe(*key, loss)
        del self._open[key]
        self._observed += 1
        self._losses += loss is not None
        self._reached[key[0]] = key[1]

    # This session

    @property
    def is_finished(self) -> bool:
        """Whether all trials are observed."""
        return self._proposer.is_finished

    def run(self, dispatcher: StudyDispatcher, processes: WorkerProcesses) -> None:
        """Run the study to its end; raises UserError as `run_study` does."""
        self._connected = time.monotonic()
        for opened in self._open.values():
            dispatcher.submit_job(opened.trial.configuration_id, trial=opened.trial)
        while not self.is_finished:
            is_submitted = self._submit(dispatcher)
            with suppress(Empty):
                wait = 0.0 if is_submitted else min(TICK, self._timing.wait_for_workers)
                self._handle(dispatcher.events.get(timeout=wait))
            processes.replace_dead()
            self._check_workers(dispatcher)
            self._recorder.progress(self._progress(dispatcher))

    def _submit(self, dispatcher: StudyDispatcher) -> bool:
        """Submit one trial if there are more workers than open trials; return whether one was submitted.

        A trial is proposed only when a worker needs it, so that the proposal uses as many observations as possible.
        Because a proposal can take seconds, events are handled between two proposals.
        """
        if len(self._open) >= dispatcher.number_of_workers() or (proposal := self._proposer.propose()) is None:
            return False
        trial = self._trial(proposal)
        submission = Submission(
            proposal.configuration_id,
            proposal.configuration,
            proposal.epochs,
            proposal.model_based,
            self._observed,
            self._clock.now(),
        )
        self._submissions.append(submission)
        self._open[trial.key] = _Open(submission, trial)
        dispatcher.submit_job(trial.configuration_id, trial=trial)
        return True

    def _handle(self, event: Event) -> None:
        if isinstance(event, ThreadFailed):
            raise self._broken(event.error)
        if isinstance(event, TrialStarted):
            at = self._clock.at(event.at)
            self._attempts.append(event.trial, event.worker, at)
            opened = self._open[event.trial.key]
            self._open[event.trial.key] = replace(opened, trial=event.trial, started=at, worker=event.worker)
        if isinstance(event, TrialRequeued) and event.died:
            self._count_death(event)
        if isinstance(event, TrialFinished):
            self._observe(event)

    def _observe(self, event: TrialFinished) -> None:
        if event.outcome is None:
            raise UserError(
                f"{event.trial.name} failed on {event.worker} ({event.error}): fix the cause, then continue with "
                f"{self._resume_command}"
            )
        opened, outcome = self._open[event.trial.key], Outcome.from_json(event.outcome)
        submission = opened.submission
        self._recorder.record_observation(
            Observation(
                self._observed,
                event.trial,
                outcome,
                submission.model_based,
                submission.submitted,
                opened.started,
                self._clock.at(event.at),
                event.worker,
            )
        )
        self._register(event.trial.key, outcome.loss)
        if self._losses == 0 and self._observed >= FEW:
            raise UserError(
                f"all {self._observed} trials diverged (the last: {outcome.failure}): narrow the ranges of the "
                "configuration space, and start a new study"
            )

    @property
    def _resume_command(self) -> str:
        return resume_command("tune", self.folder)

    def _broken(self, error: Exception) -> Exception:
        """Return the error to raise when a thread of the dispatcher has ended; a bug of this package keeps its
        traceback."""
        if not isinstance(error, UnansweredError):
            return error
        return UserError(f"the study's name server failed ({error}): continue with {self._resume_command}")

    def _count_death(self, event: TrialRequeued) -> None:
        """Count the death of a trial's worker; raise UserError after too many deaths without progress in between."""
        key = event.trial.key
        before, deaths = self._deaths.get(key, (event.steps, 0))
        deaths = 1 if event.steps > before else deaths + 1
        self._deaths[key] = max(before, event.steps), deaths
        if deaths >= self._timing.most_deaths:
            raise UserError(self._describe_deaths(event, deaths))

    def _describe_deaths(self, event: TrialRequeued, deaths: int) -> str:
        log = log_of(self.folder, event.worker)
        where = f"see {log}" if log else f"see what {event.worker} printed"
        return (
            f"the worker of {event.trial.name} died {deaths} times without progress (last: {event.worker}, "
            f"{event.why}): {where}, then continue with {self._resume_command}"
        )

    def _check_workers(self, dispatcher: StudyDispatcher) -> None:
        """Raise UserError if no worker has been connected for too long."""
        if dispatcher.number_of_workers():
            self._connected, self._ever_connected = time.monotonic(), True
        if time.monotonic() - self._connected < self._timing.wait_for_workers:
            return
        if dispatcher.unreachable:
            raise UserError(
                f"no worker can be reached from this machine, although {', '.join(sorted(dispatcher.unreachable))} "
                f"registered: check firewalls and the address of nb1shot1 tune-worker --host, then continue "
                f"with {self._resume_command}"
            )
        what = "all workers were lost, and none" if self._ever_connected else "no worker"
        raise UserError(
            f"{what} has connected for {self._timing.wait_for_workers:g} s: start workers with nb1shot1 tune-worker "
            f"{self.folder} while {self._resume_command} runs"
        )

    def _progress(self, dispatcher: StudyDispatcher) -> Progress:
        workers, waiting = dispatcher.state()
        return Progress(
            self._clock.now(),
            tuple(WorkerState(name, trial, self._clock.at(since)) for name, trial, since in workers),
            tuple(waiting),
            self._proposer.started_brackets(),
            self._observed,
            self._planned,
        )


@dataclass(frozen=True)
class _Open:
    """A submitted trial that has not been observed."""

    submission: Submission
    trial: Trial
    started: float = 0.0
    worker: str = ""


class Clock:
    """Seconds that a study has run, over all sessions; it continues from the last recorded time."""

    def __init__(self, offset: float) -> None:
        self._zero = time.monotonic() - offset

    def now(self) -> float:
        """Return the present time."""
        return self.at(time.monotonic())

    def at(self, moment: float) -> float:
        """Return the time at a moment of `time.monotonic`."""
        return round(moment - self._zero, 3)
