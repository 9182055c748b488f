"""Processes of their own that start at once: forked from a server that has imported what tests need.

Importing takes several times as long as a test's small run. Nothing else is shared: a process has its own memory,
arguments, environment, working folder and standard streams, and dies of a signal like any other. What is tested of the
start of a process, or of its streams, needs a new interpreter (`command_line.new_process`).
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running, set_forkserver_preload
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

PRELOADED = [
    "torch._dynamo",
    "pandas",
    "scipy.stats",
    "matplotlib.backends.backend_agg",
    "PIL.WebPImagePlugin",
    "rich.progress",
    "tyro",
    "pytest",
    "nasbench1shot1.cli",
    "nasbench1shot1.cell_training",
    "nasbench1shot1.conformance.tiny_search",
    "nasbench1shot1.one_shot_search.searching",
    "nasbench1shot1.proxy_training",
    "toy_study",
]
"""What small runs and studies spend most of their time importing."""


@cache
def context() -> ForkServerContext:
    """Processes of the fork server, of which Python has only one: it must have imported what any test needs."""
    context = get_context("forkserver")
    set_forkserver_preload(PRELOADED)
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):  # Python 3.11 preloads before it sets sys.path
        ensure_running()
    return context


def python(
    code: str, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it as `python -c CODE ARGUMENTS` would, and wait for its end."""
    line = ["-c", *map(str, arguments)]
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / "out", Path(folder) / "err"]
        place = (str(cwd or Path.cwd()), {**os.environ, **(environment or {})})
        process = context().Process(target=_execute, args=(code, line, *place, streams))
        process.start()
        process.join()
        out, err = (path.read_text(encoding="utf-8") if path.exists() else "" for path in streams)
        return subprocess.CompletedProcess(line, process.exitcode or 0, out, err)


def _execute(code: str, arguments: list[str], cwd: str, environment: dict[str, str], streams: list[Path]) -> None:
    for number, path in enumerate(streams, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.argv = arguments
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
