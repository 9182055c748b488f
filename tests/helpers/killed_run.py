"""A run in a process of its own that kills itself at a chosen moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def assert_killed(script: str, out: Path, *arguments: str) -> None:
    """Run a script that must die of SIGKILL before the run in `out` is finished."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", script, *arguments], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (out / "summary.json").exists()
