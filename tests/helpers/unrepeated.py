"""What every run repeats and few tests are about: waits for the disk, and questions about the installation.

Importing this module replaces nothing. `conftest.py` and `undrawn_server` do, for all processes but new interpreters.
"""

import importlib.metadata
import os
from functools import cache

import pytest

from nasbench1shot1.runs import machine


def skip_repetitions(patch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk, and look up the commit and the versions of packages only once."""
    patch.setattr(os, "fsync", skip_wait)
    patch.setattr(importlib.metadata, "version", cache(importlib.metadata.version))
    real = machine._commit
    known = cache(lambda file: real())  # `file`: a test pretends that the package is in another checkout
    patch.setattr(machine, "_commit", lambda: known(machine.__file__))
    machine.environment("cpu")  # processes forked from this one know it, too


def skip_wait(descriptor: int) -> None:
    """Replace `os.fsync`: a killed process loses nothing that it has written, only a power failure does.

    Tests of full disks replace `os.fsync` themselves, and fail if nothing calls it.
    """
