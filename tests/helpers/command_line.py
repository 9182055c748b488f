"""The command line in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", "from nasbench1shot1.cli import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, env=environment, check=False)
