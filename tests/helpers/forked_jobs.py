"""Forked processes for jobs and tuning workers (`warm_process`); `tests/jobs` starts new interpreters."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
import warm_process

from nasbench1shot1.jobs import process
from nasbench1shot1.tuning.engine import local_workers

LOCK = threading.Lock()  # an exit code can be read only once, and starting a process polls all of them


class ForkedModule:
    """Forked replacement for `subprocess.Popen([PYTHON, "-m", MODULE, ARGUMENT], …)`, as far as jobs use it."""

    def __init__(self, line: list[str], stdin: int, stdout: IO[bytes], env: Mapping[str, str], **same: Any) -> None:
        assert stdin == subprocess.PIPE
        assert same == {"stderr": stdout, "process_group": 0}
        reader, self.stdin = Pipe(duplex=False)
        context = warm_process.context()
        arguments = (warm_process.address(), line[2], line[3], reader, Path(stdout.name), dict(env))
        self._process = context.Process(target=_run_module, args=arguments)
        with LOCK:
            self._process.start()
        reader.close()
        self.pid, self.kill = self._process.pid, self._process.kill

    def poll(self) -> int | None:
        with LOCK:
            return self._process.exitcode

    returncode = property(poll)

    def wait(self) -> None:
        while self.poll() is None:
            time.sleep(0.01)


def _run_module(
    server: dict[str, Any], module: str, argument: str, stdin: Connection, log: Path, environment: dict[str, str]
) -> None:
    warm_process.join(server)
    fork_jobs(pytest.MonkeyPatch())  # its own jobs are forked, too
    os.setpgid(0, 0)
    os.dup2(stdin.fileno(), 0)
    stdin.close()
    warm_process.become([module, argument], environment, [log, log])
    import_module(module).main([argument])


def fork_jobs(patch: pytest.MonkeyPatch) -> None:
    """Fork the jobs and workers of this process."""
    for module in (process, local_workers):
        patch.setattr(module, "subprocess", SimpleNamespace(Popen=ForkedModule, PIPE=subprocess.PIPE))


FORK_JOBS = "import forked_jobs, pytest; forked_jobs.fork_jobs(pytest.MonkeyPatch())\n"
"""For the code of a `WarmProcess`."""
