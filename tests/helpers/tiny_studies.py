"""Studies whose searches take a second."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import Job, run_until_finished
from nasbench1shot1.tuning.engine.interfaces import Outcome, Trial
from nasbench1shot1.tuning.evaluation import evaluation
from nasbench1shot1.tuning.record import Study

TINY: dict[str, Any] = {
    "scale": "quick",
    "channels": 2,
    "cells": 1,
    "images_per_half": 40,
    "batch_size": 32,
    "threads": 1,
    "device": "cpu",
}
BUDGETS: dict[str, Any] = {"min_budget": 1, "max_budget": 2}


def tiny_study(folder: Path, **options: Any) -> Study:
    """Write the folder of a study without evaluating anything; None means that an option is not given."""
    given = {name: value for name, value in {**TINY, **BUDGETS, **options}.items() if value is not None}
    with patch("nasbench1shot1.tuning.tuning.run_session", lambda folder, console: Study.open(folder)):
        return nb.tune(out=folder, console=Console(quiet=True), **given)


def trial(configuration: Mapping[str, Any], epochs: int = 1, number: int = 0, **fields: Any) -> Trial:
    return Trial((0, 0, number), configuration, epochs, **fields)


def evaluate(study: Study, asked: Trial) -> Outcome:
    """Evaluate a trial, with its search in this process."""
    with patch("nasbench1shot1.tuning.evaluation.run_in_process", _run_here):
        return evaluation(study.folder)(asked, lambda: False)


def _run_here(job: Job, environment: Any, workers: int, is_stopped: Callable[[], bool], patience: float) -> str | None:
    with patch("rich.console.Console.print"):
        try:
            run_until_finished(job.command, job.folder, job.options, job.resume_options)
        except UserError as error:
            return str(error)
    return None
