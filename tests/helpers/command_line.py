"""The command line in a separate process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import warm_process

CODE = "from nasbench1shot1.cli import main; main()"
WIDTH = {"COLUMNS": "100"}


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a forked process with modules already imported; `new_process` tests its imports."""
    return warm_process.python(CODE, *arguments, cwd=cwd, environment=WIDTH)


def new_process(
    *arguments: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    redirected: str = "",
    code: str = CODE,
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a new interpreter; `redirected` is a shell redirection such as ">&-" or "| head -1"."""
    line = [sys.executable, "-c", code, *arguments]
    if redirected:
        line = ["bash", "-c", f'set -o pipefail; "$@" {redirected}', "bash", *line]
    whole = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **WIDTH, **(environment or {})}
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=whole, check=False)
