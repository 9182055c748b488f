"""Figures of the paper at a tiny scale, for tests of `reproduce`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_size import TINY_SIZE

from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.parts import Figure
from nasbench1shot1.experiments.reproduction.kinds import FigureJob
from nasbench1shot1.jobs import pool
from nasbench1shot1.jobs.pool import WorkerOptions, this_process

TINY: dict[str, Any] = {"scale": "quick", **TINY_SIZE}
ONLY = ("darts/weight-decay-1e-4", "darts/weight-decay-81e-4")
ARGUMENTS = ["reproduce", "figure12", "--scale", "quick", "--only", ",".join(ONLY)]
"""Two curves of two seeds: the smallest part of a figure that has all."""

STEM = "figure12-darts-weight-decay-1e-4+darts-weight-decay-81e-4"
"""What the picture and the CSV of that part are called."""

# The command in a separate process that reacts to Ctrl-C even if the tests run in the background.
DRIVER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from nasbench1shot1 import cli
from tiny_figures import FIGURES, tiny
FIGURES["figure12"] = tiny("figure12")
cli.main(sys.argv[1:])
"""

JOBS = tuple(f"{curve}/seed-{seed}" for seed in (0, 1) for curve in ONLY)


def tiny(name: str, options: Mapping[str, Any] = TINY) -> Figure:
    """Return a figure whose quick scale has other options."""
    figure = FIGURES[name]
    kept = {"threads", "epochs", "tuner", "eta", "iterations"}
    own = {key: value for key, value in figure.quick.options.items() if key in kept}
    return replace(figure, quick=replace(figure.quick, options={**own, **options}, by_optimizer={}))


def shrink(monkeypatch: pytest.MonkeyPatch, name: str = "figure12", options: Mapping[str, Any] = TINY) -> None:
    """Make the quick scale of a figure tiny, also for started processes, which get their options from here."""
    monkeypatch.setitem(FIGURES, name, tiny(name, options))


def planned(
    name: str, out: Path, *, scale: str = "quick", only: Sequence[str] = (), seeds: Any = None, **given: Any
) -> list[FigureJob]:
    """The jobs of a figure, planned in this process."""
    return open_figure(name, only).jobs(scale, out, given, seeds, lambda function, *rest: function(*rest))


def run_jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run jobs in this process: a process per job would spend seconds on importing PyTorch."""
    monkeypatch.setattr(WorkerOptions, "open", lambda *_, **__: this_process())


def refuse_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a job is started."""

    def refuse(self: Any, job: FigureJob, *_: Any) -> None:
        raise AssertionError(f"{job.name} was started")

    for workers in (pool._ThisMachine, pool._ThisProcess):
        monkeypatch.setattr(workers, "submit", refuse)


def reproduce(out: Path, *arguments: str) -> None:
    """The command line, in this process."""
    cli.main([*ARGUMENTS, "--out", str(out), *arguments])
