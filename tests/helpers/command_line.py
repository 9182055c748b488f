"""The command line in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def command(
    *arguments: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    redirected: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run it; `redirected` is what a shell does with its output, such as ">&-" or "| head -1"."""
    line = [sys.executable, "-c", "from nasbench1shot1.cli import main; main()", *arguments]
    if redirected:
        line = ["bash", "-c", f'set -o pipefail; "$@" {redirected}', "bash", *line]
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}
    whole = {**os.environ, **own, **(environment or {})}
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=whole, check=False)
