"""A run in a separate process that kills itself at a chosen point."""

import signal
from pathlib import Path

import warm_process


def assert_killed(script: str, out: Path, *arguments: str) -> None:
    """Run a script that must die of SIGKILL before the run in `out` is finished."""
    ended = warm_process.python(script, *arguments)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (out / "summary.json").exists()
