"""Forked worker processes (`warm_process`); `tests/jobs` starts new interpreters."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import warm_process
from toy_objective import write_line

from nasbench1shot1.jobs import process

LOCK = threading.Lock()  # an exit code can be read only once, and starting a process polls all of them


class ForkedProcess:
    """Forked replacement for the `subprocess.Popen` of a worker process, as far as jobs use it.

    Args:
        environment: environment variables of the process.
        log: receives its errors.
        pids: receives a line with its process id.
    """

    def __init__(self, environment: Mapping[str, str], log: Path, pids: Path | None = None) -> None:
        read_requests, send_requests = Pipe(duplex=False)
        read_answers, send_answers = Pipe(duplex=False)
        arguments = (warm_process.address(), read_requests, send_answers, log, dict(environment))
        self._process = warm_process.context().Process(target=_run_jobs, args=arguments)
        with LOCK:
            self._process.start()
        if pids is not None:
            write_line(pids, self._process.pid)
        read_requests.close()
        send_answers.close()
        self.stdin = os.fdopen(os.dup(send_requests.fileno()), "wb")
        self.stdout = os.fdopen(os.dup(read_answers.fileno()), "rb")
        send_requests.close()
        read_answers.close()
        self.pid, self.kill = self._process.pid, self._process.kill

    def poll(self) -> int | None:
        with LOCK:
            return self._process.exitcode

    returncode = property(poll)

    def wait(self, timeout: float = 600) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            time.sleep(0.01)
        return code


def _run_jobs(
    server: dict[str, Any], requests: Connection, answers: Connection, log: Path, environment: dict[str, str]
) -> None:
    warm_process.join(server)
    fork_jobs(pytest.MonkeyPatch())  # its own jobs are forked, too
    os.setpgid(0, 0)
    warm_process.become(["jobs"], environment, [log, log])
    os.dup2(requests.fileno(), 0)
    os.dup2(answers.fileno(), 1)
    requests.close()
    answers.close()
    process.main()


def fork_jobs(patch: pytest.MonkeyPatch, pids: Path | None = None) -> None:
    """Fork the worker processes of this process; `pids` receives their process ids."""
    patch.setattr(process, "start_process", partial(ForkedProcess, pids=pids))


FORK_JOBS = "import forked_jobs, pytest; forked_jobs.fork_jobs(pytest.MonkeyPatch())\n"
"""For the code of a `WarmProcess`."""
