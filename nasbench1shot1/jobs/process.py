"""Worker processes, which run one job after another, and the threads that wait for them.

Starting Python and importing PyTorch takes longer than a small search, so a process serves many jobs. It receives each
job as a line of JSON on its standard input, and answers with a line on its original standard output. What a job prints
is appended to the log of the job. A process that fails unexpectedly, or whose job is stopped, is replaced. Each command
has its own processes, because a user may edit a module between two commands.

The parent holds the other end of the standard input. When the parent ends for any reason, the process also ends. A
killed run can therefore be resumed, and no orphan keeps a folder locked.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from nasbench1shot1.ground.errors import UserError, quote
from nasbench1shot1.ground.files import open_to_append, write_error
from nasbench1shot1.jobs.job import LOOK_EVERY, Ended, Job, JobLostError, run_until_finished
from nasbench1shot1.runs.folder import SUMMARY

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables that set the number of CPU threads of a new process."""
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from nasbench1shot1.jobs.process import main; main()"
"""What a worker process runs. Its argument is the list of folders from which it imports."""
DIVERGED = "DivergedError"
"""The error after which a process is used again, because many trials of a study may diverge."""
ENDS_WITHIN = 10.0  # seconds between the end of a process's answers and its own


class JobStoppedError(Exception):
    """The job's process was ended because its result is no longer needed."""


def usable_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcesses:
    """Worker processes that this process started and may use again.

    Args:
        idle_seconds: time after which processes without a job end. Default: they end with `end`.
    """

    def __init__(self, idle_seconds: float | None = None) -> None:
        self._idle: list[_WorkerProcess] = []
        self._lock, self._seconds = threading.Lock(), idle_seconds
        self._timer: threading.Timer | None = None

    def run(
        self,
        job: Job,
        environment: Mapping[str, str],
        threads: int,
        is_stopped: Callable[[], bool],
        *,
        directory: Path,
        patience: float,
        session: str | None = None,
    ) -> Ended:
        """Run a job in an idle process, or in a new one, and wait for its end.

        Args:
            job: what to run.
            environment: environment variables of the process, in addition to this process's own.
            threads: number of CPU threads of the process.
            is_stopped: polled several times a second; the process is killed when it returns True.
            directory: the current folder of the job, if it exists. Modules are also imported from it.
            patience: seconds to wait for a folder that another process, such as a killed command's, still holds.
            session: identifies the command of the job. A process only runs jobs of one session.

        Returns:
            The end of the job; `worker` and `token` are not set.

        Raises:
            JobStoppedError: `is_stopped` returned True.
            JobLostError: the process was killed.
        """
        began = time.monotonic()
        variables = {**dict.fromkeys(THREADS, str(threads)), **environment}
        process = self._take(variables, session, job.log)
        answer: dict[str, Any] | None = None
        try:
            send(job, process, directory, patience)
            answer = process.answer(is_stopped)
        finally:
            if answer is not None and answer["is_reusable"]:
                self._keep(process)
            else:
                process.end()
        if answer is None:
            return Ended(_failure(job, process.code), seconds=time.monotonic() - began)
        return Ended(answer["failure"], answer["error"], seconds=time.monotonic() - began)

    def end(self) -> None:
        """End all idle processes."""
        with self._lock:
            if self._timer:
                self._timer.cancel()
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def _take(self, variables: Mapping[str, str], session: str | None, log: Path) -> "_WorkerProcess":
        with self._lock:
            suitable = [process for process in self._idle if process.suits(variables, session)]
            taken = suitable[-1] if suitable else self._idle[0] if self._idle else None
            if taken:
                self._idle.remove(taken)
        if taken and not suitable:  # replace it, so that there are never more processes than jobs at the same time
            taken.end()
        return taken if taken and suitable else _WorkerProcess(variables, session, log)

    def _keep(self, process: "_WorkerProcess") -> None:
        with self._lock:
            self._idle.append(process)
            if self._seconds is None:
                return
            if self._timer:
                self._timer.cancel()
            self._timer = threading.Timer(self._seconds, self.end)
            self._timer.daemon = True
            self._timer.start()


class _WorkerProcess:
    """A worker process, and the thread that reads its answers."""

    def __init__(self, variables: Mapping[str, str], session: str | None, log: Path) -> None:
        self._serves = variables, session
        self._process = start_process({**os.environ, **variables}, log)
        self._answers = SimpleQueue[bytes]()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._answers.put(line)
        self._answers.put(b"")  # the process has ended

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def suits(self, variables: Mapping[str, str], session: str | None) -> bool:
        """Return whether the process is alive and can run a job with these environment variables and session."""
        return self._serves == (variables, session) and self.is_alive

    @property
    def code(self) -> int:
        """The exit code of a process that has ended."""
        return self._process.wait()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; if the process has ended, `answer` returns None."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, is_stopped: Callable[[], bool]) -> dict[str, Any] | None:
        """Return the answer to the request; None if the process ends before. Raises JobStoppedError."""
        while True:
            with suppress(Empty):
                answer = self._answers.get(timeout=LOOK_EVERY)
                if answer.endswith(b"\n"):
                    return json.loads(answer)  # type: ignore[no-any-return]
                with suppress(subprocess.TimeoutExpired):  # its pipe closes before its exit code is known
                    self._process.wait(ENDS_WITHIN)
                return None
            if is_stopped():
                raise JobStoppedError

    def end(self) -> None:
        """Kill the process if it is running."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            with suppress(OSError):  # an unsent request
                self._process.stdin.close()


def import_path() -> list[str]:
    """Return the folders from which worker processes import: this process's, with the current folder last.

    A file such as `queue.py` in the current folder must not replace a module of Python. Only if this package itself is
    imported from the current folder, its position is kept.
    """
    here, package = str(Path.cwd()), str(Path(__file__).resolve().parents[2])
    folders = [folder or here for folder in sys.path if isinstance(folder, str)]  # Python ignores other objects
    if here != package and here in folders:
        folders = [folder for folder in folders if folder != here] + [here]
    return list(dict.fromkeys(folders))


def start_process(environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a worker process; errors before its first job are appended to `log`. Raises UserError."""
    try:
        with open_to_append(log) as file:
            return subprocess.Popen(  # a separate process group: Ctrl-C only reaches the parent, which ends the process
                [sys.executable, "-P", "-c", START, json.dumps(import_path())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**environment, "PYTHONIOENCODING": "utf-8:backslashreplace"},  # a terminal may be ASCII
                process_group=0,
            )
    except OSError as error:
        raise write_error(log, error) from error


def send(job: Job, process: _WorkerProcess, directory: Path, patience: float) -> None:
    """Send a job to a worker process; the other arguments are as in `WorkerProcesses.run`."""
    request = {
        "command": job.command,
        "folder": str(job.folder),
        "options": dict(job.options),
        "resume_options": dict(job.resume_options),
        "extends": dict(job.extends),
        "directory": str(directory),
        "patience": patience,
    }
    process.send(request)


def _failure(job: Job, code: int) -> str:
    """Return the failure of a job whose process ended without an answer; raises JobLostError if it was killed."""
    if code < 0:
        hint = "; there may be too little memory for this many workers" if -code == signal.SIGKILL else ""
        raise JobLostError(f"its process was killed by signal {-code}{hint}")
    return f"its process ended with exit code {code} ({last_line(job.log)})"


def missing_result(job: Job) -> str | None:
    """Return the fault of a job that ended without an error and without finishing its run; None if it finished."""
    return None if job.is_finished else f"it ended without writing {SUMMARY}"


def one_line_error(error: BaseException) -> str:
    """Return an error's type and the first line of its message, like the last line of a traceback."""
    message = error.for_command_line if isinstance(error, UserError) else str(error)
    return f"{type(error).__name__}: {message.partition(chr(10))[0]}"


def last_line(log: Path) -> str:
    """Return the last non-empty line of a log."""
    lines = _read(log).split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it printed nothing").strip()


def traceback_in(log: Path) -> str:
    """Return the text of a log from its first traceback on; empty if it has none, or cannot be read."""
    with suppress(OSError):
        return "".join(_read(log).partition("Traceback (most recent call last):")[1:])
    return ""


def _read(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def worker_name(place: object) -> str:
    """Return the name of a worker on this machine: "host.local-0"."""
    return f"{socket.gethostname()}.{place}"


# In the worker process ------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the jobs that arrive on standard input, until its other end is closed."""
    answers, requests = os.dup(1), os.dup(0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    jobs = SimpleQueue[bytes]()
    threading.Thread(target=_read_requests, args=(requests, jobs), daemon=True).start()
    while True:
        answer = _run(json.loads(jobs.get()))
        os.write(answers, json.dumps(answer).encode() + b"\n")


def _read_requests(source: int, jobs: "SimpleQueue[bytes]") -> None:
    with os.fdopen(source, "rb") as lines:
        for line in lines:
            jobs.put(line)
    os._exit(1)  # the parent has ended


def _run(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run a job and return the answer; `is_reusable` tells whether the process can run another job."""
    folder, failure, error = Path(request["folder"]), None, None
    options = {name: request[name] for name in ("options", "resume_options", "extends")}
    job = Job(name=folder.name, command=request["command"], folder=folder, **options)
    with suppress(OSError):  # it may exist only on the machine of the submitter
        os.chdir(request["directory"])
        if request["directory"] not in sys.path:  # a dask worker was started in another folder
            sys.path.append(request["directory"])
    try:
        with _output_to(job.log):
            failure, error = run_here(job, BaseException, request["patience"])
    except OSError as full:  # the log cannot be written
        failure, error = quote(write_error(job.log, full)), UserError.__name__
    _free_memory()
    is_reusable = error is None or error == DIVERGED
    return {"failure": failure, "error": error, "is_reusable": is_reusable}


def run_here(job: Job, caught: type[BaseException], patience: float = 0.0) -> tuple[str | None, str | None]:
    """Run a job in this process, and print its error.

    Args:
        job: what to run.
        caught: the exceptions that are failures of the job; others are raised.
        patience: as in `run_until_finished`.

    Returns:
        The failure and the name of the exception's class, as in `Ended`.
    """
    try:
        run_until_finished(job.command, job.folder, job.options, job.resume_options, job.extends, patience)
    except UserError as error:
        print(f"nb1shot1: {error.for_command_line}", file=sys.stderr)
        return quote(error), type(error).__name__
    except caught as error:
        traceback.print_exc()
        return one_line_error(error), type(error).__name__
    return missing_result(job), None


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Append what this process prints to a log, and then discard it again."""
    with open_to_append(log) as file:
        _redirect(file.fileno())
    try:
        yield
    finally:
        with Path(os.devnull).open("wb") as nothing:
            _redirect(nothing.fileno())


def _redirect(target: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(target, 1)
    os.dup2(target, 2)


def _free_memory() -> None:
    """Free what the last job has left behind, so that the next one finds as much memory as in a new process."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
