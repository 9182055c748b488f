"""The loop of a study: ask the tuner for trials, give them to workers, and register what they find.

The loop does not depend on searches: an `Evaluation` turns trials into jobs and reads their outcomes. Only this loop
changes the study's state. A stopped study is replayed: repeating its submissions and observations in order restores the
brackets and models that an uninterrupted study would have. (hpbandster's own `core/master.py` resumes by feeding old
results to its model, without their brackets.)
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.plugins import require_package
from nasbench1shot1.jobs.job import Ended, Workers
from nasbench1shot1.jobs.pool import TICK_EVERY, Pool
from nasbench1shot1.proposers.bracket_proposer import BracketProposer, Proposal
from nasbench1shot1.proposers.brackets import Brackets, BracketState
from nasbench1shot1.proposers.configurations import (
    ConfigurationGenerator,
    ConfigurationId,
    RandomGenerator,
    to_python_scalars,
)
from nasbench1shot1.runs.folder import damaged_file_error
from nasbench1shot1.tuning.options import Tuner
from nasbench1shot1.tuning.submissions import Attempts, Submission, Submissions, iterate_chronologically
from nasbench1shot1.tuning.trials import Key, Observation, Outcome, RecordedObservation, Trial, TrialJob

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

FEW = 10
"""Number of observations after which a study without a single loss ends."""


@dataclass(frozen=True)
class Progress:
    """The state of a study, for a live view.

    Attributes:
        running: the trials that were given to workers, each with the seconds since then.
        workers: number of trials that can run at the same time.
        brackets: the brackets that have begun.
        observed, planned: number of finished trials, and of all trials.
    """

    running: tuple[tuple[Trial, float], ...]
    workers: int
    brackets: tuple[BracketState, ...]
    observed: int
    planned: int


class Evaluation(Protocol):
    """Evaluates the trials of a study, and records its observations."""

    def job(self, trial: Trial) -> TrialJob:
        """Return the job that evaluates a trial."""

    def outcome(self, job: TrialJob, end: Ended) -> Outcome:
        """Return the outcome of a trial whose job has ended; raises UserError for a fault that ends the study."""

    def record(self, observation: Observation) -> None:
        """Record an observation durably; once this returns, the trial is never evaluated again."""

    def progress(self, state: Progress) -> None:
        """Called after every event and about once a second."""


def make_proposer(tuner: Tuner, space: "ConfigurationSpace", brackets: Brackets, seed: int) -> BracketProposer:
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
        from nasbench1shot1.proposers.bohb import BohbGenerator

        return BohbGenerator(space, seed)
    require_package("smac", "tuning", extra="tune")
    from nasbench1shot1.proposers.smac import SmacGenerator

    return SmacGenerator(space, seed)


def observe_all(state: "StudyState", evaluation: Evaluation, workers: Workers) -> None:
    """Observe all trials of a study that are not recorded.

    A trial is proposed only when a worker needs it, so that the proposal uses as many observations as possible.

    Raises:
        UserError: an evaluation failed for another reason than divergence, a lost trial was given out too often without
            progress, or the first ten trials and all others failed.
    """
    pool = Pool[TrialJob](workers, lambda job: state.note_attempt(job.trial))
    try:
        for trial in state.open_trials:
            pool.submit(evaluation.job(trial))
        while not state.is_finished:
            asked = state.propose() if len(pool.waiting) < workers.count else None
            if asked is not None:
                pool.submit(evaluation.job(asked))
            for job, end in pool.wait(0.0 if asked else TICK_EVERY):
                evaluation.record(state.observe(job.trial, evaluation.outcome(job, end), end))
                state.check_losses()
            evaluation.progress(state.progress(workers.count))
    finally:
        pool.withdraw()


@dataclass
class _Open:
    """A submitted trial that has not been observed."""

    submission: Submission
    trial: Trial
    given_out: float = 0.0


class StudyState:
    """The state of a study; the state of earlier sessions is restored when it is made.

    Args:
        folder: the study's folder, whose lock the caller holds. Receives submissions.jsonl and attempts.jsonl.
        proposer: decides what is evaluated; fresh.
        observations: what was observed in earlier sessions, in order of registration.

    Raises:
        DamagedFileError: the recorded submissions and observations contradict each other or the proposer.
    """

    def __init__(
        self, folder: Path, proposer: BracketProposer, observations: Sequence[RecordedObservation] = ()
    ) -> None:
        self.folder, self._proposer = folder, proposer
        self._submissions, self._attempts = Submissions(folder), Attempts(folder)
        self._open: dict[Key, _Open] = {}
        self._reached: dict[ConfigurationId, int] = {}
        self._observed = self._losses = 0
        self._last_failure: str | None = None
        self._zero = time.monotonic() - self._replay(observations)

    def _replay(self, observations: Sequence[RecordedObservation]) -> float:
        """Replay all recorded submissions and observations, and return the last recorded time."""
        last = 0.0
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
        reached = self._reached.get(proposal.configuration_id)
        return Trial(proposal.configuration_id, proposal.configuration, proposal.epochs, reached)

    def _register(self, key: Key, loss: float | None) -> None:
        """Tell the proposer only the loss of an observation."""
        self._proposer.observe(*key, loss)
        del self._open[key]
        self._observed += 1
        self._losses += loss is not None
        self._reached[key[0]] = key[1]

    @property
    def is_finished(self) -> bool:
        """Whether all trials are observed."""
        return self._proposer.is_finished

    @property
    def open_trials(self) -> list[Trial]:
        """The trials that were submitted and not observed."""
        return [opened.trial for opened in self._open.values()]

    def now(self) -> float:
        """Return the seconds that the study has run, over all sessions."""
        return round(time.monotonic() - self._zero, 3)

    def propose(self) -> Trial | None:
        """Ask for the next trial and write it to disk; None if nothing can be proposed before another observation."""
        proposal = self._proposer.propose()
        if proposal is None:
            return None
        values = proposal.configuration_id, proposal.configuration, proposal.epochs, proposal.model_based
        submission = Submission(*values, self._observed, self.now())
        self._submissions.append(submission)
        trial = self._trial(proposal)
        self._open[trial.key] = _Open(submission, trial)
        return trial

    def note_attempt(self, trial: Trial) -> None:
        """Note that a trial is given to a worker."""
        self._open[trial.key].given_out = self.now()
        self._attempts.append(trial.key, self._open[trial.key].given_out)

    def observe(self, trial: Trial, outcome: Outcome, end: Ended) -> Observation:
        """Register the outcome of a trial, and return what to record."""
        opened, finished = self._open[trial.key], self.now()
        started = max(finished - end.seconds, opened.given_out)
        observation = Observation(
            self._observed,
            trial,
            outcome,
            opened.submission.model_based,
            opened.submission.submitted,
            round(started, 3),
            finished,
            self._attempts.count(trial.key),
            end.worker,
        )
        self._register(trial.key, outcome.loss)
        self._last_failure = outcome.failure
        return observation

    def check_losses(self) -> None:
        """Raise UserError if so many trials have failed, without a single loss, that the others would fail, too."""
        if self._losses == 0 and self._observed >= FEW:
            raise UserError(
                f"all {self._observed} trials failed (the last: {self._last_failure}): narrow the ranges of the "
                "configuration space, and start a new study"
            )

    def progress(self, workers: int) -> Progress:
        """Return the state for a live view."""
        now = self.now()
        running = tuple((opened.trial, now - opened.given_out) for opened in self._open.values())
        planned = self._proposer.brackets.planned
        return Progress(running, workers, self._proposer.started_brackets(), self._observed, int(planned))
