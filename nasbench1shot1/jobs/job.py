"""A job, which is one run among many; the state of its folder; and the interface of the workers that run jobs."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, Protocol, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import atomic_write, write_error
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, read_description
from nasbench1shot1.runs.lock import LOCK, locked
from nasbench1shot1.runs.next_command import named_modules

LOOK_EVERY = 0.2  # seconds
P = ParamSpec("P")
T = TypeVar("T")


class JobLostError(Exception):
    """The process of a job died; the job can be submitted again."""


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        failure: the reason for a failure, for the message of a UserError; None after success.
        error: the name of the exception's class; None if no exception was raised.
        worker: the worker's name, such as "host.local-0".
        seconds: how long the worker ran the job.
        token: what the worker read from the job's token file.
    """

    failure: str | None = None
    error: str | None = None
    worker: str = ""
    seconds: float = 0.0
    token: str | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """A picklable description of a run, with which any process can start or resume it.

    Attributes:
        name: name of the job on screens and in errors.
        command: "module:function". A new run is `function(out=folder, **options)`, a stopped one is
            `function(resume=folder, **resume_options)`. Example: `nasbench1shot1.one_shot_search.searching:search`. If
            the options name a user's modules, a stopped run also receives them as `allow_module`.
        folder: the run's folder, which must have the same path on all workers. Relative paths, here and in the
            options, refer to the current folder of the process that submits the job.
        options: keyword arguments of a new run, as JSON values.
        resume_options: keyword arguments of a stopped run, as JSON values.
        extends: the options that a finished run must have, as JSON values, such as {"epochs": 100}. A finished run with
            other values is resumed, which extends it. Default: every finished run is skipped.
        threads: number of CPU threads. Default: the cores of the machine divided by its number of workers.
        gpu: whether the job computes on a GPU.
    """

    name: str
    command: str
    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    resume_options: Mapping[str, Any] = field(default_factory=dict)
    extends: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = None
    gpu: bool = False

    @property
    def log(self) -> Path:
        """The file next to the folder that receives the job's output."""
        return self.folder.with_name(self.folder.name + ".log")

    @property
    def token_file(self) -> Path:
        """The file next to the folder that exists while the job is submitted.

        It contains a random token. A worker that cannot read it has another file system, or a copy of the folder.
        """
        return self.folder.with_name(f".{self.folder.name}.token")

    def write_token(self, token: str) -> None:
        """Write the token file; raises UserError if it cannot be written."""
        self.make_parent()
        with atomic_write(self.token_file) as file:
            file.write(token.encode())

    def read_token(self, wanted: str | None = None, seconds: float = 0) -> str | None:
        """Return the token file's content (None: no file); wait up to `seconds` for the expected content."""
        deadline = time.monotonic() + seconds
        while (found := self._token()) != wanted and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        return found

    def _token(self) -> str | None:
        try:
            return self.token_file.read_text()
        except (OSError, ValueError):
            return None

    def refusal(self) -> str:
        """Return the failure of a job whose worker does not see the token."""
        return (
            f"its worker on {socket.gethostname()} does not see {self.folder.parent}, or sees a copy of it: workers "
            "and this command need the same file system"
        )

    def make_parent(self) -> None:
        """Create the parent of the run's folder and log; raises UserError if it cannot be written."""
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.log.parent, error) from error

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished and has the options `extends`; raises the errors of `is_finished`.

        A run whose process was killed while it drew the pictures, after the summary, is not finished.
        """
        return is_finished(self.folder, self.extends) and not _has_lock(self.folder)


class Workers(Protocol):
    """The interface of workers, which run jobs."""

    @property
    def count(self) -> int:
        """Number of jobs that run at the same time; at least 1."""

    def submit(self, job: Job, token: str | None = None) -> "Future[Ended]":
        """Start or queue a job. The future raises JobLostError if the job must be submitted again.

        Args:
            job: what to run.
            token: content of the job's token file, without which no worker starts the job. Default: no check.
        """

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on a machine that runs jobs, and return its result."""


def run_until_finished(
    command: str,
    folder: Path,
    options: Mapping[str, Any],
    resume_options: Mapping[str, Any] | None = None,
    extends: Mapping[str, Any] | None = None,
    patience: float = 0.0,
    **here: Any,
) -> None:
    """Start the run in `folder`, resume it if it was stopped or is extended, or return immediately if it is finished.

    A finished run whose process was killed before it had drawn all pictures is resumed, which draws them again. The
    current folder is restored afterwards, if code of the run has changed it.

    Args:
        command: "module:function", as in `Job`.
        folder: the run's folder.
        options: keyword arguments of a new run. If they name an optimizer or a space as "module:attribute", a resumed
            run may import that module, because the creator of the job trusts it.
        resume_options: keyword arguments of a stopped run.
        extends: as in `Job`.
        patience: seconds to wait for a folder that another process, such as a killed command's, still holds.
        here: further keyword arguments that only this process can have, such as a console.

    Raises:
        UserError: the command's own errors.
    """
    was_held = _has_lock(folder)
    wait_until_free(folder, patience)
    if is_finished(folder, extends or {}) and (not was_held or _is_locked(folder)):
        return
    function, modules = imported(command), named_modules(options)
    with _in_same_folder():
        if is_started(folder):
            function(resume=folder, **(resume_options or {}), **({"allow_module": modules} if modules else {}), **here)
        else:
            function(out=folder, **options, **here)


@contextmanager
def _in_same_folder() -> Iterator[None]:
    """Restore the current folder afterwards, unless it has been removed."""
    here = None
    with suppress(OSError):
        here = Path.cwd()
    try:
        yield
    finally:
        if here is not None:
            with suppress(OSError):
                os.chdir(here)


def _has_lock(folder: Path) -> bool:
    """Return whether the lock's file exists: a process holds it, or was killed while it held it."""
    return (folder / LOCK).exists()


def is_started(folder: Path) -> bool:
    """Return whether the folder contains a run, which must be resumed instead of started."""
    return (folder / CONFIG).is_file()


def is_finished(folder: Path, extends: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """Return whether the folder contains a finished run with the options `extends` (as in `Job`).

    Raises DamagedFileError if the options must be read and are damaged.
    """
    if not (is_started(folder) and (folder / SUMMARY).is_file()):
        return False
    recorded = read_description(folder)[1] if extends else {}
    return all(name in recorded and recorded[name] == value for name, value in extends.items())


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait until no other process holds the folder's lock, or until the time has passed.

    The process of a lost worker, or of a killed command, may still hold the lock for a moment. If the lock is not free
    afterwards, or cannot be written, as on a full disk, taking it raises an error.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and folder.is_dir() and _is_locked(folder):
        time.sleep(LOOK_EVERY)


def _is_locked(folder: Path) -> bool:
    try:
        with locked(folder):
            return False
    except InvalidInputError:
        return True
    except UserError:
        return False
