"""The environment of a run, for environment.json: versions, device and commit."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any


PACKAGES = ("torch", "numpy", "pandas", "ConfigSpace", "matplotlib")


def environment(device: str) -> dict[str, Any]:
    """Return package versions, the machine, and the commit if this is a checkout.

    Args:
        device: device of the run, "cpu", "cuda:1", …; `gpu` in the result is its name, None for a CPU.
    """
    import torch

    from nasbench1shot1 import __version__

    return {
        "nasbench1shot1": __version__,
        "git": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "cuda": torch.version.cuda,
        "gpu": torch.cuda.get_device_name(device) if device.startswith("cuda") else None,
        **{package: version(package) for package in PACKAGES},
    }


def _commit() -> str | None:
    checkout = Path(__file__).resolve().parents[2]  # a strict editable install consists of links
    if not (checkout / ".git").exists():  # installed: a repository around it would be a different one
        return None
    try:
        git = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
