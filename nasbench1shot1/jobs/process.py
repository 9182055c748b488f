"""A job in a separate process, which the waiting thread monitors.

The process runs `python -m nasbench1shot1.jobs.process JOB-AS-JSON`. Its parent holds the other end of its standard
input. When the parent ends for any reason, the process also ends. A killed run can therefore be resumed, and no orphan
keeps a folder locked.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import LOOK_EVERY, Job, run_until_finished, wait_until_free
from nasbench1shot1.runs.folder import SUMMARY

CHILD = "nasbench1shot1.jobs.process"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables that set the number of CPU threads."""
KILLED = "its process was killed"
"""Beginning of the message for a job whose process was ended by a signal."""


class JobStoppedError(Exception):
    """The job's process was ended because its result is no longer needed."""


def usable_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_process(
    job: Job, environment: Mapping[str, str], workers: int, is_stopped: Callable[[], bool], patience: float = 0
) -> str | None:
    """Run a job in a new process and wait for its end.

    Args:
        job: what to run.
        environment: environment variables for the process, in addition to this process's own.
        workers: number of jobs that run on this machine at the same time.
        is_stopped: polled several times a second; the process is killed when it returns True.
        patience: seconds to wait for a folder that another process, such as a lost worker's, still holds.

    Returns:
        The reason why the job failed; None after success.

    Raises:
        JobStoppedError: `is_stopped` returned True.
    """
    threads = job.threads or max(usable_cores() // workers, 1)
    process = start(job, {**dict.fromkeys(THREADS, str(threads)), **environment}, patience)
    try:
        while process.poll() is None:
            if is_stopped():
                raise JobStoppedError(job.name)
            time.sleep(LOOK_EVERY)
    finally:
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()
    return _failure(job, process.returncode)


def start(job: Job, environment: Mapping[str, str], patience: float) -> "subprocess.Popen[bytes]":
    """Start the job's process, which ends when this one does; what it prints is appended to the job's log."""
    own = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    described = {
        "command": job.command,
        "folder": str(job.folder),
        "options": dict(job.options),
        "resume_options": dict(job.resume_options),
        "patience": patience,
    }
    with job.log.open("ab") as log:
        return subprocess.Popen(  # a separate process group: Ctrl-C only reaches the parent, which then ends the child
            [sys.executable, "-m", CHILD, json.dumps(described)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=own,
            process_group=0,
        )


def _failure(job: Job, code: int) -> str | None:
    if code < 0:
        hint = "; there may be too little memory for this number of --workers" if -code == signal.SIGKILL else ""
        return f"{KILLED} by signal {-code}{hint}"
    if code > 0:
        return last_line(job.log)
    return missing_result(job)


def missing_result(job: Job) -> str | None:
    """Return the fault of a job that ended without an error and without finishing its run; None if it finished."""
    return None if job.is_finished else f"it ended without writing {SUMMARY}"


def one_line_error(error: BaseException) -> str:
    """Return an error's type and the first line of its message, like the last line of a traceback."""
    message = error.for_command_line if isinstance(error, UserError) else str(error)
    return f"{type(error).__name__}: {message.partition(chr(10))[0]}"


def last_line(log: Path) -> str:
    """Return the last non-empty line of a process's log, without the name of the command."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
    return last.removeprefix("nb1shot1: ").strip()


def main(arguments: list[str]) -> None:
    """Run the job; after a UserError, the last line of standard error is its message, and the exit code is 2."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    job = json.loads(arguments[0])
    folder = Path(job["folder"])
    try:
        wait_until_free(folder, job["patience"])
        run_until_finished(job["command"], folder, job["options"], job["resume_options"])
    except UserError as error:
        print(f"nb1shot1: {error.for_command_line}", file=sys.stderr)
        sys.exit(2)


def end_with_parent() -> None:
    """Wait until the other end of standard input is closed, then end this process."""
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
