"""The two logs of a study's loop: submitted trials, and attempts to evaluate them.

`submissions.jsonl` and the recorder's observations are the whole state of a tuner: replaying both in the order in which
they happened rebuilds it. A submission is on the disk before any worker sees it. `attempts.jsonl` only counts attempts
over several sessions.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from nasbench1shot1.ground.files import atomic_write, write_error
from nasbench1shot1.proposers.configurations import ConfigurationId, Scalar, format_id, parse_id, to_python_scalars
from nasbench1shot1.runs.folder import METRICS, SUBMISSIONS, as_json_line, damaged_file_error, read_lines
from nasbench1shot1.tuning.trials import Key, RecordedObservation

ATTEMPTS = "attempts.jsonl"
TYPES = {
    "number": int, "configuration_id": str, "budget": int, "configuration": dict, "model_based": bool, "after": int,
}  # fmt: skip
"""The types of the fields of a line of submissions.jsonl, besides `submitted`, seconds on the study's clock."""


@dataclass(frozen=True)
class Submission:
    """A trial that the tuner proposed.

    Attributes:
        configuration_id, configuration, epochs: the trial.
        model_based: whether a model proposed the configuration.
        after: number of observations registered when it was proposed.
        submitted: seconds on the study's clock.
    """

    configuration_id: ConfigurationId
    configuration: Mapping[str, Scalar]
    epochs: int
    model_based: bool
    after: int
    submitted: float

    @property
    def key(self) -> Key:
        """The identity of the trial: configuration and epochs."""
        return self.configuration_id, self.epochs

    def as_line(self, number: int) -> dict[str, Any]:
        """Return the submission as a line of submissions.jsonl."""
        return {
            "number": number,
            "configuration_id": format_id(self.configuration_id),
            "budget": self.epochs,
            "configuration": to_python_scalars(self.configuration),
            "model_based": self.model_based,
            "after": self.after,
            "submitted": self.submitted,
        }

    @classmethod
    def from_line(cls, line: Mapping[str, Any]) -> Self:
        """Return the submission of a line from `as_line`; raises ValueError, KeyError or TypeError for other lines."""
        if any(type(line[name]) is not kind for name, kind in TYPES.items()):
            raise ValueError("a field has a wrong type")
        return cls(
            parse_id(line["configuration_id"]),
            line["configuration"],
            line["budget"],
            line["model_based"],
            line["after"],
            float(line["submitted"]),
        )


class Log:
    """A file of JSON lines that only grows; opening it removes an incomplete last line."""

    def __init__(self, path: Path, durable: bool) -> None:
        self.path, self._durable = path, durable
        self.lines = read_lines(path)
        if path.exists():
            with atomic_write(path) as file:
                file.write("".join(map(as_json_line, self.lines)).encode())

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a line, synced to disk if the log is durable; raises UserError if it cannot be written."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(as_json_line(line))
                file.flush()
                if self._durable:
                    os.fsync(file.fileno())
        except OSError as error:
            raise write_error(self.path, error) from error
        self.lines.append(dict(line))


def read_submissions(path: Path) -> list[Submission]:
    """Read the complete lines of a submissions.jsonl; raises DamagedFileError if the file is damaged."""
    submissions = [_read(path, number, line) for number, line in enumerate(read_lines(path))]
    if any(a.after > b.after for a, b in pairwise(submissions)):
        raise damaged_file_error(path, "its lines are not in order")
    if len({submission.key for submission in submissions}) < len(submissions):
        raise damaged_file_error(path, "it submits a trial twice")
    first: dict[ConfigurationId, Submission] = {}
    for submission in submissions:
        if first.setdefault(submission.configuration_id, submission).configuration != submission.configuration:
            identity = format_id(submission.configuration_id)
            raise damaged_file_error(path, f"the configuration {identity} has different values")
    return submissions


def _read(path: Path, number: int, line: Mapping[str, Any]) -> Submission:
    try:
        submission = Submission.from_line(line)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged_file_error(path, f"line {number + 1} is not a submission") from error
    if line["number"] != number:
        raise damaged_file_error(path, f"line {number + 1} has the number {line['number']}")
    return submission


class Submissions:
    """All submissions of a study; raises DamagedFileError if the file is damaged."""

    def __init__(self, folder: Path) -> None:
        self.recorded = read_submissions(folder / SUBMISSIONS)
        self._log = Log(folder / SUBMISSIONS, durable=True)

    @property
    def path(self) -> Path:
        """The file."""
        return self._log.path

    def append(self, submission: Submission) -> None:
        """Record a submission; once this returns, it is on the disk."""
        self._log.append(submission.as_line(len(self.recorded)))
        self.recorded.append(submission)


def read_attempts(folder: Path) -> Counter[tuple[str, int]]:
    """Return how often each trial of a study was given to a worker, by its configuration_id and its epochs.

    Raises DamagedFileError if attempts.jsonl is damaged.
    """
    counts = Counter[tuple[str, int]]()
    for line in read_lines(path := folder / ATTEMPTS):
        match line:
            case {"configuration_id": str(identity), "budget": int(budget)}:
                counts[identity, budget] += 1
            case _:
                raise damaged_file_error(path)
    return counts


class Attempts:
    """Counts how often each trial was given to a worker, over all sessions."""

    def __init__(self, folder: Path) -> None:
        self._counts = read_attempts(folder)
        self._log = Log(folder / ATTEMPTS, durable=False)

    def count(self, key: Key) -> int:
        """Return how often a trial was given to a worker."""
        return self._counts[format_id(key[0]), key[1]]

    def append(self, key: Key, seconds: float) -> None:
        """Record that a trial was given to a worker; `seconds` is the time on the study's clock."""
        line = {"configuration_id": format_id(key[0]), "budget": key[1]}
        self._log.append({**line, "attempt": self.count(key) + 1, "started": seconds})
        self._counts[format_id(key[0]), key[1]] += 1


def iterate_chronologically(
    folder: Path, submissions: Sequence[Submission], observations: Sequence[RecordedObservation]
) -> Iterator[Submission | RecordedObservation]:
    """Yield submissions and observations in the order in which they happened.

    Raises:
        DamagedFileError: a submission follows an observation that is not recorded, an observation was never submitted,
            or there are observations but no submissions.
    """
    if observations and not submissions:
        raise damaged_file_error(folder / SUBMISSIONS, f"it is missing or empty, although {METRICS} has observations")
    following = iter([*submissions, None])
    submission, submitted = next(following), set[Key]()
    for number in range(len(observations) + 1):
        while submission is not None and submission.after == number:
            submitted.add(submission.key)
            yield submission
            submission = next(following)
        if number < len(observations):
            if observations[number].key not in submitted:
                raise damaged_file_error(folder / METRICS, f"line {number + 1} is not in {SUBMISSIONS}, or is repeated")
            submitted.remove(observations[number].key)
            yield observations[number]
    if submission is not None:
        raise damaged_file_error(
            folder / METRICS, f"{SUBMISSIONS} continues after line {submission.after}, which is missing"
        )
