"""Quickly starting processes, forked from a server that has already imported the modules used by tests.

Imports take several times as long as a test's small run. Nothing else is shared: a process has its own memory,
arguments, environment, working folder and standard streams, and signals kill it as usual. Tests of process
start-up or of standard streams need a new interpreter (`command_line.new_process`).
"""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from multiprocessing import forkserver, get_context, reduction
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running, set_forkserver_preload
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, cast
from unittest.mock import patch

PRELOADED = [
    "garbage",
    "torch._dynamo",
    "torch.utils.flop_counter",
    "torch.utils.serialization.config",
    "pandas",
    "scipy.stats",
    "matplotlib.backends.backend_agg",
    "PIL.WebPImagePlugin",
    "rich.progress",
    "cyclopts",
    "distributed",
    "filelock._lease",
    "networkx",
    "pytest",
    "nasbench1shot1.cli",
    "nasbench1shot1.commands.dry_run",
    "nasbench1shot1.commands.help_screen",
    "nasbench1shot1.commands.parsing",
    "nasbench1shot1.cell_training",
    "nasbench1shot1.conformance.tiny_search",
    "nasbench1shot1.jobs.process",
    "nasbench1shot1.display.artists",
    "nasbench1shot1.experiments.comparison.comparing",
    "nasbench1shot1.experiments.comparison.drawing",
    "nasbench1shot1.experiments.reports",
    "nasbench1shot1.one_shot_search.estimate",
    "nasbench1shot1.one_shot_search.kept_weights",
    "nasbench1shot1.one_shot_search.screen",
    "nasbench1shot1.one_shot_search.searching",
    "nasbench1shot1.optimizers.black_box.hyperband",
    "nasbench1shot1.optimizers.black_box.random_search",
    "nasbench1shot1.optimizers.components.expectation",
    "nasbench1shot1.optimizers.components.relaxation",
    "nasbench1shot1.optimizers.components.terms",
    "nasbench1shot1.optimizers.components.updates",
    "nasbench1shot1.proxy_training",
    "nasbench1shot1.tuning.drawing",
    "nasbench1shot1.tuning.evaluation",
    "toy_study",
    "undrawn_server",
]
"""What small runs and studies spend most of their time importing."""


def _receive(connection: socket.socket, most: int, real: Any = reduction.recvfds) -> list[int]:
    """Receive a request to fork; raise the error that the server ignores if the process that asks was killed."""
    try:
        return cast(list[int], real(connection, most))
    except EOFError as error:
        raise ConnectionAbortedError(errno.ECONNABORTED, "killed") from error


reduction.recvfds = _receive  # in the fork server, which imports this module with `toy_study`


@cache
def context() -> ForkServerContext:
    """Forked processes. Python has only one fork server, so it must import everything that any test needs."""
    context = get_context("forkserver")
    if address()["_forkserver_address"] is None:
        set_forkserver_preload(PRELOADED)
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):  # needed by Python 3.11
            ensure_running()
    return context


def address() -> dict[str, Any]:
    """Address of the fork server, for `join`."""
    known = ("_forkserver_address", "_forkserver_authkey")  # the second one since Python 3.14
    return {name: value for name, value in vars(_server()).items() if name in known}


def join(address: dict[str, Any]) -> None:
    """Let this process use a server that another process has started.

    This process need not be forked from the server. If it is not, the server lives as long as the process that started
    the server.
    """
    vars(_server()).update(address, ensure_running=lambda: None)
    if _server()._forkserver_alive_fd is None:  # every request passes this descriptor
        _server()._forkserver_alive_fd = os.open(os.devnull, os.O_RDONLY)


def _server() -> Any:
    return forkserver._forkserver  # type: ignore[attr-defined]


class WarmProcess:
    """A process that runs code like `python -c CODE ARGUMENTS`, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self, code: str, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.line = ["-c", *map(str, arguments)]
        self._folder = TemporaryDirectory()
        self._streams = [Path(self._folder.name) / name for name in ("out", "err")]
        place = (str(cwd or Path.cwd()), {**os.environ, **(environment or {})})
        self._process = context().Process(target=_execute, args=(address(), code, self.line, *place, self._streams))
        self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.join()
        self._folder.cleanup()

    def poll(self) -> int | None:
        return self._process.exitcode

    returncode = property(poll)

    def send_signal(self, number: int) -> None:
        os.kill(cast(int, self._process.pid), number)

    def communicate(self) -> list[str]:
        """Wait for the process to end and return its standard output and errors."""
        self._process.join()
        return [path.read_text(encoding="utf-8") if path.exists() else "" for path in self._streams]


def python(
    code: str, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code like `python -c CODE ARGUMENTS` and wait for the end."""
    with WarmProcess(code, *arguments, cwd=cwd, environment=environment) as process:
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.line, process.returncode or 0, out, err)


def _execute(
    server: dict[str, Any],
    code: str,
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    streams: list[Path],
) -> None:
    join(server)
    os.chdir(cwd)
    become(arguments, environment, streams)
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def become(arguments: list[str], environment: Mapping[str, str], streams: list[Path]) -> None:
    """Set arguments and environment, and append standard output and errors to files."""
    for number, path in enumerate(streams, start=1):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.argv = arguments
    os.environ.clear()
    os.environ.update(environment)
