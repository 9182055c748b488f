"""Figures of the paper at a tiny scale, for tests of `reproduce`."""

from pathlib import Path
from typing import Any

import pytest

from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction import figures, reproducing
from nasbench1shot1.experiments.reproduction.figures import FigureScale
from nasbench1shot1.jobs.pool import this_process

TINY: dict[str, Any] = {
    "scale": "quick",
    "channels": 2,
    "cells": 1,
    "images_per_half": 40,
    "batch_size": 20,
}
ONLY = ("darts/weight-decay-1e-4", "darts/weight-decay-81e-4")
ARGUMENTS = ["reproduce", "figure12", "--scale", "quick", "--only", ",".join(ONLY)]
"""Two curves of two seeds: the smallest part of a figure that has all."""

STEM = "figure12-darts-weight-decay-1e-4+darts-weight-decay-81e-4"
"""What the picture and the CSV of that part are called."""

# The command in a separate process that reacts to Ctrl-C even if the tests run in the background.
DRIVER = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction import figures, reproducing
figures.SCALES["quick"] = figures.FigureScale({TINY!r}, seeds=(0, 1))
cli.main(sys.argv[1:])
"""

JOBS = tuple(f"{curve}/seed-{seed}" for seed in (0, 1) for curve in ONLY)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the quick scale tiny, also for started processes, which get their options from here."""
    monkeypatch.setitem(figures.SCALES, "quick", FigureScale(TINY, seeds=(0, 1)))


def run_jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run jobs in this process: a process per job would spend seconds on importing PyTorch."""
    monkeypatch.setattr(reproducing, "open_workers", lambda *options: this_process())


def reproduce(out: Path, *arguments: str) -> None:
    """The command line, in this process."""
    cli.main([*ARGUMENTS, "--out", str(out), *arguments])
