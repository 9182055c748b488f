"""Which version of the published code a benchmark was compared with."""

import subprocess
from pathlib import Path


def revision(folder):
    """The short hash of the commit that is checked out in a folder; None if the folder is not a git checkout."""
    if not (Path(folder) / ".git").exists():  # git itself would also answer for a checkout around the folder
        return None
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # git is not installed
        return None
    return done.stdout.strip() if done.returncode == 0 else None
